"""What the commands print: tables and lines for people, one JSON object for programs.

Texts of documents, models and people are printed without markup and without characters that a
terminal would obey. Output is readable in every encoding.
"""

import codecs
import re
import sys
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stdout
from json import dumps
from types import TracebackType
from typing import Any, Self

import typer
from rich.console import Console, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from graphreader.usage import Usage

_PIPE_WIDTH = 200
_RATE_WINDOW = 100  # items whose rate is shown
_LOG_SECONDS, _LOG_SHARE = 10.0, 0.05  # at least so long, and so much of all, between log lines
_FAILURES = 5  # printed one by one
_ASCII = {"→": "->", "×": "x", "…": "...", "“": '"', "”": '"', "━": "=", "─": "-"}

# Control characters except the line feed, and those that change the direction of writing.
_CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def configure_output() -> None:
    """Let stdout and stderr take every character: one that their encoding lacks is replaced."""
    codecs.register_error("readable", _replace_unencodable)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="readable")


def _replace_unencodable(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    characters = error.object[error.start : error.end]
    return "".join(_ASCII.get(character, "?") for character in characters), error.end


def print_json(value: Mapping[str, Any]) -> None:
    """Print one object on one line; it is ASCII unless stdout is UTF-8."""
    is_utf8 = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"
    print(dumps(value, ensure_ascii=not is_utf8))


def print_error(message: str) -> None:
    """Print a message on stderr."""
    print(without_controls(message), file=sys.stderr)


def confirm(question: str) -> bool:
    """Ask a yes-or-no question on stderr. Without a terminal on stdin the answer is yes."""
    if not (sys.stdin and sys.stdin.isatty()):
        return True
    try:
        with redirect_stdout(sys.stderr):  # typer writes a part of the prompt to stdout
            return typer.confirm(question, err=True)
    except typer.Abort:  # the end of the input
        return False


def wide_console() -> Console:
    """A console on stdout for tables: as wide as the terminal, or 200 columns in a pipe."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_PIPE_WIDTH)


def plain_table(*columns: str, right: tuple[str, ...] = (), header: bool = True) -> Table:
    """A table without lines; the columns named in `right` are aligned to the right."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", show_header=header)
    for name in columns:
        if name in right:
            table.add_column(name, justify="right", no_wrap=True)
        else:
            table.add_column(name, overflow="fold")
    return table


@contextmanager
def spinner(text: str) -> Iterator[None]:
    """Show a spinner with this text on stderr, if that is a terminal."""
    console = Console(stderr=True)
    with console.status(text) if console.is_terminal else nullcontext():
        yield


class LiveDisplay:
    """A picture on stderr that is redrawn while the display is entered and removed at its end.

    It is drawn in a terminal only, and not at all with `enabled=False`; `live` says which it is.
    Lines printed on `console` appear above the picture. `options` are those of `rich.live.Live`.
    """

    def __init__(self, picture: RenderableType, *, enabled: bool = True, **options: Any) -> None:
        self.console = Console(stderr=True, highlight=False)
        # With FORCE_COLOR set, rich takes a file for a terminal: it may get colours, no more.
        self.in_terminal = self.console.is_interactive and self.console.file.isatty()
        self.live = enabled and self.in_terminal
        self._live = Live(picture, console=self.console, transient=True, **options)

    def __enter__(self) -> Self:
        if self.live:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    def print_line(self, line: Text) -> None:
        """Print a line above the picture; in a log it is not wrapped."""
        self.console.print(line, soft_wrap=not self.in_terminal)


class JobDisplay(LiveDisplay, ABC):
    """The live display of a job with a known number of items: questions of a file, readings.

    A terminal shows the picture of the subclass. A log gets a line at most every 10 seconds and
    every 5 % of the items. The first five failures are printed, further ones are only counted.
    `clock` returns seconds.
    """

    def __init__(
        self,
        command: str,
        output: str,
        clock: Callable[[], float] = time.monotonic,
        **options: Any,
    ) -> None:
        super().__init__(self, **options)
        self._command, self._output = command, output
        self._clock = clock
        self._moments = deque([clock()], maxlen=_RATE_WINDOW + 1)
        self._failures = 0
        self._logged_at, self._logged = clock(), self.done

    @property
    @abstractmethod
    def done(self) -> int:
        """Items that are finished, also by an earlier run, and those that failed."""

    @property
    @abstractmethod
    def total(self) -> int:
        """All items."""

    @abstractmethod
    def counts(self) -> str:
        """`12 of 40 answered, 1 failed`."""

    @abstractmethod
    def __rich__(self) -> RenderableType: ...

    def line(self) -> str:
        """The counts and the rate of the last 100 items: `..., 3.2 a minute, about 9 min left`."""
        parts = [self.counts()]
        finished, seconds = len(self._moments) - 1, self._clock() - self._moments[0]
        left = self.total - self.done
        if finished and seconds and left:
            parts.append(f"{60 * finished / seconds:,.1f} a minute")
            parts.append(f"about {duration(left * seconds / finished)} left")
        return ", ".join(parts)

    def advance(self, failure: str | None = None) -> None:
        """Show that one more item is finished; the subclass has counted it already."""
        self._moments.append(self._clock())
        if failure is not None:
            self._failures += 1
            if self._failures <= _FAILURES:
                self.print_line(Text(single_line(failure), "red"))
            elif self._failures == _FAILURES + 1:
                text = f"... further failures are recorded in the {self._output} only"
                self.print_line(Text(text, "dim"))
        if not self.live and self._is_log_due():
            self._logged_at, self._logged = self._clock(), self.done
            self.print_line(Text(f"{self._command}: {self.line()}"))

    def _is_log_due(self) -> bool:
        enough = self.done - self._logged >= max(1, _LOG_SHARE * self.total)
        late = self._clock() - self._logged_at >= _LOG_SECONDS
        return enough and late and self.done < self.total


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
    return literal(text.replace("\n", " "), style)


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
    for unit, name, small, smaller in (
        (86_400, "d", 3_600, "h"),
        (3_600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if whole >= unit:
            rest = whole % unit // small
            return f"{whole // unit} {name}" + (f" {rest} {smaller}" if rest else "")
    return f"{whole} s"


def cost_text(usage: Usage) -> str:
    """`12 calls, 3,456 tokens, $0.0012, 3 from the cache`, without the parts that are zero.

    "about" marks tokens, and so a price, that are our own estimate; "at least" a price that lacks
    models without a known price. No price is given where none is known.
    """
    about = "about " if usage.estimated else ""
    parts = [plural(usage.calls, "call")]
    if usage.tokens:
        parts.append(f"{about}{usage.tokens:,} tokens")
    if usage.dollars:
        parts.append(("at least " if usage.unpriced else about) + money(usage.dollars))
    if usage.reused:
        parts.append(f"{usage.reused:,} from the cache")
    return ", ".join(parts)
