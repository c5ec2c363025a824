"""`graphreader ask`: answer a question, with the paths to be watched while they run."""

from typing import Annotated

import typer

from graphreader.cli.opening import MaxCalls, MaxTokens, open_reader
from graphreader.cli.printing import JsonFlag, print_json


def ask(
    question: Annotated[str, typer.Argument(help="What you want to know.", metavar="QUESTION")],
    corpus: Annotated[str, typer.Option(help="The corpus to ask.", metavar="NAME")] = "default",
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    json: JsonFlag = False,
) -> None:
    """Explore the graph on five paths and answer with citations."""
    with open_reader(corpus, max_calls=max_calls, max_tokens=max_tokens) as reader:
        if json:
            reading = reader.ask(question)
            print_json(reading.as_dict())
        else:
            from graphreader.cli.watching import watch

            reading = watch(reader.stream(question))
    if reading.paths and all(path.stopped == "error" for path in reading.paths):
        raise typer.Exit(1)  # what was found before is shown, but it is no success
