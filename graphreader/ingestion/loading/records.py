"""Parsers of tables (CSV, TSV) and JSON, by the standard library."""

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from itertools import islice

from graphreader.ingestion.loading.content import Content, read_text

SAMPLE = 64_000  # characters of a table by which its delimiter is recognized
FIRST_ROWS = 100  # rows among which the header is looked for
MAX_NAME = 100  # characters of a column's name, which each row repeats
_DELIMITERS = ",;\t|"
_VALUE = re.compile(r"[\d\W]*\d[\d\W]*|\W*")  # a number, date or time, or nothing
_SENTENCE_END = (".", "!", "?", "…", "。", "！", "？")


def read_table(data: bytes, shown: str) -> Content:
    """Parse a table of delimited values: a paragraph for each row, with the names of the columns.

    A row is a sentence such as "Station: Voss; Height: 56." The header itself and the rows before
    it are their values alone, as are all rows of a table without a header.
    """
    plain = read_text(data, shown)
    pieces: list[str] = []
    for row in _sentences(plain.text):
        pieces += (row, "\n\n")
    return Content("".join(pieces[:-1]), encoding=plain.encoding, notes=plain.notes)


def _sentences(text: str) -> Iterator[str]:
    """Yield the rows of a table as sentences."""
    csv.field_size_limit(max(len(text), 1))
    delimiter = _delimiter(text[:SAMPLE])
    rows = csv.reader(StringIO(text.replace("\0", "\ufffd"), newline=""), delimiter=delimiter)
    first = [[" ".join(cell.split()) for cell in row] for row in islice(rows, FIRST_ROWS)]
    [(width, _)] = Counter(len(row) for row in first if any(row)).most_common(1) or [(0, 0)]
    place = next((at for at, row in enumerate(first) if len(row) == width and any(row)), 0)
    header = first[place] if first else []
    if any(_VALUE.fullmatch(name) for name in header) or len(set(header)) < len(header):
        header = []
    for row in first[: place + bool(header)]:
        if any(row):
            yield _sentence(row, [])
    for row in first[place + bool(header) :]:
        if any(row):
            yield _sentence(row, header)
    for cells in rows:
        row = [" ".join(cell.split()) for cell in cells]
        if any(row):
            yield _sentence(row, header)


def _sentence(row: list[str], header: list[str]) -> str:
    names = [name[:MAX_NAME] for name in header] + [""] * (len(row) - len(header))
    values = (
        f"{name}: {cell}" if name else cell for name, cell in zip(names, row, strict=False) if cell
    )
    sentence = "; ".join(values)
    return sentence if sentence.endswith(_SENTENCE_END) else f"{sentence}."


def _delimiter(sample: str) -> str:
    """The delimiter that parts the lines of a table into the most equal numbers of values."""
    lines = sample.splitlines()[:FIRST_ROWS]

    def quality(delimiter: str) -> tuple[int, int]:
        rows = csv.reader(lines, delimiter=delimiter)
        (width, number), *_ = Counter(map(len, rows)).most_common(1) or [(1, 0)]
        return (number if width > 1 else 0), width

    return max(_DELIMITERS, key=quality)


_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[\da-fA-F]{4}|.)"
)


def read_json(data: bytes, shown: str) -> Content:
    r"""Read JSON as plain text, with letters in place of their escapes (`\u00e9`)."""
    plain = read_text(data, shown)
    text = _ESCAPE.sub(_unescaped, plain.text)
    return Content(text, skipped=plain.skipped, encoding=plain.encoding, notes=plain.notes)


def _unescaped(match: re.Match[str]) -> str:
    if match[0][1] != "u":
        return match[0]
    char = str(json.loads(f'"{match[0]}"'))
    return char if char.isprintable() and char not in '"\\' else match[0]
