from collections.abc import Sequence

import pytest

from graphreader.agent import dependencies
from graphreader.agent.dependencies import QueryVectors


class Embedder:
    """Gives the length of a text and 1, and remembers what it was asked for."""

    name = "lengths"
    dimension = 2

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked.append(list(texts))
        return [[float(len(text)), 1.0] for text in texts]

    async def aclose(self) -> None:
        """Nothing to let go of."""


# Each text is embedded once, in the order in which vectors are wanted.
async def test_once() -> None:
    embedder = Embedder()
    known = QueryVectors(embedder)

    first = await known.vectors(["a", "bbb", "a"])
    second = await known.vectors(["bbb", "cc"])

    assert first == [[1.0, 1.0], [3.0, 1.0], [1.0, 1.0]]
    assert second == [[3.0, 1.0], [2.0, 1.0]]
    assert embedder.asked == [["a", "bbb"], ["cc"]]


# The middle of some texts is the mean of their vectors.
async def test_mean() -> None:
    assert await QueryVectors(Embedder()).mean(["a", "bbb"]) == [2.0, 1.0]


# Only so many are remembered, those that were wanted last.
async def test_few_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dependencies, "CACHED_VECTORS", 2)
    embedder = Embedder()
    known = QueryVectors(embedder)

    for texts in (["a", "bb"], ["a"], ["ccc"], ["a"], ["bb"]):
        await known.vectors(texts)

    assert embedder.asked == [["a", "bb"], ["ccc"], ["bb"]]
