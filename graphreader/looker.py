"""Looking into a corpus by hand: search, facts, neighbors, chunks; what there is in all."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from graphreader.background import Background
from graphreader.looking import ElementFacts, FoundNeighbor, Looking
from graphreader.reading import Reading
from graphreader.store.found import Element, Passage
from graphreader.store.library import CorpusSummary, DocumentSummary, Stats


class Looker:
    """Whoever can be looked into; nothing is decided or changed by it.

    A key element is named by its id, its name or any of its wordings, however it is written; a
    document by its id, its path or its title. Raises UnknownCorpusError, UnknownKeyElementError,
    UnknownDocumentError.
    """

    _background: Background
    _looking: Looking

    async def asearch(self, text: str, *, limit: int = 20) -> list[Element]:
        """Key elements that have to do with a text, by words and by meaning, best first.

        At most 1,000 of them. Raises UsageError where the text is empty, or the limit another.
        """
        return await self._background.arun(self._looking.search(text, limit))

    def search(self, text: str, *, limit: int = 20) -> list[Element]:
        """Do the same as `asearch`."""
        return self._background.run(self._looking.search(text, limit))

    async def afacts(self, key_element: str) -> ElementFacts:
        """The facts that name a key element, in the order of the texts; of a hub 250."""
        return await self._background.arun(self._looking.facts(key_element))

    def facts(self, key_element: str) -> ElementFacts:
        """Do the same as `afacts`."""
        return self._background.run(self._looking.facts(key_element))

    async def aneighbors(self, key_element: str, *, limit: int = 50) -> list[FoundNeighbor]:
        """The key elements that stand in facts with it.

        First those that share the most facts, beside the square root of all that they have; at
        most 1,000. Raises UsageError where the limit is another.
        """
        return await self._background.arun(self._looking.neighbors(key_element, limit))

    def neighbors(self, key_element: str, *, limit: int = 50) -> list[FoundNeighbor]:
        """Do the same as `aneighbors`."""
        return self._background.run(self._looking.neighbors(key_element, limit))

    async def achunk(self, document: str, index: int) -> Passage:
        """A chunk in full by its index in a document, counted from 0."""
        return await self._background.arun(self._looking.chunk(document, index))

    def chunk(self, document: str, index: int) -> Passage:
        """Do the same as `achunk`."""
        return self._background.run(self._looking.chunk(document, index))

    async def apassages(self, places: Sequence[tuple[str, int]]) -> list[Passage]:
        """Chunks in full by (id of the document, index), as citations name them, in that order.

        Each comes once; those that are gone are left out.
        """
        return await self._background.arun(self._looking.passages(places))

    def passages(self, places: Sequence[tuple[str, int]]) -> list[Passage]:
        """Do the same as `apassages`."""
        return self._background.run(self._looking.passages(places))

    async def areport(self, reading: Reading, target: str | PathLike[str]) -> Path:
        """Write a reading as one HTML page to hand on, in place of what is there; returns its path.

        The page holds the cited chunks in full. Raises UsageError where it cannot be written.
        """
        return await self._background.arun(self._looking.report(reading, target))

    def report(self, reading: Reading, target: str | PathLike[str]) -> Path:
        """Do the same as `areport`."""
        return self._background.run(self._looking.report(reading, target))

    async def acorpora(self) -> list[CorpusSummary]:
        """List all corpora of the database, not only the reader's own."""
        return await self._background.arun(self._looking.corpora())

    def corpora(self) -> list[CorpusSummary]:
        """Do the same as `acorpora`."""
        return self._background.run(self._looking.corpora())

    async def adocuments(self) -> list[DocumentSummary]:
        """List the documents of the corpus."""
        return await self._background.arun(self._looking.documents())

    def documents(self) -> list[DocumentSummary]:
        """Do the same as `adocuments`."""
        return self._background.run(self._looking.documents())

    async def astats(self) -> Stats:
        """Count what the corpus holds."""
        return await self._background.arun(self._looking.stats())

    def stats(self) -> Stats:
        """Do the same as `astats`."""
        return self._background.run(self._looking.stats())
