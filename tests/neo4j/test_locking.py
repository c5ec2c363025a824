"""Whoever writes into a corpus waits until nobody else does."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from graphreader.store.connection import Connection, Run
from graphreader.store.key_elements import KeyElementMerges, SimilarityPairs
from graphreader.store.writer import GraphWriter

Write = Callable[[Connection, str], Awaitable[object]]

WRITES: dict[str, Write] = {
    "merge": lambda c, corpus: KeyElementMerges(c, corpus).merge([("b", "a", "semantic")]),
    "move facts": lambda c, corpus: KeyElementMerges(c, corpus).move_facts([("b", "a")]),
    "undo": lambda c, corpus: KeyElementMerges(c, corpus).undo([("b", "a")]),
    "pairs": lambda c, corpus: SimilarityPairs(c, corpus).store([], [("a", "b", 0.97)]),
    "embed": lambda c, corpus: GraphWriter(c, corpus).write_embeddings([("a", [0.0])]),
}


# While one writes, each of the others waits; then it goes on. Writers of other corpora do not wait.
@pytest.mark.parametrize("name", WRITES)
async def test_writers_wait(connection: Connection, writer: GraphWriter, name: str) -> None:
    locked, done = asyncio.Event(), asyncio.Event()

    async def hold(run: Run) -> None:
        locked.set()
        await done.wait()

    holding = asyncio.create_task(connection.transact(hold, lock=writer.corpus))
    await locked.wait()
    other = asyncio.create_task(_run(WRITES[name], connection, f"{writer.corpus}-other"))
    waiting = asyncio.create_task(_run(WRITES[name], connection, writer.corpus))
    await other
    finished, _ = await asyncio.wait([waiting], timeout=0.3)
    done.set()
    await asyncio.gather(holding, waiting)

    assert not finished


async def _run(write: Write, connection: Connection, corpus: str) -> None:
    await write(connection, corpus)
