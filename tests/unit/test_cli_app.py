"""What the command line says about itself, and how soon."""

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.main import get_command

from graphreader.cli.app import app
from tests.terminal import Terminal


def commands() -> list[list[str]]:
    """All commands and groups, as they are typed."""
    found: list[list[str]] = [[]]
    for command in get_command(app).commands.values():  # type: ignore[attr-defined]
        found.append([command.name])
        found += [[command.name, name] for name in getattr(command, "commands", {})]
    return found


HEAVY = ("neo4j", "langgraph", "langchain", "langchain_core", "openai", "tiktoken", "httpx")


@pytest.fixture
def terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Terminal:
    return Terminal(monkeypatch, capsys, tmp_path)


# Every command has a help that fits, also in a narrow terminal; it shows no types of flags.
@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_help(terminal: Terminal, command: list[str]) -> None:
    terminal.set(COLUMNS="40", NO_COLOR="1", TERM="dumb")
    narrow = terminal.run(*command, "-h")
    terminal.set(COLUMNS="120")
    wide = terminal.run(*command, "--help")

    for said, columns in ((narrow, 40), (wide, 120)):
        assert (said.code, said.err) == (0, "")
        assert "Usage: graphreader" in said.out
        assert max(map(len, said.out.splitlines())) <= columns
        assert "\x1b" not in said.out
        assert "bool" not in said.out


# The help of the whole names every command and shows examples.
def test_help_of_all(terminal: Terminal) -> None:
    text = terminal.run("--help").out

    assert all(command[0] in text for command in commands() if command)
    assert 'graphreader ask "Who taught the founder of the school?"' in text


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


# Wrong usage is exit code 2 with a word on what is wrong, and nothing on stdout.
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["ask"], "Ask a question, or name a file of questions with --file."),
        (["ingest"], "Name what to read"),
        (["list", "--nonsense"], "No such option: --nonsense"),
        (["ask", "who?", "--corpus"], "requires an argument"),
        (["ask", "who?", "--max-calls", "0"], "'--max-calls': it must be at least 1"),
        (["ask", "who?", "--max-calls", "x"], "'--max-calls': it must be an integer"),
        (["ask", "who?", "--mode", "slow"], "'--mode': 'slow' is not one of 'paper', 'fast'."),
        (["runs", "delete", "--before", "soon"], "'soon' is not a day like 2026-01-31"),
        (["--log-level", "x", "list"], "'--log-level': 'x' is not one of 'debug', 'info'"),
        (["neo4j", "nonsense"], "No such command 'nonsense'"),
        (["export"], "Missing argument 'FILE'"),
        (["import"], "Missing argument 'FILE'"),
        (["export", "-", "--json"], "not both: name a file."),
        (["import", "nowhere.jsonl"], "nowhere.jsonl cannot be opened (No such file"),
        (["delete"], "Name one document, or use --all for the whole corpus."),
        (["delete", "one", "--all"], "Name one document, or use --all for the whole corpus."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage(terminal: Terminal, arguments: list[str], said: str) -> None:
    terminal.set(COLUMNS="120")

    outcome = terminal.run(*arguments)

    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err
    assert "Traceback" not in outcome.err
