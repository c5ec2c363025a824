"""How alike texts are in meaning: their vectors, each asked for once."""

from collections import OrderedDict
from collections.abc import Sequence

from graphreader.deciding.embedder import Embedder

REMEMBERED = 256
"""Vectors that are kept; a question with its plan and needs has about ten."""


class Likeness:
    """The vectors of what a run looks for."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: OrderedDict[str, list[float]] = OrderedDict()

    async def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text, in the same order. Raises DecisionError where none can be had."""
        vectors = {text: self._known[text] for text in texts if text in self._known}
        new = [text for text in dict.fromkeys(texts) if text not in vectors]
        if new:
            vectors |= zip(new, await self._embedder.embed(new), strict=True)
        for text, vector in vectors.items():
            self._known[text] = vector
            self._known.move_to_end(text)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return [vectors[text] for text in texts]

    async def middle(self, texts: Sequence[str]) -> list[float]:
        """The mean of the texts' vectors: what is like all of them. Raises DecisionError."""
        columns = zip(*await self.vectors(texts), strict=True)
        return [sum(column) / len(texts) for column in columns]
