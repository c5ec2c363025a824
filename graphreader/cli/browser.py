"""`graphreader browser`: look at the graph in Neo4j Browser."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from graphreader.settings import Settings

_AURA = ".databases.neo4j.io"


def browser(
    open_: Annotated[
        bool, typer.Option("--open", help="Also open the page in the web browser.")
    ] = False,
) -> None:
    """Print the address of Neo4j Browser and what to type there.

    The embedded Neo4j is started when it does not run.
    """
    from graphreader.settings import Settings

    settings = Settings.read()
    page = _configured(settings) if settings.neo4j_uri else _embedded(settings)
    if open_:
        import webbrowser

        if not webbrowser.open(page):
            typer.echo("No web browser could be opened: open the address by hand.", err=True)


def _embedded(settings: "Settings") -> str:
    from graphreader.cli.starting import start_embedded

    server = start_embedded(settings)
    page = f"{server.http}/browser/"
    typer.echo(f"Neo4j Browser    {page}")
    typer.echo(f"  Connect URL    {server.uri}")
    typer.echo(f"  Username       {server.username}")
    typer.echo(f"  Password       {server.password.get_secret_value()}")
    return page


def _configured(settings: "Settings") -> str:
    """Where a server that is not ours usually has its Browser; its password stays unsaid."""
    from urllib.parse import urlsplit

    address = urlsplit(settings.neo4j_uri or "")
    host = address.hostname or "localhost"
    shown = f"[{host}]" if ":" in host else host
    page = "https://console.neo4j.io" if host.endswith(_AURA) else f"http://{shown}:7474/browser/"
    port = f":{address.port}" if address.port else ""
    typer.echo(f"Neo4j Browser    {page} (the usual place; NEO4J_URI is set)")
    typer.echo(f"  Connect URL    {address.scheme}://{shown}{port}")
    typer.echo(f"  Username       {settings.neo4j_username}")
    typer.echo("  Password       the one in NEO4J_PASSWORD")
    return page
