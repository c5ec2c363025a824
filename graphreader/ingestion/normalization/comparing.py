"""Which key elements are alike: each is compared once, when it is new or has another name."""

from collections.abc import Container, Sequence

from graphreader.ingestion.normalization.bloom import BloomFilter
from graphreader.ingestion.normalization.guard import marks
from graphreader.ingestion.normalization.merging import Element
from graphreader.ingestion.normalization.semantic import THRESHOLD, is_compared, may_merge
from graphreader.store.connection import Connection, Row
from graphreader.store.likenesses import Likenesses

COMPARED_AT_ONCE = 1000

MUCH_NEWS = 0.02
"""The part of a corpus that must be new so that looking all of it over saves searches."""

MOST_NEWS = 0.1
"""The part that must be new so that comparing all vectors in one go is faster than searches."""

Pair = tuple[str, str, float]


async def likenesses(
    connection: Connection, corpus: str, *, keep: bool = True
) -> tuple[int, list[Pair]]:
    """Compare what is fresh; how many that were, and all pairs of ids that are alike by a cosine.

    Pairs that the guard does not let through are not kept: whoever gets another name is fresh
    again. Without `keep` nothing is written.
    """
    store = Likenesses(connection, corpus)
    fresh, elements = await store.count_fresh()
    shared = await _shared_marks(store) if fresh > MUCH_NEWS * elements else None
    if fresh > MOST_NEWS * elements:
        await store.gather()
    found: set[Pair] = set()
    compared, after = 0, ""
    while fresh and (page := await store.fresh(after, COMPARED_AT_ONCE)):
        pairs = await _compared(store, page, shared)
        if keep:
            await store.remember(page, pairs)
        else:
            found |= pairs
        compared, after = compared + len(page), page[-1]["id"]
    return compared, sorted(found.union(await store.all(THRESHOLD)))


async def _shared_marks(store: Likenesses) -> Container[str]:
    """The marks that several key elements have; whoever has none of these has nobody to be."""
    once, twice = BloomFilter(), BloomFilter()
    async for key in store.keys():
        for mark in marks(key):
            if not once.add(mark):
                twice.add(mark)
    return twice


async def _compared(
    store: Likenesses, page: Sequence[Row], shared: Container[str] | None
) -> set[Pair]:
    """The pairs, smaller id first, that some key elements make with any other ones."""
    new = {
        row["id"]: row
        for row in page
        if is_compared(row["name"], row["key"])
        and (shared is None or any(mark in shared for mark in marks(row["key"])))
    }
    pairs = set()
    for id_, alike in (await store.of(list(new), THRESHOLD)).items():
        one = _element(new[id_])
        for row in alike:
            other = Element(row.id, row.key, row.name, 0)
            if may_merge(one, other):
                pairs.add((min(one.id, other.id), max(one.id, other.id), row.score))
    return pairs


def _element(row: Row) -> Element:
    return Element(row["id"], row["key"], row["name"], 0)
