"""Opening what a command needs, with something to look at meanwhile."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphreader.graph_reader import GraphReader
    from graphreader.settings import Settings


def read_settings() -> "Settings":
    """The settings of the environment and of `.env`."""
    from graphreader.settings import Settings, load_environment

    load_environment()
    return Settings.read()


@contextmanager
def open_reader(corpus: str) -> "Iterator[GraphReader]":
    """A reader whose Neo4j, if it is the embedded one, runs already; closed at the end.

    The name of the corpus is looked at first, so that no server is started for a wrong one.
    """
    from rich.console import Console

    settings = read_settings()
    console = Console(stderr=True)
    with console.status("Opening the graph") if console.is_terminal else _nothing():
        from graphreader.graph_reader import GraphReader

        reader = GraphReader(corpus, settings=settings)
    if not settings.neo4j_uri:
        from graphreader.cli.starting import start_embedded

        start_embedded(settings)
    with reader:
        yield reader


@contextmanager
def _nothing() -> Iterator[None]:
    yield
