"""Functions by stage (paper, table 7), and how the stage of a call is found out."""

import pytest

from graphreader.evaluation.paper_tables import function_calls, slips
from graphreader.evaluation.scoring import stages
from graphreader.reading import FunctionCall
from tests.unit.evaluated_report import printed, reading, rows


def called(*calls: str) -> list[FunctionCall]:
    """Calls as "name" or "name at a place"."""
    parts = [call.partition(" at ") for call in calls]
    return [FunctionCall(name, "", "", place) for name, _, place in parts]


# Pages and ends of several stages are told apart by what was before, and by where they were chosen.
@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        (["read_chunk", "search_more", "termination at Book, chunk 3"], "facts chunks chunks"),
        (["stop_and_read_neighbor", "termination at Casa Loma"], "facts neighbors"),
        (["read_chunk", "search_more", "termination at Casa Loma"], "facts chunks neighbors"),
        (["next_page", "next_page", "read_chunk"], "facts facts facts"),
        (
            ["stop_and_read_neighbor", "next_page", "next_page", "read_neighbor_node", "next_page"],
            "facts neighbors neighbors neighbors facts",
        ),
        (["read_chunk", "read_previous_chunk", "next_page"], "facts chunks neighbors"),
        ([], ""),
    ],
)
def test_stages(calls: list[str], expected: str) -> None:
    assert stages(called(*calls)) == expected.split()


# Of six calls two are at facts, three at chunks, one at neighbors; next_page counts beside. Two
# paths of one question: 3.5 calls a path, 7 a question.
def test_shares() -> None:
    def path(*functions: tuple[str, str]) -> dict[str, object]:
        told = [{"name": name, "stage": stage} for name, stage in functions]
        return {"calls": len(told), "functions": told}

    paths = [
        path(("read_chunk", "facts"), ("search_more", "chunks"), ("termination", "chunks")),
        path(
            ("read_chunk", "facts"),
            ("read_previous_chunk", "chunks"),
            ("next_page", "neighbors"),
            ("termination", "neighbors"),
        ),
    ]
    found = rows(function_calls([reading(paths=paths)]))
    told = {(row["Stage"].value, row["Function"].value): row for row in found}

    assert found[0]["Calls a path"].value == 3.5
    assert found[0]["Calls a question"].value == 7
    chunks = "Exploring chunks"
    assert told["Exploring atomic facts", "read_chunk"]["Of all calls"].value == pytest.approx(
        2 / 6
    )
    assert told[chunks, "search_more"]["Of all calls"].value == pytest.approx(3 / 6)
    for name in ("search_more", "read_previous_chunk", "termination"):
        assert told[chunks, name]["Of its stage"].value == pytest.approx(1 / 3)
    assert told[chunks, "read_subsequent_chunk"]["Of its stage"].value == 0
    assert told["Exploring neighbors", "termination"]["Of its stage"].value == 1
    assert told["Exploring neighbors", "next_page (ours, beside)"]["Of its stage"].value == 1


# Bare names count where only one stage has such a function; of the others a note says how many.
def test_bare_names() -> None:
    table = function_calls(
        [reading(paths=[{"calls": 2, "functions": ["read_chunk", "termination"]}])]
    )
    assert table

    assert rows(table)[0]["Of all calls"].value == 1
    assert any("without their stage" in note and note.endswith(" 1.") for note in table.notes)


# The paper's rows are printed as they are; one of its sums is not 100, and only that is told.
def test_printed() -> None:
    table = function_calls([reading(dataset="longbench-hotpotqa", paths=[{"calls": 1}])])
    assert table
    told = [row for row in printed(table) if row["Stage"].value == "Exploring neighbors"]

    assert [row["Of its stage"].value for row in told] == [0.355, 0.655]
    assert slips() == ["hotpotqa, neighbors: 101.0"]
    assert any("hotpotqa, neighbors: 101.0" in note for note in table.notes)
