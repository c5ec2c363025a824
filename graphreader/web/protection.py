"""What every request passes: host and origin of a browser, its token, the headers of a reply.

Without tokens the server listens on loopback alone. A web page of a stranger may still send it
requests, so the host must be this machine's (DNS rebinding), and the origin, where a browser names
one, the server itself (cross-site requests).
"""

import time
from collections import deque
from collections.abc import Collection, Iterable, MutableMapping
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphreader.html_report.page import CYTOSCAPE_STYLE, digest
from graphreader.web.access import LOCAL, Token, TokenStore
from graphreader.web.problems import problem

COOKIE = "graphreader_token"
OPEN = frozenset({"/healthz", "/readyz", "/login"})
"""Paths that need no token, beside the page's own files."""

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; script-src 'self'; style-src 'self' {digest(CYTOSCAPE_STYLE)}; "
        "img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_MOST_FAILURES, _FAILURE_SECONDS = 20, 60.0
"""Refused tokens of one address within these seconds, after which it has to wait."""


class Protection:
    """Refuses foreign hosts and origins and unknown tokens; `state.token` is the known one.

    `hosts` are the names that the server may be asked by, None with tokens: then any. `static` are
    beginnings of paths that need no token.
    """

    def __init__(
        self,
        app: ASGIApp,
        tokens: TokenStore | None,
        hosts: Collection[str] | None,
        static: Iterable[str] = (),
    ) -> None:
        self._app = app
        self._tokens = tokens
        self._hosts = None if hosts is None else frozenset(hosts)
        self._static = tuple(static)
        self._failures: dict[str, deque[float]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        headers = Headers(scope=scope)
        refusal = self._foreign(headers)
        if refusal is None:
            path, address = scope["path"], (scope.get("client") or ("",))[0]
            if self._tokens is None:
                _set_token(scope, LOCAL)
            elif not self._is_open(path):
                if wait := self._must_wait(address):
                    return await problem(
                        HTTPStatus.TOO_MANY_REQUESTS,
                        "Too many refused tokens from this address: try again in a minute.",
                        {"Retry-After": str(wait)},
                    )(scope, receive, send)
                secret = secret_of(headers)
                token = self._tokens.find(secret) if secret else None
                if token is None:
                    if secret:
                        self._failures.setdefault(address, deque()).append(time.monotonic())
                    if headers.get("sec-fetch-mode") == "navigate":
                        to_login = RedirectResponse(f"{scope.get('root_path', '')}/login", 303)
                        return await to_login(scope, receive, _with_headers(send))
                    return await problem(
                        HTTPStatus.UNAUTHORIZED,
                        "A token is needed, as `Authorization: Bearer ...`. "
                        "`graphreader token create` makes one.",
                        {"WWW-Authenticate": 'Bearer realm="graphreader"'},
                    )(scope, receive, _with_headers(send))
                _set_token(scope, token)
            return await self._app(scope, receive, _with_headers(send))
        return await problem(HTTPStatus.FORBIDDEN, refusal)(scope, receive, _with_headers(send))

    def _foreign(self, headers: Headers) -> str | None:
        """Why a request is refused that comes from another site, None if it does not."""
        hosts = headers.getlist("host")
        if len(hosts) != 1:
            return "A request names one host."
        if self._hosts is not None and _host_name(hosts[0]) not in self._hosts:
            return (
                "This server is asked by another name than its own: use its address, start it with "
                "--allowed-host NAME, or behind a proxy with --proxy-headers and tokens."
            )
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != hosts[0].lower():
            return "Pages of other sites may not use this server."
        is_foreign = headers.get("sec-fetch-site") in ("cross-site", "same-site")
        is_link = headers.get("sec-fetch-dest") == "document" and "origin" not in headers
        if is_foreign and not is_link:
            return "Pages of other sites may not use this server."
        return None

    def _is_open(self, path: str) -> bool:
        return path in OPEN or path.startswith(self._static)

    def _must_wait(self, address: str) -> int:
        """Seconds for which an address with many refused tokens has to wait, 0 if it has not."""
        failures = self._failures.get(address)
        if not failures:
            return 0
        now = time.monotonic()
        while failures and now - failures[0] > _FAILURE_SECONDS:
            failures.popleft()
        if not failures:
            del self._failures[address]
        if len(failures) < _MOST_FAILURES:
            return 0
        return int(_FAILURE_SECONDS - (now - failures[0])) + 1


def secret_of(headers: Headers) -> str:
    """The secret that a request brings, as a bearer token or in the page's cookie; or nothing."""
    scheme, _, secret = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return secret.strip()
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return cookie.value if cookie else ""


def _host_name(host: str) -> str:
    """The name in a Host header, without a port and without the brackets of IPv6."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _set_token(scope: MutableMapping[str, Any], token: Token) -> None:
    scope.setdefault("state", {})["token"] = token


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending
