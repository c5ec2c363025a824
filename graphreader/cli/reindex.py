"""`graphreader reindex`: embed a corpus anew after the embedding changed."""

from typing import Annotated

import typer

from graphreader.cli.opening import open_reader
from graphreader.cli.printing import JsonFlag, print_json


def reindex(
    corpus: Annotated[
        str, typer.Option(help="The corpus to embed anew.", metavar="NAME")
    ] = "default",
    json: JsonFlag = False,
) -> None:
    """Embed key elements anew with the configured embeddings. No text is read again."""
    with open_reader(corpus) as reader:
        from graphreader.cli.progress import IngestDrawing

        with IngestDrawing("reindex") as drawing:
            done = reader.reindex(progress=drawing)
    if json:
        print_json({"embedded": done})
    else:
        print(f"Embedded anew: {', '.join(done)}.")
