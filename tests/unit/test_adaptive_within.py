"""The limit of an action to documents, parts of them, or days; pages of long lists."""

import pytest

from graphreader.agent.adaptive.actions import action_text
from graphreader.agent.adaptive.outcomes import ListPage, number_of
from graphreader.agent.adaptive.tasks import Action
from graphreader.agent.adaptive.within import part_of
from graphreader.store.records import CorpusPart

END = 10**9


@pytest.mark.parametrize(
    ("within", "part"),
    [
        ("", CorpusPart()),
        ("2", CorpusPart(("b",))),
        ("[2]", CorpusPart(("b",))),
        ("document 1, 3", CorpusPart(("a", "c"))),
        ("2-3", CorpusPart(("b", "c"))),
        ("2.20-40", CorpusPart(("b",), (("b", 20, 40),))),
        ("2.20-2.40; 3", CorpusPart(("b", "c"), (("b", 20, 40), ("c", 0, END)))),
        ("3.12-", CorpusPart(("c",), (("c", 12, END),))),
        ("3.7", CorpusPart(("c",), (("c", 7, 7),))),
        ("2023-06..2023-08", CorpusPart(since="2023-06", until="2023-08")),
        ("2023-08..2023-06", CorpusPart(since="2023-06", until="2023-08")),
        ("2023-06-01 to 2023-06-07", CorpusPart(since="2023-06-01", until="2023-06-07")),
        ("2023", CorpusPart(since="2023", until="2023")),
        ("2023-6-1", CorpusPart(since="2023-06-01", until="2023-06-01")),
        ("2023-06..", CorpusPart(since="2023-06")),
        ("..1914", CorpusPart(until="1914")),
        ("3, 2023-06", CorpusPart(("c",), (), "2023-06", "2023-06")),
    ],
)
def test_part(within: str, part: CorpusPart) -> None:
    assert part_of(within, ["a", "b", "c"]) == part


# What is no limit is answered with what would fit.
@pytest.mark.parametrize(
    ("within", "words"),
    [
        ("4", "1 to 3"),
        ("0", "1 to 3"),
        ("3-9", "1 to 3"),
        ("last summer", "3.20-40, or days"),
        ("..", "3.20-40, or days"),
    ],
)
def test_no_part(within: str, words: str) -> None:
    found = part_of(within, ["a", "b", "c"])

    assert isinstance(found, str)
    assert words in found


@pytest.mark.parametrize(
    ("argument", "name", "number"),
    [("Ada", "Ada", 1), ("Ada, page 3", "Ada", 3), ("speakers (page 2)", "speakers", 2)],
)
def test_page(argument: str, name: str, number: int) -> None:
    assert ListPage.of(argument, 40) == (name, ListPage(number, 40))


def test_pages_of_a_list() -> None:
    first, last, beyond = ListPage(1, 40), ListPage(3, 40), ListPage(4, 40)

    assert (first.range(40), first.more("list", "names", 40)) == ("", "")
    assert (first.range(90), last.range(90)) == ("1 to 40 of 90", "81 to 90 of 90")
    assert first.more("list", "names", 90) == "More by list(names, page 2)."
    assert (last.more("list", "names", 90), beyond.range(90)) == ("", "page 4 is empty")
    assert [number_of(1, "fact"), number_of(9, "fact", 9)] == ["1 fact", "at least 9 facts"]


def test_action_text() -> None:
    assert action_text(Action(function="search", argument="a  b")) == "search(a b)"
    limited = Action(function="count", argument="Ada", within="3")
    assert action_text(limited) == "count(Ada, within 3)"


# The time of a fact lies in the days if any day of it does.
@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ("2023-05-31", False),
        ("2023-06-01", True),
        ("2023-06-30", True),
        ("2023-07", True),
        ("2023", True),
        ("2023-05-01/2023-06-01", True),
        ("2024", False),
        ("", False),
    ],
)
def test_has_time(when: str, expected: bool) -> None:
    assert CorpusPart(since="2023-06", until="2023-07").has_time(when) == expected
