"""Running heads and page numbers: lines that recur at the edges of pages."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import takewhile

from graphreader.ingestion.loading.page_segments import PageLine

_LEAST_PAGES = 3
_EDGE_LINES = 4
_HEAD_SPACE = 1.6  # em; the least distance of a running head from the text
_PAGE_NUMBER = re.compile(
    r"\W*(?:page|seite|p\.|第)?\s*[\divxlc]+(?:\s*(?:of|von|/)\s*\d+)?\W*页?", re.IGNORECASE
)
_DIGITS = re.compile(r"\d+|\b[ivxlc]+\b")


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
