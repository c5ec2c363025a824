"""Checks of every request: host, origin, access token; and security headers of replies.

Without tokens the server listens only on loopback. A stranger's web page may still send requests,
so the host must be this machine (DNS rebinding), and the origin that a browser sends must be the
server itself (cross-site requests).
"""

import asyncio
import re
import time
from collections import deque
from collections.abc import Collection, Iterable, MutableMapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphreader.errors import GraphReaderError
from graphreader.pages.page import CYTOSCAPE_STYLE, digest
from graphreader.web.access import LOCAL, Token, TokenStore
from graphreader.web.problems import detail_of, problem, status_of

COOKIE = "graphreader_token"
OPEN = frozenset({"/healthz", "/readyz", "/login"})
"""Paths without a token, in addition to the pages' static files."""

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; script-src 'self'; style-src 'self' {digest(CYTOSCAPE_STYLE)}; "
        "img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_HOST = re.compile(r"(?P<name>[\w.-]+|\[[\da-f:.]+\])(:\d{1,5})?", re.ASCII | re.IGNORECASE)
_MOST_FAILURES, _FAILURE_SECONDS, _MOST_ADDRESSES = 20, 60.0, 1_000
"""Largest number of refused tokens per address in these seconds; further tokens have to wait."""
BODY_SECONDS = 60.0  # longest silence while a request's body is sent
SLOWEST_BODY = 1_000  # bytes a second, after the first BODY_SECONDS
CHECK_SECONDS = 3.0
"""Interval in which the token of a running request is checked again."""


class Protection:
    """ASGI middleware that refuses foreign hosts, foreign origins and unknown tokens.

    It sets `state.token` of a request. `hosts` are the allowed host names (None, with tokens: any),
    `static` path prefixes without a token. A request ends when its token is revoked or expires.
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
        """Pass a request to the application, or refuse it."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        receive, send = _in_time(receive), _with_headers(send)
        headers = Headers(scope=scope)
        if refusal := self._foreign(headers):
            return await problem(HTTPStatus.FORBIDDEN, refusal)(scope, receive, send)
        if self._tokens is None:
            _set_token(scope, LOCAL)
            return await self._app(scope, receive, send)
        if self._is_open(scope):
            return await self._app(scope, receive, send)
        try:
            await self._with_token(self._tokens, headers, scope, receive, send)
        except GraphReaderError as error:  # the tokens cannot be read
            await problem(status_of(error), detail_of(error))(scope, receive, send)

    async def _with_token(
        self, tokens: TokenStore, headers: Headers, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Pass a request to the application while its token is known."""
        secret = secret_of(headers)
        token = await tokens.afind(secret) if secret else None
        if token is None:
            refusal = self._refused(secret, (scope.get("client") or ("",))[0])
            if headers.get("sec-fetch-mode") == "navigate":
                refusal = RedirectResponse(f"{scope.get('root_path', '')}/login", 303)
            return await refusal(scope, receive, send)
        _set_token(scope, token)
        sent = [False]

        async def sending(message: Message) -> None:
            sent[0] = True
            await send(message)

        async def check() -> None:
            known: Token | None = token
            with suppress(GraphReaderError):
                while known:
                    await asyncio.sleep(CHECK_SECONDS)
                    known = await tokens.afind(secret)
            limit.reschedule(asyncio.get_running_loop().time())

        checking: asyncio.Task[None] | None = None
        try:
            async with asyncio.timeout(None) as limit:
                checking = asyncio.create_task(check())
                await self._app(scope, receive, sending)
        except TimeoutError:
            if not limit.expired():
                raise
            if sent[0]:
                await send({"type": "http.response.body", "body": b""})
            else:
                await _unauthorized()(scope, receive, send)
        finally:
            if checking:
                checking.cancel()

    def _foreign(self, headers: Headers) -> str | None:
        """The reason to refuse a request of another site; None for other requests."""
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        host = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
        if host is None:
            return "A request names one host."
        if self._hosts is not None and host["name"].strip("[]").lower() not in self._hosts:
            return (
                "This server is asked by another name than its own: use its address, start it with "
                "--allowed-host NAME, or behind a proxy with --proxy-headers and tokens."
            )
        own = {f"{scheme}://{host[0].lower()}" for scheme in ("http", "https")}
        is_foreign = headers.get("sec-fetch-site") in ("cross-site", "same-site")
        is_link = headers.get("sec-fetch-dest") == "document" and not origins
        if not own.issuperset(origins) or (is_foreign and not is_link):
            return "Pages of other sites may not use this server."
        return None

    def _is_open(self, scope: Scope) -> bool:
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        return path in OPEN or path.startswith(self._static)

    def _refused(self, secret: str, address: str) -> Response:
        """The reply to a request without a known token.

        An address with many wrong tokens has to wait, but its known tokens still pass: else one
        person behind a proxy could lock out all others.
        """
        failures, now = self._failures.pop(address, deque(maxlen=_MOST_FAILURES)), time.monotonic()
        while failures and now - failures[0] > _FAILURE_SECONDS:
            failures.popleft()
        wait = _FAILURE_SECONDS - (now - failures[0]) if len(failures) == _MOST_FAILURES else 0
        if secret and not wait:
            failures.append(now)
        if failures:
            self._failures[address] = failures
        if len(self._failures) > _MOST_ADDRESSES:
            del self._failures[next(iter(self._failures))]
        if wait:
            return problem(
                HTTPStatus.TOO_MANY_REQUESTS,
                "Too many refused tokens from this address: try again in a minute.",
                {"Retry-After": str(int(wait) + 1)},
            )
        return _unauthorized()


def _unauthorized() -> Response:
    return problem(
        HTTPStatus.UNAUTHORIZED,
        "A token is needed, as `Authorization: Bearer ...`. `graphreader token create` makes one.",
        {"WWW-Authenticate": 'Bearer realm="graphreader"'},
    )


def secret_of(headers: Headers) -> str:
    """The secret of a request, from its bearer token or the pages' cookie; empty: none."""
    scheme, _, secret = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return secret.strip()
    return cookie_parser(headers.get("cookie", "")).get(COOKIE, "")


def _set_token(scope: MutableMapping[str, Any], token: Token) -> None:
    scope.setdefault("state", {})["token"] = token


def _in_time(receive: Receive) -> Receive:
    """Wrap `receive` so that a body that stalls, or drips, ends the request."""
    is_whole, size, clock = False, 0, asyncio.get_running_loop().time
    began = clock()

    async def receiving() -> Message:
        nonlocal is_whole, size
        left = BODY_SECONDS + min(0.0, began + size / SLOWEST_BODY - clock())
        try:
            async with asyncio.timeout(None if is_whole else left):
                message = await receive()
        except TimeoutError:
            detail = f"The body came too slowly, for {BODY_SECONDS:.0f} seconds: send it again."
            raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, detail) from None
        size += len(message.get("body", b""))
        is_whole = is_whole or not message.get("more_body")
        return message

    return receiving


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending
