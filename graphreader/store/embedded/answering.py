"""Whether a server answers: quickly by a Bolt handshake, properly by a query and over HTTP."""

import socket

import httpx
from neo4j import GraphDatabase
from neo4j.exceptions import AuthError, DriverError, Neo4jError

from graphreader.errors import ServerError
from graphreader.store.embedded.home import LOOPBACK, Access

# The magic number of Bolt, then the versions that we would speak: 5.0 to 5.4, or nothing else.
_HANDSHAKE = bytes.fromhex("6060b017") + bytes.fromhex("00040405") + bytes(12)
_SECONDS = 2.0


def shakes_hands(port: int) -> bool:
    """Whether Bolt is spoken at a loopback port. Takes about a millisecond where it is."""
    try:
        with socket.create_connection((LOOPBACK, port), timeout=_SECONDS) as connection:
            connection.sendall(_HANDSHAKE)
            return len(connection.recv(4)) == 4
    except OSError:
        return False


def version_of(access: Access) -> str | None:
    """The server's own word on its version, once it serves queries and the Browser; else None.

    Raises ServerError when the password is not the server's.
    """
    if not shakes_hands(access.bolt) or not _answers_queries(access):
        return None
    try:
        # A proxy of the environment has no business between us and our own machine.
        with httpx.Client(trust_env=False, timeout=_SECONDS) as client:
            return str(client.get(f"http://{LOOPBACK}:{access.http}/").json()["neo4j_version"])
    except (httpx.HTTPError, ValueError, KeyError):
        return None


def _answers_queries(access: Access) -> bool:
    driver = GraphDatabase.driver(
        access.uri,
        auth=(access.username, access.password),
        connection_timeout=_SECONDS,
        max_transaction_retry_time=_SECONDS,
    )
    with driver:
        try:
            driver.execute_query("RETURN 1", database_="neo4j")
        except AuthError:
            raise ServerError(
                "The embedded Neo4j refuses the password in access.json of its folder: put the"
                " file that belongs to the data back, or move the folder away and read the texts"
                " again."
            ) from None
        except (DriverError, Neo4jError):
            return False
    return True
