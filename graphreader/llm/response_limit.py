"""Limits of the size of services' responses, counted while they arrive and are decompressed.

A response without an end, or one that is small only while compressed, would fill the memory.
"""

import json
import zlib
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any, Final

from graphreader.errors import ReplyError

MOST_REPLY: Final = 8 << 20  # bytes of a chat model's reply, or of any other record
MOST_STREAM: Final = 32 << 20  # bytes of a streamed reply, in which each token has an envelope
_EVENT: Final = 256  # bytes that a line of a stream counts at least: as an object it is larger
MOST_VECTOR: Final = 256 << 10  # bytes of a vector: 8,192 numbers of 30 digits
_MOST_TEXTS: Final = 256  # of a request whose texts cannot be counted
_PIECE: Final = 1 << 16
_STREAMED: Final = ("text/event-stream", "application/x-ndjson")
_FILES: Final = ("/content", "/results")  # of batches, which are read line by line

Limit = Callable[[Any], int]
"""A function that gives the largest number of bytes of the response to a request."""


def reply_limit(request: Any) -> int:
    """The limit for a chat model."""
    return MOST_REPLY


def vectors_limit(request: Any) -> int:
    """The limit for an embedding model, by the number of texts in its request."""
    lists: list[list[Any]] = []
    with suppress(Exception):  # another library may send its body in pieces
        lists = [one for one in json.loads(request.content).values() if isinstance(one, list)]
    return MOST_REPLY + MOST_VECTOR * max(map(len, lists), default=_MOST_TEXTS)


def limit_responses(http_clients: Iterable[Any], name: str, limit: Limit) -> None:
    """Let clients of httpx, or of its successor, end responses above a limit with ReplyError.

    Messages call the service `name`. Only compression by gzip is asked for and taken.
    """

    async def bound(response: Any) -> None:
        encoding = response.headers.pop("content-encoding", "identity").lower()
        if encoding not in ("identity", "gzip"):
            raise ReplyError(
                f"{name} compresses its replies by {encoding!r:.40}, which was not asked for."
            )
        is_streamed = response.headers.get("content-type", "").startswith(_STREAMED)
        most: float = MOST_STREAM if is_streamed else limit(response.request)
        if response.request.url.path.endswith(_FILES):
            most = float("inf")
        pieces = _decompressed(response.stream) if encoding == "gzip" else response.stream
        bounded = _bounded(pieces, most, is_streamed, name)
        library = type(response).__module__.partition(".")[0]
        response.stream = _stream_class(library)(response.stream, bounded)

    for client in http_clients:
        client.headers["accept-encoding"] = "gzip"
        hooks = client.event_hooks
        client.event_hooks = {**hooks, "response": [*hooks["response"], bound]}


async def _bounded(
    pieces: AsyncIterator[bytes], most: float, is_streamed: bool, name: str
) -> AsyncIterator[bytes]:
    size = 0
    async for piece in pieces:
        size += len(piece) + (_EVENT * piece.count(b"\n") if is_streamed else 0)
        if size > most:
            raise ReplyError(
                f"{name} sends a reply of more than {int(most) >> 20} MiB, which is no reply of a "
                "model: check the service at its address."
            )
        yield piece


async def _decompressed(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    decoder = zlib.decompressobj(16 + zlib.MAX_WBITS)
    async for piece in pieces:
        rest = piece
        while rest and not decoder.eof:
            try:
                yield decoder.decompress(rest, _PIECE)
            except zlib.error:
                raise ConnectionError("The reply cannot be decompressed") from None
            rest = decoder.unconsumed_tail


@cache
def _stream_class(library: str) -> type:
    """The class of a response's body in a library, which accepts no other class."""

    class Body(import_module(library).AsyncByteStream):  # type: ignore[misc]
        def __init__(self, network: Any, pieces: AsyncIterator[bytes]) -> None:
            self._network, self._pieces = network, pieces

        def __aiter__(self) -> AsyncIterator[bytes]:
            return self._pieces

        async def aclose(self) -> None:
            await self._network.aclose()

    return Body
