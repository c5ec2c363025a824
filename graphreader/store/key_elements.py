"""The normal form of one corpus: what is merged in it, and which key elements are hubs.

The base graph is what extraction wrote. A merge keeps it beside (MERGED_KEY_ELEMENT), so it can be
taken back. Every step is safe to repeat. Nothing is decided here.

Which key elements of a corpus are alike: found once, remembered as LIKE.

The vector index finds those of a few key elements. Where many are new, comparing all vectors here,
in one go, is many times faster.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphreader.store.connection import Connection, Row, Run, alone

FACTS_A_WRITE = 2000
ELEMENTS_A_WRITE = 500


@dataclass(frozen=True, slots=True)
class Merged:
    """A key element that is merged; `moved` if all of its facts are led to what it went into."""

    into: str
    by: str
    moved: bool


class NormalForm:
    """Reads what normalization looks at, and writes what it decides, in one corpus."""

    def __init__(self, connection: Connection, corpus: str) -> None:
        self._connection = connection
        self._corpus = corpus

    async def base(self, ids: Iterable[str]) -> list[Row]:
        """Return those of the key elements that exist: id, key, name, facts of the base graph."""
        wanted = sorted(ids)
        return await self._connection.read("read/base_key_elements", ids=wanted) if wanted else []

    async def frequent(self, least: int) -> list[Row]:
        """Return the key elements with at least so many facts of the base graph, as `base` does."""
        return await self._read("read/frequent_key_elements", least=least)

    async def companions(self, ids: Iterable[str], facts: int) -> list[tuple[str, str]]:
        """Return pairs of a key element and what else so many facts of it name, whichever."""
        rows = await self._connection.read("read/companions", ids=sorted(ids), facts=facts)
        return [(row["id"], row["other"]) for row in rows]

    async def common_facts(self, pairs: Iterable[tuple[str, str]]) -> list[Row]:
        """Return how many facts of the base graph name both of each pair: a, b, facts."""
        wanted = [list(pair) for pair in sorted(pairs)]
        return await self._connection.read("read/common_facts", pairs=wanted) if wanted else []

    async def merged(self) -> dict[str, Merged]:
        """Return what is merged now, by its id."""
        rows = await self._read("read/merged_key_elements")
        return {row["id"]: Merged(row["into"], row["by"], row["moved"]) for row in rows}

    async def merge(self, merges: Sequence[tuple[str, str, str]]) -> None:
        """Merge key elements: the id of each, that of another one, and by what stage."""
        rows = [{"id": id_, "into": into, "by": by} for id_, into, by in sorted(merges)]
        for start in range(0, len(rows), ELEMENTS_A_WRITE):
            part = rows[start : start + ELEMENTS_A_WRITE]
            ids = sorted({row[end] for row in part for end in ("id", "into")})

            async def step(run: Run, ids: list[str] = ids, part: list[Row] = part) -> None:
                await run("write/mark_stale", ids=ids)
                await run("write/merge_key_elements", merges=part)

            await alone(self._connection, self._corpus, step)
        await self.move([(id_, into) for id_, into, _ in merges])

    async def move(self, merged: Sequence[tuple[str, str]]) -> None:
        """Lead all facts of merged key elements to what each is merged into."""
        await self._in_steps("write/move_facts", merged)

    async def part(self, merged: Sequence[tuple[str, str]]) -> None:
        """Take merges back: of each, its id and that of what it is merged into."""
        await self._in_steps("write/return_facts", merged, last="write/part_key_elements")

    async def hubs(self, most: int) -> list[Row]:
        """Return what has more facts than that, and what is flagged: id, name, facts, hub."""
        return await self._read("read/hubs", most=most)

    async def counted_together(self, groups: Mapping[str, Sequence[str]]) -> dict[str, Row]:
        """Return by id, as `hubs` does, how many facts each would have with those of its group."""
        rows = [{"id": id_, "members": sorted(ids)} for id_, ids in sorted(groups.items())]
        found = await self._connection.read("read/group_facts", groups=rows) if rows else []
        return {row["id"]: row for row in found}

    async def count_facts(self) -> int:
        """How many facts there are."""
        return int((await self._read("read/count_facts"))[0]["number"])

    async def flag(self, flags: Sequence[tuple[str, bool]]) -> None:
        """Say of key elements whether they are hubs."""
        rows = [{"id": id_, "hub": hub} for id_, hub in sorted(flags)]
        if rows:
            await alone(
                self._connection, self._corpus, lambda run: run("write/flag_hubs", flags=rows)
            )

    async def _in_steps(
        self, name: str, merged: Sequence[tuple[str, str]], last: str | None = None
    ) -> None:
        """Run a statement on key elements until no fact is left, a bounded part in a transaction.

        `last` goes with its last step.
        """
        pairs = sorted(merged)
        for start in range(0, len(pairs), ELEMENTS_A_WRITE):
            part = pairs[start : start + ELEMENTS_A_WRITE]
            ids = [id_ for id_, _ in part]
            touched = sorted({id_ for pair in part for id_ in pair})

            async def step(run: Run, ids: list[str] = ids, touched: list[str] = touched) -> bool:
                await run("write/mark_stale", ids=touched)
                moved = (await run(name, ids=ids, limit=FACTS_A_WRITE))[0]["moved"]
                if moved < FACTS_A_WRITE and last:
                    await run(last, ids=ids)
                return bool(moved == FACTS_A_WRITE)

            while await alone(self._connection, self._corpus, step):
                pass

    async def _read(self, name: str, **values: object) -> list[Row]:
        return await self._connection.read(name, corpus=self._corpus, **values)


NEAREST = 10
"""So many are looked at first; more of those that have more than that near them."""

FARTHEST = 2_500
"""More are never looked at: of a crowd of wordings that are all alike, some pairs are not found."""

KEYS_A_PAGE = 5_000
VECTORS_A_PAGE = 2_000

MOST_VALUES = 20_000_000
"""Numbers of the vectors that are compared here, at most: 80 MB, for a moment twice that."""

_AT_ONCE = 100  # rows of the table of cosines

SHORTENED = 0.02
"""By how much the index may be wrong about a cosine: it compares vectors of whole numbers."""


@dataclass(frozen=True, slots=True)
class Alike:
    """A key element that is like another one; `score` is the cosine of their vectors."""

    id: str
    key: str
    name: str
    score: float


class SimilarityPairs:
    """Finds and remembers pairs of one corpus."""

    def __init__(self, connection: Connection, corpus: str) -> None:
        self._connection = connection
        self._corpus = corpus
        self._all: _Vectors | None = None

    async def count_fresh(self) -> tuple[int, int]:
        """How many key elements were not compared yet, and how many there are."""
        row = (await self._connection.read("read/count_fresh", corpus=self._corpus))[0]
        return row["fresh"], row["elements"]

    async def keys(self) -> AsyncIterator[str]:
        """Go through the normalized forms of all key elements."""
        after = ""
        while True:
            rows = await self._connection.read(
                "read/keys", corpus=self._corpus, after=after, limit=KEYS_A_PAGE
            )
            for row in rows:
                yield row["key"]
            if len(rows) < KEYS_A_PAGE:
                return
            after = rows[-1]["id"]

    async def fresh(self, after: str, limit: int) -> list[Row]:
        """Return a page of what was not compared yet: id, key, name, in the order of ids."""
        return await self._connection.read(
            "read/fresh_key_elements", corpus=self._corpus, after=after, limit=limit
        )

    async def gather(self) -> None:
        """Take all vectors in, so that the index need not be asked; not if they are too many."""
        found = await self._connection.read("read/embedded_ids", corpus=self._corpus)
        ids: list[str] = found[0]["ids"]
        vectors = _Vectors()
        for start in range(0, len(ids), VECTORS_A_PAGE):
            page = await self._connection.read(
                "read/embeddings", ids=ids[start : start + VECTORS_A_PAGE]
            )
            if page and len(ids) * len(page[0]["embedding"]) > MOST_VALUES:
                return
            vectors.take(page)
        self._all = vectors

    async def of(self, ids: Sequence[str], least: float) -> dict[str, list[Alike]]:
        """Return for each key element all that have at least this cosine with it."""
        if self._all:
            return await asyncio.to_thread(self._all.alike, ids, least)
        return await self._searched(ids, least)

    async def _searched(self, ids: Sequence[str], least: float) -> dict[str, list[Alike]]:
        """The same by the index: it is asked for more of the nearest until the last is too far."""
        found: dict[str, list[Alike]] = {}
        wide, left = NEAREST, list(ids)
        while left:
            values: dict[str, Any] = {"corpus": self._corpus, "wide": wide, "least": least}
            rows = await self._connection.read("read/alike_key_elements", ids=left, **values)
            found |= {row["id"]: [Alike(**one) for one in row["alike"]] for row in rows}
            if wide >= FARTHEST:
                break
            left = [row["id"] for row in rows if _goes_on(row, wide, least)]
            wide *= 5
        return found

    async def remember(
        self, compared: Iterable[Row], pairs: Iterable[tuple[str, str, float]]
    ) -> None:
        """Write pairs (the smaller id first), and that these elements (id, name) are compared."""
        alike = [{"a": a, "b": b, "score": score} for a, b, score in sorted(pairs)]
        elements = [{"id": row["id"], "name": row["name"]} for row in compared]

        async def work(run: Run) -> None:
            await run("write/likenesses", pairs=alike)
            await run("write/compared", elements=elements)

        await alone(self._connection, self._corpus, work)

    async def all(self, least: float) -> list[tuple[str, str, float]]:
        """Return every pair that is remembered, of at least this cosine."""
        rows = await self._connection.read("read/likenesses", corpus=self._corpus, least=least)
        return [(row["a"], row["b"], row["score"]) for row in rows]


class _Vectors:
    """All vectors of a corpus, each of length 1."""

    def __init__(self) -> None:
        self._rows: list[tuple[str, str, str]] = []
        self._pages: list[np.ndarray] = []

    def take(self, page: Sequence[Row]) -> None:
        """Add some: numbers take a twentieth of the room that the rows' own lists do."""
        if page:
            self._rows += [(row["id"], row["key"], row["name"]) for row in page]
            table = np.array([row["embedding"] for row in page], dtype=np.float32)
            lengths = np.linalg.norm(table, axis=1, keepdims=True)
            self._pages.append(table / np.where(lengths == 0, 1, lengths))

    def alike(self, ids: Sequence[str], least: float) -> dict[str, list[Alike]]:
        """For each id what has at least this cosine with it, of a crowd the nearest."""
        found = {}
        wanted = set(ids)
        known = [place for place, (id_, _, _) in enumerate(self._rows) if id_ in wanted]
        table = self._joined() if known else np.empty((0, 0), dtype=np.float32)
        for start in range(0, len(known), _AT_ONCE):
            places = known[start : start + _AT_ONCE]
            cosines = table[places] @ table.T
            for place, row in zip(places, cosines, strict=True):
                near = np.flatnonzero(row >= least)
                near = near[np.argsort(-row[near], kind="stable")][:FARTHEST]
                others = [Alike(*self._rows[n], float(row[n])) for n in near if n != place]
                found[self._rows[place][0]] = others
        return found

    def _joined(self) -> np.ndarray:
        """All pages as one table."""
        if len(self._pages) > 1:
            self._pages = [np.concatenate(self._pages)]
        return self._pages[0]


def _goes_on(row: Row, wide: int, least: float) -> bool:
    """Whether there may be more that are alike behind the last one that was looked at."""
    return bool(row["found"] >= wide and 2 * row["last"] - 1 >= least - SHORTENED)
