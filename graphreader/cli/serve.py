"""`graphreader serve` and `graphreader token`: the page and the HTTP interface."""

import ipaddress
import logging
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphreader.cli.console import print_error, print_json, print_result, print_table
from graphreader.cli.log import set_up_server_logging
from graphreader.cli.main import Interrupted
from graphreader.cli.options import (
    JsonFlag,
    corpus_option,
    flag,
    read_settings,
    start_embedded,
    start_progress,
)
from graphreader.errors import UsageError

if TYPE_CHECKING:
    from graphreader.web.access import Token, TokenStore

SERVE_EXAMPLES = (
    "graphreader serve",
    "graphreader serve --host 0.0.0.0 --first-token",
)
TOKEN_EXAMPLES = (
    "graphreader token create anna --role writer --corpus books",
    "graphreader token create boss --role admin --days 30",
)
_EXTRA = "serve"


def serve(
    *,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="The address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="The port; 0 for any that is free.")
    ] = 8321,
    corpus: Annotated[str, corpus_option("The corpus of /mcp.")] = "default",
    allowed_host: Annotated[
        list[str],
        typer.Option(
            metavar="NAME",
            help="Another name of this machine that browsers may use (repeatable).",
            default_factory=list,
            show_default=False,
        ),
    ],
    proxy_headers: Annotated[
        bool, flag("--proxy-headers", help="Behind a proxy: believe its X-Forwarded headers.")
    ] = False,
    root_path: Annotated[
        str, typer.Option(metavar="PATH", help="Behind a proxy: the path that it serves this at.")
    ] = "",
    first_token: Annotated[
        bool,
        flag("--first-token", help="If there is no token yet, make an admin's, and print it once."),
    ] = False,
    json_logs: Annotated[
        bool, flag("--json-logs", help="Log to stderr as JSON, a line a request.")
    ] = False,
) -> None:
    """Serve the page, the HTTP interface and MCP for all corpora.

    On loopback it works at once, for this machine only. On any other address, and behind a proxy,
    every request needs a token: `graphreader token create`.
    """
    settings = read_settings()
    set_up_server_logging(as_json=json_logs)
    try:
        from graphreader.web.app import ServeOptions, make_server
    except ImportError as error:
        raise _needs_extra(error) from error
    from graphreader import sync
    from graphreader.graph_reader import GraphReader
    from graphreader.web.access import TokenStore

    with_tokens = not _is_loopback(host) or proxy_headers or bool(root_path)
    tokens = TokenStore(settings.database_of("tokens"))
    has_tokens = bool((with_tokens or settings.database) and tokens.all())  # is PostgreSQL there?
    needs_first = with_tokens and not has_tokens
    if needs_first and not first_token:
        raise UsageError(
            "Other machines can reach this address, so tokens are needed, and there is none: make "
            "one with `graphreader token create NAME --role admin`."
        )
    listening = _listen(host, port)
    if not settings.neo4j_uri:
        start_embedded(settings)
    options = ServeOptions(with_tokens, [host, *allowed_host], root_path, corpus)
    reader = GraphReader(settings=settings, server_progress=None if json_logs else start_progress())
    server = make_server(reader, options, proxy_headers=proxy_headers)
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    print(f"GraphReader: http://{shown}:{listening.getsockname()[1]}{root_path}/", flush=True)
    if needs_first:
        with suppress(UsageError):  # another server has just made it
            secret = tokens.create("first", "admin")
            print(f"Its first token, an admin's, is shown only here: {secret}", flush=True)
    tokens.close()
    with ThreadPoolExecutor(1) as thread:
        ended = thread.submit(lambda: sync.run(server.serve(sockets=[listening])))
        try:
            ended.result()
        except Interrupted:
            text = "Stopping: runs can be resumed, reading in goes on after the next start."
            logging.getLogger("graphreader.web").info(text) if json_logs else print_error(text)
            server.should_exit = True
            ended.result()


def _needs_extra(error: ImportError) -> UsageError:
    if (error.name or "").startswith("graphreader"):
        raise error
    return UsageError(
        f'The server needs further packages: pip install "graphreader-agent[{_EXTRA}]"'
    )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise UsageError(
            f"{host}, port {port}, cannot be used ({error.strerror}): choose another --port or "
            "--host."
        ) from None


def _store() -> "TokenStore":
    try:
        from graphreader.web.access import TokenStore
    except ImportError as error:
        raise _needs_extra(error) from error
    return TokenStore(read_settings().database_of("tokens"))


def create_token(
    *,
    name: Annotated[str, typer.Argument(help="A name, to revoke it by.", metavar="NAME")],
    role: Annotated[
        str, typer.Option(metavar="ROLE", help="reader, writer (also reads texts in) or admin.")
    ] = "reader",
    corpus: Annotated[
        list[str],
        typer.Option(
            metavar="NAME",
            help="A corpus that it opens (repeatable).",
            default_factory=list,
            show_default=False,
        ),
    ],
    days: Annotated[
        float | None, typer.Option(min=0.01, metavar="N", help="It expires after so many days.")
    ] = None,
    questions: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Questions at once.")
    ] = None,
    calls: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Calls of the model a day (UTC).")
    ] = None,
    tokens: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="The model's tokens a day (UTC).")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Make an access token and print it, once: only its hash is kept."""
    limits: Any = {"questions": questions, "calls": calls, "tokens": tokens}
    secret = _store().create(name, role, corpus, days=days, **limits)  # type: ignore[arg-type]
    print_result({"name": name, "token": secret}, secret, json=json)


def list_tokens(json: JsonFlag = False) -> None:
    """List the tokens, without their secrets."""
    found = _store().all()
    if json:
        from dataclasses import asdict

        print_json({"tokens": [asdict(one) for one in found]})
    elif not found:
        print("There are no tokens: `graphreader token create NAME` makes one.")
    else:
        print_table([_row(one) for one in found], "Name", "Role", "Corpora", "Expires", "A day")


def _row(token: "Token") -> list[str]:
    expires = "never"
    if token.expires is not None:
        expires = datetime.fromtimestamp(token.expires, UTC).isoformat(" ", "minutes")[:16]
    day = [f"{n:,} {of}" for n, of in ((token.calls, "calls"), (token.tokens, "tokens")) if n]
    return [
        token.name,
        token.role,
        "all" if token.corpora is None else ", ".join(token.corpora),
        expires,
        ", ".join(day) or "no limit",
    ]


def revoke_token(
    name: Annotated[str, typer.Argument(help="The token's name.", metavar="NAME")],
    json: JsonFlag = False,
) -> None:
    """Revoke a token: it is refused from now on."""
    _store().revoke(name)
    print_result({"revoked": name}, f"{name} is revoked.", json=json)
