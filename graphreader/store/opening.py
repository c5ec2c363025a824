"""Opening the Neo4j that is configured, or else the embedded one."""

import asyncio
import threading

from graphreader.errors import ServerError
from graphreader.settings import Settings
from graphreader.store.address import Address
from graphreader.store.connection import Connection
from graphreader.store.embedded.progress import Phase, Progress, silent
from graphreader.store.embedded.server import ensure_running


async def open_connection(settings: Settings, progress: Progress | None = None) -> Connection:
    """Connect to NEO4J_URI, or start the embedded server where none is configured.

    Cancelled while the server is being started, it waits until that start is undone. Raises
    StoreError, ServerError.
    """
    given_up = threading.Event()

    def tell(phase: Phase, done: int, total: int | None) -> None:
        if given_up.is_set():
            raise ServerError("The start of Neo4j was given up: start it again.")
        (progress or silent)(phase, done, total)

    # A thread cannot be cancelled: it learns from its progress that nobody waits for it.
    starting = asyncio.create_task(asyncio.to_thread(address_of, settings, tell))
    try:
        address = await asyncio.shield(starting)
    except asyncio.CancelledError:
        given_up.set()
        await asyncio.wait([starting])
        raise
    return await Connection.open(address)


def address_of(settings: Settings, progress: Progress | None = None) -> Address:
    """Where the Neo4j of these settings is; the embedded one is started if it does not run.

    Raises ServerError.
    """
    if not settings.neo4j_uri:
        server = ensure_running(settings, progress)
        password = server.password.get_secret_value()
        return Address(server.uri, server.username, password, embedded=True)
    given = settings.neo4j_password
    return Address(
        settings.neo4j_uri,
        settings.neo4j_username,
        given.get_secret_value() if given else "",
        settings.neo4j_database,
    )
