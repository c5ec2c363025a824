"""Worlds of a certain shape: a chain, two parts, no node, one node, twins, and what paths do there.

The ring stands in test_exploration, the star with a hub in its middle in test_hubs.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from graphreader.agent.tasks import ChunkTask, InitialNodesTask, NeighborTask, PlanTask
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


CHAIN = facts_of(LINKS)


def note_and_search(task: ChunkTask) -> Any:
    """Note and quote the first sentence of a chunk; end when the whole chain is noted."""
    said = f"{task.text.split('.')[0]}."
    notebook = f"{task.notebook} {said}".strip()
    whole = all(one in notebook for one in CHAIN)
    return world.chunk("termination" if whole else "search_more", notebook, [said])


def script(*start: str) -> dict[Any, Any]:
    return {
        InitialNodesTask: world.nodes(*start),
        ChunkTask: note_and_search,
        NeighborTask: lambda task: world.neighbor(1),
    }


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


# Alone, from one end of a chain of four links, the eleventh call is the one that knows all. From
# both ends each path stops at its tenth call, and together their notebooks hold the answer.
@pytest.mark.parametrize(
    ("start", "calls", "stopped"),
    [("Alma", 11, "termination"), ("Alma Emil", 10, "call_limit")],
)
def test_chain(ask: Ask, start: str, calls: int, stopped: str) -> None:
    names = start.split()
    texts = {f"book {n}": [one] for n, one in enumerate(CHAIN)}
    reading, _ = ask(texts, CHAIN, script(*names), initial_nodes=len(names), calls=calls)

    assert [(path.calls, path.stopped) for path in reading.paths] == [(calls, stopped)] * len(names)
    assert (sentence(*LINKS[3]) in reading.paths[0].notebook) is (calls == 11)
    assert all(one in reading.answer for one in CHAIN)
    assert {cited.quote for cited in reading.citations} == set(CHAIN)


# Texts without any key element tell nothing: that is the answer at once, without a path.
def test_no_key_elements(ask: Ask) -> None:
    reading, decider = ask({"book": ["Nothing happened here at all."]}, {}, {})

    assert (reading.answer, reading.answered) == ("The texts do not tell.", False)
    assert (reading.paths, reading.citations) == ((), ())
    assert all(isinstance(task, PlanTask) for task in decider.asked)
    assert reading.notes


# A graph of one node has one path, which reads what there is and ends where nothing is left.
def test_single_node(ask: Ask) -> None:
    alone = "Alma sailed alone."
    reading, decider = ask({"book": [alone]}, {alone: ["Alma"]}, {ChunkTask: note_and_search})

    (path,) = reading.paths
    assert (path.initial_node, path.calls, path.stopped) == ("Alma", 2, "nothing_left")
    assert path.notebook == alone
    assert not any(isinstance(task, NeighborTask) for task in decider.asked)
    assert [cited.quote for cited in reading.citations] == [alone]


ALIASES = """
MATCH (k:KeyElement {corpus: $corpus, name: 'Clara'}) SET k.aliases = ['Clara', 'ALMA'] RETURN k.id
"""


# Nodes of the very same facts begin one path together, and so do aliases of each other, whatever
# the case of their letters: then fewer paths set out than there may be.
def test_twins(ask: Ask) -> None:
    boat = "Old Hugo built the boat Swan."
    facts = facts_of(LINKS[:2]) | {boat: ["Old Hugo", "boat", "Swan"]}
    start = world.nodes("boat", "Swan", "Old Hugo", "Clara", "Alma")
    reading, _ = ask({"book": list(facts)}, facts, {InitialNodesTask: start}, change=ALIASES)

    assert [path.initial_node for path in reading.paths] == ["boat", "Clara", "Bruno"]
