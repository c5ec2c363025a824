"""Exit codes and messages of failures; signals at any moment."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from graphreader.cli import interrupt
from graphreader.cli.diagnostics import Debug, report_error
from graphreader.cli.interrupt import Interrupted
from graphreader.errors import (
    DocumentError,
    DownloadError,
    ModelRefusedError,
    Neo4jUnavailableError,
    SettingsError,
    UnknownCorpusError,
)
from graphreader.usage import Usage


# Wrong usage is 2, a failure is 1, a signal is 128 and its number; each with one sentence.
@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (SettingsError("Set it."), 2, "Set it."),
        (UnknownCorpusError("Name another."), 2, "Name another."),
        (DocumentError("Convert it."), 2, "Convert it."),
        (Neo4jUnavailableError("Start it."), 1, "Start it."),
        (ModelRefusedError("Check the key."), 1, "Check the key."),
        (DownloadError("Check the network."), 1, "Check the network."),
        (OSError(28, "No space left on device"), 1, "No space left on device"),
        (OSError("words"), 1, "The operating system reports: OSError."),
        (KeyError("x"), 1, "An unexpected error occurred (KeyError): run again with `graphreader"),
        (Interrupted(signal.SIGINT), 130, "Stopped."),
        (Interrupted(signal.SIGTERM), 143, "Stopped."),
        (SystemExit(7), 7, ""),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_exit_codes(
    error: BaseException, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = report_error(error)
    out, err = capsys.readouterr()

    assert (found, out) == (code, "")
    assert message in err
    assert err.count("\n") == bool(message)
    assert "Traceback" not in err


# An error that a library makes of a signal's exception is reported as the signal.
def test_a_converted_interruption(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Interrupted, "received", signal.SIGINT)

    assert report_error(ImportError("cannot import")) == 130
    assert capsys.readouterr().err == "Stopped.\n"


# A terminal does not obey what an error repeats of a text or a service.
def test_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    report_error(SettingsError("No \x1b]0;owned\x07\x9b31m\u202efile.\nSet it."))

    assert capsys.readouterr().err == "No  ]0;owned  31m file.\nSet it.\n"


# A run that a model's failure ends says what it has cost, if anything was paid.
@pytest.mark.parametrize(
    ("spent", "message"),
    [
        (
            Usage(calls=312, input_tokens=400_000, output_tokens=10_233, dollars=0.2101),
            "Spent: 312 calls, 410,233 tokens, $0.2101.\n",
        ),
        (Usage(), ""),
    ],
)
def test_spent(spent: Usage, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    error = ModelRefusedError("The quota is used up.")
    error.spent = spent

    assert report_error(error) == 1
    assert capsys.readouterr().err == f"The quota is used up.\n{message}"


# Of an unexpected error only the type is shown: its message may hold keys.
@pytest.mark.parametrize(
    "error",
    [
        UnicodeDecodeError("utf-8", b"OPENAI_API_KEY=sk-secret\xff", 23, 24, "invalid start byte"),
        ValueError("sk-secret"),
        OSError("sk-secret"),
        RuntimeError("bolt://neo4j:sk-secret@host"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_unexpected(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    report_error(error)
    err = capsys.readouterr().err

    assert type(error).__name__ in err
    assert "secret" not in err


# With `--debug` a traceback stands before the sentence, without keys, users and passwords.
def test_debug(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Debug, "enabled", True)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret-1")
    monkeypatch.setenv("NEO4J_PASSWORD", "sk-secret-1-and-more")
    words = "sk-secret-1, sk-secret-1-and-more, https://me:p@ss-words@maven.example/x?a@b"
    try:
        raise SettingsError(words)
    except SettingsError as error:
        report_error(error)
    err = capsys.readouterr().err

    assert err.startswith("Traceback")
    assert "test_cli_diagnostics.py" in err
    assert "SettingsError: ***, ***, https://***@maven.example/x?a@b" in err


PROGRAM = """
import time
from graphreader.cli.interrupt import handle_signals
handle_signals()
try:
    print("ready", flush=True)
    time.sleep(60)
except BaseException as error:
    print(type(error).__name__, error, flush=True)
    time.sleep(60)
"""


# The first signal ends a command in good order; the second ends it at once, whatever it is doing.
def test_signals(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, encoding="utf-8", cwd=tmp_path
    )
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    first = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    process.communicate(timeout=30)

    assert first == "Interrupted SIGINT\n"
    assert process.returncode == 130
    assert time.monotonic() - began < 5


INTERRUPTED_IMPORT = """
import os, signal, sys, time
from graphreader.cli.main import main

class Importer:
    def find_spec(self, name, *_):
        if name == "graphreader.cli.app":
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)

sys.meta_path.insert(0, Importer())
main()
"""


# Ctrl-C while the command line is still being imported ends it in the same way.
def test_interrupted_imports() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IMPORT],
        capture_output=True,
        encoding="utf-8",
        timeout=30,
        check=False,
    )

    assert done.returncode == 130
    assert (done.stdout, done.stderr) == ("", "Stopped.\n")


# A signal that the parent switched off (nohup, a background job) stays switched off.
def test_ignored_signals() -> None:
    before = {number: signal.getsignal(number) for number in (1, 2, 15)}
    try:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        interrupt.handle_signals()

        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) not in (signal.SIG_DFL, signal.SIG_IGN)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
