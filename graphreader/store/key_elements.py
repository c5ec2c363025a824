"""Merges and similarities of the key elements of one corpus.

The base graph is what extraction wrote. A merge keeps the base relationships aside as
MERGED_KEY_ELEMENT, so that it can be undone. Pairs of similar key elements are stored as LIKE.
Every step is safe to repeat. `graphreader.ingestion.normalization` decides what is merged.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from graphreader.store.connection import Connection, Row, Run

_FACTS_PER_WRITE = 2000
_ELEMENTS_PER_WRITE = 500


@dataclass(frozen=True, slots=True)
class StoredMerge:
    """A merge in the graph; `moved` says whether all facts lead to the element `into` already."""

    into: str
    by: str
    moved: bool


class KeyElementMerges:
    """Reads what normalization needs to know of one corpus, and writes its merges."""

    def __init__(self, connection: Connection, corpus: str) -> None:
        self._connection = connection
        self._corpus = corpus

    async def base_elements(self, ids: Iterable[str]) -> list[Row]:
        """Return the existing key elements of these ids: id, key, name, facts of the base graph."""
        wanted = sorted(ids)
        return await self._connection.read("read/base_key_elements", ids=wanted) if wanted else []

    async def frequent_elements(self, least: int) -> list[Row]:
        """Return key elements with at least `least` base facts, in the form of `base_elements`."""
        return await self._connection.read(
            "read/frequent_key_elements", corpus=self._corpus, least=least
        )

    async def companions(self, ids: Iterable[str], facts: int) -> list[tuple[str, str]]:
        """Return pairs of a key element and another one that any `facts` of its facts name."""
        rows = await self._connection.read("read/companions", ids=sorted(ids), facts=facts)
        return [(row["id"], row["other"]) for row in rows]

    async def count_common_facts(self, pairs: Iterable[tuple[str, str]]) -> list[Row]:
        """Return for each pair of ids how many base facts name both: a, b, facts."""
        wanted = [list(pair) for pair in sorted(pairs)]
        return await self._connection.read("read/common_facts", pairs=wanted) if wanted else []

    async def stored(self) -> dict[str, StoredMerge]:
        """Return the merges that the graph has, by the id of the merged key element."""
        rows = await self._connection.read("read/merged_key_elements", corpus=self._corpus)
        return {row["id"]: StoredMerge(row["into"], row["by"], row["moved"]) for row in rows}

    async def merge(self, merges: Sequence[tuple[str, str, str]]) -> None:
        """Merge key elements: (id, id of the element it goes into, stage) of each."""
        rows = [{"id": id_, "into": into, "by": by} for id_, into, by in sorted(merges)]
        for start in range(0, len(rows), _ELEMENTS_PER_WRITE):
            part = rows[start : start + _ELEMENTS_PER_WRITE]
            ids = sorted({row[end] for row in part for end in ("id", "into")})

            async def work(run: Run, ids: list[str] = ids, part: list[Row] = part) -> None:
                await run("write/mark_stale", ids=ids)
                await run("write/merge_key_elements", merges=part)

            await self._connection.transact(work, lock=self._corpus)
        await self.move_facts([(id_, into) for id_, into, _ in merges])

    async def move_facts(self, merges: Sequence[tuple[str, str]]) -> None:
        """Lead all facts of merged key elements to the elements that they are merged into."""
        await self._write_in_batches("write/move_facts", merges)

    async def undo(self, merges: Sequence[tuple[str, str]]) -> None:
        """Undo merges: (id, id of the element it is merged into) of each."""
        await self._write_in_batches("write/return_facts", merges, last="write/part_key_elements")

    async def _write_in_batches(
        self, name: str, merges: Sequence[tuple[str, str]], last: str | None = None
    ) -> None:
        """Run a statement that moves facts, a bounded number in a transaction, until none is left.

        The statement `last` runs in the transaction of the last batch.
        """
        pairs = sorted(merges)
        for start in range(0, len(pairs), _ELEMENTS_PER_WRITE):
            part = pairs[start : start + _ELEMENTS_PER_WRITE]
            ids = [id_ for id_, _ in part]
            both = sorted({id_ for pair in part for id_ in pair})

            async def work(run: Run, ids: list[str] = ids, both: list[str] = both) -> bool:
                await run("write/mark_stale", ids=both)
                moved = (await run(name, ids=ids, limit=_FACTS_PER_WRITE))[0]["moved"]
                if moved < _FACTS_PER_WRITE and last:
                    await run(last, ids=ids)
                return bool(moved == _FACTS_PER_WRITE)

            while await self._connection.transact(work, lock=self._corpus):
                pass


_NEAREST_AT_FIRST = 10
"""Nearest vectors that a search asks for; more where the last one is still similar."""

_NEAREST_AT_MOST = 2_500
"""Of a crowd of wordings that are all similar, pairs beyond this are not found."""

_KEYS_PER_PAGE = 5_000
_VECTORS_PER_PAGE = 2_000
_VECTORS_PER_PRODUCT = 100

_VALUES_IN_MEMORY = 20_000_000
"""Bound of the numbers in all vectors that are compared here: 80 MB, for a moment twice that."""

_INDEX_ERROR = 0.02
"""How far the index may be off about a cosine: it compares quantized vectors."""


@dataclass(frozen=True, slots=True)
class SimilarElement:
    """A key element that is similar to another one; `score` is the cosine of their vectors."""

    id: str
    key: str
    name: str
    score: float


class SimilarityPairs:
    """Finds and stores pairs of similar key elements of one corpus.

    The vector index finds those of a few key elements. Where many are new, `load_vectors` makes
    `similar_to` compare all vectors in memory, which is many times faster then.
    """

    def __init__(self, connection: Connection, corpus: str) -> None:
        self._connection = connection
        self._corpus = corpus
        self._vectors: _VectorTable | None = None

    async def count_uncompared(self) -> tuple[int, int]:
        """Return how many key elements were never compared, and how many there are."""
        row = (await self._connection.read("read/count_fresh", corpus=self._corpus))[0]
        return row["fresh"], row["elements"]

    async def keys(self) -> AsyncIterator[str]:
        """Iterate over the keys (normalized forms) of all key elements."""
        after = ""
        while True:
            rows = await self._connection.read(
                "read/keys", corpus=self._corpus, after=after, limit=_KEYS_PER_PAGE
            )
            for row in rows:
                yield row["key"]
            if len(rows) < _KEYS_PER_PAGE:
                return
            after = rows[-1]["id"]

    async def uncompared(self, after: str, limit: int) -> list[Row]:
        """Return a page of key elements that were never compared, by id: id, key, name."""
        return await self._connection.read(
            "read/fresh_key_elements", corpus=self._corpus, after=after, limit=limit
        )

    async def load_vectors(self) -> None:
        """Load all vectors into memory for `similar_to`; none where they are too many."""
        rows = await self._connection.read("read/embedded_ids", corpus=self._corpus)
        ids: list[str] = rows[0]["ids"]
        vectors = _VectorTable()
        for start in range(0, len(ids), _VECTORS_PER_PAGE):
            page = await self._connection.read(
                "read/embeddings", ids=ids[start : start + _VECTORS_PER_PAGE]
            )
            if page and len(ids) * len(page[0]["embedding"]) > _VALUES_IN_MEMORY:
                return
            vectors.add(page)
        self._vectors = vectors

    async def similar_to(self, ids: Sequence[str], least: float) -> dict[str, list[SimilarElement]]:
        """Return for each key element all others with at least this cosine."""
        if self._vectors:
            return await asyncio.to_thread(self._vectors.similar_to, ids, least)
        return await self._search(ids, least)

    async def _search(self, ids: Sequence[str], least: float) -> dict[str, list[SimilarElement]]:
        """Ask the vector index for ever more neighbors until the last one is not similar."""
        similar: dict[str, list[SimilarElement]] = {}
        wide, left = _NEAREST_AT_FIRST, list(ids)
        while left:
            rows = await self._connection.read(
                "read/similar_key_elements", corpus=self._corpus, ids=left, wide=wide, least=least
            )
            for row in rows:
                similar[row["id"]] = [SimilarElement(**one) for one in row["similar"]]
            if wide >= _NEAREST_AT_MOST:
                break
            left = [
                row["id"]
                for row in rows
                if row["found"] >= wide and 2 * row["last"] - 1 >= least - _INDEX_ERROR
            ]
            wide *= 5
        return similar

    async def store(self, compared: Iterable[Row], pairs: Iterable[tuple[str, str, float]]) -> None:
        """Store pairs (smaller id, larger id, cosine); mark elements (id, name) as compared."""
        rows = [{"a": a, "b": b, "score": score} for a, b, score in sorted(pairs)]
        elements = [{"id": row["id"], "name": row["name"]} for row in compared]

        async def work(run: Run) -> None:
            await run("write/similar_pairs", pairs=rows)
            await run("write/mark_compared", elements=elements)

        await self._connection.transact(work, lock=self._corpus)

    async def stored(self, least: float) -> list[tuple[str, str, float]]:
        """Return every stored pair of at least this cosine."""
        rows = await self._connection.read("read/similar_pairs", corpus=self._corpus, least=least)
        return [(row["a"], row["b"], row["score"]) for row in rows]


class _VectorTable:
    """All vectors of a corpus, scaled to length 1."""

    def __init__(self) -> None:
        self._elements: list[tuple[str, str, str]] = []
        self._pages: list[np.ndarray] = []

    def add(self, page: Sequence[Row]) -> None:
        """Add rows of id, key, name, embedding; arrays take a twentieth of the rows' memory."""
        if page:
            self._elements += [(row["id"], row["key"], row["name"]) for row in page]
            table = np.array([row["embedding"] for row in page], dtype=np.float32)
            lengths = np.linalg.norm(table, axis=1, keepdims=True)
            self._pages.append(table / np.where(lengths == 0, 1, lengths))

    def similar_to(self, ids: Sequence[str], least: float) -> dict[str, list[SimilarElement]]:
        """Return for each id the elements with at least this cosine, nearest first."""
        similar: dict[str, list[SimilarElement]] = {}
        wanted = set(ids)
        rows = [row for row, (id_, _, _) in enumerate(self._elements) if id_ in wanted]
        if rows and len(self._pages) > 1:
            self._pages = [np.concatenate(self._pages)]
        for start in range(0, len(rows), _VECTORS_PER_PRODUCT):
            part = rows[start : start + _VECTORS_PER_PRODUCT]
            for row, cosines in zip(part, self._pages[0][part] @ self._pages[0].T, strict=True):
                near = np.flatnonzero(cosines >= least)
                near = near[np.argsort(-cosines[near], kind="stable")][:_NEAREST_AT_MOST]
                similar[self._elements[row][0]] = [
                    SimilarElement(*self._elements[n], float(cosines[n])) for n in near if n != row
                ]
        return similar
