"""Passages: the pieces of a chunk that a search compares with a query.

A passage is a run of whole sentences within one chunk. It has a vector, and its words are searched
with the title of its document and the headings over its chunk.
"""

from itertools import groupby

from graphreader.documents import Chunk, Passage, identity
from graphreader.text.sentences import sentence_spans

PASSAGE_TOKENS = 250  # about; long enough for a subject, short enough for one vector


def passages_of(chunk: Chunk) -> list[Passage]:
    """Cut a chunk at sentences into passages of about equal length; a blank chunk has none."""
    size = len(chunk.text) / max(1, round(chunk.tokens / PASSAGE_TOKENS))
    pieces = groupby(sentence_spans(chunk.text), lambda span: (span[0] + span[1]) // 2 // size)
    spans = [(own[0][0], own[-1][1]) for own in (list(piece) for _, piece in pieces)]
    return [
        Passage(identity(chunk.id, str(start), str(end)), chunk, start, end, chunk.text[start:end])
        for start, end in spans
    ]
