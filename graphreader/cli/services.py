"""`graphreader doctor`, `browser`, `neo4j`, `cache` and `mcp`: services of all corpora."""

import os
import signal
import sys
from collections.abc import Callable, Coroutine
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import typer
from rich.filesize import decimal
from rich.text import Text

from graphreader.cli import options
from graphreader.cli.console import (
    confirm_or_exit,
    literal,
    local_time,
    plural,
    print_error,
    print_json,
    print_result,
    print_table,
    wide_console,
)
from graphreader.cli.signals import HANDLED_SIGNALS
from graphreader.cli.startup import (
    import_driver,
    open_database,
    read_runs,
    read_settings,
    start_embedded,
    start_progress,
)
from graphreader.errors import (
    EmbeddingMismatchError,
    GraphReaderError,
    ServerError,
    SettingsError,
    UsageError,
)

if TYPE_CHECKING:
    from graphreader.llm.cache import ReplyCache
    from graphreader.llm.protocols import Decider
    from graphreader.settings import Settings
    from graphreader.store.embedded.server import RunningServer


def doctor(json: options.Json = False) -> None:
    """Check settings, Neo4j, model and embeddings, and give advice on each failure.

    Exits with 1 if a check fails. A configured model is asked one short question.
    """
    folders: dict[str, str] = {}
    try:
        settings = read_settings()
    except SettingsError as error:
        checks: list[dict[str, Any]] = [{"name": "settings", "ok": False, "message": str(error)}]
    else:
        import_driver()
        checks = [
            _check("settings", _check_names, settings),
            _check("neo4j", _check_database, settings),
            _check("model", _check_model, settings),
            _check("embeddings", _check_embeddings, settings),
        ]
        if checks[1]["ok"]:
            checks.append(_check("corpora", _check_corpora, settings))
        if settings.database:
            checks.append(_check("runs", _check_runs, settings))
        folders = {"home": str(settings.home), "cache": str(settings.cache)}
    ok = all(check["ok"] for check in checks)
    if json:
        print_json({"ok": ok, "checks": checks, **folders})
    else:
        marks = {True: Text("ok", "green"), False: Text("fails", "bold red")}
        rows = [(marks[one["ok"]], one["name"], literal(one["message"])) for one in checks]
        rows += [(Text(), name, Text(path, "dim")) for name, path in folders.items()]
        print_table(rows, "", "", "", header=False)
    if not ok:
        raise typer.Exit(1)


def _check(
    name: str, check: "Callable[[Settings], Coroutine[Any, Any, str]]", settings: "Settings"
) -> dict[str, Any]:
    import asyncio

    try:
        return {"name": name, "ok": True, "message": asyncio.run(check(settings))}
    except GraphReaderError as error:
        return {"name": name, "ok": False, "message": str(error)}


async def _check_names(settings: "Settings") -> str:
    """Raise SettingsError if an environment variable looks like a misspelled setting."""
    from graphreader.settings import misspelled

    if names := misspelled():
        raise SettingsError(f"no setting is named {', '.join(names)}: check the spelling")
    return "valid"


async def _check_database(settings: "Settings") -> str:
    async with open_database(settings) as connection:
        from graphreader.store.catalog import Catalog

        corpora = await Catalog(connection).corpora()
        kind = "configured by NEO4J_URI" if settings.neo4j_uri else "embedded"
        return (
            f"{connection.version} at {connection.address.uri} ({kind}), "
            f"{plural(len(corpora), 'corpus', 'corpora')}"
        )


async def _check_corpora(settings: "Settings") -> str:
    """Check that the embeddings of all corpora can be used with these settings."""
    async with open_database(settings) as connection:
        from graphreader.resources import Resources
        from graphreader.store.catalog import Catalog

        catalog, resources, refused = Catalog(connection), Resources(settings), list[str]()
        try:
            for one in await catalog.corpora():
                try:
                    resources.embedder_of(one.corpus, await catalog.corpus(one.corpus))
                except EmbeddingMismatchError as error:
                    refused.append(str(error))
        finally:
            await resources.aclose()
        return " ".join(refused) or "the embeddings of all can be opened"


async def _check_runs(settings: "Settings") -> str:
    return f"{plural(len(await read_runs(settings)), 'run')} in PostgreSQL"


async def _check_model(settings: "Settings") -> str:
    from graphreader.models import open_decider
    from graphreader.preflight import check_chunks

    check_chunks(settings)
    explores = settings.model_for("explore")
    answers = settings.model_for("answer") != explores
    results = [await _check_decider(open_decider(settings, "ask"), answers)]
    if settings.model_for("extract") != explores:
        building = await _check_decider(open_decider(settings, "build"))
        results.append(f"reads texts in: {building}")
    return "; ".join(results)


async def _check_decider(decider: "Decider", answers: bool = False) -> str:
    from graphreader.agent.tasks import AnswerTask, PlanTask

    question, plan = "Who wrote the longest of the letters?", "Compare the letters."
    try:
        usage = (await decider.decide(PlanTask(question))).usage
        if answers:
            task = AnswerTask(question, plan, ("Ann wrote the longest letter.",), ())
            usage += (await decider.decide(task)).usage
    finally:
        await decider.aclose()
    if decider.notice:
        return f"{decider.name}. {decider.notice}"
    return f"{decider.name} answers ({usage.tokens} tokens for this check)"


async def _check_embeddings(settings: "Settings") -> str:
    from graphreader.models import open_embedder
    from graphreader.settings import OFFLINE

    embedder = open_embedder(settings)
    try:
        await embedder.embed(["letter"])
    finally:
        await embedder.aclose()
    note = " (hashed words, no model)" if settings.chosen_embeddings == OFFLINE else ""
    return f"{embedder.name}, {embedder.dimension} dimensions{note}"


def browser(
    open_: options.Open = False,
    json: options.Json = False,
) -> None:
    """Print the address of Neo4j Browser and the access data to type there.

    The embedded Neo4j is started if it does not run.
    """
    from graphreader.settings import display_url
    from graphreader.store.connection import statements_folder
    from graphreader.store.embedded.server import browser_address

    settings = read_settings()
    if settings.neo4j_uri:
        access = {
            "browser": browser_address(settings) or "",
            "uri": display_url(settings.neo4j_uri),
            "username": settings.neo4j_username,
        }
    else:
        server = start_embedded(settings)
        access = {
            "browser": f"{server.http}/browser/",
            "uri": server.uri,
            "username": server.username,
            "password": server.password.get_secret_value(),
        }
    if json:
        print_json(access)
    else:
        print(f"Neo4j Browser    {access['browser']}")
        print(f"  Connect URL    {access['uri']}")
        print(f"  Username       {access['username']}")
        print(f"  Password       {access.get('password') or 'the one in NEO4J_PASSWORD'}")
        queries = statements_folder() / "inspect" / "favorites.zip"
        print(f"Drag into its window, for colours and saved queries: {queries}")
    if open_:
        import webbrowser

        if not webbrowser.open(access["browser"]):
            print_error("No web browser could be opened: open the address by hand.")


def start_neo4j(json: options.Json = False) -> None:
    """Start the embedded Neo4j unless it runs. It keeps running when this command ends."""
    settings = read_settings()
    _note_configured(settings)
    _print_server(start_embedded(settings), json)


def stop_neo4j(json: options.Json = False) -> None:
    """Stop the embedded Neo4j. The graph stays on disk."""
    from graphreader.store.embedded import server

    stopped = server.stop(read_settings())
    text = "Neo4j is stopped." if stopped else "No embedded Neo4j was running."
    print_result({"stopped": stopped}, text, json=json)


def neo4j_status(json: options.Json = False) -> None:
    """Show the address and access data of the embedded Neo4j. Exits with 1 if it does not run."""
    from graphreader.store.embedded import server

    settings = read_settings()
    _note_configured(settings)
    running = server.running(settings)
    if not running:
        raise ServerError(
            "The embedded Neo4j is not running: start it with `graphreader neo4j start`."
        )
    _print_server(running, json)


def _note_configured(settings: "Settings") -> None:
    if settings.neo4j_uri:
        print_error(
            "Note: NEO4J_URI is set, so GraphReader uses that server and not the embedded Neo4j of "
            "this command."
        )


def _print_server(server: "RunningServer", json: bool) -> None:
    password = server.password.get_secret_value()
    if json:
        access = {"uri": server.uri, "username": server.username, "password": password}
        return print_json({**access, "http": server.http, "version": server.version})
    print(f"Neo4j {server.version} is running (process {server.pid}).")
    print(f"  address   {server.uri}")
    print(f"  user      {server.username}")
    print(f"  password  {password}")
    print(f"  Browser   {server.http}/browser/")
    print(f"  data      {server.home}")
    print("Stop it with: graphreader neo4j stop")


def cache_stats(json: options.Json = False) -> None:
    """Count the cached replies, in all and by model."""
    cache = _reply_cache()
    counts = cache.stats()
    if json:
        times = {"oldest": _iso_time(counts.oldest), "newest": _iso_time(counts.newest)}
        print_json({"path": cache.place, **asdict(counts), **times})
    elif not counts.replies:
        print(f"No replies are kept in {cache.place}.")
    else:
        wide_console().print(Text.assemble("Kept replies in ", (cache.place, "bold")))
        rows = {
            "replies": f"{counts.replies:,}",
            **{f"  {model}": f"{replies:,}" for model, replies in counts.models.items()},
            "on disk": decimal(counts.bytes),
            "oldest": local_time(counts.oldest or 0),
            "newest": local_time(counts.newest or 0),
        }
        print_table([*rows.items()], "", "value", right=("value",), header=False)


def _iso_time(moment: float | None) -> str | None:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds") if moment else None


def clear_cache(yes: options.Yes = False, json: options.Json = False) -> None:
    """Delete all cached replies. The graph and its corpora stay as they are."""
    cache = _reply_cache()
    question = "Delete all cached replies, and pay for repeated requests again?"
    confirm_or_exit(question, yes, "Nothing was cleared.")
    cleared = cache.clear()
    text = f"{plural(cleared, 'reply', 'replies')} cleared."
    print_result({"path": cache.place, "cleared": cleared}, text, json=json)


def _reply_cache() -> "ReplyCache":
    from graphreader.llm.cache import ReplyCache

    return ReplyCache(read_settings().database_of("replies"))


def mcp(corpus: options.Corpus = "default") -> None:
    """Serve a corpus, for reading only, to MCP clients (Claude, Cursor, ...) on stdin and stdout.

    A client starts this command itself: docs/in-your-code.md shows how to register it.
    """
    settings = read_settings()
    import_driver()
    try:
        from graphreader.mcp_server import mcp_server
    except ImportError as error:
        if not (error.name or "").startswith("mcp"):
            raise
        raise UsageError(
            'The MCP server needs a further package: pip install "mcp>=2.3,<3"'
        ) from error
    from graphreader.graph_reader import GraphReader

    # No spinner: Neo4j starts at a request, in the middle of other output.
    with GraphReader(corpus, settings=settings, server_progress=start_progress()) as reader:
        server = mcp_server(reader)
        if sys.stdin.isatty():
            print_error(f"Serving the corpus {corpus!r} to an MCP client; Ctrl-C ends it.")
        # The server reads stdin in a thread that nothing can interrupt, so the process exits.
        for number in HANDLED_SIGNALS:
            if callable(signal.getsignal(number)):  # an ignored signal stays ignored
                signal.signal(number, _stop)
        server.run()


def _stop(number: int, _: object) -> None:
    print_error("Stopped.")
    os._exit(128 + number)
