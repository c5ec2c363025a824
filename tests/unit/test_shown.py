"""How much of the documents was shown: overlaps once, what was derived only where it adds."""

import pytest

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
