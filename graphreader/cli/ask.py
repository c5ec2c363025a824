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
            print_json(reader.ask(question).as_dict())
            return
        from graphreader.cli.watching import watch

        watch(reader.stream(question))
