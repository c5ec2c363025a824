"""`graphreader browser`: look at the graph in Neo4j Browser."""

from typing import TYPE_CHECKING, Annotated

import typer

from graphreader.cli.opening import read_settings
from graphreader.cli.printing import JsonFlag, print_json

if TYPE_CHECKING:
    from graphreader.settings import Settings


_AURA = ".databases.neo4j.io"


def browser(
    open_: Annotated[
        bool, typer.Option("--open", help="Also open the page in the web browser.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Print the address of Neo4j Browser and what to type there.

    The embedded Neo4j is started when it does not run.
    """
    settings = read_settings()
    found = _configured(settings) if settings.neo4j_uri else _embedded(settings)
    if json:
        print_json(found)
    else:
        note = " (the usual place; NEO4J_URI is set)" if settings.neo4j_uri else ""
        print(f"Neo4j Browser    {found['browser']}{note}")
        print(f"  Connect URL    {found['uri']}")
        print(f"  Username       {found['username']}")
        print(f"  Password       {found.get('password') or 'the one in NEO4J_PASSWORD'}")
    if open_:
        import webbrowser

        if not webbrowser.open(found["browser"]):
            typer.echo("No web browser could be opened: open the address by hand.", err=True)


def _embedded(settings: "Settings") -> dict[str, str]:
    from graphreader.cli.starting import start_embedded

    server = start_embedded(settings)
    return {
        "browser": f"{server.http}/browser/",
        "uri": server.uri,
        "username": server.username,
        "password": server.password.get_secret_value(),
    }


def _configured(settings: "Settings") -> dict[str, str]:
    """Where a server that is not ours usually has its Browser; its password stays unsaid."""
    from urllib.parse import urlsplit

    address = urlsplit(settings.neo4j_uri or "")
    host = address.hostname or "localhost"
    shown = f"[{host}]" if ":" in host else host
    page = "https://console.neo4j.io" if host.endswith(_AURA) else f"http://{shown}:7474/browser/"
    _, _, port = address.netloc.rpartition("@")[2].rpartition("]")[2].partition(":")
    return {
        "browser": page,
        "uri": f"{address.scheme}://{shown}" + (f":{port}" if port else ""),
        "username": settings.neo4j_username,
    }
