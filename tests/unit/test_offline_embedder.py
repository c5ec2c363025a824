import math

import pytest

from graphreader.llm.protocols import Embedder
from graphreader.offline.embedder import OfflineEmbedder


async def likeness(one: str, other: str) -> float:
    """The cosine of both texts' vectors."""
    a, b = await OfflineEmbedder().embed([one, other])
    return sum(x * y for x, y in zip(a, b, strict=True))


# Every text gets one vector of length 1 and of the stated dimension, also where it has no words.
@pytest.mark.parametrize("text", ["Joan of Arc", "", "!!!", "the", "圣女贞德", "\x00", "a" * 5000])
async def test_shape(text: str) -> None:
    embedder: Embedder = OfflineEmbedder()
    vectors = await embedder.embed([text, "other"])

    assert [len(vector) for vector in vectors] == [embedder.dimension] * 2 == [256, 256]
    assert math.isclose(sum(value * value for value in vectors[0]), 1.0)


# Alike words are near and unrelated ones are not.
@pytest.mark.parametrize(
    ("alike", "one", "unlike"),
    [
        ("Canadian", "Canada", "potato"),
        ("director", "directed", "salt"),
        ("Joan of Arc", "Joan", "Charles"),
        ("Who won the battle of Patay?", "Patay", "Toronto"),
        ("北京大学", "北京", "苹果"),
        ("Orléans", "ORLEANS", "Paris"),
    ],
)
async def test_near(alike: str, one: str, unlike: str) -> None:
    near, far = await likeness(one, alike), await likeness(one, unlike)

    assert near > far + 0.3


# A vector is the same in every process and version: its hash does not depend on the process.
async def test_stable() -> None:
    [vector] = await OfflineEmbedder().embed(["Joan of Arc 贞德"])

    assert sum((i + 1) * value for i, value in enumerate(vector)) == pytest.approx(41.4186798709655)
