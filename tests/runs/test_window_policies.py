"""What happens where things do not fit: pages of facts and neighbors, notebooks written anew."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphreader.agent import ranking
from graphreader.agent.decisions import Condensed, InitialNodes
from graphreader.agent.exploration import MAX_NEIGHBORS
from graphreader.agent.tasks import (
    NOTEBOOK_TOKENS,
    AnswerTask,
    ChunkTask,
    CondenseTask,
    FactsTask,
    InitialNodesTask,
    JoinTask,
    NeighborTask,
)
from graphreader.errors import WindowError
from graphreader.reading import Reading
from graphreader.settings import Settings
from graphreader.testing import ScriptedDecider
from tests.runs import world

SENTENCES = [f"Hub met Person{number} here." for number in range(230)]
FACTS = {text: ["Hub", f"Person{number}"] for number, text in enumerate(SENTENCES)}
LONG = "Hub met somebody whose name stands here, and much else besides. " * 60

Ask = Callable[..., tuple[Reading, ScriptedDecider]]


@pytest.fixture
def ask(neo4j: Settings, corpus: str, tmp_path: Path, cleaned: None) -> Ask:
    """Asks a hub of 230 facts in a few chunks, on one path, with a script."""
    (tmp_path / "hub.txt").write_text("\n\n".join(SENTENCES), encoding="utf-8")

    def run(script: dict[Any, Any], **changes: Any) -> tuple[Reading, ScriptedDecider]:
        ways = {InitialNodesTask: world.nodes("Hub"), **script}
        decider = world.scripted(FACTS, ways)
        options = {"initial_nodes": 1, "chunk_tokens": 400} | changes
        with world.reader(neo4j, corpus, decider, **options) as reader:
            reader.ingest(tmp_path)
            return reader.ask("Whom did Person229 meet?"), decider

    return run


def tasks(decider: ScriptedDecider, kind: type[Any]) -> list[Any]:
    return [task for task in decider.asked if type(task) is kind]


def turn_pages(task: FactsTask) -> Any:
    return world.facts("next_page" if task.remaining else "stop_and_read_neighbor", [], "seen")


# A decider may look at all facts of a hub, page after page; the question's own words come first.
def test_all_facts_can_be_seen(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "CHUNKS_PER_PAGE", 1)
    reading, decider = ask({FactsTask: turn_pages})

    pages = tasks(decider, FactsTask)
    facts = [fact for task in pages for group in task.groups for fact in group.facts]
    assert "Hub met Person229 here." in pages[0].groups[0].facts
    assert [task.page for task in pages] == list(range(1, len(pages) + 1))
    assert len(pages[0].groups) == 1 < len(pages)
    assert sorted(facts) == sorted(SENTENCES)
    assert [call.name for call in reading.paths[0].functions][:1] == ["next_page"]


# Neighbors come in pages as well, none twice, and one of a later page can be read.
def test_neighbors_in_pages(ask: Ask) -> None:
    def fourth_page(task: NeighborTask) -> Any:
        if task.node != "Hub":
            return world.neighbor(0)
        if task.page == 4:
            return world.neighbor(7)
        return world.neighbor(0).model_copy(update={"function": "next_page"})

    stop = lambda task: world.facts("stop_and_read_neighbor", [])  # noqa: E731
    reading, decider = ask({FactsTask: stop, NeighborTask: fourth_page})

    pages = tasks(decider, NeighborTask)[:4]
    names = [name for task in pages for name in task.neighbors]
    assert [task.page for task in pages] == [1, 2, 3, 4]
    assert len(names) == len(set(names)) == MAX_NEIGHBORS
    assert "Person229" in pages[0].neighbors
    assert reading.paths[0].functions[4].argument == pages[3].neighbors[6]


# A notebook that has grown too long is written anew by the decider and goes on so.
def test_long_notebooks_are_condensed(ask: Ask) -> None:
    reading, decider = ask(
        {
            FactsTask: lambda task: world.facts("read_chunk", [1, 2], LONG),
            ChunkTask: lambda task: world.chunk("search_more", task.notebook),
            CondenseTask: lambda task: Condensed(notebook="Hub met many."),
        }
    )

    assert len(tasks(decider, CondenseTask)) == 1
    assert {task.notebook for task in tasks(decider, ChunkTask)} == {"Hub met many."}
    assert reading.paths[0].notebook == "Hub met many."
    assert reading.phases["explore"].calls == reading.paths[0].usage.calls
    assert reading.paths[0].usage.calls == reading.paths[0].calls + 1


def first_persons(task: InitialNodesTask) -> InitialNodes:
    persons = [name for name in task.nodes if name.startswith("Person")]
    return world.nodes(*persons[:20])(task)


# Notebooks that are too many for one answer prompt are joined until they fit; none is left out.
def test_many_notebooks_are_joined(ask: Ask) -> None:
    note = "Hub met somebody here. " * 60

    def fits(task: AnswerTask) -> Any:
        if len(task.notebooks) > 3:
            raise WindowError("That is too much.")
        return world.first_quote(task)

    def joined(task: JoinTask) -> Condensed:
        assert all(len(one) <= NOTEBOOK_TOKENS * 8 for one in task.notebooks)
        return Condensed(notebook=" ".join(re.findall(r"Person\d+", " ".join(task.notebooks))))

    reading, decider = ask(
        {
            InitialNodesTask: first_persons,
            FactsTask: lambda task: world.facts("stop_and_read_neighbor", [], note + task.node),
            AnswerTask: fits,
            JoinTask: joined,
        },
        initial_nodes=20,
    )

    assert reading.answered
    assert len(tasks(decider, JoinTask)) > 3
    assert len(reading.paths) == 20
    assert all(path.initial_node in reading.answer.split() for path in reading.paths)
    assert reading.phases["answer"].calls == 1 + len(tasks(decider, JoinTask))
