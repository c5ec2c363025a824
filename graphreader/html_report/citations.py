"""The answer with its numbers, and the passages to which they lead.

Texts of others in the page: documents, questions, what a model wrote, names and titles.

Markup in them is escaped by the template. Here goes what escaping leaves.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from markupsafe import Markup

from graphreader.reading import Citation, Reading
from graphreader.store.records import Passage
from graphreader.text.sentences import language_of

SHOWN = 700
"""Characters of a chunk that are shown before and after what is quoted; the rest is folded."""

WORTH_FOLDING = 300
"""What is shorter than that is shown."""

_EDGES = ("\n", ". ", "。", " ")


@dataclass(frozen=True, slots=True)
class Mark:
    """A number behind words of the answer; the first one of a citation is where it leads back."""

    number: int
    first: bool


@dataclass(frozen=True, slots=True)
class Stated:
    """Words, and the citations that bear them out; `claimed` words without any have none."""

    text: str
    marks: tuple[Mark, ...] = ()
    claimed: bool = False


@dataclass(frozen=True, slots=True)
class Cited:
    """What the page states: the answer in parts, its other claims, what the documents dispute."""

    answer: tuple[Stated, ...]
    claims: tuple[Stated, ...]
    contradictions: tuple[Stated, ...]

    @property
    def referred(self) -> frozenset[int]:
        """The numbers of the citations that have a mark."""
        parts = (*self.answer, *self.claims, *self.contradictions)
        return frozenset(mark.number for part in parts for mark in part.marks)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a chunk: as it is, folded away, or quoted by citations.

    `begins` are those of them whose quote begins here.
    """

    kind: Literal["plain", "folded", "quoted"]
    text: str
    citations: tuple[int, ...] = ()
    begins: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Shown:
    """A chunk that is cited. `whole` unless the graph has it no more: then the quotes are all."""

    document: str
    chunk: int
    numbers: tuple[int, ...]
    pages: tuple[int, ...]
    headings: tuple[str, ...]
    pieces: tuple[Piece, ...]
    whole: bool


@dataclass(slots=True)
class _Numbers:
    """Makes marks, and knows which citations had one."""

    most: int
    seen: set[int] = field(default_factory=set)

    def of(self, citations: Iterable[int]) -> tuple[Mark, ...]:
        marks = []
        for number in dict.fromkeys(citations):
            if 1 <= number <= self.most:
                marks.append(Mark(number, number not in self.seen))
                self.seen.add(number)
        return tuple(marks)


def cited(reading: Reading) -> Cited:
    """What is stated, in the order of the page; apart what the answer says in other words."""
    numbers = _Numbers(len(reading.citations))
    answer = tuple(_answer(reading, numbers))
    claims = [claim for claim in reading.claims if claim.text not in reading.answer]
    return Cited(
        answer,
        tuple(Stated(one.text, numbers.of(one.citations), claimed=True) for one in claims),
        tuple(Stated(one.text, numbers.of(one.citations)) for one in reading.contradictions),
    )


def _answer(reading: Reading, numbers: _Numbers) -> Iterable[Stated]:
    """The answer cut behind each claim that stands in it word for word."""
    found = [(reading.answer.find(claim.text), claim) for claim in reading.claims if claim.text]
    ends = [(at + len(claim.text), claim) for at, claim in found if at >= 0]
    at = 0
    for end, claim in sorted(ends, key=lambda one: one[0]):
        yield Stated(reading.answer[at:end], numbers.of(claim.citations), claimed=True)
        at = end
    if at < len(reading.answer):
        yield Stated(reading.answer[at:])


def shown(citations: Sequence[Citation], passages: Sequence[Passage]) -> list[Shown]:
    """The cited chunks in the order of their first citations, which are numbered from 1."""
    known = {(one.document_id, one.chunk): one for one in passages}
    groups: dict[tuple[str, int], list[int]] = {}
    for number, one in enumerate(citations, 1):
        groups.setdefault((one.document_id, one.chunk), []).append(number)
    return [_shown(citations, numbers, known.get(place)) for place, numbers in groups.items()]


def _shown(citations: Sequence[Citation], numbers: list[int], passage: Passage | None) -> Shown:
    ones = [citations[number - 1] for number in numbers]
    spans = [_span(one, passage) if passage else None for one in ones]
    pieces: list[Piece] = []
    if passage:
        found = [(*span, n) for span, n in zip(spans, numbers, strict=True) if span]
        pieces = list(_pieces(passage.text, found)) if found else []
    pieces += [
        Piece("quoted", one.quote, (number,), (number,))
        for one, span, number in zip(ones, spans, numbers, strict=True)
        if span is None
    ]
    return Shown(
        document=ones[0].document,
        chunk=ones[0].chunk,
        numbers=tuple(numbers),
        pages=tuple(dict.fromkeys(one.page for one in ones if one.page is not None)),
        headings=tuple(dict.fromkeys(one.heading for one in ones if one.heading)),
        pieces=tuple(pieces),
        whole=all(spans),
    )


def _span(citation: Citation, passage: Passage) -> tuple[int, int] | None:
    """Where the quote stands in the passage; None where an edit took it away."""
    start = citation.start - passage.start
    if start < 0 or passage.text[start : start + len(citation.quote)] != citation.quote:
        start = passage.text.find(citation.quote)
    if start < 0 or not citation.quote:
        return None
    return start, start + len(citation.quote)


def _pieces(text: str, spans: Sequence[tuple[int, int, int]]) -> Iterable[Piece]:
    """The whole text, cut where a quote (start, end, number) begins or ends."""
    cuts = {at for start, end, _ in spans for at in (start, end)}
    for start, end in pairwise(sorted({0, len(text), *cuts})):
        numbers = tuple(n for first, last, n in spans if first <= start and end <= last)
        if numbers:
            begins = tuple(n for first, _, n in spans if first == start)
            yield Piece("quoted", text[start:end], numbers, begins)
        else:
            yield from _folded(text[start:end], start > 0, end < len(text))


def _folded(text: str, behind: bool, ahead: bool) -> Iterable[Piece]:
    """What is not quoted: shown beside the quote `behind` it and the one `ahead`, else folded."""
    first = _first_words(text) if behind else 0
    last = _last_words(text) if ahead else len(text)
    if last - first < WORTH_FOLDING:
        yield Piece("plain", text)
        return
    parts = (
        Piece("plain", text[:first]),
        Piece("folded", text[first:last]),
        Piece("plain", text[last:]),
    )
    yield from (part for part in parts if part.text)


def _first_words(text: str) -> int:
    """Where the beginning of a text that is shown ends: if possible with a line or a sentence."""
    for sign in _EDGES:
        at = text.rfind(sign, SHOWN // 2, SHOWN)
        if at >= 0:
            return len(text[: at + len(sign)].rstrip())
    return min(SHOWN, len(text))


def _last_words(text: str) -> int:
    """Where its end begins that is shown."""
    size = len(text)
    for sign in _EDGES:
        at = text.find(sign, max(0, size - SHOWN), max(0, size - SHOWN // 2))
        if at >= 0:
            return size - len(text[at + len(sign) :].lstrip())
    return max(0, size - SHOWN)


# What no page may hold (surrogates that stand alone, most control characters), and what turns the
# direction of writing: a text could show other words than it has.
_ACTING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def harmless(text: str) -> str:
    """The text with a space for each acting sign, so that all positions in it stay."""
    return _ACTING.sub(" ", text)


def finalized(value: object) -> object:
    """The same for whatever a template prints; what is markup of our own stays."""
    return harmless(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def written(text: str) -> Markup:
    """The attributes of an element that holds nothing but this text: direction and language.

    English is the language of the page. A text of no language that is told apart counts as such.
    """
    chinese = text.strip() and language_of(text) == "zh"
    return Markup(' dir="auto" lang="zh"') if chinese else Markup(' dir="auto"')
