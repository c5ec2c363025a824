"""Tables as lines of text: cells stand between " | ", merged cells in each of their places."""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass

from graphreader.ingestion.loading.lists import number_of

_MOST_COLUMNS, _MOST_ROWS = 1_000, 65_534  # of a merged cell (HTML standard, section 4.9.11)
_CURRENCIES = ("$", "€", "£", "¥", "US$", "C$", "A$")
_FIRST_OF_NUMBER = tuple("0123456789(-–—−.")
_LONGEST_REPEATED = 100  # characters of a merged cell that is repeated


@dataclass(slots=True, eq=False)
class GridCell:
    """A table cell, which spans some columns and rows."""

    columns: int
    rows: int
    text: str = ""
    is_layout: bool = False
    is_joined: bool = False  # with a sign in the next cell

    @classmethod
    def of(cls, attributes: Mapping[str, str]) -> "GridCell":
        """Begin the cell of a start tag."""
        columns = number_of(attributes.get("colspan")) or 1
        rows = number_of(attributes.get("rowspan"))  # 0: to the end of the row group
        rows = _MOST_ROWS if rows == 0 else max(1, rows or 1)
        return cls(min(max(1, columns), _MOST_COLUMNS), rows)


@dataclass(slots=True, eq=False)
class GridRow:
    """A table row; `group` numbers the row groups of its table, `line` is its text."""

    cells: list[GridCell]
    group: int = 0
    line: str = ""


@dataclass(slots=True, eq=False)
class _Place:
    """A cell in a row: its first column, and the rows that it takes from this row on."""

    start: int
    cell: GridCell
    rows: int
    is_own: bool = False


def with_signs(cells: list[GridCell]) -> list[GridCell]:
    """Join the sign of a currency, a percent sign or a closing bracket with its number.

    Signs stand in cells of their own, as in annual reports.
    """
    joined: list[GridCell] = []
    for cell in cells:
        before = joined[-1] if joined and joined[-1].rows == cell.rows else None
        is_number = before and before.text in _CURRENCIES and cell.text[:1] in _FIRST_OF_NUMBER
        is_end = before and (
            (cell.text in (")", ")%", "%)") and _is_open(before.text))
            or (cell.text == "%" and before.text[-1:].isdigit())
        )
        if before and before.text and cell.text and (is_number or is_end):
            before.text += cell.text
            before.columns += cell.columns
            before.is_joined = True
        else:
            joined.append(cell)
    return joined


def _is_open(amount: str) -> bool:
    return amount.lstrip("USCA$€£¥ ").startswith("(") and ")" not in amount


def lay_out(rows: list[GridRow], room: int) -> int:
    """Write the rows of a table as lines, with merged cells repeated in each of their columns.

    Columns in which no cell with text begins are left out. Returns the rest of `room`, the number
    of characters for repeated cells.
    """
    grid: list[list[_Place]] = []
    spans: list[_Place] = []  # of the rows above
    group = 0
    for row in rows:
        if row.group != group or room <= 0:
            spans, group = [], row.group
        line = _placed(row.cells, spans)
        room -= sum(min(len(one.cell.text), _LONGEST_REPEATED) + 3 for one in spans)
        spans = [_Place(one.start, one.cell, one.rows - 1) for one in line if one.rows > 1]
        grid.append(line)
    columns = sorted({one.start for line in grid for one in line if one.is_own and one.cell.text})
    for row, line in zip(rows, grid, strict=True):
        if not any(cell.text for cell in row.cells):
            continue
        fields: list[str] = []
        for place in line if len(line) > 1 else ():
            text = place.cell.text
            first = last = len(fields)
            if room > 0:
                first = max(first, bisect_left(columns, place.start))
                last = max(first, bisect_left(columns, place.start + place.cell.columns))
            fields += [""] * (first - len(fields))
            if place.is_own and text:
                fields.append(text)
            is_repeated = len(text) <= _LONGEST_REPEATED and not place.cell.is_joined
            repeated = text if is_repeated else ""
            fields += [repeated] * (last - len(fields))
            room -= (last - first) * (len(repeated) + 3)
        row.line = _joined(fields) if fields else line[0].cell.text
    return room


def _placed(cells: list[GridCell], spans: list[_Place]) -> list[_Place]:
    """Place the cells of a row in the columns that no cell of the rows above takes."""
    line: list[_Place] = []
    column = at = 0
    for cell in cells:
        while at < len(spans) and spans[at].start <= column:
            line.append(spans[at])
            column = max(column, spans[at].start + spans[at].cell.columns)
            at += 1
        line.append(_Place(column, cell, cell.rows, is_own=True))
        column += cell.columns
    return line + spans[at:]


def _joined(fields: list[str]) -> str:
    return (fields[0] + "".join(f" | {one}" if one else " |" for one in fields[1:])).strip(" ")
