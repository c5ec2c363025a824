"""Small worlds to explore: texts of one paragraph a chunk, and deciders made for them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from graphreader.agent.decisions import (
    Answer,
    ChunkDecision,
    CitedClaim,
    ClaimCheck,
    FactsDecision,
    InitialNodes,
    NeighborDecision,
    ProposedNode,
    RationalPlan,
)
from graphreader.agent.tasks import (
    AnswerTask,
    ChunkTask,
    ClaimCheckTask,
    FactsTask,
    InitialNodesTask,
    NeighborTask,
    PlanTask,
)
from graphreader.graph_reader import GraphReader
from graphreader.ingestion.extraction import ExtractedFact, Extraction, ExtractionTask
from graphreader.reading import Confidence
from graphreader.settings import Settings
from graphreader.testing import ScriptedDecider
from tests.terminal import environment_of

Facts = Mapping[str, list[str]]
PARAGRAPH_TOKENS = 50

RING_NAMES = ["Alpha", "Beta", "Gamma", "Delta", "Epsilon", "Zeta", "Eta"]
RING = [f"{name} met {RING_NAMES[(n + 1) % 7]} here." for n, name in enumerate(RING_NAMES)]
RING_FACTS = {text: [RING_NAMES[n], RING_NAMES[(n + 1) % 7]] for n, text in enumerate(RING)}
"""Seven names, each of which met the next one: a world in which all nodes hang together."""


def extraction_of(facts: Facts) -> Extraction:
    return Extraction(
        facts=[ExtractedFact(fact=fact, key_elements=names) for fact, names in facts.items()],
        summary=f"It says: {' '.join(facts)}",
    )


def extraction(facts: Facts) -> Callable[[ExtractionTask], Extraction]:
    """Those of the facts whose sentence stands in the chunk."""

    def extract(task: ExtractionTask) -> Extraction:
        text = " ".join(task.text.split())
        return extraction_of({fact: names for fact, names in facts.items() if fact in text})

    return extract


def plan(task: PlanTask) -> RationalPlan:
    return RationalPlan(plan="Look at what the texts say.")


def nodes(*names: str) -> Callable[[InitialNodesTask], InitialNodes]:
    """These nodes, best first."""

    def propose(task: InitialNodesTask) -> InitialNodes:
        return InitialNodes(
            nodes=[
                ProposedNode(number=task.nodes.index(name) + 1, score=100 - rank)
                for rank, name in enumerate(names)
            ]
        )

    return propose


def read_all(task: FactsTask) -> FactsDecision:
    """Every chunk that is not read yet, in the order shown."""
    unread = [n for n, group in enumerate(task.groups, 1) if not group.read]
    if unread:
        return facts("read_chunk", unread, task.notebook)
    return facts("stop_and_read_neighbor", [], task.notebook)


def facts(function: Any, chunks: list[int], notebook: str = "") -> FactsDecision:
    return FactsDecision(notebook=notebook, rationale="r", function=function, chunks=chunks)


def chunk(function: Any, notebook: str = "", quotes: list[str] | None = None) -> ChunkDecision:
    return ChunkDecision(notebook=notebook, quotes=quotes or [], rationale="r", function=function)


def neighbor(number: int) -> NeighborDecision:
    """Go on at the neighbor of that number, or end the path with 0."""
    function: Any = "read_neighbor_node" if number else "termination"
    return NeighborDecision(rationale="r", function=function, neighbor=number)


def quote_and_note(task: ChunkTask) -> ChunkDecision:
    """Quote the first sentence of the chunk, note the chunk's name, and read on."""
    return chunk("search_more", f"{task.notebook} {task.label}.".strip(), [task.text.split(".")[0]])


EXPLORING: dict[Any, Any] = {
    ChunkTask: quote_and_note,
    NeighborTask: lambda task: neighbor(1 if len(task.actions) < 4 else 0),
}
"""Paths of four calls, which quote all that they read."""


def first_quote(task: AnswerTask) -> Answer:
    """The notebooks joined, resting on all the quotes."""
    numbers = range(1, len(task.evidence) + 1)
    return answer(" ".join(notebook for notebook in task.notebooks if notebook), *numbers)


def answer(text: str, *citations: int, answered: bool = True) -> Answer:
    """The answer as one claim that rests on these quotes."""
    claims = [CitedClaim(claim=text, citations=list(citations))]
    confidence: Confidence = "stated" if answered else "not in the texts"
    return Answer(analysis="joined", answer=text, confidence=confidence, claims=claims)


def scripted(known: Facts, script: Mapping[Any, Any]) -> ScriptedDecider:
    """A decider with sensible ways, but for what the script says."""
    ways: dict[Any, Any] = {
        ExtractionTask: extraction(known),
        PlanTask: plan,
        InitialNodesTask: lambda task: InitialNodes(
            nodes=[ProposedNode(number=n, score=50) for n in range(1, len(task.nodes) + 1)]
        ),
        FactsTask: read_all,
        ChunkTask: lambda task: chunk("search_more", task.notebook),
        NeighborTask: lambda task: neighbor(0),
        AnswerTask: first_quote,
        ClaimCheckTask: lambda task: ClaimCheck(claims=[], confidence="stated", explanation=""),
    }
    return ScriptedDecider(ways | dict(script))


def settings(base: Settings, **changes: Any) -> Settings:
    """The settings of a server, with chunks of a paragraph."""
    assert changes.keys() <= Settings.model_fields.keys()  # model_copy would not say so
    return base.model_copy(update={"chunk_tokens": PARAGRAPH_TOKENS} | changes)


def reader(
    base: Settings, corpus: str, decider: ScriptedDecider | None, **changes: Any
) -> GraphReader:
    """A reader with a scripted decider (None: the one of the settings)."""
    return GraphReader(corpus, settings=settings(base, **changes), decider=decider)


def write_files(folder: Path, texts: Mapping[str, list[str]]) -> Path:
    """One file a text, one paragraph each of about as many tokens as a chunk takes."""
    folder.mkdir(parents=True, exist_ok=True)
    for title, paragraphs in texts.items():
        (folder / f"{title}.txt").write_text(text_of(paragraphs), encoding="utf-8")
    return folder


def text_of(paragraphs: list[str]) -> str:
    """The text of such a file."""
    return "\n\n".join(map(padded, paragraphs)) + "\n"


def padded(paragraph: str) -> str:
    """A paragraph that fills a chunk so far that no other fits beside it."""
    filler = " Nothing else is told here, and the rest is only words without any meaning."
    while len(paragraph.split()) < 28:
        paragraph += filler
    return paragraph


def at_home(base: Settings, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let this process be that of somebody who has configured the server, and stands in a folder.

    Fewer paths are the same steps in less time.
    """
    monkeypatch.chdir(folder)
    for name, value in {**environment_of(base), "GRAPHREADER_INITIAL_NODES": "2"}.items():
        monkeypatch.setenv(name, value)
