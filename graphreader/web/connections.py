"""Connections of `graphreader serve`, with limits of their time and number.

uvicorn closes a connection that is silent after a response. A connection without any whole
request, and one whose client takes no response, would stay open for ever.
"""

import asyncio
from typing import cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

HEAD_SECONDS = 20.0  # for a client to send the head of its next request
STALLED_SECONDS = 60.0  # for a client to take a part of a response
MOST_CONNECTIONS = 1_000


def most_connections() -> int:
    """The largest number of connections: at most half of the files that the process may open."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0] if resource else -1
    return min(MOST_CONNECTIONS, files // 2) if files > 0 else MOST_CONNECTIONS


class ClientConnection(H11Protocol):
    """A connection that is closed where its client neither sends nor takes anything in time.

    Beyond `most_connections` a new connection takes the place of the one that has waited longest
    for its client, so that `/healthz` always answers.
    """

    _head: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None
    _heard = 0.0
    _left = 0  # bytes of the last response that the client had not taken yet

    @property
    def awaits_client(self) -> bool:
        """Whether the next byte is the client's to send or to take."""
        return self._awaits_head or self.conn.their_state is h11.SEND_BODY or self.flow.write_paused

    @property
    def _awaits_head(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request, in the place of another connection if need be."""
        super().connection_made(transport)
        self._heard = self.loop.time()
        self._await_head()
        if len(self.connections) > most_connections():
            connections = cast(set[ClientConnection], self.connections)
            waiting = [one for one in connections if one.awaits_client]
            oldest = min(waiting, key=lambda one: one._heard)
            self.connections.discard(oldest)
            oldest.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take a part of a request."""
        self._heard = self.loop.time()
        super().data_received(data)
        if not self._awaits_head:
            self._cancel_head()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        self._await_head()
        super().on_response_complete()  # which may begin with it
        if not self._awaits_head:
            self._cancel_head()

    def pause_writing(self) -> None:
        """Begin to wait until the client has taken a part of the response."""
        super().pause_writing()
        self._stalled = self.loop.call_later(STALLED_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on to send."""
        super().resume_writing()
        if self._stalled:
            self._stalled.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        """End all waiting."""
        self._cancel_head()
        if self._stalled:
            self._stalled.cancel()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        self._cancel_head()
        self._left = self.transport.get_write_buffer_size()
        self._head = self.loop.call_later(HEAD_SECONDS, self._end)

    def _end(self) -> None:
        """Close the connection, unless its client still takes the last response."""
        if 0 < self.transport.get_write_buffer_size() < self._left:
            self._await_head()
        else:
            self.transport.abort()

    def _cancel_head(self) -> None:
        if self._head:
            self._head.cancel()
