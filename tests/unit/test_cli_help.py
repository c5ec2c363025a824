"""What the command line says about itself, and how soon."""

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.terminal import Terminal

COMMANDS: tuple[list[str], ...] = (
    [],
    ["ingest"],
    ["estimate"],
    ["ask"],
    ["list"],
    ["stats"],
    ["delete"],
    ["reindex"],
    ["normalize"],
    ["export"],
    ["import"],
    ["neo4j"],
    ["neo4j", "start"],
    ["neo4j", "stop"],
    ["neo4j", "status"],
    ["browser"],
    ["doctor"],
    ["evaluate"],
    ["report"],
)
HEAVY = ("neo4j", "langgraph", "langchain", "langchain_core", "openai", "tiktoken", "httpx")


@pytest.fixture
def terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Terminal:
    return Terminal(monkeypatch, capsys, tmp_path)


# Every command explains itself, also where the terminal is narrow or takes ASCII only.
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("columns", ["40", "120"])
def test_help(terminal: Terminal, command: list[str], columns: str) -> None:
    terminal.set(COLUMNS=columns, NO_COLOR="1", TERM="dumb")

    long = terminal.run(*command, "--help")
    short = terminal.run(*command, "-h")

    assert (long.code, long.err) == (0, "")
    assert long.out == short.out
    assert "Usage: graphreader" in long.out
    assert max(map(len, long.out.splitlines())) <= int(columns)
    assert "\x1b" not in long.out


# The help of the whole names every command and shows examples.
def test_help_of_all(terminal: Terminal) -> None:
    help_ = terminal.run("--help").out

    assert all(command[0] in help_ for command in COMMANDS[1:])
    assert 'graphreader ask "Who taught the founder of the school?"' in help_


# The help comes at once: nothing heavy is imported for it, by no command's module.
@pytest.mark.parametrize("arguments", [["--help"], ["ask", "--help"], ["--version"]])
def test_help_is_quick(arguments: list[str], tmp_path: Path) -> None:
    program = (
        "import sys, json, atexit\n"
        "atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))\n"
        f"sys.argv = ['graphreader', *{arguments!r}]\n"
        "from graphreader.cli.main import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, encoding="utf-8", cwd=tmp_path
    )

    assert done.returncode == 0
    imported = {name.partition(".")[0] for name in json.loads(done.stderr)}
    assert not imported & set(HEAVY)
    assert "graphreader.settings" not in json.loads(done.stderr)


# `--version` prints the package's version and nothing else.
def test_version(terminal: Terminal) -> None:
    said = terminal.run("--version")

    assert (said.code, said.out, said.err) == (0, f"graphreader {version('graphreader')}\n", "")


# `python -m graphreader` is the same command.
def test_as_a_module(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "graphreader", "--version"],
        capture_output=True,
        encoding="utf-8",
        cwd=tmp_path,
    )

    assert (done.returncode, done.stdout) == (0, f"graphreader {version('graphreader')}\n")


# Wrong usage is exit code 2 with a word on what is wrong, and nothing on stdout.
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["ask"], "Ask a question, or name a file of questions with --file."),
        (["ingest"], "Name what to read"),
        (["list", "--nonsense"], "No such option: --nonsense"),
        (["ask", "who?", "--corpus"], "requires an argument"),
        (["neo4j", "nonsense"], "No such command 'nonsense'"),
        (["export"], "Missing argument 'FILE'"),
        (["import"], "Missing argument 'FILE'"),
        (["export", "-", "--json"], "not both: name a file."),
        (["import", "nowhere.jsonl"], "nowhere.jsonl cannot be opened (No such file"),
        (["delete"], "Name one document, or say --all for the whole corpus."),
        (["delete", "one", "--all"], "Name one document, or say --all for the whole corpus."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage(terminal: Terminal, arguments: list[str], said: str) -> None:
    terminal.set(COLUMNS="120")

    outcome = terminal.run(*arguments)

    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err
    assert "Traceback" not in outcome.err
