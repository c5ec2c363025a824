"""Opening the Neo4j that is configured, or else the embedded one."""

import asyncio

from graphreader.settings import Settings
from graphreader.store.connection import Address, Connection
from graphreader.store.embedded.progress import Progress
from graphreader.store.embedded.server import ensure_running


async def open_connection(settings: Settings, progress: Progress | None = None) -> Connection:
    """Connect to NEO4J_URI, or start the embedded server where none is configured.

    Raises StoreError, ServerError.
    """
    return await Connection.open(await asyncio.to_thread(address_of, settings, progress))


def address_of(settings: Settings, progress: Progress | None = None) -> Address:
    """Where the Neo4j of these settings is; the embedded one is started if it does not run.

    Raises ServerError.
    """
    if not settings.neo4j_uri:
        server = ensure_running(settings, progress)
        return Address(server.uri, server.username, server.password.get_secret_value())
    password = settings.neo4j_password
    return Address(
        settings.neo4j_uri,
        settings.neo4j_username,
        password.get_secret_value() if password else "",
        settings.neo4j_database,
    )
