"""Every question put to every reader: side by side, each reading kept as soon as it is there."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

from graphreader.errors import (
    DecisionError,
    EmbeddingMismatchError,
    GraphReaderError,
    ModelClosedError,
    ModelUnavailableError,
    Neo4jRefusedError,
    Neo4jUnavailableError,
    SchemaError,
    SettingsError,
)
from graphreader.evaluation import scoring
from graphreader.evaluation.datasets import Record
from graphreader.evaluation.entrant import Opened
from graphreader.evaluation.entry import Entry
from graphreader.evaluation.made_group import MadeGroup
from graphreader.evaluation.plan import Group, Plan
from graphreader.evaluation.reading_line import line_of
from graphreader.evaluation.readings_file import ReadingsFile
from graphreader.evaluation.record_documents import digest_of
from graphreader.side_by_side import side_by_side
from graphreader.usage import Usage

_FOR_ALL = (
    EmbeddingMismatchError,
    SettingsError,
    SchemaError,
    Neo4jRefusedError,
    ModelClosedError,
)
"""What one reading meets, and so every other one."""
_GONE = (Neo4jUnavailableError, ModelUnavailableError)
"""What may pass, but where it does not, each reading would wait for it in vain."""
_PATIENCE = 3  # readings that find a service gone, with nothing read between them


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
        self._gone = 0
        self._halt: GraphReaderError | None = None
        self.spent = Usage()

    async def run(self) -> None:
        """Ask everything that is missing.

        A reading that fails becomes a line, and the others go on. Raises what every further one
        would meet as well, and GraphReaderError where a service stays away or `max_dollars` are
        spent; what is kept stays.
        """
        await side_by_side(self._plan.groups, self._ask_group, self._at_once)

    def missing(self, entry: Entry, group: Group) -> list[int]:
        """Which records of a group this reader has not read yet, by their place."""
        places = {record.id: place for place, record in enumerate(group.records)}
        return [
            places[record.id]
            for record in entry.asked(group)
            if not self._file.is_done(entry.key(group, record), digest_of(record))
        ]

    async def _ask_group(self, group: Group) -> None:
        left = [(entry, self.missing(entry, group)) for entry in self._entries]
        left = [(entry, places) for entry, places in left if places]
        if left:
            made = await asyncio.to_thread(MadeGroup.of, group)
            for entry, places in left:
                for records in _sittings(entry, [made.records[place] for place in places]):
                    await self._sit(entry, made, records)
            for entry, _ in left:
                await entry.entrant.forget(made.documents)

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
                    self._file.append(line_of(entry, made, record, None, _failed(error, 0.0)))
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
                found = _failed(error, time.monotonic() - began)
            else:
                self._gone = 0
        self._file.append(line_of(entry, made, record, opened, found))
        self._spend(Usage(**found["usage"]) + Usage(**found["rating_usage"]))

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
        if isinstance(error, _FOR_ALL):
            self._halt = error
        self._gone = self._gone + 1 if isinstance(error, _GONE) else 0
        if self._gone >= _PATIENCE:
            self._halt = GraphReaderError(f"{error} No more questions are asked meanwhile.")
        self._go_on()


def _sittings(entry: Entry, records: Sequence[Record]) -> list[Sequence[Record]]:
    """Questions asked of one opened reader: all, unless it is opened with what one record knows."""
    if entry.is_given_evidence:
        return [[record] for record in records]
    return [records]


def _failed(error: GraphReaderError, seconds: float) -> dict[str, Any]:
    spent = error.spent if isinstance(error, DecisionError) else Usage()
    return scoring.failed(str(error), replace(spent, seconds=round(seconds, 3)))
