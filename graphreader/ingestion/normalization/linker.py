"""Leads facts to known key elements that stand in them though extraction did not list them.

After all merges, so that a mention of one wording leads to the element that shows it. Which facts
are linked depends on the graph alone: a key element that came late is found in old facts too.
"""

from collections.abc import Iterable

from graphreader.ingestion.extraction import identity
from graphreader.ingestion.normalization.bloom import BloomFilter
from graphreader.ingestion.normalization.linking import folded, mentions
from graphreader.ingestion.normalization.rule import normalize
from graphreader.store.connection import Connection
from graphreader.store.links import Link, Links, Naming, Worded


class Linker:
    """Compares the links of one corpus with what the wordings in its facts ask for."""

    def __init__(self, connection: Connection, corpus: str) -> None:
        self._links = Links(connection, corpus)
        self._corpus = corpus

    async def run(self, *, wanted: bool, keep: bool = True) -> tuple[int, int]:
        """Make, or without `wanted` take away, all links; how many are new, how many gone.

        Without `keep` nothing is written. Where none are wanted and none were made, it is quick.
        """
        if not wanted and not await self._links.made():
            return 0, 0
        if wanted and keep:
            await self._links.begin()
        known = _Known()
        if wanted:
            async for surface in self._links.wordings():
                known.add(folded(surface))
        new = old = 0
        async for page in self._links.facts():
            asked = await self._asked_for(page, known) if wanted else frozenset()
            there = {link for naming in page for link in naming.linked}
            added, gone = asked - there, there - asked
            if keep and (added or gone):
                await self._links.change(added, gone)
            new, old = new + len(added), old + len(gone)
        if keep and not wanted:
            await self._links.end()
        return new, old

    async def _asked_for(self, page: list[Naming], known: "_Known") -> frozenset[Link]:
        """The links that the facts of a page should have.

        What only seems to be known is found out by asking the graph, and looked over again.
        """
        elements: dict[str, Worded | None] = {}
        found: dict[str, list[str]] = {}
        left = {naming.fact: naming.text for naming in page}
        while left:
            found |= {fact: mentions(text, known) for fact, text in left.items()}
            elements |= await self._elements(
                {one for fact in left for one in found[fact]} - elements.keys()
            )
            wrong = {mention for mention, element in elements.items() if element is None}
            known.refuse(wrong)
            left = {fact: text for fact, text in left.items() if not wrong.isdisjoint(found[fact])}
        links: dict[tuple[str, str], Link] = {}
        for naming in page:
            for mention in found[naming.fact]:
                element = elements[mention]
                if element and element.node not in naming.named:
                    place = naming.fact, element.node
                    links.setdefault(place, (*place, mention))
        return frozenset(links.values())

    async def _elements(self, mentions_: set[str]) -> dict[str, Worded | None]:
        """The key element of each mention, None where none has that wording."""
        ids = {mention: identity(self._corpus, normalize(mention)) for mention in mentions_}
        there = await self._links.worded(set(ids.values())) if ids else {}
        return {
            mention: there[id_]
            if id_ in there and mention in map(folded, there[id_].surfaces)
            else None
            for mention, id_ in ids.items()
        }


class _Known:
    """The wordings that stand in a filter, but for those that it took in by mistake."""

    def __init__(self) -> None:
        self._filter = BloomFilter()
        self._mistaken: set[str] = set()

    def add(self, wording: str) -> None:
        self._filter.add(wording)

    def refuse(self, wordings: Iterable[str]) -> None:
        self._mistaken.update(wordings)

    def __contains__(self, wording: object) -> bool:
        return wording in self._filter and wording not in self._mistaken
