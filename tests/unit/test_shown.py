"""How much of the documents was shown: overlaps once, what was derived only where it adds."""

from hypothesis import given, settings
from hypothesis import strategies as st

from graphreader.reading import Coverage
from graphreader.tokens import count

TEXT = "Ada built a bridge. Bede painted it red. Cyril sold it to Dora. Edgar was away."
FIRST, SECOND, THIRD = TEXT[:20], TEXT[20:41], TEXT[41:]

spans = st.tuples(st.integers(0, len(TEXT) - 1), st.integers(1, len(TEXT)))
several = st.lists(spans, min_size=1, max_size=6)


def shown(*passages: tuple[str, int, str], derived: tuple[str, ...] = ()) -> Coverage:
    made = Coverage()
    for passage in passages:
        made.passage(*passage)
    for text in derived:
        made.derived(text)
    return made


# Nothing shown is nothing read.
def test_nothing() -> None:
    assert shown().tokens == 0
    assert shown().documents == ()


# A passage that is shown twice counts once.
def test_the_same_passage_twice() -> None:
    assert shown(("d", 0, FIRST), ("d", 0, FIRST)).tokens == count(FIRST)


# What two passages share counts once, whichever of them came first.
def test_overlapping_passages() -> None:
    one, other = ("d", 0, TEXT[:41]), ("d", 20, TEXT[20:])

    assert shown(one, other).tokens == shown(other, one).tokens == count(TEXT)


# A passage within another one adds nothing, and nothing is lost by it.
def test_a_passage_within_another() -> None:
    whole, within = ("d", 0, TEXT), ("d", 20, SECOND)

    assert shown(whole, within).tokens == shown(within, whole).tokens == count(TEXT)


# Of two passages that begin at the same place the longer one counts.
def test_the_same_beginning() -> None:
    short, long = ("d", 0, FIRST), ("d", 0, TEXT)

    assert shown(short, long).tokens == shown(long, short).tokens == count(TEXT)


# Places are those of one document: the same words in two documents were read twice.
def test_two_documents() -> None:
    assert shown(("d", 0, FIRST), ("e", 0, FIRST)).tokens == 2 * count(FIRST)


# A derived text counts once, white space aside, and no document is read by it.
def test_derived() -> None:
    made = shown(derived=("Ada built it.", "Ada  built\nit."))

    assert made.tokens == count("Ada built it.")
    assert made.documents == ()


# A derived text that stands word for word in a passage adds nothing, before it or after it.
def test_derived_and_verbatim() -> None:
    before = Coverage()
    before.derived("Bede painted it red.")
    before.passage("d", 20, SECOND)
    after = shown(("d", 20, SECOND), derived=("Bede painted it red.",))

    assert before.tokens == after.tokens == count(SECOND)


# So it is where the text has line breaks in it, or was shown in two passages that meet in it.
def test_derived_and_verbatim_across() -> None:
    broken = "Bede painted\n  it red."
    halves = (("d", 0, TEXT[:30]), ("d", 30, TEXT[30:]))

    assert shown(("d", 0, broken), derived=("Bede painted it red.",)).tokens == count(broken)
    assert shown(*halves, derived=("Bede painted it red.",)).tokens == count(TEXT)


# Words on both sides of a gap are no text of the document: such a derived text counts.
def test_derived_from_another_document() -> None:
    made = shown(("d", 0, FIRST), derived=("Bede painted it red.",))

    assert made.tokens == count(FIRST) + count("Bede painted it red.")


# The documents stand in the order in which they were first shown, each once.
def test_order_of_documents() -> None:
    made = shown(("e", 20, SECOND), ("d", 0, FIRST), ("e", 0, FIRST), ("c", 41, THIRD))

    assert made.documents == ("e", "d", "c")


# However passages overlap: not more than all of them, not less than the largest, never more
# than the text. (A cut in a word may cost a token at each end.)
@settings(max_examples=150, deadline=None)
@given(several)
def test_bounds(places: list[tuple[int, int]]) -> None:
    texts = [TEXT[start : start + length] for start, length in places]
    slices = [("d", place[0], text) for place, text in zip(places, texts, strict=True)]
    tokens = shown(*slices).tokens
    sizes = [count(text) for text in texts]
    cuts = 2 * len(places)

    assert max(sizes) - 2 <= tokens <= sum(sizes) + cuts
    assert tokens <= count(TEXT) + cuts


# The order in which passages come makes no difference.
@settings(max_examples=100, deadline=None)
@given(several, st.randoms(use_true_random=False))
def test_any_order(places: list[tuple[int, int]], random: object) -> None:
    slices = [("d", start, TEXT[start : start + length]) for start, length in places]
    mixed = list(slices)
    random.shuffle(mixed)  # type: ignore[attr-defined]  # a random.Random of hypothesis

    assert shown(*mixed).tokens == shown(*slices).tokens
