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
    if settings.neo4j_uri:
        password = settings.neo4j_password
        address = Address(
            settings.neo4j_uri,
            settings.neo4j_username,
            password.get_secret_value() if password else "",
            settings.neo4j_database,
        )
    else:
        server = await asyncio.to_thread(ensure_running, settings, progress)
        address = Address(server.uri, server.username, server.password.get_secret_value())
    return await Connection.open(address)
