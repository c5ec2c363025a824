"""A document is cut into chunks: runs of whole paragraphs, at most L tokens (paper, section 3.2).

First the text becomes pieces, none larger than L: paragraphs, or what a paragraph that is too long
consists of: lines, sentences, words, characters. Then pieces are packed into chunks. A chunk is as
long as it can be, but rather ends at a better place in its last part: where a heading follows, or
else where a paragraph, a line, a sentence ends. So an edit mostly moves few boundaries behind it.

Nothing overlaps and nothing is lost: joined, the chunks give the text back. White space belongs to
the chunk before it. It does not know what a text means, nor tables, code or footnotes.

A document that was edited is cut anew only where it changed.

A chunk of the former version that still stands in the new text keeps its boundaries, and so its id:
what a model said of it holds. Where chunks were moved, as many are kept as stay in one order. What
lies between them is cut as `split` cuts a text, also where it is only a few words long: another
small chunk costs less than asking for its neighbors again. So after many edits a document may have
more and smaller chunks than `split` would give it.

A chunk does not stand any more where a word now runs across its end ("the king" became "the
kingdom"). White space that came or went goes to the chunk before it, which is then cut anew.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from enum import IntEnum
from hashlib import sha256
from itertools import accumulate, pairwise
from unicodedata import category

from graphreader.documents import Chunk, Document
from graphreader.store.catalog import ArrangedChunk
from graphreader.text.sentences import line_spans, sentence_spans
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
_HEAD = 32  # characters by which a former chunk is looked for
_IN_WORD = re.compile(r"[^\W_\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003fffd]{2}")


@dataclass(frozen=True, slots=True)
class _Block:
    """A chunk, together with those of white space only that follow it: all are kept, or none."""

    text: str
    chunks: tuple[ArrangedChunk, ...]

    def spans(self, start: int) -> Iterator[Span]:
        for chunk in self.chunks:
            end = start + len(chunk.text)
            yield start, end, chunk.tokens
            start = end


def recut(document: Document, limit: int, old: Sequence[ArrangedChunk]) -> list[Chunk]:
    """The chunks of a document's new text, each of at most `limit` tokens.

    `old` are those of its former version, in order; some may be missing. Without any, the chunks
    are those of `split`. No chunk of more than `limit` tokens is kept. `tokens` are believed.
    """
    text = document.text
    kept = [span for at, block in _kept(text, _blocks(old, limit)) for span in block.spans(at)]
    spans: list[Span] = []
    done = 0
    for span in [*_without_gaps_of_space(text, kept), (len(text), len(text), 0)]:
        gap = text[done : span[0]]
        spans += ((done + start, done + end, tokens) for start, end, tokens in pack(gap, limit))
        spans.append(span)
        done = span[1]
    return as_chunks(document, spans[:-1])


def _blocks(old: Sequence[ArrangedChunk], limit: int) -> list[_Block]:
    """All of `old` but what has more than `limit` tokens."""
    groups: list[list[ArrangedChunk]] = []
    only_space = True
    for chunk in old:
        space = chunk.text.isspace()
        if groups and (space or only_space):
            groups[-1].append(chunk)
        else:
            groups.append([chunk])
        only_space = only_space and space
    return [
        _Block("".join(chunk.text for chunk in group), tuple(group))
        for group in groups
        if all(chunk.tokens <= limit for chunk in group)
    ]


def _kept(text: str, blocks: list[_Block]) -> list[tuple[int, _Block]]:
    """The blocks that still stand in the text, in order, and where."""
    torn = _torn(blocks)
    first, begin = 0, 0
    last, end = len(blocks), len(text)
    head: list[tuple[int, _Block]] = []
    tail: list[tuple[int, _Block]] = []
    while first < last and _stands(text, begin, blocks[first].text, torn):
        head.append((begin, blocks[first]))
        begin += len(blocks[first].text)
        first += 1
    while first < last and begin <= (start := end - len(blocks[last - 1].text)):
        if not _stands(text, start, blocks[last - 1].text, torn):
            break
        last, end = last - 1, start
        tail.append((start, blocks[last]))
    middle = blocks[first:last]
    places = _places(text, begin, end, {block.text for block in middle}, torn)
    pairs = _longest_common([block.text for block in middle], [found for _, found in places])
    return [*head, *((places[there][0], middle[here]) for here, there in pairs), *reversed(tail)]


def _torn(blocks: list[_Block]) -> set[str]:
    """The texts of blocks that began or ended inside of a word, or that may have done so."""
    torn = set()
    for before, after in pairwise(blocks):
        last = before.chunks[-1]
        gap = after.chunks[0].start != last.start + len(last.text)
        if gap or _cuts_word(before.text[-1] + after.text[0], 1):
            torn |= {before.text, after.text}
    return torn


def _stands(text: str, at: int, block: str, torn: Set[str]) -> bool:
    """Whether a block stands here, and no word runs across its ends that did not before."""
    if not text.startswith(block, at):
        return False
    return block in torn or not (_cuts_word(text, at) or _cuts_word(text, at + len(block)))


def _cuts_word(text: str, at: int) -> bool:
    inside = 0 < at < len(text)
    return inside and (in_sign(text, at) or _IN_WORD.match(text, at - 1) is not None)


def _places(
    text: str, begin: int, end: int, blocks: Set[str], torn: Set[str]
) -> list[tuple[int, str]]:
    """Where blocks stand between `begin` and `end`, from left to right, none across another.

    Where several do, it is the longest. The time grows with the text, not with the blocks: which
    of them stand at a place, however alike they are, a binary search tells.
    """
    known = sorted(blocks)
    shorter = _beginnings(known)
    longest = max(map(len, known), default=0)
    places: list[tuple[int, str]] = []
    done = begin
    for at in _starts(text, begin, end, {block[:_HEAD] for block in known}):
        if at < done:
            continue
        here = text[at : min(at + longest, end)]
        found = bisect_right(known, here) - 1
        while found >= 0:
            block = known[found]
            if here.startswith(block) and _stands(text, at, block, torn):
                places.append((at, block))
                done = at + len(block)
                break
            found = shorter[found]
    return places


def _beginnings(known: list[str]) -> list[int]:
    """For each of sorted texts the longest other one with which it begins; -1 where none is.

    What a text begins with are the greatest of them that is not above it, or that one's beginnings.
    """
    shorter: list[int] = []
    for index, text in enumerate(known):
        other = index - 1
        while other >= 0 and not text.startswith(known[other]):
            other = shorter[other]
        shorter.append(other)
    return shorter


def _starts(text: str, begin: int, end: int, heads: Set[str]) -> list[int]:
    """Where one of `heads` stands."""
    found: set[int] = set()
    for size in {len(head) for head in heads}:
        found.update(at for at in range(begin, end - size + 1) if text[at : at + size] in heads)
    return sorted(found)


def _longest_common(here: list[str], there: list[str]) -> list[tuple[int, int]]:
    """A longest common subsequence, as pairs of indexes, by Hyyrö's bit-parallel algorithm (2004).

    A row has a bit for each of `there`: 0 where one more is in common than a bit before. A row
    takes three operations on one long integer, so some 10,000 chunks are matched in no time.
    """
    bits: dict[str, int] = {}
    for index, item in enumerate(there):
        bits[item] = bits.get(item, 0) | 1 << index
    rows = [(1 << len(there)) - 1]
    for item in here:
        row, common = rows[-1], rows[-1] & bits.get(item, 0)
        rows.append(((row + common) | (row - common)) & rows[0])
    pairs = []
    i, j = len(here), len(there)
    while i and j:
        if rows[i] >> (j - 1) & 1:
            j -= 1
        elif rows[i - 1] >> (j - 1) & 1:
            i, j = i - 1, j - 1
            pairs.append((i, j))
        else:
            i -= 1
    return pairs[::-1]


def _without_gaps_of_space(text: str, kept: list[Span]) -> list[Span]:
    """The spans without those before which, or else after which, only white space would be cut."""
    spans: list[Span] = []
    done = 0
    for span in [*kept, (len(text), len(text), 0)]:
        if text[done : span[0]].isspace():
            if not spans:
                continue
            spans.pop()
        spans.append(span)
        done = span[1]
    return spans[:-1]
