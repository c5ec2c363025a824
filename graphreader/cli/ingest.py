"""`graphreader ingest`: read files and folders into a corpus."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphreader.cli.failing import Interrupted, complain
from graphreader.cli.opening import MaxCalls, MaxTokens, open_reader
from graphreader.cli.printing import JsonFlag, cost, plural, print_json

if TYPE_CHECKING:
    from graphreader.ingestion.report import IngestReport


def ingest(
    paths: Annotated[
        list[Path],
        typer.Argument(help="Files (.txt, .md) and folders of them.", metavar="PATH"),
    ],
    corpus: Annotated[
        str, typer.Option(help="The corpus to read into.", metavar="NAME")
    ] = "default",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what it would cost.")
    ] = False,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    json: JsonFlag = False,
) -> None:
    """Read texts into the graph. What is there already costs nothing."""
    # Not Path.expanduser, which takes the file `~backup.txt` for the home of an unknown user.
    paths = [Path(os.path.expanduser(path)) for path in paths]
    refusals = _hopeless(paths)
    if refusals:
        complain("\n".join(refusals))
        raise typer.Exit(2)
    if dry_run:
        from graphreader.cli.estimate import tell

        return tell(paths, corpus, json, known=True)
    with open_reader(corpus, max_calls=max_calls, max_tokens=max_tokens) as reader:
        from graphreader.cli.progress import IngestDrawing

        try:
            with IngestDrawing() as drawing:
                report = reader.ingest(*paths, progress=drawing)
        except Interrupted as error:
            error.add_note("What was read so far is kept: the same command reads on.")
            raise
    if json:
        from dataclasses import asdict

        print_json(asdict(report))
    else:
        print(_summary(report))
        for note in report.notes:
            complain(note)
    statuses = {one.status for one in report.documents}
    if statuses & {"refused", "incomplete"}:
        raise typer.Exit(2 if "refused" in statuses else 1)


def _hopeless(paths: list[Path]) -> list[str]:
    """Why nothing at all can be read, said before any server is started; else nothing."""
    from graphreader.errors import DocumentError
    from graphreader.ingestion.loading import find_files, load

    refusals = []
    for path in paths:
        try:
            for file in find_files([path]):
                try:
                    load(file, "")
                except DocumentError as error:
                    refusals.append(str(error))
                else:
                    return []
        except DocumentError as error:
            refusals.append(str(error))
    return refusals


def _summary(report: "IngestReport") -> str:
    """One line: what became of the files, who read them, and what a model cost."""
    count = {
        status: sum(one.status == status for one in report.documents)
        for status in ("read", "incomplete", "unchanged", "refused")
    }
    asked = plural(sum(one.asked for one in report.documents), "chunk")
    count["read"] += count["incomplete"]
    parts = [f"{count['read']} read ({asked}, {plural(report.facts, 'fact')})"]
    if count["incomplete"]:
        parts.append(f"{count['incomplete']} of them incomplete")
    parts += [f"{count[one]} {one}" for one in ("unchanged", "refused") if count[one]]
    if report.dropped:
        parts.append(f"{plural(report.dropped, 'key element')} dropped (not in their facts)")
    read_by = "offline, no language model" if report.decider == "offline" else report.decider
    spent = report.usage
    told = f" Cost: {cost(spent)}." if spent.tokens or spent.reused else ""
    return f"{report.corpus}: {', '.join(parts)}. Decider: {read_by}.{told}"
