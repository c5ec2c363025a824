"""`graphreader ask`: answer a question, with the paths to be watched while they run."""

from typing import TYPE_CHECKING, Annotated

import typer

from graphreader.cli.opening import open_reader
from graphreader.settings import Settings

if TYPE_CHECKING:
    from graphreader.reading import Reading


def ask(
    question: Annotated[str, typer.Argument(help="What you want to know.")],
    corpus: Annotated[str, typer.Option(help="The corpus to ask.")] = "default",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Explore the graph on five paths and answer with citations."""
    settings = Settings.read()
    with open_reader(corpus, settings) as reader:
        if json:
            _print_json(reader.ask(question))
            return
        from graphreader.cli.watching import watch

        watch(reader.stream(question))


def _print_json(reading: "Reading") -> None:
    from json import dumps

    print(dumps(reading.as_dict(), ensure_ascii=False))
