"""`graphreader export` and `import`: a whole corpus as one file."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from graphreader.cli.failing import Interrupted, complain
from graphreader.cli.opening import open_reader
from graphreader.cli.printing import JsonFlag, plural, print_json, printable
from graphreader.errors import UsageError

if TYPE_CHECKING:
    from graphreader.ingestion.export_file import Counts, Export
    from graphreader.ingestion.transfer import TransferProgress, TransferReport


_STANDARD = "-"


def export(
    file: Annotated[
        str, typer.Argument(help="The file to write, - for standard output.", metavar="FILE")
    ],
    corpus: Annotated[str, typer.Option(help="The corpus to export.", metavar="NAME")] = "default",
    json: JsonFlag = False,
) -> None:
    """Write a whole corpus into one file of JSON Lines, vectors and all."""
    if file == _STANDARD and json:
        raise UsageError("Standard output takes the corpus or --json, not both: name a file.")
    target = sys.stdout.buffer if file == _STANDARD else os.path.expanduser(file)
    with open_reader(corpus) as reader, _counting("Exporting") as told:
        report = reader.export(target, progress=told)
    _tell(report, f"exported to {file}", json, aside=file == _STANDARD)
    if report.refused:
        raise typer.Exit(1)


def import_(
    file: Annotated[
        str, typer.Argument(help="An exported corpus, - for standard input.", metavar="FILE")
    ],
    corpus: Annotated[
        str | None,
        typer.Option(
            help="The corpus to import into; left out, the exported name.", metavar="NAME"
        ),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Read an exported corpus into the graph. No model is asked."""
    with _opened(file) as lines:
        name = lines.header.corpus if corpus is None else corpus
        with open_reader(name) as reader, _counting("Importing") as told:
            try:
                report = reader.import_corpus(lines, progress=told)
            except Interrupted as error:
                error.add_note("The same command goes on from here.")
                raise
    _tell(report, "imported", json)
    if report.refused:
        raise typer.Exit(2)


@contextmanager
def _opened(file: str) -> "Iterator[Export]":
    """What is to be imported, once it is known to be an export; no server is started before."""
    from graphreader.ingestion.export_file import Export, open_export

    if file != _STANDARD:
        with open_export(os.path.expanduser(file)) as export:
            yield export
    elif sys.stdin.isatty():
        raise UsageError("Nothing is piped into standard input: name a file.")
    else:
        yield Export(sys.stdin.buffer)


@contextmanager
def _counting(words: str) -> "Iterator[TransferProgress]":
    """Show in a terminal how much there is already, on stderr."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield lambda counts: None
        return
    with console.status(words) as status:
        yield lambda counts: status.update(f"{words}: {_words(counts)}")


def _tell(report: "TransferReport", done: str, json: bool, aside: bool = False) -> None:
    """Say what was done; `aside` on stderr, where stdout holds something else."""
    if json:
        return print_json(report.as_dict())
    parts = [_words(report)]
    if report.incomplete:
        parts.append(f"{plural(report.incomplete, 'document')} of them not complete")
    if report.unchanged:
        parts.append(f"{plural(report.unchanged, 'document')} there already")
    sentence = printable(f"{report.corpus}: {', '.join(parts)}, {done}.")
    (complain if aside else print)(sentence)
    for refused in report.refused:
        complain(printable(refused))


def _words(counts: "Counts | TransferReport") -> str:
    return ", ".join(
        [
            plural(counts.documents, "document"),
            plural(counts.chunks, "chunk"),
            plural(counts.facts, "fact"),
            plural(counts.key_elements, "key element"),
        ]
    )
