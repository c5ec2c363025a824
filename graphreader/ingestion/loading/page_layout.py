"""The lines of a printed page in their reading order, from words with positions.

Columns of text come one after the other, the rows of a table stay whole with " | " between its
cells, and each line says how it joins the line before it. The plane of a page has its origin at the
lower left; lengths are points.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median

from graphreader.ingestion.loading.page_segments import (
    UNSPACED,
    PageLine,
    Rule,
    Segment,
    Word,
    glue,
    rows_of,
    segments_of,
    text_of,
)
from graphreader.ingestion.loading.page_tables import is_table, row_groups, table_lines
from graphreader.text.lines import CLOSING, FULL_STOPS, ITEM
from graphreader.text.scripts import CJK

Interval = tuple[float, float]

_GUTTER = 0.6  # em; the least width of the space between columns
_LEAST_LINES = 4  # of each of three columns of prose, or more
_PROSE_WORDS = 3.0  # words of a line of prose, on average
_SENTENCE_END = re.compile(rf"(?:[.!?:;…]|[{FULL_STOPS}：；]){CLOSING}\Z")
_LABELLED = re.compile(r"[^\W\d_][^:.]{0,30}:\s")
_LEAST_PROSE, _LEAST_CJK = 25, 12  # characters of a line that runs on
_LETTER = re.compile(r"[^\W\d_]")
_DIGIT = re.compile(r"\d")
_WORD = re.compile(rf"[{CJK}]{{2}}|[^\s{CJK}]+")


def lines_of_page(words: Iterable[Word], rules: Sequence[Rule] = ()) -> list[PageLine]:
    """Put the words of a page into lines, columns and tables. They come in the file's order."""
    lines = list(_ordered(segments_of(list(words)), rules))
    if lines:
        lines[0].before = ""
    return lines


def _ordered(segments: list[Segment], rules: Sequence[Rule], depth: int = 0) -> Iterator[PageLine]:
    """Yield the lines of a region, which may have columns and tables."""
    plain: list[list[Segment]] = []
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
        rows = [row for band in bands for row in rows_of(band)]
        groups = row_groups(rows, rules) if gutters else []
        if gutters and is_table(groups):
            yield from _paragraphs(plain, right)
            plain = []
            yield from table_lines(groups)
        else:
            plain += rows
    yield from _paragraphs(plain, right)


def _regions(
    segments: list[Segment],
) -> Iterator[tuple[list[list[Segment]], list[Interval]]]:
    """Yield bands of a region, from the top, with the spaces between columns that they share.

    A band is a set of segments without a horizontal space between them.
    """
    run: list[list[Segment]] = []
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


def _bands(segments: list[Segment]) -> list[list[Segment]]:
    bands: list[list[Segment]] = []
    low = 0.0
    for segment in sorted(segments, key=lambda one: -one.top):
        if bands and segment.top > low:
            bands[-1].append(segment)
            low = min(low, segment.base)
        else:
            bands.append([segment])
            low = segment.base
    return bands


def _free(band: list[Segment]) -> list[Interval]:
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


def _is_close(run: list[list[Segment]], band: list[Segment]) -> bool:
    """Whether a band follows without a space of several lines."""
    low = min(one.base for one in run[-1])
    top = max(one.top for one in band)
    return low - top < 5 * max(one.size for one in band)


def _sides(band: Iterable[Segment], gutter: Interval) -> tuple[list[Segment], list[Segment]]:
    middle = (gutter[0] + gutter[1]) / 2
    left = [one for one in band if one.left < middle]
    right = [one for one in band if one.left >= middle]
    return left, right


def _trimmed(
    run: list[list[Segment]], gutters: list[Interval]
) -> Iterator[tuple[list[list[Segment]], list[Interval]]]:
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
    bands: list[list[Segment]], gutters: list[Interval]
) -> tuple[list[Segment], list[Segment]] | None:
    """Part a region into two columns of text, None if it has no two of them."""
    segments = [one for band in bands for one in band]
    if len(gutters) > 1 and _are_prose_columns(segments, gutters):
        return _sides(segments, gutters[0])
    best: tuple[float, tuple[list[Segment], list[Segment]]] | None = None
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


def _are_prose_columns(segments: list[Segment], gutters: list[Interval]) -> bool:
    """Whether all parts between several gutters are columns of prose, each with its paragraphs."""
    columns = []
    for gutter in gutters:
        left, segments = _sides(segments, gutter)
        columns.append(rows_of(left))
    columns.append(rows_of(segments))
    return (
        min(map(len, columns)) >= _LEAST_LINES
        and all(map(_is_prose, columns))
        and not any(_has_common_rows(*pair) for pair in pairwise(columns))
    )


def _are_columns(left: list[Segment], right: list[Segment]) -> bool:
    """Whether two sides are columns of running text, not the cells of a table's rows."""
    rows = rows_of(left), rows_of(right)
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
    are_texts = all(_average_words(side) >= 2 and not _is_numeric(side) for side in rows)
    return not is_level and are_texts and any(prose)


def _spans(bases: list[float]) -> float:
    return max(bases) - min(bases)


def _average_words(rows: list[list[Segment]]) -> float:
    return sum(len(_WORD.findall(one.text)) for row in rows for one in row) / len(rows)


def _is_numeric(rows: list[list[Segment]]) -> bool:
    """Whether a side has more digits than letters, as the columns of numbers in a table."""
    text = "".join(one.text for row in rows for one in row)
    return len(_DIGIT.findall(text)) > len(_LETTER.findall(text))


def _is_prose(rows: list[list[Segment]]) -> bool:
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


def _has_common_rows(left: list[list[Segment]], right: list[list[Segment]]) -> bool:
    """Whether both sides have their spaces between paragraphs at one height, as cells have."""
    starts = [_group_starts(side) for side in (left, right)]
    fewer, more = sorted(starts, key=len)
    if len(fewer) < 2:
        return False
    size = left[0][0].size
    same = sum(any(abs(one - other) < 0.3 * size for other in more) for one in fewer)
    return same >= 0.8 * len(fewer) and len(more) <= 2 * len(fewer)


def _group_starts(rows: list[list[Segment]]) -> list[float]:
    gaps = [above[0].base - below[0].base for above, below in pairwise(rows)]
    leading = median(gaps) if gaps else 0
    starts = [
        below[0].base
        for (_, below), gap in zip(pairwise(rows), gaps, strict=True)
        if gap > 1.25 * leading
    ]
    return [rows[0][0].base, *starts]


def _paragraphs(rows: list[list[Segment]], right: float) -> Iterator[PageLine]:
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


def _line(row: list[Segment]) -> PageLine:
    words = [word for segment in row for word in segment.words]
    main = max(row, key=lambda one: (one.size, one.right - one.left))
    return PageLine(text_of(words), row[0].left, row[-1].right, main.base, main.size)


def _right_margin(segments: list[Segment]) -> float:
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
    following = line.size if UNSPACED.match(first.text) else first.right - first.left
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
    least = _LEAST_CJK if UNSPACED.match(last.text[-1:]) else _LEAST_PROSE
    is_list = _LABELLED.match(last.text) and _LABELLED.match(line.text)
    return "\n" if len(last.text) < least or is_list else glue(last.text, line.text)


def text_of_lines(lines: Sequence[PageLine]) -> tuple[str, list[int]]:
    """Join the lines of a page; return the text and the start of each line in it."""
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
