"""Normalization of a corpus: merging of key elements (paper, section 3.2; Lu et al. 2023)."""

import asyncio
from array import array
from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from graphreader.documents import KeyElement, identity
from graphreader.errors import BudgetError, DecisionError, ReplyError, UsageError, WindowError
from graphreader.ingestion.normalization import merging
from graphreader.ingestion.normalization.joining import (
    NamesTask,
    joins_by_model,
    joins_by_rules,
    names_to_ask,
    with_decided,
)
from graphreader.ingestion.normalization.merging import CONFIDENCE, THRESHOLD, Merge
from graphreader.ingestion.normalization.rules import normalize
from graphreader.ingestion.report import (
    NamedJoin,
    NormalizationProgress,
    NormalizationReport,
    Progress,
    logger,
    no_progress,
)
from graphreader.llm.protocols import Budget, Decider
from graphreader.settings import STAGES
from graphreader.store.connection import Connection, Row
from graphreader.store.joins import (
    BY_MODEL,
    BY_PERSON,
    BY_RULES,
    DocumentJoins,
    DocumentName,
    Join,
    NameJoins,
)
from graphreader.store.key_elements import KeyElementMerges, SimilarityPairs, StoredMerge
from graphreader.store.search import has_at_most
from graphreader.store.writer import FREQUENT, GraphWriter
from graphreader.usage import Usage

COMPARED_AT_ONCE = 1000  # key elements whose neighbors are searched in one statement

KEYS_AT_ONCE = 250_000  # rows of one read: 20 MB

DOCUMENTS_AT_ONCE = 20  # whose names and texts are read in one statement

SHARE_TO_READ_KEYS = 0.02
"""Share of new key elements (0-1) above which all keys are read first, which saves searches."""

SHARE_TO_LOAD_VECTORS = 0.1
"""Share of new key elements (0-1) above which all vectors are compared in memory, not searched."""

Pair = tuple[str, str, float]
"""A pair of similar key elements: the smaller id, the larger id, and their cosine."""


class Normalizer:
    """The normalization of one corpus by the given stages; no stages restore the base graph.

    The stage `names` asks the decider, once for each document whose list of names is new.
    """

    def __init__(
        self,
        connection: Connection,
        corpus: str,
        stages: Collection[str],
        decider: Decider | None = None,
        budget: Budget | None = None,
    ) -> None:
        self._connection = connection
        self._corpus = corpus
        self._stages = tuple(stage for stage in STAGES if stage in stages)
        self.writer = GraphWriter(connection, corpus)
        self._merges = KeyElementMerges(connection, corpus)
        self._joins = NameJoins(connection, corpus)
        self._decider = decider
        self._budget = budget
        self._usage = Usage()

    async def run(
        self, *, dry_run: bool = False, progress: Progress = no_progress
    ) -> NormalizationReport:
        """Normalize the corpus; a dry run only reports. A run completes an interrupted run."""
        report = await self._normalize(progress, write=not dry_run)
        if not dry_run:
            await self.writer.settle()
            logger.info(
                "Corpus %r is normalized (%s): %d key elements merged, %d parted",
                self._corpus,
                ", ".join(self._stages) or "no stage",
                len(report.merged),
                len(report.parted),
            )
        return report

    async def undo_join(self, document: str, name: str) -> NormalizationReport:
        """Undo the join of a name within a document, by its id, for good; raises UsageError.

        The name means itself there, whatever rules and a model decide in later runs.
        """
        names = (await self._joins.names([document]))[document]
        key = normalize(name)
        meant = {one.id for one in names if one.key == key or name in (one.id, *one.surfaces)}
        before = next((one for one in await self._joins.joined() if one.id == document), None)
        joined = [one for one in before.joins if one.id != one.into] if before else []
        if not before or meant.isdisjoint(one.id for one in joined):
            known = "; ".join(f"{one.name} ({one.into_name})" for one in _named(joined, names))
            raise UsageError(
                f"In this document {name!r} is not joined to another name"
                + (f"; these are: {known}." if known else ", nor is any name.")
            )
        kept = [one for one in before.joins if one.id not in meant]
        undone = [Join(one.id, one.id, BY_PERSON) for one in joined if one.id in meant]
        await self._joins.record(replace(before, joins=(*kept, *undone)))
        report = await self.run()
        return replace(report, joins={document: _named(kept, names), **report.joins})

    async def renew_keys(self) -> int:
        """Give key elements the keys, and so the ids, of the present rules; count changed wordings.

        Merges and joins are undone before; a run makes them again, with a model's and persons'
        decisions.
        """
        joined = await self._joins.joined()
        renewed: dict[str, str] = {}
        changed = 0
        after: str | None = ""
        while after is not None:
            page = await self._read("surfaces", after=after, limit=COMPARED_AT_ONCE)
            rows = [
                {
                    "id": row["id"],
                    "surface": surface,
                    "key": key,
                    "new": identity(self._corpus, key),
                }
                for row in page
                for surface in row["surfaces"]
                if (key := normalize(surface)) != row["key"] and key
            ]
            if rows and not changed:
                await Normalizer(self._connection, self._corpus, ()).run()
            if rows:
                values = {"corpus": self._corpus, "rows": rows, "frequent": FREQUENT}
                await self._connection.write("write/renew_keys", lock=self._corpus, **values)
            changed += len(rows)
            renewed |= {row["id"]: row["new"] for row in rows}
            after = page[-1]["id"] if len(page) == COMPARED_AT_ONCE else None
        for document in [one for one in joined if changed and (one.joins or one.asked)]:
            joins = (
                Join(renewed.get(one.id, one.id), renewed.get(one.into, one.into), one.by)
                for one in document.joins
            )
            await self._joins.record(replace(document, joins=tuple(joins)))
        await self.writer.settle()
        return changed

    async def _normalize(self, progress: Progress, *, write: bool) -> NormalizationReport:
        """Compare the proposed merges with the stored merges; write the difference."""
        if write:
            await self.writer.settle()
        stored = await self._merges.stored()
        behind = [one for one in stored.values() if not one.moved]
        if write:
            await self._merges.move_facts(behind)
        compared, merges = await self._propose_merges(progress, write=write)
        proposed = {
            one.element.id: StoredMerge(one.element.id, one.into.id, one.stage) for one in merges
        }
        present = {id_: replace(one, moved=False) for id_, one in stored.items()}
        merged = [one for one in proposed.values() if one != present.get(one.id)]
        parted = [one for one in present.values() if one != proposed.get(one.id)]
        if write:
            await self._merges.undo(parted)
            await self._merges.merge(merged)
        joins = await self._join_names(write=write)
        merged_ids = frozenset(one.id for one in merged)
        return NormalizationReport(
            corpus=self._corpus,
            stages=self._stages,
            dry_run=not write,
            compared=compared,
            merges=tuple(merges),
            merged=merged_ids,
            parted=frozenset(one.id for one in parted) - merged_ids,
            moved=len(behind),
            joins=joins,
            usage=self._usage,
        )

    async def _join_names(self, *, write: bool) -> dict[str, tuple[NamedJoin, ...]]:
        """Join the names of documents with other chunks than before; return what changed."""
        changed: dict[str, tuple[NamedJoin, ...]] = {}
        if not {"short_names", "names"} & set(self._stages):
            marked = await self._joins.joined()
            changed = {one.id: () for one in marked if len(one.joins) > len(one.by_person)}
            if write:
                await self._joins.mark([one.id for one in marked if one.is_base], None)
                for document in marked:
                    if not document.is_base or document.asked:
                        kept = DocumentJoins(document.id, joins=document.by_person)
                        await self._joins.store(kept, None)
            return changed
        due = await self._joins.due(by_model=self._asks and write)
        for start in range(0, len(due), DOCUMENTS_AT_ONCE):
            page = due[start : start + DOCUMENTS_AT_ONCE]
            ids = [document.id for document in page]
            names, texts = await self._joins.names(ids), await self._joins.texts(ids)
            unchanged: dict[str, list[str]] = defaultdict(list)
            for before in page:
                named = names[before.id]
                rules = await asyncio.to_thread(joins_by_rules, named, texts.pop(before.id))
                after, by = await self._decide(before, named, rules, write=write)
                if after.joins != before.joins:
                    changed[before.id] = _named(after.joins, named)
                if after == before and before.is_base:
                    unchanged[by].append(before.id)
                elif write:
                    await self._joins.store(after, by)
            for by, documents in unchanged.items():
                if write:
                    await self._joins.mark(documents, by)
        return changed

    @property
    def _asks(self) -> bool:
        return "names" in self._stages and self._decider is not None

    async def _decide(
        self,
        before: DocumentJoins,
        names: Sequence[DocumentName],
        rules: Sequence[Join],
        *,
        write: bool,
    ) -> tuple[DocumentJoins, str]:
        """Return the joins of a document, and whether rules or also the model decided.

        The model is asked unless it was asked about the same names before.
        """
        questioned = names_to_ask(names, rules)
        listed = identity(*(one.name for one in questioned))
        if before.asked == listed:  # a decision is not paid twice
            earlier = [one for one in before.joins if one.by != BY_RULES]
            return replace(before, joins=tuple(with_decided(rules, earlier))), BY_MODEL
        by_rules = replace(before, joins=tuple(with_decided(rules, before.by_person)), asked="")
        if not (self._asks and write):
            return by_rules, BY_RULES
        if len(questioned) < 2:
            return by_rules, BY_MODEL
        try:
            pairs = await self._ask(before.title, questioned)
        except (ReplyError, WindowError, BudgetError) as error:
            logger.warning("The names of document %s: %s", before.id, type(error).__name__)
            return by_rules, BY_RULES
        joins = with_decided(rules, [*pairs, *before.by_person])
        return replace(before, joins=tuple(joins), asked=listed), BY_MODEL

    async def _ask(self, title: str, names: Sequence[DocumentName]) -> list[Join]:
        """Ask the model which of a document's names mean one thing. Raises DecisionError."""
        assert self._decider is not None
        task = NamesTask(title, tuple((one.name, one.facts) for one in names))
        try:
            result = await self._decider.decide(task, self._budget)
        except DecisionError as error:
            self._usage += error.spent
            raise
        self._usage += result.usage
        return joins_by_model(names, result.decision, self._decider.name)

    async def _propose_merges(self, progress: Progress, *, write: bool) -> tuple[int, list[Merge]]:
        """Return the number of compared elements and all proposed merges; store the pairs."""
        compared, merges = 0, list[Merge]()
        if "semantic" in self._stages:
            compared, pairs = await self._find_similar_pairs(progress, write=write)
            ids = {id_ for one, other, _ in pairs for id_ in (one, other)}
            ids |= {identity(self._corpus, key) for key in merging.place_names()}
            rows = await self._read("base_key_elements", ids=sorted(ids))
            merges += merging.semantic_merges(
                {row["id"]: KeyElement.of(row) for row in rows}, pairs
            )
        if "association" in self._stages:
            merges += merging.association_merges(await self._count_common_facts())
        return compared, merging.combine(merges)

    async def _count_common_facts(self) -> list[tuple[KeyElement, KeyElement, int]]:
        """Return the pairs that may always occur together, with their numbers of common facts."""
        await self._merges.mark_frequent()
        rows = await self._read("frequent_key_elements")
        frequent = {row["id"]: KeyElement.of(row) for row in rows}
        by_facts: dict[int, list[str]] = defaultdict(list)
        for id_, element in frequent.items():
            missing = int(
                (1 - CONFIDENCE) * element.facts
            )  # facts that need not name the other element
            by_facts[1 << missing.bit_length()].append(id_)
        pairs = set()
        for facts, ids in by_facts.items():
            for row in await self._read("companions", ids=sorted(ids), facts=facts):
                one, other = row["id"], row["other"]
                if other in frequent:
                    fewer, more = sorted((frequent[one].facts, frequent[other].facts))
                    if fewer >= CONFIDENCE * more:
                        pairs.add((min(one, other), max(one, other)))
        rows = await self._read("common_facts", pairs=[list(pair) for pair in sorted(pairs)])
        return [(frequent[row["a"]], frequent[row["b"]], row["facts"]) for row in rows]

    async def _find_similar_pairs(
        self, progress: Progress, *, write: bool
    ) -> tuple[int, list[Pair]]:
        """Compare new and renamed key elements; return their number and all similar pairs."""
        similarity = SimilarityPairs(self._connection, self._corpus)
        new = (await self._read("count_fresh"))[0]["fresh"]
        progress(NormalizationProgress(0, new))
        shared = None
        if await self._is_share(new, SHARE_TO_READ_KEYS):
            shared = await self._shared_blocking_keys()
        if await self._is_share(new, SHARE_TO_LOAD_VECTORS):
            await similarity.load_vectors()
        pairs: set[Pair] = set()
        compared, after = 0, ""
        while new and (
            page := await self._read("fresh_key_elements", after=after, limit=COMPARED_AT_ONCE)
        ):
            new_pairs = await _compare(similarity, page, shared)
            if write:
                await similarity.store(page, new_pairs)
            else:
                pairs |= new_pairs
            compared, after = compared + len(page), page[-1]["id"]
            progress(NormalizationProgress(compared, new))
        rows = await self._read("similar_pairs", least=THRESHOLD)
        return compared, sorted(pairs.union((row["a"], row["b"], row["score"]) for row in rows))

    async def _is_share(self, number: int, share: float) -> bool:
        """Whether `number` is at least this share of all key elements; not all are counted."""
        return number > 0 and await has_at_most(self._connection, self._corpus, int(number / share))

    async def _shared_blocking_keys(self) -> Container[int]:
        """Return the hashes (8 bytes each) of blocking keys that several key elements share."""
        hashes, after = array("q"), ""
        while after is not None:
            [page] = await self._read("keys", after=after, limit=KEYS_AT_ONCE)
            for key in page["keys"]:
                hashes.extend(map(hash, merging.blocking_keys(key)))
            after = page["last"]
        values, counts = np.unique(np.array(hashes), return_counts=True)
        return frozenset(values[counts > 1].tolist())

    async def _read(self, name: str, **values: Any) -> list[Row]:
        return await self._connection.read(f"read/{name}", corpus=self._corpus, **values)


def _named(joins: Iterable[Join], names: Iterable[DocumentName]) -> tuple[NamedJoin, ...]:
    """Return joins with the names of a document; a name that means itself is left out."""
    shown = {one.id: one.name for one in names}
    return tuple(
        NamedJoin(shown[one.id], shown[one.into], one.by)
        for one in joins
        if one.id != one.into and {one.id, one.into} <= shown.keys()
    )


async def _compare(
    similarity: SimilarityPairs, page: Sequence[Row], shared: Container[int] | None
) -> set[Pair]:
    new = {
        row["id"]: KeyElement.of(row)
        for row in page
        if merging.is_comparable(row["name"], row["key"])
        and (
            shared is None or any(hash(key) in shared for key in merging.blocking_keys(row["key"]))
        )
    }
    pairs = set()
    for id_, others in (await similarity.similar_to(list(new), THRESHOLD)).items():
        for other in others:
            if merging.may_merge(new[id_], other.item):
                pairs.add((min(id_, other.item.id), max(id_, other.item.id), other.score))
    return pairs
