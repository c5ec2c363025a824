"""`graphreader ingest` and `estimate`: read texts into a corpus, or say what that costs."""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from graphreader.cli.console import (
    cost_text,
    money,
    plain_table,
    plural,
    print_error,
    print_json,
    rounded,
    single_line,
    spinner,
    wide_console,
)
from graphreader.cli.interrupt import Interrupted
from graphreader.cli.options import (
    STDIN,
    Exclude,
    Include,
    JsonFlag,
    MaxCalls,
    MaxTokens,
    Paths,
    StdinName,
    corpus_option,
    expand_paths,
    flag,
    open_reader,
    read_settings,
)
from graphreader.errors import UsageError

if TYPE_CHECKING:
    from graphreader.estimate import Estimate, Spending
    from graphreader.graph_reader import GraphReader
    from graphreader.ingestion.report import IngestReport

INGEST_EXAMPLES = (
    "graphreader ingest notes.md",
    "graphreader ingest books/ letters/ --corpus library",
    'graphreader ingest books/ --include "*.epub" --exclude drafts',
    "graphreader ingest - --id notes < notes.txt",
    "graphreader ingest books/ --corpus library --dry-run",
    "graphreader ingest --retry-failed --corpus library",
)
ESTIMATE_EXAMPLES = (
    "graphreader estimate books/",
    "GRAPHREADER_MODEL=openai:gpt-5.4-mini graphreader estimate books/",
)

_LISTED_FAILURES = 10  # failed chunks whose reasons are printed; the JSON has all
_UNKNOWN_PRICE = "not known: set it in a file (GRAPHREADER_PRICES)"


@dataclass(frozen=True, slots=True)
class _Sources:
    """The texts to read, as the command line names them."""

    paths: Sequence[str]
    include: Sequence[str]
    exclude: Sequence[str]
    id: str | None

    def options(self) -> dict[str, Any]:
        """The keyword arguments of `ingest` and `estimate` of a reader."""
        return {"include": self.include, "exclude": self.exclude, "id": self.id}


def ingest(
    paths: Paths,
    include: Include,
    exclude: Exclude,
    name: StdinName = None,
    corpus: Annotated[str, corpus_option("The corpus to read into.")] = "default",
    retry_failed: Annotated[
        bool, flag("--retry-failed", help="Ask again for the chunks that failed; takes no PATH.")
    ] = False,
    normalize: Annotated[
        bool | None,
        typer.Option(
            "--normalize/--no-normalize",
            help="Merge key elements at the end, or do not.",
            metavar="",
        ),
    ] = None,
    dry_run: Annotated[bool, flag("--dry-run", help="Only print what it would cost.")] = False,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    json: JsonFlag = False,
) -> None:
    """Read texts into the graph. Texts that are in the graph already cost nothing."""
    if retry_failed and any((paths, include, exclude, name, normalize is not None, dry_run)):
        raise UsageError(
            "--retry-failed asks again for the failed chunks of the whole corpus: it goes with "
            "--corpus, --max-calls, --max-tokens and --json only."
        )
    sources = _Sources(() if retry_failed else expand_paths(paths, name), include, exclude, name)
    _refuse_unreadable(sources)
    if dry_run:
        return _print_estimate(sources, corpus, json, skip_known=True)
    with open_reader(corpus, max_calls=max_calls, max_tokens=max_tokens) as reader:
        from graphreader.cli.ingest_progress import IngestDisplay

        try:
            with IngestDisplay() as display:
                if retry_failed:
                    report = reader.retry_failed(progress=display)
                else:
                    report = reader.ingest(
                        *sources.paths,
                        **sources.options(),
                        normalize=normalize,
                        progress=display,
                    )
        except Interrupted as error:
            error.add_note("The chunks read so far are kept: the same command continues.")
            raise
        unfinished = _unfinished_note(reader, report) if retry_failed else []
    print_ingest_report(replace(report, notes=(*report.notes, *unfinished)), json)
    if unfinished:
        raise typer.Exit(1)


def _refuse_unreadable(sources: _Sources) -> None:
    """Exit with 2, before a server is started, if not one of the documents can be read."""
    if not sources.paths or STDIN in sources.paths:  # stdin can be read only once
        return
    from graphreader.ingestion.loading.content import Refused
    from graphreader.ingestion.loading.sources import sources_of

    refusals = []
    for source in sources_of(sources.paths, sources.include, sources.exclude):
        for document in source.documents(""):
            if not isinstance(document, Refused):
                return
            refusals.append(single_line(document.reason))
    if refusals:
        print_error("\n".join(refusals))
        raise typer.Exit(2)


def _unfinished_note(reader: "GraphReader", report: "IngestReport") -> list[str]:
    """A note on documents that are not read completely although no chunk of them failed."""
    from graphreader.runs import unfinished_note

    documents = reader.documents()
    retried = {one.id for one in report.documents}
    waiting = [one for one in documents if one.status == "incomplete" and one.id not in retried]
    return unfinished_note(len(documents), [one.title for one in waiting])


def print_ingest_report(report: "IngestReport", json: bool) -> None:
    """Print the outcome; exit with 2 if a document was refused, with 1 if one is incomplete."""
    if json:
        print_json(report.as_dict())
    else:
        decider = "offline, no language model" if report.decider == "offline" else report.decider
        usage = report.usage
        cost = f" Cost: {cost_text(usage)}." if usage.tokens or usage.reused else ""
        print(f"{report.corpus}: {', '.join(_counts(report))}. Decider: {decider}.{cost}")
        for line in (*_failure_lines(report), *report.notes):
            print_error(line)
    statuses = {one.status for one in report.documents}
    if statuses & {"refused", "incomplete"}:
        raise typer.Exit(2 if "refused" in statuses else 1)


def _counts(report: "IngestReport") -> Iterator[str]:
    """`3 read (12 chunks, 240 facts)`, `1 of them incomplete`, `2 unchanged`, ..."""
    statuses = Counter(one.status for one in report.documents)
    incomplete = statuses["incomplete"]
    kept = sum(one.chunks - one.asked for one in report.documents if one.status != "unchanged")
    chunks = plural(report.asked_chunks, "chunk")
    chunks += f", {plural(report.facts, 'fact')}"
    chunks += f"; {plural(kept, 'chunk')} kept" if kept else ""
    yield f"{statuses['read'] + incomplete:,} read ({chunks})"
    if incomplete:
        yield f"{incomplete:,} of them incomplete"
    if statuses["unchanged"]:
        yield f"{statuses['unchanged']:,} unchanged"
    if statuses["refused"]:
        yield f"{statuses['refused']:,} refused"
    if skipped := sum(len(one.skipped) for one in report.documents):
        yield f"{plural(skipped, 'part')} skipped"
    if report.dropped:
        yield f"{plural(report.dropped, 'key element')} dropped (not in their facts)"


def _failure_lines(report: "IngestReport") -> Iterator[str]:
    """The chunks without facts, with the reasons and the command that retries them."""
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


def estimate(
    paths: Paths, include: Include, exclude: Exclude, name: StdinName = None, json: JsonFlag = False
) -> None:
    """Estimate what reading texts in will cost. Nothing is sent, and no Neo4j is needed.

    All texts count as new; `graphreader ingest --dry-run` leaves out what is in the graph already.
    """
    sources = _Sources(expand_paths(paths, name), include, exclude, name)
    _print_estimate(sources, "default", json, skip_known=False)


def _print_estimate(sources: _Sources, corpus: str, json: bool, *, skip_known: bool) -> None:
    """Print an estimate; with `skip_known`, without the chunks that the corpus has.

    Exits with 2 if a file cannot be read, as reading it in would.
    """
    settings = read_settings()
    if skip_known and not settings.neo4j_uri:  # an embedded server is not downloaded for this
        from graphreader.store.embedded.process import ServerHome

        skip_known = ServerHome.of(settings).has_data
    with open_reader(corpus, graph=skip_known) as reader, spinner("Counting"):
        result = reader.estimate(*sources.paths, **sources.options(), known=skip_known)
    if json:
        print_json({**asdict(result), "dollars": result.dollars})
    elif result.documents:
        table = plain_table("", "", header=False)
        for name, value in _estimate_rows(result):
            table.add_row(Text(name, "bold"), Text(value))
        wide_console().print(table)
    for refusal in result.refused:
        print_error(refusal)
    if result.refused:
        raise typer.Exit(2)


def _estimate_rows(result: "Estimate") -> list[tuple[str, str]]:
    known = result.chunks - result.missing
    rows = [
        ("documents", f"{result.documents:,}"),
        ("chunks", f"{result.chunks:,}" + (f", {known:,} of them read already" if known else "")),
        ("calls", f"{result.reading.calls:,}"),
    ]
    if not result.question.input_tokens and not result.reading.input_tokens:
        return [*rows, ("model", "offline, no language model: nothing is sent, it costs nothing")]
    rows += [
        ("tokens in", f"{result.reading.input_tokens:,}"),
        ("tokens out", f"about {rounded(result.reading.output_tokens)}"),
    ]
    if result.embedding.input_tokens:
        rows.append(("embedding", f"about {rounded(result.embedding.input_tokens)} tokens"))
    return [
        *rows,
        ("price", _price(result)),
        ("model", f"{result.model}, embeddings {result.embeddings}"),
        ("a question", f"about {_spending_text(result.question)}"),
        ("", f"at most {_spending_text(result.question_at_most)}"),
    ]


def _price(result: "Estimate") -> str:
    if result.dollars is not None:
        return f"about {money(result.dollars)}" if result.dollars else money(0)
    if result.reading.dollars is None:
        return _UNKNOWN_PRICE
    return f"about {money(result.reading.dollars)}, and that of the embeddings, {_UNKNOWN_PRICE}"


def _spending_text(spending: "Spending") -> str:
    """`$0.05 (21 calls, 54,000 tokens)`; without a price where none is known."""
    tokens = spending.input_tokens + spending.output_tokens
    size = f"{plural(spending.calls, 'call')}, {rounded(tokens)} tokens"
    return size if spending.dollars is None else f"{money(spending.dollars)} ({size})"
