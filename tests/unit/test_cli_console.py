"""Output in any encoding, numbers as a person reads them, questions for confirmation."""

import io
import json
import sys
from typing import Any

import pytest
from rich.console import Console
from rich.text import Text

from graphreader.cli.console import (
    confirm,
    cost_text,
    duration,
    money,
    pace,
    plural,
    print_json,
    print_table,
    rounded,
)
from graphreader.usage import Usage
from tests.terminal import Keyboard


def stream(encoding: str) -> tuple[io.BytesIO, io.TextIOWrapper]:
    raw = io.BytesIO()
    return raw, io.TextIOWrapper(raw, encoding=encoding)


# JSON keeps every character in every encoding: escaped where stdout does not take it.
@pytest.mark.parametrize("encoding", ["UTF8", "ascii"])
def test_json_in_any_encoding(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    raw, out = stream(encoding)
    monkeypatch.setattr(sys, "stdout", out)
    value: dict[str, Any] = {"answer": "贞德 – La Charité ☺", "list": [1, None, True]}

    print_json(value)
    out.flush()

    written = raw.getvalue().decode(encoding)
    assert json.loads(written) == value
    assert written.count("\n") == 1
    assert ("贞德" in written) == (encoding == "UTF8")


# Numbers, prices and times are short, and estimates do not pretend to be exact.
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (plural(1, "chunk"), "1 chunk"),
        (plural(2000, "corpus", "corpora"), "2,000 corpora"),
        *((rounded(n), t) for n, t in ((7, "7"), (123, "120"), (995, "1,000"), (12345, "12,000"))),
        (money(0), "$0"),
        (money(0.00000001), "$0.000001"),
        (money(0.0021), "$0.0021"),
        (money(0.99996), "$1.00"),
        (money(12345.678), "$12,345.68"),
        *((", ".join(pace(0.1, left)), "") for left in (None, 0, -9)),
        (", ".join(pace(0.1, 9)), "6.0 a minute, about 1 min 30 s left"),
        (cost_text(Usage(18)), "18 calls"),
        (
            cost_text(Usage(3, 1000, 234, estimated=1, dollars=0.5)),
            "3 calls, about 1,234 tokens, about $0.5000",
        ),
        (
            cost_text(Usage(3, 1000, 234, dollars=0.5, unpriced=1)),
            "3 calls, 1,234 tokens, at least $0.5000",
        ),
        (cost_text(Usage(reused=12)), "0 calls, 12 from the cache"),
        (duration(0.2), "1 s"),
        (duration(60), "1 min"),
        (duration(87.2), "1 min 27 s"),
        (duration(3600 + 65), "1 h 1 min"),
        (duration(3 * 86_400 + 4 * 3600 + 1), "3 d 4 h"),
    ],
)
def test_numbers(text: str, expected: str) -> None:
    assert text == expected


# A table shows texts literally, each in its line, folded where the terminal is narrow; a long one
# that fits looks the same. Styles of cells are kept.
@pytest.mark.parametrize(("rows", "width"), [(1, 60), (300, 60), (1, 20), (300, 20)])
def test_tables(rows: int, width: int) -> None:
    console = Console(file=io.StringIO(), width=width)
    styled = Console(file=io.StringIO(), width=width, force_terminal=True)
    row = ("[bold]odd[/bold]\x1b[2J\nname", "贞德", "1,000")
    print_table([row] * rows, "Name", "By", "Facts", right=("Facts",), console=console)
    print_table([(Text("ok", "green"), "[x]")], "", "", header=False, console=styled)
    lines = [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]

    assert max(map(len, lines)) <= width
    if width == 60:
        assert lines[0] == f"{'Name':<27}By    Facts"
        assert lines[1:] == ["[bold]odd[/bold] [2J name  贞德  1,000"] * rows
    assert "\x1b[32mok\x1b[0m" in styled.file.getvalue()  # type: ignore[attr-defined]


# Only yes is a yes, the end of the input is a no, and without a terminal nothing is asked.
@pytest.mark.parametrize(
    ("stdin", "agreed"),
    [
        (Keyboard("perhaps\nyes\n"), True),
        (Keyboard("\n"), False),
        (Keyboard(""), False),
        (io.StringIO("n\n"), True),
    ],
    ids=["yes", "return", "end", "pipe"],
)
def test_confirm(
    stdin: io.StringIO,
    agreed: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "stdin", stdin)

    assert confirm("Delete it?") is agreed
    assert capsys.readouterr().err.startswith("Delete it? [y/N]:") == stdin.isatty()
