"""How far an evaluation is: a table that lives in a terminal, lines in a log, the table at its end.

A heading for each dataset and length, below it a row for each reader.
"""

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group, RenderableType
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from graphreader.cli.living import Living
from graphreader.cli.pace import duration
from graphreader.cli.printing import (
    as_line,
    as_text,
    money,
    plural,
    printable,
    roughly,
    table_console,
)
from graphreader.estimate import Spending

if TYPE_CHECKING:
    from graphreader.evaluation.costs import Cost
    from graphreader.evaluation.runner import EvaluationProgress, ProgressRow


_WINDOW = 100  # readings whose rate is told
_SECONDS, _SHARE = 10.0, 0.05  # so long, and so much of all, between two lines of a log
_FAILURES = 5  # that are told one by one
_LEAST_ROWS = 3
_FRAME = 6  # lines around the rows: head, spinner, what else stands in the terminal


class Progress:
    """How fast readings come; `clock` tells seconds."""

    def __init__(
        self, tally: "EvaluationProgress", clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.tally, self.clock = tally, clock
        self._moments = deque([clock()], maxlen=_WINDOW + 1)

    def take(self) -> None:
        """Count one more."""
        self._moments.append(self.clock())

    def line(self) -> str:
        """`12 of 40 readings, 1 failed, 3.2 a minute, about 9 min left`."""
        tally = self.tally
        told = [f"{tally.done:,} of {plural(tally.total, 'reading')}"]
        told += [f"{tally.failed:,} failed"] if tally.failed else []
        fresh, seconds = len(self._moments) - 1, self.clock() - self._moments[0]
        left = tally.total - tally.done
        if fresh and seconds and left:
            told.append(f"{60 * fresh / seconds:,.1f} a minute")
            told.append(f"about {duration(left * seconds / fresh)} left")
        return ", ".join(told)


class EvaluationDrawing(Living):
    """Draws on stderr: a table that lives in a terminal, else a line from time to time.

    The first failures are told, the others counted.
    """

    def __init__(
        self, tally: "EvaluationProgress", clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(self, refresh_per_second=2)
        self.progress = Progress(tally, clock)
        self._tally = tally
        self._spinner = Spinner("dots")
        self._failures = 0
        self._at, self._done = clock(), tally.done

    def take(self, line: Mapping[str, Any]) -> None:
        """Show that one more is there."""
        self.progress.take()
        if error := line.get("error"):
            self._failures += 1
            self._tell_failure(f"{line['reader']}, {line['id']}: {error}")
        if not self.lives and self._is_due():
            self._at, self._done = self.progress.clock(), self._tally.done
            self._print(Text(f"evaluate: {self.progress.line()}"))

    def __rich__(self) -> RenderableType:
        self._spinner.update(text=Text(self.progress.line()))
        room = max(_LEAST_ROWS, self.console.height - _FRAME)
        return Group(table_of(self._tally, room), self._spinner)

    def _tell_failure(self, words: str) -> None:
        if self._failures <= _FAILURES:
            self._print(Text(printable(words), "red"))
        elif self._failures == _FAILURES + 1:
            self._print(Text("... further failures stand in the readings only", "dim"))

    def _is_due(self) -> bool:
        tally = self._tally
        enough = tally.done - self._done >= max(1, _SHARE * tally.total)
        late = self.progress.clock() - self._at >= _SECONDS
        return enough and late and tally.done < tally.total

    def _print(self, line: Text) -> None:
        self.console.print(line, soft_wrap=not self.in_terminal)


def print_table(tally: "EvaluationProgress", notes: "Sequence[str]" = ()) -> None:
    """All rows, on stdout, and what must be seen beside them."""
    console = table_console()
    console.print(table_of(tally))
    for note in notes:
        console.print(as_text(note, "yellow"))


def table_of(tally: "EvaluationProgress", room: int | None = None) -> Table:
    """The rows under headings; where there is not room for all lines, those that are under way."""
    several = len({row.model for row in tally.rows}) > 1
    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("", overflow="fold")
    for name in ("done", "EM", "F1", "FCR", "tokens", "calls", "seconds", "failed"):
        table.add_column(name, justify="right", no_wrap=True)
    shown = _within(tally.rows, room)
    heading = None
    for row in shown:
        if (now := _heading(row, several)) != heading:
            heading = now
            table.add_row(as_line(heading, "bold"))
        table.add_row(*_cells(row))
    if left := len(tally.rows) - len(shown):
        table.add_row(Text(f"and {plural(left, 'row')} more", "dim"))
    return table


def _within(rows: "Sequence[ProgressRow]", room: int | None) -> "Sequence[ProgressRow]":
    """As many rows as there is room for, with their headings: around the first not yet done."""
    if room is None or len(rows) + _headings(rows) <= room:
        return rows
    first = next((n for n, row in enumerate(rows) if row.done < row.total), len(rows) - 1)
    start = end = max(0, first - room // 3)
    while end < len(rows) and end - start + _headings(rows[start : end + 1]) + 2 <= room:
        end += 1
    while start and end - start + 1 + _headings(rows[start - 1 : end]) + 1 <= room:
        start -= 1
    return rows[start:end]


def _headings(rows: "Sequence[ProgressRow]") -> int:
    return len({(row.dataset, row.length, row.model) for row in rows})


def _heading(row: "ProgressRow", with_model: bool) -> str:
    return f"{row.dataset}, {row.length}" + (f", {row.model}" if with_model else "")


def _cells(row: "ProgressRow") -> list[RenderableType]:
    scores = (row.mean(name) for name in ("em", "f1", "fcr"))
    tokens, calls, seconds = (row.mean(name) for name in ("tokens", "calls", "seconds"))
    is_done = row.done == row.total
    return [
        as_line(f"  {row.reader}"),
        Text(f"{row.done}/{row.total}", "" if is_done else "cyan"),
        *(Text("-" if score is None else f"{100 * score:.1f}") for score in scores),
        Text("-" if tokens is None else f"{tokens:,.0f}"),
        Text("-" if calls is None else f"{calls:.1f}"),
        Text("-" if seconds is None else f"{seconds:.1f}"),
        Text(f"{row.failed}", "red" if row.failed else "dim"),
    ]


def whole_cost(costs: "Sequence[Cost]") -> Spending:
    """That of all readers."""
    return reduce(Spending.__add__, (one.total for one in costs), Spending())


def costs_told(costs: "Sequence[Cost]", *, to_stderr: bool) -> None:
    """What each reader will cost, and all together."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("about", overflow="fold")
    for name in ("readings", "building", "asking", "rating", "calls", "price"):
        table.add_column(name, justify="right", no_wrap=True)
    several = len({one.model for one in costs}) > 1
    for one in costs:
        name = f"{one.reader}, {one.model}" if several else one.reader
        parts = [_tokens(part) for part in (one.building, one.asking, one.rating)]
        price = _price(one.total.dollars)
        table.add_row(as_line(name), f"{one.questions:,}", *parts, roughly(one.total.calls), price)
    whole = whole_cost(costs)
    questions = sum(one.questions for one in costs)
    calls, price = roughly(whole.calls), _price(whole.dollars)
    table.add_row("all", f"{questions:,}", "", "", _tokens(whole), calls, price, style="bold")
    console = Console(stderr=True, highlight=False) if to_stderr else table_console()
    console.print(table)


def _tokens(spending: Spending) -> str:
    tokens = spending.input_tokens + spending.output_tokens
    return roughly(tokens) if tokens else "-"


def _price(dollars: float | None) -> str:
    return "not known" if dollars is None else money(dollars)
