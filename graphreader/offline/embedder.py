"""Embeddings without a model: hashes of words, stems and parts of words."""

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from zlib import crc32

from graphreader.text.scripts import letter_pairs, letters
from graphreader.text.words import fold, is_stop_word, stem, words_of

DIMENSION = 256
STEM, PART = 2.0, 0.5  # weights; a word has 1


class OfflineEmbedder:
    """An embedder without a model: texts that share words, stems or parts of words are similar.

    A vector has length 1.
    """

    name = "offline-1"
    dimension = DIMENSION
    compares_words = True

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector for each text, in their order."""
        return [embedding_of(text) for text in texts]

    async def aclose(self) -> None:
        """Do nothing: no client is open."""


def embedding_of(text: str) -> list[float]:
    """Compute the vector of one text."""
    vector = [0.0] * DIMENSION
    for index, value in _features(text):
        vector[index] += value
    length = math.sqrt(sum(value * value for value in vector))
    if not length:
        # There are no features, or they cancel out: such a text gets a dimension by its hash.
        vector[crc32(text.encode("utf-8", "surrogatepass")) % DIMENSION] = length = 1.0
    return [value / length for value in vector]


def _features(text: str) -> Iterator[tuple[int, float]]:
    for word in words_of(text):
        yield from _word_features(word)
    for pair in letter_pairs(text):
        yield _hashed(f"={pair}", STEM)
    for character in letters(text):
        yield _hashed(f"#{character}", PART)


@lru_cache(maxsize=32768)
def _word_features(word: str) -> tuple[tuple[int, float], ...]:
    folded = fold(word)
    if not folded:
        return ()
    if is_stop_word(word):
        return (_hashed(f"={folded}", PART),)
    marked = f"<{folded}>"
    parts = {marked[i : i + size] for size in (3, 4) for i in range(len(marked) - size + 1)}
    return (
        _hashed(f"={folded}", 1.0),
        _hashed(f"~{stem(folded)}", STEM),
        *(_hashed(f"#{part}", PART) for part in sorted(parts)),
    )


def _hashed(feature: str, weight: float) -> tuple[int, float]:
    """Return (index, signed weight) of a feature by its CRC, which is equal in all processes."""
    code = crc32(feature.encode("utf-8", "surrogatepass"))
    return code % DIMENSION, weight if code & 0x10000 else -weight
