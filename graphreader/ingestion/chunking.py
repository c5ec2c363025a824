"""A document is cut into chunks: runs of whole paragraphs, at most L tokens (paper, section 3.2).

First the text becomes pieces, none larger than L: paragraphs, or what a paragraph that is too long
consists of: lines, sentences, words, characters. Then pieces are packed into chunks. A chunk is as
long as it can be, but rather ends at a better place in its last part: where a heading follows, or
else where a paragraph, a line, a sentence ends. So an edit mostly moves few boundaries behind it.

Nothing overlaps and nothing is lost: joined, the chunks give the text back. White space belongs to
the chunk before it. It does not know what a text means, nor tables, code or footnotes.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from hashlib import sha256
from itertools import accumulate, pairwise
from unicodedata import category

from graphreader.documents import Chunk, Document
from graphreader.sentences import line_spans, sentence_spans
from graphreader.tokens import count

SMALLEST_LIMIT = 8
_FLOOR = 0.6  # from this part of the limit on, a better place to end is better than a later one
_LONGEST_TOKENS = 16  # characters a token; a longer text is too long without being counted
_WORDS = 200  # characters of words that stay together in a sentence that is too long

_PARAGRAPH = re.compile(r"\n\s*\n\s*|\n\s*(?=#{1,6}[ \t])")
_WORD = re.compile(r"(?:[^\s，、：；]++[，、：；]*+|[，、：；]++)\s*+")
_HEADING = re.compile(
    r"\s*(?:#{1,6}[ \t][^\n]*"  # marked as one, or named as one, or in capitals, or a short line
    r"|(?:CHAPTER|Chapter|BOOK|Book|PART|Part|ACT|SCENE|第\w{1,6}[章回节節卷部篇])\b[^\n]{0,79}"
    r"|[^\Wa-z][^a-z\n\"“]{0,39}[A-Z]{2}[^a-z\n\"“”]{0,39}"
    r"|[^\W_a-z][^\n]{0,79}(?<![\s.!?…。！？：:;,；，\"'”’」)）—-]))\s*\Z"
)
_JOINERS = frozenset("\u200d\ufe0e\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")


class _Place(IntEnum):
    """Where a piece begins: the higher, the better it is to begin a chunk there."""

    SPACE = 0
    CHARACTER = 1
    WORD = 2
    BELOW_HEADING = 3
    SENTENCE = 4
    LINE = 5
    PARAGRAPH = 6
    HEADING = 7


Start = tuple[int, _Place]
Span = tuple[int, int, int]
"""Start and end of a chunk in characters, and its tokens."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of the text that stays whole; `tokens` is, nearly, what it adds to a chunk."""

    start: int
    end: int
    tokens: int
    place: _Place


def split(document: Document, limit: int) -> list[Chunk]:
    """The chunks of a document, each of at most `limit` tokens.

    No chunk is empty. None is white space only, but where a text has about as much white space in
    a row as the limit holds. Raises ValueError for a limit below 8: one sign may need that many.
    """
    return as_chunks(document, pack(document.text, limit))


def as_chunks(document: Document, spans: Iterable[Span]) -> list[Chunk]:
    """The chunks that begin and end at `spans`, which lie side by side from end to end."""
    seen: Counter[str] = Counter()
    chunks = []
    for index, (start, end, tokens) in enumerate(spans):
        text = document.text[start:end]
        name = f"{document.id}\0{text}\0{seen[text]}"
        seen[text] += 1
        identity = sha256(name.encode(errors="surrogatepass")).hexdigest()[:24]
        chunks.append(Chunk(identity, document.id, index, start, end, text, tokens))
    return chunks


def pack(text: str, limit: int) -> Iterator[Span]:
    """Where `split` cuts `text`, be it a whole document or a region of one."""
    if limit < SMALLEST_LIMIT:
        raise ValueError(f"a chunk needs a limit of at least {SMALLEST_LIMIT} tokens, not {limit}")
    pieces = _pieces(text, limit)
    sums = [0, *accumulate(piece.tokens for piece in pieces)]
    first = 0
    while first < len(pieces):
        last = max(first + 1, bisect_right(sums, sums[first] + limit) - 1)
        while True:
            after = _best(pieces, sums, first, last, limit)
            start, end = pieces[first].start, pieces[after - 1].end
            tokens = count(text[start:end])
            if tokens <= limit or after == first + 1:
                break
            # byte pairs merge otherwise in the whole than in its pieces
            shorter = bisect_right(sums, sums[after] - (tokens - limit)) - 1
            last = max(first + 1, min(after - 1, shorter))
        yield start, end, tokens
        first = after


def _best(pieces: list[_Piece], sums: list[int], first: int, last: int, limit: int) -> int:
    """Before which piece the chunk that begins with `first` ends; `last` is the latest possible."""
    if last == len(pieces):
        return last
    rest = sums[-1] - sums[first]
    if limit < rest <= 1.8 * limit:  # two chunks are left: as even as may be
        least, aim = sums[-1] - limit, sums[first] + rest // 2
    else:
        least, aim = sums[first] + int(_FLOOR * limit), sums[last]
    inner = [at for at in range(last, first, -1) if pieces[at].place is not _Place.SPACE] or [last]
    candidates = [at for at in inner if sums[at] >= least] or inner[:1]
    return max(candidates, key=lambda at: (pieces[at].place, -abs(sums[at] - aim)))


def _pieces(text: str, limit: int) -> list[_Piece]:
    """The text in pieces of at most `limit` tokens, as few as the paragraphs allow."""
    begin = len(text) - len(text.lstrip())
    starts = [(0, _Place.PARAGRAPH)]
    starts += [(match.end(), _Place.PARAGRAPH) for match in _PARAGRAPH.finditer(text, begin)]
    pieces: list[_Piece] = []
    below_heading = False
    for (start, place), (end, _) in pairwise([*starts, (len(text), _Place.PARAGRAPH)]):
        if start == end:
            continue
        body = text[start:end]
        heading = _HEADING.match(body)
        if below_heading:
            place = _Place.BELOW_HEADING
        elif heading or body.startswith("#"):
            place = _Place.HEADING
        pieces += _finer(text, start, end, limit, place)
        below_heading = heading is not None
    return pieces


def _finer(
    text: str, start: int, end: int, limit: int, place: _Place, level: int = 0
) -> Iterator[_Piece]:
    """text[start:end] as one piece if it fits, else as pieces of the next finer level."""
    part = text[start:end]
    if level == len(_LEVELS) or _fits(part, limit):
        tokens = count(part)
        # the space before a word belongs to the word's token
        spaces = part[-1].isspace() and "\n" not in part[len(part.rstrip()) :]
        yield _Piece(start, end, tokens - (spaces and tokens > 1), place)
        return
    starts = [(0, place), *_LEVELS[level](part, limit)]
    for (inner, inner_place), (after, _) in pairwise([*starts, (len(part), place)]):
        yield from _finer(text, start + inner, start + after, limit, inner_place, level + 1)


def _fits(text: str, limit: int) -> bool:
    return len(text) <= _LONGEST_TOKENS * limit and count(text) <= limit


def _lines(text: str, _limit: int) -> list[Start]:
    """Where the second and further lines begin."""
    return [(start, _Place.LINE) for start, _ in line_spans(text)[1:]]


def _sentences(text: str, _limit: int) -> list[Start]:
    """Where the second and further sentences begin."""
    return [(start, _Place.SENTENCE) for start, _ in sentence_spans(text)[1:]]


def _words(text: str, limit: int) -> Iterator[Start]:
    """Where further groups of words begin, and parts of words that are too long themselves."""
    longest = max(1, min(_WORDS, limit // 4))  # of which no character has more than four tokens
    if text.isspace():
        yield from _spaces(0, len(text), limit)
    start = 0
    for word in _WORD.finditer(text):
        if word.end() - start <= longest:
            continue
        if word.start() > start and not text[start : word.start()].isspace():
            start = word.start()
            yield start, _Place.WORD
        if word.end() - start > longest and not _fits(text[start : word.end()], limit):
            for cut, place in _characters(text, start, word.end(), limit, longest):
                yield cut, place
                start = cut


def _characters(text: str, start: int, end: int, limit: int, longest: int) -> Iterator[Start]:
    """Where to cut a word that does not fit, or does not with the white space around it."""
    word_end = start + len(text[start:end].rstrip())
    at = word_end - len(text[start:word_end].lstrip())
    if count(text[start : at + longest]) > limit:
        yield from _spaces(start, at, limit)
        if at > start:
            yield at, _Place.CHARACTER
    while word_end - at > longest:
        at = _between_signs(text, at, at + longest)
        yield at, _Place.CHARACTER
    if count(text[at:end]) > limit:
        last_sign = _between_signs(text, at, word_end - 1)
        if last_sign > at:
            at = last_sign
            yield at, _Place.CHARACTER
    if count(text[at:end]) > limit:
        yield word_end, _Place.SPACE
        yield from _spaces(word_end, end, limit)


def _spaces(start: int, end: int, limit: int) -> Iterator[Start]:
    """Where to cut white space that does not fit: it has at most one token a character."""
    return ((at, _Place.SPACE) for at in range(start + limit, end, limit))


def _between_signs(text: str, start: int, at: int) -> int:
    """`at`, or a little before it where it stands inside of one written sign."""
    return next((cut for cut in range(at, max(start, at - 16), -1) if not in_sign(text, cut)), at)


def in_sign(text: str, at: int) -> bool:
    """Whether `at` (from 1 on) stands inside of one written sign: a letter and its accent."""
    joined = at < len(text) and (category(text[at])[0] == "M" or text[at] in _JOINERS)
    return (
        joined or (at < len(text) and text[at - 1] == "\u200d") or text[at - 1 : at + 1] == "\r\n"
    )


_LEVELS = (_lines, _sentences, _words)
