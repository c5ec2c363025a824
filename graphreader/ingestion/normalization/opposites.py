"""Words that likeness must never make one: what counts, and what stands in one row of a choice.

Embeddings find "north" like "south", because both stand in the same places of texts. The rows are
data: opposites.txt beside this module.
"""

from functools import cache
from importlib.resources import files

_NEGATIONS = ("un", "in", "im", "il", "ir", "non", "dis", "mis", "anti", "a", "counter")


def is_counting(word: str) -> bool:
    """Whether a lower-case English word is a number, an order, a month or a day of the week."""
    return word in _rows()[0]


def are_opposites(one: str, other: str) -> bool:
    """Whether two lower-case English words are different choices, or one says no to the other."""
    longer, shorter = sorted((one, other), key=len, reverse=True)
    if longer != shorter and longer in {negation + shorter for negation in _NEGATIONS}:
        return True
    return one != other and any(one in row and other in row for row in _rows())


@cache
def _rows() -> tuple[frozenset[str], ...]:
    table = files("graphreader.ingestion.normalization").joinpath("opposites.txt")
    lines = table.read_text(encoding="utf-8").splitlines()
    return tuple(frozenset(line.split()) for line in lines if not line.startswith("#"))
