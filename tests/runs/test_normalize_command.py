"""`graphreader normalize` on a real Neo4j, as a person gives it."""

import json
from pathlib import Path

import pytest

from graphreader.settings import Settings
from tests.terminal import Terminal, environment_of

TEXT = (
    "Never Too Loud is an album by the Canadian band Danko Jones. "
    "Danko Jones comes from Toronto in Canada. Toronto is a city in Canada.\n"
)

pytestmark = pytest.mark.usefixtures("cleaned")


@pytest.fixture
def terminal(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    neo4j: Settings,
) -> Terminal:
    """A folder with one text in it, and the server's variables."""
    (tmp_path / "album.txt").write_text(TEXT, encoding="utf-8")
    terminal = Terminal(monkeypatch, capsys, tmp_path)
    terminal.set(**environment_of(neo4j), COLUMNS="100")
    return terminal


# What would merge can be looked at first, then merged once, and taken back; a file has all of it.
def test_there_and_back(terminal: Terminal, corpus: str, tmp_path: Path) -> None:
    to = ["--corpus", corpus]
    assert terminal.run("ingest", "album.txt", "--no-normalize", *to).code == 0
    foreseen = terminal.run("normalize", "--dry-run", *to)
    done = terminal.run("normalize", "--report", "merges.json", *to)
    again = terminal.run("normalize", *to)
    back = terminal.run("normalize", "--undo", "--json", *to)

    assert foreseen.out.startswith(f"{corpus}: would be: 1 merge;")
    assert done.out.startswith(f"{corpus}: 1 merge; 1 merge in all.")
    row = next(line for line in done.out.splitlines() if line.startswith("Canadian"))
    assert row.split() == ["Canadian", "Canada", "semantic", "1", "1.000"]
    told = json.loads((tmp_path / "merges.json").read_text(encoding="utf-8"))
    assert [(one["name"], one["into_name"], one["new"]) for one in told["merges"]] == [
        ("Canadian", "Canada", True)
    ]
    assert again.out.startswith(f"{corpus}: nothing changed, 1 merge in all.")
    assert (back.json["changed"], back.json["merges"], len(back.json["parted"])) == (True, [], 1)


# Stages can be named for one run; what another stage had merged goes with it.
def test_stages_can_be_named(terminal: Terminal, corpus: str) -> None:
    to = ["--corpus", corpus]
    assert terminal.run("ingest", "album.txt", *to).code == 0
    counted = terminal.run("stats", "--json", *to).json
    less = terminal.run("normalize", "--stages", "association", "--json", *to)

    assert counted["merged"] == 1
    assert (less.json["stages"], less.json["merges"]) == (["association"], [])
    assert terminal.run("stats", "--json", *to).json["merged"] == 0


# Wrong words are refused before anything is touched.
def test_wrong_usage(terminal: Terminal, corpus: str) -> None:
    both = terminal.run("normalize", "--undo", "--stages", "none", "--corpus", corpus)
    unknown = terminal.run("normalize", "--stages", "everything", "--corpus", corpus)
    nowhere = terminal.run("normalize", "--corpus", corpus)

    assert (both.code, unknown.code, nowhere.code) == (2, 2, 2)
    assert "leave out --stages" in both.err
    assert "GRAPHREADER_NORMALIZE: the stages are semantic, association" in unknown.err
    assert "There is no corpus" in nowhere.err
