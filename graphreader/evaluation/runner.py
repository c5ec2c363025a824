"""Running an evaluation: every question to every reader, and the progress of it.

An `Arm` is a reader with its settings and repeat. `EvaluationRunner` asks what the results folder
lacks and appends a line for each reading; `EvaluationProgress` counts these lines.
"""

import asyncio
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from graphreader.baselines.answering import Golden
from graphreader.documents import Document
from graphreader.errors import DecisionError, GraphReaderError
from graphreader.evaluation.datasets.record import Record
from graphreader.evaluation.metrics.evidence import fcr
from graphreader.evaluation.plan import Plan, QuestionGroup
from graphreader.evaluation.readers import EvaluatedReader, PreparedReader
from graphreader.evaluation.results import (
    ReadingKey,
    ReadingsFile,
    corpus_of,
    document_places,
    documents_of,
    record_digest,
)
from graphreader.evaluation.scoring import Scorer, failed_figures
from graphreader.files import Line
from graphreader.llm.retry import CircuitBreaker
from graphreader.settings import Settings
from graphreader.sync import bounded_gather
from graphreader.tokens import count
from graphreader.usage import Usage


@dataclass(frozen=True, slots=True)
class Arm:
    """A reader with the settings that it was made from, asked for the n-th time (from 0)."""

    reader: EvaluatedReader
    settings: Settings
    repeat: int = 0

    @property
    def model(self) -> str:
        """The model that explores and answers; both names if these are two."""
        models = dict.fromkeys(self.settings.model_for(one) for one in ("explore", "answer"))
        return ", ".join(models)

    @property
    def is_golden(self) -> bool:
        """Whether the reader is given the evidence of one record, and so serves for that alone."""
        return self.reader.name == Golden.name

    def records(self, group: QuestionGroup) -> list[Record]:
        """The records of a group that it is asked: golden only those that name evidence."""
        return [one for one in group.records if one.supporting or not self.is_golden]

    def missing(self, group: QuestionGroup, file: ReadingsFile) -> list[Record]:
        """Those of its records that the file has no reading of.

        Raises UsageError if the file has readings of other data under the same ids.
        """
        return [
            record
            for record in self.records(group)
            if not file.is_done(self.key(group, record), record_digest(record))
        ]

    def unrated(self, group: QuestionGroup, file: ReadingsFile) -> list[tuple[Record, Line]]:
        """Its readings that still have to be rated, because a rater failed."""
        lines = ((one, file.unrated(self.key(group, one))) for one in self.records(group))
        return [(record, line) for record, line in lines if line is not None]

    def key(self, group: QuestionGroup, record: Record) -> ReadingKey:
        """The key of its reading of a record."""
        name = self.reader.name
        return ReadingKey(group.dataset, record.id, group.length, name, self.model, self.repeat)


def expected_keys(plan: Plan, arms: Sequence[Arm]) -> Iterator[ReadingKey]:
    """The keys of all readings of a plan."""
    for group in plan.groups:
        for arm in arms:
            yield from (arm.key(group, record) for record in arm.records(group))


@dataclass(frozen=True, slots=True)
class PreparedGroup:
    """A group of questions with its contexts built and their documents made.

    `places` are the documents' indexes in their record by their ids; `tokens` those of all texts.
    """

    group: QuestionGroup
    corpus: str
    records: Sequence[Record]
    documents: Sequence[Document]
    places: Mapping[str, int]
    tokens: int

    @classmethod
    def of(cls, group: QuestionGroup) -> "PreparedGroup":
        """Build the contexts, which may take a second."""
        records = group.build_contexts()
        corpus = corpus_of(records[0])
        documents = documents_of(records[0], corpus)
        tokens = group.own_tokens
        if group.target_tokens is not None:
            tokens = sum(count(one.text) for one in records[0].documents)
        return cls(group, corpus, records, documents, document_places(documents), tokens)


_FIRST_FIELDS = (
    "id",
    "dataset",
    "reader",
    "length",
    "answer",
    "answered",
    "em",
    "f1",
    "documents_read",
    "documents_cited",
    "tokens_read",
    "usage",
    "seconds",
)
"""Every line begins with these."""


def line_of(
    arm: Arm,
    prepared: PreparedGroup,
    record: Record,
    reader: PreparedReader | None,
    figures: Mapping[str, Any],
) -> dict[str, Any]:
    """One line of `readings.jsonl`; `reader` is None where it could not be prepared."""
    # The digest is that of the record as its dataset has it: a longer context depends on the pool.
    original = next(one for one in prepared.group.records if one.id == record.id)
    line = {
        **asdict(arm.key(prepared.group, record)),
        "window": arm.reader.window,
        "language": record.language,
        "kind": record.kind,
        "subset": record.subset,
        "question": record.question,
        "digest": record_digest(original),
        "gold_documents": list(record.gold_documents),
        "record_tokens": prepared.tokens,
        "documents": len(record.documents),
        "corpus": prepared.corpus,
        "building": asdict(reader.building if reader else Usage()),
        "graph": dict(reader.graph) if reader and reader.graph is not None else None,
        "compression": (
            dict(reader.compression) if reader and reader.compression is not None else None
        ),
        **figures,
    }
    return {name: line[name] for name in dict.fromkeys((*_FIRST_FIELDS, *line))}


class EvaluationRunner:
    """Asks what the readings of a plan lack.

    Groups are taken in the order of the plan, `concurrency` of them at a time, each with one reader
    after the other, so that few contexts are in memory.
    """

    def __init__(
        self,
        plan: Plan,
        arms: Sequence[Arm],
        file: ReadingsFile,
        scorer: Scorer,
        *,
        concurrency: int,
        max_dollars: float | None = None,
    ) -> None:
        self.usage = Usage()
        self._plan = plan
        self._arms = arms
        self._file = file
        self._scorer = scorer
        self._concurrency = concurrency
        self._max_dollars = max_dollars
        self._question_slots = asyncio.Semaphore(concurrency)
        # Datasets about the same documents share a graph, which the first must not delete early.
        self._corpus_locks: dict[str, asyncio.Lock] = {}
        self._breaker = CircuitBreaker()
        self._stop: GraphReaderError | None = None

    async def run(self) -> None:
        """Ask everything that is missing.

        A failed reading becomes a line, and the others go on. Raises an error that every further
        reading would meet as well, and GraphReaderError if a service stays unavailable or
        `max_dollars` are spent; the readings so far are kept.
        """
        await bounded_gather(self._plan.groups, self._run_group, self._concurrency)

    async def _run_group(self, group: QuestionGroup) -> None:
        missing = [(arm, arm.missing(group, self._file)) for arm in self._arms]
        missing = [(arm, records) for arm, records in missing if records]
        if self._scorer.has_raters:
            for arm in self._arms:
                unrated = arm.unrated(group, self._file)
                await bounded_gather(unrated, self._rate, self._concurrency)
        if not missing:
            return
        prepared = await asyncio.to_thread(PreparedGroup.of, group)
        by_id = {record.id: record for record in prepared.records}
        async with self._corpus_locks.setdefault(prepared.corpus, asyncio.Lock()):
            for arm, records in missing:
                contexts = [by_id[record.id] for record in records]
                batches = [[one] for one in contexts] if arm.is_golden else [contexts]
                for batch in batches:
                    await self._run_batch(arm, prepared, batch)
            for arm, _ in missing:
                await arm.reader.discard(prepared.documents)

    async def _rate(self, reading: tuple[Record, Line]) -> None:
        """Rate a reading of which a rater failed before."""
        record, line = reading
        async with self._question_slots:
            self._raise_if_stopped()
            rated, usage = await self._scorer.rate_again(record, line)
        self._keep(rated, usage)

    async def _run_batch(
        self, arm: Arm, prepared: PreparedGroup, records: Sequence[Record]
    ) -> None:
        """Prepare a reader for the documents, and ask it these questions."""
        self._raise_if_stopped()
        async with AsyncExitStack() as stack:
            preparing = arm.reader.prepare(records[0], prepared.documents)
            try:
                reader = await stack.enter_async_context(preparing)
            except GraphReaderError as error:
                self._stop_if_final(error)
                for record in records:
                    figures = _error_figures(record, error, 0.0)
                    self._file.append(line_of(arm, prepared, record, None, figures))
                self._add_usage(error.spent if isinstance(error, DecisionError) else Usage())
                return
            self._add_usage(reader.building)

            async def ask(record: Record) -> None:
                await self._ask(arm, prepared, record, reader)

            await bounded_gather(records, ask, self._concurrency)

    async def _ask(
        self, arm: Arm, prepared: PreparedGroup, record: Record, reader: PreparedReader
    ) -> None:
        async with self._question_slots:
            self._raise_if_stopped()
            began = time.monotonic()
            try:
                figures = await self._read_and_score(prepared, record, reader)
            except GraphReaderError as error:
                self._stop_if_final(error)
                figures = _error_figures(record, error, time.monotonic() - began)
            else:
                self._breaker.record_answer()
        usage = Usage(**figures["usage"]) + Usage(**figures["rating_usage"])
        self._keep(line_of(arm, prepared, record, reader, figures), usage)

    async def _read_and_score(
        self, prepared: PreparedGroup, record: Record, reader: PreparedReader
    ) -> dict[str, Any]:
        reading = await reader.reader.aask(record.question, options=record.options)
        if reading.paths and all(path.stopped == "error" for path in reading.paths):
            # A reading whose every path failed is a failure, whatever its answer says.
            error = DecisionError(reading.paths[0].error or reading.answer)
            error.spent = reading.usage
            raise error
        figures = await self._scorer.score(record, reading, prepared.places)
        if reading.compression is not None:
            rates = {"final_query": reading.compression}
            figures["compression"] = {**(reader.compression or {}), **rates}
        return figures

    def _keep(self, line: Line, usage: Usage) -> None:
        """Append a line before anything can end the evaluation, as its reading is paid for."""
        self._file.append(line)
        self._stop = self._scorer.rater_failure or self._stop
        self._add_usage(usage)
        self._raise_if_stopped()

    def _add_usage(self, usage: Usage) -> None:
        self.usage += usage
        if self._max_dollars is not None and self.usage.dollars >= self._max_dollars:
            self._stop = GraphReaderError(
                f"${self.usage.dollars:,.2f} are spent, as much as --max-cost allows: for the "
                "rest, give the command again with more."
            )
            self._raise_if_stopped()

    def _stop_if_final(self, error: GraphReaderError) -> None:
        """Stop if an error ends all readings, not one alone."""
        self._stop = self._breaker.record_error(error) or self._stop
        self._raise_if_stopped()

    def _raise_if_stopped(self) -> None:
        if self._stop:
            raise self._stop


def _error_figures(record: Record, error: GraphReaderError, seconds: float) -> dict[str, Any]:
    usage = error.spent if isinstance(error, DecisionError) else Usage()
    return failed_figures(record, str(error), replace(usage, seconds=round(seconds, 3)))


_SCORES, _AMOUNTS = ("em", "f1", "fcr"), ("tokens", "calls", "seconds")


@dataclass(slots=True)
class ProgressRow:
    """The readings of one reader with one model at one dataset and length.

    `readings` are the figures of those that are done; None stands for a figure not measured.
    """

    dataset: str
    length: str
    model: str
    reader: str
    total: int = 0
    readings: dict[ReadingKey, Mapping[str, float | None]] = field(default_factory=dict)

    @property
    def done(self) -> int:
        """The number of readings done, failed ones included."""
        return len(self.readings)

    @property
    def failed(self) -> int:
        """The number of failed readings."""
        return sum(bool(one["failed"]) for one in self.readings.values())

    def mean(self, name: str) -> float | None:
        """The mean of em, f1, fcr, tokens, calls or seconds.

        A failed reading counts as 0 for a score, and not for an amount.
        """
        figures = (
            one[name] for one in self.readings.values() if name in _SCORES or not one["failed"]
        )
        values = [value for value in figures if value is not None]
        return sum(values) / len(values) if values else None

    def as_dict(self) -> dict[str, Any]:
        """The row in plain JSON types, means rounded to four digits."""
        means = {name: self.mean(name) for name in (*_SCORES, *_AMOUNTS)}
        return {
            "dataset": self.dataset,
            "length": self.length,
            "reader": self.reader,
            "model": self.model,
            "total": self.total,
            "done": self.done,
            "failed": self.failed,
            **{name: None if mean is None else round(mean, 4) for name, mean in means.items()},
        }


class EvaluationProgress:
    """Counts readings as they come; those of an earlier run count if they are expected now."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str, str, str], ProgressRow] = {}
        self._unexpected: dict[ReadingKey, Mapping[str, float | None]] = {}

    def expect(self, keys: Iterable[ReadingKey]) -> None:
        """Expect these readings."""
        for key in keys:
            place = (key.dataset, key.length, key.model, key.reader)
            row = self._rows.setdefault(place, ProgressRow(*place))
            row.total += 1
            if key in self._unexpected:
                row.readings[key] = self._unexpected.pop(key)

    def add(self, line: Line) -> None:
        """Count a line; of several with the same key the last one counts."""
        key = ReadingKey.of(line)
        row = self._rows.get((key.dataset, key.length, key.model, key.reader))
        readings = self._unexpected if row is None else row.readings
        readings[key] = {
            "em": line["em"],
            "f1": line["f1"],
            "fcr": fcr(line["documents_read"], line["gold_documents"]),
            "tokens": line["tokens_read"],
            "calls": line["usage"]["calls"],
            "seconds": line["seconds"],
            "failed": line.get("error") is not None,
        }

    @property
    def rows(self) -> list[ProgressRow]:
        """All rows, in the order in which they are expected."""
        return list(self._rows.values())

    @property
    def total(self) -> int:
        """The number of readings expected."""
        return sum(row.total for row in self.rows)

    @property
    def done(self) -> int:
        """The number of readings done, failed ones included."""
        return sum(row.done for row in self.rows)

    @property
    def failed(self) -> int:
        """The number of failed readings."""
        return sum(row.failed for row in self.rows)
