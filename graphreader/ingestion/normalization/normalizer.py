"""Takes the graph of a corpus to its normal form, and back (paper, section 3.2; Lu et al. 2023).

The normal form follows from the base graph, which extraction wrote, and from the stages that are
switched on; from nothing else. So one run does all there is to do: it computes what should be,
looks at what is, and writes the difference. What another run left half done, what was read in or
deleted since, a stage that is switched on or off: all of that is such a difference.
"""

import sys
from collections.abc import Collection, Mapping, Sequence

from graphreader.ingestion import logbook
from graphreader.ingestion.normalization.frequency import hub_threshold
from graphreader.ingestion.normalization.linker import Linker
from graphreader.ingestion.normalization.merging import Merge
from graphreader.ingestion.normalization.normalization_report import Hub, NormalizationReport
from graphreader.ingestion.normalization.proposing import Proposing
from graphreader.ingestion.report import Normalizing, Progress, quiet
from graphreader.settings import STAGES, Stage
from graphreader.store.connection import Connection
from graphreader.store.normal_form import Merged, NormalForm
from graphreader.store.writer import GraphWriter

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
        self, *, dry_run: bool = False, progress: Progress = quiet
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
        logbook.normalized(report)
        return report

    async def undo(
        self, *, dry_run: bool = False, progress: Progress = quiet
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
