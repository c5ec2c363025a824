"""`graphreader evaluate` and `graphreader report`: measure readers, and tabulate the results."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from graphreader.cli.console import (
    JobDisplay,
    confirm,
    literal,
    literal_line,
    money,
    plain_table,
    plural,
    print_error,
    print_json,
    rounded,
    spinner,
    wide_console,
)
from graphreader.cli.interrupt import Interrupted
from graphreader.cli.options import JsonFlag, flag, import_driver, read_settings, start_embedded
from graphreader.errors import GraphReaderError, UsageError

if TYPE_CHECKING:
    from graphreader.estimate import Spending
    from graphreader.evaluation.costs import Cost
    from graphreader.evaluation.experiment import Evaluation, EvaluationRequest
    from graphreader.evaluation.results import EvaluationProgress, ProgressRow
    from graphreader.evaluation.tables import Column, Section
    from graphreader.evaluation.tables import Table as ReportTable
    from graphreader.settings import Settings

EXAMPLES = (
    "graphreader evaluate samples --out first-look",
    "graphreader evaluate questions.jsonl --readers graphreader,full-text --limit 50 --out results",
    "graphreader evaluate musique.jsonl --lengths native,64k --pool passages.jsonl --out results",
    "graphreader evaluate musique.jsonl --models openai:gpt-5.4,openai:gpt-5.4-mini "
    "--estimate-only",
)

_CONTINUES = "The readings so far are kept: the same command continues."
_LEAST_ROWS = 3
_FRAME_LINES = 6  # lines around the rows of the live table
_COLUMN_GAP = 2
_DROPPED_FIRST = ("Answered", "Window", "Of golden", "ROUGE-2", "ROUGE-1", "LR-2", "EM")
"""Columns that a narrow terminal has no room for, in this order."""


def _names_option(help: str, metavar: str = "NAMES") -> Any:
    return typer.Option(metavar=metavar, help=help)


def _file_option(help: str, metavar: str = "FILE") -> Any:
    return typer.Option(metavar=metavar, help=help, show_default=False)


def _count_option(help: str, least: int = 1, most: int | None = None) -> Any:
    return typer.Option(min=least, max=most, metavar="N", help=help)


def evaluate(
    data: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DATA",
            help="Data files, folders of them, hf:OWNER/NAME/PART, or `samples`: samples/musique, "
            "samples/hotpotqa, samples/cmrc2018_zh.",
            show_default=False,
        ),
    ] = None,
    more_data: Annotated[
        list[str] | None,
        typer.Option("--data", metavar="DATA", help="More data, as an option (repeatable)."),
    ] = None,
    readers: Annotated[
        str, _names_option("The readers to ask, separated by commas.")
    ] = "graphreader,rag-bm25-3,rag-embedding-3,full-text,read-agent-s",
    out: Annotated[
        str | None,
        _file_option("The folder for the readings, where the same command continues.", "DIR"),
    ] = None,
    limit: Annotated[
        int | None, _count_option("Only the first N questions of each dataset of a file.")
    ] = None,
    lengths: Annotated[
        str,
        _names_option(
            "native, or contexts made longer with a pool of passages: native,16k,64k.", "SIZES"
        ),
    ] = "native",
    pool: Annotated[
        str | None,
        _file_option(
            'The passages for longer contexts, one a line: {"title": "...", "text": "..."}; by '
            "default corpus/NAME beside the data."
        ),
    ] = None,
    models: Annotated[
        str, _names_option("Several models, one after the other: provider:model.")
    ] = "",
    repeats: Annotated[int, _count_option("Ask each question N times.")] = 1,
    preset: Annotated[
        str, _names_option("As many questions as a paper asks: graphreader-paper.", "NAME")
    ] = "",
    rate: Annotated[
        bool | None,
        typer.Option(
            "--rate/--no-rate",
            help="Let a model rate answers and evidence; the default if a model is configured.",
            show_default=False,
            metavar="",
        ),
    ] = None,
    equal_reading: Annotated[
        bool,
        flag(
            "--equal-reading",
            help="Compare with rankings that read as many tokens as GraphReader did.",
        ),
    ] = False,
    against: Annotated[str, _names_option("Another reader for --equal-reading.", "NAME")] = "",
    seed: Annotated[
        int,
        _count_option(
            "Another random draw: of contexts, of random nodes, of a model's replies.", 0
        ),
    ] = 0,
    concurrency: Annotated[
        int | None, _count_option("Questions at once; without a model two.", 1, 256)
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(min=0, metavar="DOLLARS", help="Stop when this much is spent."),
    ] = None,
    keep_graphs: Annotated[
        bool | None,
        typer.Option(
            "--keep-graphs/--drop-graphs",
            help="Keep GraphReader's graphs in Neo4j, or delete them; kept by default if a model "
            "builds them.",
            show_default=False,
            metavar="",
        ),
    ] = None,
    yes: Annotated[
        bool, flag("--yes", "-y", help="Do not ask for confirmation of the cost.")
    ] = False,
    estimate_only: Annotated[
        bool, flag("--estimate-only", help="Only print what it would cost.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Ask several readers questions with known answers, and measure them all alike.

    Each reading is kept at once: the same command continues after an interruption, and with more
    readers, questions or lengths it asks only what is missing.
    """
    sources = (*(data or ()), *(more_data or ()))
    if not sources:
        raise UsageError(
            "Name the data: files, folders of them, or `samples`, which come with the program."
        )
    if out is None and not estimate_only:
        raise UsageError("Name a folder for the readings: --out DIR.")
    with spinner("Reading the data"):
        import_driver()
        from graphreader.evaluation.experiment import Evaluation, EvaluationRequest
        from graphreader.evaluation.plan import QuestionSelection

        request = EvaluationRequest(
            sources=sources,
            readers=_split(readers),
            selection=QuestionSelection(_split(lengths), limit, preset, pool, seed),
            models=_split(models),
            repeats=repeats,
            rate=rate,
            against=against if equal_reading or against else None,
            max_dollars=max_cost,
            keep_graphs=keep_graphs,
            command=shlex.join(["graphreader", *sys.argv[1:]]),
        )
        settings = read_settings(concurrency=concurrency)
        evaluation = Evaluation(request, settings, None if estimate_only else out)
    with evaluation:
        for note in evaluation.notes:
            print_error(note)
        if estimate_only:
            _print_estimate(evaluation, json)
        elif _confirm_costs(evaluation, request, yes):
            _run(evaluation, settings, out or "", json)


def _split(names: str) -> tuple[str, ...]:
    """The names between commas."""
    return tuple(name for part in names.split(",") if (name := part.strip()))


def _confirm_costs(evaluation: "Evaluation", request: "EvaluationRequest", yes: bool) -> bool:
    """Print the costs and ask whether to go on, if a model is used and anything is left to do."""
    progress = evaluation.progress
    succeeded = progress.done - progress.failed  # failed readings are asked again
    if not evaluation.uses_model or (succeeded >= progress.total and not evaluation.unrated):
        return True
    costs = evaluation.costs()
    print_costs(costs, to_stderr=True)
    if request.max_dollars is not None and total_spending(costs).dollars is None:
        raise UsageError(
            "The price of a model is not known, so --max-cost cannot be kept: set the price in a "
            "file (GRAPHREADER_PRICES), or leave --max-cost out."
        )
    return yes or confirm("Go on?")


def _print_estimate(evaluation: "Evaluation", json: bool) -> None:
    costs = evaluation.costs()
    if json:
        print_json({"estimate": [asdict(cost) for cost in costs]})
    elif evaluation.uses_model:
        print_costs(costs, to_stderr=False)
    else:
        readings = plural(sum(cost.questions for cost in costs), "reading")
        print(f"{readings}, offline: nothing is sent, it costs nothing.")


def _run(evaluation: "Evaluation", settings: "Settings", out: str, json: bool) -> None:
    """Ask what is missing and print the results; exit with 1 if anything failed."""
    progress = evaluation.progress
    before = progress.done - progress.failed
    if evaluation.needs_graph and not settings.neo4j_uri:
        start_embedded(settings)
    try:
        with EvaluationDisplay(progress) as display:
            evaluation.on_reading = display.add
            evaluation.run()
    except Interrupted as error:
        error.add_note(_CONTINUES)
        raise
    except GraphReaderError:
        if progress.done - progress.failed > before:
            print_error(f"{display.line()} {_CONTINUES}")
        raise
    _print_results(evaluation, out, json)
    if progress.failed:
        print_error(
            f"{plural(progress.failed, 'reading')} failed; the reasons are in {out}. The same "
            "command asks for them again."
        )
    if unrated := evaluation.unrated:
        print_error(
            f"{plural(unrated, 'reading')} could not be rated; the reasons are in {out}. The same "
            "command rates them, and asks nothing else."
        )
    if progress.failed or unrated:
        raise typer.Exit(1)


def _print_results(evaluation: "Evaluation", out: str, json: bool) -> None:
    """All rows, the cost, and the command that makes the tables."""
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


class EvaluationDisplay(JobDisplay):
    """Shows the rows of an evaluation while it runs."""

    def __init__(self, progress: "EvaluationProgress", **options: Any) -> None:
        self._progress = progress
        self._spinner = Spinner("dots")
        super().__init__("evaluate", "readings", refresh_per_second=2, **options)

    @property
    def total(self) -> int:
        """All readings."""
        return self._progress.total

    @property
    def done(self) -> int:
        """Readings that are finished or failed."""
        return self._progress.done

    def counts(self) -> str:
        """`12 of 40 readings, 1 failed`."""
        failed = f", {self._progress.failed:,} failed" if self._progress.failed else ""
        return f"{self.done:,} of {plural(self.total, 'reading')}{failed}"

    def add(self, line: Mapping[str, Any]) -> None:
        """Show one more reading, as its line in the file of readings has it."""
        error = line.get("error")
        self.advance(f"{line['reader']}, {line['id']}: {error}" if error else None)

    def __rich__(self) -> RenderableType:
        self._spinner.update(text=Text(self.line()))
        lines = max(_LEAST_ROWS, self.console.height - _FRAME_LINES)
        return Group(results_table(self._progress, lines), self._spinner)


def results_table(progress: "EvaluationProgress", lines: int | None = None) -> Table:
    """A heading for each dataset and length, below it a row for each reader.

    If there is no room for all `lines`, the rows around the first unfinished one.
    """
    with_model = len({row.model for row in progress.rows}) > 1
    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("", overflow="fold")
    for name in ("done", "EM", "F1", "FCR", "tokens", "calls", "seconds", "failed"):
        table.add_column(name, justify="right", no_wrap=True)
    visible = _visible_rows(progress.rows, lines)
    previous = None
    for row in visible:
        heading = f"{row.dataset}, {row.length}"
        heading += f", {row.model}" if with_model else ""
        if heading != previous:
            table.add_row(literal_line(heading, "bold"))
            previous = heading
        table.add_row(*_result_cells(row))
    if hidden := len(progress.rows) - len(visible):
        table.add_row(Text(f"and {plural(hidden, 'row')} more", "dim"))
    return table


def _visible_rows(rows: "Sequence[ProgressRow]", lines: int | None) -> "Sequence[ProgressRow]":
    """As many rows as fit with their headings, around the first one that is not finished."""
    if lines is None or _line_count(rows) <= lines:
        return rows
    first = next((n for n, row in enumerate(rows) if row.done < row.total), len(rows) - 1)
    start = end = max(0, first - lines // 3)
    while end < len(rows) and _line_count(rows[start : end + 1]) + 1 <= lines:
        end += 1
    while start and _line_count(rows[start - 1 : end]) + 1 <= lines:
        start -= 1
    return rows[start:end]


def _line_count(rows: "Sequence[ProgressRow]") -> int:
    headings = {(row.dataset, row.length, row.model) for row in rows}
    return len(rows) + len(headings)


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


def total_spending(costs: "Sequence[Cost]") -> "Spending":
    """What all readers will spend together."""
    from graphreader.estimate import Spending

    return reduce(Spending.__add__, (cost.total for cost in costs), Spending())


def print_costs(costs: "Sequence[Cost]", *, to_stderr: bool) -> None:
    """Print what each reader will spend, and all together."""
    numbers = ("readings", "building", "asking", "rating", "calls", "price")
    table = plain_table("about", *numbers, right=numbers)
    table.header_style = "table.header"
    with_model = len({cost.model for cost in costs}) > 1
    for cost in costs:
        name = f"{cost.reader}, {cost.model}" if with_model else cost.reader
        parts = [_tokens_text(part) for part in (cost.building, cost.asking, cost.rating)]
        calls, price = rounded(cost.total.calls), _price_text(cost.total.dollars)
        table.add_row(literal_line(name), f"{cost.questions:,}", *parts, calls, price)
    total = total_spending(costs)
    readings = sum(cost.questions for cost in costs)
    calls, price = rounded(total.calls), _price_text(total.dollars)
    tokens = _tokens_text(total)
    table.add_row("all", f"{readings:,}", "", "", tokens, calls, price, style="bold")
    console = Console(stderr=True, highlight=False) if to_stderr else wide_console()
    console.print(table)


def _tokens_text(spending: "Spending") -> str:
    tokens = spending.input_tokens + spending.output_tokens
    return rounded(tokens) if tokens else "-"


def _price_text(dollars: float | None) -> str:
    return "not known" if dollars is None else money(dollars)


def report(
    folder: Annotated[
        str, typer.Argument(metavar="DIR", help="The folder that `graphreader evaluate` filled.")
    ],
    json: JsonFlag = False,
) -> None:
    """Make the papers' tables and plots from an evaluation, in DIR/report."""
    with spinner("Making tables and plots"):
        import_driver()
        from graphreader.evaluation.report import write_report

        written = write_report(Path(folder).expanduser())
    for note in written.notes:
        print_error(note)
    main_table = written.tables[0]
    if json:
        from graphreader.evaluation.tables import as_json

        print_json({**as_json(main_table), "files": [str(path) for path in written.files]})
        return
    out = wide_console()
    if main_table.warning:
        out.print(literal_line(main_table.warning, "bold"))
        out.print()
    for section in main_table.sections:
        _print_section(out, main_table, section)
    page, data, *others = written.files
    out.print(literal_line(f"All tables, with intervals and notes: {page}"), soft_wrap=True)
    out.print(literal_line(f"The same for programs: {data}"), soft_wrap=True)
    for kind, text in ((".csv", "Each as CSV there"), (".png", "Pictures there (PNG, SVG)")):
        if names := [path.stem for path in others if path.suffix == kind]:
            out.print(literal_line(f"{text}: {', '.join(names)}"))


def _print_section(out: Console, table: "ReportTable", section: "Section") -> None:
    """The readers' results in one dataset; the paper's rows are dim."""
    columns = _fitting_columns(table, section, out.width)
    drawn = Table(box=None, padding=(0, _COLUMN_GAP, 0, 0), header_style="dim", pad_edge=False)
    for column, _ in columns:
        drawn.add_column(
            column.name, justify="left" if column.style == "text" else "right", overflow="fold"
        )
    for number, row in enumerate(section.rows):
        style = "dim italic" if row.paper else ""
        drawn.add_row(*(literal_line(cells[number], style) for _, cells in columns))
    out.print(literal_line(section.title, "bold"))
    out.print(drawn)
    out.print()


def _fitting_columns(
    table: "ReportTable", section: "Section", width: int
) -> "Sequence[tuple[Column, Sequence[str]]]":
    """The columns with their cells that fit into the width.

    Confidence intervals are left out first, then the columns of `_DROPPED_FIRST`.
    """
    from graphreader.evaluation.tables import format_cell, visible_columns

    def cells(interval: bool) -> "list[tuple[Column, Sequence[str]]]":
        return [
            (
                column,
                [
                    format_cell(row[column.name], column.style, interval=interval)
                    for row in section.rows
                ],
            )
            for column in visible_columns(table, section)
        ]

    columns = cells(interval=True)
    if _width(columns) <= width:
        return columns
    columns = cells(interval=False)
    for name in _DROPPED_FIRST:
        if _width(columns) <= width:
            break
        columns = [one for one in columns if one[0].name != name]
    return columns


def _width(columns: "Sequence[tuple[Column, Sequence[str]]]") -> int:
    """The columns of a terminal that these take."""
    widths = (max(map(cell_len, (column.name, *cells))) for column, cells in columns)
    return sum(width + _COLUMN_GAP for width in widths)
