"""Worlds of a certain shape, chain, ring, two parts, none, one, twins, and what paths make of them.

The star with a hub in its middle stands in test_hubs.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from graphreader.agent.tasks import ChunkTask, FactsTask, InitialNodesTask, NeighborTask, PlanTask
from graphreader.errors import GraphReaderError, UsageError
from graphreader.reading import Reading
from graphreader.settings import Settings
from graphreader.testing import ScriptedDecider
from tests.runs import digest, world

Ask = Callable[..., tuple[Reading, ScriptedDecider]]

LINKS = [("Alma", "Bruno"), ("Bruno", "Clara"), ("Clara", "Dario"), ("Dario", "Emil")]


def sentence(one: str, other: str) -> str:
    return f"{one} taught {other} to sail."


def facts_of(links: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    return {sentence(*link): list(link) for link in links}


def note_and(function: str) -> Callable[[ChunkTask], Any]:
    """Notes what a chunk says, its first sentence, then goes on so."""

    def note(task: ChunkTask) -> Any:
        said = f"{task.text.split('.')[0]}."
        notebook = f"{task.notebook} {said}".strip()
        return world.chunk(function, notebook, [said])

    return note


def onwards(task: NeighborTask) -> Any:
    """To the first neighbor, whatever there is."""
    return world.neighbor(1)


@pytest.fixture
def ask(neo4j: Settings, corpus: str, tmp_path: Path, cleaned: None) -> Ask:
    """Reads texts in, and asks about them."""

    def run(
        texts: dict[str, list[str]],
        facts: dict[str, list[str]],
        script: dict[Any, Any],
        change: str = "",
        **changes: Any,
    ) -> tuple[Reading, ScriptedDecider]:
        decider = world.scripted(facts, script)
        with world.reader(neo4j, corpus, decider, normalize="none", **changes) as reader:
            reader.ingest(world.write_files(tmp_path / "texts", texts))
            if change:
                digest.rows(neo4j, change, corpus=corpus)
            decider.asked.clear()
            return reader.ask("Who was the last to learn to sail, beginning with Alma?"), decider

    return run


def tasks(decider: ScriptedDecider, kind: type[Any]) -> list[Any]:
    return [task for task in decider.asked if isinstance(task, kind)]


def chain(*, apart: bool) -> dict[str, list[str]]:
    """The chain's texts: a document for each link, or a chunk for each."""
    sentences = [sentence(*link) for link in LINKS]
    if apart:
        return {f"book {n}": [one] for n, one in enumerate(sentences)}
    return {"book": sentences}


def until_all_is_known(task: ChunkTask) -> Any:
    """Ends when the notebook holds every link of the chain."""
    noted = note_and("search_more")(task)
    whole = all(one in noted.notebook for one in facts_of(LINKS))
    return noted.model_copy(update={"function": "termination"}) if whole else noted


# Alone, from one end of a chain of four links, the eleventh call is the one that would know all.
@pytest.mark.parametrize(("calls", "stopped"), [(10, "call_limit"), (11, "termination")])
def test_one_end_of_a_chain(ask: Ask, calls: int, stopped: str) -> None:
    script = {
        InitialNodesTask: world.nodes("Alma"),
        ChunkTask: until_all_is_known,
        NeighborTask: onwards,
    }
    reading, _ = ask(chain(apart=True), facts_of(LINKS), script, initial_nodes=1, calls=calls)

    (path,) = reading.paths
    assert (path.calls, path.stopped) == (calls, stopped)
    assert (sentence(*LINKS[3]) in reading.answer) is (calls == 11)
    assert all(sentence(*link) in reading.answer for link in LINKS[:3])


# From both ends each path stops at its tenth call, and together their notebooks hold the answer.
@pytest.mark.parametrize("apart", [True, False], ids=["documents", "chunks"])
def test_both_ends_of_a_chain(ask: Ask, apart: bool) -> None:
    script = {
        InitialNodesTask: world.nodes("Alma", "Emil"),
        ChunkTask: until_all_is_known,
        NeighborTask: onwards,
    }
    reading, _ = ask(chain(apart=apart), facts_of(LINKS), script, initial_nodes=2)

    one, other = reading.paths
    assert [(path.calls, path.stopped) for path in (one, other)] == [(10, "call_limit")] * 2
    assert sentence(*LINKS[3]) not in one.notebook
    assert sentence(*LINKS[0]) not in other.notebook
    assert reading.answered
    assert all(sentence(*link) in reading.answer for link in LINKS)
    assert {cited.quote for cited in reading.citations} == set(facts_of(LINKS))


# Of two parts without a way between them each has its paths; their notebooks are joined.
def test_two_parts(ask: Ask) -> None:
    north = [("Alma", "Bruno"), ("Bruno", "Clara")]
    south = [("Xenia", "Yorick"), ("Yorick", "Zelda")]
    texts = {"north": [sentence(*one) for one in north], "south": [sentence(*one) for one in south]}
    script = {
        InitialNodesTask: world.nodes("Alma", "Xenia"),
        ChunkTask: note_and("search_more"),
        NeighborTask: onwards,
    }
    reading, _ = ask(texts, facts_of([*north, *south]), script, initial_nodes=2, calls=50)

    one, other = reading.paths
    assert [path.stopped for path in reading.paths] == ["nothing_left"] * 2
    assert one.notebook.split(". ") != other.notebook.split(". ")
    assert all(sentence(*link) in one.notebook for link in north)
    assert not any(sentence(*link) in one.notebook for link in south)
    assert all(sentence(*link) in other.notebook for link in south)
    assert all(sentence(*link) in reading.answer for link in [*north, *south])


RING = [*LINKS, ("Emil", "Frida"), ("Frida", "Alma")]


# On a ring a path goes round once at most: it ends where nothing is left, or at its tenth call.
@pytest.mark.parametrize(
    ("calls", "stopped"), [(10, "call_limit"), (100, "nothing_left")], ids=["short", "long"]
)
@pytest.mark.parametrize("reads", [True, False], ids=["reading", "passing"])
def test_ring(ask: Ask, calls: int, stopped: str, reads: bool) -> None:
    script: dict[Any, Any] = {
        InitialNodesTask: world.nodes("Alma"),
        ChunkTask: note_and("search_more"),
        NeighborTask: onwards,
    }
    if not reads:
        script[FactsTask] = lambda task: world.facts("stop_and_read_neighbor", [])
    texts = {"ring": [sentence(*link) for link in RING]}
    reading, decider = ask(texts, facts_of(RING), script, initial_nodes=1, calls=calls)

    (path,) = reading.paths
    assert path.stopped == stopped
    went = [call.argument for call in path.functions if call.name == "read_neighbor_node"]
    read = [task.label for task in tasks(decider, ChunkTask)]
    assert len(["Alma", *went]) == len({"Alma", *went})
    assert len(read) == len(set(read))
    assert path.calls <= calls


# A corpus whose only text was deleted is empty, and one that was never there unknown: both are said
# in words, and nobody is asked.
def test_empty(neo4j: Settings, corpus: str, tmp_path: Path, cleaned: None) -> None:
    decider = world.scripted(facts_of(LINKS), {})
    with world.reader(neo4j, corpus, decider) as reader:
        with pytest.raises(GraphReaderError, match="corpus"):
            reader.ask("Who?")
        report = reader.ingest(world.write_files(tmp_path, {"book": [sentence(*LINKS[0])]}))
        reader.delete(report.documents[0].id)
        decider.asked.clear()
        with pytest.raises(UsageError, match=r"is empty: read texts into it with"):
            reader.ask("Who?")

    assert decider.asked == []


# Texts without any key element tell nothing: that is the answer at once, without a path.
def test_no_key_elements(ask: Ask) -> None:
    reading, decider = ask({"book": ["Nothing happened here at all."]}, {}, {})

    assert (reading.answer, reading.answered) == ("The texts do not tell.", False)
    assert (reading.paths, reading.citations) == ((), ())
    assert all(isinstance(task, PlanTask) for task in decider.asked)
    assert reading.notes


# A graph of one node has one path, which reads what there is and ends where nothing is left.
def test_single_node(ask: Ask) -> None:
    script = {ChunkTask: note_and("search_more")}
    reading, decider = ask(
        {"book": ["Alma sailed alone."]}, {"Alma sailed alone.": ["Alma"]}, script
    )

    (path,) = reading.paths
    assert (path.initial_node, path.calls, path.stopped) == ("Alma", 2, "nothing_left")
    assert path.notebook == "Alma sailed alone."
    assert tasks(decider, NeighborTask) == []
    assert [cited.quote for cited in reading.citations] == ["Alma sailed alone."]


# Nodes of the very same facts lead to the same place: the best of them begins a path, no other.
def test_twins_of_the_same_facts(ask: Ask) -> None:
    facts = facts_of(RING[:2]) | {"Old Hugo built the boat Swan.": ["Old Hugo", "boat", "Swan"]}
    script = {InitialNodesTask: world.nodes("boat", "Swan", "Old Hugo", "Clara")}
    reading, _ = ask({"book": list(facts)}, facts, script)

    begun = [path.initial_node for path in reading.paths]
    assert begun[:2] == ["boat", "Clara"]
    assert not {"Swan", "Old Hugo"} & set(begun)
    assert sorted(begun) == ["Alma", "Bruno", "Clara", "boat"]


ALIASES = """
MATCH (k:KeyElement {corpus: $corpus, name: 'Clara'}) SET k.aliases = ['Clara', 'ALMA'] RETURN k.id
"""


# Nodes that are aliases of each other, whatever the case of their letters, begin one path together.
@pytest.mark.parametrize("first", ["Alma", "Clara"])
def test_aliases(ask: Ask, first: str) -> None:
    second = {"Alma": "Clara", "Clara": "Alma"}[first]
    script = {InitialNodesTask: world.nodes(first, second, "Dario")}
    texts = {"book": [sentence(*link) for link in LINKS]}
    reading, _ = ask(texts, facts_of(LINKS), script, change=ALIASES)

    begun = [path.initial_node for path in reading.paths]
    assert begun[:2] == [first, "Dario"]
    assert second not in begun


# Where nothing but such doubles is left, fewer paths set out than there may be.
def test_fewer_paths_than_wanted(ask: Ask) -> None:
    fact = "Old Hugo built the boat Swan."
    reading, _ = ask({"book": [fact]}, {fact: ["Old Hugo", "boat", "Swan"]}, {})

    assert len(reading.paths) == 1
