"""The tables of a printed page: rows with their cells in columns, written as lines."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from graphreader.ingestion.loading.page_segments import (
    AMOUNT,
    CELL_SPACE,
    NUMBER,
    PageLine,
    Rule,
    Segment,
    Word,
    glue,
)
from graphreader.ingestion.loading.tables import GridCell, with_signs

_LEAST_ROWS = 2
_MOST_LINES = 12  # of a table's row
_LETTER = re.compile(r"[^\W\d_]")
_DIGIT = re.compile(r"\d")
_ONLY_DOTS = re.compile(r"[. …_]+")
_SIGN_AT_END = re.compile(r"(.+) ([$€£¥])")  # it belongs to the next cell
_AMOUNT_START = re.compile(r"[(.—–-]*\d|[—–]")
_SIGNED = re.compile(r"([$€£¥]) (?=[\d(.])|(?<=\d) (%\)?)$")

Interval = tuple[float, float]
_Cell = tuple[float, float, str]  # its ends, and its text
_Line = tuple[bool, list[_Cell]]  # whether it has several segments, and its cells


def is_table(groups: list[list[list[Segment]]]) -> bool:
    """Whether rows with aligned gaps are a table: at least two have several cells.

    Each row is a group of lines, of which the one with the most cells counts.
    """
    rows = [max(group, key=len) for group in groups]
    wide = [row for row in rows if len(row) > 1]
    if len(wide) < _LEAST_ROWS or all(map(_is_label, wide)):
        return False
    amounts = sum(bool(AMOUNT.fullmatch(one.text)) for row in wide for one in row)
    if (2 if amounts < len(wide) else 6) * len(wide) < len(rows):
        return False
    cells = [one.text for row in wide for one in row]
    words = sum(
        bool(_LETTER.search(one)) and " " not in one and not _DIGIT.search(one) for one in cells
    )
    return len(wide) > 3 or 2 * words < len(cells)  # else perhaps words far apart in two lines


def _is_label(row: list[Segment]) -> bool:
    """Whether a row is a label with a colon and its value."""
    return len(row) == 2 and row[0].text.endswith((":", "："))


def table_lines(groups: list[list[list[Segment]]]) -> Iterator[PageLine]:
    """Yield the rows of a table as lines, with the cells of each in their columns.

    A row has several lines where rules part it from the others.
    """
    last: PageLine | None = None
    rows = [[(len(row) > 1, _signed(row)) for row in group] for group in groups]
    for edges, lines, group in zip(_edges_of(rows), rows, groups, strict=True):
        texts: dict[int, str] = {}
        for left, right, text in _joined_lines([cells for _, cells in lines]):
            place = sum(edge <= (left + right) / 2 for edge in edges)
            texts[max(place, max(texts, default=-1) + 1)] = text
        if not any(texts.values()):
            continue
        first = 0 if len(texts) > 1 else min(texts)
        cells = [GridCell(1, 1, texts.get(at, "")) for at in range(first, max(texts) + 1)]
        segments = [one for row in group for one in row]
        line = PageLine(
            _joined(cells),
            min(one.left for one in segments),
            max(one.right for one in segments),
            group[-1][0].base,
            max(one.size for one in segments),
            "\n\n" if last is None else "\n",
            is_row=len(texts) > 1,
        )
        last = line
        yield line


def _joined_lines(lines: list[list[_Cell]]) -> list[_Cell]:
    """The cells of a row, from the left; lines that stand below each other join."""
    cells: list[_Cell] = []
    for line in lines:
        for left, right, text in line:
            at = len(cells)
            if len(lines) > 1:
                below = (n for n, cell in enumerate(cells) if cell[0] < right and left < cell[1])
                at = next(below, at)
            if at < len(cells):
                above = cells.pop(at)
                text = above[2] + glue(above[2], text).replace("\n", "") + text
                left, right = min(left, above[0]), max(right, above[1])
            cells.append((left, right, text))
    return sorted(cells)


def _signed(row: list[Segment]) -> list[_Cell]:
    """The cells of a line; a sign of a currency or percent joins its number, at whose place it is.

    Where signs have columns of their own, other rows have none.
    """
    segments = list(_cells(row))
    texts = [_SIGNED.sub(lambda match: match[1] or match[2], segment.text) for segment in segments]
    for at in range(len(texts) - 1):
        sign = _SIGN_AT_END.fullmatch(texts[at])
        if sign and _AMOUNT_START.match(texts[at + 1]):
            texts[at], texts[at + 1] = sign[1], sign[2] + texts[at + 1]
    cells: list[_Cell] = []
    for joined in with_signs([GridCell(1, 1, text) for text in texts]):
        own, segments = segments[: joined.columns], segments[joined.columns :]
        main = max(own, key=lambda one: len(_DIGIT.findall(one.text)))
        cells.append((main.left, main.right, joined.text))
    return cells


def row_groups(rows: list[list[Segment]], rules: Sequence[Rule]) -> list[list[list[Segment]]]:
    """Gather the lines that stand between two rules across the first column into one row.

    They stay apart where a column has more than one number between the rules.
    """
    left = min(row[0].left for row in rows)
    first = [row[0] for row in rows if len(row) > 1 and row[0].left < left + 3 * row[0].size]
    if not first or not rules:
        return [[row] for row in rows]
    middle = left + 0.5 * (median(one.right for one in first) - left)
    heights = [rule.base for rule in rules if rule.left <= middle <= rule.right]
    groups: dict[int, list[list[Segment]]] = {}
    for row in rows:
        groups.setdefault(sum(row[0].base < one for one in heights), []).append(row)
    if len(groups) < 3:
        return [[row] for row in rows]
    found: list[list[list[Segment]]] = []
    for group in groups.values():
        found += [group] if _is_one_row(group) else [[row] for row in group]
    return found


def _is_one_row(group: list[list[Segment]]) -> bool:
    """Whether lines between two rules are one row: no column has two numbers."""
    if len(group) == 1 or len(group) > _MOST_LINES:
        return len(group) == 1
    taken: list[Interval] = []
    for row in group:
        for one in row:
            if NUMBER.fullmatch(one.text):
                if any(left < one.right and one.left < right for left, right in taken):
                    return False
                taken.append((one.left, one.right))
    return True


def _cells(row: list[Segment]) -> Iterator[Segment]:
    """Yield the cells of a row: numbers side by side are two, dots that lead the eye are none."""
    for segment in row:
        run: list[Word] = []
        for word in segment.words:
            near = run and word.left - run[-1].right < CELL_SPACE * word.size
            if run and not near and NUMBER.fullmatch(run[-1].text) and NUMBER.fullmatch(word.text):
                yield Segment(run)
                run = []
            run.append(word)
        if not _ONLY_DOTS.fullmatch(segment.text):
            yield Segment(run) if len(run) < len(segment.words) else segment


def _joined(cells: list[GridCell]) -> str:
    """The cells in one line; a label with a colon and its value are no two cells."""
    text = cells[0].text
    for before, cell in pairwise(cells):
        if before.text.endswith((":", "：")) and cell.text:
            text += f" {cell.text}"
        else:
            text += f" | {cell.text}" if cell.text else " |"
    return text.strip(" ")


def _edges_of(rows: list[list[_Line]]) -> Iterator[list[float]]:
    """Yield the edges of the columns for each row; tables below each other have their own."""
    count = 0  # of the rows of the present table
    block: list[_Line] = []
    edges: list[float] = []
    is_parted = True
    for lines in rows:
        trial = _column_edges([*block, *lines])
        was_parted, is_parted = is_parted, _has_edges(trial, [*block, *lines])
        if count > 1 and was_parted and not is_parted:
            yield from [edges] * count
            count, block = 0, []
            trial = _column_edges(lines)
            is_parted = _has_edges(trial, lines)
        count += 1
        block += lines
        edges = trial
    yield from [edges] * count


def _has_edges(edges: list[float], lines: list[_Line]) -> bool:
    """Whether each cell of the widest line has a column."""
    return len(edges) + 1 >= max((len(cells) for _, cells in lines), default=0)


def _column_edges(lines: list[_Line]) -> list[float]:
    """The places between the columns of a table, which no cell crosses, or hardly a cell."""
    wide = [cells for is_wide, cells in lines if is_wide]
    edges = _free_places(wide, 0)
    if len(edges) + 1 < max(map(len, wide), default=0):
        edges = _free_places(wide, int(0.12 * len(wide)))
    return edges


def _free_places(rows: list[list[_Cell]], allowed: int) -> list[float]:
    """The places that at most `allowed` cells cross, between the first column and the last."""
    changes: Counter[float] = Counter()
    for row in rows:
        for left, right, _ in row:
            changes[left] += 1
            changes[right] -= 1
    first = min((row[0][0] for row in rows if row), default=0.0)
    edges: list[float] = []
    depth, begin, is_inside = 0, 0.0, True
    for place in sorted(changes):
        depth += changes[place]
        if depth <= allowed and is_inside:
            begin, is_inside = place, False
        elif depth > allowed and not is_inside:
            is_inside = True
            if begin > first and place - begin > 1:
                edges.append((begin + place) / 2)
    return edges
