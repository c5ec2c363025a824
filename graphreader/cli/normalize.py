"""`graphreader normalize`: merge what means one thing, or take it all back."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphreader.cli.opening import open_reader
from graphreader.cli.printing import JsonFlag, as_line, plural, print_json, table_console
from graphreader.errors import UsageError

if TYPE_CHECKING:
    from graphreader.ingestion.normalization.merging import Merge
    from graphreader.ingestion.report import NormalizationReport


_SHOWN = 20  # merges of a table; the JSON has all


def normalize(
    corpus: Annotated[
        str, typer.Option(help="The corpus to normalize.", metavar="NAME")
    ] = "default",
    stages: Annotated[
        str | None,
        typer.Option(
            help="Of semantic and association, with commas; or none.",
            metavar="STAGES",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take all merges back.")] = False,
    report: Annotated[
        Path | None,
        typer.Option(help="Write all merges into this file, as JSON.", metavar="FILE"),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Merge key elements that mean one thing.

    `ingest` does it at its end. No text is read again, and no model is asked.
    """
    if undo and stages is not None:
        raise UsageError("--undo takes everything back: leave out --stages.")
    with open_reader(corpus, normalize=stages) as reader:
        from graphreader.cli.progress import IngestDrawing

        with IngestDrawing("normalize") as drawing:
            done = reader.normalize(dry_run=dry_run, undo=undo, progress=drawing)
    if report:
        _write(done, report)
    if json:
        print_json(done.as_dict())
    else:
        _tell(done)


def _write(done: "NormalizationReport", file: Path) -> None:
    from json import dumps

    text = dumps(done.as_dict(), ensure_ascii=False, indent=1)
    try:
        file.expanduser().write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}.") from None


def _tell(done: "NormalizationReport") -> None:
    """A line that says what changed, and the merges that are new or all that stand."""
    print(f"{done.corpus}: {_changes(done)}")
    new = [one for one in done.merges if one.element.id in done.merged]
    shown = new or list(done.merges)
    if shown:
        _print_table(shown[:_SHOWN])
    if len(shown) > _SHOWN:
        print(f"... and {len(shown) - _SHOWN:,} more: --report FILE has all of them.")


def _changes(done: "NormalizationReport") -> str:
    told = [
        plural(count, one, many)
        for count, one, many in (
            (len(done.merged), "merge", ""),
            (len(done.parted), "merge taken back", "merges taken back"),
            (done.moved, "merge with new facts", "merges with new facts"),
        )
        if count
    ]
    kept = f"{plural(len(done.merges), 'merge')} in all"
    if not told:
        return f"nothing {'would change' if done.dry_run else 'changed'}, {kept}."
    return f"{'would be: ' if done.dry_run else ''}{', '.join(told)}; {kept}."


def _print_table(shown: "list[Merge]") -> None:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("Key element", overflow="fold")
    table.add_column("Merged into", overflow="fold")
    table.add_column("By")
    table.add_column("Facts", justify="right")
    table.add_column("Score", justify="right")
    for one in shown:
        name, into = as_line(one.element.name), as_line(one.into.name)
        table.add_row(name, into, one.stage, f"{one.element.facts:,}", f"{one.score:.3f}")
    table_console().print(table)
