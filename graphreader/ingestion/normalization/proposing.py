"""Which key elements of a corpus should be merged, seen from its base graph alone."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from graphreader.ingestion.extraction import identity
from graphreader.ingestion.normalization import association, semantic
from graphreader.ingestion.normalization.association import CONFIDENCE, MINIMUM_SUPPORT
from graphreader.ingestion.normalization.comparing import likenesses
from graphreader.ingestion.normalization.merging import Element, Merge, combined
from graphreader.ingestion.normalization.places import place_forms
from graphreader.ingestion.report import Normalizing, Progress
from graphreader.settings import Stage
from graphreader.store.connection import Connection
from graphreader.store.normal_form import NormalForm


class Proposing:
    """Asks the graph for what the stages need to know, and the stages for merges."""

    def __init__(self, connection: Connection, corpus: str) -> None:
        self._connection = connection
        self._corpus = corpus
        self._form = NormalForm(connection, corpus)

    async def merges(
        self, stages: Collection[Stage], progress: Progress, *, keep: bool
    ) -> tuple[int, list[Merge]]:
        """How many key elements were compared for it, and every merge that should be.

        With `keep` the graph remembers what is alike; nothing else is written.
        """
        compared, merges = 0, list[Merge]()
        if "semantic" in stages:
            progress(Normalizing("semantic"))
            compared, pairs = await likenesses(self._connection, self._corpus, keep=keep)
            ids = {id_ for one, other, _ in pairs for id_ in (one, other)}
            merges += semantic.merges(await self._elements(ids | self._places()), pairs)
        if "association" in stages:
            progress(Normalizing("association"))
            merges += association.merges(await self._together())
        return compared, combined(merges)

    def _places(self) -> set[str]:
        """The ids that forms of places have, if there are such key elements."""
        return {identity(self._corpus, key) for key in place_forms()}

    async def _elements(self, ids: Iterable[str]) -> Mapping[str, Element]:
        return {row["id"]: Element(**row) for row in await self._form.base(ids)}

    async def _together(self) -> list[tuple[Element, Element, int]]:
        """Every pair that may always occur together, with how many facts name both.

        Whoever is named in nearly all facts of another is named in one of its first few.
        """
        frequent = {row["id"]: Element(**row) for row in await self._form.frequent(MINIMUM_SUPPORT)}
        by_facts: dict[int, list[str]] = defaultdict(list)
        for id_, element in frequent.items():
            missing = int((1 - CONFIDENCE) * element.facts)  # facts that may not name the other
            by_facts[1 << missing.bit_length()].append(id_)
        pairs = set()
        for facts, ids in by_facts.items():
            for one, other in await self._form.companions(ids, facts):
                if other in frequent and _as_frequent(frequent[one], frequent[other]):
                    pairs.add((min(one, other), max(one, other)))
        rows = await self._form.common_facts(pairs)
        return [(frequent[row["a"]], frequent[row["b"]], row["facts"]) for row in rows]


def _as_frequent(one: Element, other: Element) -> bool:
    """Whether so many facts may name both as association asks for."""
    fewer, more = sorted((one.facts, other.facts))
    return fewer >= CONFIDENCE * more
