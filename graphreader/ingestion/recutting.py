"""A document that was edited is cut anew only where it changed.

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
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise

from graphreader.documents import Chunk, Document
from graphreader.ingestion.chunking import Span, as_chunks, in_sign, pack
from graphreader.store.states import ArrangedChunk

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
