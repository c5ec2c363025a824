"""`graphreader serve` and `graphreader token`: the server and its access tokens."""

import ipaddress
import logging
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from graphreader.cli import options
from graphreader.cli.console import print_error, print_json, print_result, print_table
from graphreader.cli.log import set_up_server_logging
from graphreader.cli.signals import Interrupted
from graphreader.cli.startup import read_settings, start_embedded, start_progress
from graphreader.errors import UsageError

if TYPE_CHECKING:
    from graphreader.web.access import Token, TokenStore

_EXTRA = "serve"


def serve(
    *,
    host: options.Host = "127.0.0.1",
    port: options.Port = 8321,
    corpus: options.McpCorpus = "default",
    allowed_host: options.AllowedHosts,
    proxy_headers: options.ProxyHeaders = False,
    trusted_proxy: options.TrustedProxies,
    root_path: options.RootPath = "",
    first_token: options.FirstToken = False,
    json_logs: options.JsonLogs = False,
) -> None:
    """Serve the page, the HTTP interface and MCP for all corpora.

    On a loopback address only this machine has access, without a token. On any other address, and
    behind a proxy, every request needs a token: `graphreader token create`.

    Examples:
        graphreader serve
        graphreader serve --host 0.0.0.0 --first-token
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

    if trusted_proxy and not proxy_headers:
        raise UsageError("--trusted-proxy names a proxy: give --proxy-headers with it.")
    proxies = _proxies(trusted_proxy) if proxy_headers else []
    with_tokens = not _is_loopback(host) or proxy_headers or bool(root_path)
    tokens = TokenStore(settings.database_of("tokens"))
    has_tokens = bool(
        (with_tokens or settings.database) and tokens.all()
    )  # raises without PostgreSQL
    needs_first = with_tokens and not has_tokens
    if needs_first and not first_token:
        raise UsageError(
            "Other machines can reach this address, so tokens are needed, and there is none: make "
            "one with `graphreader token create NAME --role admin`."
        )
    listening = _listen(host, port)
    if not settings.neo4j_uri:
        start_embedded(settings)
    serving = ServeOptions(with_tokens, [host, *allowed_host], root_path, corpus)
    reader = GraphReader(settings=settings, server_progress=None if json_logs else start_progress())
    server = make_server(reader, serving, proxies=proxies)
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


def _proxies(addresses: Sequence[str]) -> list[str]:
    """The addresses and networks whose X-Forwarded headers are believed. Raises UsageError."""
    for one in addresses:
        try:
            ipaddress.ip_network(one)
        except ValueError:
            raise UsageError(
                f"--trusted-proxy {one!r} is neither an address nor a network: give it as 10.0.0.9 "
                "or 10.0.0.0/24."
            ) from None
    return [*addresses] or ["127.0.0.1", "::1"]


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
    name: options.TokenName,
    role: options.Role = "reader",
    corpus: options.TokenCorpora,
    days: options.Days = None,
    questions: options.QuestionsAtOnce = None,
    calls: options.CallsADay = None,
    tokens: options.TokensADay = None,
    json: options.Json = False,
) -> None:
    """Make an access token and print it once: only its hash is kept.

    Examples:
        graphreader token create anna --role writer --corpus books
        graphreader token create boss --role admin --days 30
    """
    limits: Any = {"questions": questions, "calls": calls, "tokens": tokens}
    secret = _store().create(name, role, corpus, days=days, **limits)  # type: ignore[arg-type]
    print_result({"name": name, "token": secret}, secret, json=json)


def list_tokens(json: options.Json = False) -> None:
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
    name: options.TokenName,
    json: options.Json = False,
) -> None:
    """Revoke a token, which is refused from now on."""
    _store().revoke(name)
    print_result({"revoked": name}, f"{name} is revoked.", json=json)
