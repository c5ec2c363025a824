from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from graphreader.ingestion.normalization.merging import (
    blocking_keys,
    is_same_name,
    is_same_word,
    may_be_synonyms,
)
from graphreader.ingestion.normalization.rules import normalize

WORDINGS = """
hard rock | hard-rock | hardrock | co-founder | cofounder | colour | color | grey | gray | café
cafe | Bâle | Basle | Bale | René | Rene | Jean-Paul Sartre | Jean Paul Sartre | J. R. R. Tolkien
J.R.R. Tolkien | Dr. Watson | Dr Watson | rock & roll | rock and roll | rock 'n' roll | film | movie
physician | doctor | the colour of money | color of money | 卡尔·马克思 | 卡尔马克思
theatre | theater
travelled | traveled | re-cover | recover | E-mail | email | Œuvre | oeuvre | Dvořák | Dvorak
"""
KEYS = sorted({normalize(one) for line in WORDINGS.splitlines() for one in line.split("|")} - {""})


def may_be_one(one: str, other: str) -> bool:
    """Whether the guard lets two keys through, as names or as common words."""
    return is_same_name(one, other) or is_same_word(one, other) or may_be_synonyms(one, other)


# Two wordings that may be one thing share a mark, so nobody is passed over who has a partner.
def test_partners_share_a_mark() -> None:
    partners = [pair for pair in combinations(KEYS, 2) if may_be_one(*pair)]

    assert len(partners) > 15
    assert [
        pair for pair in partners if blocking_keys(pair[0]).isdisjoint(blocking_keys(pair[1]))
    ] == []


# That holds for whatever is made of their words, signs and accents too.
@given(*[st.lists(st.sampled_from([*KEYS, "-", ".", "é", "'s", "&"]), min_size=1, max_size=3)] * 2)
def test_any_partners_share_a_mark(one: list[str], other: list[str]) -> None:
    for join in ("", " ", "-"):
        a, b = normalize(join.join(one)), normalize(" ".join(other))
        if may_be_one(a, b):
            assert not blocking_keys(a).isdisjoint(blocking_keys(b)), (a, b)


# Names and phrases that are spelled otherwise share none.
def test_strangers_share_none() -> None:
    assert blocking_keys("danko jones").isdisjoint(blocking_keys("john smith"))
    assert blocking_keys("hard rock band").isdisjoint(blocking_keys("hard rock trio"))
