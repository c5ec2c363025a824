"""How alike texts are in meaning: their vectors, each asked for once."""

from collections import OrderedDict
from collections.abc import Sequence

from graphreader.deciding.embedder import Embedder

REMEMBERED = 256
"""Vectors that are kept; a question with its plan and needs has about ten."""


class Likeness:
    """The vectors of what a run looks for. For any number of runs in one event loop."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: OrderedDict[str, list[float]] = OrderedDict()

    async def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text, in the same order. Raises DecisionError where none can be had."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        found = dict(zip(new, await self._embedder.embed(new), strict=True)) if new else {}
        vectors = {text: found.get(text) or self._known[text] for text in texts}
        self._known.update(found)
        for text in texts:
            self._known.move_to_end(text)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return [vectors[text] for text in texts]

    async def middle(self, texts: Sequence[str]) -> list[float]:
        """The mean of the texts' vectors: what is like all of them. Raises DecisionError."""
        columns = zip(*await self.vectors(texts), strict=True)
        return [sum(column) / len(texts) for column in columns]
