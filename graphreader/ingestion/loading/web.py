"""Web pages by their addresses: one page, or any file of a known format, of a public machine.

An address, its name in DNS, its redirects and its body may be made by an attacker. So each name is
resolved once, all its addresses must be public, and the connection goes to the address that was
checked, also through a proxy; certificates are checked for the name. Redirects are checked as
the first address is, and robots.txt is respected. Only users of this machine name addresses: the
command line and Python, never a server.
"""

import asyncio
import re
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.message import Message
from functools import partial
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import PurePosixPath
from urllib.parse import unquote
from urllib.request import getproxies, proxy_bypass

import certifi
import httpx
from protego import Protego

from graphreader.documents import Document
from graphreader.errors import DocumentError, UsageError
from graphreader.ingestion.loading.content import (
    SUFFIXES,
    Content,
    clean,
    document_of,
    is_blank,
    read_as,
)
from graphreader.ingestion.loading.encodings import known_encoding
from graphreader.ingestion.loading.formats import (
    CODE,
    MAX_BYTES,
    READERS,
    is_encoded,
    parse_data,
)
from graphreader.ingestion.loading.parser_process import FileParser, parse
from graphreader.sync import run

AGENT = "GraphReader"
"""The name by which a robots.txt means this program."""

MAX_REDIRECTS = 5
MAX_ROBOTS = 512 * 1024  # bytes of a robots.txt that are read
MAX_TRIED = 4  # addresses of one name
RETRIEVED = "retrieved"
"""The key of the time of retrieval in the metadata; it does not make a page a changed one."""

FEW_LETTERS = 200
"""Characters below which the text of a page with scripts is probably made by them."""

_NAMELESS = ("", "application/octet-stream", "binary/octet-stream", "application/zip", "text/plain")
_PACKED = ("", "identity", "gzip", "x-gzip", "deflate")

Address = IPv4Address | IPv6Address
Resolver = Callable[[str, int], Sequence[str]]
"""A function that returns the numeric addresses of a host and port. Blocks; raises OSError."""


def is_address(name: str) -> bool:
    """Whether a source is named by an address ("https://..."), not by a path."""
    return bool(re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", name))


def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host by the system's resolver, each once. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(one[4][0]) for one in found))


@dataclass(frozen=True, slots=True)
class WebLimits:
    """Limits of a retrieval: seconds to connect, to wait and in all; bytes of the unpacked body."""

    connect: float = 10.0
    read: float = 20.0
    whole: float = 60.0
    size: int = MAX_BYTES


@dataclass(frozen=True, slots=True)
class WebPage:
    """A page as a server sent it: its final address, its type with parameters, its bytes.

    `time` is that of the retrieval, in ISO format.
    """

    address: str
    content_type: str
    data: bytes
    time: str


def load_page(
    address: str,
    corpus: str,
    *,
    encoding: str = "",
    ocr: str = "",
    allow_private: bool = False,
    parse: FileParser = parse,
    resolve: Resolver = resolve,
    limits: WebLimits = WebLimits(),
) -> Document:
    """Retrieve the page at an address as one document of `corpus`; its source is the final address.

    `encoding` is that of a page that declares none, `ocr` as of `ocr_of`. With `allow_private` any
    machine is asked. Blocks, also where another event loop runs. Raises DocumentError with the
    remedy.
    """
    page = run(retrieve(address, allow_private, resolve, limits))
    return document_of_page(page, corpus, encoding, ocr, parse)


def document_of_page(
    page: WebPage, corpus: str, encoding: str = "", ocr: str = "", parse: FileParser = parse
) -> Document:
    """Parse a page into a document. Blocks. Raises DocumentError."""
    shown = clean(page.address)
    suffix, charset = _format_of(page, shown)
    if charset and is_encoded(suffix):  # the server's word goes before the page's
        content = read_as(charset, partial(parse, suffix), page.data, shown)
    else:
        content = parse_data(suffix, page.data, shown, encoding=encoding, ocr=ocr, parse=parse)
    content = _with_remark_about_scripts(content, page.data, shown)
    url = httpx.URL(page.address)
    content = replace(
        content, metadata={**content.metadata, "address": shown, RETRIEVED: page.time}
    )
    title = PurePosixPath(unquote(url.path)).stem or url.host
    return document_of(content, title, corpus, page.address)


def _format_of(page: WebPage, shown: str) -> tuple[str, str]:
    """Return (suffix of the format, name of the encoding or "") by the type that the server names.

    The path decides where the type says nothing or only that it is a text.
    """
    message = Message()
    message["Content-Type"] = page.content_type or "application/octet-stream"
    kind = message.get_content_type() if page.content_type else ""
    suffix = PurePosixPath(httpx.URL(page.address).path).suffix.lower()
    if kind not in _NAMELESS:
        suffix = SUFFIXES.get(kind, suffix)
    elif suffix not in READERS or (suffix in CODE and kind != "text/plain"):
        suffix = {"": ".html", "text/plain": ".txt"}.get(kind, "")
    if suffix not in READERS:
        raise DocumentError(
            f"{shown} is {kind}, which is not read: save its text in a file of a known format."
        )
    try:
        return suffix, known_encoding(str(message.get_param("charset") or ""))
    except UsageError:
        return suffix, ""


def _with_remark_about_scripts(content: Content, data: bytes, shown: str) -> Content:
    """Add a note to a page whose text scripts seem to make. Raises DocumentError if it is empty."""
    if len(content.text.strip()) >= FEW_LETTERS or b"<script" not in data.lower():
        return content
    remedy = "open it in a browser, save it there, and read the file in."
    if is_blank(content.text):
        raise DocumentError(f"{shown} has no text without its scripts, which do not run: {remedy}")
    note = f"It has little text without its scripts, which do not run: if more is missing, {remedy}"
    return replace(content, notes=(*content.notes, note))


# Retrieval


async def retrieve(
    address: str,
    allow_private: bool = False,
    resolve: Resolver = resolve,
    limits: WebLimits = WebLimits(),
) -> WebPage:
    """Retrieve a page through at most MAX_REDIRECTS redirects. Raises DocumentError."""
    session = _Session(allow_private, resolve, limits)
    try:
        async with asyncio.timeout(limits.whole):
            return await session.page(address)
    except TimeoutError:
        shown = clean(address)[:300]
        raise DocumentError(
            f"{shown} takes more than {limits.whole:g} s: try again later, or save it as a file."
        ) from None


@dataclass(frozen=True, slots=True)
class _Session:
    """The requests for one page: robots.txt of each site, redirects, the page."""

    allow_private: bool
    resolve: Resolver
    limits: WebLimits
    robots: dict[str, Protego] = field(default_factory=dict)

    async def page(self, address: str) -> WebPage:
        """Return the page; each redirect is checked as the first address."""
        url = _checked_url(address)
        for _ in range(MAX_REDIRECTS + 1):
            await self._check_robots(url)
            async with self._response(url) as response:
                if not response.has_redirect_location:
                    _check_status(response, url)
                    data = await self._body(response, url, self.limits.size)
                    time = datetime.now(UTC).isoformat(timespec="seconds")
                    return WebPage(str(url), response.headers.get("Content-Type", ""), data, time)
                url = _target_of(response, url)
        raise DocumentError(
            f"{clean(address)} leads through more than {MAX_REDIRECTS} redirects: name the address "
            "that a browser shows in the end."
        )

    async def _check_robots(self, url: httpx.URL) -> None:
        """Raise DocumentError if the robots.txt of the site keeps programs off the page."""
        site = url.copy_with(raw_path=b"/robots.txt")
        rules = self.robots.get(str(site)) or await self._rules(site)
        self.robots[str(site)] = rules
        if not rules.can_fetch(str(url), AGENT):
            raise DocumentError(
                f"{clean(str(url))} is closed to programs by {site.host}/robots.txt: save the page "
                "from a browser, if its owner allows that, and read the file in."
            )

    async def _rules(self, site: httpx.URL) -> Protego:
        """The rules of a robots.txt: everything is allowed if there is none (RFC 9309, 2.3.1)."""
        url = site
        for _ in range(MAX_REDIRECTS + 1):
            async with self._response(url) as response:
                if response.has_redirect_location:
                    url = _target_of(response, url)
                    continue
                if response.status_code >= 500:
                    raise DocumentError(
                        f"{clean(str(site))} cannot be read now (status {response.status_code}), "
                        "so nothing says whether programs may read the site: try again later."
                    )
                data = b""
                if response.is_success:
                    data = await self._body(response, url, MAX_ROBOTS, cut=True)
                return Protego.parse(data.decode("utf-8-sig", "replace"))
        return Protego.parse("")

    @asynccontextmanager
    async def _response(self, url: httpx.URL) -> AsyncIterator[httpx.Response]:
        """Send one request, without cookies and redirects. Raises DocumentError."""
        limits = self.limits
        headers = {
            "User-Agent": f"{AGENT} (one page for its user)",
            "Accept": "text/html,application/xhtml+xml,application/pdf,text/*;q=0.9,*/*;q=0.8",
            "Accept-Encoding": "gzip, deflate",
        }
        timeout = httpx.Timeout(limits.read, connect=limits.connect)
        transport = _CheckedTransport(self.allow_private, self.resolve)
        try:
            async with (
                httpx.AsyncClient(transport=transport, timeout=timeout, headers=headers) as client,
                client.stream("GET", url) as response,
            ):
                yield response
        except (httpx.HTTPError, httpx.InvalidURL, ImportError, ValueError) as error:
            raise DocumentError(_failure(error, url, limits)) from None

    async def _body(
        self, response: httpx.Response, url: httpx.URL, most: int, *, cut: bool = False
    ) -> bytes:
        """The unpacked body. Raises DocumentError beyond `most` bytes, unless it is `cut` there."""
        packed = response.headers.get("Content-Encoding", "").strip().lower()
        if packed not in _PACKED:  # several unpack to more than any memory holds
            raise DocumentError(
                f"{clean(str(url))} is sent packed as {clean(packed)[:50]}, which was not asked "
                "for: save the page from a browser, and read the file in."
            )
        data = bytearray()
        async for piece in response.aiter_bytes():
            data += piece
            if len(data) > most and cut:
                return bytes(data[:most])
            if len(data) > most:
                raise DocumentError(
                    f"{clean(str(url))} has more than the limit of {most / 2**20:,.0f} MiB: read a "
                    "smaller page."
                )
        return bytes(data)


def _checked_url(address: str) -> httpx.URL:
    """An address without its fragment. Raises DocumentError if it is none for a page."""
    shown = clean(address)[:300]
    try:
        url = httpx.URL(address)
    except (httpx.InvalidURL, ValueError):
        raise DocumentError(f"{shown} is no valid address: check it.") from None
    if url.scheme not in ("http", "https") or not url.host:
        raise DocumentError(
            f"{shown} is not read: only addresses with http:// or https:// and a host are."
        )
    if url.userinfo:
        raise DocumentError(
            f"The address of {clean(url.host)} has a name or password in it, which would be stored "
            "with the text: leave it out, and read pages with a log-in from a saved file."
        )
    return url.copy_with(fragment=None)


def _target_of(response: httpx.Response, url: httpx.URL) -> httpx.URL:
    location = response.headers["Location"]
    try:
        return _checked_url(str(url.join(location)))
    except (httpx.InvalidURL, ValueError):
        raise DocumentError(
            f"{clean(str(url))} leads to an address that is none: {clean(location)[:100]}"
        ) from None
    except DocumentError as error:
        raise DocumentError(f"{clean(str(url))} leads to another address: {error}") from None


def _check_status(response: httpx.Response, url: httpx.URL) -> None:
    if not response.is_success:
        status = response.status_code
        reason = {
            401: "it needs a log-in: save the page from a browser",
            403: "its server refuses programs: save the page from a browser",
            404: "there is no such page: check the address",
            410: "the page is gone for good",
            429: "its server has had too many requests: try again later",
        }.get(status, "try again later" if status >= 500 else "check the address")
        raise DocumentError(f"{clean(str(url))} cannot be read (status {status}): {reason}.")


def _failure(error: Exception, url: httpx.URL, limits: WebLimits) -> str:
    """One sentence about a failed request."""
    shown, host = clean(str(url)), clean(url.host)
    if isinstance(error, ImportError):
        return (
            f"{shown} lies behind a SOCKS proxy of the environment, which needs another package: "
            'pip install "httpx[socks]".'
        )
    if isinstance(error, httpx.ProxyError):
        return (
            f"{shown} cannot be reached through the proxy of the environment, which is asked for "
            "checked numeric addresses: with --allow-private it is asked for the name."
        )
    if isinstance(error, httpx.ConnectTimeout):
        return f"{host} does not accept a connection within {limits.connect:g} s: try again later."
    if isinstance(error, httpx.TimeoutException):
        return f"{shown} sends nothing for {limits.read:g} s: try again later."
    if isinstance(error, httpx.ConnectError) and "CERTIFICATE_VERIFY_FAILED" in str(error):
        return f"The certificate of {host} is not valid for it, or not trusted: nothing is read."
    if isinstance(error, httpx.ConnectError):
        return f"{host} cannot be reached or refuses the connection: check the address."
    return f"{host} sends no valid answer for {shown}: try again, or save the page in a file."


# Checked connections


class _CheckedTransport(httpx.AsyncBaseTransport):
    """A transport that connects only to addresses which it has resolved and checked itself.

    With `allow_private` any address will do, and a proxy of the environment resolves names.
    """

    def __init__(self, allow_private: bool, resolve: Resolver) -> None:
        self._allow_private = allow_private
        self._resolve = resolve
        self._open: list[httpx.AsyncHTTPTransport] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request to the first address of its host that answers."""
        url, proxy = request.url, _proxy_for(request.url)
        host = url.raw_host.decode("ascii")
        if proxy and self._allow_private:
            addresses = [host]
        elif proxy and url.scheme == "http":
            raise DocumentError(
                f"{clean(str(url))} would go through the proxy of the environment, which looks up "
                "its name unchecked: use https, or --allow-private if you trust the page."
            )
        else:
            addresses = await self._checked(host, url.port or {"http": 80}.get(url.scheme, 443))
        for address in addresses[:-1]:
            try:
                return await self._send(request, address, host, proxy)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                continue
        return await self._send(request, addresses[-1], host, proxy)

    async def aclose(self) -> None:
        """Close the connections."""
        for one in self._open:
            await one.aclose()

    async def _checked(self, host: str, port: int) -> list[str]:
        """The numeric addresses of a host, all of them public. Raises DocumentError."""
        name = clean(host)
        try:
            found = await asyncio.to_thread(self._resolve, host, port)
            addresses = [ip_address(one) for one in found]
        except (OSError, ValueError):  # of names that are too long, too
            addresses = []
        if not addresses:
            raise DocumentError(
                f"There is no host {name}, or the network cannot be reached: check the address."
            )
        if not self._allow_private and not all(map(is_public, addresses)):
            raise DocumentError(
                f"{name} is a machine of this or a private network, or a reserved address: it is "
                "read only with --allow-private (in Python allow_private=True)."
            )
        return [str(one) for one in addresses[:MAX_TRIED]]

    async def _send(
        self, request: httpx.Request, address: str, host: str, proxy: str
    ) -> httpx.Response:
        context = _TlsContext.of(host) if request.url.scheme == "https" else False
        transport = httpx.AsyncHTTPTransport(verify=context, proxy=proxy or None)
        self._open.append(transport)
        pinned = httpx.Request(
            request.method,
            request.url.copy_with(host=address),
            headers=request.headers,  # with the name of the host
            extensions=request.extensions,
        )
        return await transport.handle_async_request(pinned)


class _TlsContext(ssl.SSLContext):
    """A TLS context that checks certificates for the name of a host, whatever the address is."""

    host = ""

    @classmethod
    def of(cls, host: str) -> "_TlsContext":
        """Make the context for a host, with the certificates of the system and of certifi."""
        context = cls(ssl.PROTOCOL_TLS_CLIENT)
        context.load_default_certs()
        context.load_verify_locations(certifi.where())
        context.host = host.rstrip(".")
        return context

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        """Begin TLS with the name of the host in place of its address."""
        return super().wrap_bio(incoming, outgoing, server_side, self.host, session)


def _proxy_for(url: httpx.URL) -> str:
    """The proxy that the environment names for an address, "" for none."""
    if proxy_bypass(url.netloc.decode("ascii")):
        return ""
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all", "")
    return proxy if "://" in proxy or not proxy else f"http://{proxy}"


_TRANSLATED = ip_network("64:ff9b::/96")  # NAT64 (RFC 6052)
_SPECIAL = [  # a cloud's own services (Azure, Oracle), and documentation (RFC 9637)
    ip_network(one) for one in ("168.63.129.16/32", "192.0.0.0/24", "3fff::/20")
]


def is_public(address: Address) -> bool:
    """Whether an address is a machine of the public internet, by what it carries and says itself.

    IPv6 addresses that carry one of IPv4 (mapped, compatible, 6to4, NAT64) are public if that is.
    """
    if isinstance(address, IPv6Address):
        if address.sixtofour:
            return is_public(address.sixtofour)
        if address.ipv4_mapped or address in _TRANSLATED or int(address) >> 32 == 0:
            return is_public(IPv4Address(int(address) & 0xFFFFFFFF))
        if address.teredo or address.is_site_local:
            return False
    is_special = any(address in network for network in _SPECIAL)
    return address.is_global and not (is_special or address.is_multicast or address.is_reserved)
