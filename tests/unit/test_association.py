from itertools import permutations

import pytest

from graphreader.ingestion.normalization.merging import (
    Element,
    Merge,
    association_merges,
    may_associate,
)
from graphreader.ingestion.normalization.rules import normalize


def element(name: str, facts: int = 40) -> Element:
    return Element(f"id of {name}", normalize(name), name, facts)


# Two that 40 facts name, and always both, are one; the one with more facts shows it.
def test_always_together() -> None:
    short, full = element("Bennet", 101), element("Elizabeth Bennet", 100)

    assert association_merges([(full, short, 100)]) == [
        Merge(full, short, "association", 100 / 101)
    ]


# Fewer than 40 facts, or one in fifty apart, leave both alone.
@pytest.mark.parametrize(
    ("facts", "others", "together"), [(39, 39, 39), (100, 98, 98), (4000, 40, 40), (100, 100, 98)]
)
def test_not_always(facts: int, others: int, together: int) -> None:
    assert not association_merges([(element("album", facts), element("studio", others), together)])


# Numbers, dates, opposites and two names that only share a part stay two, however often together.
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1914", "1918"), ("May 1431", "Joan"), ("3 km", "river"), ("two", "twin towns"),
        ("第三", "军"), ("Henry IV", "Henry"), ("Romeo", "Juliet"), ("John Smith", "Mary Smith"),
        ("Titanic", "ship"), ("husband", "wife"), ("import", "export"), ("employer", "employee"),
        ("legal", "illegal"), ("贾宝玉", "林黛玉"),
    ],
)  # fmt: skip
def test_never(one: str, other: str) -> None:
    pair = element(one), element(other)

    assert not may_associate(*pair)
    assert not may_associate(*reversed(pair))
    assert not association_merges([(*pair, 40)])


# Common words, and a name that holds another, may be one.
@pytest.mark.parametrize(
    ("one", "other"),
    [("rock", "band"), ("Elizabeth", "Elizabeth Bennet"), ("album", "studio album"),
     ("宝玉", "贾宝玉")],
)  # fmt: skip
def test_may_join(one: str, other: str) -> None:
    assert may_associate(element(one), element(other))
    assert may_associate(element(other), element(one))


# In a group every two always occur together; the result is the same in any order.
def test_groups() -> None:
    rock, band, tour = element("rock"), element("band"), element("tour")
    pairs = [(rock, band, 40), (band, tour, 40)]
    results = {
        tuple(association_merges(order)) for order in permutations([*pairs, (tour, rock, 40)])
    }

    assert len(results) == 1
    assert {(m.element.key, m.into.key) for m in results.pop()} == {
        ("rock", "band"),
        ("tour", "band"),
    }
    assert len(association_merges(pairs)) == 1
    assert len({tuple(association_merges(order)) for order in permutations(pairs)}) == 1
