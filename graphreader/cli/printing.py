"""What commands print: tables for people, one JSON object for programs, in any encoding."""

import codecs
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]

_WIDE = 200
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


def plural(count: int, one: str, many: str = "") -> str:
    """`1 chunk`, `2,000 chunks`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_IN_ASCII.get(character, "?") for character in lacking), error.end
