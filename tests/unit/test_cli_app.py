"""The command line's application and output, and the commands around a corpus."""

import asyncio
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.text import Text
from typer.main import get_command

from graphreader.cli.app import Debug, app, report_error
from graphreader.cli.console import (
    confirm,
    cost_text,
    duration,
    money,
    plural,
    print_json,
    print_table,
    print_words,
    rounded,
    stdout_console,
)
from graphreader.cli.corpora import _print_documents
from graphreader.cli.signals import Interrupted, handle_signals
from graphreader.errors import (
    DocumentError,
    ModelRefusedError,
    Neo4jUnavailableError,
    SettingsError,
)
from graphreader.llm.cache import ReplyCache
from graphreader.store.catalog import DocumentSummary
from graphreader.text.words import term_of
from graphreader.usage import Usage
from tests.terminal import Keyboard, Terminal


def commands() -> list[list[str]]:
    """All commands and groups, as they are typed."""
    names: list[list[str]] = [[]]
    for command in get_command(app).commands.values():  # type: ignore[attr-defined]
        names.append([command.name])
        names += [[command.name, name] for name in getattr(command, "commands", {})]
    return names


# Every command has a help that fits into the terminal; the program's names all of them.
def test_help(terminal: Terminal) -> None:
    terminal.set(NO_COLOR="1", TERM="dumb", COLUMNS="60")
    for command in commands():
        outcome = terminal.run(*command, "-h")

        assert (outcome.code, outcome.err) == (0, ""), command
        assert "Usage: graphreader" in outcome.out
        assert max(map(len, outcome.out.splitlines())) <= 60
        assert "\x1b" not in outcome.out
    text = terminal.run("--help").out

    assert all(command[0] in text for command in commands() if command)
    assert 'graphreader ask "Who taught the founder of the school?"' in text
    assert terminal.run("--version").out == f"graphreader {version('graphreader-agent')}\n"


HEAVY = "neo4j langgraph langchain_core openai tiktoken httpx pandas"
MODULES = """
import sys
sys.argv = ["graphreader", *sys.argv[1:]]
from graphreader.cli.main import main
try:
    main()
finally:
    print("", *sys.modules, sep="\\n", file=sys.stderr)
"""


# Commands start quickly: they import nothing heavy that only others need.
@pytest.mark.parametrize(
    ("arguments", "unneeded"),
    [
        (["--help"], f"{HEAVY} graphreader.settings graphreader.documents asyncio"),
        (["cache", "stats"], f"{HEAVY} psutil"),
        (["neo4j", "status"], HEAVY),
        (["runs", "list"], "graphreader.graph_reader neo4j langgraph.graph openai pandas jinja2"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_quick_starts(terminal: Terminal, arguments: list[str], unneeded: str) -> None:
    terminal.set(GRAPHREADER_HOME=str(terminal.folder / "home"))
    done = subprocess.run(
        [sys.executable, "-c", MODULES, *arguments], capture_output=True, encoding="utf-8"
    )

    assert "graphreader.cli.app" in done.stderr
    assert not set(done.stderr.splitlines()) & set(unneeded.split())


# Wrong usage is exit code 2 with a word on what is wrong, nothing on stdout, before any server.
@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("nonsense", "No such command 'nonsense'"),
        ("ask who? --max-calls 0", "'--max-calls': Input should be greater than or equal to 1"),
        ("ask who? --mode slow", "'--mode': 'slow' is not one of 'adaptive', 'paper'"),
        ("--log-level x list", "'x' is not one of 'debug', 'info'"),
        ("ask", "Ask a question, or name a file of questions with --file."),
        ("ask who? --out a.jsonl", "--out is for the answers to --file"),
        ("ask who? --file q.jsonl", "--file has its own questions"),
        ("ask --file q.jsonl --report a.html", "--file has its own questions"),
        ("ask --file nowhere.jsonl", "nowhere.jsonl cannot be opened"),
        ("ask --file -", "Nothing is piped in"),
        ("ask --file /dev/null", "There is no question in /dev/null"),
        ("ask --file /dev/zero", "/dev/zero has more than 16 MiB of questions"),
        ("ask who? --reader full-text --mode paper", "--reader takes one QUESTION"),
        ("ingest", "Name what to read: files, folders, addresses, or - for stdin."),
        ("ingest -", "The text from stdin needs a name: give - and --id NAME together."),
        ("ingest life.txt --id life", "The text from stdin needs a name"),
        ("ingest --retry-failed life.txt", "--retry-failed asks again for the failed chunks of"),
        ("ingest --retry-failed --no-normalize", "--retry-failed asks again"),
        ("ingest missing.txt gone.txt", "missing.txt, gone.txt: no such file or folder, check th"),
        ("export - --json", "not both: name a file."),
        ("import nowhere.jsonl", "nowhere.jsonl cannot be opened (No such file"),
        ("delete", "Name one document, or use --all for the whole corpus."),
        ("runs delete x --all", "Name runs, or use --all."),
        ("normalize --undo --stages none", "leave out --stages"),
        ("normalize --undo-join Ada", "--undo-join NAME and --document DOCUMENT go together"),
        ("normalize --undo-join Ada --document a --dry-run", "--undo-join goes with --corpus"),
        ("ingest --retry-failed --again", "--retry-failed asks again for the failed chunks"),
        ("normalize --stages everything", "GRAPHREADER_NORMALIZE: the stages are semantic, assoc"),
        ("evaluate samples", "Name the data, and a folder for the readings"),
        ("report missing", "graphreader evaluate --out"),
        ("import q.jsonl", "This is not an exported corpus of format 2"),
        ("list --corpus a\x1b[31m", "A corpus's name has 1 to 200 characters"),
        ("ask who? --corpus ' '", "A corpus's name has 1 to 200 characters"),
        (f"ingest q.jsonl --corpus {'x' * 201}", "A corpus's name has 1 to 200 characters"),
    ],
)
def test_wrong_usage(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, command: str, said: str
) -> None:
    terminal.set(COLUMNS="120", NEO4J_URI="nowhere", NEO4J_PASSWORD="none")
    monkeypatch.setattr(sys, "stdin", Keyboard())
    (terminal.folder / "q.jsonl").write_text('"Who?"\n')

    outcome = terminal.run(*shlex.split(command))

    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err
    assert "Traceback" not in outcome.err


SPENT = ModelRefusedError("The quota is used up.")
SPENT.spent = Usage(calls=312, input_tokens=400_000, output_tokens=10_233, dollars=0.2101)


# Wrong usage is 2, a failure is 1, a signal is 128 and its number; each with one sentence. A
# terminal does not obey what an error repeats; of an unexpected error only the type is shown, as
# its message may hold keys; a run that fails says what it has cost.
@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (SettingsError("Set it."), 2, "Set it."),
        (DocumentError("No \x1b]0;owned\x07\x9b31m\u202efile."), 2, "No  ]0;owned  31m file."),
        (Neo4jUnavailableError("Start it."), 1, "Start it."),
        (ModelRefusedError("Check the key."), 1, "Check the key."),
        (SPENT, 1, "The quota is used up.\nSpent: 312 calls, 410,233 tokens, $0.2101."),
        (
            OSError(28, "No space left on device"),
            1,
            "The operating system reports: No space left on device. Check the disk and the "
            "permissions.",
        ),
        (
            ValueError("sk-secret"),
            1,
            "An unexpected error occurred (ValueError): run again with `graphreader --debug ...` "
            "to see where it came from.",
        ),
        (Interrupted(signal.SIGINT), 130, "Stopped."),
        (Interrupted(signal.SIGTERM), 143, "Stopped."),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_exit_codes(
    error: BaseException, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report_error(error) == code
    assert capsys.readouterr() == ("", f"{message}\n")


# The place of an unexpected error is named, since it may not come again.
def test_place_of_an_unexpected_error(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        term_of(cast(str, None))
    except TypeError as error:
        report_error(error)

    assert "(TypeError in text/words.py, line " in capsys.readouterr().err


# An error that a library makes of a signal's exception is reported as the signal.
def test_a_converted_interruption(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Interrupted, "received", signal.SIGINT)

    assert report_error(ImportError("cannot import")) == 130
    assert capsys.readouterr().err == "Stopped.\n"


# With `--debug` a traceback stands before the sentence, without keys, users and passwords.
def test_debug(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Debug, "enabled", True)
    monkeypatch.setenv("NEO4J_PASSWORD", "secret-words")
    report_error(ValueError("secret-words, https://me:pass@maven.example/"))
    err = capsys.readouterr().err

    assert "ValueError: ***, https://***@maven.example/" in err
    assert not re.search("secret|pass", err)


SIGNALS = """
import os, signal, sys, time
from graphreader.cli.main import main

class Importer:
    def find_spec(self, name, *_):
        if name == "graphreader.cli.app":
            try:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(60)
            finally:
                if sys.argv[1:]:
                    os.kill(os.getpid(), signal.SIGINT)
                    time.sleep(60)

sys.meta_path.insert(0, Importer())
main()
"""


# Ctrl-C ends a command in good order, also while the command line is still being imported; the
# second one ends it at once, whatever it is doing.
@pytest.mark.parametrize(("again", "said"), [([], "Stopped.\n"), (["again"], "")])
def test_signals(again: list[str], said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SIGNALS, *again], capture_output=True, encoding="utf-8", timeout=30
    )

    assert (done.returncode, done.stdout, done.stderr) == (130, "", said)


# A signal that the parent switched off (nohup) stays switched off.
def test_ignored_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    handlers: dict[int, Any] = {signal.SIGHUP: signal.SIG_IGN}
    monkeypatch.setattr(signal, "getsignal", lambda number: handlers.get(number, signal.SIG_DFL))
    monkeypatch.setattr(signal, "signal", handlers.__setitem__)
    handle_signals()

    assert handlers[signal.SIGHUP] is signal.SIG_IGN
    assert handlers.keys() == {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


# A full disk behind stdout is reported; a receiver that has seen enough (`| head`) ends a command
# without a word.
@pytest.mark.parametrize("kind", ["full", "closed"])
def test_stdout_that_takes_nothing(kind: str) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    with open("/dev/full", "w") as full, open(write_end, "w") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "graphreader", "--version"],
            stdout=full if kind == "full" else closed,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
    words = "The operating system reports: No space left on device" if kind == "full" else ""

    assert done.returncode == 1
    assert done.stderr.startswith(words)
    assert bool(done.stderr) == bool(words)


def stream(encoding: str) -> tuple[io.BytesIO, io.TextIOWrapper]:
    raw = io.BytesIO()
    return raw, io.TextIOWrapper(raw, encoding=encoding)


# JSON keeps every character in every encoding: escaped where stdout does not take it, or where a
# terminal would obey it.
@pytest.mark.parametrize("encoding", ["UTF8", "ascii"])
def test_json_in_any_encoding(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    raw, out = stream(encoding)
    monkeypatch.setattr(sys, "stdout", out)
    value: dict[str, Any] = {
        "answer": "贞德 – La Charité ☺ \x9b31m \u202e",
        "list": [1, None, True],
    }

    print_json(value)
    out.flush()

    written = raw.getvalue().decode(encoding)
    assert json.loads(written) == value
    assert written.count("\n") == 1
    assert ("贞德" in written) == (encoding == "UTF8")
    assert not {"\x9b", "\u202e"} & set(written)


# Numbers, prices and times are short, and estimates do not pretend to be exact.
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (plural(1, "chunk"), "1 chunk"),
        (plural(2000, "corpus", "corpora"), "2,000 corpora"),
        *((rounded(n), t) for n, t in ((7, "7"), (123, "120"), (995, "1,000"), (12345, "12,000"))),
        (money(0), "$0"),
        (money(0.00000001), "$0.000001"),
        (money(0.0021), "$0.0021"),
        (money(0.99996), "$1.00"),
        (money(12345.678), "$12,345.68"),
        (cost_text(Usage(18)), "18 calls"),
        (
            cost_text(Usage(3, 1000, 234, estimated=1, dollars=0.5)),
            "3 calls, about 1,234 tokens, about $0.5000",
        ),
        (
            cost_text(Usage(3, 1000, 234, dollars=0.5, unpriced=1)),
            "3 calls, 1,234 tokens, at least $0.5000",
        ),
        (cost_text(Usage(reused=12)), "0 calls, 12 from the cache"),
        (duration(0.2), "1 s"),
        (duration(60), "1 min"),
        (duration(87.2), "1 min 27 s"),
        (duration(3600 + 65), "1 h 1 min"),
        (duration(3 * 86_400 + 4 * 3600 + 1), "3 d 4 h"),
    ],
)
def test_numbers(text: str, expected: str) -> None:
    assert text == expected


# A table shows texts literally, each in its line, folded where the terminal is narrow; a long one
# that fits looks the same. Styles of cells are kept.
@pytest.mark.parametrize(("rows", "width"), [(1, 60), (300, 60), (1, 20), (300, 20)])
def test_tables(rows: int, width: int) -> None:
    console = Console(file=io.StringIO(), width=width)
    styled = Console(file=io.StringIO(), width=width, force_terminal=True)
    row = ("[bold]odd[/bold]\x1b[2J\nname", "贞德", "1,000")
    print_table([row] * rows, "Name", "By", "Facts", right=("Facts",), console=console)
    print_table([(Text("ok", "green"), "[x]")], "", "", header=False, console=styled)
    lines = [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]

    assert max(map(len, lines)) <= width
    if width == 60:
        assert lines[0] == f"{'Name':<27}By    Facts"
        assert lines[1:] == ["[bold]odd[/bold] [2J name  贞德  1,000"] * rows
    assert "\x1b[32mok\x1b[0m" in styled.file.getvalue()  # type: ignore[attr-defined]


# A narrow terminal shows titles, which need the room, and ids only where titles are the same; no
# line is wider, and a Chinese title stays whole.
@pytest.mark.parametrize("titles", [("a long title of a book", "贞德"), ("贞德", "贞德")])
def test_documents_in_a_narrow_terminal(
    titles: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {"COLUMNS": "40", "FORCE_COLOR": "1", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    documents = [
        DocumentSummary(f"id{n}", title, "a.txt", "0", "en", 2000, 1, 900, 0, "complete")
        for n, title in enumerate(titles)
    ]
    _print_documents("books", documents)
    out = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)

    assert max(map(cell_len, out.splitlines())) <= 40
    assert "贞德" in out
    assert ("id0" in out) == (titles[0] == titles[1])


# Only yes is a yes, the end of the input is a no, and without a terminal nothing is asked.
@pytest.mark.parametrize(
    ("stdin", "agreed"),
    [
        (Keyboard("perhaps\nyes\n"), True),
        (Keyboard("\n"), False),
        (Keyboard(""), False),
        (io.StringIO("n\n"), True),
    ],
    ids=["yes", "return", "end", "pipe"],
)
def test_confirm(
    stdin: io.StringIO,
    agreed: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "stdin", stdin)

    assert confirm("Delete it?") is agreed
    assert capsys.readouterr().err.startswith("Delete it? [y/N]:") == stdin.isatty()


@pytest.fixture
def file(terminal: Terminal) -> Path:
    """The file of cached replies, with three in it."""
    terminal.set(GRAPHREADER_HOME=str(terminal.folder / "home"), COLUMNS="100", NO_COLOR="1")
    path = terminal.folder / "home" / "replies.sqlite"

    async def keep() -> None:
        cache = ReplyCache(path)
        for number, model in enumerate(("openai:one", "ollama:[two]", "openai:one")):
            await cache.put(str(number), "{}", model=model)
        await cache.aclose()

    asyncio.run(keep())
    return path


# Replies are counted for a person, the most used model first; a program gets times in UTC.
def test_stats(terminal: Terminal, file: Path) -> None:
    outcome = terminal.run("cache", "stats")
    counts = terminal.run("cache", "stats", "--json").json
    lines = [line.split() for line in outcome.out.splitlines()]

    assert (outcome.code, outcome.err) == (0, "")
    assert lines[0] == ["Kept", "replies", "in", str(file)]
    assert lines[1:4] == [["replies", "3"], ["openai:one", "2"], ["ollama:[two]", "1"]]
    assert [line[0] for line in lines[4:]] == ["on", "oldest", "newest"]
    assert (counts["path"], counts["replies"]) == (str(file), 3)
    assert counts["models"] == {"openai:one": 2, "ollama:[two]": 1}
    assert counts["bytes"] >= file.stat().st_size > 0
    assert counts["oldest"] <= counts["newest"]
    assert counts["newest"].endswith("+00:00")


# Where nobody can be asked, what destroys or pays for a whole needs `--yes`.
@pytest.mark.parametrize("command", ["delete --all", "runs delete --all", "reindex", "cache clear"])
def test_yes_without_terminal(
    terminal: Terminal, file: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))

    outcome = terminal.run(*command.split())

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.endswith("Without a terminal nobody can be asked: add --yes.\n")
    assert ReplyCache(file).stats().replies == 3


# A person is asked before anything is cleared, unless `--yes` is given.
@pytest.mark.parametrize(("options", "left"), [([], 3), (["--yes"], 0)], ids=["no", "yes"])
def test_clear(
    terminal: Terminal,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    left: int,
) -> None:
    monkeypatch.setattr(sys, "stdin", Keyboard("n\n"))
    outcome = terminal.run("cache", "clear", *options, "--json")

    assert ReplyCache(file).stats().replies == left
    assert outcome.code == (1 if left else 0)
    assert left or outcome.json == {"path": str(file), "cleared": 3}


# A damaged file is reported with what to do, and that helps.
def test_a_damaged_file(terminal: Terminal, file: Path) -> None:
    file.write_bytes(b"no database " * 1000)
    outcome = terminal.run("cache", "stats")

    assert (outcome.code, outcome.out) == (1, "")
    shown = f"{file.parent.name}/{file.name}"
    assert f"{shown} cannot be read (file is not a database)" in outcome.err
    assert "`graphreader cache clear`" in outcome.err
    assert terminal.run("cache", "clear", "--yes").code == 0
    assert not file.exists()


# `browser` gives the address of one's own Neo4j and never a password.
@pytest.mark.parametrize(
    ("uri", "page", "shown"),
    [
        ("bolt://neo4j:secret@host:7690", "http://host:7474/browser/", "bolt://host:7690"),
        ("neo4j+s://A.Databases.Neo4j.IO", "https://console.neo4j.io", None),
    ],
)
def test_browser(terminal: Terminal, uri: str, page: str, shown: str | None) -> None:
    terminal.set(NEO4J_URI=uri, NEO4J_PASSWORD="secret-2")
    plain, encoded = terminal.run("browser"), terminal.run("browser", "--json")

    assert encoded.json == {"browser": page, "uri": shown or uri, "username": "neo4j"}
    assert f"Connect URL    {shown or uri}\n" in plain.out
    assert "secret" not in plain.out + encoded.out


# On a screen messages break between words; in a pipe no line ends with blanks.
def test_line_ends(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    screen, words = Keyboard(), "The kiln of Port Wessel is hot: give [a glove] to everyone."
    print_words(words, screen)
    print_words(words)
    piped = capsys.readouterr().out
    out = stdout_console()
    out.print(Padding(Text(words), (0, 0, 1, 2)))
    print_table([["Kiln", ""], ["Ida", "hot"]], "Name", "State")
    lines = capsys.readouterr().out.splitlines()

    assert max(map(len, screen.getvalue().splitlines())) <= 30
    assert screen.getvalue().split() == words.split()
    assert piped == f"{words}\n"
    assert lines == [line.rstrip() for line in lines]
    assert " ".join(" ".join(lines).split()).startswith(words)
