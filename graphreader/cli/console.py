"""The output of the commands: text without markup or controls for people, JSON, progress."""

import math
import re
import sys
import textwrap
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from datetime import datetime
from json import dumps
from typing import Any, ClassVar, Self

import typer
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, Task, TaskID, TaskProgressColumn, TextColumn
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from graphreader.errors import UsageError
from graphreader.usage import Usage
from graphreader.waiting import Waiting, listening

_PIPE_WIDTH = 200
_LONG_TABLE = 200  # rows

# Control characters except the line feed, and those that change the direction of writing.
_CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

_RATE_WINDOW = 300.0  # seconds over which a rate is measured; one item may take a minute
_LOG_SECONDS, _LOG_SHARE = 10.0, 0.05  # at least so long, and so much of all, between log lines
_LONGEST_SILENCE = 300.0  # between the lines of a log
_COUNTDOWN = re.compile(r"(?<= in )\d+(?= s$)")  # the seconds at the end of a line about a wait
_LISTED_FAILURES = 5
_WAIT_SECONDS = 3.0  # by which a wait for a service must end later to get a line after another
_SAME_SECONDS = 60.0  # after which the same line about a wait is printed again
_ATTEMPT_SECONDS = 3.0  # that a live display shows a wait beyond its end


class Quiet:
    """Whether `--quiet` is set: nothing is printed about progress."""

    enabled: ClassVar[bool] = False

    @classmethod
    def set(cls, enabled: bool) -> None:
        """Set it; the callback of the option."""
        cls.enabled = enabled


def configure_output() -> None:
    """Let stdout and stderr take every character: one that their encoding lacks becomes `?`."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def print_json(value: Mapping[str, Any]) -> None:
    """Print one object on one line, ASCII unless stdout is UTF-8; controls are escaped."""
    is_utf8 = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"
    text = dumps(value, ensure_ascii=not is_utf8)
    print(_CONTROLS.sub(lambda one: f"\\u{ord(one[0]):04x}", text))


def print_result(value: Mapping[str, Any], text: str, *, json: bool) -> None:
    """Print the value for a program, or the text for a person."""
    print_json(value) if json else print(text)


def print_error(message: str) -> None:
    """Print a message on stderr."""
    print(without_controls(message), file=sys.stderr)


def print_progress(message: str) -> None:
    """Print a line about progress on stderr, unless `--quiet` is set."""
    if not Quiet.enabled:
        print_error(single_line(message))


class WaitDisplay:
    """Shows what is waited for: in the `lines` of a live display, else as lines on stderr."""

    def __init__(self, *, live: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._live, self._clock = live, clock
        self._waits: dict[str, tuple[str, float]] = {}  # service: its line and end, latest last
        self._printed: dict[str, float] = {}  # service: when the wait of its last line ends
        self._repeat: dict[str, float] = {}  # line: when it may be printed again

    def __call__(self, waiting: Waiting) -> None:
        """Show what is waited for now."""
        now, service, text = self._clock(), waiting.service, waiting.text
        end = now + waiting.seconds
        if self._live:
            self._waits.pop(service, None)
            if text:
                self._waits[service] = text, end if waiting.seconds else math.inf
        elif not text:
            self._printed.pop(service, None)
        elif end > self._printed.get(
            service, -math.inf
        ) + _WAIT_SECONDS and now >= self._repeat.get(same := _COUNTDOWN.sub("", text), now):
            self._printed[service], self._repeat[same] = end, now + _SAME_SECONDS
            print_progress(text)

    @property
    def lines(self) -> list[Text]:
        """What a live display shows: the latest wait until its next attempt, else nothing."""
        now = self._clock()
        waits = [one for one in self._waits.values() if one[1] > now - _ATTEMPT_SECONDS]
        if not waits:
            return []
        text, end = waits[-1]
        text = _COUNTDOWN.sub(lambda one: str(min(int(one[0]), max(1, math.ceil(end - now)))), text)
        return [literal_line(text, "yellow")]


def confirm(question: str) -> bool:
    """Ask a yes-or-no question on stderr. Without a terminal on stdin the answer is yes."""
    if not (sys.stdin and sys.stdin.isatty()):
        return True
    try:
        with redirect_stdout(sys.stderr):  # typer writes a part of the prompt to stdout
            return typer.confirm(question, err=True)
    except typer.Abort:  # the end of the input
        return False


def confirm_or_exit(question: str, yes: bool, nothing_done: str) -> None:
    """Ask before something is lost, unless `yes`; without consent, exit with 1.

    Raises UsageError where nobody can be asked.
    """
    if not yes and not (sys.stdin and sys.stdin.isatty()):
        raise UsageError(f"{nothing_done} Without a terminal nobody can be asked: add --yes.")
    if not yes and not confirm(question):
        print_error(nothing_done)
        raise typer.Exit(1)


def wide_console() -> Console:
    """A console on stdout for tables: as wide as the terminal, or 200 columns in a pipe."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_PIPE_WIDTH)


def print_table(
    rows: Sequence[Sequence[str | Text]],
    *columns: str,
    right: Collection[str] = (),
    header: bool = True,
    console: Console | None = None,
) -> None:
    """Print rows, folded, below a dim header; `right` columns are aligned to the right."""
    out = console or wide_console()
    lines = [[single_line(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    if len(rows) > _LONG_TABLE and _print_aligned([columns, *lines], columns, right, out):
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", show_header=header)
    for name in columns:
        if name in right:
            table.add_column(name, justify="right", no_wrap=True)
        else:
            table.add_column(name, overflow="fold")
    for line in lines:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in line))
    out.print(table)


def _print_aligned(
    lines: Sequence[Sequence[Any]], columns: Sequence[str], right: Collection[str], out: Console
) -> bool:
    """Print a long table without styles, if it fits: rich needs a second for 3,000 rows."""
    widths = [max(map(cell_len, map(str, column))) for column in zip(*lines, strict=True)]
    if sum(widths) + 2 * len(widths) > out.width:
        return False
    for style, part in (("dim", lines[:1]), (None, lines[1:])):
        text = "\n".join(
            "  ".join(
                f"{' ' * (width - cell_len(str(cell)))}{cell}"
                if name in right
                else f"{cell}{' ' * (width - cell_len(str(cell)))}"
                for name, cell, width in zip(columns, line, widths, strict=True)
            ).rstrip()
            for line in part
        )
        out.out(text, style=style, highlight=False)
    return True


@contextmanager
def spinner(text: str) -> Iterator[Callable[[str], None] | None]:
    """Show a spinner on stderr; yields a function that sets its text, None without a terminal."""
    console = Console(stderr=True, highlight=False)
    if Quiet.enabled or not console.is_terminal:
        yield None
        return
    with console.status(text) as status:
        yield status.update


class JobProgress(Progress, ABC):
    """Progress of a long job on stderr: bars and a status line in a terminal, lines in a log.

    A log gets a line at most every 10 seconds, after 5 % more or five minutes. Events may come
    from another thread.
    """

    def __init__(
        self,
        command: str,
        *,
        live: bool = True,
        clock: Callable[[], float] = time.monotonic,
        **options: Any,
    ) -> None:
        console = Console(stderr=True, highlight=False)
        # With FORCE_COLOR set, rich takes a file for a terminal: it may get colours, no more.
        self.in_terminal = console.is_interactive and console.file.isatty()
        super().__init__(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            console=console,
            transient=True,
            get_time=clock,
            disable=Quiet.enabled or not (live and self.in_terminal),
            **options,
        )
        self._command = command
        self._spinner = Spinner("dots")
        self.wait = WaitDisplay(live=not self.disable, clock=clock)
        self._listening = listening(self.wait)
        self._failures = 0
        self._logged_at = clock()
        self._logged: tuple[str, float] = ("", 0)  # the activity and its items in the last line
        self._samples: dict[TaskID, deque[tuple[float, float]]] = {}  # times, items until then

    @abstractmethod
    def status(self) -> str:
        """`12 of 40 answered, 1 failed, 3.2 a minute, about 9 min left`."""

    def get_renderables(self) -> Iterable[RenderableType]:
        """The bars, and below them the status."""
        yield from super().get_renderables()
        if self.tasks:  # rich calls this once in its constructor
            text = (
                self.status().replace(" ", "\xa0").replace(",\xa0", ", ")
            )  # breaks at commas only
            text = textwrap.fill(text, self.console.width - 2, subsequent_indent="  ")
            self._spinner.update(text=Text(text.replace("\xa0", " ")))
            yield self._spinner
            yield from self.wait.lines

    def __enter__(self) -> Self:
        self._listening.__enter__()
        return super().__enter__()

    def __exit__(self, *raised: Any) -> None:
        super().__exit__(*raised)
        self._listening.__exit__(*raised)

    def new_task(self, name: str, total: float = 0, **options: Any) -> Task:
        """Add a task, and return it."""
        self.add_task(name, total=total, **options)
        task = self.tasks[-1]
        self._rate(task)  # begins to measure
        return task

    def pace(self, task: Task, left: float | None) -> list[str]:
        """`3.2 a minute` and `about 9 min left` for the items left, if known."""
        rate = self._rate(task)
        if not rate or not left:
            return []
        return [f"{60 * rate:,.1f} a minute", f"about {duration(left / rate)} left"]

    def _rate(self, task: Task) -> float:
        """Items a second of the last five minutes, waits included; 0: not known."""
        if not task.total:
            return 0.0
        now = self.get_time()
        samples = self._samples.setdefault(task.id, deque([(now, task.completed)]))
        if now - samples[-1][0] >= 1:
            samples.append((now, task.completed))
        while len(samples) > 1 and samples[1][0] <= now - _RATE_WINDOW:
            samples.popleft()
        began, before = samples[0]
        return (task.completed - before) / (now - began) if now - began >= 1 else 0.0

    def print_line(self, line: Text) -> None:
        """Print a line above the bars; in a log it is not wrapped."""
        self.console.print(line, soft_wrap=not self.in_terminal)

    def print_failure(self, failure: str, output: str) -> None:
        """Print one of the first five failures; further ones are recorded in the `output` only."""
        self._failures += 1
        if self._failures <= _LISTED_FAILURES:
            self.print_line(Text(single_line(failure), "red"))
        elif self._failures == _LISTED_FAILURES + 1:
            self.print_line(Text(f"... further failures are recorded in the {output} only", "dim"))

    def log_status(self, task: Task, activity: str = "") -> None:
        """Write the status into a log, if enough of the task, or another activity, came since."""
        now, total = self.get_time(), task.total or 0
        self._rate(task)
        if Quiet.enabled or not self.disable or now - self._logged_at < _LOG_SECONDS:
            return
        activity_before, done_before = self._logged
        enough = (
            task.completed - done_before >= max(1, _LOG_SHARE * total)
            or now - self._logged_at >= _LONGEST_SILENCE
        )
        if activity != activity_before or (enough and task.completed < total):
            self._logged_at, self._logged = now, (activity, task.completed)
            self.print_line(Text(f"{self._command}: {self.status()}"))


class QuestionProgress(JobProgress):
    """The progress of questions; `output` names where their failures are recorded."""

    def __init__(
        self, command: str, name: str, output: str, total: int, completed: int = 0, **options: Any
    ) -> None:
        super().__init__(command, **options)
        self._output = output
        self._logged = ("", completed)
        self._task = self.new_task(name, total, completed=completed)

    @abstractmethod
    def counts(self) -> str:
        """`12 of 40 answered, 1 failed`."""

    def status(self) -> str:
        """The counts, the rate and the time left."""
        return ", ".join([self.counts(), *self.pace(self._task, self._task.remaining)])

    def count(self, failure: str | None = None) -> None:
        """Show that one more item is finished, or failed for this reason."""
        self.advance(self._task.id)
        if failure is not None:
            self.print_failure(failure, self._output)
        self.log_status(self._task)


def single_line(text: str) -> str:
    """The text in one line, with a space for each character that is not printable."""
    return "".join(character if character.isprintable() else " " for character in text)


def without_controls(text: str) -> str:
    """The text with its line breaks, and a space for each character that a terminal obeys."""
    return _CONTROLS.sub(" ", text)


def literal(text: str, style: str = "") -> Text:
    """Text from a document, a model or a person for rich: no markup, no control characters."""
    return Text(without_controls(text), style)


def literal_line(text: str, style: str = "") -> Text:
    """The same in one line, so that no part of a name looks like a line of the program."""
    return Text(single_line(text), style)


def plural(count: int, one: str, many: str = "") -> str:
    """`1 chunk`, `2,000 chunks`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def money(dollars: float) -> str:
    """`$1,234.50`, `$0.0123`, `$0.000045`; the smallest amount is a millionth."""
    if dollars == 0:
        return "$0"
    if dollars < 0.001:
        return f"${max(dollars, 0.000001):.6f}"
    return f"${dollars:.4f}" if dollars < 0.99995 else f"${dollars:,.2f}"


def rounded(count: int) -> str:
    """An estimated number with two significant digits: `12,000` for 12,345."""
    digits = len(str(count)) - 2
    return f"{round(count, -digits) if digits > 0 else count:,}"


def duration(seconds: float) -> str:
    """`9 s`, `1 min 27 s`, `2 h 5 min`, `3 d 4 h`; at least one second."""
    whole = max(1, round(seconds))
    units = ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s"))
    for unit, name, small, smaller in units:
        if whole >= unit:
            rest = whole % unit // small
            return f"{whole // unit} {name}" + (f" {rest} {smaller}" if rest else "")
    return f"{whole} s"


def local_time(moment: float) -> str:
    """`2026-01-31 12:30` in local time; `moment` is in seconds of the epoch."""
    return datetime.fromtimestamp(moment).astimezone().strftime("%Y-%m-%d %H:%M")


def cost_text(usage: Usage) -> str:
    """`12 calls, about 3,456 tokens, at least $0.0012`: "about" marks our own estimate."""
    about = "about " if usage.estimated else ""
    parts = [plural(usage.calls, "call")]
    if usage.tokens:
        parts.append(f"{about}{usage.tokens:,} tokens")
    if usage.dollars:
        parts.append(("at least " if usage.unpriced else about) + money(usage.dollars))
    if usage.reused:
        parts.append(f"{usage.reused:,} from the cache")
    return ", ".join(parts)
