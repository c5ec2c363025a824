"""`graphreader reindex`: embed a corpus anew after the embedding changed."""

from typing import Annotated

import typer

from graphreader.cli.opening import open_reader
from graphreader.settings import Settings


def reindex(
    corpus: Annotated[str, typer.Option(help="The corpus to embed anew.")] = "default",
) -> None:
    """Embed key elements anew with the configured embeddings. No text is read again."""
    with open_reader(corpus, Settings.read()) as reader:
        done = reader.reindex()
    print(f"Embedded anew: {', '.join(done)}.")
