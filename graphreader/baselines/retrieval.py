"""Retrieval-augmented generation: answer from the passages that are ranked best (appendix D).

Which passages are likeliest to answer a question: all of them, the best first.

BM25 and embeddings (GraphReader paper, appendix D). A document's title stands in front of each of
its passages; passages that are equally good keep the order of the text. An index is made once, at
the first question.
"""

import asyncio
import logging
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from graphreader.baselines.answering import RETRIEVED, Source, answer_from, sources_of
from graphreader.baselines.session import QuestionSession, TextPassage
from graphreader.baselines.tasks import Excerpt
from graphreader.llm.protocols import Budget, Decider, Embedder
from graphreader.reading import Reading
from graphreader.text.words import HAN_RUN, fold, han_pairs, term_of, words_of

K1, B = 1.5, 0.75

EMBEDDED_AT_ONCE = 8_000
"""Characters that an embedder takes; of a longer passage the mean of its parts' vectors counts."""

Vectors = NDArray[np.float32]


class Ranking(Protocol):
    """Ranks passages by a question."""

    async def ranked(self, question: str) -> list[TextPassage]:
        """All passages, the likeliest first."""
        ...


class BM25:
    """By weighted common words: BM25 with k1 1.5 and b 0.75, as Lucene computes it.

    Words are lower case, without Lucene's English stop words, lightly stemmed as for the reader
    without a model, so that no difference between the two is due to that. Chinese text counts by
    its characters and pairs of characters.
    """

    def __init__(self, passages: Sequence[TextPassage]) -> None:
        self.passages = passages
        self._index: Any = None

    async def ranked(self, question: str) -> list[TextPassage]:
        """All passages, the likeliest first; those without a common word last."""
        if self._index is None:
            self._index = _indexed([terms_of(titled(passage)) for passage in self.passages])
        known = self._index.vocab_dict if self._index else {}
        asked = [term for term in terms_of(question) if term in known]
        if self._index is None or not asked:
            return list(self.passages)
        return _by(self._index.get_scores(asked), self.passages)


class EmbeddingRanking:
    """By the cosine of embeddings.

    A passage longer than the embedder takes (8,000 characters) is embedded in parts, and the mean
    of their vectors counts.
    """

    def __init__(self, passages: Sequence[TextPassage], embedder: Embedder) -> None:
        self.passages = passages
        self._embedder = embedder
        self._vectors: Vectors | None = None
        self._making = asyncio.Lock()

    async def ranked(self, question: str) -> list[TextPassage]:
        """All passages, the likeliest first. Raises DecisionError where nothing is embedded."""
        if not self.passages:
            return []
        async with self._making:
            if self._vectors is None:
                self._vectors = await self._embedded()
        asked = await embedded([question], self._embedder)
        return _by(self._vectors @ asked[0], self.passages)

    async def _embedded(self) -> Vectors:
        parts = [_parts(titled(passage)) for passage in self.passages]
        vectors = await embedded([part for some in parts for part in some], self._embedder)
        starts = np.cumsum([0, *(len(some) for some in parts[:-1])])
        return _of_length_one(np.add.reduceat(vectors, starts, axis=0))


async def embedded(texts: Sequence[str], embedder: Embedder) -> Vectors:
    """The vectors of the texts, of length 1, so that their products are cosines."""
    return _of_length_one(np.asarray(await embedder.embed(texts), dtype=np.float32))


def titled(passage: TextPassage) -> str:
    """A passage as it is ranked: its document's title, then its text."""
    return f"{passage.document.title}\n{passage.text}"


def terms_of(text: str) -> list[str]:
    """The terms by which BM25 compares, each as often as it stands there."""
    words = (folded for word in words_of(text) if (folded := fold(word)) not in _stop_words())
    signs = (sign for run in HAN_RUN.findall(text) for sign in run)
    return [*(term_of(word) for word in words if word), *han_pairs(text), *signs]


def _indexed(texts: list[list[str]]) -> Any:
    """An index of the texts; None where there is not a single word to index."""
    if not any(texts):
        return None
    index = _bm25s().BM25(k1=K1, b=B, method="lucene")
    index.index(texts, show_progress=False)
    return index


def _by(scores: NDArray[np.floating], passages: Sequence[TextPassage]) -> list[TextPassage]:
    """The passages by their scores, the best first; equals stay in their order."""
    return [passages[at] for at in np.argsort(-scores, kind="stable")]


def _parts(text: str) -> list[str]:
    return [text[at : at + EMBEDDED_AT_ONCE] for at in range(0, len(text), EMBEDDED_AT_ONCE)]


def _of_length_one(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    of_length_one: Vectors = vectors / np.maximum(lengths, 1e-12)
    return of_length_one


@cache
def _bm25s() -> Any:
    """The library, imported when first needed. It is told to be silent: it logs what it indexes.

    It draws with tqdm, which warns inside Jupyter, though nothing is drawn here.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        library = import_module("bm25s")
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    return library


@cache
def _stop_words() -> frozenset[str]:
    _bm25s()
    return frozenset(import_module("bm25s.stopwords").STOPWORDS_EN)


TOP_1_TOKENS = 3_800
"""A chunk where only one is shown. Appendix D prints 38k, which its window of 4k cannot hold."""

TOP_K_TOKENS = 1_000
"""A chunk where several are shown."""

_ASKED = 200
"""Tokens that a question with its options finds room for beside the largest chunk."""

_LABEL = 60
"""Tokens of a passage's label."""


class Retrieval:
    """Answers from the best `k` passages of a ranking.

    `window` is that of its decider. Passages come with the ranking; where they do not all fit
    into the window, the last ones are left out, and a note says so.
    """

    def __init__(
        self,
        name: str,
        ranking: Ranking,
        decider: Decider,
        *,
        k: int,
        window: int,
        budget: Callable[[], Budget] = Budget,
    ) -> None:
        self.name = name
        self.window = window
        self._ranking = ranking
        self._decider = decider
        self._k = k
        self._budget = budget

    async def aask(self, question: str, *, options: Sequence[str] = ()) -> Reading:
        """Rank, and answer from the best. Raises DecisionError."""
        sitting = QuestionSession(self.name, question, self._decider, self._budget())
        best = [one for one in await self._ranking.ranked(question) if one.text.strip()][: self._k]
        return await answer_from(sitting, question, options, sources_of(best), window=self.window)


def top_1_tokens(decider: Decider, window: int) -> int:
    """The size of chunks of which one is to fill the window: 3,800 tokens, or what fits.

    In a window of 4,096 tokens a language model's prompt, the schema of its reply and the question
    leave less than 3,800. Without a model there is no prompt. Raises WindowError where the window
    does not even hold the prompt.
    """
    empty = Source(Excerpt("", "", 0), None)
    prompts = [RETRIEVED.task("", options, [empty]) for options in ((), ("",))]
    prompt = max(decider.measure(task) for task in prompts)
    return max(1, min(TOP_1_TOKENS, window - prompt - _ASKED - _LABEL))
