"""Exit codes and words of failures, and output that its receiver cannot take."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from graphreader.cli import failing
from graphreader.cli.failing import Debug, Interrupted, exit_code_of
from graphreader.cli.printing import plural, print_json, print_readably
from graphreader.errors import (
    DocumentError,
    DownloadError,
    ModelRefusedError,
    Neo4jUnavailableError,
    SettingsError,
    UnknownCorpusError,
)
from graphreader.usage import Usage


# Wrong usage is 2, what fails is 1, a signal is 128 and its number; each with one sentence.
@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (SettingsError("Set it."), 2, "Set it."),
        (UnknownCorpusError("Name another."), 2, "Name another."),
        (DocumentError("Convert it."), 2, "Convert it."),
        (Neo4jUnavailableError("Start it."), 1, "Start it."),
        (ModelRefusedError("Check the key."), 1, "Check the key."),
        (DownloadError("Check the network."), 1, "Check the network."),
        (OSError(28, "No space left on device"), 1, "No space left on device"),
        (OSError("words"), 1, "The system refuses: OSError."),
        (KeyError("x"), 1, "Something unforeseen happened (KeyError): run again with `graphreader"),
        (Interrupted(signal.SIGINT), 130, "Stopped."),
        (Interrupted(signal.SIGTERM), 143, "Stopped."),
        (SystemExit(7), 7, ""),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_exit_codes(
    error: BaseException, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = exit_code_of(error)
    out, err = capsys.readouterr()

    assert (found, out) == (code, "")
    assert said in err
    assert err.count("\n") == bool(said)
    assert "Traceback" not in err


# What an error repeats of a text or a service is not obeyed by the terminal.
def test_hostile_words(capsys: pytest.CaptureFixture[str]) -> None:
    exit_code_of(SettingsError("No \x1b]0;owned\x07\x9b31m\u202efile.\nSet it."))

    assert capsys.readouterr().err == "No  ]0;owned  31m file.\nSet it.\n"


# A run that a model's failure ends says what it has cost; nothing is said where nothing was paid.
@pytest.mark.parametrize(
    ("spent", "said"),
    [
        (
            Usage(calls=312, input_tokens=400_000, output_tokens=10_233, dollars=0.2101),
            "Spent: 312 calls, 410,233 tokens, $0.2101.\n",
        ),
        (Usage(), ""),
    ],
)
def test_what_was_spent(spent: Usage, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    error = ModelRefusedError("The quota is used up.")
    error.spent = spent

    code = exit_code_of(error)

    assert code == 1
    assert capsys.readouterr().err == f"The quota is used up.\n{said}"


# With `--debug` the traceback stands before the sentence.
def test_debug(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Debug, "wanted", True)
    try:
        raise SettingsError("Set it.")
    except SettingsError as error:
        exit_code_of(error)
    err = capsys.readouterr().err

    assert err.startswith("Traceback")
    assert "test_cli_failing.py" in err
    assert err.endswith("\nSet it.\n")


# What is unforeseen is told by its kind: its words may be a file with keys in it.
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
def test_unforeseen(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    exit_code_of(error)
    err = capsys.readouterr().err

    assert type(error).__name__ in err
    assert "secret" not in err


# A traceback shows neither the environment's keys nor users and passwords in addresses.
def test_debug_without_secrets(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Debug, "wanted", True)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret-1")
    monkeypatch.setenv("NEO4J_PASSWORD", "sk-secret-1-and-more")
    words = "sk-secret-1, sk-secret-1-and-more, https://me:p@ss-words@maven.example/x?a@b"
    exit_code_of(ValueError(words))
    err = capsys.readouterr().err

    assert "ValueError: ***, ***, https://***@maven.example/x?a@b" in err


# The first signal ends a command in good order; the second ends it at once, whatever it is doing.
def test_signals(tmp_path: Path) -> None:
    program = (
        "import time\n"
        "from graphreader.cli.failing import heed_signals\n"
        "heed_signals()\n"
        "try:\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(60)\n"
        "except BaseException as error:\n"
        "    print(type(error).__name__, error, flush=True)\n"
        "    time.sleep(60)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, encoding="utf-8", cwd=tmp_path
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


def interrupted_here() -> None:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(5)


# A signal that whoever started us switched off (nohup, a background job) stays switched off.
def test_ignored_signals() -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGHUP)}
    try:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        failing.heed_signals()

        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        with pytest.raises(Interrupted):
            interrupted_here()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def stream(encoding: str) -> tuple[io.BytesIO, io.TextIOWrapper]:
    raw = io.BytesIO()
    return raw, io.TextIOWrapper(raw, encoding=encoding)


# JSON keeps every character in every encoding: escaped where stdout does not take it.
@pytest.mark.parametrize("encoding", ["utf-8", "UTF8", "ascii", "latin-1", "gbk", "cp1252"])
def test_json_in_any_encoding(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    raw, out = stream(encoding)
    monkeypatch.setattr(sys, "stdout", out)
    value: dict[str, Any] = {"answer": "贞德 – La Charité ☺", "list": [1, None, True]}

    print_json(value)
    out.flush()

    written = raw.getvalue().decode(encoding)
    assert json.loads(written) == value
    assert written.count("\n") == 1
    assert ("贞德" in written) == (encoding.lower() in ("utf-8", "utf8"))


# Text for people loses what the encoding lacks, but arrows and quotes stay readable.
def test_text_in_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    raw, out = stream("ascii")
    monkeypatch.setattr(sys, "stdout", out)

    print_readably()
    out.write("search_more ×3 → read_chunk([0]) “贞德” …\n")
    out.flush()

    assert raw.getvalue() == b'search_more x3 -> read_chunk([0]) "??" ...\n'


# Counted things are written as one reads them.
def test_plural() -> None:
    assert [plural(0, "chunk"), plural(1, "chunk"), plural(2000, "chunk")] == [
        "0 chunks",
        "1 chunk",
        "2,000 chunks",
    ]
    assert plural(2, "corpus", "corpora") == "2 corpora"
