"""Running heads and page numbers: lines that recur at the edges of pages."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from statistics import median

from graphreader.ingestion.loading.lists import numeral
from graphreader.ingestion.loading.page_segments import PageLine

_LEAST_PAGES, _NEAR_PAGES = 3, 4
_EDGE_LINES = 4
_HEAD_SPACE = 1.6  # em; the least distance of a running head from the text
_LARGEST = 1.15  # of the size of most lines; larger lines are titles
_BASE_STEP = 6  # points; lines at one height differ by less
_PAGE_NUMBER = re.compile(
    r"\W*(?:page|seite|p\.|第)?\s*[\divxlc]+(?:\s*(?:of|von|/)\s*\d+)?\W*页?", re.IGNORECASE
)
# Numbers that may count pages: not the number of an invoice, nor a part of an amount or a date.
_COUNTER = re.compile(
    r"(?<![\d.,/:#№-])(?<!\bno\. )(?<!\bno )(?<!\bnr\. )(?<!\bnr )"
    r"(?:\d{1,5}|(?<!\w)[ivxlc]{1,7}(?!\w))(?![\d.,:-]\d|\d)",
    re.IGNORECASE,
)

_ROMAN = {numeral(number, "lower-roman"): number for number in range(1, 200)}

_Form = tuple[str, int]
"""The text of a line, "\\0" in place of its page number, and the page on which this would be 0."""


def without_edges(pages: Sequence[list[PageLine]]) -> tuple[list[list[PageLine]], str]:
    """Leave out running heads and page numbers; return the pages and a note about it, or "".

    Such a line is the first or last of its page and recurs at one height on three of nine pages,
    unchanged but for a number that counts the pages. The heads of the first page stay.
    """
    forms: defaultdict[tuple[_Form, int], list[int]] = defaultdict(list)
    edges = [_edge_lines(lines) for lines in pages]
    for number, lines in enumerate(edges):
        for line in lines:
            for form in set(_forms(line, number)):
                forms[form, _height(line)].append(number)
    sizes = [line.size for lines in pages for line in lines]
    largest = _LARGEST * median(sizes) if sizes else 0.0
    kept: list[list[PageLine]] = []
    left_out: dict[str, str] = {}  # by their text without numbers
    count = 0
    for number, lines in enumerate(pages):
        heads = {
            id(line)
            for line in edges[number]
            if line.size <= largest
            and any(_recurs(forms, form, _height(line), number) for form in _forms(line, number))
        }
        heads = _outermost(lines, heads)
        rest = [line for line in lines if id(line) not in heads]
        if rest and number == 0:
            rest = [line for line in lines if id(line) not in heads or _is_kept(line, rest)]
        rest = rest or lines  # a page of nothing else says something by them
        count += len(rest) < len(lines)
        gone = [line for line in lines if line not in rest and not _is_page_number(line)]
        for line in gone:
            left_out.setdefault(_COUNTER.sub("", line.text), line.text[:80])
        kept.append(rest)
    if not count:
        return kept, ""
    shown = ", ".join(f"“{text}”" for text in list(left_out.values())[:3])
    more = f" and {len(left_out) - 3:,} more" if len(left_out) > 3 else ""
    of = f"{count:,} page{'s' * (count > 1)} are"
    ending = f": {shown}{more}" if shown else ""
    return kept, f"Running heads and page numbers of {of} left out{ending}."


def _recurs(
    forms: Mapping[tuple[_Form, int], list[int]], form: _Form, height: int, number: int
) -> bool:
    """Whether a form stands at about one height on enough of the pages around a page."""
    pages = {page for near in (-1, 0, 1) for page in forms.get((form, height + near), ())}
    return sum(abs(page - number) <= _NEAR_PAGES for page in pages) >= _LEAST_PAGES


def _is_kept(line: PageLine, rest: Sequence[PageLine]) -> bool:
    """Whether a head of the first page stays: it has words, and stands above the text."""
    return not _is_page_number(line) and line.base > max(one.base for one in rest)


def _forms(line: PageLine, number: int) -> Iterator[_Form]:
    """Yield the forms by which a line of page `number` may recur: as it is, or with a counter."""
    yield line.text, 0
    for match in _COUNTER.finditer(line.text):
        value = int(match[0]) if match[0].isdecimal() else _ROMAN.get(match[0].lower())
        if value:
            text = f"{line.text[: match.start()]}\0{line.text[match.end() :]}"
            yield text, number - value


def _height(line: PageLine) -> int:
    return round(line.base / _BASE_STEP)


def _edge_lines(lines: list[PageLine]) -> list[PageLine]:
    by_height = sorted(lines, key=lambda line: line.base)
    edges = [*by_height[:_EDGE_LINES], *by_height[-_EDGE_LINES:]]
    return list({id(line): line for line in edges}.values())


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
