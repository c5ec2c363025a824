"""Quotes in a text: other typography is found, other words, numbers and names are not."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from graphreader.text.matching import fold_text, locate

TEXT = (
    "The charter speaks of navi-\ngation on the Scheldt. An eﬀective toll was\u00adlevied at the "
    "low\u200blands. Zoe\u0308 Brontë lived in a half‑timbered house – “cheap”, she wrote. The "
    "balance fell to −17.5 crowns, then to 1,250. THE TENANT SHALL PAY IN ADVANCE. The œuvre "
    "sold for ¾ of its price: 10³ copies. A **bold** claim, see [the deed](https://deeds.example)."
    "\n王\n伟卖掉了磨坊。"
)


# The quote in the typography that a model or a person writes, and its span.
@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("speaks of navigation on the Scheldt", "speaks of navi-\ngation on the Scheldt"),
        ("An effective toll", "An eﬀective toll"),
        ("toll waslevied at the lowlands", "toll was\u00adlevied at the low\u200blands"),
        ("Zoë Bronte\u0308 lived", "Zoe\u0308 Brontë lived"),
        ("a half-timbered house - 'cheap', she", "a half‑timbered house – “cheap”, she"),
        ("fell to -17.5 crowns", "fell to −17.5 crowns"),
        ("The tenant shall pay in advance.", "THE TENANT SHALL PAY IN ADVANCE."),
        ("the oeuvre sold for 3/4 of its price", "The œuvre sold for ¾ of its price"),
        ("price: 10^3 copies", "price: 10³ copies"),
        ("A bold claim, see the deed", "A **bold** claim, see [the deed"),
        ("王伟卖掉了磨坊", "王\n伟卖掉了磨坊"),
    ],
)
def test_typography(quote: str, found: str) -> None:
    span = locate(quote, TEXT)

    assert span is not None
    assert TEXT[slice(*span)] == found


# Another number, a part of a word, and words that are not there.
@pytest.mark.parametrize(
    "quote",
    [
        *("17.5 crowns", "fell to 17.5", "fell to −17", "7.5 crowns", "then to 1,25", "250. THE"),
        *("price: 103 copies", "price: 10 copies", "effective toll wa", "ective toll"),
        *("The tenant shall not pay", "王芳卖掉了磨坊", "Zoë Brontës", "navi gation on"),
    ],
)
def test_other_words(quote: str) -> None:
    assert locate(quote, TEXT) is None


WORDS = ["the", "mill", "lock", "Ada", "Bergen", "Holt", "sold", "kept", "built"]
WORDS += ["12", "1931", "4.5", "-3", "not", "never", "in", "near", "by"]


# Of a text of these words every run is found, and none after a change of a number or a name, or
# with a negation more.
@given(st.lists(st.sampled_from(WORDS), min_size=4, max_size=14), st.data())
def test_changes(words: list[str], data: st.DataObject) -> None:
    text = " ".join(words)
    start = data.draw(st.integers(0, len(words) - 3))
    end = data.draw(st.integers(start + 3, len(words)))
    run = words[start:end]
    at = data.draw(st.integers(0, len(run) - 1))
    other = data.draw(st.sampled_from(["13", "1932", "4.6", "3", "Eva", "Malmo", "Lind"]))
    changed = [*run[:at], other, *run[at + 1 :]]
    negated = [*run[:at], "hardly", *run[at:]]

    span = locate(" ".join(run).upper(), text)
    assert span is not None
    assert text[slice(*span)] == " ".join(run)
    assert locate(" ".join(negated), text) is None
    assume(run[at] != other)
    assert locate(" ".join(changed), text) is None


# Each character of the folded text has its place, in order.
@given(st.text(alphabet="aZ éﬁ-\n*_`[]()\u0308½³陈。— 1.", max_size=60))
def test_places(text: str) -> None:
    folded = fold_text(text)

    assert len(folded.text) == len(folded.starts) == len(folded.ends)
    assert list(folded.starts) == sorted(folded.starts)
    assert all(0 <= a < b <= len(text) for a, b in zip(folded.starts, folded.ends, strict=True))
    assert not re.search(r"\s\s", folded.text)
