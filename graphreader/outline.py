"""Outlines of documents: one line for each chunk, or for several chunks if a prompt has less room.

A model asks for chunks by the numbers of an outline, as it does with the gists of ReadAgent (paper,
section 3.1). The summary of a chunk costs no extra call: it is extracted with the atomic facts.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graphreader.tokens import count

LONGEST_SUMMARY = 300  # characters of the summary of a chunk

_LONGEST_HEADING = 80  # characters
_WIDTHS = (LONGEST_SUMMARY, 150, 80)  # characters of a line's headings, and of its sentence


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """A chunk in an outline: its index and its headings, first the heading where it begins."""

    chunk: int
    headings: tuple[str, ...]
    summary: str
    tokens: int

    @property
    def heading(self) -> str | None:
        """The heading under which the chunk begins, or the first heading in it."""
        return self.headings[0] if self.headings else None


def outline_text(
    entries: Sequence[OutlineEntry], max_tokens: float, first: int = 0, last: int | None = None
) -> str:
    """Write the outline of the chunks `first` to `last` in at most `max_tokens`, if possible.

    Each chunk has a line, "[12] Heading: sentence". If that is too long, sentences are shortened;
    then a line stands for several chunks: "[10-19] Heading A; Heading B: first sentence".
    """
    part = [one for one in entries if first <= one.chunk and (last is None or one.chunk <= last)]
    text = ""
    for size, width in _folds(len(part)):
        text = "\n".join(_lines(part, size, width))
        if count(text) <= max_tokens:
            break
    return text


def main_headings(headings: Sequence[str], levels: Sequence[int]) -> list[str]:
    """Return the headings of the highest level that has several; a lone one is like a title."""
    for level in sorted(set(levels)):
        own = [one for one, its in zip(headings, levels, strict=True) if its == level]
        if len(own) > 1:
            return own
    return list(headings)


def shortened(text: str, most: int) -> str:
    """Shorten a text to one line of at most `most` characters, cut between words."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    cut = line[: most - 1]
    if " " in cut[most // 2 :] and line[most - 1] != " ":
        cut = cut.rpartition(" ")[0]
    return f"{cut.rstrip(' ,;:，；：、')}…" if most > 1 else ""


def _folds(chunks: int) -> Iterator[tuple[int, int]]:
    """Yield (chunks of a line, characters of its parts), each pair for a shorter outline."""
    for size in (number * 10**power for power in itertools.count() for number in (1, 2, 5)):
        yield from ((size, width) for width in _WIDTHS)
        if size >= chunks:
            yield size, 0
            return


def _lines(entries: Sequence[OutlineEntry], size: int, width: int) -> Iterator[str]:
    before = ""  # the last heading of the line above
    for group in _groups(entries, size):
        headings = list(dict.fromkeys(heading for one in group for heading in one.headings))
        listed = [shortened(one, _LONGEST_HEADING) for one in headings if one != before]
        before = headings[-1] if headings else ""
        parts = [shortened("; ".join(listed), width), shortened(group[0].summary, width)]
        place = "-".join(dict.fromkeys([str(group[0].chunk), str(group[-1].chunk)]))
        yield " ".join(filter(None, [f"[{place}]", ": ".join(filter(None, parts))]))


def _groups(entries: Sequence[OutlineEntry], size: int) -> Iterator[list[OutlineEntry]]:
    """Group at most `size` chunks in a row; half of `size` is enough where a section ends."""
    group: list[OutlineEntry] = list(entries[:1])
    for before, entry in itertools.pairwise(entries):
        is_section = before.headings[-1:] != entry.headings[:1]
        if len(group) == size or (is_section and len(group) >= (size + 1) // 2):
            yield group
            group = []
        group.append(entry)
    if group:
        yield group
