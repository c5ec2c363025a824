"""How sure a mean is, and whether one reader is better than another on the same questions.

Questions are drawn as if they were independent; several questions about one text are not quite.
All is seeded: the same values give the same interval.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

LEVEL = 0.95
RESAMPLES = 2_000
FLIPS = 10_000
_TRIED_ALL = 12  # differences of which all 4,096 signs are tried
_AT_ONCE = 1_000_000
"""Numbers drawn at a time: of many questions all of them would take gigabytes."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its confidence interval, and of how many values."""

    mean: float
    low: float
    high: float
    number: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the first reader has more than the second, a question at a time.

    `p` is how often a difference of means as large as this one, in either direction, would come up
    if the two readers were alike (sign-flip test).
    """

    difference: Interval
    p: float
    wins: int
    ties: int
    losses: int


def mean_interval(
    values: Iterable[float | None], *, seed: int = 0, resamples: int = RESAMPLES
) -> Interval | None:
    """The mean and its 95 % interval by the percentile bootstrap; None of no values.

    None among the values is left out.
    """
    known = np.array([value for value in values if value is not None], dtype=float)
    if not len(known):
        return None
    chance = np.random.default_rng(seed)
    means = [
        known[chance.integers(len(known), size=(rows, len(known)))].mean(axis=1)
        for rows in _blocks(resamples, len(known))
    ]
    edge = (1 - LEVEL) / 2
    low, high = np.quantile(np.concatenate(means), [edge, 1 - edge])
    return Interval(float(known.mean()), float(low), float(high), len(known))


def compare(
    first: Mapping[str, float | None], second: Mapping[str, float | None], *, seed: int = 0
) -> Comparison | None:
    """The scores of two readers, by the questions' ids; None where they share no scored question.

    Questions that one of them lacks are left out.
    """
    pairs = ((score, second.get(key)) for key, score in first.items())
    differences = [one - other for one, other in pairs if one is not None and other is not None]
    interval = mean_interval(differences, seed=seed)
    if interval is None:
        return None
    return Comparison(
        difference=interval,
        p=_sign_flip(np.array(differences), seed),
        wins=sum(one > 0 for one in differences),
        ties=sum(one == 0 for one in differences),
        losses=sum(one < 0 for one in differences),
    )


def _sign_flip(differences: "np.ndarray[Any, np.dtype[np.float64]]", seed: int) -> float:
    """The share of sign assignments whose mean is at least as far from 0; all of them if few."""
    unlike = differences[differences != 0]
    seen = abs(unlike.sum()) - 1e-9
    if len(unlike) <= _TRIED_ALL:
        signs = np.array(list(product((-1, 1), repeat=len(unlike)))).reshape(
            2 ** len(unlike), len(unlike)
        )
        return float(np.mean(abs(signs @ unlike) >= seen))
    chance = np.random.default_rng(seed)
    as_far = sum(
        int(np.sum(abs(chance.choice((-1, 1), size=(rows, len(unlike))) @ unlike) >= seen))
        for rows in _blocks(FLIPS, len(unlike))
    )
    return (1 + as_far) / (1 + FLIPS)


def _blocks(rows: int, width: int) -> Iterator[int]:
    """So many rows in blocks that are small enough. Chance goes on from one to the next."""
    block = max(1, _AT_ONCE // width)
    for start in range(0, rows, block):
        yield min(block, rows - start)
