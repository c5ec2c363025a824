"""Commands on a real Neo4j that refuse, ask or show; `test_fixed_points` has the outputs of all."""

import pytest

from graphreader.settings import Settings
from tests.runs.openai_server import OpenAIServer
from tests.terminal import Terminal, environment_of


@pytest.fixture
def terminal(terminal: Terminal, neo4j: Settings) -> Terminal:
    """Leads to the server."""
    terminal.set(**environment_of(neo4j), COLUMNS="100")
    return terminal


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
    less = terminal.run("normalize", "--stages", "association", "--json", *to).json
    terminal.run("normalize", *to)
    back = terminal.run("normalize", "--undo", "--json", *to).json

    assert foreseen.out.startswith(f"{corpus}: would be: 1 merge;")
    assert done.out.startswith(f"{corpus}: 1 merge; 1 merge in all.")
    row = next(line for line in done.out.splitlines() if line.startswith("U.S."))
    assert row.split() == ["U.S.", "United", "States", "semantic", "1", "1.000"]
    assert (less["stages"], less["merges"]) == (["association"], [])
    assert (back["changed"], back["merges"], len(back["parted"])) == (True, [], 1)
