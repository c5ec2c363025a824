"""The facts by which a search shows a long passage."""

from collections.abc import Sequence

import pytest

from graphreader.documents import AtomicFact, ChunkRef
from graphreader.store.snippets import best_facts, term_weights
from graphreader.text.words import terms_of

CHUNK = ChunkRef("c", 0, "Saga", "d", 0)
FACTS = [
    "Soames nodded.",
    "Soames Forsyte bought the Boningdale painting from a dealer in the summer of 1920.",
    "He paid 420 pounds for it.",
    "Soames walked home slowly with his daughter through the park in the rain.",
    "Soames Forsyte sighed.",
    "Irene left the house in Sloane Square.",
]


def shown(
    query: str,
    texts: Sequence[str] = FACTS,
    others: Sequence[str] = ("Soames smiled.", "Soames left Irene."),
    near: Sequence[int] = (),
) -> list[int]:
    """The numbers of the facts, best first, for a query that also found other passages."""
    facts = [AtomicFact(str(n), CHUNK, n, text) for n, text in enumerate(texts)]
    passages = [terms_of(" ".join(texts)), *map(terms_of, others)]
    weights = term_weights(terms_of(query), passages)
    return [one.index for one in best_facts(facts, weights, near, bool(near))]


# A name that all passages have decides nothing; the fact with the other words comes first. Facts
# that say nothing besides are left out, others of the name come last, fuller facts first.
def test_words_besides_the_name() -> None:
    assert shown("Which painting did Soames buy?") == [1, 3, 4]


# Where the words tell nothing apart, the fuller facts come first.
def test_name_alone() -> None:
    assert shown("Soames")[:2] == [1, 3]


# A best fact that is short or begins with a pronoun has the facts before and after it.
def test_neighbors_of_a_pronoun() -> None:
    assert shown("How many pounds did Soames pay?")[:3] == [2, 1, 3]


# The facts of the place that is nearest by vector come before others without the words.
def test_nearest_place() -> None:
    assert shown("What did Soames feel?", near=[5, 3])[:2] == [3, 5]
    assert 5 not in shown("What did Soames feel?")


# What is said twice is shown once, in the longer wording; another number or name is another fact.
@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["Ada paints.", "Ada paints ships in the old harbor."], [1]),
        (
            [
                "The clerk wrote a long letter about the great flood in the valley of the river.",
                "The clerk wrote the long letter about a great flood in the valley of the river.",
            ],
            [0],
        ),
        (
            [
                "The clerk of room 7 wrote a long letter about the great flood in the valley.",
                "The clerk of room 8 wrote a long letter about the great flood in the valley.",
            ],
            [0, 1],
        ),
        (
            [
                "The clerk Ada wrote a long letter about the great flood in the valley at night.",
                "The clerk Bob wrote a long letter about the great flood in the valley at night.",
            ],
            [0, 1],
        ),
    ],
)
def test_said_once(texts: list[str], expected: list[int]) -> None:
    assert sorted(shown("ships, letter, flood, Ada", texts, ())) == expected
