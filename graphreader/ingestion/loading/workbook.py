"""The cells of Excel workbooks (.xlsx, .xlsm) as a person sees them, read one by one from the XML.

Hidden sheets, rows and columns, formulas without a value, charts and pictures are named, not read.
Format: ECMA-376, part 1, section 18.
"""

import re
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any
from zipfile import BadZipFile, ZipFile

from lxml import etree

from graphreader.documents import Skipped
from graphreader.errors import DocumentError
from graphreader.ingestion.loading.number_formats import BUILT_IN, shown_number
from graphreader.ingestion.loading.office import Package, of_kind

MAX_UNPACKED = 256 * 2**20
"""Largest unpacked size of a workbook's parts in bytes: they are parsed piece by piece."""
MAX_CELLS = 2_000_000
MAX_TEXT = 50_000_000
"""Largest number of characters of all cells; a cell names a shared string, as often as it likes."""
MAX_REPEATED = 100
"""Longest text of a merged cell that is repeated in each of its rows."""
_MOST_COLUMNS = 16_384
_LISTED = 10  # ranges of hidden rows, or formulas, in a message
_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
_REFERENCE = re.compile(r"\$?([A-Za-z]{1,3})\$?(\d{1,7})")
_CODES = re.compile(r'&(?:"[^"]*"|K[\dA-Fa-f+-]{6}|\d+|.)')  # of headers and footers
_THREADED = re.compile(r"\[Threaded comment\].*?\bComment:\s*", re.DOTALL)
HIDDEN = "is hidden and not read: show it in the file to have it read"
DAMAGED = "is damaged: at most its first rows are read"
_SAVE = "have no stored value: open the file in a spreadsheet program and save it"

Row = dict[int, str]
"""The cells of a row with a text, by their columns from 1."""


@dataclass(slots=True)
class Sheet:
    """A visible sheet: its rows with a text by number, and lines about cells of a row.

    `spans` are the first and last columns of merged cells by the number of their first row.
    """

    name: str
    rows: dict[int, Row] = field(default_factory=dict)
    hidden_rows: list[int] = field(default_factory=list)
    spans: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    lines: dict[int, list[str]] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)

    def skip(self, what: str, reason: str) -> None:
        """Name a part of the sheet that is not read; "" is the whole sheet."""
        self.skipped.append(Skipped(f"sheet {self.name}{', ' * bool(what)}{what}", reason))


@dataclass(slots=True)
class CellBudget:
    """The cells and characters that a workbook may still have."""

    shown: str
    cells: int = MAX_CELLS
    characters: int = MAX_TEXT

    def take(self, text: str) -> None:
        """Count a cell. Raises DocumentError beyond the limits."""
        self.cells -= 1
        self.characters -= len(text)
        if self.cells < 0 or self.characters < 0:
            raise DocumentError(
                f"{self.shown} has more than {MAX_CELLS:,} cells, or {MAX_TEXT:,} characters in "
                "them: cut it into smaller files."
            )


class Workbook:
    """An opened workbook; `is_excel` says whether the archive holds one of Excel's XML formats."""

    def __init__(self, archive: ZipFile, shown: str) -> None:
        self._archive = archive
        self._package = Package(archive)
        self._names = {name.lower(): name for name in archive.namelist()}
        self._budget = CellBudget(shown)
        start = of_kind(self._package.relations(""), "officeDocument")
        self._path = self._names.get(start.lower(), "xl/workbook.xml")
        self.is_excel = self._has(self._path) and self._path.endswith(".xml")

    def skipped(self) -> Iterator[Skipped]:
        """Yield what the workbook holds besides sheets."""
        for folder, what in (
            ("pivotcache/pivotcacherecords", "pivot cache"),
            ("embeddings/", "embedded file"),
        ):
            if count := sum(f"/{folder}" in name for name in self._names):
                yield Skipped(f"{count} {what}{'s' * (count > 1)}", "not read")
        if any(name.endswith("vbaproject.bin") for name in self._names):
            yield Skipped("macros", "not read")

    def sheets(self) -> Iterator[Sheet]:
        """Yield the visible sheets in order; a hidden one has no rows, it is only skipped."""
        strings = list(self._strings())
        codes = self._codes()
        root = self._root(self._path)
        properties = root.find("{*}workbookPr") if root is not None else None
        is_1904 = properties is not None and _is_true(properties.get("date1904"))
        show = partial(_shown, strings=strings, codes=codes, is_1904=is_1904)
        relations = self._package.relations(self._path)
        for one in root.iterfind("{*}sheets/{*}sheet") if root is not None else ():
            sheet = Sheet(" ".join(str(one.get("name")).split()))
            id_ = next((value for key, value in one.items() if key.endswith("}id")), "")
            relation = relations.get(id_)
            kind, path = (relation.kind, relation.target) if relation else ("", "")
            if one.get("state", "visible") != "visible":
                sheet.skip("", HIDDEN)
            elif kind != "worksheet" or not self._has(path):
                sheet.skip("", "is a chart and not read" if kind == "chartsheet" else "not read")
            else:
                try:
                    self._read(sheet, path, show)
                except (etree.XMLSyntaxError, BadZipFile, zlib.error, ValueError):
                    sheet.skip("", DAMAGED)
            yield sheet

    def _has(self, path: str) -> bool:
        return path.lower() in self._names

    def _root(self, path: str) -> Any:
        """Parse a whole part; None if there is none, or it is broken."""
        with suppress(etree.XMLSyntaxError):
            return self._package.root(self._names.get(path.lower(), path))
        return None

    def _elements(self, path: str, *tags: str) -> Iterator[Any]:
        """Yield the elements of some names in a part, one by one, and forget each."""
        if not self._has(path):
            return
        with self._archive.open(self._names[path.lower()]) as file:
            elements = etree.iterparse(file, tag=tags, resolve_entities=False, no_network=True)
            for _, element in elements:
                yield element
                element.clear(keep_tail=False)
                while element.getprevious() is not None:
                    del element.getparent()[0]

    def _strings(self) -> Iterator[str]:
        path = of_kind(self._package.relations(self._path), "sharedStrings")
        yield from map(_text, self._elements(path, "{*}si"))

    def _codes(self) -> list[str]:
        """The format codes of the cells' styles."""
        root = self._root(of_kind(self._package.relations(self._path), "styles"))
        if root is None:
            return []
        formats = {
            one.get("numFmtId"): one.get("formatCode", "")
            for one in root.iterfind("{*}numFmts/{*}numFmt")
        }
        known = {str(number): code for number, code in BUILT_IN.items()} | formats
        return [known.get(one.get("numFmtId"), "") for one in root.iterfind("{*}cellXfs/{*}xf")]

    def _read(self, sheet: Sheet, path: str, show: Callable[[Any], str | None]) -> None:
        """Read the cells of a sheet, its comments and its drawings."""
        cells = _Cells(sheet, show, self._budget)
        for element in self._elements(path, *cells.adders):
            cells.adders[f"{{*}}{etree.QName(element).localname}"](element)
        cells.finish()
        for one in self._package.relations(self._names[path.lower()]).values():
            if one.kind == "comments":
                self._comments(sheet, one.target, cells.hidden_columns)
            elif one.kind == "drawing":
                self._drawing(sheet, one.target)

    def _comments(self, sheet: Sheet, path: str, hidden_columns: set[int]) -> None:
        root = self._root(path)
        if root is None:
            return
        authors = [one.text or "" for one in root.iterfind("{*}authors/{*}author")]
        hidden_rows = set(sheet.hidden_rows)
        for one in root.iterfind("{*}commentList/{*}comment"):
            place = _place(one.get("ref", ""))
            text = " ".join(_THREADED.sub("", _text(one)).split())
            if not place or not text or place[0] in hidden_rows or place[1] in hidden_columns:
                continue
            at = one.get("authorId", "")
            author = authors[int(at)] if at.isdigit() and int(at) < len(authors) else ""
            author = "" if author.startswith("tc=") else " ".join(author.split())
            text = text.removeprefix(f"{author}:").strip() if author else text
            by = f" ({author})" if author else ""
            self._budget.take(text)
            sheet.lines.setdefault(place[0], []).append(f"Comment on {one.get('ref')}{by}: {text}")

    def _drawing(self, sheet: Sheet, path: str) -> None:
        """Read the text boxes of a sheet, and name its charts and pictures."""
        root = self._root(path)
        charts = pictures = 0
        for anchor in root if root is not None else ():
            if not isinstance(anchor.tag, str):
                continue
            row = anchor.findtext("{*}from/{*}row", "0")
            for one in anchor.iter("{*}graphicFrame", "{*}pic", "{*}sp"):
                if any(True for _ in one.iterancestors("{*}Fallback")):
                    continue
                kind = etree.QName(one).localname
                charts += kind == "graphicFrame"
                pictures += kind == "pic"
                lines = one.iterfind(".//{*}p") if kind == "sp" else ()
                words = ["".join(run.text or "" for run in line.iter("{*}t")) for line in lines]
                if text := " ".join(" ".join(words).split()):
                    self._budget.take(text)
                    number = int(row) + 1 if row.strip().isdigit() else 1
                    sheet.lines.setdefault(number, []).append(text)
        for count, what in ((charts, "chart"), (pictures, "picture")):
            if count:
                sheet.skip(f"{count} {what}{'s' * (count > 1)}", "not read")


class _Cells:
    """A reader of the cells of a sheet, which gets the elements of its XML one by one.

    `show` gives the text of a cell, None for a formula without a stored value.
    """

    def __init__(self, sheet: Sheet, show: Callable[[Any], str | None], budget: CellBudget) -> None:
        self.hidden_columns: set[int] = set()
        self.adders: dict[str, Callable[[Any], None]] = {
            "{*}col": self._add_column,
            "{*}row": self._add_row,
            "{*}mergeCell": self._add_merged,
            "{*}headerFooter": self._add_printed,
        }
        self._sheet, self._show, self._budget = sheet, show, budget
        self._number = 0
        self._hidden_cells: set[int] = set()
        self._unknown: list[str] = []
        self._merged: list[tuple[int, int, int]] = []
        self._has_printed = False

    def _add_column(self, element: Any) -> None:
        if _is_hidden(element, "width"):
            first, last = int(element.get("min", 0)), int(element.get("max", 0))
            self.hidden_columns.update(range(first, min(last, _MOST_COLUMNS) + 1))

    def _add_row(self, element: Any) -> None:
        self._number = number = int(element.get("r") or self._number + 1)
        row: Row = {}
        column = 0
        for cell in element:
            place = _place(cell.get("r", ""))
            column = place[1] if place else column + 1
            if not len(cell):
                continue
            text = self._show(cell)
            if text is None:
                self._unknown.append(f"{_letters(column)}{number}")
            elif text:
                row[column] = text
        if row and _is_hidden(element, "ht"):
            self._sheet.hidden_rows.append(number)
            return
        self._hidden_cells |= row.keys() & self.hidden_columns
        kept = {at: text for at, text in row.items() if at not in self.hidden_columns}
        for text in kept.values():
            self._budget.take(text)
        if kept:
            kept = self._sheet.rows.get(number, {}) | kept  # a broken writer repeats a row
            self._sheet.rows[number] = dict(sorted(kept.items()))

    def _add_merged(self, element: Any) -> None:
        start, _, end = element.get("ref", "").partition(":")
        if (first := _place(start)) and (last := _place(end)):
            if last[0] > first[0]:
                self._merged.append((first[0], last[0], first[1]))
            if last[1] > first[1]:
                self._sheet.spans.setdefault(first[0], []).append((first[1], last[1]))

    def _add_printed(self, element: Any) -> None:
        texts = (_CODES.sub("", text) for text in element.itertext())
        self._has_printed |= any(re.search(r"[^\W\d]", text) for text in texts)

    def finish(self) -> None:
        """Repeat the merged cells in their rows, and name what is not read."""
        self._repeat()
        sheet = self._sheet
        if self._has_printed:
            sheet.skip("header or footer of the print", "not read")
        if sheet.hidden_rows:
            sheet.skip(_ranges("row", sheet.hidden_rows, str), "hidden, not read")
        if self._hidden_cells:
            sheet.skip(_ranges("column", sorted(self._hidden_cells), _letters), "hidden, not read")
        if unknown := self._unknown:
            names = ", ".join(unknown[:_LISTED]) + ", ..." * (len(unknown) > _LISTED)
            count = f"{len(unknown):,} formula{'s' * (len(unknown) > 1)}"
            sheet.skip(f"{count} ({names})", _SAVE)

    def _repeat(self) -> None:
        """Write a cell that spans several rows into each of them that has other cells."""
        rows = self._sheet.rows
        numbers = sorted(rows)
        for first, last, column in self._merged:
            text = rows.get(first, {}).get(column, "")
            if not text or len(text) > MAX_REPEATED:
                continue
            for number in numbers[bisect_right(numbers, first) : bisect_right(numbers, last)]:
                if column not in rows[number]:
                    self._budget.take(text)
                    rows[number] = dict(sorted({**rows[number], column: text}.items()))


def _shown(cell: Any, strings: list[str], codes: list[str], is_1904: bool) -> str | None:
    """The text of a cell; None for a formula without a stored value."""
    kind = cell.get("t", "n")
    if kind == "inlineStr":
        return _one_line(_text(cell))
    value = cell.findtext("{*}v")
    if not value:
        has_formula = cell.find("{*}f") is not None
        return None if has_formula and kind != "str" else ""
    if kind == "s":
        at = int(value) if value.strip().isdecimal() else len(strings)
        return _one_line(strings[at]) if at < len(strings) else ""
    if kind == "b":
        return "TRUE" if value.strip() == "1" else "FALSE"
    if kind == "d":
        with suppress(ValueError):
            moment = datetime.fromisoformat(value.strip())
            return str(moment.date() if not moment.time() else moment)
    if kind == "n":
        with suppress(ValueError, OverflowError, ArithmeticError):
            style = int(cell.get("s", "0"))
            code = codes[style] if 0 <= style < len(codes) else ""
            return shown_number(float(value), code, is_1904)
    return _one_line(value)


def _text(element: Any) -> str:
    """The text of a string, without the sounds of its Han characters."""
    pieces = (
        one.text or ""
        for one in element.iter("{*}t")
        if not any(True for _ in one.iterancestors("{*}rPh"))
    )
    return "".join(pieces)


def _one_line(text: str) -> str:
    if "_x" in text:
        text = _ESCAPE.sub(_unescaped, text)
    return " ".join(text.split())


def _unescaped(match: re.Match[str]) -> str:
    char = chr(int(match[1], 16))
    return char if char.isprintable() else " "


def _place(reference: str) -> tuple[int, int] | None:
    """The row and column of a cell such as "B5", counted from 1."""
    if not (match := _REFERENCE.fullmatch(reference)):
        return None
    column = 0
    for letter in match[1].upper():
        column = column * 26 + ord(letter) - 64
    return int(match[2]), column


def _letters(column: int) -> str:
    """The name of a column: 28 is "AB"."""
    name = ""
    while column > 0:
        column, rest = divmod(column - 1, 26)
        name = chr(65 + rest) + name
    return name


def _is_true(value: str | None) -> bool:
    return value in ("1", "true")


def _is_hidden(element: Any, size: str) -> bool:
    return _is_true(element.get("hidden")) or element.get(size) == "0"


def _ranges(what: str, numbers: list[int], name: Callable[[int], str]) -> str:
    """Ascending numbers in words: "rows 3, 5-9"."""
    spans: list[list[int]] = []
    for one in numbers:
        if spans and spans[-1][1] == one - 1:
            spans[-1][1] = one
        else:
            spans.append([one, one])
    words = [name(a) if a == b else f"{name(a)}-{name(b)}" for a, b in spans[:_LISTED]]
    more = ", ..." if len(spans) > _LISTED else ""
    return f"{what}{'s' * (len(numbers) > 1)} {', '.join(words)}{more}"
