"""Passages of a search with and without the names of its query, and distinctive names."""

import pytest

from graphreader.agent.adaptive.actions import is_distinctive, totals, with_names
from graphreader.documents import Chunk, ChunkFacts
from graphreader.store.search import Mentions

TEXTS = ["Anna Gray saw Ben.", "Ben sang.", "Rain.", "Wind.", "Anna Gray sang."]
FOUND = [
    ChunkFacts(Chunk(str(n), n, "Title", "d", 0, len(text), text, 5))
    for n, text in enumerate(TEXTS)
]


# Passages with all names come alone; where there are none, those with any come first, and few
# others; a query without names keeps what it found.
@pytest.mark.parametrize(
    ("query", "kept", "missing"),
    [
        ("rain and wind", "01234", []),
        ("Anna Gray, singer", "04", []),
        ("Ben and Anna Gray", "0", []),
        ("Ben and Omar Gray", "0123", ["Omar (of Omar Gray)"]),
        ("Omar Gray", "01", ["Omar (of Omar Gray)"]),
        ("Anna Ben Rain", "01", ["all of Anna Ben Rain"]),
        ("Omar Khan", "01", ["Omar Khan"]),
    ],
)
def test_names(query: str, kept: str, missing: list[str]) -> None:
    passages, names = with_names(FOUND, query)

    assert ("".join(one.chunk.id for one in passages), names) == (kept, missing)


# The number of passages with a name is said where more have it than are shown.
def test_totals() -> None:
    mentions = [Mentions("Anna Gray", 14), Mentions("Ben", 2), Mentions("rain", 600, at_least=True)]

    assert totals(mentions, FOUND) == [
        "14 passages have Anna Gray, 2 are shown.",
        "At least 600 passages have rain, 1 is shown.",
    ]


# Where all shown passages have both names, only the number of passages with both is said.
def test_totals_together() -> None:
    mentions = [Mentions("Anna Gray", 14), Mentions("Ben", 9), Mentions("Anna Gray and Ben", 7)]

    assert totals(mentions, FOUND[:1]) == ["7 passages have Anna Gray and Ben, 1 is shown."]
    assert len(totals(mentions, FOUND)) == 3


# A number and common words identify nothing.
@pytest.mark.parametrize(
    ("name", "distinctive"),
    [
        ("man", False),
        ("written", False),
        ("Best Actor 1993", False),
        ("American actor", True),
        ("曹操", True),
    ],
)
def test_distinctive_name(name: str, distinctive: bool) -> None:
    assert is_distinctive(name) == distinctive
