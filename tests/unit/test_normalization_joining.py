"""Joins of names within a document: by rules, over a set of documents, and by a model."""

import re
from collections.abc import Iterator
from pathlib import Path

from graphreader.ingestion.normalization.joining import (
    MOST_NAMES,
    NamePair,
    NamesDecision,
    NamesTask,
    joins_by_model,
    joins_by_rules,
    names_to_ask,
    with_decided,
)
from graphreader.ingestion.normalization.rules import normalize
from graphreader.store.joins import BY_PERSON, DocumentName, Join

Pairs = set[tuple[str, str]]


def documents() -> Iterator[tuple[list[DocumentName], str, Pairs]]:
    """The documents of names.txt: names, text, and the right joins by keys."""
    text = Path(__file__).with_name("names.txt").read_text(encoding="utf-8")
    names, of_text, right = list[DocumentName](), "", Pairs()
    for line in [one for one in text.split("\n") if one and not one.startswith("#")]:
        if line.startswith("text: "):
            of_text = line.removeprefix("text: ")
        elif " = " in line:
            short, full = map(normalize, line.split(" = "))
            right |= {(short, full)} - {(full, short)} if short != full else set()
        else:
            if names:
                yield names, of_text, right
            names, of_text, right = names_of(line), "", set()
    yield names, of_text, right


def names_of(line: str) -> list[DocumentName]:
    """Names with their numbers of facts, of which the key is the id."""
    names: dict[str, DocumentName] = {}
    for one in re.split(r";(?! or,) ?", line):
        surface, _, facts = one.strip().rpartition(", ")
        surface, number = (surface, int(facts)) if facts.isdigit() else (one.strip(), 1)
        key = normalize(surface)
        names.setdefault(key, DocumentName(key, key, {})).surfaces[surface] = number
    return list(names.values())


# Of the joins that the rules make at least 98 % are right, and they make three of four right ones.
def test_joins_by_rules() -> None:
    found: set[tuple[int, str, str]] = set()
    expected: set[tuple[int, str, str]] = set()
    for number, (names, text, right) in enumerate(documents()):
        found |= {(number, one.id, one.into) for one in joins_by_rules(names, text)}
        expected |= {(number, *pair) for pair in right}

    assert len(expected) > 180
    assert len(found & expected) / len(found) >= 0.98, found - expected
    assert len(found & expected) / len(expected) >= 0.75


# A word in small letters has a node with the name that is written like it: neither is joined.
def test_names_like_words_are_left_alone() -> None:
    names = names_of("Will Turner, 9; Will, 3; will, 5; Rose Tyler, 2; Rose, 4")

    assert [one.id for one in joins_by_rules(names, "")] == ["rose"]


# A model is asked about the frequent proper names that the rules leave, and gives numbers of these;
# what the rules forbid is not joined, whatever it answers.
def test_joins_by_model() -> None:
    line = (
        "Joe Biden, 9; Joseph Biden, 4; Biden, 6; Barack Obama, 8; Obama, 5; Ann Lee, 3; 1914; war"
    )
    names = names_of(f"{line}; Mrs. Lee, 2; Mr. Lee")
    rules = joins_by_rules(names, "")
    asked = names_to_ask(names, rules)
    number = {one.key: place for place, one in enumerate(asked, 1)}

    def pairs(*pairs: tuple[str, str]) -> list[Join]:
        chosen = [NamePair(name=number[one], means=number[other]) for one, other in pairs]
        return joins_by_model(asked, NamesDecision(pairs=chosen), "a model")

    assert rules == [Join("obama", "barack obama", "rules")]
    assert list(number)[:3] == ["joe biden", "barack obama", "biden"]
    assert {"1914", "war", "obama"}.isdisjoint(number)
    assert pairs(("biden", "joe biden")) == []  # two persons have the name
    assert pairs(("ann lee", "barack obama"), ("mrs. lee", "mr. lee")) == []
    assert (
        len(
            names_to_ask(
                names_of(
                    "; ".join(f"Xa{chr(97 + n // 26)}{chr(97 + n % 26)}o" for n in range(200))
                ),
                [],
            )
        )
        == MOST_NAMES
    )


# Decided joins are added to those by rules, and chains are followed; a name that a person took out
# means itself, and ends the chains that lead to it.
def test_with_decided() -> None:
    rules, model = [Join("a", "b"), Join("x", "y")], [Join("b", "c", "a model")]
    person = [Join("b", "b", BY_PERSON)]

    assert with_decided(rules, model) == [Join("a", "c"), Join("b", "c", "a model"), Join("x", "y")]
    assert with_decided(rules, [*model, *person]) == [Join("a", "b"), *person, Join("x", "y")]


# Numbers that are not in the list are sent back; without a model nothing is joined.
def test_names_task() -> None:
    task = NamesTask("Bridges", (("Ada Byron", 4), ("Ada", 2)))

    assert task.values()["names"] == "[1] Ada Byron (4)\n[2] Ada (2)"
    assert task.problem(NamesDecision(pairs=[NamePair(name=2, means=1)])) is None
    assert "[3]" in (task.problem(NamesDecision(pairs=[NamePair(name=3, means=1)])) or "")
    assert task.by_rule().pairs == []
