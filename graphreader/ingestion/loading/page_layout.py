"""The lines of a printed page in their reading order, from words with positions.

Columns of text come one after the other, the rows of a table stay whole with " | " between its
cells, and each line says how it joins the line before it. The plane of a page has its origin at the
lower left; lengths are points.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, takewhile
from statistics import median
from typing import NamedTuple

from graphreader.ingestion.loading.notation import END, SUBSCRIPT, SUPERSCRIPT, write_out
from graphreader.ingestion.loading.tables import GridCell, with_signs
from graphreader.text.lines import CLOSING, FULL_STOPS, ITEM
from graphreader.text.scripts import CJK, FULL_WIDTH_SIGNS

Interval = tuple[float, float]
_Cell = tuple[float, float, str]  # its ends, and its text


class Rule(NamedTuple):
    """A horizontal line that is drawn on the page: its height and its ends."""

    base: float
    left: float
    right: float


HYPHENS = ("-", "\u2010")

_BODY = 0.7  # em; the height of a line above its base for the comparison with others
_NEAR = 1.0  # em; words with a wider gap are cells or columns of their own
_GUTTER = 0.6  # em; the least width of the space between columns
_WORD_SPACE = 0.17  # em; the least gap of words in which no space is written
_LEAST_ROWS = 2
_MOST_LINES = 12  # of a table's row
_LEAST_LINES = 4  # of each of three columns of prose, or more
_PROSE_WORDS = 3.0  # words of a line of prose, on average
_MARKER = re.compile(
    r"(?:[•◦▪‣●○■□–*·☐☑☒✓➢\-]|\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})[.)]|[①-⑳]|\[(?:\d{1,3}|[ x])\]"
    r"|(?:Item|ITEM) \d{1,2}[A-C]?\.)"
)
_SENTENCE_END = re.compile(rf"(?:[.!?:;…]|[{FULL_STOPS}：；]){CLOSING}\Z")
_UNSPACED = re.compile(rf"[{CJK}{FULL_WIDTH_SIGNS}]")
_LABELLED = re.compile(r"[^\W\d_][^:.]{0,30}:\s")
_LEAST_PROSE, _LEAST_CJK = 25, 12  # characters of a line that runs on
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(rf"[{CJK}]{{2}}|[^\s{CJK}]+")
_AMOUNT = re.compile(r"[($€£¥+−–-]*\d{1,3}(?:[.,]\d{1,3})+\)?%?\)?")
_NUMBER = re.compile(r"[($€£¥+−–-]*\d[\d.,]*\)?%?\)?|[—–]")
_CELL_SPACE = 0.35  # em; the least gap of two numbers that are cells of a table
_DIGIT = re.compile(r"\d")
_ONLY_DOTS = re.compile(r"[. …_]+")
_SIGNED = re.compile(r"([$€£¥]) (?=[\d(.])|(?<=\d) (%\)?)$")
_LEADERS = re.compile(r"(?: ?\.){4,}")


@dataclass(slots=True, eq=False)
class Word:
    """A word, or a part of one, that stands at one place: its ends, its base and its size (em).

    `is_spaced` says that a space is written before it, `is_alone` that it is a line of its own.
    """

    text: str
    left: float
    right: float
    base: float
    size: float
    is_spaced: bool = False

    @property
    def top(self) -> float:
        """The height up to which it is compared with others."""
        return self.base + _BODY * self.size


@dataclass(slots=True, eq=False)
class PageLine:
    """A line of a page in its reading order, or a row of a table.

    `before` is the text between the line before and this one; `is_full` says that it reaches the
    end of its column, so that its last sentence may run on.
    """

    text: str
    left: float
    right: float
    base: float
    size: float
    before: str = "\n\n"
    is_row: bool = False
    is_full: bool = False


@dataclass(slots=True, eq=False)
class _Segment:
    """Words side by side without a wide gap: a line of one column, or a cell of a table."""

    words: list[Word]
    left: float = 0
    right: float = 0
    base: float = 0
    size: float = 0
    _text: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        self.measure()

    def measure(self) -> None:
        """Take the measures from the words; most of its letters say base and size."""
        self.left = min(word.left for word in self.words)
        self.right = max(word.right for word in self.words)
        self.size = _main_size(self.words)
        self.base = median(word.base for word in self.words if word.size == self.size)
        self._text = ""

    @property
    def top(self) -> float:
        return self.base + _BODY * self.size

    @property
    def text(self) -> str:
        self._text = self._text or _text_of(self.words)
        return self._text


def lines_of_page(words: Iterable[Word], rules: Sequence[Rule] = ()) -> list[PageLine]:
    """Put the words of a page into lines, columns and tables. They come in the file's order."""
    lines = list(_ordered(_segments(list(words)), rules))
    if lines:
        lines[0].before = ""
    return lines


def _main_size(words: list[Word]) -> float:
    """The size of most letters."""
    if len(words) == 1:
        return words[0].size
    letters: Counter[float] = Counter()
    for word in words:
        letters[word.size] += len(word.text)
    return letters.most_common(1)[0][0]


def _overlap(one: "Word | _Segment", other: "Word | _Segment") -> bool:
    """Whether two parts stand on one line: half of the smaller one's height is in the other."""
    low, high = max(one.base, other.base), min(one.top, other.top)
    return high - low > 0.5 * _BODY * min(one.size, other.size)


def _segments(words: list[Word]) -> list[_Segment]:
    """Join words that follow each other in the file, then those that only stand side by side."""
    segments: list[_Segment] = []
    run: list[Word] = []
    for word in words:
        if run:
            last = run[-1]
            size = max(last.size, word.size)
            gap = word.left - last.right
            if not (-0.5 * size < gap < _near(last, word) * size and _overlap(last, word)):
                segments.append(_Segment(run))
                run = []
        run.append(word)
    if run:
        segments.append(_Segment(run))
    return _neighbours_joined(segments)


def _neighbours_joined(segments: list[_Segment]) -> list[_Segment]:
    """Join segments of one line without a wide gap between them; a list's sign joins its item."""
    joined: list[_Segment] = []
    for row in _rows(segments, exact=True):
        run: list[_Segment] = []
        right = size = 0.0
        for segment in row:
            if run:
                last = run[-1]
                gap = segment.left - right
                near = _near(last.words[-1], segment.words[0]) * max(size, segment.size)
                near = near if len(run) > 1 or not _is_marker(last) else 5 * size
                is_raised = gap < 0 and segment.size < 0.85 * size and segment.right < right
                if not (-size < gap < near or is_raised):
                    joined.append(_united(run))
                    run = []
            right = max(right, segment.right) if run else segment.right
            size = max(size, segment.size) if run else segment.size
            run.append(segment)
        joined.append(_united(run))
    return joined


def _united(run: list[_Segment]) -> _Segment:
    if len(run) == 1:
        return run[0]
    words = [word for segment in run for word in segment.words]
    return _Segment(sorted(words, key=lambda word: word.left))


def _near(last: Word, word: Word) -> float:
    """The gap, in em, from which on two words are apart; numbers side by side are cells."""
    if _AMOUNT.fullmatch(word.text):
        return _CELL_SPACE if _NUMBER.fullmatch(last.text) else 0.75
    return _NEAR


def _is_marker(segment: _Segment) -> bool:
    return len(segment.words) <= 2 and bool(_MARKER.fullmatch(segment.text))


def _rows(segments: Sequence[_Segment], *, exact: bool = False) -> list[list[_Segment]]:
    """Gather segments that stand on one line, from the top; `exact`: nearly on one base."""
    rows: list[tuple[_Segment, list[_Segment]]] = []  # with the largest of each
    for segment in sorted(segments, key=lambda one: -one.base):
        for number in range(len(rows) - 1, max(-1, len(rows) - 5), -1):
            first, row = rows[number]
            is_one = _overlap(first, segment)
            if exact and is_one:
                small = min(first.size, segment.size) < 0.85 * max(first.size, segment.size)
                is_one = small or abs(first.base - segment.base) < 0.2 * first.size
            if is_one:
                row.append(segment)
                if segment.size > first.size:
                    rows[number] = segment, row
                break
        else:
            rows.append((segment, [segment]))
    return [sorted(row, key=lambda one: one.left) for _, row in rows]


def _ordered(segments: list[_Segment], rules: Sequence[Rule], depth: int = 0) -> Iterator[PageLine]:
    """Yield the lines of a region, which may have columns and tables."""
    plain: list[list[_Segment]] = []
    right = _right_margin(segments)
    for bands, gutters in _regions(segments):
        if depth < 4 and gutters and (halves := _columns(bands, gutters)):
            yield from _paragraphs(plain, right)
            plain = []
            last: PageLine | None = None
            for half in halves:
                for number, line in enumerate(_ordered(half, rules, depth + 1)):
                    if number == 0 and last is not None and runs_on(last, line):
                        line.before = glue(last.text, line.text)
                    yield line
                    last = line
            continue
        rows = [row for band in bands for row in _rows(band)]
        groups = _grouped(rows, rules) if gutters else []
        if gutters and _is_table([_longest(group) for group in groups]):
            yield from _paragraphs(plain, right)
            plain = []
            yield from _table(groups)
        else:
            plain += rows
    yield from _paragraphs(plain, right)


def _regions(
    segments: list[_Segment],
) -> Iterator[tuple[list[list[_Segment]], list[Interval]]]:
    """Yield bands of a region, from the top, with the spaces between columns that they share.

    A band is a set of segments without a horizontal space between them.
    """
    run: list[list[_Segment]] = []
    gutters: list[Interval] = []
    for band in _bands(segments):
        free = _free(band)
        if run and gutters:
            shared = _shared(gutters, free)
            if shared and _is_close(run, band):
                run.append(band)
                gutters = shared
                continue
            yield from _trimmed(run, gutters)
            run, gutters = [], []
        inner = [one for one in free if one[0] > -1e8 and one[1] < 1e8]
        if inner:
            run, gutters = [band], inner
        else:
            yield [band], []
    if run:
        yield from _trimmed(run, gutters)


def _bands(segments: list[_Segment]) -> list[list[_Segment]]:
    bands: list[list[_Segment]] = []
    low = 0.0
    for segment in sorted(segments, key=lambda one: -one.top):
        if bands and segment.top > low:
            bands[-1].append(segment)
            low = min(low, segment.base)
        else:
            bands.append([segment])
            low = segment.base
    return bands


def _free(band: list[_Segment]) -> list[Interval]:
    """The intervals of the width without text, the outer margins too."""
    least = _GUTTER * median(one.size for one in band)
    free: list[Interval] = []
    at = -1e9
    for segment in sorted(band, key=lambda one: one.left):
        if segment.left - at >= least:
            free.append((at, segment.left))
        at = max(at, segment.right)
    free.append((at, 1e9))
    return free


def _shared(gutters: list[Interval], free: list[Interval]) -> list[Interval]:
    shared = [(max(one[0], other[0]), min(one[1], other[1])) for one in gutters for other in free]
    return [one for one in shared if one[1] - one[0] >= 4]


def _is_close(run: list[list[_Segment]], band: list[_Segment]) -> bool:
    """Whether a band follows without a space of several lines."""
    low = min(one.base for one in run[-1])
    top = max(one.top for one in band)
    return low - top < 5 * max(one.size for one in band)


def _sides(band: Iterable[_Segment], gutter: Interval) -> tuple[list[_Segment], list[_Segment]]:
    middle = (gutter[0] + gutter[1]) / 2
    left = [one for one in band if one.left < middle]
    right = [one for one in band if one.left >= middle]
    return left, right


def _trimmed(
    run: list[list[_Segment]], gutters: list[Interval]
) -> Iterator[tuple[list[list[_Segment]], list[Interval]]]:
    """Yield a run without the bands at its end that only happen to leave its columns free."""
    keep = len(run)
    while keep > 1 and len(run[keep - 1]) == 1:
        above, only = run[keep - 2], run[keep - 1][0]
        gap = min(one.base for one in above) - only.top
        if gap < 1.1 * only.size:
            break
        keep -= 1
    yield run[:keep], gutters
    for band in run[keep:]:
        yield [band], []


def _columns(
    bands: list[list[_Segment]], gutters: list[Interval]
) -> tuple[list[_Segment], list[_Segment]] | None:
    """Part a region into two columns of text, None if it has no two of them."""
    segments = [one for band in bands for one in band]
    if len(gutters) > 1 and _are_prose_columns(segments, gutters):
        return _sides(segments, gutters[0])
    best: tuple[float, tuple[list[_Segment], list[_Segment]]] | None = None
    for gutter in gutters:
        left, right = _sides(segments, gutter)
        if not left or not right:
            continue
        if _are_columns(left, right):
            balance = min(len(left), len(right)) / len(segments)
            weight = balance * (gutter[1] - gutter[0])
            if best is None or weight > best[0]:
                best = weight, (left, right)
    return best[1] if best else None


def _are_prose_columns(segments: list[_Segment], gutters: list[Interval]) -> bool:
    """Whether all parts between several gutters are columns of prose, each with its paragraphs."""
    columns = []
    for gutter in gutters:
        left, segments = _sides(segments, gutter)
        columns.append(_rows(left))
    columns.append(_rows(segments))
    return (
        min(map(len, columns)) >= _LEAST_LINES
        and all(map(_is_prose, columns))
        and not any(_has_common_rows(*pair) for pair in pairwise(columns))
    )


def _are_columns(left: list[_Segment], right: list[_Segment]) -> bool:
    """Whether two sides are columns of running text, not the cells of a table's rows."""
    rows = _rows(left), _rows(right)
    if min(map(len, rows)) < 3:
        return False
    bases = [[max(one.base for one in row) for row in side] for side in rows]
    size = median(one.size for one in left + right)
    fewer, more = sorted(bases, key=len)
    same = sum(any(abs(base - other) < 0.15 * size for other in more) for base in fewer)
    is_level = same > 0.6 * len(fewer)
    if (
        same > 0.85 * len(fewer)
        and len(more) > 1.3 * len(fewer)
        and _spans(fewer) > 0.7 * _spans(more)
    ):
        return False  # each line of one side begins a cell of the other
    prose = [_is_prose(side) for side in rows]
    if all(prose):
        return not (is_level and _has_common_rows(*rows))
    return not is_level and all(_average_words(side) >= 2 for side in rows) and any(prose)


def _spans(bases: list[float]) -> float:
    return max(bases) - min(bases)


def _average_words(rows: list[list[_Segment]]) -> float:
    return sum(len(_WORD.findall(one.text)) for row in rows for one in row) / len(rows)


def _is_prose(rows: list[list[_Segment]]) -> bool:
    """Whether most lines have words and fill their column."""
    texts = [" ".join(one.text for one in row) for row in rows]
    letters = sum(len(_LETTER.findall(text)) for text in texts)
    width = max(row[-1].right for row in rows) - min(row[0].left for row in rows)
    filled = median((row[-1].right - row[0].left) / max(width, 1) for row in rows)
    return (
        _average_words(rows) >= _PROSE_WORDS
        and sum(map(len, rows)) <= 2.2 * len(rows)
        and letters > 0.6 * sum(len(text.replace(" ", "")) for text in texts)
        and filled > 0.6
    )


def _has_common_rows(left: list[list[_Segment]], right: list[list[_Segment]]) -> bool:
    """Whether both sides have their spaces between paragraphs at one height, as cells have."""
    starts = [_group_starts(side) for side in (left, right)]
    fewer, more = sorted(starts, key=len)
    if len(fewer) < 2:
        return False
    size = left[0][0].size
    same = sum(any(abs(one - other) < 0.3 * size for other in more) for one in fewer)
    return same >= 0.8 * len(fewer) and len(more) <= 2 * len(fewer)


def _group_starts(rows: list[list[_Segment]]) -> list[float]:
    gaps = [above[0].base - below[0].base for above, below in pairwise(rows)]
    leading = median(gaps) if gaps else 0
    starts = [
        below[0].base
        for (_, below), gap in zip(pairwise(rows), gaps, strict=True)
        if gap > 1.25 * leading
    ]
    return [rows[0][0].base, *starts]


def _longest(group: list[list[_Segment]]) -> list[_Segment]:
    return max(group, key=len)


def _is_table(rows: list[list[_Segment]]) -> bool:
    """Whether rows with aligned gaps are a table: at least two have several cells."""
    wide = [row for row in rows if len(row) > 1]
    if len(wide) < _LEAST_ROWS or all(map(_is_label, wide)):
        return False
    amounts = sum(bool(_AMOUNT.fullmatch(one.text)) for row in wide for one in row)
    if (2 if amounts < len(wide) else 6) * len(wide) < len(rows):
        return False
    cells = [one.text for row in wide for one in row]
    words = sum(
        bool(_LETTER.search(one)) and " " not in one and not _DIGIT.search(one) for one in cells
    )
    return len(wide) > 3 or 2 * words < len(cells)  # else perhaps words far apart in two lines


def _is_label(row: list[_Segment]) -> bool:
    """Whether a row is a label with a colon and its value."""
    return len(row) == 2 and row[0].text.endswith((":", "："))


def _table(groups: list[list[list[_Segment]]]) -> Iterator[PageLine]:
    """Yield the rows of a table as lines, with the cells of each in their columns.

    A row has several lines where rules part it from the others.
    """
    edges = _column_edges([row for group in groups for row in group])
    last: PageLine | None = None
    for group in groups:
        texts: dict[int, str] = {}
        for left, right, text in _joined_lines(group):
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


def _joined_lines(group: list[list[_Segment]]) -> list[_Cell]:
    """The cells of a row, from the left; lines that stand below each other join."""
    cells: list[_Cell] = []
    for row in group:
        for left, right, text in _signed(row):
            at = len(cells)
            if len(group) > 1:
                below = (n for n, cell in enumerate(cells) if cell[0] < right and left < cell[1])
                at = next(below, at)
            if at < len(cells):
                above = cells.pop(at)
                text = above[2] + glue(above[2], text).replace("\n", "") + text
                left, right = min(left, above[0]), max(right, above[1])
            cells.append((left, right, text))
    return sorted(cells)


def _signed(row: list[_Segment]) -> list[_Cell]:
    """The cells of a line; a sign of a currency or percent joins its number, at whose place it is.

    Where signs have columns of their own, other rows have none.
    """
    segments = list(_cells(row))
    texts = [_SIGNED.sub(lambda match: match[1] or match[2], segment.text) for segment in segments]
    cells: list[_Cell] = []
    for joined in with_signs([GridCell(1, 1, text) for text in texts]):
        own, segments = segments[: joined.columns], segments[joined.columns :]
        main = max(own, key=lambda one: len(_DIGIT.findall(one.text)))
        cells.append((main.left, main.right, joined.text))
    return cells


def _grouped(rows: list[list[_Segment]], rules: Sequence[Rule]) -> list[list[list[_Segment]]]:
    """Gather the lines that stand between two rules across the first column into one row.

    They stay apart where a column has more than one number between the rules.
    """
    left = min(row[0].left for row in rows)
    first = [row[0] for row in rows if len(row) > 1 and row[0].left < left + 3 * row[0].size]
    if not first or not rules:
        return [[row] for row in rows]
    middle = left + 0.5 * (median(one.right for one in first) - left)
    heights = [rule.base for rule in rules if rule.left <= middle <= rule.right]
    groups: dict[int, list[list[_Segment]]] = {}
    for row in rows:
        groups.setdefault(sum(row[0].base < one for one in heights), []).append(row)
    if len(groups) < 3:
        return [[row] for row in rows]
    found: list[list[list[_Segment]]] = []
    for group in groups.values():
        found += [group] if _is_one_row(group) else [[row] for row in group]
    return found


def _is_one_row(group: list[list[_Segment]]) -> bool:
    """Whether lines between two rules are one row: no column has two numbers."""
    if len(group) == 1 or len(group) > _MOST_LINES:
        return len(group) == 1
    taken: list[Interval] = []
    for row in group:
        for one in row:
            if _NUMBER.fullmatch(one.text):
                if any(left < one.right and one.left < right for left, right in taken):
                    return False
                taken.append((one.left, one.right))
    return True


def _cells(row: list[_Segment]) -> Iterator[_Segment]:
    """Yield the cells of a row: numbers side by side are two, dots that lead the eye are none."""
    for segment in row:
        run: list[Word] = []
        for word in segment.words:
            near = run and word.left - run[-1].right < _CELL_SPACE * word.size
            if (
                run
                and not near
                and _NUMBER.fullmatch(run[-1].text)
                and _NUMBER.fullmatch(word.text)
            ):
                yield _Segment(run)
                run = []
            run.append(word)
        if not _ONLY_DOTS.fullmatch(segment.text):
            yield _Segment(run) if len(run) < len(segment.words) else segment


def _joined(cells: list[GridCell]) -> str:
    """The cells in one line; a label with a colon and its value are no two cells."""
    text = cells[0].text
    for before, cell in pairwise(cells):
        if before.text.endswith((":", "：")) and cell.text:
            text += f" {cell.text}"
        else:
            text += f" | {cell.text}" if cell.text else " |"
    return text.strip(" ")


def _column_edges(rows: list[list[_Segment]]) -> list[float]:
    """The places between the columns of a table, which no cell crosses, or hardly a cell."""
    wide = [_signed(row) for row in rows if len(row) > 1]
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
    first = median(row[0][0] for row in rows if row) if rows else 0
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


def _paragraphs(rows: list[list[_Segment]], right: float) -> Iterator[PageLine]:
    """Yield lines of running text, with what joins each to the one before."""
    if not rows:
        return
    lines = [_line(row) for row in rows]
    leading = _leading(lines)
    last: PageLine | None = None
    words = [row[0].words[0] for row in rows]
    for number, (line, first) in enumerate(zip(lines, words, strict=True)):
        line.is_full = line.right > right - 3 * line.size
        if last is not None:
            line.before = _between(
                last, line, first, right, leading, lines[number - 2] if number > 1 else None
            )
        last = line
        yield line


def _line(row: list[_Segment]) -> PageLine:
    words = [word for segment in row for word in segment.words]
    main = max(row, key=lambda one: (one.size, one.right - one.left))
    return PageLine(_text_of(words), row[0].left, row[-1].right, main.base, main.size)


def _right_margin(segments: list[_Segment]) -> float:
    """The right end of a column, which its full lines reach; a few words beyond do not count."""
    ends = sorted((one.right for one in segments), reverse=True)
    return ends[len(ends) // 20] if ends else 0


def _leading(lines: list[PageLine]) -> float:
    """The distance of the bases of two lines, in em, as most lines have it."""
    gaps = [
        (above.base - below.base) / above.size
        for above, below in pairwise(lines)
        if abs(above.size - below.size) < 0.5 and 0 < above.base - below.base < 3 * above.size
    ]
    return median(gaps) if gaps else 1.2


def _between(
    last: PageLine,
    line: PageLine,
    first: Word,
    right: float,
    leading: float,
    earlier: PageLine | None,
) -> str:
    """The text between two lines: a space in a paragraph, a line end, or a blank line."""
    gap = (last.base - line.base) / last.size
    if (
        gap < 0
        or gap > max(1.3 * leading, leading + 0.35)
        or abs(last.size - line.size) > 0.12 * last.size
    ):
        return "\n\n"
    if ITEM.match(line.text):
        return "\n"
    indent = line.left - last.left
    ended = bool(_SENTENCE_END.search(last.text))
    room = right - last.right
    following = line.size if _UNSPACED.match(first.text) else first.right - first.left
    is_full = room < following + 0.6 * line.size
    if ended and 0.8 * line.size < indent < 6 * line.size and not ITEM.match(last.text):
        return "\n\n"
    if not is_full:
        return (
            "\n\n"
            if ended
            and line.left <= last.left + 0.5 * line.size
            and room > 6 * line.size
            and line.text[:1].isupper()
            else "\n"
        )
    least = _LEAST_CJK if _UNSPACED.match(last.text[-1:]) else _LEAST_PROSE
    is_list = _LABELLED.match(last.text) and _LABELLED.match(line.text)
    return "\n" if len(last.text) < least or is_list else glue(last.text, line.text)


def glue(before: str, after: str) -> str:
    """The text between two lines of one paragraph: none between Chinese or Japanese letters.

    After a hyphen the line end stays, by which the word is made whole later.
    """
    if before.endswith(HYPHENS) and len(before) > 1 and before[-2].isalnum():
        return "\n" if after[:1].islower() else ""
    both = _UNSPACED.match(before[-1:]) and _UNSPACED.match(after[:1])
    return "" if both else " "


def _text_of(words: list[Word]) -> str:
    """Write words of one line with spaces, with raised and lowered words in plain notation."""
    size = _main_size(words)
    large = [word for word in words if word.size > 0.85 * size]
    base = median(word.base for word in large)
    text, last = "", None
    has_marks = False
    for word in words:
        shift = (word.base - base) / size
        part = word.text
        is_small = word.size < 0.85 * size
        if is_small and shift > 0.15 and large and len(part) < 12:
            part, has_marks = f"{SUPERSCRIPT}{part}{END}", True
        elif is_small and shift < -0.08 and len(part) < 12:
            part, has_marks = f"{SUBSCRIPT}{part}{END}", True
        if last is not None and _is_apart(last, word):
            text += " "
        text += part
        last = word
    if has_marks:
        text = write_out(text)[0]
    return " ".join(_LEADERS.sub(" ... ", text).split())


def _is_apart(last: Word, word: Word) -> bool:
    """Whether a space stands between two words of one line."""
    gap = word.left - last.right
    size = max(last.size, word.size)
    if _UNSPACED.match(last.text[-1]) and _UNSPACED.match(word.text[0]):
        return gap > 0.6 * size
    return (word.is_spaced and gap > -0.1 * size) or gap > _WORD_SPACE * size


def without_edges(pages: Sequence[list[PageLine]]) -> tuple[list[list[PageLine]], int]:
    """Leave out running heads and page numbers; return the pages and how many had them.

    Such a line is the first or last of its page, and recurs at one height, but for its numbers, on
    three pages or more.
    """
    forms: Counter[tuple[str, int]] = Counter()
    edges: list[list[tuple[PageLine, tuple[str, int]]]] = []
    for lines in pages:
        found = [(line, (_form(line), round(line.base / 6))) for line in _edge_lines(lines)]
        forms.update({key for _, key in found})
        edges.append(found)
    kept: list[list[PageLine]] = []
    number = 0
    for lines, found in zip(pages, edges, strict=True):
        heads = {
            id(line)
            for line, (form, height) in found
            if sum(forms[form, height + near] for near in (-1, 0, 1)) >= _LEAST_PAGES
        }
        heads = _outermost(lines, heads)
        number += bool(heads)
        kept.append([line for line in lines if id(line) not in heads])
    return kept, number


_LEAST_PAGES = 3
_EDGE_LINES = 4
_HEAD_SPACE = 1.6  # em; the least distance of a running head from the text
_PAGE_NUMBER = re.compile(
    r"\W*(?:page|seite|p\.|第)?\s*[\divxlc]+(?:\s*(?:of|von|/)\s*\d+)?\W*页?", re.IGNORECASE
)
_DIGITS = re.compile(r"\d+|\b[ivxlc]+\b")


def _form(line: PageLine) -> str:
    return _DIGITS.sub("0", line.text)


def _edge_lines(lines: list[PageLine]) -> list[PageLine]:
    by_height = sorted(lines, key=lambda line: line.base)
    return [*by_height[:_EDGE_LINES], *by_height[-_EDGE_LINES:]]


def _outermost(lines: list[PageLine], heads: set[int]) -> set[int]:
    """Only those lines at the edges of a page that a space parts from its text, or numbers."""
    by_height = sorted(lines, key=lambda line: line.base)
    outer: set[int] = set()
    for order in (by_height, by_height[::-1]):
        edge = list(takewhile(lambda line: id(line) in heads, order))
        while edge:
            inner = order[len(edge)] if len(edge) < len(order) else None
            gap = abs(edge[-1].base - inner.base) if inner else 1e9
            if gap > _HEAD_SPACE * edge[-1].size or all(map(_is_page_number, edge)):
                break
            edge.pop()
        outer |= set(map(id, edge))
    return outer


def _is_page_number(line: PageLine) -> bool:
    return bool(_PAGE_NUMBER.fullmatch(line.text))


def text_of_lines(lines: Sequence[PageLine]) -> tuple[str, list[int]]:
    """Join the lines of a page; return the text and the start of each line in it."""
    text = ""
    starts: list[int] = []
    parts: list[str] = []
    size = 0
    for number, line in enumerate(lines):
        before = line.before if number else ""
        parts += [before, line.text]
        starts.append(size + len(before))
        size += len(before) + len(line.text)
    text = "".join(parts)
    return text, starts


def runs_on(last: PageLine, line: PageLine) -> bool:
    """Whether the sentence at the end of a page or column goes on in the line after it."""
    if last.is_row or line.is_row or _SENTENCE_END.search(last.text) or ITEM.match(line.text):
        return False
    if abs(last.size - line.size) > 0.12 * last.size:
        return False
    return line.text[:1].islower() or (last.is_full and len(last.text) > _LEAST_PROSE)
