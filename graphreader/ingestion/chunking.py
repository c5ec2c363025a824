"""Chunking of documents: runs of whole paragraphs of at most L tokens (paper, section 3.2).

`split` packs paragraphs, or finer parts of a long paragraph, into long chunks that preferably end
before a heading. A speaker's turn, code between fences and a row of a table stay whole if they fit.
Joined, the chunks give the text. `rechunk` keeps unchanged chunks of an edited text.
"""

import re
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from enum import IntEnum
from heapq import heappop, heappush, merge
from itertools import accumulate, chain, islice, pairwise
from unicodedata import category

from graphreader.documents import Chunk, Document, Heading, Place, heading_paths, identity
from graphreader.text.blocks import code_spans
from graphreader.text.lines import line_spans
from graphreader.text.scripts import HAN, KANA
from graphreader.text.sentences import sentence_spans
from graphreader.text.turns import turns_of
from graphreader.tokens import count

_EARLIEST_END = 0.6  # share of the limit from which a better boundary wins over a later boundary
# Characters; tokens of a text longer than this times the limit are not counted.
_MAX_TOKEN_LENGTH = 16
_LEVELS = 3  # lines, sentences, words
_WORD_GROUP = 200  # characters of words that stay together in a sentence that is too long
_PARAGRAPH = re.compile(r"\n\s*\n\s*|\n\s*(?=#{1,6}[ \t])")
_SPACE = re.compile(r"\s+")
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
    TURN = 7
    HEADING = 8


_Start = tuple[int, _Boundary]
_Blocks = Iterable[tuple[int, int, _Boundary]]
"""Spans that stay whole if they fit, and the kind of boundary before them."""

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
    return _chunks(document, chunk_spans(document.text, limit, _whole_blocks(document)))


def _whole_blocks(document: Document) -> Iterator[tuple[int, int, _Boundary]]:
    """Yield the spans of the turns of speakers, and of the code outside of them.

    A turn begins a chunk better than a paragraph; code belongs to the paragraph above it.
    """
    text = document.text
    code = ((*span, _Boundary.LINE) for span in code_spans(text))
    turns = ((one.start, one.end, _Boundary.TURN) for one in turns_of(text, document.headings))
    done = 0
    for start, end, boundary in merge(turns, code):
        if start >= done:
            line = start - len(text[max(done, start - 80) : start].rpartition("\n")[2])
            yield (line if text[line:start].isspace() else start), end, boundary
            done = end


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
    return list(with_heading_paths(_with_places(chunks, document.places), document.headings))


def _with_places(chunks: Sequence[Chunk], places: Sequence[Place]) -> list[Chunk]:
    """Return the chunks with the places of their characters, from the one at their start on."""
    starts = [place.start for place in places]
    placed = []
    for chunk in chunks:
        first, after = bisect_right(starts, chunk.start), bisect_left(starts, chunk.end)
        inside = places[max(0, first - 1) : after]
        placed.append(
            replace(
                chunk,
                place_starts=tuple(max(0, place.start - chunk.start) for place in inside),
                place_names=tuple(place.name for place in inside),
            )
        )
    return placed


def with_heading_paths(chunks: Sequence[Chunk], headings: Iterable[Heading]) -> Iterator[Chunk]:
    """Yield the chunks of a document with the titles of the headings over each, not in it."""
    begins = (one.end - len(one.text.lstrip()) for one in chunks)
    for chunk, path in zip(chunks, heading_paths(headings, begins), strict=True):
        titles = tuple(heading.title for heading in path if heading.start < chunk.start)
        yield replace(chunk, heading_path=titles)


def chunk_spans(text: str, limit: int, blocks: _Blocks = ()) -> Iterator[Span]:
    """Yield the spans of chunks of `text`, a whole document or a part of it.

    `blocks` are ascending spans that stay whole if they fit.
    """
    pieces = _pieces(text, limit, blocks)
    window: list[_Piece] = []  # more than fit into two chunks, or all that are left
    size = 0
    while True:
        while size <= 2 * limit or len(window) < 2:
            piece = next(pieces, None)
            if piece is None:
                break
            window.append(piece)
            size += piece.added
        if not window:
            return
        sums = [0, *accumulate(piece.added for piece in window)]
        last = max(1, bisect_right(sums, limit) - 1)
        while True:
            after = _chunk_end(window, sums, last, limit)
            start, end, tokens = window[0].start, window[after - 1].end, window[0].tokens
            if after > 1:
                tokens = count(text[start:end])
            if after == 1 or tokens <= limit:
                break
            # A chunk may have more tokens than its pieces: byte pairs merge differently.
            shorter = bisect_right(sums, sums[after] - (tokens - limit)) - 1
            last = max(1, min(after - 1, shorter))
        yield start, end, tokens
        del window[:after]
        size -= sums[after]


def _chunk_end(pieces: list[_Piece], sums: list[int], last: int, limit: int) -> int:
    """Index of the piece before which a chunk of the first pieces ends, at most `last`.

    `sums` are cumulated tokens of the pieces.
    """
    if last == len(pieces):
        return last
    least, aim = int(_EARLIEST_END * limit), sums[last]
    if limit < sums[-1] <= 1.8 * limit:  # two chunks are left: make them about equal
        least, aim = sums[-1] - limit, sums[-1] // 2
    starts = [at for at in range(last, 0, -1) if pieces[at].boundary is not _Boundary.SPACE]
    starts = starts or [last]
    candidates = [at for at in starts if sums[at] >= least] or starts[:1]
    return max(candidates, key=lambda at: (pieces[at].boundary, -abs(sums[at] - aim)))


def _pieces(text: str, limit: int, blocks: _Blocks) -> Iterator[_Piece]:
    """Cut the text into pieces of at most `limit` tokens: whole paragraphs and blocks if they fit.

    A block takes the white space behind it, as a paragraph does.
    """
    done = 0
    below_heading = False
    for start, end, boundary in chain(blocks, [(len(text), len(text), _Boundary.PARAGRAPH)]):
        begin = done if start < end and text[done:start].isspace() else start
        below_heading = yield from _paragraphs(text, done, begin, limit, below_heading)
        done = begin
        if start < end:
            space = _SPACE.match(text, end)
            done = space.end() if space else end
            boundary = _Boundary.BELOW_HEADING if below_heading else boundary
            yield from _split_piece(text, begin, done, limit, boundary, -1)
            below_heading = False


def _paragraphs(
    text: str, begin: int, stop: int, limit: int, below_heading: bool
) -> Generator[_Piece, None, bool]:
    """Yield the pieces of paragraphs; return whether the last is a heading."""
    lead = len(text) - len(text.lstrip()) if begin == 0 else begin
    ends = (match.end() for match in _PARAGRAPH.finditer(text, lead, stop))
    for start, end in pairwise(chain([begin], ends, [stop])):
        if start == end:
            continue
        paragraph = text[start:end]
        heading = _HEADING.match(paragraph)
        boundary = _Boundary.PARAGRAPH
        if below_heading:
            boundary = _Boundary.BELOW_HEADING
        elif heading or paragraph.startswith("#"):
            boundary = _Boundary.HEADING
        yield from _split_piece(text, start, end, limit, boundary)
        below_heading = heading is not None
    return below_heading


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
    inner_starts: Iterable[_Start]
    if level < 0:
        ends = (match.end() for match in _PARAGRAPH.finditer(part))
        inner_starts = ((at, _Boundary.PARAGRAPH) for at in ends if at < len(part))
    elif level == 0:
        inner_starts = ((line[0], _Boundary.LINE) for line in islice(line_spans(part), 1, None))
    elif level == 1:
        spans = islice(sentence_spans(part), 1, None)
        inner_starts = ((span[0], _Boundary.SENTENCE) for span in spans)
    else:
        inner_starts = _words(part, limit)
    starts = chain([(0, boundary)], inner_starts, [(len(part), boundary)])
    for (inner, inner_boundary), (after, _) in pairwise(starts):
        if inner < after:
            place = start + inner, start + after
            yield from _split_piece(text, *place, limit, inner_boundary, level + 1)


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
    """Yield the positions at which to cut long white space (at most two tokens a character)."""
    step = max(1, limit // 2)
    return ((at, _Boundary.SPACE) for at in range(start + step, end, step))


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


_INSIDE_WORD = re.compile(rf"[^\W_{KANA}{HAN}]{{2}}")


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
    starts, ends, kinds = array("q"), array("q"), bytearray()  # of blocks: a chat may have millions
    for start, end, boundary in _whole_blocks(document):
        starts.append(start)
        ends.append(end)
        kinds.append(boundary)
    for span in [*_without_space_between(text, _kept_spans(text, fitting, cutting)), _end_of(text)]:
        inside = range(bisect_left(starts, done), bisect_right(ends, span[0]))
        blocks = ((starts[at] - done, ends[at] - done, _Boundary(kinds[at])) for at in inside)
        between = chunk_spans(text[done : span[0]], limit, blocks)
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
