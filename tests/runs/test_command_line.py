"""Commands on a real Neo4j that refuse, ask or show; `test_fixed_points` has the outputs of all."""

import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from tests.runs.openai_server import OpenAIServer
from tests.terminal import Keyboard, Terminal, environment_of

LIVES = {
    "vera": "Vera Holm was born in Bergen in 1901. She taught painting in Oslo.\n",
    "emil": "Emil Rask studied painting with Vera Holm. He founded a school in Malmö in 1933.\n",
    "贞德": "贞德生于栋雷米村。1431年，贞德在鲁昂被处死。\n",
}
QUESTION = "Where was the teacher of Emil Rask born?"


def write_lives(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    for title, text in LIVES.items():
        (folder / f"{title}.txt").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def lives(neo4j: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A corpus of three short lives, which no test changes."""
    folder = write_lives(tmp_path_factory.mktemp("lives"))
    name = f"test-{uuid4().hex[:12]}"
    with GraphReader(name, settings=neo4j) as reader:
        reader.ingest(folder)
        yield name
        reader.delete(everything=True)


@pytest.fixture
def terminal(terminal: Terminal, neo4j: Settings) -> Terminal:
    """Leads to the server."""
    terminal.set(**environment_of(neo4j), COLUMNS="100")
    return terminal


# A narrow terminal without colours gets no escape codes, and every title and command whole; Chinese
# stays Chinese.
def test_a_narrow_terminal(terminal: Terminal, lives: str) -> None:
    to = ("--corpus", lives)
    terminal.set(COLUMNS="40", NO_COLOR="1", TERM="dumb")
    listed = terminal.run("list", *to)
    asked = terminal.run("ask", "贞德在哪里被处死？", *to)

    assert (listed.code, asked.code) == (0, 0)
    assert "\x1b" not in listed.out + asked.out + listed.err + asked.err
    lines = [one for one in asked.out.splitlines() if not one.startswith("graphreader ask")]
    assert max(map(len, lines)) <= 40
    assert all(title in listed.out for title in LIVES)
    assert "鲁昂" in asked.out


# A document is deleted by id, path or title, and not by a title that two have; `--all` deletes the
# rest and the corpus itself, after a yes where a person sits at a terminal.
@pytest.mark.usefixtures("cleaned")
def test_delete(terminal: Terminal, corpus: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write_lives(terminal.folder)
    (terminal.folder / "more").mkdir()
    (terminal.folder / "more" / "vera.txt").write_text("Vera Dahl sang.\n", encoding="utf-8")
    to = ("--corpus", corpus)
    terminal.run("ingest", ".", *to)
    documents = terminal.run("list", *to, "--json").json["corpora"][0]["documents"]
    ids = {one["source"].rpartition("/")[2]: one["id"] for one in documents}
    veras = [one["id"] for one in documents if one["title"] == "vera"]

    ambiguous = terminal.run("delete", "vera", *to, "--json")
    by_title = terminal.run("delete", "贞德", *to)
    by_path = terminal.run("delete", "vera.txt", *to, "--json")
    by_id = terminal.run("delete", ids["emil.txt"], *to)
    monkeypatch.setattr(sys, "stdin", Keyboard("n\n"))
    kept = terminal.run("delete", "--all", *to)
    the_rest = terminal.run("delete", "--all", "--yes", *to, "--json")
    gone = terminal.run("stats", *to)

    assert (ambiguous.code, ambiguous.out, len(veras)) == (2, "", 2)
    assert all(id_ in ambiguous.err for id_ in veras)
    assert (by_title.code, by_title.out) == (0, f"{corpus}: 1 document deleted.\n")
    assert by_path.json == {"corpus": corpus, "deleted": 1}
    assert (by_id.code, kept.code) == (0, 1)
    assert kept.err.startswith(f"Delete the whole corpus '{corpus}'? [y/N]:")
    assert the_rest.json == {"corpus": corpus, "deleted": 1}
    assert (gone.code, gone.out) == (2, "")
    assert f"There is no corpus '{corpus}'" in gone.err


# `doctor` says what answers, what does not, and what mends it; its exit code tells the same.
def test_doctor(terminal: Terminal) -> None:
    with OpenAIServer(lambda body: {"plan": "Look."}) as server:
        terminal.set(
            OPENAI_API_KEY="sk-secret-words",
            OPENAI_BASE_URL=server.url,
            GRAPHREADER_MODEL="openai:fake",
            GRAPHREADER_EMBEDDINGS="nonsense:model",
        )
        outcome = terminal.run("doctor", "--json")
    terminal.set(GRAPHREADER_CALLS="many")
    broken = terminal.run("doctor")

    assert (outcome.code, outcome.err) == (1, "")
    assert outcome.json["ok"] is False
    checks = {one["name"]: one for one in outcome.json["checks"]}
    del checks["corpora"]  # which tells of the other tests' as well
    assert {name: one["ok"] for name, one in checks.items()} == {
        "settings": True,
        "neo4j": True,
        "model": True,
        "embeddings": False,
    }
    assert "configured by NEO4J_URI" in checks["neo4j"]["message"]
    assert "openai:fake answers (" in checks["model"]["message"]
    assert "GRAPHREADER_EMBEDDINGS" in checks["embeddings"]["message"]
    assert "sk-secret-words" not in outcome.out
    assert broken.code == 1
    assert "fails  settings  A setting is invalid. GRAPHREADER_CALLS" in broken.out


# Key elements that would merge can be looked at first, then merged once, and parted again. Stages
# can be named for one run; the merges of another stage go.
@pytest.mark.usefixtures("cleaned")
def test_normalize(terminal: Terminal, corpus: str) -> None:
    text = (
        "Never Too Loud is an album by the band Danko Jones, heard in the U.S. charts. "
        "Toronto has fans in the United States. Miami is a city in the United States.\n"
    )
    (terminal.folder / "album.txt").write_text(text, encoding="utf-8")
    to = ("--corpus", corpus)
    terminal.run("ingest", "album.txt", "--no-normalize", *to)
    foreseen = terminal.run("normalize", "--dry-run", *to)
    done = terminal.run("normalize", *to)
    again = terminal.run("normalize", *to)
    less = terminal.run("normalize", "--stages", "association", "--json", *to).json
    terminal.run("normalize", *to)
    back = terminal.run("normalize", "--undo", "--json", *to).json

    assert foreseen.out.startswith(f"{corpus}: would be: 1 merge;")
    assert done.out.startswith(f"{corpus}: 1 merge; 1 merge in all.")
    row = next(line for line in done.out.splitlines() if line.startswith("U.S."))
    assert row.split() == ["U.S.", "United", "States", "semantic", "1", "1.000"]
    assert again.out.startswith(f"{corpus}: nothing changed, 1 merge in all.")
    assert (less["stages"], less["merges"]) == (["association"], [])
    assert (back["changed"], back["merges"], len(back["parted"])) == (True, [], 1)
    assert terminal.run("normalize", "--corpus", f"{corpus}-other").code == 2
