"""The output of the commands: JSON for programs, text and tables for people, confirmations."""

import re
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import redirect_stdout
from datetime import datetime
from json import dumps
from typing import TYPE_CHECKING, Any, ClassVar, TextIO, cast

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from graphreader.errors import UsageError
from graphreader.usage import Usage

if TYPE_CHECKING:
    from graphreader.agent.run_store import Status

_PIPE_WIDTH = 200
_PADDING = re.compile(r"[ \t]+(?=\n)")
_LONG_TABLE = 200  # rows

# Control characters except the line feed, and marks that change the direction of writing.
_CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

_STATUS_STYLES: "dict[Status, str]" = {
    "running": "cyan",
    "finished": "green",
    "failed": "red",
    "interrupted": "yellow",
}


class Quiet:
    """The state of `--quiet`: while it is enabled, nothing is printed about progress."""

    enabled: ClassVar[bool] = False

    @classmethod
    def set(cls, enabled: bool) -> None:
        """Enable or disable it; the callback of the option."""
        cls.enabled = enabled


def configure_output() -> None:
    """Let stdout and stderr print `?` for characters that their encoding lacks."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object on one line, in ASCII unless stdout is UTF-8."""
    is_utf8 = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"
    text = dumps(value, ensure_ascii=not is_utf8)
    print(_CONTROLS.sub(lambda one: f"\\u{ord(one[0]):04x}", text))


def print_result(value: Mapping[str, Any], text: str, *, json: bool) -> None:
    """Print `value` as JSON, or else the text for a person."""
    print_json(value) if json else print_words(text)


def print_error(message: str) -> None:
    """Print a message on stderr."""
    print_words(without_controls(message), sys.stderr)


def print_words(text: str, stream: TextIO | None = None) -> None:
    """Print a text on stdout or another stream; on a terminal its lines break between words."""
    stream = stream or sys.stdout
    if stream.isatty():
        Console(file=stream, highlight=False).print(Text(text))
    else:
        print(text, file=stream)


def print_progress(message: str) -> None:
    """Print a line about progress on stderr, unless `--quiet` is set."""
    if not Quiet.enabled:
        print_error(single_line(message))


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
    """Ask for consent before data is lost, unless `yes`; without consent exit with 1.

    Raises UsageError without a terminal, since nobody can be asked.
    """
    if not yes and not (sys.stdin and sys.stdin.isatty()):
        raise UsageError(f"{nothing_done} Without a terminal nobody can be asked: add --yes.")
    if not yes and not confirm(question):
        print_error(nothing_done)
        raise typer.Exit(1)


class _WithoutPadding:
    """A stream without the blanks by which a console fills its lines to its width."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write lines, without blanks at their ends."""
        return self._stream.write(_PADDING.sub("", text))


def stdout_console(pipe_width: int | None = None) -> Console:
    """A console on stdout, as wide as the terminal; in a pipe no line ends with blanks."""
    console = Console(highlight=False)
    if console.is_terminal:
        return console
    stream = cast("TextIO", _WithoutPadding(sys.stdout))
    return Console(file=stream, highlight=False, width=pipe_width)


def wide_console() -> Console:
    """A console on stdout for tables: as wide as the terminal, or 200 columns in a pipe."""
    return stdout_console(_PIPE_WIDTH)


def print_table(
    rows: Sequence[Sequence[str | Text]],
    *columns: str,
    right: Collection[str] = (),
    header: bool = True,
    console: Console | None = None,
) -> None:
    """Print rows, with folded cells, below a dim header; columns in `right` are right-aligned."""
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
    """Print a long table without styles, if it fits; rich would need a second for 3,000 rows."""
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


def single_line(text: str) -> str:
    """The text in one line, with a space for each character that is not printable."""
    return "".join(character if character.isprintable() else " " for character in text)


def without_controls(text: str) -> str:
    """The text with its line breaks, and a space for each character that a terminal obeys."""
    return _CONTROLS.sub(" ", text)


def literal(text: str, style: str = "") -> Text:
    """Foreign text for rich, without markup and control characters."""
    return Text(without_controls(text), style)


def literal_line(text: str, style: str = "") -> Text:
    """Foreign text in one line, so that no part of a name looks like a line of the program."""
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


def styled_status(status: "Status") -> Text:
    """The status of a run in its color."""
    return Text(status, _STATUS_STYLES[status])


def cost_sentence(usage: Usage) -> str:
    """` Cost: 12 calls, 3,456 tokens, $0.0012.`, empty without tokens and cached replies."""
    return f" Cost: {cost_text(usage)}." if usage.tokens or usage.reused else ""


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
