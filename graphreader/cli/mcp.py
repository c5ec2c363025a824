"""`graphreader mcp`: a corpus for the clients of the Model Context Protocol."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from graphreader.cli.failing import Interrupted, complain
from graphreader.cli.opening import read_settings
from graphreader.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphreader.graph_reader import GraphReader


def mcp(
    corpus: Annotated[
        str, typer.Option(help="The corpus that is served.", metavar="NAME")
    ] = "default",
) -> None:
    """Serve a corpus to MCP clients (Claude, Cursor, ...) over stdin and stdout; reads only.

    A client starts this command itself: docs/in-your-code.md shows how to register it.
    """
    settings = read_settings()
    mcp_server = _server()
    from rich.console import Console

    from graphreader.cli.starting import StartDrawing
    from graphreader.graph_reader import GraphReader

    # Told in lines, also in a terminal: a drawing would go on living when Neo4j has started.
    on_stderr = StartDrawing(Console(stderr=True, force_terminal=False))
    with GraphReader(corpus, settings=settings, server_progress=on_stderr) as reader:
        server = mcp_server(reader)
        if sys.stdin.isatty():
            complain(f"Serving the corpus {corpus!r} to an MCP client; Ctrl-C ends it.")
        with _ended_by_signals():
            server.run()


def _server() -> "Callable[[GraphReader], Any]":
    """What makes the server. Raises UsageError without the packages of the extra."""
    try:
        from graphreader.mcp_server import mcp_server
    except ImportError as error:
        if not (error.name or "").startswith("mcp"):
            raise
        raise UsageError(
            'The MCP server needs a further package: pip install "mcp>=2.3,<3"'
        ) from error
    return mcp_server


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let a signal end the input, and so the server in good order; the second one ends all.

    The server waits for input in a thread that nothing can interrupt. So the input goes through a
    pipe which can be closed.
    """
    source = os.dup(0)
    reading, writing = os.pipe()
    os.dup2(reading, 0)
    os.close(reading)
    heard: list[int] = []
    with os.fdopen(writing, "wb", buffering=0) as pipe:

        def end(number: int, _: object) -> None:
            if heard:
                os._exit(128 + number)
            heard.append(number)
            pipe.close()

        for number in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
            if callable(signal.getsignal(number)):  # what was switched off stays off
                signal.signal(number, end)
        Thread(target=_pass_on, args=(source, pipe), daemon=True).start()
        yield
    if heard:
        raise Interrupted(heard[0])


def _pass_on(source: int, pipe: BinaryIO) -> None:
    with suppress(OSError, ValueError), pipe:  # it may be closed by now
        while data := os.read(source, 65536):
            pipe.write(data)
