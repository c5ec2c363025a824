"""Stored merges and similarities of key elements; every write can be repeated."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from graphreader.documents import KeyElement, Scored
from graphreader.store.connection import Connection, Row, Run
from graphreader.store.search import has_at_most
from graphreader.store.writer import FREQUENT

_FACTS_PER_WRITE = 2000
_ELEMENTS_PER_WRITE = 500


@dataclass(frozen=True, slots=True)
class StoredMerge:
    """A stored merge of a key element `into` another `by` a stage; `moved`: also its facts."""

    id: str
    into: str
    by: str
    moved: bool = False


class KeyElementMerges:
    """The merges of one corpus in the graph."""

    def __init__(self, connection: Connection, corpus: str) -> None:
        self._connection = connection
        self._corpus = corpus

    async def stored(self) -> dict[str, StoredMerge]:
        """Return the stored merges by the id of the merged key element."""
        rows = await self._connection.read("read/merged_key_elements", corpus=self._corpus)
        return {row["id"]: StoredMerge(**row) for row in rows}

    async def merge(self, merges: Sequence[StoredMerge]) -> None:
        """Store merges of key elements, and move their facts."""
        for batch in _batches(merges):
            rows = [asdict(one) for one in batch]
            await self._connection.write("write/merge_key_elements", lock=self._corpus, merges=rows)
        await self.move_facts(merges)

    async def move_facts(self, merges: Sequence[StoredMerge]) -> None:
        """Move all facts of merged key elements to the elements that they are merged into."""
        for batch in _batches(merges):
            ids = [one.id for one in batch]

            async def work(run: Run, ids: list[str] = ids) -> bool:
                values = {"ids": ids, "corpus": self._corpus, "limit": _FACTS_PER_WRITE}
                facts = [row["id"] for row in await run("read/facts_to_move", **values)]
                await run("write/name_facts", facts=facts, parted=[])
                return len(facts) == _FACTS_PER_WRITE

            while await self._connection.transact(work, lock=self._corpus):
                pass

    async def undo(self, merges: Sequence[StoredMerge]) -> None:
        """Undo merges: restore the key elements and their facts."""
        for batch in _batches(merges):
            ids = [one.id for one in batch]

            async def work(run: Run, ids: list[str] = ids, after: str = "") -> str | None:
                values = {"ids": ids, "corpus": self._corpus, "after": after}
                rows = await run("read/facts_to_return", limit=_FACTS_PER_WRITE, **values)
                facts = [row["id"] for row in rows]
                await run("write/name_facts", facts=facts, parted=ids)
                if len(facts) == _FACTS_PER_WRITE:
                    return str(facts[-1])
                await run("write/part_key_elements", ids=ids)
                return None

            last: str | None = ""
            while last is not None:
                last = await self._connection.transact(partial(work, after=last), lock=self._corpus)

    async def mark_frequent(self) -> None:
        """Mark the key elements with many facts, which older versions did not mark."""
        await self._connection.write("write/mark_frequent", corpus=self._corpus, frequent=FREQUENT)


def _batches(merges: Sequence[StoredMerge]) -> Iterator[list[StoredMerge]]:
    ordered = sorted(merges, key=lambda one: one.id)
    for start in range(0, len(ordered), _ELEMENTS_PER_WRITE):
        yield ordered[start : start + _ELEMENTS_PER_WRITE]


_NEAREST_AT_FIRST = 10
"""Number of nearest vectors in a first search; more if the last of them is still similar."""

_NEAREST_AT_MOST = 2_500
"""Largest number of nearest vectors in a search; more similar pairs are not found."""

_SEARCHES = 4
"""Number of parallel statements: Neo4j runs each in one thread."""

_VECTORS_PER_PAGE = 2_000
_VECTORS_PER_PRODUCT = 100

_VALUES_IN_MEMORY = 20_000_000
"""Largest total of vector components compared in memory: 80 MB, for a moment 160 MB."""


class SimilarityPairs:
    """A search for pairs of similar key elements; in memory after `load_vectors`."""

    def __init__(self, connection: Connection, corpus: str) -> None:
        self._connection = connection
        self._corpus = corpus
        self._elements: list[KeyElement] = []  # a key element for each row of the vectors
        self._vectors: np.ndarray | None = None

    async def load_vectors(self) -> None:
        """Load all vectors, scaled to length 1, for `similar_to`; none if they are too many."""
        [record] = await self._connection.read("read/corpus", corpus=self._corpus)
        most = _VALUES_IN_MEMORY // max(1, record["dimension"])
        if not await has_at_most(self._connection, self._corpus, most):
            return
        rows = await self._connection.read("read/embedded_ids", corpus=self._corpus)
        ids: list[str] = rows[0]["ids"]
        if len(ids) > most:  # with merged elements, which were not counted
            return
        elements, tables = [], []
        for start in range(0, len(ids), _VECTORS_PER_PAGE):
            page = await self._connection.read(
                "read/embeddings", corpus=self._corpus, ids=ids[start : start + _VECTORS_PER_PAGE]
            )
            # An array takes a twentieth of the rows' memory.
            tables += [np.array([row["embedding"] for row in page], np.float32)] if page else []
            elements += [KeyElement(row["id"], row["name"], row["key"]) for row in page]
        if tables:
            table = np.concatenate(tables)
            lengths = np.linalg.norm(table, axis=1, keepdims=True)
            table /= np.where(lengths == 0, 1, lengths)
            self._elements, self._vectors = elements, table

    async def similar_to(
        self, ids: Sequence[str], least: float
    ) -> dict[str, list[Scored[KeyElement]]]:
        """Return, for each key element, all others with at least the cosine `least`."""
        if self._vectors is None:
            return await self._search(ids, least)
        return await asyncio.to_thread(self._compare, self._vectors, set(ids), least)

    def _compare(
        self, vectors: np.ndarray, ids: set[str], least: float
    ) -> dict[str, list[Scored[KeyElement]]]:
        """Compare vectors in memory; the nearest come first."""
        similar: dict[str, list[Scored[KeyElement]]] = {}
        rows = [row for row, one in enumerate(self._elements) if one.id in ids]
        for start in range(0, len(rows), _VECTORS_PER_PRODUCT):
            part = rows[start : start + _VECTORS_PER_PRODUCT]
            for row, cosines in zip(part, vectors[part] @ vectors.T, strict=True):
                near = np.flatnonzero(cosines >= least)
                near = near[np.argsort(-cosines[near], kind="stable")][:_NEAREST_AT_MOST]
                similar[self._elements[row].id] = [
                    Scored(self._elements[n], float(cosines[n])) for n in near if n != row
                ]
        return similar

    async def _search(
        self, ids: Sequence[str], least: float
    ) -> dict[str, list[Scored[KeyElement]]]:
        """Query the vector index for more and more neighbors until the last is not similar."""
        similar: dict[str, list[Scored[KeyElement]]] = {}
        values: dict[str, Any] = {"corpus": self._corpus, "least": least}
        wide, left = _NEAREST_AT_FIRST, list(ids)
        while left:
            pages = await asyncio.gather(
                *(
                    self._connection.read(
                        "read/similar_key_elements", ids=left[n::_SEARCHES], wide=wide, **values
                    )
                    for n in range(min(_SEARCHES, len(left)))
                )
            )
            rows = list(chain(*pages))
            for row in rows:
                similar[row["id"]] = [
                    Scored(KeyElement.of(one), one["score"]) for one in row["similar"]
                ]
            if wide >= _NEAREST_AT_MOST:
                break
            left = [row["id"] for row in rows if row["found"] >= wide and row["last"] >= least]
            wide *= 5
        return similar

    async def store(self, compared: Iterable[Row], pairs: Iterable[tuple[str, str, float]]) -> None:
        """Store pairs (smaller id, larger id, cosine); mark `compared` elements (id, name)."""
        rows = [{"a": a, "b": b, "score": score} for a, b, score in sorted(pairs)]
        elements = [{"id": row["id"], "name": row["name"]} for row in compared]

        async def work(run: Run) -> None:
            await run("write/similar_pairs", pairs=rows)
            await run("write/mark_compared", elements=elements)

        await self._connection.transact(work, lock=self._corpus)
