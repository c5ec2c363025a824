"""Tables of spreadsheets and of delimited values (CSV) as text: each row is a sentence.

"Station: Voss; Height: 56." has the names of the columns, so that it is understood alone.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from datetime import date, datetime, time, timedelta
from io import BytesIO, StringIO
from itertools import chain, islice, pairwise
from statistics import median
from typing import Any, NamedTuple

from graphreader.documents import Heading, Place, Skipped
from graphreader.errors import DocumentError
from graphreader.ingestion.loading.archives import open_archive, xml_metadata
from graphreader.ingestion.loading.content import Content, optional_package, read_text
from graphreader.ingestion.loading.number_formats import plain_number
from graphreader.ingestion.loading.workbook import (
    DAMAGED,
    HIDDEN,
    MAX_UNPACKED,
    CellBudget,
    Row,
    Sheet,
    Workbook,
)

SAMPLE = 64_000  # characters of a table by which its delimiter is recognized
FIRST_ROWS = 100  # rows among which the header is looked for
MAX_NAME = 100  # characters of a column's name, which each row repeats
_MOST_GAPS = 50  # blank columns that may part tables
_MOST_LINES = 6  # of a header
_LONGEST_TITLE = 100  # characters of a line above a table that is its heading
_DELIMITERS = ",;\t|"
_VALUE = re.compile(r"[\d\W]*\d[\d\W]*|\W+")  # a number, date or time, or signs
_PERIOD = re.compile(  # a year, month or day
    r"(?:1[89]|20)\d\d(?:[-/.](?:\d\d?|\d{4}))*|\d\d?\.\d\d?\.(?:\d\d){0,2}|\d\d?/\d\d?(?:/\d+)?"
)
_SENTENCE_END = (".", "!", "?", "…", "。", "！", "？")
_WITHOUT_FORMATS = (
    "Of .xls, .xlsb and .ods numbers are read without their formats (0.125 for 12.5%), hidden rows "
    "and columns too, comments not: save it as .xlsx to have it read as it is shown."
)
_ZIP = b"PK"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")  # a part of an Office file with a password


class TableHeader(NamedTuple):
    """The header of a table: its first row and the first row behind it, and the columns' names."""

    start: int
    end: int
    names: Mapping[int, str]


def read_table(data: bytes, shown: str) -> Content:
    """Parse a table of delimited values: a paragraph for each row, with the names of the columns.

    Places are lines of the file. The header itself and the rows before it are their values alone,
    as are all rows of a table without a header, and rows behind a blank row that do not go on with
    the table.
    """
    plain = read_text(data, shown)
    text = _Text()
    rows = _delimited(plain.text)
    first = list(islice(rows, FIRST_ROWS))
    table = [row for _, row in first if row]
    header = _header(table, 1) or TableHeader(0, 0, {})
    at = together = 0
    goes_on = True
    known: set[tuple[int, str]] = set()
    for number, row in chain(first, rows):
        if not row:  # not in a file with a blank row behind each
            goes_on &= together < 2
            together = 0
            continue
        is_data = at >= header.end
        if is_data and (not goes_on or at < FIRST_ROWS):
            goes_on = goes_on or not known.isdisjoint(_kinds(row))
            known |= _kinds(row) if goes_on else set()
        names = header.names if is_data and goes_on else {}
        text.add(_sentence(_once(row) if at < header.end - 1 else row, names), f"row {number}")
        together += is_data
        at += 1
    return text.content(encoding=plain.encoding, skipped=plain.skipped, notes=plain.notes)


def read_workbook(data: bytes, shown: str) -> Content:
    """Parse a spreadsheet: the visible sheets in order, each below a heading with its name.

    Places are "sheet Costs, row 7".
    """
    text = _Text()
    skipped: list[Skipped] = []
    metadata: dict[str, Any] = {}
    notes: tuple[str, ...] = ()
    if _ENCRYPTED in data:
        raise DocumentError(f"{shown} is protected by a password: save it without one.")
    is_excel = False
    if data.startswith(_ZIP):
        with open_archive(data, shown, MAX_UNPACKED) as archive:
            book = Workbook(archive, shown)
            if is_excel := book.is_excel:
                metadata = xml_metadata(archive, "docProps/core.xml")
                for sheet in book.sheets():
                    _add_sheet(text, sheet)
                    skipped += sheet.skipped
                skipped += book.skipped()
    if not is_excel:
        notes = (_WITHOUT_FORMATS,)
        for sheet in _other_sheets(data, shown):
            _add_sheet(text, sheet)
            skipped += sheet.skipped
    if not text.pieces and any(one.reason == DAMAGED for one in skipped):
        raise DocumentError(f"{shown} is damaged, no sheet can be read: save it anew.")
    return text.content(metadata=metadata, skipped=tuple(skipped), notes=notes)


class _Text:
    """A builder of a text of paragraphs, with a place for each, and with headings."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._length = 0
        self._places: list[Place] = []
        self._headings: list[Heading] = []

    def add(self, paragraph: str, place: str, level: int = 0) -> None:
        """Add a paragraph; with a level from 1 it is a heading."""
        if level:
            self._headings.append(Heading(self._length, paragraph, level))
        if not self._places or self._places[-1].name != place:
            self._places.append(Place(self._length, place))
        self.pieces += (paragraph, "\n\n")
        self._length += len(paragraph) + 2

    def add_all(self, paragraphs: Sequence[str], place: str) -> None:
        """Add some paragraphs at one place."""
        for one in paragraphs:
            self.add(one, place)

    def content(self, **more: Any) -> Content:
        """Return the text with its places and headings, and `more` fields of a content."""
        text = "".join(self.pieces[:-1])
        return Content(text, places=tuple(self._places), headings=tuple(self._headings), **more)


def _delimited(text: str) -> Iterator[tuple[int, Row]]:
    """Yield the rows of delimited values, blank or not, with their first lines from 1."""
    csv.field_size_limit(max(len(text), 1))
    delimiter = _delimiter(text[:SAMPLE])
    lines = StringIO(text.replace("\0", "\ufffd"), newline="")
    reader = csv.reader(lines, delimiter=delimiter)
    number = 1
    for cells in reader:
        row = {at: value for at, one in enumerate(cells, 1) if (value := " ".join(one.split()))}
        yield number, row
        number = reader.line_num + 1


def _delimiter(sample: str) -> str:
    """The delimiter that parts the lines of a table into the most equal numbers of values."""
    lines = sample.splitlines()[:FIRST_ROWS]

    def quality(delimiter: str) -> tuple[int, int]:
        rows = csv.reader(lines, delimiter=delimiter)
        (width, number), *_ = Counter(map(len, rows)).most_common(1) or [(1, 0)]
        return (number if width > 1 else 0), width

    return max(_DELIMITERS, key=quality)


def _sentence(row: Row, names: Mapping[int, str]) -> str:
    """A row as a sentence; a single value in the first of many columns is a line by itself."""
    if len(row) == 1 and 1 in row and len(names) > 2:
        names = {}
    values = (f"{name}: {one}" if (name := names.get(at)) else one for at, one in row.items())
    sentence = "; ".join(values)
    return sentence if sentence.endswith(_SENTENCE_END) else f"{sentence}."


def _once(row: Row) -> Row:
    """An upper line of a header, where a text repeated in all of its columns stands once."""
    pairs = pairwise([(0, ""), *row.items()])
    return {at: one for (_, left), (at, one) in pairs if one != left or _VALUE.fullmatch(one)}


def _header(rows: Sequence[Row], fewest: int = 2) -> TableHeader | None:
    """The header among the first rows of a table, None if it has none.

    It is the first row with at least half as many values as most rows have, if these are names:
    words, or years above other numbers. A header of several lines has spaces, or a name repeated,
    in one line where the next has names above numbers. Names that stay equal are numbered, unless
    they are values of the rows below.
    """
    if not rows:
        return None
    usual = median(len(row) for row in rows)
    least = max(fewest, min(usual, 2), usual / 2)
    wide = (at for at, row in enumerate(rows) if len(row) >= least)
    start = next((at for at in wide if len(rows[at]) == 1 or not _is_one(rows[at])), 0)
    if not _are_names(rows, start) or len(rows[start]) < fewest:
        return None
    end = start + 1
    names = dict(rows[start])
    left = min(set().union(*rows[start:]))  # the column of labels, often without a name
    while end - start < _MOST_LINES and end < len(rows) - 1:
        below = rows[end]
        parts = (_repeated(names) | (below.keys() - names.keys())) - {left}
        label, upper_label = below.get(left, ""), names.get(left, "")
        is_row = label and upper_label not in ("", label) and not _has_values(below)
        under = rows[end + 1 : start + _MOST_LINES + 1]
        if label and label != upper_label:  # a row of words looks like a line of the header
            under = [_only(row, parts) for row in under]
        is_line = parts and not is_row and len(below) > 1 and _are_names(rows, end)
        if not (is_line and _has_values(*under)):
            break
        names = _joined(names, below)
        end += 1
    upper = rows[start - 1] if start else {}
    used = set().union(*rows[end:]) - names.keys() - {left}
    is_lower = _repeated(names) or not used.isdisjoint(upper)
    if is_lower and len(upper) > 1 and _are_names(rows, start - 1):
        start -= 1
        names = _joined(upper, names)
    repeated = _repeated(names)
    if repeated and (_is_one(names) or _are_values(_only(names, repeated), rows[end:])):
        return None
    names = {at: name[:MAX_NAME].rstrip(" :：") for at, name in names.items()}
    return TableHeader(start, end, _numbered(names))


def _repeated(names: Row) -> set[int]:
    """The columns whose names other columns have, too."""
    counts = Counter(names.values())
    return {at for at, name in names.items() if counts[name] > 1}


def _numbered(names: Row) -> Row:
    """Tell equal names apart: "Notes", "Notes 2"."""
    counts: Counter[str] = Counter()
    numbered: Row = {}
    for at, name in names.items():
        counts[name] += 1
        numbered[at] = f"{name} {counts[name]}" if counts[name] > 1 else name
    return numbered


def _are_values(names: Row, rows: Sequence[Row]) -> bool:
    """Whether equal words of a first row are values of its columns: they are in other rows, too."""
    words = set(names.values())
    return not rows or any(row.get(at) in words for row in rows for at in names)


def _are_names(rows: Sequence[Row], at: int) -> bool:
    """Whether the values of a row are names of columns: words, or years above other values."""
    values = {column: cell for column, cell in rows[at].items() if _VALUE.fullmatch(cell)}
    if not values:
        return True
    if not _are_periods(list(values.values())):
        return False
    below = next((row for row in rows[at + 1 :] if not row.keys().isdisjoint(values)), None)
    if below is None:  # the numbers stand behind a blank row
        return min(rows[at]) not in values
    under = [below[column] for column in values if column in below]
    is_first = min(rows[at]) > min(below) or min(rows[at]) not in values
    return is_first and not _are_periods(under)


def _are_periods(values: Sequence[str]) -> bool:
    """Whether values are years or days, or numbers that count on, such as weeks."""
    if all(_PERIOD.fullmatch(one) for one in values):
        return True
    numbers = [int(one) if one.isdecimal() else None for one in values]
    return len(values) > 2 and all(a is not None and b == a + 1 for a, b in pairwise(numbers))


def _is_one(row: Row) -> bool:
    """Whether a row has one text, in a single cell or repeated in all of its cells."""
    return len(set(row.values())) == 1


def _has_values(*rows: Row) -> bool:
    return any(_VALUE.fullmatch(cell) for row in rows for cell in row.values())


def _only(row: Row, columns: Set[int]) -> Row:
    return {at: cell for at, cell in row.items() if at in columns}


def _joined(upper: Row, lower: Row) -> Row:
    """Two lines of a header as one: a name above several columns belongs to each of them.

    It stands above the first of them, or above any where blank columns part them from others. One
    that belongs to all columns is left out.
    """
    if len(upper) > 1 and _is_one(upper):
        return dict(lower)
    if len(lower) > 1 and _is_one(lower):
        return dict(upper)
    columns = sorted(lower)
    starts = [one for one in columns if one - 1 not in lower]
    names: Row = {}
    last = ""
    for column in sorted(upper.keys() | lower.keys()):
        if column in starts and len(starts) > 1:
            ends = [one for one in starts if one > column] or [columns[-1] + 1]
            inside = list(_cells(upper, column, ends[0]).values())
            last = inside[0] if len(inside) == 1 else last
        last = upper.get(column, last) if column in lower or names else last
        own = last if column in lower else upper.get(column, "")
        names[column] = " ".join(dict.fromkeys(filter(None, [own, lower.get(column, "")])))
    return names


class _SheetLine(NamedTuple):
    """A line of a sheet: its row, its text, and the level of the heading that it may be, or 0.

    It is a heading if rows of a table follow.
    """

    number: int
    text: str
    level: int = 0
    is_row: bool = False


def _add_sheet(text: _Text, sheet: Sheet) -> None:
    """Add a sheet: its name as a heading, then its tables with the lines above and below them."""
    if not sheet.rows and not sheet.lines:
        return
    text.add(sheet.name, f"sheet {sheet.name}", level=1)
    lines: list[_SheetLine] = []
    table: TableHeader | None = None
    above: set[tuple[int, str]] = set()
    blocks = list(_blocks(list(sheet.rows.items()), sheet)) if sheet.rows else []
    for block in _with_headers(blocks):
        header = _header([row for _, row in block[:FIRST_ROWS]])
        kinds = _kinds(*(row for _, row in block))
        table = header = _next_header(block, header, table, not above.isdisjoint(kinds))
        above = kinds
        lines += _lines(block, header)
    left = sorted(sheet.lines)
    is_above_row = [False] * len(lines)
    for at in range(len(lines) - 2, -1, -1):
        after = lines[at + 1]
        is_above_row[at] = after.is_row or (after.level > 0 and is_above_row[at + 1])
    titles = 1
    for line, is_above in zip(lines, is_above_row, strict=True):
        titles = titles + 1 if line.level and line.level < _SECTION else 1
        level = min(max(line.level, titles), _SECTION) if line.level and is_above else 0
        text.add(line.text, f"sheet {sheet.name}, row {line.number}", level)
        while left and left[0] <= line.number:
            text.add_all(sheet.lines[left[0]], f"sheet {sheet.name}, row {left.pop(0)}")
    for number in left:
        text.add_all(sheet.lines[number], f"sheet {sheet.name}, row {number}")


def _with_headers(blocks: "list[_Block]") -> "Iterator[_Block]":
    """Join each header with the rows of its table behind a blank row."""
    header: _Block = []
    for block in blocks:
        rows = [row for _, row in block]
        columns = set().union(*rows)
        names = set().union(*(row for _, row in header))
        first = next((row for row in rows if len(row) > 1), {})
        if header and not (_has_values(first) and len(columns & names) > 1):
            yield header
            header = []
        block = [*header, *block]
        header = []
        are_names = (_are_names(rows, at) for at in range(len(rows)))
        if len(rows) < _MOST_LINES and len(columns) > 1 and all(are_names):
            header = block
        else:
            yield block
    if header:
        yield header


_TITLE, _SECTION = 2, 6  # levels of headings: lines above a table, and lines between its rows


def _next_header(
    block: "_Block", own: TableHeader | None, above: TableHeader | None, goes_on: bool
) -> TableHeader | None:
    """The header of a block: of the table above, if its rows go on behind blank rows, or its own.

    Two columns of words that do not go on with the table, such as signatures, have none.
    """
    rows = [row for _, row in block]
    columns = set().union(*rows)
    if not above or len(columns) < 2 or not columns <= above.names.keys() | {min(above.names) - 1}:
        return own
    if own and (len(rows[0]) == 1 or any(map(_has_values, rows[own.end : FIRST_ROWS]))):
        return own
    if goes_on:
        return TableHeader(0, 0, above.names)
    return own if len(columns) > 2 else None


def _kinds(*rows: Row) -> set[tuple[int, str]]:
    """The words of each column, and "" for numbers: rows of a table have some in common."""
    cells = (cell for row in rows for cell in row.items())
    return {(at, "" if _VALUE.fullmatch(cell) else cell) for at, cell in cells}


def _lines(block: "_Block", header: TableHeader | None) -> Iterator[_SheetLine]:
    """Yield the lines of a table; a row that repeats the header stands without names."""
    rows = [row for _, row in block]
    start, end, names = header or TableHeader(len(rows), len(rows), {})
    first = min(set().union(*rows))
    again = {at for at in range(end, len(rows)) if _repeats(rows[at], names)}
    for at, (number, row) in enumerate(block):
        is_title = header is not None and (at < start or at + 1 in again) and at not in again
        is_one = len(row) == 1 or (at < start and _is_one(row) and not _has_values(row))
        is_named = len(names) < 3 or (first not in row and not names.keys().isdisjoint(row))
        text = "; ".join(dict.fromkeys(row.values()))
        if is_title and len(text) <= _LONGEST_TITLE and not _has_values(row):
            yield _SheetLine(number, text, _TITLE)
        elif is_one and (at < start or not is_named):
            is_section = at > start and first in row and len(text) <= _LONGEST_TITLE
            is_name = is_section and not _has_values(row) and not text.endswith(_SENTENCE_END)
            title = header is None and _is_title(text)
            yield _SheetLine(number, text, _SECTION if is_name else _TITLE if title else 0)
        else:
            is_data = at >= end and at not in again
            is_upper = header is not None and at < end - 1
            sentence = _sentence(_once(row) if is_upper else row, names if is_data else {})
            yield _SheetLine(number, sentence, is_row=True)


def _is_title(text: str) -> bool:
    is_short = len(text) <= _LONGEST_TITLE and not text.endswith(_SENTENCE_END)
    return is_short and not _VALUE.fullmatch(text)


def _repeats(row: Row, names: Mapping[int, str]) -> bool:
    equal = sum(names.get(column) == cell for column, cell in row.items())
    return equal > 1 and equal * 2 > len(row)


_Block = Sequence[tuple[int, Row]]


def _blocks(rows: _Block, sheet: Sheet) -> Iterator[_Block]:
    """Yield the tables of a sheet, which blank rows or columns part, in reading order."""
    hidden = set(sheet.hidden_rows)
    ends = [
        at
        for at, ((one, _), (other, _)) in enumerate(pairwise(rows), 1)
        if other - one > 1 and not all(number in hidden for number in range(one + 1, other))
    ]
    for start, end in pairwise([0, *ends, len(rows)]):
        block = rows[start:end]
        column = _second_table(block, sheet)
        if not column:
            yield block
            continue
        for part in (_part(block, 0, column), _part(block, column)):
            yield from _blocks(part, sheet)


def _part(block: _Block, first: int, end: int = 2**20) -> _Block:
    """The cells of a block in some columns."""
    parts = ((number, _cells(row, first, end)) for number, row in block)
    return [(number, row) for number, row in parts if row]


def _cells(row: Row, first: int, end: int = 2**20) -> Row:
    return {column: cell for column, cell in row.items() if first <= column < end}


def _second_table(block: _Block, sheet: Sheet) -> int:
    """The first column of a table to the right of a blank column, 0 if there is none.

    It begins with labels, below a title or a header of its own, or with a header beside numbers:
    columns of numbers belong to the labels on their left.
    """
    words: Counter[int] = Counter()
    cells: Counter[int] = Counter()
    covered: set[tuple[int, int]] = set()
    for number, row in block:
        cells.update(row.keys())
        words.update(column for column, one in row.items() if not _VALUE.fullmatch(one))
        covered.update(sheet.spans.get(number, ()))
    gaps = [(one, other) for one, other in pairwise(sorted(cells)[:-1]) if other > one + 1]
    for before, column in gaps[:_MOST_GAPS]:
        if any(one <= before < other for one, other in covered):
            continue
        right = [one for _, one in _part(block[:FIRST_ROWS], column)]
        if not right:
            continue
        header = _header(right)
        first, named = (
            next(_cells(row, 0, column) for _, row in block if _cells(row, column) == one)
            for one in (right[0], right[header.start if header else 0])
        )
        has_labels = words[column] * 2 >= cells[column] > 1
        if has_labels and len(right[0]) == 1 == len(first) and not _has_values(right[0] | first):
            return column
        has_values = header and any(map(_has_values, right[header.end :]))
        if header and (_has_values(named) or (has_labels and has_values)):
            return column
    return 0


def _other_sheets(data: bytes, shown: str) -> Iterator[Sheet]:
    """Yield the sheets of a file in another format than Excel's XML, by calamine."""
    calamine = optional_package("python_calamine", shown)
    budget = CellBudget(shown)
    try:
        book = calamine.load_workbook(BytesIO(data))
    except calamine.PasswordError:
        raise DocumentError(f"{shown} is protected by a password: save it without one.") from None
    for number, about in enumerate(book.sheets_metadata):
        sheet = Sheet(" ".join(about.name.split()))
        if about.visible != calamine.SheetVisibleEnum.Visible:
            sheet.skip("", HIDDEN)
        elif about.typ != calamine.SheetTypeEnum.WorkSheet:
            sheet.skip("", "is a chart or macro and not read")
        else:
            for at, cells in enumerate(book.get_sheet_by_index(number).iter_rows(), 1):
                row = {
                    column: text
                    for column, one in enumerate(cells, 1)
                    if one != "" and (text := _plain(one))
                }
                for text in row.values():
                    budget.take(text)
                if row:
                    sheet.rows[at] = row
        yield sheet


def _plain(value: Any) -> str:
    """A value without its format as text."""
    match value:
        case bool():
            return str(value).upper()
        case int() | float():
            return plain_number(value)
        case datetime():
            return str(value.date() if value.time() == time() else value)
        case date() | time() | timedelta():
            return str(value)
    return " ".join(str(value).split())
