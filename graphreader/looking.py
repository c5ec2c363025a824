"""Looking into a corpus by hand, as the agent does: elements, their facts, neighbors, chunks.

Nobody decides anything here, and nothing is changed.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from graphreader.agent.ranking import fused
from graphreader.errors import DecisionError, UnknownKeyElementError, UsageError
from graphreader.ingestion.extraction import key_elements
from graphreader.preparing import sendable
from graphreader.reading import Reading
from graphreader.report.writing import write_report
from graphreader.session import Session
from graphreader.store.explorer import GraphExplorer
from graphreader.store.found import Element, Node, Passage
from graphreader.store.library import CorpusSummary, DocumentSummary, Library, Stats

SEARCHED = 50
"""Key elements that each of the two searches brings, at least."""

MOST = 1000
"""Key elements, or neighbors, that can be asked for at once."""

NEAREST = 5
"""Names that are proposed in place of one that there is not."""


@dataclass(frozen=True, slots=True)
class FoundFact:
    """An atomic fact and where it stands: `chunk` is the chunk's index in that document."""

    text: str
    document: str
    document_id: str
    chunk: int


@dataclass(frozen=True, slots=True)
class ElementFacts:
    """The facts of a key element in the order of the texts; of a hub only some of the `total`."""

    element: Element
    facts: tuple[FoundFact, ...]
    total: int


@dataclass(frozen=True, slots=True)
class FoundNeighbor:
    """A key element that `shared` facts name as well; `facts` is how many it has in all."""

    id: str
    name: str
    shared: int
    facts: int


class Looking:
    """What can be looked at, as coroutines of the loop to which the session belongs."""

    def __init__(self, session: Session, corpus: str) -> None:
        self.corpus = corpus
        self._session = session

    async def corpora(self) -> list[CorpusSummary]:
        """All corpora."""
        return await Library(await self._session.connection()).corpora()

    async def documents(self) -> list[DocumentSummary]:
        """The documents of the corpus."""
        return await (await self._session.library(self.corpus)).documents(self.corpus)

    async def stats(self) -> Stats:
        """What the corpus holds."""
        return await (await self._session.library(self.corpus)).stats(self.corpus)

    async def search(self, text: str, limit: int) -> list[Element]:
        """Key elements that have to do with a text, by words and by meaning, best first."""
        text = sendable(text)
        if not text.strip():
            raise UsageError("The search is empty: give some words.")
        _check(limit)
        explorer = await self._explorer()
        wide = max(limit, SEARCHED)
        by_words, by_meaning = await asyncio.gather(
            explorer.matching([text], wide), self._nearest(explorer, text, wide)
        )
        ranked = fused([*by_words, *by_meaning], lambda node: node.id)
        return await explorer.elements([node.id for node in ranked[:limit]])

    async def facts(self, key_element: str) -> ElementFacts:
        """What is said about a key element."""
        explorer = await self._explorer()
        element = await self._element(explorer, key_element)
        found = await explorer.facts(element.id)
        facts = tuple(
            FoundFact(fact.text, group.document, group.document_id, group.index)
            for group in found.groups
            for fact in group.facts
        )
        return ElementFacts(element, facts, found.total)

    async def neighbors(self, key_element: str, limit: int) -> list[FoundNeighbor]:
        """Which key elements stand in facts with it."""
        _check(limit)
        explorer = await self._explorer()
        element = await self._element(explorer, key_element)
        found = await explorer.neighbors(element.id, [element.id], [], [], None, limit)
        return [FoundNeighbor(one.node.id, one.node.name, one.shared, one.facts) for one in found]

    async def chunk(self, document: str, index: int) -> Passage:
        """One chunk of a document that an id, a path or a title means."""
        library = await self._session.library(self.corpus)
        id_ = await library.find(self.corpus, document)
        found = await self.passages([(id_, index)])
        if not found:
            raise UsageError(
                f"{document!r} has no chunk {index}: they are counted from 0, and `graphreader "
                f"list --corpus {self.corpus}` says how many there are."
            )
        return found[0]

    async def passages(self, places: Sequence[tuple[str, int]]) -> list[Passage]:
        """Chunks by (id of the document, index). No other integers than Neo4j's name a chunk."""
        asked = [(sendable(id_), index) for id_, index in places if 0 <= index < 2**63]
        return await (await self._explorer()).passages(asked)

    async def report(self, reading: Reading, target: str | PathLike[str]) -> Path:
        """Write a reading, of whatever corpus, as a page to hand on."""
        return await write_report(await self._session.connection(), reading, target)

    async def _element(self, explorer: GraphExplorer, named: str) -> Element:
        """The key element of an id, or of a name or wording, however it is written."""
        named = sendable(named)
        ids = [named, *(one.id for one in key_elements(self.corpus, [named]))]
        found = await explorer.elements(ids)
        if found:
            return found[0]
        alike = await self.search(named, NEAREST) if named.strip() else []
        names = ", ".join(repr(one.name) for one in alike)
        raise UnknownKeyElementError(
            f"The corpus {self.corpus!r} has no key element {named!r}"
            + (f"; the nearest are {names}." if names else ": search for one first.")
        )

    async def _nearest(self, explorer: GraphExplorer, text: str, limit: int) -> list[list[Node]]:
        """Where no vectors can be had, or the corpus has others, words must do."""
        embedder = self._session.embedder()
        record = await Library(explorer.connection).corpus(self.corpus)
        if record.embedding != embedder.name:
            return []
        try:
            vectors = await embedder.embed([text])
        except DecisionError:
            return []
        return await explorer.nearest(vectors, limit)

    async def _explorer(self) -> GraphExplorer:
        await self._session.library(self.corpus)
        return GraphExplorer(await self._session.connection(), self.corpus)


def _check(limit: int) -> None:
    if limit < 1:
        raise UsageError(f"A limit of {limit} finds nothing: give 1 or more.")
    if limit > MOST:
        raise UsageError(f"A limit of {limit} is too high: give {MOST} or less.")
