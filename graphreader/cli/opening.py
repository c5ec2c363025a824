"""Opening a reader for a command, with something to look at while the embedded server starts."""

from typing import TYPE_CHECKING

from graphreader.settings import Settings

if TYPE_CHECKING:
    from graphreader.graph_reader import GraphReader


def open_reader(corpus: str, settings: Settings) -> "GraphReader":
    """Return a reader whose Neo4j, if it is the embedded one, runs already."""
    if not settings.neo4j_uri:
        from graphreader.cli.starting import start_embedded

        start_embedded(settings)
    from graphreader.graph_reader import GraphReader

    return GraphReader(corpus, settings=settings)
