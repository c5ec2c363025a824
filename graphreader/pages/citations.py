"""The answer with the numbers of its citations, and the passages that they lead to."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from markupsafe import Markup

from graphreader.documents import Chunk
from graphreader.reading import Citation, Claim, Reading
from graphreader.text.sentences import language_of

CONTEXT_SHOWN, SHORTEST_FOLD = 700, 300
"""The number of characters shown next to a quote; the fewest that are folded."""

_ENDS = ("\n", ". ", "。")


@dataclass(frozen=True, slots=True)
class CitationMark:
    """The number of a citation behind a text; the passage links back to its first mark."""

    number: int
    is_first: bool


@dataclass(frozen=True, slots=True)
class CitedText:
    """A text with the citations that support it; a claim without any is unsupported."""

    text: str
    marks: tuple[CitationMark, ...] = ()
    is_claim: bool = False
    score: float | None = None


@dataclass(frozen=True, slots=True)
class CitedAnswer:
    """Answer and explanation in parts, claims that stand in neither, contradictions."""

    answer: tuple[CitedText, ...]
    explanation: tuple[CitedText, ...]
    claims: tuple[CitedText, ...]
    contradictions: tuple[CitedText, ...]

    @property
    def numbers(self) -> frozenset[int]:
        """The numbers of the citations that have a mark."""
        parts = (*self.answer, *self.explanation, *self.claims, *self.contradictions)
        return frozenset(mark.number for part in parts for mark in part.marks)


@dataclass(frozen=True, slots=True)
class PassagePiece:
    """A part of a chunk; `begins` are the citations whose quote begins here."""

    kind: Literal["plain", "folded", "quoted"]
    text: str
    citations: tuple[int, ...] = ()
    begins: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class CitedPassage:
    """A cited chunk; `start` and `end` are the span of its first quote in the document.

    `is_whole` is false if the graph lacks a quote, which is then shown alone.
    """

    document: str
    document_id: str
    chunk: int
    start: int
    end: int
    numbers: tuple[int, ...]
    places: tuple[str, ...]
    headings: tuple[str, ...]
    pieces: tuple[PassagePiece, ...]
    is_whole: bool


def cited_answer(reading: Reading) -> CitedAnswer:
    """Answer, explanation, claims and contradictions of a reading, in the order of the page."""
    seen: set[int] = set()

    def marks(citations: Iterable[int]) -> tuple[CitationMark, ...]:
        valid = [n for n in dict.fromkeys(citations) if 1 <= n <= len(reading.citations)]
        marked = tuple(CitationMark(number, number not in seen) for number in valid)
        seen.update(valid)
        return marked

    def cut(text: str, claims: Iterable[Claim]) -> Iterable[CitedText]:
        """Cut the text behind each of these claims, which it contains."""
        ends = [(text.find(one.text) + len(one.text), one) for one in claims if one.text]
        begin = 0
        for end, claim in sorted(ends, key=lambda one: one[0]):
            yield CitedText(text[begin:end], marks(claim.citations), is_claim=True)
            begin = end
        if begin < len(text):
            yield CitedText(text[begin:])

    if reading.kind == "passages":
        passages = tuple(
            CitedText(one.quote, marks([number]), is_claim=True, score=one.score)
            for number, one in enumerate(reading.citations, 1)
        )
        refusal = () if reading.answered else (CitedText(reading.answer),)
        return CitedAnswer(refusal, (), passages, ())
    in_answer = [one for one in reading.claims if one.text in reading.answer]
    others = [one for one in reading.claims if one.text not in reading.answer]
    in_explanation = [one for one in others if one.text in reading.explanation]
    others = [one for one in others if one.text not in reading.explanation]
    return CitedAnswer(
        tuple(cut(reading.answer, in_answer)),
        tuple(cut(reading.explanation, in_explanation)),
        tuple(CitedText(one.text, marks(one.citations), is_claim=True) for one in others),
        tuple(CitedText(one.text, marks(one.citations)) for one in reading.contradictions),
    )


def answer_title(reading: Reading) -> str:
    """The heading of an answer, or of the passages that are shown in place of an answer."""
    if reading.kind == "passages":
        return "Passages (no model)"
    titles = {"stated": "Answer", "likely": "Likely answer", "not in the texts": "Not answered"}
    return titles[reading.confidence]


def cited_passages(citations: Sequence[Citation], chunks: Sequence[Chunk]) -> list[CitedPassage]:
    """Return the cited chunks in the order of their first citations, numbered from 1."""
    known = {(one.document_id, one.index): one for one in chunks}
    numbers: dict[tuple[str, int], list[int]] = {}
    for number, one in enumerate(citations, 1):
        numbers.setdefault((one.document_id, one.chunk), []).append(number)
    return [
        _cited_passage({n: citations[n - 1] for n in members}, known.get(place))
        for place, members in numbers.items()
    ]


def _cited_passage(citations: dict[int, Citation], chunk: Chunk | None) -> CitedPassage:
    spans = {n: _quote_span(one, chunk) if chunk else None for n, one in citations.items()}
    quotes = [(*span, n) for n, span in spans.items() if span]
    pieces = list(_pieces(chunk.text, quotes)) if chunk and quotes else []
    pieces += [
        PassagePiece("quoted", one.quote, (n,), (n,))
        for n, one in citations.items()
        if spans[n] is None
    ]
    first, *_ = citations.values()
    places = (one.place_name for one in citations.values() if one.place_name)
    headings = (one.heading for one in citations.values() if one.heading)
    return CitedPassage(
        document=first.document,
        document_id=first.document_id,
        chunk=first.chunk,
        start=first.start,
        end=first.end,
        numbers=tuple(citations),
        places=tuple(dict.fromkeys(places)),
        headings=tuple(dict.fromkeys(headings)),
        pieces=tuple(pieces),
        is_whole=all(spans.values()),
    )


def _quote_span(citation: Citation, chunk: Chunk) -> tuple[int, int] | None:
    """Return the start and end of the quote in the chunk; None if an edit removed it."""
    start = citation.start - chunk.start
    if start < 0 or chunk.text[start : start + len(citation.quote)] != citation.quote:
        start = chunk.text.find(citation.quote)
    if start < 0 or not citation.quote:
        return None
    return start, start + len(citation.quote)


def _pieces(text: str, quotes: Sequence[tuple[int, int, int]]) -> Iterable[PassagePiece]:
    """The whole text, cut where a quote (start, end, number) begins or ends."""
    cuts = {cut for start, end, _ in quotes for cut in (start, end)}
    for start, end in pairwise(sorted({0, len(text), *cuts})):
        numbers = tuple(n for first, last, n in quotes if first <= start and end <= last)
        if numbers:
            begins = tuple(n for first, _, n in quotes if first == start)
            yield PassagePiece("quoted", text[start:end], numbers, begins)
        else:
            yield from _fold(text[start:end], start > 0, end < len(text))


def _fold(text: str, after_quote: bool, before_quote: bool) -> Iterable[PassagePiece]:
    """A text without quotes: some sentences next to a quote are shown, the rest is folded."""
    first, last = 0, len(text)
    if after_quote:
        beginning = text[:CONTEXT_SHOWN]
        half = len(beginning) // 2  # next to the quote, where no sentence is cut
        first = max(beginning.rfind(one, half) for one in _ENDS) + 1 or len(beginning)
    if before_quote:
        end = text[-CONTEXT_SHOWN:]
        ends = (end.find(one, 0, len(end) // 2) for one in _ENDS)
        last -= len(end) - 1 - min((at for at in ends if at >= 0), default=-1)
    if last - first < SHORTEST_FOLD:
        yield PassagePiece("plain", text)
        return
    if first:
        yield PassagePiece("plain", text[:first])
    yield PassagePiece("folded", text[first:last])
    if last < len(text):
        yield PassagePiece("plain", text[last:])


def language_attributes(text: str) -> Markup:
    """The `dir` and `lang` attributes of an element that holds this text; Chinese is marked."""
    chinese = text.strip() and language_of(text) == "zh"
    return Markup(' dir="auto" lang="zh"') if chinese else Markup(' dir="auto"')
