"""Chunking of documents: runs of whole paragraphs of at most L tokens (paper, section 3.2).

`split` packs paragraphs, or finer parts of a long paragraph, into long chunks that preferably end
before a heading. Joined, the chunks give the text. `rechunk` keeps unchanged chunks of an edited
text.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import IntEnum
from heapq import heappop, heappush
from itertools import accumulate, pairwise
from unicodedata import category

from graphreader.documents import Chunk, Document, identity
from graphreader.text.scripts import ALL_HAN, KANA
from graphreader.text.sentences import line_spans, sentence_spans
from graphreader.tokens import count

_EARLIEST_END = 0.6  # share of the limit from which a better boundary wins over a later boundary
# Characters; tokens of a text longer than this times the limit are not counted.
_MAX_TOKEN_LENGTH = 16
_LEVELS = 3  # lines, sentences, words
_WORD_GROUP = 200  # characters of words that stay together in a sentence that is too long
_PARAGRAPH = re.compile(r"\n\s*\n\s*|\n\s*(?=#{1,6}[ \t])")
_WORD = re.compile(r"(?:[^\s，、：；]++[，、：；]*+|[，、：；]++)\s*+")

_HEADING = re.compile(
    r"\s*(?:#{1,6}[ \t][^\n]*"  # a heading by mark, by its first word, by capitals, or a short line
    r"|(?:CHAPTER|Chapter|BOOK|Book|PART|Part|ACT|SCENE|第\w{1,6}[章回节節卷部篇])\b[^\n]{0,79}"
    r"|[^\Wa-z][^a-z\n\"“]{0,39}[A-Z]{2}[^a-z\n\"“”]{0,39}"
    r"|[^\W_a-z][^\n]{0,79}(?<![\s.!?…。！？：:;,；，\"'”’」)）—-]))\s*\Z"
)

_JOINERS = frozenset("\u200d\ufe0e\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")


class _Boundary(IntEnum):
    """The kind of boundary before a piece; higher values are better places to begin a chunk."""

    SPACE = 0
    CHARACTER = 1
    WORD = 2
    BELOW_HEADING = 3
    SENTENCE = 4
    LINE = 5
    PARAGRAPH = 6
    HEADING = 7


_Start = tuple[int, _Boundary]

Span = tuple[int, int, int]
"""Start and end of a chunk in characters of the text, and its number of tokens."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """An indivisible part of the text; `added` is about the number of tokens it adds to a chunk."""

    start: int
    end: int
    tokens: int
    added: int
    boundary: _Boundary


def split(document: Document, limit: int) -> list[Chunk]:
    """Split a document into chunks of at most `limit` tokens (a character may need up to 8)."""
    return _chunks(document, chunk_spans(document.text, limit))


def _chunks(document: Document, spans: Iterable[Span]) -> list[Chunk]:
    """Make the chunks at `spans`, with ids from the document and the text of the chunk."""
    seen: Counter[str] = Counter()
    chunks = []
    for index, (start, end, tokens) in enumerate(spans):
        text = document.text[start:end]
        id_ = identity(document.id, text, str(seen[text]))
        seen[text] += 1
        place = id_, index, document.title, document.id
        chunks.append(Chunk(*place, start, end, text, tokens, document.source))
    return chunks


def chunk_spans(text: str, limit: int) -> Iterator[Span]:
    """Yield the spans of chunks of `text`, a whole document or a part of it."""
    pieces = _pieces(text, limit)
    sums = [0, *accumulate(piece.added for piece in pieces)]
    first = 0
    while first < len(pieces):
        last = max(first + 1, bisect_right(sums, sums[first] + limit) - 1)
        while True:
            after = _chunk_end(pieces, sums, first, last, limit)
            start, end = pieces[first].start, pieces[after - 1].end
            if after == first + 1:
                tokens = pieces[first].tokens
                break
            tokens = count(text[start:end])
            if tokens <= limit:
                break
            # A chunk may have more tokens than its pieces: byte pairs merge differently.
            shorter = bisect_right(sums, sums[after] - (tokens - limit)) - 1
            last = max(first + 1, min(after - 1, shorter))
        yield start, end, tokens
        first = after


def _chunk_end(pieces: list[_Piece], sums: list[int], first: int, last: int, limit: int) -> int:
    """Index of the piece before which a chunk from `first` ends, at most `last`.

    `sums` are cumulated tokens of the pieces.
    """
    if last == len(pieces):
        return last
    rest = sums[-1] - sums[first]
    if limit < rest <= 1.8 * limit:  # two chunks are left: make them about equal
        least, aim = sums[-1] - limit, sums[first] + rest // 2
    else:
        least, aim = sums[first] + int(_EARLIEST_END * limit), sums[last]
    starts = [at for at in range(last, first, -1) if pieces[at].boundary is not _Boundary.SPACE]
    starts = starts or [last]
    candidates = [at for at in starts if sums[at] >= least] or starts[:1]
    return max(candidates, key=lambda at: (pieces[at].boundary, -abs(sums[at] - aim)))


def _pieces(text: str, limit: int) -> list[_Piece]:
    """Cut the text into pieces of at most `limit` tokens: whole paragraphs if they fit."""
    begin = len(text) - len(text.lstrip())
    starts = [0, *(match.end() for match in _PARAGRAPH.finditer(text, begin)), len(text)]
    pieces: list[_Piece] = []
    below_heading = False
    for start, end in pairwise(starts):
        if start == end:
            continue
        paragraph = text[start:end]
        heading = _HEADING.match(paragraph)
        boundary = _Boundary.PARAGRAPH
        if below_heading:
            boundary = _Boundary.BELOW_HEADING
        elif heading or paragraph.startswith("#"):
            boundary = _Boundary.HEADING
        pieces += _split_piece(text, start, end, limit, boundary)
        below_heading = heading is not None
    return pieces


def _split_piece(
    text: str, start: int, end: int, limit: int, boundary: _Boundary, level: int = 0
) -> Iterator[_Piece]:
    """Yield text[start:end] as one piece if it fits, else as pieces of the next finer level."""
    part = text[start:end]
    tokens = count(part) if level == _LEVELS or _may_fit(part, limit) else limit + 1
    if level == _LEVELS or tokens <= limit:
        # A space at the end becomes a part of the next word's token.
        space_at_end = part[-1].isspace() and "\n" not in part[len(part.rstrip()) :]
        added = tokens - (space_at_end and tokens > 1)
        yield _Piece(start, end, tokens, added, boundary)
        return
    if level == 0:
        inner_starts = [(line[0], _Boundary.LINE) for line in line_spans(part)[1:]]
    elif level == 1:
        inner_starts = [(span[0], _Boundary.SENTENCE) for span in sentence_spans(part)[1:]]
    else:
        inner_starts = list(_words(part, limit))
    starts = [(0, boundary), *inner_starts, (len(part), boundary)]
    for (inner, inner_boundary), (after, _) in pairwise(starts):
        yield from _split_piece(
            text, start + inner, start + after, limit, inner_boundary, level + 1
        )


def _may_fit(text: str, limit: int) -> bool:
    return len(text) <= _MAX_TOKEN_LENGTH * limit


def _fits(text: str, limit: int) -> bool:
    return _may_fit(text, limit) and count(text) <= limit


def _words(text: str, limit: int) -> Iterator[_Start]:
    """Yield the starts of groups of words, and of parts of words that are too long."""
    longest = max(1, min(_WORD_GROUP, limit // 4))  # a character has at most four tokens
    if text.isspace():
        yield from _spaces(0, len(text), limit)
    start = 0
    for word in _WORD.finditer(text):
        if word.end() - start <= longest:
            continue
        if word.start() > start and not text[start : word.start()].isspace():
            start = word.start()
            yield start, _Boundary.WORD
        if word.end() - start > longest and not _fits(text[start : word.end()], limit):
            for cut, place in _characters(text, start, word.end(), limit, longest):
                yield cut, place
                start = cut


def _characters(text: str, start: int, end: int, limit: int, longest: int) -> Iterator[_Start]:
    """Yield the positions at which to cut a word that is too long for a piece."""
    word_end = start + len(text[start:end].rstrip())
    at = word_end - len(text[start:word_end].lstrip())
    if count(text[start : at + longest]) > limit:
        yield from _spaces(start, at, limit)
        if at > start:
            yield at, _Boundary.CHARACTER
    while word_end - at > longest:
        at = _grapheme_start(text, at, at + longest)
        yield at, _Boundary.CHARACTER
    if count(text[at:end]) > limit:
        last_grapheme = _grapheme_start(text, at, word_end - 1)
        if last_grapheme > at:
            at = last_grapheme
            yield at, _Boundary.CHARACTER
    if count(text[at:end]) > limit:
        yield word_end, _Boundary.SPACE
        yield from _spaces(word_end, end, limit)


def _spaces(start: int, end: int, limit: int) -> Iterator[_Start]:
    """Yield the positions at which to cut long white space (at most one token a character)."""
    return ((at, _Boundary.SPACE) for at in range(start + limit, end, limit))


def _grapheme_start(text: str, start: int, at: int) -> int:
    """Return `at`, or the start of the grapheme that a cut at `at` would divide."""
    return next(
        (cut for cut in range(at, max(start, at - 16), -1) if not in_grapheme(text, cut)), at
    )


def in_grapheme(text: str, at: int) -> bool:
    """Whether position `at` (from 1) is inside a grapheme, such as a letter with its accent."""
    joined = at < len(text) and (category(text[at])[0] == "M" or text[at] in _JOINERS)
    return (
        joined or (at < len(text) and text[at - 1] == "\u200d") or text[at - 1 : at + 1] == "\r\n"
    )


_INSIDE_WORD = re.compile(rf"[^\W_{KANA}{ALL_HAN}]{{2}}")


def rechunk(document: Document, limit: int, former: Sequence[Chunk]) -> list[Chunk]:
    """Split the new text of a document into chunks of at most `limit` tokens.

    A chunk of `former` (a part of the old chunks) is kept if the text still contains it, in order,
    and no word now crosses its ends ("the king" became "the kingdom").
    """
    text = document.text
    cutting = _texts_cutting_words(former)
    fitting = [one for one in former if one.tokens <= limit and not one.text.isspace()]
    spans: list[Span] = []
    done = 0
    for span in [*_without_space_between(text, _kept_spans(text, fitting, cutting)), _end_of(text)]:
        between = chunk_spans(text[done : span[0]], limit)
        spans += ((done + start, done + end, tokens) for start, end, tokens in between)
        spans.append(span)
        done = span[1]
    return _chunks(document, spans[:-1])


def _kept_spans(text: str, former: Sequence[Chunk], cutting: Set[str]) -> list[Span]:
    """Return the ascending spans of former chunks that the text still has; ends match first."""
    first, begin = 0, 0
    last, end = len(former), len(text)
    while first < last and _stands(text, begin, former[first].text, cutting):
        begin += len(former[first].text)
        first += 1
    while first < last and begin <= (start := end - len(former[last - 1].text)):
        if not _stands(text, start, former[last - 1].text, cutting):
            break
        last, end = last - 1, start
    middle = [one.text for one in former[first:last]]
    occurrences = _occurrences(text, begin, end, set(middle), cutting)
    matcher = SequenceMatcher(None, middle, [one for _, one in occurrences], autojunk=False)
    matched = [
        (occurrences[match.b + i][0], former[first + match.a + i])
        for match in matcher.get_matching_blocks()
        for i in range(match.size)
    ]
    kept = [*_placed(former[:first], 0), *matched, *_placed(former[last:], end)]
    return [(start, start + len(one.text), one.tokens) for start, one in kept]


def _placed(chunks: Iterable[Chunk], start: int) -> Iterator[tuple[int, Chunk]]:
    for chunk in chunks:
        yield start, chunk
        start += len(chunk.text)


def _texts_cutting_words(former: Sequence[Chunk]) -> set[str]:
    """Return the texts of former chunks that cut, or may have cut, a word at their ends."""
    cutting = set()
    for before, after in pairwise(former):
        gap = after.start != before.start + len(before.text)
        if gap or _cuts_word(before.text[-1] + after.text[0], 1):
            cutting |= {before.text, after.text}
    return cutting


def _stands(text: str, at: int, chunk: str, cutting: Set[str]) -> bool:
    """Whether the text contains a chunk at `at` and no additional word crosses its ends."""
    if not text.startswith(chunk, at):
        return False
    return chunk in cutting or not (_cuts_word(text, at) or _cuts_word(text, at + len(chunk)))


def _cuts_word(text: str, at: int) -> bool:
    inside = 0 < at < len(text)
    return inside and (in_grapheme(text, at) or _INSIDE_WORD.match(text, at - 1) is not None)


def _occurrences(
    text: str, begin: int, end: int, chunks: Set[str], cutting: Set[str]
) -> list[tuple[int, str]]:
    """Find (position, chunk) between `begin` and `end`: ascending, longest first, no overlap."""
    places: list[tuple[int, int, str]] = []

    def look_for(chunk: str, start: int) -> None:
        """Queue the next occurrence of a chunk; a repetitive text may have very many."""
        at = text.find(chunk, start, end)
        while at >= 0 and not _stands(text, at, chunk, cutting):
            at = text.find(chunk, at + 1, end)
        if at >= 0:
            heappush(places, (at, -len(chunk), chunk))

    for chunk in chunks:
        look_for(chunk, begin)
    occurrences: list[tuple[int, str]] = []
    done = begin
    while places:
        at, _, chunk = heappop(places)
        if at >= done:
            occurrences.append((at, chunk))
            done = at + len(chunk)
        look_for(chunk, done)
    return occurrences


def _without_space_between(text: str, kept: list[Span]) -> list[Span]:
    """Drop the kept span before (at the start: after) each gap of only white space."""
    spans: list[Span] = []
    done = 0
    for span in [*kept, _end_of(text)]:
        if text[done : span[0]].isspace():
            if not spans:
                continue
            spans.pop()
        spans.append(span)
        done = span[1]
    return spans[:-1]


def _end_of(text: str) -> Span:
    return len(text), len(text), 0
