"""Retrieval-augmented generation: answer from the best passages of a ranking (appendix D)."""

import asyncio
import json
import logging
import warnings
from collections.abc import Sequence
from contextlib import suppress
from functools import cache, cached_property
from hashlib import sha256
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from graphreader.baselines.answering import (
    Excerpt,
    PassagesChoiceTask,
    PassagesTask,
    answer_from,
    excerpts_of,
)
from graphreader.baselines.session import BaselineReader, QuestionSession, ReaderModel, TextPassage
from graphreader.files import atomic_write
from graphreader.llm.protocols import Embedder, embed_all
from graphreader.reading import Reading
from graphreader.text.scripts import letter_pairs, letters
from graphreader.text.words import fold, term_of, words_of

K1, B = 1.5, 0.75
LONGEST_EMBEDDED = 8_000  # characters of one text for an embedder
TOP_1_TOKENS = 3_800
"""Tokens of a chunk that is shown alone; appendix D prints 38k, too much for its window of 4k."""
TOP_K_TOKENS = 1_000  # tokens of a chunk that is shown with others
_MOST_BYTES = 500_000_000  # of all files of vectors
_QUESTION_TOKENS = 200  # for the question and its options
_LABEL_TOKENS = 60  # for the label of a passage

Vectors = NDArray[np.float32]


class Ranking(Protocol):
    """A ranking of passages by how likely they answer a question."""

    async def ranked(self, question: str) -> list[TextPassage]:
        """Return all passages, the likeliest first."""
        ...


class BM25:
    """A ranking by BM25 as Lucene computes it, over stems without English stop words."""

    def __init__(self, passages: Sequence[TextPassage]) -> None:
        self.passages = passages

    async def ranked(self, question: str) -> list[TextPassage]:
        """Return all passages, the likeliest first; passages without a common word last."""
        vocabulary = self._index.vocab_dict if self._index else {}
        query = [term for term in bm25_terms(question) if term in vocabulary]
        if not query:
            return list(self.passages)
        return _sort_by(self._index.get_scores(query), self.passages)

    @cached_property
    def _index(self) -> Any:
        """The index of the passages, made at the first question; None if they have no words."""
        texts = [bm25_terms(one.titled) for one in self.passages]
        if not any(texts):
            return None
        index = _bm25s().BM25(k1=K1, b=B, method="lucene")
        index.index(texts, show_progress=False)
        return index


class EmbeddingRanking:
    """A ranking by the cosine of embeddings."""

    def __init__(
        self, passages: Sequence[TextPassage], embedder: Embedder, home: Path | None = None
    ) -> None:
        self.passages = passages
        self._index = VectorIndex([one.titled for one in passages], embedder, home)

    async def ranked(self, question: str) -> list[TextPassage]:
        """Return all passages, the likeliest first. Raises DecisionError if embedding fails."""
        return _sort_by(await self._index.similarities(question), self.passages)


class VectorIndex:
    """The vectors of texts, embedded at the first query; a long text has the mean of its parts.

    With a folder `home` the vectors are stored there, one file for all texts of the index, so that
    a later process does not embed them again. The most recently used files stay, up to 500 MB.
    """

    def __init__(self, texts: Sequence[str], embedder: Embedder, home: Path | None = None) -> None:
        self._home = home
        self._parts = [
            [text[at : at + LONGEST_EMBEDDED] for at in range(0, len(text), LONGEST_EMBEDDED)]
            for text in texts
        ]
        self._embedder = embedder
        self._vectors: Vectors | None = None
        self._lock = asyncio.Lock()

    async def similarities(self, query: str) -> Vectors:
        """Return the cosine of the query with each text. Raises DecisionError."""
        if not self._parts:
            return np.zeros(0, np.float32)
        async with self._lock:
            if self._vectors is None:
                self._vectors = await asyncio.to_thread(self._kept)
            if self._vectors is None:
                vectors = await self._unit_vectors([part for one in self._parts for part in one])
                starts = np.cumsum([0, *(len(one) for one in self._parts[:-1])])
                self._vectors = _normalize(np.add.reduceat(vectors, starts, axis=0))
                await asyncio.to_thread(self._keep, self._vectors)
        similarities: Vectors = self._vectors @ (await self._unit_vectors([query]))[0]
        return similarities

    @cached_property
    def _file(self) -> Path | None:
        """The file of the vectors, named by a hash of texts and embeddings; None without `home`."""
        if self._home is None:
            return None
        content = json.dumps([self._embedder.name, self._embedder.dimension, self._parts])
        return self._home / f"{sha256(content.encode()).hexdigest()[:32]}.npy"

    def _kept(self) -> Vectors | None:
        try:
            vectors: Vectors | None = np.load(self._file) if self._file else None
        except (OSError, ValueError, EOFError):  # the file is missing or damaged
            return None
        if self._file:
            with suppress(OSError):
                self._file.touch()  # recently used files stay
        return vectors if vectors is None or len(vectors) == len(self._parts) else None

    def _keep(self, vectors: Vectors) -> None:
        """Write the file and delete the oldest files; a disk error is ignored."""
        if self._file is None:
            return
        with suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(self._file) as output:
                np.save(output, vectors)
            files = sorted(self._file.parent.glob("*.npy"), key=lambda one: -one.stat().st_mtime)
            sizes = accumulate(one.stat().st_size for one in files)
            for file, size in zip(files, sizes, strict=True):
                if size > _MOST_BYTES and file != self._file:
                    file.unlink(missing_ok=True)

    async def _unit_vectors(self, texts: Sequence[str]) -> Vectors:
        return _normalize(np.asarray(await embed_all(self._embedder, texts), dtype=np.float32))


def bm25_terms(text: str) -> list[str]:
    """List the terms of a text for BM25, each as often as it occurs."""
    words = (folded for word in words_of(text) if (folded := fold(word)) not in _stop_words())
    return [*(term_of(word) for word in words if word), *letter_pairs(text), *letters(text)]


def _sort_by(scores: NDArray[np.floating], passages: Sequence[TextPassage]) -> list[TextPassage]:
    """Sort passages by score, the best first; equal scores keep their order."""
    return [passages[at] for at in np.argsort(-scores, kind="stable")]


def _normalize(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit_length: Vectors = vectors / np.maximum(lengths, 1e-12)
    return unit_length


@cache
def _bm25s() -> Any:
    """Import bm25s without its log, and without tqdm's warning inside Jupyter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        library = import_module("bm25s")
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    return library


@cache
def _stop_words() -> frozenset[str]:
    _bm25s()
    return frozenset(import_module("bm25s.stopwords").STOPWORDS_EN)


class Retrieval(BaselineReader):
    """A reader that answers from the best `k` passages of a ranking, if they fit the window."""

    def __init__(self, name: str, ranking: Ranking, model: ReaderModel, k: int) -> None:
        super().__init__(name, model)
        self._ranking = ranking
        self._k = k

    async def read(self, session: QuestionSession) -> Reading:
        """Rank the passages, and answer from the best. Raises DecisionError."""
        ranked = await self._ranking.ranked(session.question)
        return await answer_from(session, excerpts_of(ranked[: self._k]))


def top_1_tokens(model: ReaderModel) -> int:
    """Compute the tokens of a chunk that fills the window, at most 3,800. Raises WindowError."""
    empty = (Excerpt("", "", 0),)
    tasks = PassagesTask("", empty), PassagesChoiceTask("", empty, ("",))
    prompt = max(model.decider.measure(task) for task in tasks)
    return max(1, min(TOP_1_TOKENS, model.window - prompt - _QUESTION_TOKENS - _LABEL_TOKENS))
