"""What commands print: tables for people, one JSON object for programs, in any encoding."""

import codecs
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphreader.usage import Usage

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]
_WIDE = 200

# What moves the cursor, clears, colours or names a terminal, or turns the direction of writing.
_ACTING = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_IN_ASCII = {"→": "->", "×": "x", "…": "...", "“": '"', "”": '"', "━": "=", "─": "-"}


def print_readably() -> None:
    """Let stdout and stderr take every character: what their encoding lacks is replaced."""
    codecs.register_error("readable", _replaced)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="readable")


def print_json(value: Mapping[str, Any]) -> None:
    """Print one object in one line; other characters than ASCII only where stdout takes them."""
    from json import dumps

    unicode = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"
    print(dumps(value, ensure_ascii=not unicode))


def table_console() -> "Console":
    """A console for tables: as wide as the terminal, and wide enough for all in a pipe."""
    from rich.console import Console

    out = Console(highlight=False)
    return out if out.is_terminal else Console(highlight=False, width=_WIDE)


@contextmanager
def working(words: str) -> Iterator[None]:
    """Show in a terminal that something goes on, on stderr."""
    from rich.console import Console

    console = Console(stderr=True)
    with console.status(words) if console.is_terminal else nullcontext():
        yield


def plural(count: int, one: str, many: str = "") -> str:
    """`1 chunk`, `2,000 chunks`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def printable(text: str) -> str:
    """The text in one line, without signs that would move the cursor or change its colour."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


def harmless(text: str) -> str:
    """The text in its lines, with a space for each sign that a terminal would obey, not show."""
    return _ACTING.sub(" ", text)


def as_text(text: str, style: str = "") -> "Text":
    """What a document, a model or a person wrote, as rich shows it: no markup, and harmless."""
    from rich.text import Text

    return Text(harmless(text), style)


def as_line(text: str, style: str = "") -> "Text":
    """The same in one line: a name begins no line that looks like one of ours."""
    return as_text(text.replace("\n", " "), style)


def money(dollars: float) -> str:
    """`$1,234.50`, `$0.0123`, `$0.000045`; the smallest amount is a millionth."""
    if dollars == 0:
        return "$0"
    if dollars < 0.001:
        return f"${max(dollars, 0.000001):.6f}"
    return f"${dollars:.4f}" if dollars < 0.99995 else f"${dollars:,.2f}"


def roughly(count: int) -> str:
    """An estimated number with two digits that mean something: `12,000` for 12,345."""
    digits = len(str(count)) - 2
    return f"{round(count, -digits) if digits > 0 else count:,}"


def cost(usage: Usage) -> str:
    """`12 calls, 3,456 tokens, $0.0012, 3 from the cache`: what there is to tell.

    "about": tokens, and so the price, are our own count. "at least": some prices are not known;
    where none is, there is no price.
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


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_IN_ASCII.get(character, "?") for character in lacking), error.end
