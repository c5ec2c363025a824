"""`graphreader cache` and `browser`, without any Neo4j."""

import asyncio
import sys
from pathlib import Path

import pytest

from graphreader.llm.cache import ReplyCache
from tests.terminal import Keyboard, Terminal


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
    assert f"{file} cannot be read (file is not a database)" in outcome.err
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
