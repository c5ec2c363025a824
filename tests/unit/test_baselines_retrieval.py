"""Ranking passages by words and by embeddings."""

import math
from collections.abc import Callable, Sequence

import pytest

from graphreader.baselines.retrieval import BM25, EmbeddingRanking, Ranking
from graphreader.baselines.session import TextPassage
from graphreader.documents import Document
from graphreader.offline.embedder import OfflineEmbedder

TEXTS = [
    ("Lisbon", "Trams climb the hills of the old town."),
    ("Otters", "Otters sleep on their backs, and an otter holds another's paw."),
    ("长江", "长江是亚洲最长的河流，发源于青藏高原。"),
    ("Coins", "Traders weighed silver coins in the harbour of Lisbon."),
    ("Empty talk", "And so on."),
]


def passages(texts: Sequence[tuple[str, str]]) -> list[TextPassage]:
    return [
        TextPassage(Document("c", f"d{n}", title, "", text, "", "en"), 0, 0, text, 1)
        for n, (title, text) in enumerate(texts)
    ]


def by_embedding(some: Sequence[TextPassage]) -> Ranking:
    return EmbeddingRanking(some, OfflineEmbedder())


every_ranking = pytest.mark.parametrize("rank", [BM25, by_embedding])
Rank = Callable[[Sequence[TextPassage]], Ranking]


# Both rankings put the best passage first, and rank all of them.
@every_ranking
@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("How do otters sleep?", "Otters"),
        ("Who weighed silver?", "Coins"),
        ("亚洲最长的河流是哪一条？", "长江"),
    ],
)
async def test_ranks(rank: Rank, question: str, first: str) -> None:
    titles = [one.document.title for one in await rank(passages(TEXTS)).ranked(question)]

    assert titles[0] == first
    assert sorted(titles) == sorted(title for title, _ in TEXTS)


# The scores are those of BM25 with k1 1.5 and b 0.75: the order of a case worked by hand.
async def test_bm25_by_hand() -> None:
    texts = ["red red blue", "red", "blue green green green green green", "grey"]
    average = sum(len(text.split()) for text in texts) / len(texts)

    def score(text: str) -> float:
        total = 0.0
        for word in ("red", "blue"):
            having = sum(word in other.split() for other in texts)
            idf = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
            times = text.split().count(word)
            length = len(text.split()) / average
            total += idf * times / (times + 1.5 * (1 - 0.75 + 0.75 * length))
        return total

    ranked = await BM25(passages([("", text) for text in texts])).ranked("red or blue?")

    assert [one.text for one in ranked] == sorted(texts, key=score, reverse=True)


# Passages that are equally good, or not at all, keep the order of the text.
@pytest.mark.parametrize("question", ["xylophone", "same words"])
async def test_equals_keep_their_order(question: str) -> None:
    some = passages([(f"Title {n}", "the same words") for n in range(40)])

    assert await BM25(some).ranked(question) == some


class Counting:
    """An embedder whose vectors count the letters a and b; it keeps the texts."""

    name = "counting"
    dimension = 2

    def __init__(self) -> None:
        self.texts: list[str] = []

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.texts += texts
        return [[float(text.count("a")), float(text.count("b")) + 0.01] for text in texts]

    async def aclose(self) -> None:
        pass


# A passage longer than an embedder takes is embedded in parts, and all parts count.
async def test_long_passages() -> None:
    embedder = Counting()
    some = passages([("", "a" * 200), ("", "a" * 8_000 + "b" * 12_000), ("", "ab" * 100)])

    ranked = await EmbeddingRanking(some, embedder).ranked("b")

    assert [one.document.id for one in ranked] == ["d1", "d2", "d0"]
    assert max(map(len, embedder.texts)) <= 8_000
