"""Who may talk to the server of LangGraph Studio: this machine, and Studio's own pages.

The server knows no users, and a browser sends it whatever any page wants to be sent: that the page
cannot read the reply does not undo what was done. So two things are refused before any route is
reached: the requests of other pages, told by their `Origin`, and those of a page whose name was
made to lead to this machine, told by their `Host`. Programs send no `Origin`.
"""

import re

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

_LOOPBACK = r"(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?"
_HOST = re.compile(_LOOPBACK, re.IGNORECASE)
_PAGE = re.compile(rf"https?://{_LOOPBACK}|https://(?:eu\.)?smith\.langchain\.com")

_INSIDE = "/noauth"
"""The root path of what the server asks itself, which comes over no network."""


class OnlyFromHere:
    """Answers 403, and in words, where a request comes from elsewhere."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass it on or refuse it."""
        asked = scope["type"] in ("http", "websocket") and scope.get("root_path") != _INSIDE
        refusal = _refusal(Headers(scope=scope)) if asked else None
        if refusal is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await WebSocketClose(1008, refusal)(scope, receive, send)  # it is answered with 403
        else:
            await JSONResponse({"detail": refusal}, 403)(scope, receive, send)


def _refusal(headers: Headers) -> str | None:
    """Why it is refused, if it is."""
    if not _HOST.fullmatch(headers.get("host", "")):
        return "This server is asked by this machine alone: call it 127.0.0.1 or localhost."
    if "origin" in headers and not _PAGE.fullmatch(headers["origin"]):
        return "This server is asked by LangGraph Studio and by pages of this machine alone."
    return None


app = Starlette(
    middleware=[
        Middleware(OnlyFromHere),
        # The server's own would let a browser ask neither with POST nor on the way into a private
        # network, which this machine is for a page of the web.
        Middleware(
            CORSMiddleware,
            allow_origin_regex=_PAGE.pattern,
            allow_methods=["*"],
            allow_headers=["*"],
            allow_private_network=True,
        ),
    ]
)
"""What `langgraph.json` names: the server puts its routes behind it."""
