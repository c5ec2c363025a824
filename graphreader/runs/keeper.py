"""One run while it is under way: entered, its decisions written down, its end noted.

Where the file of runs is of no use the run goes on, and a note says that it is not kept.
"""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace

from langgraph.checkpoint.base import BaseCheckpointSaver

from graphreader.deciding.decider import Decider
from graphreader.errors import RunsError
from graphreader.reading import Reading
from graphreader.runs.journal import Journal, Journaled
from graphreader.runs.register import Register
from graphreader.usage import Usage


class Keeper:
    """Keeps one run that the register has entered, or taken, for this process."""

    def __init__(self, register: Register, run: str, journal: Journal) -> None:
        self.run = run
        self._register = register
        self._journal = journal

    @classmethod
    async def of(cls, register: Register, run: str) -> "Keeper":
        """The keeper of a run that this process holds. Raises RunsError."""
        return cls(register, run, await Journal.of(register.file, run))

    @property
    def spent(self) -> Usage:
        """What the run's earlier part has cost, also what was of no use."""
        return self._journal.spent

    def journaled(self, decider: Decider) -> Decider:
        """The decider with all its decisions written down, the earlier ones not asked again."""
        return Journaled(decider, self._journal)

    async def finish(self, reading: Reading) -> Reading:
        """The run is over. Returns the reading, with a note where something was not kept."""
        with suppress(RunsError):
            await self._register.finish(self.run, reading)
        trouble = self._register.file.trouble
        return replace(reading, notes=(*reading.notes, trouble)) if trouble else reading

    async def fail(self, error: str) -> None:
        """The run ended with a failure."""
        with suppress(RunsError):
            await self._register.fail(self.run, error)

    async def interrupt(self) -> None:
        """Nobody goes on with the run for now."""
        with suppress(RunsError):
            await self._register.interrupt(self.run)


async def forget(register: Register, saver: BaseCheckpointSaver[str], ids: Collection[str]) -> None:
    """Take runs out with all that is kept of them. Raises RunsError."""
    for id in ids:
        await saver.adelete_thread(id)
    await register.forget(ids)
