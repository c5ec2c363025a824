"""`graphreader cache`: counting and clearing, without any Neo4j."""

import asyncio
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from graphreader.llm.cache import ReplyCache
from tests.terminal import Terminal


class Keyboard(io.StringIO):
    """Somebody sits at it."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Terminal:
    terminal = Terminal(monkeypatch, capsys, tmp_path)
    terminal.set(GRAPHREADER_HOME=str(tmp_path / "home"), COLUMNS="100", NO_COLOR="1")
    return terminal


@pytest.fixture
def file(terminal: Terminal) -> Path:
    """The file of kept replies, with three in it."""
    path = terminal.folder / "home" / "replies.sqlite"

    async def keep() -> None:
        cache = ReplyCache(path)
        for number, model in enumerate(("openai:one", "ollama:[two]", "openai:one")):
            await cache.put(str(number), "{}", model=model)
        await cache.aclose()

    asyncio.run(keep())
    return path


# What is kept is counted for a person, models as they are called, the most used one first.
def test_stats(terminal: Terminal, file: Path) -> None:
    said = terminal.run("cache", "stats")
    lines = [line.split() for line in said.out.splitlines()]

    assert (said.code, said.err) == (0, "")
    assert lines[0] == ["Kept", "replies", "in", str(file)]
    assert lines[1:4] == [["replies", "3"], ["openai:one", "2"], ["ollama:[two]", "1"]]
    assert [line[0] for line in lines[4:]] == ["on", "oldest", "newest"]


# Programs get one object, with times in UTC.
def test_stats_json(terminal: Terminal, file: Path) -> None:
    said = terminal.run("cache", "stats", "--json")

    assert said.code == 0
    assert said.json["path"] == str(file)
    assert said.json["replies"] == 3
    assert said.json["models"] == {"openai:one": 2, "ollama:[two]": 1}
    assert said.json["bytes"] >= file.stat().st_size > 0
    assert said.json["oldest"] <= said.json["newest"]
    assert said.json["newest"].endswith("+00:00")


# Where nothing is kept that is said, and nothing is made.
def test_nothing_kept(terminal: Terminal) -> None:
    stats, as_json = terminal.run("cache", "stats"), terminal.run("cache", "stats", "--json")
    clear = terminal.run("cache", "clear")

    assert (stats.code, as_json.code, clear.code) == (0, 0, 0)
    assert stats.out.startswith("No replies are kept in ")
    assert (as_json.json["replies"], as_json.json["bytes"], as_json.json["oldest"]) == (0, 0, None)
    assert clear.out == "0 replies cleared.\n"
    assert not (terminal.folder / "home").exists()


# A person is asked before anything is cleared; only yes is yes.
@pytest.mark.parametrize(
    ("answer", "code", "left"), [("n", 1, 3), ("", 1, 3), ("what?", 1, 3), ("Yes", 0, 0)]
)
def test_clear_asks(
    terminal: Terminal,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    answer: str,
    code: int,
    left: int,
) -> None:
    monkeypatch.setattr(sys, "stdin", Keyboard(f"{answer}\n"))
    said = terminal.run("cache", "clear")

    assert said.code == code
    assert said.err.startswith("Delete all cached replies")
    assert ReplyCache(file).stats().replies == left
    assert said.out == ("3 replies cleared.\n" if code == 0 else "")
    assert said.err.endswith("Nothing was cleared.\n") == (code == 1)


# With `--yes`, or where nobody could answer, nothing is asked.
@pytest.mark.parametrize("options", [["--yes"], []])
def test_clear_does_not_ask(
    terminal: Terminal, file: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", Keyboard() if options else None)
    said = terminal.run("cache", "clear", *options, "--json")

    assert (said.code, said.err) == (0, "")
    assert said.json == {"path": str(file), "cleared": 3}
    assert ReplyCache(file).stats().replies == 0


# A damaged file is told in a sentence that says what to do, and that helps.
def test_a_damaged_file(terminal: Terminal, file: Path) -> None:
    file.write_bytes(b"no database " * 1000)
    said = terminal.run("cache", "stats")
    assert (said.code, said.out) == (1, "")
    assert said.err == (
        f"{file} cannot be read (file is not a database): begin anew with"
        " `graphreader cache clear`.\n"
    )

    assert terminal.run("cache", "clear", "--yes").code == 0
    assert not file.exists()
    assert terminal.run("cache", "stats").code == 0


# No model, no database and no server is loaded for it.
def test_it_is_light(file: Path) -> None:
    program = (
        "import sys, json, atexit\n"
        "atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))\n"
        "sys.argv = ['graphreader', 'cache', 'stats', '--json']\n"
        "from graphreader.cli.main import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, encoding="utf-8", cwd=file.parent
    )

    assert json.loads(done.stdout)["replies"] == 3
    imported = {name.partition(".")[0] for name in json.loads(done.stderr)}
    assert not imported & {"neo4j", "langchain_core", "openai", "langgraph", "psutil"}
