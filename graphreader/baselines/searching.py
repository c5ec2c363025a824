"""The tools of an agent that searches: keyword search, semantic search, and which chunks were read.

As in A-RAG (Du et al. 2026): keywords count by how often a chunk has them, times their length; a
question in words counts by the most alike sentence of a chunk. A search shows snippets only.
"""

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from graphreader.baselines.passages import Passage
from graphreader.baselines.ranking import Vectors, embedded
from graphreader.deciding.embedder import Embedder
from graphreader.sentences import sentence_spans

MOST_HITS = 5
SNIPPET = 300  # characters
BETWEEN = " … "  # sentences of a snippet


@dataclass(frozen=True, slots=True)
class Found:
    """A chunk, by its place among all of them, and the words by which it was found."""

    at: int
    snippet: str


class Chunks:
    """All chunks, and how to find some of them. What is embedded is embedded once, at first use."""

    def __init__(self, passages: Sequence[Passage], embedder: Embedder) -> None:
        self.passages = passages
        self._embedder = embedder
        self._folded = [f"{one.document.title}\n{one.text}".casefold() for one in passages]
        self._sentences: list[tuple[int, str]] = []
        self._vectors: Vectors | None = None
        self._making = asyncio.Lock()

    def by_keywords(self, words: Sequence[str]) -> list[Found]:
        """The chunks that have the words, in any letters, the best first; at most five."""
        wanted = [folded for word in words if (folded := " ".join(word.casefold().split()))]
        scores = [sum(text.count(word) * len(word) for word in wanted) for text in self._folded]
        best = sorted((at for at, score in enumerate(scores) if score), key=lambda at: -scores[at])
        return [Found(at, _with_words(self.passages[at].text, wanted)) for at in best[:MOST_HITS]]

    async def by_meaning(self, query: str) -> list[Found]:
        """The chunks with the sentences most like the query; at most five. Raises DecisionError."""
        async with self._making:
            if self._vectors is None:
                self._sentences = list(_sentences(self.passages))
                self._vectors = await embedded(
                    [sentence for _, sentence in self._sentences] or [""], self._embedder
                )
        likeness = self._vectors @ (await embedded([query], self._embedder))[0]
        best: dict[int, str] = {}
        for number in np.argsort(-likeness, kind="stable"):
            if len(best) == MOST_HITS or not self._sentences:
                break
            at, sentence = self._sentences[number]
            best.setdefault(at, sentence[:SNIPPET])
        return [Found(at, snippet) for at, snippet in best.items()]

    def beside(self, at: int) -> list[int]:
        """The chunks right before and after, of the same document."""
        document = self.passages[at].document.id
        return [
            near
            for near in (at - 1, at + 1)
            if 0 <= near < len(self.passages) and self.passages[near].document.id == document
        ]


class Tracker:
    """Numbers chunks as they turn up, and knows which ones were shown in full."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self.read: list[int] = []

    def number(self, at: int) -> int:
        """The number of a chunk, from 1 in the order in which chunks turn up."""
        return self._numbers.setdefault(at, len(self._numbers) + 1)

    def unread(self) -> list[int]:
        """The chunks that turned up and were not read, the latest first."""
        return [at for at in reversed(self._numbers) if at not in self.read]

    def chunks(self, numbers: Iterable[int]) -> list[int]:
        """The chunks that have these numbers, each once."""
        by_number = {number: at for at, number in self._numbers.items()}
        return [by_number[n] for n in dict.fromkeys(numbers) if n in by_number]


def _sentences(passages: Sequence[Passage]) -> Iterable[tuple[int, str]]:
    """Every sentence with the place of its chunk."""
    for at, passage in enumerate(passages):
        for start, end in sentence_spans(passage.text):
            yield at, passage.text[start:end]


def _with_words(text: str, words: Sequence[str]) -> str:
    """The sentences that have a word, as many as a snippet holds; else the beginning."""
    any_word = re.compile("|".join(map(re.escape, words)))
    sentences = [" ".join(text[start:end].split()) for start, end in sentence_spans(text)]
    having = [one for one in sentences if any_word.search(one.casefold())]
    return BETWEEN.join(having or sentences[:1])[:SNIPPET]
