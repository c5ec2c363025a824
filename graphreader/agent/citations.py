"""Citations: the search for a model's quotes in chunks, and the quotes that an answer cites."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from graphreader.agent.decisions import Answer, CitedClaim, CitedContradiction
from graphreader.agent.state import CITATIONS, PathResult, Plain, plain_quotes
from graphreader.documents import ChunkInDocument
from graphreader.reading import NO_PASSAGE, NOT_IN_THE_TEXTS, Citation, Reading
from graphreader.text.lines import Span
from graphreader.text.matching import locate
from graphreader.text.question import parse_question
from graphreader.text.scripts import HAN_RUN
from graphreader.text.sentences import language_of

NO_CITATIONS: Mapping[str, Any] = {"citations": [], "claims": [], "contradictions": []}

CONTRADICTION_QUOTES = 2  # quotes that a contradiction must cite: one for each side
CLAIMS_IN_NOTE = 3  # unsupported claims that a note quotes; further claims are only counted

_GAP = re.compile(r"\[?(?:\.{3,}|…+)\]?")
_SHORTEST_PIECE = 12  # characters; a shorter piece between ellipses proves nothing ...
_SHORTEST_HAN_PIECE = 5  # ... or if it has Han characters


def add_quotes(
    quotes: list[Plain], chunk: ChunkInDocument, quoted: Iterable[str], spans: Iterable[Span] = ()
) -> list[Plain]:
    """Add the texts of `quoted` that the chunk really contains to a path's quotes, each once.

    `spans` are quotes by their places in the chunk.
    """
    pages = [start - chunk.start for start in chunk.page_starts]
    found = (span for quote in quoted for span in passages(quote, chunk.text, pages))
    verified = plain_quotes(
        Citation(
            *(chunk.document, chunk.document_id, chunk.index),
            *(chunk.start + start, chunk.start + end, chunk.text[start:end]),
            page=(place := chunk.place_at(chunk.start + start)) and place.page,
            heading=chunk.heading(chunk.start + start),
            place=place and place.name,
        )
        for start, end in chain(found, spans)
    )
    return [*quotes, *(quote for quote in verified if quote not in quotes)]


def passages(quote: str, text: str, page_starts: Sequence[int] = ()) -> list[tuple[int, int]]:
    """Find the spans of a quote, or of its pieces between ellipses, in their order if possible.

    Pieces that are too short are left out; if another one is missing, nothing is found.
    """
    whole = locate(quote, text, page_starts)
    if whole:
        return [whole]
    pieces = pieces_of(quote)
    spans: list[tuple[int, int]] = []
    for piece in pieces if pieces != [quote.strip()] else []:
        after = spans[-1][1] if spans else 0
        span = locate(piece, text, page_starts, first=after)
        if not span and after:
            span = locate(piece, text, page_starts)
        if not span or any(span[0] < end and start < span[1] for start, end in spans):
            return []
        spans.append(span)
    return spans


def pieces_of(quote: str) -> list[str]:
    """Split a quote at its ellipses, and leave out pieces that are too short; one is whole."""
    pieces = [one.strip() for one in _GAP.split(quote)]
    return pieces if len(pieces) == 1 else [one for one in pieces if len(one) >= _shortest(one)]


def _shortest(piece: str) -> int:
    return _SHORTEST_HAN_PIECE if HAN_RUN.search(piece) else _SHORTEST_PIECE


def ranked(reading: Reading) -> Reading:
    """Score and sort the citations of a reading without a model, best first."""
    if reading.kind == "answer":
        return reading
    question, language = parse_question(reading.question), language_of(reading.question)
    scored = [
        replace(one, score=round(question.score(one.quote, one.document), 2))
        for one in reading.citations
    ]
    order = sorted(range(len(scored)), key=lambda at: -(scored[at].score or 0))
    numbers = {at + 1: number for number, at in enumerate(order, 1)}
    claims = [
        replace(one, citations=tuple(sorted(numbers[n] for n in one.citations)))
        for one in reading.claims
    ]
    refused = reading.answer == NOT_IN_THE_TEXTS[language]
    return replace(
        reading,
        answer=NO_PASSAGE[language] if refused else reading.answer,
        citations=tuple(scored[at] for at in order),
        claims=tuple(sorted(claims, key=lambda one: one.citations)),
    )


def distinct_quotes(paths: list[PathResult]) -> list[Citation]:
    """Merge the paths' quotes: quotes of several paths first; a quote inside another joins it."""
    quotes = CITATIONS.validate_python([quote for path in paths for quote in path["quotes"]])
    longest_first = sorted(quotes, key=lambda quote: quote.start - quote.end)
    widened = [next(one for one in longest_first if _contains(one, quote)) for quote in quotes]
    frequency = Counter(_span(quote) for quote in widened)
    distinct = {_span(quote): quote for quote in widened}
    return sorted(distinct.values(), key=lambda quote: -frequency[_span(quote)])


def _span(quote: Citation) -> tuple[str, int, int]:
    return quote.document_id, quote.start, quote.end


def _contains(outer: Citation, inner: Citation) -> bool:
    same_document = inner.document_id == outer.document_id
    return same_document and outer.start <= inner.start and inner.end <= outer.end


def with_valid_citations(decision: Answer, shown: int) -> Answer:
    """Drop citations outside of 1 to `shown`; an answer without claims becomes its one claim."""

    def valid(numbers: Sequence[int]) -> list[int]:
        return [n for n in dict.fromkeys(numbers) if 1 <= n <= shown]

    claims = [
        CitedClaim(claim=one.claim.strip(), citations=valid(one.citations))
        for one in decision.claims
        if one.claim.strip()
    ]
    if decision.answered and not claims:
        text = decision.explanation.strip() or decision.answer.strip()
        claims = [CitedClaim(claim=text, citations=[])]
    contradictions = [
        CitedContradiction(about=one.about.strip(), citations=valid(one.citations))
        for one in decision.contradictions
        if one.about.strip() and len(valid(one.citations)) >= CONTRADICTION_QUOTES
    ]
    return decision.model_copy(update={"claims": claims, "contradictions": contradictions})


def cite(decision: Answer, quotes: Sequence[Citation]) -> tuple[Mapping[str, Any], list[str]]:
    """Make citations, claims and contradictions, and notes about claims without a quote."""
    claims = [(one.claim, one.citations) for one in decision.claims]
    contradictions = [(one.about, one.citations) for one in decision.contradictions]
    cited = dict.fromkeys(n for _, numbers in (*claims, *contradictions) for n in numbers)
    places = {number: place for place, number in enumerate(cited, 1)}

    def statements(items: Sequence[tuple[str, list[int]]]) -> list[Plain]:
        return [
            {"text": text, "citations": [places[number] for number in numbers]}
            for text, numbers in items
        ]

    citations = {
        "citations": plain_quotes(quotes[number - 1] for number in cited),
        "claims": statements(claims),
        "contradictions": statements(contradictions),
    }
    unsupported = [text for text, numbers in claims if not numbers]
    return citations, unsupported_note(unsupported, len(claims))


def unsupported_note(unsupported: Sequence[str], claims: int) -> list[str]:
    """Return a note about claims without a quote, `claims` being all; nothing without such."""
    if not unsupported:
        return []
    one = len(unsupported) == 1
    verbs = "has no quote that supports it" if one else "have no quotes that support them"
    named = "; ".join(unsupported[:CLAIMS_IN_NOTE])
    rest = len(unsupported) - CLAIMS_IN_NOTE
    more = f"; and {rest} more" if rest > 0 else ""
    return [f"{len(unsupported)} of {claims} claims {verbs}: {named}{more}"]
