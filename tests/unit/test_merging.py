from itertools import permutations
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from graphreader.ingestion.normalization.merging import (
    Element,
    Merge,
    combine,
    group,
    rank_by_facts,
)


def element(key: str, facts: int = 1) -> Element:
    return Element(key, key, key, facts)


A, B, C, D = (element(key) for key in "abcd")

some = st.sampled_from([element(key, ord(key) % 3) for key in "abcdef"])
edges = st.lists(
    st.tuples(some, some, st.sampled_from([0.95, 0.97, 1.0])).filter(
        lambda edge: edge[0] != edge[1]
    ),
    max_size=12,
)


# Two elements that are alike become one: the one with more facts shows both.
def test_pair() -> None:
    often = element("b", 5)

    assert group([(A, often, 0.96)], lambda a, b: True, rank_by_facts, "semantic") == [
        Merge(A, often, "semantic", 0.96)
    ]


# With equally many facts the shorter key shows both, then the smaller.
def test_head() -> None:
    long, short, other = element("bbb"), element("bb"), element("aa")
    ranked = sorted([long, short, other], key=rank_by_facts)

    assert ranked == [other, short, long]


# A chain of small steps does not join its ends: every two of a group must be allowed.
def test_chain() -> None:
    merges = group(
        [(A, B, 0.99), (B, C, 0.98)], lambda a, b: {a, b} != {A, C}, rank_by_facts, "semantic"
    )

    assert merges == [Merge(B, A, "semantic", 0.99)]


# A group is the same in whatever order its pairs come, and either way around.
@settings(deadline=None, max_examples=80)
@given(edges, st.randoms(use_true_random=False))
def test_order(pairs: list[tuple[Element, Element, float]], chance: Random) -> None:
    def allowed(a: Element, b: Element) -> bool:
        return {a.key, b.key} != {"a", "b"}

    shuffled = [(b, a, score) if chance.random() < 0.5 else (a, b, score) for a, b, score in pairs]
    chance.shuffle(shuffled)
    merges = group(pairs, allowed, rank_by_facts, "semantic")

    assert group(shuffled, allowed, rank_by_facts, "semantic") == merges
    assert len({merge.element.id for merge in merges}) == len(merges)
    assert not {merge.element.id for merge in merges} & {merge.into.id for merge in merges}
    groups = [
        [into, *(m.element for m in merges if m.into == into)] for into in {m.into for m in merges}
    ]
    assert all(allowed(a, b) for group in groups for a in group for b in group)


# A merge of what was merged goes into the last of the chain.
def test_combined_chain() -> None:
    merges = [Merge(A, B, "semantic", 0.97), Merge(B, C, "association", 0.995)]

    assert combine(merges) == [
        Merge(A, C, "semantic", 0.97),
        Merge(B, C, "association", 0.995),
    ]


# What two stages merge into different elements brings those together.
def test_combined_fork() -> None:
    merges = [Merge(A, B, "semantic", 0.97), Merge(A, C, "association", 0.995)]

    assert {(m.element.key, m.into.key) for m in combine(merges)} == {("a", "c"), ("b", "c")}


# Merges that lead in a circle leave one element as it is.
def test_combined_circle() -> None:
    merges = combine([Merge(A, B, "semantic", 1.0), Merge(B, A, "association", 1.0)])

    assert merges == [Merge(A, B, "semantic", 1.0)]


# What is combine does not depend on the order, and combining it again changes nothing.
def test_combined_order() -> None:
    merges = [
        Merge(A, B, "semantic", 0.97),
        Merge(D, C, "semantic", 0.97),
        Merge(B, C, "association", 0.995),
        Merge(C, A, "association", 1.0),
    ]
    results = {tuple(combine(order)) for order in permutations(merges)}

    assert len(results) == 1
    (result,) = results
    assert tuple(combine(result)) == result
    assert len({merge.into for merge in result}) == 1
