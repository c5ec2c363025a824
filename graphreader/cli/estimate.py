"""`graphreader estimate`: what reading texts in would cost, before anything is spent."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from graphreader.cli.failing import complain
from graphreader.cli.opening import open_reader, read_settings
from graphreader.cli.printing import (
    JsonFlag,
    money,
    plural,
    print_json,
    roughly,
    table_console,
    working,
)
from graphreader.cli.texts import Exclude, Include, Name, Paths, expanded

if TYPE_CHECKING:
    from graphreader.estimate import Estimate, Spending
    from graphreader.settings import Settings


_UNKNOWN = "not known: name it in a file (GRAPHREADER_PRICES)"


def estimate(
    paths: Paths, include: Include, exclude: Exclude, name: Name = None, json: JsonFlag = False
) -> None:
    """Say what reading texts in will cost. Nothing is sent, and no Neo4j is needed.

    All texts count as new; `graphreader ingest --dry-run` looks into the graph for what is there.
    """
    tell(expanded(paths, name), include, exclude, name, "default", json, known=False)


def tell(
    paths: Sequence[str],
    include: Sequence[str],
    exclude: Sequence[str],
    name: str | None,
    corpus: str,
    json: bool,
    *,
    known: bool,
) -> None:
    """Print an estimate; with `known`, of what is missing in the corpus.

    Exits with 2 where a file cannot be read, as reading them in would.
    """
    settings = read_settings()
    known = known and _graph_is_there(settings)
    with open_reader(corpus, graph=known) as reader, working("Counting"):
        found = reader.estimate(*paths, include=include, exclude=exclude, id=name, known=known)
    if json:
        print_json({**asdict(found), "dollars": found.dollars})
    elif found.documents:
        _print(found)
    for refusal in found.refused:
        complain(refusal)
    if found.refused:
        raise typer.Exit(2)


def _graph_is_there(settings: "Settings") -> bool:
    """Whether there is a graph to look into: an embedded one is not fetched for that."""
    from graphreader.store.embedded.process import ServerHome as Home

    return bool(settings.neo4j_uri) or Home.of(settings).has_data


def _print(found: "Estimate") -> None:
    """A row for each thing that counts."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, told in _rows(found):
        table.add_row(name, Text(told))
    table_console().print(table)


def _rows(found: "Estimate") -> list[tuple[str, str]]:
    there = found.chunks - found.missing
    rows = [
        ("documents", f"{found.documents:,}"),
        ("chunks", f"{found.chunks:,}" + (f", {there:,} of them read already" if there else "")),
        ("calls", f"{found.reading.calls:,}"),
    ]
    if not found.question.input_tokens and not found.reading.input_tokens:
        model = "offline, no language model: nothing is sent, nothing costs anything"
        return [*rows, ("model", model)]
    sent, received = found.reading.input_tokens, found.reading.output_tokens
    rows += [("tokens in", f"{sent:,}"), ("tokens out", f"about {roughly(received)}")]
    if found.embedding.input_tokens:
        rows.append(("embedding", f"about {roughly(found.embedding.input_tokens)} tokens"))
    return [
        *rows,
        ("price", _price(found)),
        ("model", f"{found.model}, embeddings {found.embeddings}"),
        ("a question", f"about {_cost(found.question)}"),
        ("", f"at most {_cost(found.question_at_most)}"),
    ]


def _price(found: "Estimate") -> str:
    if found.dollars is not None:
        return f"about {money(found.dollars)}" if found.dollars else money(0)
    if found.reading.dollars is None:
        return _UNKNOWN
    return f"about {money(found.reading.dollars)}, and that of the embeddings, {_UNKNOWN}"


def _cost(cost: "Spending") -> str:
    """`$0.05 (21 calls, 54,000 tokens)`; without a price where none is known."""
    size = f"{plural(cost.calls, 'call')}, {roughly(cost.input_tokens + cost.output_tokens)} tokens"
    return size if cost.dollars is None else f"{money(cost.dollars)} ({size})"
