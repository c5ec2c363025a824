"""`graphreader list`, `stats` and `delete`: what there is, how much of it, and taking it out."""

from typing import TYPE_CHECKING, Annotated

import typer

from graphreader.cli.agreeing import agreed
from graphreader.cli.failing import complain
from graphreader.cli.opening import open_reader
from graphreader.cli.printing import JsonFlag, as_line, plural, print_json, table_console
from graphreader.errors import UsageError

if TYPE_CHECKING:
    from graphreader.store.catalog import DocumentSummary, Stats


_ROOMY = 100


def list_(
    corpus: Annotated[str | None, typer.Option(help="Only this corpus.", metavar="NAME")] = None,
    json: JsonFlag = False,
) -> None:
    """List corpora, their documents and how far each one is."""
    with open_reader("default" if corpus is None else corpus) as reader:
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
    corpus: Annotated[str, typer.Option(help="The corpus to count.", metavar="NAME")] = "default",
    json: JsonFlag = False,
) -> None:
    """Count documents, chunks, facts and key elements; name the busiest key elements."""
    with open_reader(corpus) as reader:
        counted = reader.stats()
    if json:
        from dataclasses import asdict

        print_json(asdict(counted))
    else:
        _print_stats(counted)


def delete(
    document: Annotated[
        str | None,
        typer.Argument(help="Id, path or title of a document.", metavar="DOCUMENT"),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="The whole corpus instead of one document.")
    ] = False,
    corpus: Annotated[
        str, typer.Option(help="The corpus to delete from.", metavar="NAME")
    ] = "default",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask back.")] = False,
    json: JsonFlag = False,
) -> None:
    """Take a document, or a whole corpus, out of the graph."""
    if (document is None) == (not everything):
        raise UsageError("Name one document, or say --all for the whole corpus.")
    if everything and not yes and not agreed(f"Delete the whole corpus {corpus!r}?"):
        complain("Nothing was deleted.")
        raise typer.Exit(1)
    with open_reader(corpus) as reader:
        gone = reader.delete(document, everything=everything)
    if json:
        print_json({"corpus": corpus, "deleted": gone})
    else:
        print(f"{corpus}: {plural(gone, 'document')} deleted.")


def _print_list(found: "dict[str, list[DocumentSummary]]") -> None:
    from rich.table import Table
    from rich.text import Text

    out = table_console()
    for place, (name, documents) in enumerate(found.items()):
        if place:
            out.print()
        out.print(
            Text.assemble(
                "Corpus ", as_line(name, "bold"), f", {plural(len(documents), 'document')}"
            )
        )
        if not documents:
            continue
        # Ids take the room of titles: where it is scarce they stand only where titles are alike.
        with_ids = out.width >= _ROOMY or len({one.title for one in documents}) < len(documents)
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        table.add_column("Document", overflow="fold")
        if with_ids:
            table.add_column("Id", style="dim", overflow="fold")
        table.add_column("Chunks", justify="right")
        table.add_column("Tokens", justify="right")
        table.add_column("Status")
        for one in documents:
            status = one.status + (f" ({one.failed} without facts)" if one.failed else "")
            ids = [one.id] if with_ids else []
            table.add_row(as_line(one.title), *ids, f"{one.chunks:,}", f"{one.tokens:,}", status)
        out.print(table)


def _print_list_json(found: "dict[str, list[DocumentSummary]]") -> None:
    from dataclasses import asdict

    corpora = [
        {"corpus": name, "documents": [asdict(one) for one in documents]}
        for name, documents in found.items()
    ]
    print_json({"corpora": corpora})


def _print_stats(counted: "Stats") -> None:
    from rich.table import Table
    from rich.text import Text

    out = table_console()
    out.print(Text.assemble("Corpus ", as_line(counted.corpus, "bold")))
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column("")
    table.add_column("", justify="right")
    for name, value in (
        ("documents", f"{counted.documents:,}"),
        ("chunks", f"{counted.chunks:,}"),
        ("tokens", f"{counted.tokens:,}"),
        ("facts", f"{counted.facts:,}"),
        ("key elements", f"{counted.key_elements:,}"),
        ("merged into those", f"{counted.merged:,}"),
        ("facts per key element", f"{counted.facts_per_element:.1f}"),
        ("neighbors per key element", f"{counted.neighbors_per_element:.1f}"),
    ):
        table.add_row(name, value)
    out.print(table)
    out.print()
    busiest = ", ".join(f"{name} ({facts:,})" for name, facts in counted.busiest)
    out.print(as_line(f"Busiest (facts): {busiest or 'none'}"))
