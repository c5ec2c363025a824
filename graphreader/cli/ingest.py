"""`graphreader ingest`: read files and folders into a corpus."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from graphreader.cli.opening import open_reader
from graphreader.settings import Settings

if TYPE_CHECKING:
    from graphreader.ingestion.report import DocumentReport, IngestReport

MARKS = {
    "read": "[green]read[/green]      ",
    "unchanged": "[dim]unchanged[/dim] ",
    "incomplete": "[yellow]incomplete[/yellow]",
    "refused": "[red]refused[/red]   ",
}


def ingest(
    paths: Annotated[list[Path], typer.Argument(help="Files (.txt, .md) and folders of them.")],
    corpus: Annotated[str, typer.Option(help="The corpus to read into.")] = "default",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Read texts into the graph. What is there already costs nothing."""
    settings = Settings.read()
    with open_reader(corpus, settings) as reader, _Bars() as bars:
        report = reader.ingest(*paths, progress=bars)
    if json:
        _print_json(report)
    else:
        _print_summary(report)
    statuses = {one.status for one in report.documents}
    if "refused" in statuses:
        raise typer.Exit(2)
    if "incomplete" in statuses:
        raise typer.Exit(1)


class _Bars:
    """Live progress on stderr: a bar for the chunks, a bar for the vectors, a line a document."""

    def __init__(self) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        self._bars = Progress(*columns, console=Console(stderr=True), transient=True)
        self._chunks = self._bars.add_task("Chunks", total=0, visible=False)
        self._vectors = self._bars.add_task("Key elements", total=0, visible=False)

    def __enter__(self) -> "_Bars":
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def __call__(self, event: Any) -> None:
        from graphreader.ingestion.report import ChunksRead, DocumentBegun, DocumentEnded, Embedded

        match event:
            case DocumentBegun(missing=missing):
                total = (self._bars.tasks[0].total or 0) + missing
                self._bars.update(self._chunks, total=total, visible=total > 0)
            case ChunksRead(chunks=chunks):
                self._bars.advance(self._chunks, chunks)
            case Embedded(done=done, total=total):
                self._bars.update(self._vectors, completed=done, total=total, visible=True)
            case DocumentEnded(report=report):
                self._bars.console.print(_line(report), highlight=False, soft_wrap=True)


def _line(report: "DocumentReport") -> str:
    from rich.markup import escape

    line = f"{MARKS[report.status]} {escape(report.title)}"
    if report.chunks:
        line += f"  [dim]{report.chunks} chunks[/dim]"
    if report.failed:
        line += f"  [yellow]{report.failed} without facts; the same command asks again[/yellow]"
    if report.error:
        line += f"\n           {escape(report.error)}"
    return line


def _print_summary(report: "IngestReport") -> None:
    """One line on stdout."""
    read = sum(one.status in ("read", "incomplete") for one in report.documents)
    asked = sum(one.asked for one in report.documents)
    same = sum(one.status == "unchanged" for one in report.documents)
    print(
        f"{report.corpus}: {read} read ({asked} chunks, {report.facts} facts), {same} unchanged, "
        f"{len(report.documents) - read - same} refused. Decider: {report.decider}."
    )


def _print_json(report: "IngestReport") -> None:
    from dataclasses import asdict
    from json import dumps

    print(dumps(asdict(report), ensure_ascii=False))
