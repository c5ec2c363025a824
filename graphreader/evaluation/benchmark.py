"""Every question put to every reader: side by side, each reading kept as soon as it is there."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

from graphreader.errors import DecisionError, GraphReaderError
from graphreader.evaluation import scoring
from graphreader.evaluation.datasets import Record
from graphreader.evaluation.entrant import Opened
from graphreader.evaluation.entry import Entry
from graphreader.evaluation.lines_file import Line
from graphreader.evaluation.made_group import MadeGroup
from graphreader.evaluation.plan import Group, Plan
from graphreader.evaluation.reading_line import line_of
from graphreader.evaluation.readings_file import ReadingsFile
from graphreader.patience import Patience
from graphreader.side_by_side import side_by_side
from graphreader.usage import Usage


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
        self._patience = Patience()
        self._halt: GraphReaderError | None = None
        self.spent = Usage()

    async def run(self) -> None:
        """Ask everything that is missing.

        A reading that fails becomes a line, and the others go on. Raises what every further one
        would meet as well, and GraphReaderError where a service stays away or `max_dollars` are
        spent; what is kept stays.
        """
        await side_by_side(self._plan.groups, self._ask_group, self._at_once)

    async def _ask_group(self, group: Group) -> None:
        left = [(entry, entry.missing(group, self._file)) for entry in self._entries]
        left = [(entry, records) for entry, records in left if records]
        if self._scorer.rates:
            for entry in self._entries:
                unrated = entry.unrated(group, self._file)
                await side_by_side(unrated, self._rate, self._at_once)
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

            await side_by_side(records, ask, self._at_once)

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
