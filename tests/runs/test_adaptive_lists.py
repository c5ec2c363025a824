"""Mode `adaptive`: actions that count, list and are limited to a part of the texts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graphreader.agent.adaptive import actions, counts
from graphreader.agent.adaptive.tasks import Action, Turn
from graphreader.settings import Settings
from tests.runs import world
from tests.runs.test_adaptive import Run, answer, finding

LETTERS = {
    "letters": [
        "# 3 May 2023\n\nAda Quist met Bo Lind in Oslo. The veterans sang.",
        "# 20 June 2023\n\nAda Quist left Oslo. A veteran wept.",
        "# 1 July 2023\n\nBo Lind bought a Lexus RX 350 in Oslo.",
    ],
    "minutes": [
        "Ada: We met in Oslo.\n\nBo: It rained in Oslo.\n\nAda: The veteran paid.\n\n"
        "Bo: Did he?\n\nAda: He did.\n\nBo: Well."
    ],
}
FACTS = {
    "Ada Quist met Bo Lind in Oslo.": ["Ada Quist", "Bo Lind", "Oslo"],
    "The veterans sang.": ["veterans"],
    "Ada Quist left Oslo.": ["Ada Quist", "Oslo"],
    "A veteran wept.": ["veteran"],
    "Bo Lind bought a Lexus RX 350 in Oslo.": ["Bo Lind", "Lexus RX 350", "Oslo"],
    "It rained in Oslo.": ["Oslo"],
    "The veteran paid.": ["veteran"],
}


@pytest.fixture(scope="module")
def letters(neo4j: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, str]]:
    corpus = "test-adaptive-lists"
    folder: Path = tmp_path_factory.mktemp("letters")
    texts = world.write_files(folder, LETTERS)
    with world.reader(neo4j, corpus, world.scripted(FACTS, {})) as reader:
        reader.ingest(texts)
        yield neo4j, corpus
        reader.delete(everything=True)


def acted(letters: tuple[Any, str], *actions: tuple[str, str, str]) -> list[dict[str, Any]]:
    """The results of some actions of one turn, each a function, an argument and a limit.

    The turn before it lists the documents, which numbers them. Findings keep the turns going.
    """

    def turn(*chosen: Any) -> Turn:
        named = [Action(function=name, argument=what, within=part) for name, what, part in chosen]
        return Turn(findings=[finding("1.0", text=str(chosen))], actions=named)

    run = Run(*letters, [turn(("list", "documents", "")), turn(*actions), answer()])
    results: Any = run.tasks[2].results
    return list(results)


def facts_of(result: dict[str, Any]) -> list[str]:
    lines = (line for one in result["passages"] for line in one["text"].splitlines())
    return [line for line in lines if line.startswith("- ")]


# A count gives the facts with the name and the words in the texts, in sum and by document, and says
# which is which; a name that does not occur is counted with 0.
def test_count(letters: tuple[Any, str]) -> None:
    oslo, veteran, zebra, both, part = acted(
        letters,
        ("count", "Oslo", ""),
        ("count", "veteran", ""),
        ("count", "zebra", ""),
        ("count", "Ada Quist and Bo Lind", ""),
        ("count", "Oslo", "2023-06..2023-07"),
    )

    assert oslo["text"].splitlines() == [
        "4 facts with the name Oslo, in 4 passages of 2 documents. In the texts “Oslo” occurs 5 "
        "times, in 4 passages of 2 documents.",
        "[1] letters: 3 facts in 3 passages, 3 times in 3 passages (.0 .2 .4)",
        "[2] minutes: 1 fact in 1 passage, 2 times in 1 passage (.0)",
    ]
    assert "occurs 3 times, in 3 passages of 2 documents: veteran 2, veterans 1." in veteran["text"]
    assert veteran["text"].startswith("3 facts with the name veteran (also veterans), in 3 ")
    assert zebra["text"] == (
        "No key element is named “zebra”. The texts do not have the words “zebra”."
    )
    assert both["text"] == (
        "1 fact with the names Ada Quist and Bo Lind, in 1 passage of 1 document.\n"
        "[1] letters: 1 fact in 1 passage"
    )
    assert part["text"].startswith("2 facts with the name Oslo, in 2 passages of 1 document.")
    assert part["action"] == "count(Oslo, within 2023-06..2023-07)"


# Lists are exact, in their order, and paged to the end; what is no list says which there are.
def test_list(letters: tuple[Any, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "VALUES_A_PAGE", 2)
    names, more, having, speakers, times = acted(
        letters,
        ("list", "names", ""),
        ("list", "names, page 2", ""),
        ("list", "names veteran", ""),
        ("list", "speakers", ""),
        ("list", "times", ""),
    )

    assert names["text"] == (
        "5 names, by their facts, 1 to 2 of 5: Oslo 4; veteran 3.\nMore by list(names, page 2)."
    )
    assert "3 to 4 of 5: Ada Quist 2; Bo Lind 2." in more["text"]
    assert having["text"] == "1 name with “veteran”, by their facts: veteran 3."
    assert speakers["text"] == "2 speakers in 2 of 7 facts, by their facts: Ada 1; Bo 1."
    assert times["text"].startswith(
        "3 times in 5 of 7 facts, in order, with their facts, 1 to 2 of 3: 2023-05-03 2; 2023-06-20"
    )
    documents, facts, dated, wrong, nowhere = acted(
        letters,
        ("list", "documents", ""),
        ("list", "facts Oslo", "1"),
        ("list", "facts", "2023-06..2023-12"),
        ("list", "cities", ""),
        ("list", "facts", "1900..1950"),
    )

    assert documents["text"].splitlines()[0] == "2 documents:"
    assert documents["text"].splitlines()[1].startswith("[1] letters: 5 passages, ")
    assert len(facts_of(facts)) == 3
    assert (
        facts["text"]
        == "3 facts with “Oslo” in 3 passages of 1 document, in the order of the texts."
    )
    assert [line[2:12] for line in facts_of(dated)] == ["2023-06-20", "2023-06-20", "2023-07-01"]
    assert "in order of time" in dated["text"]
    assert wrong["text"].startswith("0 names with “cities”. list takes names, facts, documents,")
    assert nowhere["text"].endswith("5 of 7 facts have a time, from 2023-05-03 to 2023-07-01.")


# The facts of a name are paged; a name is found by its figure, or by the names it is made up of.
def test_node(letters: tuple[Any, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actions, "FACTS_A_PAGE", 3)
    first, second, figure, both, city = acted(
        letters,
        ("read_node", "Oslo", ""),
        ("read_node", "Oslo, page 2", ""),
        ("read_node", "RX 350", ""),
        ("read_node", "Ada Quist, Bo Lind", ""),
        ("read_node", "Oslo, Norway", "2023-06"),
    )

    assert (len(facts_of(first)), len(facts_of(second))) == (3, 1)
    assert first["text"].startswith(
        "Oslo: 4 facts in 4 passages, 1 to 3 of 4. More by read_node(Oslo, page 2)."
    )
    assert "It rained in Oslo." in facts_of(second)[0]
    assert facts_of(figure)[0].endswith("Bo Lind bought a Lexus RX 350 in Oslo.")
    assert [line[14:] for line in facts_of(both)] == ["Ada Quist met Bo Lind in Oslo."]
    assert [line[14:] for line in facts_of(city)] == ["Ada Quist left Oslo."]


# A search in a part of the texts has only passages of it, of days in the order of time; where there
# is nothing, it says what there is.
def test_search_within(letters: tuple[Any, str]) -> None:
    whole, part, days, none, no_number = acted(
        letters,
        ("search", "Oslo", ""),
        ("search", "Oslo", "1.1-3"),
        ("search", "Oslo", "2023-05..2023-06"),
        ("search", "Oslo", "2024"),
        ("search", "Oslo", "9"),
    )

    def numbers(result: dict[str, Any]) -> list[str]:
        return [one["number"] for one in result["passages"]]

    assert sorted(numbers(whole)) == ["1.0", "1.2", "1.4", "2.0"]
    assert part["text"].startswith("Shown before: [1.2]")
    assert "[1.0]" not in part["text"]
    assert days["text"].index("[1.0]") < days["text"].index("[1.2]")
    assert "In order of time." in days["text"]
    assert none["text"].endswith("5 of 7 facts have a time, from 2023-05-03 to 2023-07-01.")
    assert no_number["text"].startswith("No document has the number 9: there are 1 to 2;")
