"""`graphreader ask --reader NAME`: another reader in GraphReader's place."""

from graphreader.cli.opening import open_reader
from graphreader.cli.printing import print_json, working


def ask_another(
    name: str,
    question: str,
    corpus: str,
    json: bool,
    *,
    max_calls: int | None,
    max_tokens: int | None,
) -> None:
    """Answer by another reader, and print it as a reading of GraphReader is printed."""
    with working("Opening the readers"):
        from graphreader import readers
        from graphreader import readers as another_reader

        readers.check_for_corpus(name)
    opening = open_reader(corpus, max_calls=max_calls, max_tokens=max_tokens)
    with opening as reader, working("Reading"):
        reading = another_reader.ask(name, reader.context, question)
    if json:
        print_json(reading.as_dict())
        return
    from rich.console import Console

    from graphreader.cli.reading_printed import print_outcome

    print_outcome(Console(highlight=False), reading)
