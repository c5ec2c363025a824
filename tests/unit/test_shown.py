"""How much of the documents was shown: overlaps once, what was derived only where it adds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphreader.reading import Coverage
from graphreader.tokens import count

TEXT = "Ada built a bridge. Bede painted it red. Cyril sold it to Dora. Edgar was away."
FIRST, SECOND = TEXT[:20], TEXT[20:41]
RED = "Bede painted it red."
BROKEN = "Bede painted\n  it red."
Passage = tuple[str, int, str]


def coverage(passages: list[Passage], derived: list[str]) -> Coverage:
    shown = Coverage()
    for text in derived:
        shown.derived(text)
    for passage in passages:
        shown.passage(*passage)
    return shown


# What passages of one document share counts once; equal words of two documents were read twice. A
# derived text counts once, unless it stands word for word in what was shown, white space aside.
@pytest.mark.parametrize(
    ("passages", "derived", "tokens"),
    [
        ([], [], 0),
        ([("d", 0, FIRST)] * 2, [], count(FIRST)),
        ([("d", 20, TEXT[20:]), ("d", 0, TEXT[:41])], [], count(TEXT)),
        ([("d", 20, SECOND), ("d", 0, TEXT)], [], count(TEXT)),
        ([("d", 0, TEXT), ("d", 0, FIRST)], [], count(TEXT)),
        ([("d", 0, FIRST), ("e", 0, FIRST)], [], 2 * count(FIRST)),
        ([], ["Ada built it.", "Ada  built\nit."], count("Ada built it.")),
        ([("d", 20, SECOND)], [RED], count(SECOND)),
        ([("d", 0, BROKEN)], [RED], count(BROKEN)),
        ([("d", 0, TEXT[:30]), ("d", 30, TEXT[30:])], [RED], count(TEXT)),
        ([("d", 0, FIRST)], [RED], count(FIRST) + count(RED)),
    ],
)
def test_tokens(passages: list[Passage], derived: list[str], tokens: int) -> None:
    assert coverage(passages, derived).tokens == tokens


# The documents stand in the order in which they were first shown; derived texts show none.
def test_order_of_documents() -> None:
    shown = coverage([("e", 20, SECOND), ("d", 0, FIRST), ("e", 0, FIRST)], [RED])

    assert shown.documents == ("e", "d")


# However passages overlap, and in any order: not more than all of them, not less than the largest,
# never more than the text. (A cut in a word may cost a token at each end.)
@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, len(TEXT) - 1), st.integers(1, len(TEXT))), min_size=1),
    st.randoms(use_true_random=False),
)
def test_bounds(places: list[tuple[int, int]], random: object) -> None:
    slices = [("d", start, TEXT[start : start + length]) for start, length in places]
    mixed = list(slices)
    random.shuffle(mixed)  # type: ignore[attr-defined]  # a random.Random of hypothesis
    tokens = coverage(slices, []).tokens
    sizes = [count(text) for *_, text in slices]

    assert max(sizes) - 2 <= tokens <= min(sum(sizes), count(TEXT)) + 2 * len(places)
    assert coverage(mixed, []).tokens == tokens
