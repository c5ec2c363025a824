"""`graphreader ingest`: read files, folders and what comes on stdin into a corpus."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from graphreader.cli.failing import Interrupted, complain
from graphreader.cli.opening import MaxCalls, MaxTokens, open_reader
from graphreader.cli.printing import JsonFlag, cost, plural, print_json, printable
from graphreader.cli.texts import STDIN, Exclude, Include, Name, Paths, expanded
from graphreader.errors import UsageError

if TYPE_CHECKING:
    from graphreader.graph_reader import GraphReader
    from graphreader.ingestion.report import IngestReport


_FAILED = 10  # failed chunks whose reasons are told; the JSON has all


def ingest(
    paths: Paths,
    include: Include,
    exclude: Exclude,
    name: Name = None,
    corpus: Annotated[
        str, typer.Option(help="The corpus to read into.", metavar="NAME")
    ] = "default",
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Ask again for chunks that failed; no PATH.")
    ] = False,
    normalize: Annotated[
        bool | None,
        typer.Option("--normalize/--no-normalize", help="Merge key elements at the end?"),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what it would cost.")
    ] = False,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    json: JsonFlag = False,
) -> None:
    """Read texts into the graph. What is there already costs nothing."""
    if retry_failed:
        _refuse_beside_retry(paths, include, exclude, name, normalize is not None, dry_run)
    else:
        paths = expanded(paths, name)
        _refuse_hopeless(paths, include, exclude)
    if dry_run:
        from graphreader.cli.estimate import tell

        return tell(paths, include, exclude, name, corpus, json, known=True)
    with open_reader(corpus, max_calls=max_calls, max_tokens=max_tokens) as reader:
        from graphreader.cli.progress import IngestDrawing

        try:
            with IngestDrawing() as drawing:
                if retry_failed:
                    report = reader.retry_failed(progress=drawing)
                else:
                    report = reader.ingest(
                        *paths,
                        include=include,
                        exclude=exclude,
                        id=name,
                        normalize=normalize,
                        progress=drawing,
                    )
        except Interrupted as error:
            error.add_note("What was read so far is kept: the same command reads on.")
            raise
        waiting = _waiting(reader, report) if retry_failed else []
    tell_report(replace(report, notes=(*report.notes, *waiting)), json)
    if waiting:
        raise typer.Exit(1)


def _waiting(reader: "GraphReader", report: "IngestReport") -> list[str]:
    """A note on documents that are not read to their end, though no chunk of them failed."""
    from graphreader.runs import unfinished_note

    documents = reader.documents()
    asked = {one.id for one in report.documents}
    there = [one for one in documents if one.status == "incomplete" and one.id not in asked]
    return unfinished_note(len(documents), [one.title for one in there])


def _refuse_beside_retry(*given: object) -> None:
    if any(given):
        raise UsageError(
            "--retry-failed asks again for the failed chunks of the whole corpus: it goes with "
            "--corpus, --max-calls, --max-tokens and --json only."
        )


def _refuse_hopeless(paths: Sequence[str], include: Sequence[str], exclude: Sequence[str]) -> None:
    """Say at once, before any server is started, that nothing at all can be read."""
    if STDIN in paths:  # it can be read but once
        return
    refusals = []
    for refusal in _refusals(paths, include, exclude):
        if refusal is None:
            return
        refusals.append(refusal)
    if refusals:
        complain("\n".join(refusals))
        raise typer.Exit(2)


def _refusals(
    paths: Sequence[str], include: Sequence[str], exclude: Sequence[str]
) -> Iterator[str | None]:
    """Why each document cannot be read, None for one that can."""
    from graphreader.ingestion.loading.content import Refused
    from graphreader.ingestion.loading.sources import sources_of

    for source in sources_of(paths, include, exclude):
        for found in source.documents(""):
            yield printable(found.reason) if isinstance(found, Refused) else None


def tell_report(report: "IngestReport", json: bool) -> None:
    """Print what became of a call, and exit with 1 or 2 unless all is complete."""
    if json:
        print_json(report.as_dict())
    else:
        print(_summary(report))
        for line in (*_failures(report), *report.notes):
            complain(line)
    statuses = {one.status for one in report.documents}
    if statuses & {"refused", "incomplete"}:
        raise typer.Exit(2 if "refused" in statuses else 1)


def _summary(report: "IngestReport") -> str:
    """One line: what became of the documents, who read them, and what a model cost."""
    read_by = "offline, no language model" if report.decider == "offline" else report.decider
    spent = report.usage
    told = f" Cost: {cost(spent)}." if spent.tokens or spent.reused else ""
    return f"{report.corpus}: {', '.join(_counts(report))}. Decider: {read_by}.{told}"


def _counts(report: "IngestReport") -> Iterator[str]:
    """`3 read (12 chunks, 240 facts)`, `1 of them incomplete`, `2 unchanged`, ..."""
    by_status: dict[str, int] = {}
    reused = skipped = 0
    for one in report.documents:
        by_status[one.status] = by_status.get(one.status, 0) + 1
        reused += 0 if one.status == "unchanged" else one.chunks - one.asked
        skipped += len(one.skipped)
    incomplete = by_status.get("incomplete", 0)
    kept = f"; {plural(reused, 'chunk')} kept" if reused else ""
    asked = f"{plural(report.asked_chunks, 'chunk')}, {plural(report.facts, 'fact')}{kept}"
    yield f"{by_status.get('read', 0) + incomplete:,} read ({asked})"
    if incomplete:
        yield f"{incomplete:,} of them incomplete"
    for status in ("unchanged", "refused"):
        if status in by_status:
            yield f"{by_status[status]:,} {status}"
    if skipped:
        yield f"{plural(skipped, 'part')} passed over"
    if report.dropped:
        yield f"{plural(report.dropped, 'key element')} dropped (not in their facts)"


def _failures(report: "IngestReport") -> Iterator[str]:
    """The chunks that have no facts, why, and what to do; nothing where there is none."""
    failed = [(one.title, chunk) for one in report.documents for chunk in one.failed]
    for title, chunk in failed[:_FAILED]:
        yield printable(f"{title}, chunk {chunk.chunk}: {chunk.reason}")
    if len(failed) > _FAILED:
        yield f"... and {len(failed) - _FAILED:,} more (--json tells all)."
    if failed:
        yield (
            f"{plural(len(failed), 'chunk')} without facts. To ask for them again: "
            f"graphreader ingest --retry-failed --corpus {shlex.quote(report.corpus)}"
        )
