"""The texts of `benchmarks.ingest`: a made-up chronicle that needs no memory.

The names follow Zipf's law without end, as in real texts: one stands in one fact of five, new
ones keep coming, and on average a name is in two or three facts (paper, table 8). Everything
follows from numbers. The texts are in files of 20 chunks; the facts of all chunks are in one more
file for the instant model.
"""

import marshal
import random
import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from io import BufferedReader
from math import sqrt
from pathlib import Path
from typing import Any
from zlib import crc32

from graphreader.ingestion.extraction import ExtractedFact, Extraction, ExtractionTask
from graphreader.llm.protocols import Budget, D, DecisionResult, Task, TokenCallback
from graphreader.usage import Usage

CHUNKS_A_DOCUMENT = 20
_EXPONENT = 1.1  # of Zipf's law
_RANKS = 2**40  # beyond it a name never comes twice, whatever it is
_SPREAD = 0x9E3779B1  # odd: makes neighbors of one rank look unlike each other
_SYLLABLES = [a + b for a in ("b", "d", "f", "g", "k", "l", "m", "n") for b in "aeiou"] + [
    *("bar", "den", "fel", "gor", "hul", "jas", "kem", "lun"),
    *("mor", "nar", "pel", "ros", "sil", "tam", "vor", "wyn"),
    *("ath", "eld", "irn", "oth", "urd", "ank", "est", "olm"),
]
_JOINTS = (" met ", " and praised ", " near ", ", who had left ", " without ", " because of ")
_NUMBER = re.compile(r"\d+")

FactAndNames = tuple[str, list[str]]
"""A fact and its key elements."""


@dataclass(frozen=True, slots=True)
class Chronicle:
    """A folder of texts, and the facts of each chunk."""

    folder: Path
    chunks: int
    facts: int
    chunk_tokens: int

    @property
    def texts(self) -> Path:
        """The folder to be ingested."""
        return self.folder / "texts"


def write(folder: Path, chunks: int, facts: int, first: int = 0, tokens: int = 0) -> Chronicle:
    """Chunks of so many facts each, from that number on.

    A chunk's text is its facts' sentences, and filled up to about `tokens`.
    """
    one = Chronicle(folder, chunks, facts, tokens or 48 * facts)
    one.texts.mkdir(parents=True)
    starts = array("Q", [first])
    with (folder / "facts").open("wb") as file:
        for begin in range(first, first + chunks, CHUNKS_A_DOCUMENT):
            passages = []
            for number in range(begin, min(begin + CHUNKS_A_DOCUMENT, first + chunks)):
                chunk_facts = _facts(number, facts)
                starts.append(file.tell())
                marshal.dump(chunk_facts, file)
                passages.append(_passage(number, chunk_facts, one.chunk_tokens))
            name = f"chronicle {begin:06}.txt"
            (one.texts / name).write_text("\n\n".join(passages) + "\n", encoding="utf-8")
    (folder / "starts").write_bytes(starts.tobytes())
    return one


def _facts(number: int, facts: int) -> list[FactAndNames]:
    dice = random.Random(number)
    return [_fact(dice) for _ in range(facts)]


def _fact(dice: random.Random) -> FactAndNames:
    """A sentence of one to five names; each stands in it."""
    wanted = dice.randint(1, 5)
    names: list[str] = []
    while len(names) < wanted:
        found = name(_rank(dice))
        if found not in names:
            names.append(found)
    parts = [names[0]]
    for one in names[1:]:
        parts += [dice.choice(_JOINTS), one]
    return f"On day {dice.randrange(10**6)} {''.join(parts)} came to the old bridge.", names


def _rank(dice: random.Random) -> int:
    """1 or more: how often a rank comes falls with it by Zipf's law."""
    rank = int((1 - dice.random()) ** (-1 / (_EXPONENT - 1)))
    return rank if rank < _RANKS else dice.randrange(_RANKS)


@lru_cache(5000)
def name(rank: int) -> str:
    """What the name of that rank is: persons, places, amounts, nouns, verbs."""
    spread = rank * _SPREAD
    word = _word(spread >> 3 & 0xFFFFFF)
    other = _word(spread >> 27 & 0xFFF)
    match (rank - 1) % 6:
        case 0:
            return f"{word} {other}".title()
        case 1:
            return f"Lake of {word.capitalize()}"
        case 2:
            return f"{rank % 9000 + 1000:,} sheep of {word.capitalize()}"
        case 3:
            return f"{word}s"
        case 4:
            return f"{other[:1].upper()}.{word[:1].upper()}. {word.capitalize()}"
        case _:
            return word


def _word(number: int) -> str:
    syllables = []
    while number:
        number, digit = divmod(number, len(_SYLLABLES))
        syllables.append(_SYLLABLES[digit])
    return "".join(syllables) or "zur"


def _passage(number: int, facts: Sequence[FactAndNames], tokens: int) -> str:
    """One paragraph of more than half and at most so many tokens, by the number of characters."""
    dice = random.Random(number)
    parts = [f"Part {number} of the chronicle.", *(fact for fact, _ in facts)]
    length = sum(map(len, parts))
    while length < 2 * tokens:
        parts.append(f"Nobody knows what became of it {dice.randrange(100)} years afterwards.")
        length += len(parts[-1])
    return " ".join(parts)


def number_of(passage: str) -> int:
    """The number of a chunk, which its text begins with."""
    found = _NUMBER.search(passage)
    assert found is not None
    return int(found.group())


@dataclass(slots=True)
class InstantDecider:
    """Answers at once with the facts in the chronicle's folder; keeps nothing in memory."""

    chronicle: Chronicle
    name: str = "instant"
    prompts: str = "instant"
    notice: str = ""
    concurrency: int = 16
    _starts: "array[int]" = field(init=False)
    _file: BufferedReader = field(init=False)

    def __post_init__(self) -> None:
        self._starts = array("Q", (self.chronicle.folder / "starts").read_bytes())
        self._file = (self.chronicle.folder / "facts").open("rb")

    async def decide(
        self, task: Task[D], budget: Budget | None = None, heard: TokenCallback | None = None
    ) -> DecisionResult[D]:
        """The prepared facts of the chunk."""
        assert isinstance(task, ExtractionTask)
        facts = self.facts_of(number_of(task.text))
        extraction = Extraction.model_construct(
            facts=[
                ExtractedFact.model_construct(fact=fact, key_elements=names)
                for fact, names in facts
            ]
        )
        return DecisionResult(extraction, task, Usage(calls=1))  # type: ignore[arg-type]

    def facts_of(self, number: int) -> list[FactAndNames]:
        """The facts of one chunk."""
        self._file.seek(self._starts[1 + number - self._starts[0]])
        facts: list[FactAndNames] = marshal.load(self._file)
        return facts

    def measure(self, task: Task[Any]) -> int:
        """No prompt, no tokens."""
        return 0

    async def aclose(self) -> None:
        """Close the file."""
        self._file.close()


class InstantEmbedder:
    """Unit vectors that follow from the corpus and the text, put together out of prepared halves.

    No two runs have the same ones: an index with many vectors twice is another task.
    """

    name = "instant"
    dimension = 256
    _PREPARED = 509

    def __init__(self, corpus: str) -> None:
        self._corpus = corpus
        dice = random.Random(1)
        half = self.dimension // 2
        rows = [[dice.gauss(0, 1) for _ in range(half)] for _ in range(self._PREPARED)]
        self._halves = [[x / sqrt(2 * sum(y * y for y in row)) for x in row] for row in rows]

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text, in the same order."""
        return [self.vector(text) for text in texts]

    def vector(self, text: str) -> list[float]:
        """Two prepared halves, the first one turned around: 33 million are unlike."""
        number = crc32(f"{self._corpus} {text}".encode())
        number, first = divmod(number, self._PREPARED)
        number, second = divmod(number, self._PREPARED)
        turned, at = self._halves[first], number % len(self._halves[first])
        return turned[at:] + turned[:at] + self._halves[second]

    async def aclose(self) -> None:
        """Nothing to let go of."""
