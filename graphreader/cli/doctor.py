"""`graphreader doctor`: what is configured, what answers, what is missing, and what mends it."""

import asyncio
from collections.abc import Awaitable, Callable

import typer

from graphreader.errors import GraphReaderError, SettingsError
from graphreader.settings import OFFLINE, Settings

Check = Callable[[Settings], Awaitable[str]]


def doctor() -> None:
    """Check settings, Neo4j, model and embeddings; say what to do about each failure."""
    from rich.console import Console
    from rich.markup import escape

    out = Console(soft_wrap=True, highlight=False)
    try:
        settings = Settings.read()
    except SettingsError as error:
        out.print(f"[red]✗[/red] settings   {escape(str(error))}")
        raise typer.Exit(1) from None
    failed = False
    for name, check in (("neo4j", _neo4j), ("model", _model), ("embeddings", _embeddings)):
        try:
            said = asyncio.run(check(settings))
            out.print(f"[green]✓[/green] {name:<10} {escape(said)}")
        except GraphReaderError as error:
            failed = True
            out.print(f"[red]✗[/red] {name:<10} {escape(str(error))}")
    out.print(f"[dim]  home       {settings.home}[/dim]")
    out.print(f"[dim]  cache      {settings.cache}[/dim]")
    if failed:
        raise typer.Exit(1)


async def _neo4j(settings: Settings) -> str:
    from graphreader.cli.starting import start_embedded
    from graphreader.store import schema
    from graphreader.store.library import Library
    from graphreader.store.opening import open_connection

    if not settings.neo4j_uri:
        await asyncio.to_thread(start_embedded, settings)
    connection = await open_connection(settings)
    try:
        await schema.check(connection)
        corpora = await Library(connection).corpora()
        kind = "configured by NEO4J_URI" if settings.neo4j_uri else "embedded"
        return (
            f"{connection.version} at {connection.address.uri} ({kind}), "
            f"{len(corpora)} {'corpus' if len(corpora) == 1 else 'corpora'}"
        )
    finally:
        await connection.aclose()


async def _model(settings: Settings) -> str:
    from graphreader.deciding.opening import open_decider
    from graphreader.deciding.tasks import PlanTask

    decider = open_decider(settings)
    try:
        decided = await decider.decide(PlanTask("Who wrote the longest of the letters?"))
    finally:
        await decider.aclose()
    if decider.notice:
        return f"{decider.name}. {decider.notice}"
    used = decided.usage.input_tokens + decided.usage.output_tokens
    return f"{decider.name} answers ({used} tokens for this check)"


async def _embeddings(settings: Settings) -> str:
    from graphreader.deciding.opening import open_embedder

    embedder = open_embedder(settings)
    await embedder.embed(["letter"])
    note = " (hashed words, no model)" if settings.chosen_embeddings == OFFLINE else ""
    return f"{embedder.name}, {embedder.dimension} dimensions{note}"
