"""`graphreader neo4j start|stop|status`: the embedded Neo4j by hand."""

from typing import TYPE_CHECKING

import typer

from graphreader.cli.opening import read_settings
from graphreader.cli.printing import JsonFlag, print_json

if TYPE_CHECKING:
    from graphreader.settings import Settings
    from graphreader.store.embedded.server import RunningServer


app = typer.Typer(
    help="Start, stop and look at the embedded Neo4j server.",
    no_args_is_help=True,
)


@app.command()
def start(json: JsonFlag = False) -> None:
    """Start the embedded Neo4j, unless it runs. It stays when this command ends."""
    from graphreader.cli.starting import start_embedded

    settings = read_settings()
    _note(settings)
    _show(start_embedded(settings), json)


@app.command()
def stop(json: JsonFlag = False) -> None:
    """Stop the embedded Neo4j. The graph stays on disk."""
    from graphreader.store.embedded import server as embedded

    stopped = embedded.stop(read_settings())
    if json:
        print_json({"stopped": stopped})
        return
    typer.echo("Neo4j is stopped." if stopped else "No embedded Neo4j was running.")


@app.command()
def status(json: JsonFlag = False) -> None:
    """Say where the embedded Neo4j runs, and how to enter it. Exit code 1 when it does not run."""
    from graphreader.errors import ServerError
    from graphreader.store.embedded import server as embedded

    settings = read_settings()
    _note(settings)
    server = embedded.running(settings)
    if not server:
        raise ServerError(
            "The embedded Neo4j is not running: start it with `graphreader neo4j start`."
        )
    _show(server, json)


def _note(settings: "Settings") -> None:
    if settings.neo4j_uri:
        typer.echo(
            "Note: NEO4J_URI is set, so GraphReader reads and asks there, not in the embedded"
            " Neo4j that this command is about.",
            err=True,
        )


def _show(server: "RunningServer", json: bool) -> None:
    shown = {
        "uri": server.uri,
        "username": server.username,
        "password": server.password.get_secret_value(),
        "http": server.http,
        "version": server.version,
    }
    if json:
        print_json(shown)
        return
    typer.echo(f"Neo4j {server.version} is running (process {server.pid}).")
    typer.echo(f"  address   {server.uri}")
    typer.echo(f"  user      {server.username}")
    typer.echo(f"  password  {shown['password']}")
    typer.echo(f"  Browser   {server.http}/browser/")
    typer.echo(f"  data      {server.home}")
    typer.echo("Stop it with: graphreader neo4j stop")
