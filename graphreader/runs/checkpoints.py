"""LangGraph's checkpoints in the file of kept runs."""

import sqlite3
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.serde.types import ERROR
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from graphreader.errors import RunsError
from graphreader.runs.run_file import RunFile

T = TypeVar("T")

_PATHS: Final = (
    "DELETE FROM checkpoints WHERE thread_id = ? AND checkpoint_ns <> ''",
    "DELETE FROM writes WHERE thread_id = ? AND checkpoint_ns <> ''",
)


class Checkpoints(AsyncSqliteSaver):
    """LangGraph's own saver, in a file that may fail without failing the run.

    What cannot be kept is left out, and the file's `trouble` tells it. Each write is done to its
    end, also where the run is broken off meanwhile.
    """

    @classmethod
    async def of(cls, file: RunFile) -> "Checkpoints":
        """The checkpoints of the file. Raises RunsError."""
        saver = cls(await file.connection())
        saver.lock = file.lock
        saver.file = file
        await saver._tried(saver.setup())
        return saver

    file: RunFile

    @property
    def usable(self) -> bool:
        """Whether anything can be kept: nothing is once the file has failed."""
        return self.file.holds(self.conn)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint; none where the file is of no use."""
        return await self._tried(super().aget_tuple(config))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """The checkpoints, newest first. Raises RunsError: who asks for them needs them."""
        listed = super().alist(config, filter=filter, before=before, limit=limit)
        try:
            found = [one async for one in listed]
        except (sqlite3.Error, ValueError) as error:
            raise await self.file.failed("read", error, self.conn) from error
        for one in found:
            yield one

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Keep a checkpoint."""
        kept = await self._tried(super().aput(config, checkpoint, metadata, new_versions))
        place = {**config["configurable"], "checkpoint_id": checkpoint["id"]}
        return kept or {"configurable": place}

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Keep what a step has written.

        Of one that was broken off only its error: LangGraph hands over what it had written so far,
        and would take that for all of it when the run goes on.
        """
        errors = [write for write in writes if write[0] == ERROR]
        writes = errors or writes
        await self._tried(super().aput_writes(config, writes, task_id, task_path))

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete what is kept of a run."""
        await self._tried(super().adelete_thread(thread_id))

    async def settle(self, run: str) -> None:
        """Delete the paths' own steps of a run that is over: only the run's can be begun again."""
        with suppress(RunsError):
            for statement in _PATHS:
                await self.file.write(statement, (run,))

    async def _tried(self, work: Coroutine[Any, Any, T]) -> T | None:
        if not self.usable:
            work.close()
            return None
        return await self.file.to_its_end(self._done(work))

    async def _done(self, work: Coroutine[Any, Any, T]) -> T | None:
        try:
            return await work
        except (sqlite3.Error, ValueError) as error:
            # aiosqlite says ValueError where another step's failure has closed the connection.
            if isinstance(error, ValueError) and self.usable:
                raise
            await self.file.failed("written", error, self.conn)
            return None
