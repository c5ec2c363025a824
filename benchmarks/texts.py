"""What is read in the benchmarks, and what is extracted from it. All of it follows from numbers.

Texts are sentences of the example text in another order; facts are made up, about as many and as
long as a model takes from a chunk of 2,000 tokens, over a vocabulary of which a part turns up
everywhere and most only now and then, as in real texts.
"""

import random
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

EXAMPLE = Path(__file__).parents[1] / "examples" / "joan_of_arc.txt"
FACTS = 20
NAMES = 8000
_SYLLABLES = ("bar", "den", "fel", "gor", "hul", "jas", "kem", "lun", "mor", "nar", "pel", "ros")
_VERBS = ("met", "left", "found", "praised", "followed", "warned", "helped", "crowned", "joined")


@cache
def sentences() -> list[str]:
    """The sentences of the example text."""
    text = " ".join(EXAMPLE.read_text(encoding="utf-8").split())
    return [f"{one}." for one in text.split(". ") if 40 < len(one) < 400]


def passage(number: int, characters: int = 8900) -> str:
    """One paragraph that nearly fills a chunk of 2,000 tokens; no two numbers give the same."""
    dice = random.Random(number)
    parts = [f"This is part {number} of the chronicle."]
    length = 0
    while length < characters:
        parts.append(dice.choice(sentences()))
        length += len(parts[-1]) + 1
    return " ".join(parts)[:characters].rsplit(". ", 1)[0] + "."


def write(folder: Path, chunks: int, files: int, first: int = 0) -> Path:
    """So many passages, from that number on, in so many files of a new folder."""
    folder.mkdir()
    for file in range(files):
        parts = [passage(first + number) for number in range(file, chunks, files)]
        (folder / f"book {file}.txt").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return folder


@cache
def names() -> list[str]:
    """Names that nothing else is called."""
    made = ["".join(one).capitalize() for one in product(_SYLLABLES, repeat=4)]
    random.Random(1).shuffle(made)
    return made[:NAMES]


def extraction(number: int) -> dict[str, Any]:
    """The facts of one chunk."""
    dice = random.Random(number)
    return {"facts": [_fact(dice) for _ in range(FACTS)]}


def _fact(dice: random.Random) -> dict[str, Any]:
    # The square favours names at the front: some are in hundreds of facts, most in a few.
    someone, another, place = (names()[int(NAMES * dice.random() ** 2)] for _ in range(3))
    fact = f"{someone} {dice.choice(_VERBS)} {another} near the old bridge of {place}."
    return {"fact": fact, "key_elements": [someone, another, place]}
