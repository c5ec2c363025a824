"""`graphreader evaluate` measures readers, and `graphreader report` makes tables of the results."""

import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from graphreader.cli import options
from graphreader.cli.console import (
    confirm,
    literal,
    literal_line,
    money,
    plural,
    print_error,
    print_json,
    print_table,
    rounded,
    wide_console,
)
from graphreader.cli.ingest import IngestProgress
from graphreader.cli.progress import QuestionProgress, spinner
from graphreader.cli.signals import Interrupted
from graphreader.cli.startup import import_driver, read_settings, start_embedded
from graphreader.errors import GraphReaderError, UsageError

if TYPE_CHECKING:
    from graphreader.estimate import Spending
    from graphreader.evaluation.costs import Cost
    from graphreader.evaluation.experiment import Evaluation, EvaluationRequest
    from graphreader.evaluation.results import EvaluationProgress, ProgressRow
    from graphreader.evaluation.tables import Section
    from graphreader.evaluation.tables import Table as ReportTable
    from graphreader.settings import Settings


_CONTINUES = "The readings so far are kept: the same command continues."
_FRAME_LINES = 6  # lines around the rows of the live table
_ONLY_IN_FILES = ("Answered", "Window", "Of golden", "ROUGE-2", "ROUGE-1")


def evaluate(
    data: options.Data = None,
    readers: options.Readers = "graphreader,rag-bm25-3,rag-embedding-3,full-text,read-agent-s",
    out: options.OutFolder = None,
    limit: options.Limit = None,
    lengths: options.Lengths = "native",
    pool: options.Pool = None,
    contexts: options.Contexts = "documents",
    facts: options.FactsFile = None,
    evidence: options.Evidence = None,
    models: options.Models = "",
    repeats: options.Repeats = 1,
    rate: options.Rate = None,
    equal_reading: options.EqualReading = False,
    seed: options.Seed = 0,
    concurrency: options.Concurrency = None,
    max_cost: options.MaxCost = None,
    yes: options.CostAgreed = False,
    estimate_only: options.EstimateOnly = False,
    json: options.Json = False,
    _quiet: options.Quiet = False,
) -> None:
    """Ask several readers questions with known answers, and measure their answers.

    Each answer is stored at once: the same command continues after an interruption, and with more
    readers, questions or lengths it asks only for the missing answers.

    Examples:
        graphreader evaluate samples --out first-look
        graphreader evaluate questions.jsonl --readers graphreader,full-text --limit 50 --out scores
        graphreader evaluate musique.jsonl --lengths native,64k --pool passages.jsonl --out results
        graphreader evaluate musique.jsonl --models openai:gpt-5.4,ollama:qwen3 --estimate-only
        graphreader evaluate musique.jsonl --contexts corpus --facts extracted.jsonl
    """
    if contexts == "corpus":
        _evaluate_retrieval(data or [], limit, pool, facts, json)
        return
    if not data or (out is None and not estimate_only):
        raise UsageError("Name the data, and a folder for the readings: DATA... --out DIR.")
    with spinner("Reading the data"):
        import_driver()
        from graphreader.evaluation.experiment import Evaluation, EvaluationRequest
        from graphreader.evaluation.plan import QuestionSelection

        request = EvaluationRequest(
            sources=tuple(data),
            readers=_split(readers),
            selection=QuestionSelection(
                _split(lengths), limit, pool, seed, contexts, tuple(evidence or ())
            ),
            models=_split(models),
            repeats=repeats,
            rate=rate,
            equal_reading=equal_reading,
            max_dollars=max_cost,
            command=shlex.join(["graphreader", *sys.argv[1:]]),
        )
        settings = read_settings(concurrency=concurrency)
        evaluation = Evaluation(request, settings, None if estimate_only else out)
    with evaluation:
        for note in evaluation.notes:
            print_error(note)
        if estimate_only and json:
            print_json({"estimate": [asdict(cost) for cost in evaluation.costs()]})
        elif estimate_only:
            print_costs(evaluation.costs(), to_stderr=False)
        elif _confirm_costs(evaluation, request, yes):
            _run(evaluation, settings, out or "", json)


def _evaluate_retrieval(
    data: Sequence[str], limit: int | None, pool: str | None, facts: str | None, json: bool
) -> None:
    """Read all texts into one corpus, search it for each question, and print what was found."""
    with spinner("Reading the data"):
        import_driver()
        from graphreader import sync
        from graphreader.evaluation.retrieval import RANKS, RetrievalEvaluation

        settings = read_settings()
        evaluation = RetrievalEvaluation(settings, data, limit=limit, pool=pool, facts=facts)
    if not settings.neo4j_uri:
        start_embedded(settings)
    with IngestProgress() as progress:
        figures = sync.run(evaluation.run(progress))
    if json:
        print_json({"corpus": evaluation.corpus, "rows": [one.as_dict() for one in figures]})
        return
    columns = [f"{name} @{k}" for name in ("recall", "all gold") for k in RANKS]
    rows = [
        [one.dataset, f"{one.questions:,}"]
        + [f"{100 * share[k]:.1f}" for share in (one.recall, one.all_gold) for k in RANKS]
        for one in figures
    ]
    print_table(rows, "", "questions", *columns, right=["questions", *columns])


def _split(names: str) -> tuple[str, ...]:
    return tuple(name for part in names.split(",") if (name := part.strip()))


def _confirm_costs(evaluation: "Evaluation", request: "EvaluationRequest", yes: bool) -> bool:
    """Print the cost and ask for consent, if a model is used and any reading is missing."""
    progress = evaluation.progress
    succeeded = progress.done - progress.failed  # failed readings are asked again
    if not evaluation.uses_model or (succeeded >= progress.total and not evaluation.unrated):
        return True
    total = print_costs(evaluation.costs(), to_stderr=True)
    if request.max_dollars is not None and total.dollars is None:
        raise UsageError(
            "The price of a model is not known, so --max-cost cannot be kept: set the price in a "
            "file (GRAPHREADER_PRICES), or leave --max-cost out."
        )
    return yes or confirm("Go on?")


def _run(evaluation: "Evaluation", settings: "Settings", out: str, json: bool) -> None:
    """Make the missing readings and print the results; exit with 1 if a reading failed."""
    progress = evaluation.progress
    if evaluation.needs_graph and not settings.neo4j_uri:
        start_embedded(settings)
    try:
        with ReadingProgress(progress, evaluation.unrated, refresh_per_second=2) as display:
            evaluation.on_reading = display.add
            evaluation.run()
    except Interrupted as error:
        error.add_note(_CONTINUES)
        raise
    except GraphReaderError:
        print_error(f"{display.status()} {_CONTINUES}")
        raise
    _print_results(evaluation, out, json)
    unrated = evaluation.unrated
    if progress.failed or unrated:
        print_error(
            f"{plural(progress.failed, 'reading')} failed, and {unrated:,} could not be rated; the "
            f"reasons are in {out}. The same command asks and rates these again."
        )
        raise typer.Exit(1)


def _print_results(evaluation: "Evaluation", out: str, json: bool) -> None:
    progress, usage = evaluation.progress, evaluation.usage
    notes = [note for note in (*evaluation.notes, evaluation.notice) if note]
    if json:
        counts = {"done": progress.done, "total": progress.total, "failed": progress.failed}
        rows = [row.as_dict() for row in progress.rows]
        print_json({**counts, "out": out, "rows": rows, "notes": notes})
        return
    console = wide_console()
    console.print(results_table(progress))
    for note in notes:
        console.print(literal(note, "yellow"))
    if evaluation.uses_model and usage.tokens:  # offline tokens cost nothing
        price = f", {money(usage.dollars)}" if usage.dollars else ""
        print(f"Spent: {plural(usage.calls, 'call')}, {usage.tokens:,} tokens{price}.")
    print(f"For the papers' tables: graphreader report {shlex.quote(out)}")


class ReadingProgress(QuestionProgress):
    """The progress of an evaluation; failed and `unrated` readings count as missing."""

    def __init__(self, progress: "EvaluationProgress", unrated: int = 0, **more: Any) -> None:
        self._progress = progress
        total, done = progress.total, progress.done - progress.failed - unrated
        super().__init__("evaluate", "Readings", "readings", total, done, **more)

    def counts(self) -> str:
        """The counts as text: `12 of 40 readings, 1 failed`."""
        progress = self._progress
        failed = f", {progress.failed:,} failed" if progress.failed else ""
        return f"{round(self._task.completed):,} of {plural(progress.total, 'reading')}{failed}"

    def add(self, line: Mapping[str, Any]) -> None:
        """Count one more reading, given as its line in the file of readings."""
        error = line.get("error")
        self.count(f"{line['reader']}, {line['id']}: {error}" if error else None)

    def get_renderables(self) -> Iterable[RenderableType]:
        """Yield the table, as far as there is room, and below it the bar and the status."""
        if self.tasks:
            yield results_table(self._progress, self.console.height - _FRAME_LINES)
        yield from super().get_renderables()


def results_table(progress: "EvaluationProgress", lines: int | None = None) -> Table:
    """A table of readers below a heading for each dataset and length.

    If it has more than `lines`, finished readers are left out.
    """
    rows = progress.rows
    if lines is not None and 2 * len(rows) > lines:
        rows = [row for row in rows if row.done < row.total][: lines // 2]
    with_model = len({row.model for row in progress.rows}) > 1
    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("", overflow="fold")
    for name in ("done", "EM", "F1", "FCR", "tokens", "calls", "seconds", "failed"):
        table.add_column(name, justify="right", no_wrap=True)
    previous = None
    for row in rows:
        heading = f"{row.dataset}, {row.length}"
        heading += f", {row.model}" if with_model else ""
        if heading != previous:
            table.add_row(literal_line(heading, "bold"))
            previous = heading
        table.add_row(*_result_cells(row))
    return table


def _result_cells(row: "ProgressRow") -> list[RenderableType]:
    scores = (row.mean(name) for name in ("em", "f1", "fcr"))
    tokens, calls, seconds = (row.mean(name) for name in ("tokens", "calls", "seconds"))
    return [
        literal_line(f"  {row.reader}"),
        Text(f"{row.done}/{row.total}", "" if row.done == row.total else "cyan"),
        *(Text("-" if score is None else f"{100 * score:.1f}") for score in scores),
        Text("-" if tokens is None else f"{tokens:,.0f}"),
        Text("-" if calls is None else f"{calls:.1f}"),
        Text("-" if seconds is None else f"{seconds:.1f}"),
        Text(f"{row.failed}", "red" if row.failed else "dim"),
    ]


def print_costs(costs: "Sequence[Cost]", *, to_stderr: bool) -> "Spending":
    """Print the expected cost of each reader, and print and return their sum."""
    from graphreader.estimate import Spending

    with_model = len({cost.model for cost in costs}) > 1
    rows: list[Sequence[str | Text]] = []
    for cost in costs:
        name = f"{cost.reader}, {cost.model}" if with_model else cost.reader
        parts = [_tokens_text(part) for part in (cost.building, cost.asking, cost.rating)]
        rows.append([name, f"{cost.questions:,}", *parts, *_calls_and_price(cost.total)])
    total = sum((cost.total for cost in costs), Spending())
    readings = sum(cost.questions for cost in costs)
    last = ["all", f"{readings:,}", "", "", _tokens_text(total), *_calls_and_price(total)]
    rows.append([Text(cell, "bold") for cell in last])
    numbers = ("readings", "building", "asking", "rating", "calls", "price")
    console = Console(stderr=True, highlight=False) if to_stderr else None
    print_table(rows, "about", *numbers, right=numbers, console=console)
    return total


def _calls_and_price(spending: "Spending") -> tuple[str, str]:
    dollars = spending.dollars
    return rounded(spending.calls), "not known" if dollars is None else money(dollars)


def _tokens_text(spending: "Spending") -> str:
    tokens = spending.input_tokens + spending.output_tokens
    return rounded(tokens) if tokens else "-"


def report(folder: options.ResultsFolder, json: options.Json = False) -> None:
    """Make a page, the papers' tables and plots of an evaluation in DIR/report."""
    with spinner("Making tables and plots"):
        import_driver()
        from graphreader.evaluation.report import write_report

        written = write_report(Path(folder).expanduser())
    for note in written.notes:
        print_error(note)
    main_table = written.tables[0]
    if json:
        from graphreader.evaluation.report import as_json

        print_json({**as_json(main_table), "files": [str(path) for path in written.files]})
        return
    out = wide_console()
    if main_table.warning:
        out.print(literal_line(main_table.warning, "bold"))
        out.print()
    for section in main_table.sections:
        _print_section(out, main_table, section)
    page = written.files[0]
    out.print(literal_line(f"Which reader found more for less: {page}"), soft_wrap=True)
    out.print("The same tables as Markdown, JSON and CSV, and pictures, are in its folder.")


def _print_section(out: Console, table: "ReportTable", section: "Section") -> None:
    """Print the results in one dataset, without intervals; the paper's rows are dim."""
    from graphreader.evaluation.tables import format_cell, visible_columns

    columns = [one for one in visible_columns(table, section) if one.name not in _ONLY_IN_FILES]
    rows = [
        [
            literal_line(
                format_cell(row[one.name], one.style, interval=False),
                "dim italic" if row.paper else "",
            )
            for one in columns
        ]
        for row in section.rows
    ]
    numbers = [column.name for column in columns if column.style != "text"]
    out.print(literal_line(section.title, "bold"))
    print_table(rows, *(column.name for column in columns), right=numbers, console=out)
    out.print()
