"""Takes the graph of a corpus to its normal form, and back (paper, section 3.2; Lu et al. 2023).

The normal form follows from the base graph, which extraction wrote, and from the stages that are
switched on; from nothing else. So one run does all there is to do: it computes what should be,
looks at what is, and writes the difference. What another run left half done, what was read in or
deleted since, a stage that is switched on or off: all of that is such a difference.

Which key elements of a corpus should be merged, seen from its base graph alone.

Which key elements are alike: each is compared once, when it is new or has another name.
"""

import sys
from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Mapping, Sequence

from graphreader.ingestion import report as report_module
from graphreader.ingestion.extraction import identity
from graphreader.ingestion.normalization import merging
from graphreader.ingestion.normalization.frequency import hub_threshold
from graphreader.ingestion.normalization.linker import BloomFilter, Linker
from graphreader.ingestion.normalization.merging import (
    CONFIDENCE,
    MINIMUM_SUPPORT,
    THRESHOLD,
    Element,
    Merge,
    combined,
    is_compared,
    marks,
    may_merge,
    place_forms,
)
from graphreader.ingestion.report import (
    Hub,
    NormalizationReport,
    Normalizing,
    Progress,
    no_progress,
)
from graphreader.settings import STAGES, Stage
from graphreader.store.connection import Connection, Row
from graphreader.store.key_elements import Merged, NormalForm, SimilarityPairs
from graphreader.store.writer import GraphWriter

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
    store = SimilarityPairs(connection, corpus)
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


async def _shared_marks(store: SimilarityPairs) -> Container[str]:
    """The marks that several key elements have; whoever has none of these has nobody to be."""
    once, twice = BloomFilter(), BloomFilter()
    async for key in store.keys():
        for mark in marks(key):
            if not once.add(mark):
                twice.add(mark)
    return twice


async def _compared(
    store: SimilarityPairs, page: Sequence[Row], shared: Container[str] | None
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
            merges += merging.merges(await self._elements(ids | self._places()), pairs)
        if "association" in stages:
            progress(Normalizing("association"))
            merges += merging.association_merges(await self._together())
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


ROUNDS = 5
"""How often a graph that changed is looked at again, at most: others may write meanwhile."""


class Normalizer:
    """Normalizes one corpus by the given stages; without any it gives the base graph back."""

    def __init__(self, connection: Connection, corpus: str, stages: Collection[Stage]) -> None:
        self._connection = connection
        self._corpus = corpus
        self._stages = tuple(stage for stage in STAGES if stage in stages)
        self._writer = GraphWriter(connection, corpus)
        self._form = NormalForm(connection, corpus)
        self._proposing = Proposing(connection, corpus)
        self._linker = Linker(connection, corpus)

    async def run(
        self, *, dry_run: bool = False, progress: Progress = no_progress
    ) -> NormalizationReport:
        """Make the corpus what it should be; a dry run only says what that would change.

        A run that is cut off leaves a graph that can be asked, and the next one ends its work.
        """
        if dry_run:
            return await self._round(progress, keep=False)
        report = NormalizationReport(self._corpus, self._stages)
        for _ in range(ROUNDS):
            seen = await self._round(progress, keep=True)
            report = report.and_then(seen)
            if not seen.changed:
                break
        else:
            await self._writer.settle()
        report_module.log_normalization(report)
        return report

    async def undo(
        self, *, dry_run: bool = False, progress: Progress = no_progress
    ) -> NormalizationReport:
        """Take every merge, link and flag back: what is left is the base graph, exactly."""
        bare = Normalizer(self._connection, self._corpus, ())
        return await bare.run(dry_run=dry_run, progress=progress)

    async def _round(self, progress: Progress, *, keep: bool) -> NormalizationReport:
        """Look at everything once; with `keep`, write what is not as it should be."""
        if keep:
            await self._writer.settle()
        present = await self._form.merged()
        behind = [(id_, one.into) for id_, one in present.items() if not one.moved]
        if keep:
            await self._form.move(behind)
        compared, merges = await self._proposing.merges(self._stages, progress, keep=keep)
        merged, parted = _difference(present, merges)
        if keep:
            await self._form.part([(id_, present[id_].into) for id_ in parted])
            wanted = [m for m in merges if m.element.id in merged]
            await self._form.merge([(m.element.id, m.into.id, m.stage) for m in wanted])
        if "linking" in self._stages:
            progress(Normalizing("linking"))
        links = await self._linker.run(wanted="linking" in self._stages, keep=keep)
        changed = () if keep else {*merged, *parted, *(present[id_].into for id_ in parted)}
        hubs, flagged, unflagged = await self._hubs(progress, merges, changed)
        if keep:
            await self._form.flag([*((i, True) for i in flagged), *((i, False) for i in unflagged)])
        return NormalizationReport(
            corpus=self._corpus,
            stages=self._stages,
            dry_run=not keep,
            compared=compared,
            merges=tuple(merges),
            merged=merged,
            parted=parted - merged,
            moved=len(behind),
            hubs=tuple(hubs),
            flagged=flagged,
            unflagged=unflagged,
            linked=links[0],
            unlinked=links[1],
        )

    async def _hubs(
        self, progress: Progress, merges: Sequence[Merge], changed: Collection[str]
    ) -> tuple[list[Hub], frozenset[str], frozenset[str]]:
        """All hubs, busiest first; the ids of those that are to be flagged, and of those no more.

        `changed` key elements are counted as `merges` will have them.
        """
        most = sys.maxsize
        if "frequency" in self._stages:
            progress(Normalizing("frequency"))
            most = hub_threshold(await self._form.count_facts())
        rows = {row["id"]: row for row in await self._form.hubs(most)}
        if changed:
            rows |= await self._form.counted_together(_groups(merges, changed))
        flags = {id_ for id_, row in rows.items() if row["hub"]}
        hubs = [Hub(row["id"], row["name"], row["facts"]) for row in rows.values()]
        hubs = sorted((one for one in hubs if one.facts > most), key=lambda h: (-h.facts, h.id))
        ids = {one.id for one in hubs}
        return hubs, frozenset(ids - flags), frozenset(flags - ids)


def _groups(merges: Sequence[Merge], changed: Collection[str]) -> dict[str, list[str]]:
    """The ids of each group that changes by its head; who is merged is the head of nobody."""
    groups: dict[str, list[str]] = {id_: [id_] for id_ in changed}
    for one in merges:
        groups[one.element.id] = []
    for one in merges:
        groups.setdefault(one.into.id, [one.into.id]).append(one.element.id)
    return groups


def _difference(
    present: Mapping[str, Merged], merges: Sequence[Merge]
) -> tuple[frozenset[str], frozenset[str]]:
    """The ids that are to be merged, and those whose present merge is to be taken back first."""
    wanted = {one.element.id: (one.into.id, one.stage) for one in merges}
    there = {id_: (one.into, one.by) for id_, one in present.items()}
    merged = frozenset(id_ for id_, how in wanted.items() if there.get(id_) != how)
    parted = frozenset(id_ for id_, how in there.items() if wanted.get(id_) != how)
    return merged, parted
