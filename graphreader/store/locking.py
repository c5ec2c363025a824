"""Writers of one corpus, also of other processes, wait for each other: none can wait in a ring."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from graphreader.store.connection import Connection, Run

T = TypeVar("T")


async def alone(connection: Connection, corpus: str, work: Callable[[Run], Awaitable[T]]) -> T:
    """Do some work in one transaction while no other writer of the corpus does any."""

    async def locked(run: Run) -> T:
        await run("write/lock_corpus", corpus=corpus)
        return await work(run)

    return await connection.transact(locked)
