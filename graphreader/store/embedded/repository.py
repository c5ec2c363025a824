"""A Maven repository as we use it: where it is, how to ask it, what to say if it is no help."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import certifi
import httpx

from graphreader.errors import DownloadError

try:
    from jgo.constants import MAVEN_CENTRAL_URL
except ImportError:  # where it cannot be installed, a mirror can still be named
    MAVEN_CENTRAL_URL = ""

CONNECTIONS = 16
# Together with the patience of a download this stays under 30 seconds.
_TIMEOUT = httpx.Timeout(8.0, pool=None)


class Repository:
    """A place to fetch jars from. `host` may be shown to people: it holds no password."""

    def __init__(self, address: str, client: httpx.Client) -> None:
        self.client = client
        self.host = _host(address)
        self._address = address.rstrip("/")

    def url(self, path: str) -> str:
        """Where the file at `path` of the repository is fetched from."""
        return f"{self._address}/{path}"

    def unhelpful(self, reason: str) -> DownloadError:
        """The error for a repository that does not answer or lacks something."""
        return _error(self.host, reason)


@contextmanager
def opened(mirror: str | None) -> Iterator[Repository]:
    """The repository at `mirror`, else Maven Central, with connections that close at the end.

    Nothing is asked yet. Raises DownloadError when there is no address, or when the address or
    the proxy that the environment names makes no sense.
    """
    address = mirror or MAVEN_CENTRAL_URL
    if not address:
        raise _error("Maven Central", "the package jgo, which knows its address, is missing")
    if not address.startswith(("https://", "http://")) or not _host(address):
        raise _error(_host(address) or "that address", "it must look like https://HOST/PATH")
    try:
        client = httpx.Client(
            timeout=_TIMEOUT,
            verify=_trusted(),
            follow_redirects=True,
            # Compressed on the way, a file could neither be resumed nor counted.
            headers={"Accept-Encoding": "identity"},
            limits=httpx.Limits(max_connections=CONNECTIONS),
        )
    except (httpx.InvalidURL, ValueError, ImportError):
        # httpx would repeat the proxy's address, and with it the password in it.
        raise _error(_host(address), "the proxy in the environment cannot be used") from None
    with client:
        yield Repository(address, client)


def _trusted() -> ssl.SSLContext:
    """Whom the system trusts (a company's own proxy, say), and whom httpx trusts by itself."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


def _host(address: str) -> str:
    try:
        return httpx.URL(address).host
    except httpx.InvalidURL:
        return ""


def _error(host: str, reason: str) -> DownloadError:
    return DownloadError(
        f"The jars of Neo4j cannot be fetched from {host} ({reason}): check the network and its"
        " proxy, set GRAPHREADER_MAVEN_MIRROR to a Maven repository within reach, or set NEO4J_URI"
        " to a Neo4j of your own."
    )
