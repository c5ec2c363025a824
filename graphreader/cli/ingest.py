"""`graphreader ingest`: read texts into a corpus."""

import re
import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from graphreader.cli import options
from graphreader.cli.console import (
    cost_sentence,
    cost_text,
    literal_line,
    local_time,
    money,
    plural,
    print_error,
    print_json,
    print_progress,
    print_words,
    single_line,
)
from graphreader.cli.estimate import print_estimate
from graphreader.cli.folders import (
    INTERVAL,
    confirm_pruning,
    folders_among,
    follow,
    print_gone,
    print_pruned,
)
from graphreader.cli.progress import CommandProgress
from graphreader.cli.signals import Interrupted
from graphreader.cli.startup import expand_paths, open_reader
from graphreader.errors import UsageError
from graphreader.usage import Usage
from graphreader.waiting import Waiting

if TYPE_CHECKING:
    from rich.progress import Task

    from graphreader.graph_reader import GraphReader
    from graphreader.ingestion.loading.sources import Source
    from graphreader.ingestion.report import DocumentReport, IngestEvent, IngestReport
    from graphreader.store.catalog import DocumentSummary


_LISTED_FAILURES = 10  # printed reasons of failed chunks; the JSON has all
_LISTED_DOCUMENTS = 20  # printed documents that are refused or have skipped parts
_LISTED_PARTS = 3  # printed skipped parts of one document
_STATUS_WIDTH = 11
_STATUS_STYLES = {
    "read": "green",
    "unchanged": "dim",
    "incomplete": "yellow",
    "waiting": "cyan",
    "refused": "red",
}
_RAY_ADDRESS = re.compile(r"local|auto|\S+:\d+")


def ingest(
    paths: options.Paths,
    include: options.Include,
    exclude: options.Exclude,
    follow_links: options.FollowLinks,
    name: options.StdinName = None,
    encoding: options.Encoding = None,
    allow_private: options.AllowPrivate = False,
    ocr: options.Ocr = False,
    ocr_languages: options.OcrLanguages = None,
    corpus: options.Corpus = "default",
    retry_failed: options.RetryFailed = False,
    normalize: options.Normalize = None,
    again: options.Again = False,
    batch: options.Batch = False,
    wait: options.Wait = False,
    ray: options.Ray = None,
    watch: options.Watch = False,
    interval: options.Interval = None,
    prune: options.Prune = False,
    yes: options.Yes = False,
    dry_run: options.DryRun = False,
    max_calls: options.MaxCalls = None,
    max_tokens: options.MaxTokens = None,
    json: options.Json = False,
    verbose: options.Verbose = False,
    _quiet: options.Quiet = False,
) -> None:
    """Read texts into the graph. A text that was read before costs nothing.

    Examples:
        graphreader ingest notes.md
        graphreader ingest books/ --include "*.epub" --exclude drafts
        graphreader ingest https://example.org/report.pdf
        graphreader ingest - --id notes < notes.txt
        graphreader ingest books/ --again
        graphreader ingest books/ --prune
        graphreader ingest books/ --watch
        graphreader ingest --retry-failed --corpus library
    """
    if retry_failed and any(
        (
            *(paths, include, exclude, follow_links, name, encoding),
            *(allow_private, ocr, ocr_languages),
            *(normalize is not None, again, batch, ray, dry_run, watch, prune),
        )
    ):
        raise UsageError(
            "--retry-failed asks again for the failed chunks of the whole corpus: it goes with "
            "--corpus, --max-calls, --max-tokens and --json only."
        )
    if wait and not batch:
        raise UsageError("--wait waits for the replies of a batch: add --batch.")
    if watch and any((again, batch, ray, dry_run)):
        raise UsageError("--watch goes without --again, --batch, --ray and --dry-run.")
    if interval is not None and not watch:
        raise UsageError("--interval is the time between two looks of a watch: add --watch.")
    paths = [] if retry_failed else expand_paths(paths, name)
    folders = folders_among(paths, watch=watch) if watch or prune else []
    patterns: dict[str, Any] = {"include": include, "exclude": exclude}
    sources: dict[str, Any] = {
        **patterns,
        "follow_links": follow_links,
        "id": name,
        "encoding": encoding,
        "allow_private": allow_private,
        "ocr": ocr_languages or ocr,
    }
    if dry_run:
        if prune:
            with open_reader(corpus) as reader:
                print_gone(reader.prune(*folders, **patterns, dry_run=True))
        return print_estimate(paths, sources, corpus, json, skip_known=not again, batch=batch)
    if watch:

        def read_changed(reader: "GraphReader", changed: "Sequence[Source]") -> None:
            report = _read(reader.ingest, *changed, normalize=normalize, verbose=verbose)
            print_report(report, json, with_time=True)

        with open_reader(corpus) as reader:
            return follow(
                *(reader, folders, sources, read_changed),
                interval=interval or INTERVAL,
                max_calls=max_calls,
                max_tokens=max_tokens,
                prune=prune,
                yes=yes,
                json=json,
            )
    with open_reader(corpus, max_calls=max_calls, max_tokens=max_tokens) as reader:
        gone = confirm_pruning(reader, folders, patterns, yes=yes) if prune else frozenset()
        if retry_failed:
            report = _read(reader.retry_failed, verbose=verbose)
        else:
            report = _read(
                reader.ingest,
                *paths,
                **sources,
                normalize=normalize,
                again=again,
                batch=batch,
                wait=wait,
                ray=ray,
                verbose=verbose,
            )
        pruned = reader.prune(*folders, **patterns, among=gone) if gone else []
    print_ingest_report(report, json, pruned if prune else None)


def _read(
    read: "Callable[..., IngestReport]", *inputs: Any, verbose: bool, **options: Any
) -> "IngestReport":
    """Call a method of the reader with its progress on stderr; return the report of its end."""
    from graphreader.ingestion.report import NothingReadError

    try:
        with IngestProgress(verbose=verbose) as progress:
            return read(*inputs, **options, progress=progress)
    except NothingReadError as error:
        return error.report
    except Interrupted as error:
        command = "the same command" + " without --again" * bool(options.get("again"))
        error.add_note(f"The chunks read so far are kept: {command} continues.")
        raise


def with_ray_address(arguments: list[str]) -> list[str]:
    """Insert `local` after a `--ray` without an address, which typer would demand."""
    place = arguments.index("--ray") + 1 if "--ray" in arguments else 0
    if place and not _RAY_ADDRESS.fullmatch("".join(arguments[place : place + 1])):
        return [*arguments[:place], "local", *arguments[place:]]
    return arguments


def print_ingest_report(
    report: "IngestReport", json: bool, pruned: "Sequence[DocumentSummary] | None" = None
) -> None:
    """Print the report; exit with 2 if a document was refused, with 1 if one is incomplete."""
    print_report(report, json, pruned)
    statuses = {one.status for one in report.documents}
    if statuses & {"refused", "incomplete"}:
        raise typer.Exit(2 if "refused" in statuses else 1)


def print_report(
    report: "IngestReport",
    json: bool,
    pruned: "Sequence[DocumentSummary] | None" = None,
    *,
    with_time: bool = False,
) -> None:
    """Print the report, with the documents that a pruning has deleted, if there was one."""
    if json:
        ids = {} if pruned is None else {"pruned": [one.id for one in pruned]}
        print_json({**report.as_dict(), **ids})
        return
    decider = "offline, no language model" if report.decider == "offline" else report.decider
    counts, cost = ", ".join(_counts(report)), cost_sentence(report.usage)
    moment = f"{local_time(time.time())}  " * with_time
    print_words(f"{moment}{report.corpus}: {counts}. Decider: {decider}.{cost}")
    for line in (*_batch_lines(report), *_failure_lines(report), *report.notes):
        print_error(line)
    if pruned:
        print_pruned(report.corpus, pruned)


def _counts(report: "IngestReport") -> Iterator[str]:
    """`3 read (12 chunks, 240 facts)`, `1 of them incomplete`, `2 unchanged`, ..."""
    counts = Counter(one.status for one in report.documents)
    kept = sum(
        one.chunks - one.asked - one.waiting
        for one in report.documents
        if one.status != "unchanged"
    )
    chunks = f"{plural(report.asked_chunks, 'chunk')}, {plural(report.facts, 'fact')}"
    chunks += f"; {plural(kept, 'chunk')} kept" if kept else ""
    yield f"{counts['read'] + counts['incomplete']:,} read ({chunks})"
    if counts["incomplete"]:
        yield f"{counts['incomplete']:,} of them incomplete"
    if counts["waiting"]:
        yield f"{counts['waiting']:,} waiting for a batch ({plural(report.waiting, 'chunk')})"
    for status in ("unchanged", "refused"):
        if counts[status]:
            yield f"{counts[status]:,} {status}"
    if skipped := sum(len(one.skipped) for one in report.documents):
        yield f"{plural(skipped, 'part')} skipped"
    if report.dropped:
        yield f"{plural(report.dropped, 'key element')} dropped (not in their facts)"
    if report.without_source:
        yield f"{plural(report.without_source, 'fact')} without a source sentence"


def _batch_lines(report: "IngestReport") -> Iterator[str]:
    if report.submitted:
        dollars = report.submitted_dollars
        cost = "" if dollars is None else f", about {money(dollars)}"
        yield f"{plural(report.submitted, 'request')} submitted{cost}."
    for one in report.batches:
        done = f"{one.answered + one.failed:,} of {plural(one.requests, 'request')} answered"
        yield f"Batch {one.id}: {one.status}, {done}."
    if report.waiting:
        yield (
            "The replies come within a day as a rule: the same command takes them then, and with "
            "--wait it waits."
        )


def _failure_lines(report: "IngestReport") -> Iterator[str]:
    failed = [(one.title, chunk) for one in report.documents for chunk in one.failed]
    for title, chunk in failed[:_LISTED_FAILURES]:
        yield single_line(f"{title}, chunk {chunk.chunk}: {chunk.reason}")
    if len(failed) > _LISTED_FAILURES:
        yield f"... and {len(failed) - _LISTED_FAILURES:,} more (--json lists all)."
    if failed:
        yield (
            f"{plural(len(failed), 'chunk')} without facts. To ask for them again: "
            f"graphreader ingest --retry-failed --corpus {shlex.quote(report.corpus)}"
        )


# Progress


class IngestProgress(CommandProgress):
    """The progress of an ingestion: call it with each event."""

    def __init__(
        self,
        command: str = "ingest",
        *,
        verbose: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(command, clock=clock)
        self._sources, self._chunks, self._elements, self._merging = (
            self.new_task(name, visible=False)
            for name in ("Sources", "Chunks", "Key elements", "Merging")
        )
        self._facts = self._tokens = self._failed = 0
        self._usage = Usage()
        self._verbose = verbose
        self._listed = set["DocumentReport"]()  # printed documents with problems
        self._ended = Counter[str]()  # documents without a line of their own, by status
        self._ended_chunks = Counter[str]()

    def __call__(self, event: "IngestEvent") -> None:
        """Show an event."""
        from graphreader.ingestion import report

        match event:
            case report.SourceCount(sources):  # an ingestion by batches has several passes
                for one in self.tasks:
                    self.reset(one.id, total=0, visible=False)
                self._samples.clear()
                self._failed = 0
                self._ended.clear()
                self._ended_chunks.clear()
                self._add_to_total(self._sources, sources)
            case report.SourceEnd():
                self.advance(self._sources.id)
            case report.DocumentStart(missing=missing):
                self._add_to_total(self._chunks, missing)
            case report.ChunkProgress(chunks=chunks, facts=facts, tokens=tokens, usage=usage):
                self._facts += facts
                self._tokens += tokens
                self._usage = usage
                self.advance(self._chunks.id, chunks)
            case report.EmbeddingProgress(done, total):
                self.update(self._elements.id, completed=done, total=total, visible=True)
            case report.NormalizationProgress(done, total):
                self.update(self._merging.id, completed=done, total=total, visible=total > 0)
            case report.DocumentEnd(document):
                self._add_to_total(self._chunks, -document.waiting)
                self._end_document(document)
            case Waiting():
                self.wait(event)
        task, activity = self._stage
        self.log_status(task, activity)

    def __exit__(self, *raised: Any) -> None:
        super().__exit__(*raised)
        for status, number in self._ended.items():
            text = f"{plural(number, 'document')}, {plural(self._ended_chunks[status], 'chunk')}"
            if status == "refused":
                text = f"{plural(number, 'more document')} (--verbose lists all)"
            print_progress(f"{status:<{_STATUS_WIDTH}}{text}")

    def _add_to_total(self, task: "Task", count: float) -> None:
        """Enlarge the total of a task, and show it."""
        self.update(task.id, total=(task.total or 0) + count, visible=True)

    @property
    def _stage(self) -> "tuple[Task, str]":
        """The current task, and a name for it, which is empty while chunks are read."""
        if self._merging.visible:
            return self._merging, "merging key elements"
        is_read = not self._sources.remaining and not self._chunks.remaining
        if is_read and self._elements.visible:
            return self._elements, "embedding key elements"
        return self._chunks, ""

    def status(self) -> str:
        """The state as text: `120 of 400 chunks, 3.2 a minute, ...`."""
        task, activity = self._stage
        if activity:
            return ", ".join([activity, _done_of_all(task), *self.pace(task, task.remaining)])
        left, sources = task.remaining, self._sources
        if sources.remaining:  # assumed to have as many chunks each as the sources before
            share = sources.completed / (sources.total or 1)
            left = (task.total or 0) / share - task.completed if share else None
        parts = [f"{_done_of_all(task)} chunks", *self.pace(task, left)]
        if sources.remaining:
            parts.append(f"{_done_of_all(sources)} sources")
        failed = [f"{plural(self._failed, 'chunk')} without facts"] * bool(self._failed)
        usage = self._usage
        spent = cost_text(usage) if usage.tokens or usage.reused else plural(self._tokens, "token")
        return ", ".join([*parts, plural(self._facts, "fact"), *failed, spent])

    def _end_document(self, document: "DocumentReport") -> None:
        """Print one of the first documents with a problem, and count all others by status.

        Chunks without facts are printed at the end of the command.
        """
        has_problem = document.status == "refused" or document.skipped or document.notes
        self._failed += len(document.failed)
        if has_problem and document in self._listed:  # by an earlier pass
            return
        if has_problem and len(self._listed) < _LISTED_DOCUMENTS:
            self._listed.add(document)
            self._print_document(document)
        elif self._verbose:
            self._print_document(document)
        else:
            self._ended[document.status] += 1
            self._ended_chunks[document.status] += document.chunks

    def _print_document(self, document: "DocumentReport") -> None:
        status = Text(f"{document.status:<{_STATUS_WIDTH}}", _STATUS_STYLES[document.status])
        for line in _document_lines(document):
            self.print_line(status + line)
            status = Text(" " * _STATUS_WIDTH)


def _done_of_all(task: "Task") -> str:
    return f"{task.completed:,.0f} of {task.total or 0:,.0f}"


def _document_lines(document: "DocumentReport") -> Iterator[Text]:
    if document.status != "refused":
        line = literal_line(document.title).append(f"  {plural(document.chunks, 'chunk')}", "dim")
        if 0 < document.asked < document.chunks:
            line.append(f", {document.asked:,} of them new", "dim")
        if document.waiting:
            line.append(f", {document.waiting:,} waiting for a batch", "cyan")
        if document.failed:
            line.append(f", {len(document.failed):,} without facts", "yellow")
        if document.skipped:
            line.append(f", {plural(len(document.skipped), 'part')} skipped", "yellow")
        yield line
    if document.error:
        yield literal_line(document.error)
    for note in document.notes:
        yield literal_line(note)
    for part in document.skipped[:_LISTED_PARTS]:
        yield literal_line(f"{part.part}: {part.reason}")
    if len(document.skipped) > _LISTED_PARTS:
        yield Text(f"and {len(document.skipped) - _LISTED_PARTS:,} more")
