"""Citations: where the quotes of a model really stand in a chunk."""

import re

from graphreader.agent.state import Quote
from graphreader.store.records import StoredChunk

_EDGES = re.compile(r"^[\s.…\"'“”‘’「」『』]+|[\s…\"'“”‘’「」『』]+$")
_GAP = re.compile(r"\s*(?:\[?(?:\.{3,}|…+)\]?)\s*")
_ALIKE = ("'‘’ʼ\"“”「」『』", "-–—", ",，、", ".。", ":：", ";；", "?？", "!！", "(（", ")）")
_SPACES = {" ": r"\s+", "\0": r"\s*"}
_SAME = _SPACES | {sign: f"[{re.escape(signs)}]" for signs in _ALIKE for sign in signs}
_HAN = r"[\u3040-\u30ff\u3400-\u9fff]"
_MAYBE_SPACE = re.compile(rf"(?<={_HAN}) ?(?=\S)|(?<=\S) ?(?={_HAN})")
_SHORTEST = 4  # characters; a shorter quote, "the" or "a", supports nothing
_SHORTEST_PIECE = 12  # characters; what stands between two ellipses and is shorter proves nothing


def add_quotes(quotes: list[Quote], chunk: StoredChunk, quoted: list[str]) -> list[Quote]:
    """A path's quotes, and those `quoted` from the chunk that really stand in it, each once."""
    spans = [span for quote in quoted for span in passages(quote, chunk.text)]
    verified: list[Quote] = [
        {
            "document": chunk.document,
            "document_id": chunk.document_id,
            "chunk": chunk.index,
            "start": chunk.start + start,
            "end": chunk.start + end,
            "quote": chunk.text[start:end],
            "page": chunk.page(chunk.start + start),
            "heading": chunk.heading(chunk.start + start),
        }
        for start, end in spans
    ]
    return [*quotes, *(quote for quote in verified if quote not in quotes)]


def passages(quote: str, text: str) -> list[tuple[int, int]]:
    """The spans of a quote in the text: one, or one for each piece between ellipses.

    None at all if the quote, or any piece of it, does not stand there.
    """
    whole = locate(quote, text)
    if whole:
        return [whole]
    pieces = [piece for piece in _GAP.split(quote) if piece]
    if len(pieces) < 2 or any(len(piece) < _SHORTEST_PIECE for piece in pieces):
        return []
    spans = [locate(piece, text) for piece in pieces]
    return [span for span in spans if span] if all(spans) else []


def locate(quote: str, text: str) -> tuple[int, int] | None:
    """The span (start, end) of `quote` in `text`, or None.

    White space, the form of punctuation marks and the case of the first letter may differ, nothing
    else, so that what a model made up is not found. Beside Chinese white space is optional.
    """
    bare = _EDGES.sub("", quote)
    if len(bare) < _SHORTEST:
        return None
    for exact in (quote.strip(), bare):
        start = text.find(exact)
        if start >= 0:
            return start, start + len(exact)
    match = re.search(_pattern(bare), text)
    return match.span() if match else None


def _pattern(quote: str) -> str:
    """A pattern of the quote that allows for other forms of its punctuation marks."""
    spaced = _MAYBE_SPACE.sub("\0", " ".join(quote.split()))
    signs = [_SAME.get(sign, re.escape(sign)) for sign in spaced]
    first = quote[0]
    if first.lower() != first.upper():
        signs[0] = f"[{re.escape(first.lower() + first.upper())}]"
    return "".join(signs)
