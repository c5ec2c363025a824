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
        self._failures = register.file.failures

    @classmethod
    async def of(cls, register: Register, run: str) -> "Keeper":
        """The keeper of a run that this process holds. Raises RunsError."""
        try:
            return cls(register, run, await Journal.of(register.file, run))
        except BaseException:
            with suppress(RunsError):
                await register.interrupt(run)
            raise

    @property
    def spent(self) -> Usage:
        """What the run's earlier part has cost, also what was of no use."""
        return self._journal.spent

    def journaled(self, decider: Decider) -> Decider:
        """The decider with all its decisions written down, the earlier ones not asked again."""
        return Journaled(decider, self._journal)

    async def finish(self, reading: Reading, failure: str = "") -> Reading:
        """The run is over, or has a reading and yet a `failure` to go on from.

        Returns the reading, with a note where something was not kept.
        """
        with suppress(RunsError):
            if failure:
                await self._register.fail(self.run, failure, reading)
            else:
                await self._register.finish(self.run, reading)
        file = self._register.file
        if file.failures == self._failures or not file.trouble:
            return reading
        return replace(reading, notes=(*reading.notes, file.trouble))

    async def fail(self, error: str) -> None:
        """The run ended with a failure."""
        with suppress(RunsError):
            await self._register.fail(self.run, error)

    async def interrupt(self) -> None:
        """Nobody goes on with the run for now."""
        with suppress(RunsError):
            await self._register.interrupt(self.run)


async def forget(
    register: Register, saver: BaseCheckpointSaver[str] | None, ids: Collection[str]
) -> None:
    """Take runs out with all that is kept of them. Raises RunsError."""
    for id in ids if saver else ():
        assert saver
        await saver.adelete_thread(id)
    await register.forget(ids)
