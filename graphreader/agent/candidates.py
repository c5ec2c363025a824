"""The key elements that may become initial nodes: all of a small graph, the best of a large one.

The paper shows all of them (section 3.3.1); in a graph of thousands most are noise to whoever has
to choose, and they fit no window.
"""

import asyncio
from dataclasses import dataclass

from graphreader.agent.parts import Parts
from graphreader.agent.ranking import fused
from graphreader.agent.state import Run
from graphreader.errors import DecisionError
from graphreader.store.found import Node

CANDIDATES = 100
"""Key elements that may become initial nodes."""

SMALL = 2_000
"""Key elements of a graph in which those with the most facts are looked for quickly."""

SEARCHED = 50
"""Key elements that one search brings."""

RELATED = 15
"""Key elements that are taken to have to do with the question, wherever a path is."""


@dataclass(frozen=True, slots=True)
class Found:
    """Candidates, best first; `related` are the ids of the best of those that searches found."""

    nodes: list[Node]
    related: tuple[str, ...]
    notes: tuple[str, ...] = ()


class Candidates:
    """Finds candidates, by meaning and by words, for the question, the plan and each need."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def of(self, state: Run) -> Found:
        """The best of all searches together, and behind them what else a small graph has."""
        texts = list(dict.fromkeys([state["question"], state["plan"], *state["needs"]]))
        ranked, notes = await self._searched(texts)
        related = tuple(node.id for node in ranked[:RELATED])
        nodes = ranked[:CANDIDATES]
        if len(nodes) < CANDIDATES and await self._parts.explorer.has_at_most(SMALL):
            nodes = list(dict.fromkeys([*nodes, *await self._parts.explorer.nodes(CANDIDATES)]))
        return Found(nodes[:CANDIDATES], related, notes)

    async def _searched(self, texts: list[str]) -> tuple[list[Node], tuple[str, ...]]:
        """What the searches find. Where no vectors can be had, words must do."""
        by_words, (by_meaning, notes) = await asyncio.gather(
            self._parts.explorer.matching(texts, SEARCHED), self._by_meaning(texts)
        )
        return fused([*by_words, *by_meaning], lambda node: node.id), notes

    async def _by_meaning(self, texts: list[str]) -> tuple[list[list[Node]], tuple[str, ...]]:
        try:
            vectors = await self._parts.likeness.vectors(texts)
        except DecisionError as error:
            return [], (f"Initial nodes were searched for by words alone: {error}",)
        return await self._parts.explorer.nearest(vectors, SEARCHED), ()
