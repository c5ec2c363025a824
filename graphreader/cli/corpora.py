"""`graphreader list`, `stats` and `delete`: what there is, how much of it, and taking it out."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from graphreader.cli.opening import open_reader
from graphreader.errors import UsageError
from graphreader.settings import Settings

if TYPE_CHECKING:
    from graphreader.store.library import DocumentSummary, Stats

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def list_(
    corpus: Annotated[str | None, typer.Option(help="Only this corpus.")] = None,
    json: JsonFlag = False,
) -> None:
    """List corpora, their documents and how far each one is."""
    settings = Settings.read()
    with open_reader(corpus or "default", settings) as reader:
        found = {}
        for name in [corpus] if corpus else [one.corpus for one in reader.corpora()]:
            reader.corpus = name
            found[name] = reader.documents()
    if json:
        _print_list_json(found)
    elif not found:
        print("Nothing is read yet: `graphreader ingest PATH` reads texts in.")
    else:
        _print_list(found)


def stats(
    corpus: Annotated[str, typer.Option(help="The corpus to count.")] = "default",
    json: JsonFlag = False,
) -> None:
    """Count documents, chunks, facts and key elements; name the busiest key elements."""
    settings = Settings.read()
    with open_reader(corpus, settings) as reader:
        counted = reader.stats()
    if json:
        from dataclasses import asdict
        from json import dumps

        print(dumps(asdict(counted), ensure_ascii=False))
    else:
        _print_stats(counted)


def delete(
    document: Annotated[str | None, typer.Argument(help="Id, path or title of a document.")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="The whole corpus instead of one document.")
    ] = False,
    corpus: Annotated[str, typer.Option(help="The corpus to delete from.")] = "default",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask back.")] = False,
) -> None:
    """Take a document, or a whole corpus, out of the graph."""
    if (document is None) == (not everything):
        raise UsageError("Name one document, or say --all for the whole corpus.")
    if everything and not yes and sys.stdin.isatty():
        typer.confirm(f"Delete the whole corpus {corpus!r}?", abort=True)
    settings = Settings.read()
    with open_reader(corpus, settings) as reader:
        gone = reader.delete(document, everything=everything)
    print(f"{corpus}: {gone} document{'s' if gone != 1 else ''} deleted.")


def _print_list(found: "dict[str, list[DocumentSummary]]") -> None:
    from rich.console import Console
    from rich.table import Table

    out = Console()
    for name, documents in found.items():
        table = Table(title=f"Corpus {name}", title_justify="left", box=None, padding=(0, 2, 0, 0))
        table.add_column("Document", overflow="fold")
        table.add_column("Id", style="dim", no_wrap=True)
        table.add_column("Chunks", justify="right")
        table.add_column("Tokens", justify="right")
        table.add_column("Status")
        for one in documents:
            status = one.status + (f" ({one.failed} without facts)" if one.failed else "")
            table.add_row(one.title, one.id, str(one.chunks), f"{one.tokens:,}", status)
        out.print(table)
        out.print()


def _print_list_json(found: "dict[str, list[DocumentSummary]]") -> None:
    from dataclasses import asdict
    from json import dumps

    corpora = [
        {"corpus": name, "documents": [asdict(one) for one in documents]}
        for name, documents in found.items()
    ]
    print(dumps({"corpora": corpora}, ensure_ascii=False))


def _print_stats(counted: "Stats") -> None:
    from rich.console import Console
    from rich.table import Table

    out = Console()
    title = f"Corpus {counted.corpus}"
    table = Table(title=title, title_justify="left", show_header=False, box=None)
    table.add_column("")
    table.add_column("", justify="right")
    for name, value in (
        ("documents", f"{counted.documents:,}"),
        ("chunks", f"{counted.chunks:,}"),
        ("tokens", f"{counted.tokens:,}"),
        ("facts", f"{counted.facts:,}"),
        ("key elements", f"{counted.key_elements:,}"),
        ("facts per key element", f"{counted.facts_per_element:.1f}"),
        ("neighbors per key element", f"{counted.neighbors_per_element:.1f}"),
    ):
        table.add_row(name, value)
    out.print(table)
    busiest = ", ".join(f"{name} ({facts})" for name, facts in counted.busiest)
    out.print(f"\nBusiest: {busiest or 'none'}", highlight=False)
