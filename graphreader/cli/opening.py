"""Opening what a command needs, with something to look at meanwhile."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from graphreader.cli.printing import working

if TYPE_CHECKING:
    from graphreader.graph_reader import GraphReader
    from graphreader.settings import Settings


MaxCalls = Annotated[
    int | None,
    typer.Option("--max-calls", min=1, metavar="N", help="End after N calls of the model."),
]

MaxTokens = Annotated[
    int | None,
    typer.Option("--max-tokens", min=1, metavar="N", help="End before N tokens are spent."),
]


def read_settings(**given: object) -> "Settings":
    """The settings of the environment and of `.env`; what is `given` (not None) wins."""
    from graphreader.settings import Settings, load_environment

    load_environment()
    return Settings.read(**{name: value for name, value in given.items() if value is not None})


@contextmanager
def open_reader(corpus: str, *, graph: bool = True, **given: object) -> "Iterator[GraphReader]":
    """A reader whose Neo4j, if it is the embedded one, runs already; closed at the end.

    `given` (and not None) are settings that the person named in the command; without `graph` no
    Neo4j is started. The name of the corpus is looked at first, so that no server is started for a
    wrong one.
    """
    settings = read_settings(**given)
    with working("Opening the graph" if graph else "Counting"):
        from graphreader.graph_reader import GraphReader

        reader = GraphReader(corpus, settings=settings)
    if graph and not settings.neo4j_uri:
        from graphreader.cli.starting import start_embedded

        start_embedded(settings)
    with reader:
        yield reader
