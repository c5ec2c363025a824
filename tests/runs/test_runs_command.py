"""`graphreader runs ...`, on runs that were interrupted or are over."""

from pathlib import Path

import pytest

from graphreader.agent.events import FunctionChosen
from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from tests.terminal import Terminal, environment_of

QUESTION = "Whom did Alpha meet?"


@pytest.fixture
def own(neo4j: Settings, tmp_path: Path) -> Settings:
    """Settings with a home of the test's own."""
    return neo4j.model_copy(update={"home": tmp_path / "home"})


@pytest.fixture
def terminal(terminal: Terminal, own: Settings) -> Terminal:
    terminal.set(**environment_of(own), GRAPHREADER_HOME=str(own.home), COLUMNS="100")
    return terminal


def break_off(own: Settings, corpus: str) -> None:
    """Begin the run "broken", and stop listening to it."""
    with GraphReader(corpus, settings=own) as reader:
        for event in reader.stream(QUESTION, run="broken"):
            if isinstance(event, FunctionChosen):
                return
    raise AssertionError("it has ended")


# A run is listed and shown without any Neo4j, resumed by a prefix of its id, and deleted.
def test_from_list_to_delete(terminal: Terminal, own: Settings, ring: str) -> None:
    break_off(own, ring)
    uri = own.neo4j_uri or ""
    terminal.set(NEO4J_URI="bolt://127.0.0.1:1")
    listed = terminal.run("runs", "list", "--json").json["runs"]
    shown = terminal.run("runs", "show", "bro")
    terminal.set(NEO4J_URI=uri)
    resumed = terminal.run("runs", "resume", "bro", "--json").json
    terminal.set(NEO4J_URI="bolt://127.0.0.1:1")
    over = terminal.run("runs", "show", "broken")
    deleted = terminal.run("runs", "delete", "broken")

    assert [(one["run"], one["status"]) for one in listed] == [("broken", "interrupted")]
    assert "interrupted" in shown.out
    assert "Path 1, from" in shown.out
    assert resumed["run"] == "broken"
    assert resumed["answer"].partition(".")[0] in " ".join(over.out.split())
    assert (deleted.code, deleted.out) == (0, "1 run deleted.\n")
    assert "No runs are kept:" in terminal.run("runs", "list").out


# A new run begins before a step of an old one. All runs are deleted at once.
def test_from_a_step(terminal: Terminal, ring: str) -> None:
    first = terminal.run("ask", QUESTION, "--corpus", ring, "--json").json
    second = terminal.run("runs", "resume", first["run"], "--from", "3", "--json").json
    wrong = terminal.run("runs", "resume", first["run"], "--from", "9")
    listed = terminal.run("runs", "list", "--json").json["runs"]

    assert second["answer"] == first["answer"]
    assert {one["run"] for one in listed} == {first["run"], second["run"]}
    assert wrong.code == 2
    assert "has no step 9" in wrong.err
    assert terminal.run("runs", "delete", "--all", "--yes", "--json").out == '{"deleted": 2}\n'
