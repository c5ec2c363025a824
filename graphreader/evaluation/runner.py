"""Every question put to every reader: side by side, each reading kept as soon as it is there.

A group of a plan whose documents stand ready to be read.

A reader that takes part in an evaluation, and what its lines are about.

How far an evaluation is and how good its readers are, row by row: dataset, length, reader.

One line of `readings.jsonl`: what was asked of whom about what, and the figures of it.
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
from graphreader.evaluation import scoring
from graphreader.evaluation.datasets.record import Record
from graphreader.evaluation.metrics.evidence import fcr
from graphreader.evaluation.plan import Group, Plan
from graphreader.evaluation.readers import Entrant, Opened
from graphreader.evaluation.results import (
    Key,
    ReadingsFile,
    corpus_of,
    digest_of,
    documents_of,
    places_of,
)
from graphreader.files import Line
from graphreader.llm.retry import CircuitBreaker
from graphreader.settings import Settings
from graphreader.sync import bounded_gather
from graphreader.tokens import count
from graphreader.usage import Usage


@dataclass(frozen=True, slots=True)
class MadeGroup:
    """A group whose documents stand ready."""

    group: Group
    corpus: str
    records: Sequence[Record]
    documents: Sequence[Document]
    places: Mapping[str, int]
    tokens: int

    @classmethod
    def of(cls, group: Group) -> "MadeGroup":
        """Make the contexts, which may take a second. Records of one group share documents."""
        records = group.made()
        corpus = corpus_of(records[0])
        documents = documents_of(records[0], corpus)
        tokens = group.own_tokens
        if group.tokens is not None:
            tokens = sum(count(one.text) for one in records[0].documents)
        return cls(group, corpus, records, documents, places_of(documents), tokens)


@dataclass(frozen=True, slots=True)
class Entry:
    """A reader with the settings that it was made of, asked for the n-th time (from 0)."""

    entrant: Entrant
    settings: Settings
    repeat: int = 0

    @property
    def model(self) -> str:
        """Who explores and answers; both, where these are two."""
        models = dict.fromkeys(self.settings.model_for(one) for one in ("explore", "answer"))
        return ", ".join(models)

    @property
    def is_given_evidence(self) -> bool:
        """Whether it is opened with what one record names as evidence, and for that one alone."""
        return self.entrant.name == Golden.name

    def asked(self, group: Group) -> list[Record]:
        """The records of a group that it is asked about; golden only where evidence is named."""
        return [one for one in group.records if one.supporting or not self.is_given_evidence]

    def missing(self, group: Group, file: ReadingsFile) -> list[Record]:
        """Those of them that are not read yet. Raises UsageError where they were others then."""
        return [
            record
            for record in self.asked(group)
            if not file.is_done(self.key(group, record), digest_of(record))
        ]

    def unrated(self, group: Group, file: ReadingsFile) -> list[tuple[Record, Line]]:
        """Its readings that are to be judged still, because a rater failed."""
        lines = ((one, file.unrated(self.key(group, one))) for one in self.asked(group))
        return [(record, line) for record, line in lines if line is not None]

    def key(self, group: Group, record: Record) -> Key:
        """What the line of this reading is about."""
        name = self.entrant.name
        return Key(group.dataset, record.id, group.length, name, self.model, self.repeat)


def keys(plan: Plan, entries: Sequence[Entry]) -> Iterator[Key]:
    """Those of all readings of a plan."""
    for group in plan.groups:
        for entry in entries:
            yield from (entry.key(group, record) for record in entry.asked(group))


_FIRST = (
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
"""The keys that every line begins with."""


def line_of(
    entry: Entry,
    made: MadeGroup,
    record: Record,
    opened: Opened | None,
    found: Mapping[str, Any],
) -> dict[str, Any]:
    """One line of the file: first what every evaluation asks for, then what more is known."""
    # A longer context differs with the pool: what the data ask is told by the record as it came.
    own = next(one for one in made.group.records if one.id == record.id)
    known = {
        **asdict(entry.key(made.group, record)),
        "window": entry.entrant.window,
        "language": record.language,
        "kind": record.kind,
        "subset": record.subset,
        "question": record.question,
        "digest": digest_of(own),
        "gold_documents": list(record.gold_documents),
        "record_tokens": made.tokens,
        "documents": len(record.documents),
        "corpus": made.corpus,
        "building": asdict(opened.building if opened else Usage()),
        "graph": _plain(opened.graph) if opened else None,
        "compression": _plain(opened.compression) if opened else None,
    }
    whole = {**known, **found}
    return {name: whole[name] for name in dict.fromkeys((*_FIRST, *whole))}


def _plain(sizes: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if sizes is None else dict(sizes)


class Benchmark:
    """Asks what of a plan is not read yet.

    Groups are taken in the order of the plan, `at_once` of them at a time, each with one reader
    after the other, so that few contexts are in memory.
    """

    def __init__(
        self,
        plan: Plan,
        entries: Sequence[Entry],
        file: ReadingsFile,
        scorer: scoring.Scorer,
        *,
        at_once: int,
        max_dollars: float | None = None,
    ) -> None:
        self._plan = plan
        self._entries = entries
        self._file = file
        self._scorer = scorer
        self._at_once = at_once
        self._max_dollars = max_dollars
        self._questions = asyncio.Semaphore(at_once)
        # Two sets about the same documents share a graph, which who is done with it throws away.
        self._corpora: dict[str, asyncio.Lock] = {}
        self._patience = CircuitBreaker()
        self._halt: GraphReaderError | None = None
        self.spent = Usage()

    async def run(self) -> None:
        """Ask everything that is missing.

        A reading that fails becomes a line, and the others go on. Raises what every further one
        would meet as well, and GraphReaderError where a service stays away or `max_dollars` are
        spent; what is kept stays.
        """
        await bounded_gather(self._plan.groups, self._ask_group, self._at_once)

    async def _ask_group(self, group: Group) -> None:
        left = [(entry, entry.missing(group, self._file)) for entry in self._entries]
        left = [(entry, records) for entry, records in left if records]
        if self._scorer.rates:
            for entry in self._entries:
                unrated = entry.unrated(group, self._file)
                await bounded_gather(unrated, self._rate, self._at_once)
        if left:
            made = await asyncio.to_thread(MadeGroup.of, group)
            made_of = {record.id: record for record in made.records}
            async with self._corpora.setdefault(made.corpus, asyncio.Lock()):
                for entry, records in left:
                    for sitting in _sittings(entry, [made_of[record.id] for record in records]):
                        await self._sit(entry, made, sitting)
                for entry, _ in left:
                    await entry.entrant.forget(made.documents)

    async def _rate(self, read: tuple[Record, Line]) -> None:
        """Have a reading judged that is there."""
        record, line = read
        async with self._questions:
            self._go_on()
            rated, spent = await self._scorer.rated_again(record, line)
        self._keep(rated, spent)

    async def _sit(self, entry: Entry, made: MadeGroup, records: Sequence[Record]) -> None:
        """Open a reader on the documents, and ask it these questions."""
        self._go_on()
        async with AsyncExitStack() as stack:
            opening = entry.entrant.opened(records[0], made.documents)
            try:
                opened = await stack.enter_async_context(opening)
            except GraphReaderError as error:
                self._look_at(error)
                for record in records:
                    found = _failed(record, error, 0.0)
                    self._file.append(line_of(entry, made, record, None, found))
                self._spend(error.spent if isinstance(error, DecisionError) else Usage())
                return
            self._spend(opened.building)

            async def ask(record: Record) -> None:
                await self._ask(entry, made, record, opened)

            await bounded_gather(records, ask, self._at_once)

    async def _ask(self, entry: Entry, made: MadeGroup, record: Record, opened: Opened) -> None:
        async with self._questions:
            self._go_on()
            began = time.monotonic()
            try:
                found = await self._figures(made, record, opened)
            except GraphReaderError as error:
                self._look_at(error)
                found = _failed(record, error, time.monotonic() - began)
            else:
                self._patience.answered()
        spent = Usage(**found["usage"]) + Usage(**found["rating_usage"])
        self._keep(line_of(entry, made, record, opened, found), spent)

    def _keep(self, line: Line, spent: Usage) -> None:
        """A reading is kept before anything ends the evaluation: it is not asked for again."""
        self._file.append(line)
        self._halt = self._scorer.ended or self._halt
        self._spend(spent)
        self._go_on()

    async def _figures(self, made: MadeGroup, record: Record, opened: Opened) -> dict[str, Any]:
        reading = await opened.reader.aask(record.question, options=record.options)
        if reading.paths and all(path.stopped == "error" for path in reading.paths):
            # Its every path failed: that is a failure, whatever it says.
            error = DecisionError(reading.paths[0].error or reading.answer)
            error.spent = reading.usage
            raise error
        found = await self._scorer.scored(record, reading, made.places)
        if reading.compression is not None:
            rates = {"final_query": reading.compression}
            found["compression"] = {**(opened.compression or {}), **rates}
        return found

    def _go_on(self) -> None:
        """Begin nothing more once something was met that all others would meet."""
        if self._halt:
            raise self._halt

    def _spend(self, usage: Usage) -> None:
        self.spent += usage
        if self._max_dollars is not None and self.spent.dollars >= self._max_dollars:
            self._halt = GraphReaderError(
                f"${self.spent.dollars:,.2f} are spent, as much as --max-cost allows: for the "
                "rest, give the command again with more."
            )
            self._go_on()

    def _look_at(self, error: GraphReaderError) -> None:
        """Whether a failure is that of one reading, or ends all of them."""
        self._halt = self._patience.after(error) or self._halt
        self._go_on()


def _sittings(entry: Entry, records: Sequence[Record]) -> list[Sequence[Record]]:
    """Questions asked of one opened reader: all, unless it is opened with what one record knows."""
    if entry.is_given_evidence:
        return [[record] for record in records]
    return [records]


def _failed(record: Record, error: GraphReaderError, seconds: float) -> dict[str, Any]:
    spent = error.spent if isinstance(error, DecisionError) else Usage()
    return scoring.failed(record, str(error), replace(spent, seconds=round(seconds, 3)))


@dataclass(frozen=True, slots=True)
class Figures:
    """What a row needs of one reading; None: not measured of it."""

    em: float | None
    f1: float | None
    fcr: float | None
    tokens: int
    calls: int
    seconds: float
    failed: bool

    @classmethod
    def of(cls, line: Line) -> "Figures":
        """Those of a line."""
        return cls(
            em=line["em"],
            f1=line["f1"],
            fcr=fcr(line["documents_read"], line["gold_documents"]),
            tokens=line["tokens_read"],
            calls=line["usage"]["calls"],
            seconds=line["seconds"],
            failed=line.get("error") is not None,
        )


@dataclass(frozen=True, slots=True)
class Place:
    """What a row is about."""

    dataset: str
    length: str
    model: str
    reader: str


@dataclass(slots=True)
class Row:
    """One row: how many readings there will be, and those that are there."""

    place: Place
    total: int
    readings: dict[Key, Figures] = field(default_factory=dict)

    @property
    def done(self) -> int:
        """How many are there, the failed ones among them."""
        return len(self.readings)

    @property
    def failed(self) -> int:
        """How many failed."""
        return sum(one.failed for one in self.readings.values())

    def mean(self, name: str) -> float | None:
        """The mean of a figure; scores count what failed as 0, amounts leave it out."""
        counts_failed = name in ("em", "f1", "fcr")
        found = (
            getattr(one, name) for one in self.readings.values() if counts_failed or not one.failed
        )
        known = [value for value in found if value is not None]
        return sum(known) / len(known) if known else None

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        place = self.place
        named = {"dataset": place.dataset, "length": place.length, "reader": place.reader}
        counted = {"total": self.total, "done": self.done, "failed": self.failed}
        names = ("em", "f1", "fcr", "tokens", "calls", "seconds")
        means = {name: _rounded(self.mean(name)) for name in names}
        return {**named, "model": place.model, **counted, **means}


class Tally:
    """Counts readings as they come. Those of an earlier run count where they are asked for now."""

    def __init__(self) -> None:
        self._rows: dict[Place, Row] = {}
        self._early: dict[Key, Figures] = {}

    def expect(self, keys: Iterable[Key]) -> None:
        """These will come, or came before."""
        for key in keys:
            place = Place(key.dataset, key.length, key.model, key.reader)
            row = self._rows.setdefault(place, Row(place, 0))
            row.total += 1
            if key in self._early:
                row.readings[key] = self._early.pop(key)

    def take(self, line: Line) -> None:
        """Count a line; of several about the same the last one counts."""
        key = Key.of(line)
        row = self._rows.get(Place(key.dataset, key.length, key.model, key.reader))
        if row is None:
            self._early[key] = Figures.of(line)
        else:
            row.readings[key] = Figures.of(line)

    @property
    def rows(self) -> list[Row]:
        """All rows, in the order in which they are expected."""
        return list(self._rows.values())

    @property
    def total(self) -> int:
        """How many readings there will be."""
        return sum(row.total for row in self.rows)

    @property
    def done(self) -> int:
        """How many are there, the failed ones among them."""
        return sum(row.done for row in self.rows)

    @property
    def failed(self) -> int:
        """How many failed."""
        return sum(row.failed for row in self.rows)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
