"""Headings are recognized by their form, with levels that give each place its path."""

import pytest

from graphreader.documents import Heading, heading_paths
from graphreader.ingestion.loading.content import from_text
from graphreader.ingestion.loading.markdown import read_markdown
from graphreader.text.headings import headings_of

BOOK = """THE MILL ON THE RIVER

CONTENTS

Chapter I. The Ford
Chapter II. The Flood

PART ONE

Chapter I. The Ford

Words stand here. Chapter 3 shows more.

Chapter II
The Flood

Part of the text is here,
CHAPTER 9, and
more.

PART TWO

Chapter III

The end.
"""


def titles(text: str) -> list[str]:
    return [one.title for one in headings_of(text)]


def path(text: str, words: str) -> tuple[str, ...]:
    return path_at(list(headings_of(text)), text.index(words))


def path_at(headings: list[Heading], position: int) -> tuple[str, ...]:
    (found,) = heading_paths(headings, [position])
    return tuple(one.title for one in found)


# A scene of a play is a heading, however many words its place has, and a long clause is none.
def test_scenes() -> None:
    scene = "SCENE IV. Forres. A Room of state in the old Palace."
    clause = "Section 4. The buyer pays the price within thirty days of delivery."

    assert titles(f"ACT I.\n\n{scene}\n\nEnter a king.\n\n{clause}\n\nIt rains.") == [
        "ACT I.",
        scene,
    ]


# Chapters are below parts; a table of contents and sentences give no heading, and the title below a
# chapter's number belongs to it.
def test_book() -> None:
    assert titles(BOOK) == [
        *("THE MILL ON THE RIVER", "CONTENTS", "PART ONE", "Chapter I. The Ford"),
        *("Chapter II The Flood", "PART TWO", "Chapter III"),
    ]
    assert path(BOOK, "Words stand") == ("PART ONE", "Chapter I. The Ford")
    assert path(BOOK, "The end") == ("PART TWO", "Chapter III")


# Forms of headings in several languages, each in a text around it.
@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("CHAPTER XIV. The Mill", None),
        ("Chapter Two: The Mill", None),
        ("Kapitel 3", None),
        ("Глава 2. Мельница", None),
        ("ACT III", None),
        ("Section 4.", None),
        ("Epilogue", None),
        ("第十二回 渡河", None),
        ("　　第三章　磨坊", "第三章 磨坊"),
        ("楔子", None),
        ("제3장 강", None),
        ("3.1 The mill", None),
        ("THE MILL", None),
        ("CHAPTER I -- THE OLD MILL AND THE FORD. 1412-1423.", None),
        ("Erster Teil", None),
        ("Глава первая", None),
        ("CHAPTER THIRTEEN", None),
        ("【第八章】", "第八章"),
        ("第七章 你是谁？", None),
        ("Vorwort", None),
        ("The mill\n~~~~~~~~", "The mill"),
        ("**The mill**", "The mill"),
        ("__磨坊__", "磨坊"),
        ("3 May 1897", None),
        ("Conversation on 16 June 2023", None),
        ("--- 2023-06-16 ---", "2023-06-16"),
        ("2023年6月16日 星期五", None),
        ("Monday, May 3rd, 2021", None),
    ],
)
def test_forms(line: str, title: str | None) -> None:
    text = f"It rained.\n\n{line}\n\nThe water rose."

    assert titles(text) == [title or line]
    assert path(text, "The water") == (title or line,)
    start = next(headings_of(text)).start
    assert text[start:].startswith(line.strip())


# Sentences, items, rows, quotations and dates within a sentence are no headings.
@pytest.mark.parametrize(
    "line",
    [
        "Chapter 3 shows the mill",
        "Part of the mill fell.",
        "Book the room, please",
        "第三节课上，老师来了",
        "第一章里他说了很多话，后来又走了",
        "1. The mill is old.",
        "- 3.2 The mill",
        "| THE MILL |",
        "**The mill** fell down.",
        "**Ann:**",
        "He came on 3 May 1897.",
        "It was a long way, and 16 June 2023 came",
        "I",
        "12",
        "好",
        "OK!",
        "(COMMERCIAL BREAK)",
        "HTTP/1.1 200 OK",
        "4 Eggs",
        "Posted on May 3, 2021",
        "Version 9.0.0747",
        "Date: 2024-09-18",
        "Interview: 3 May 1897",
        "第一节车厢里很挤，没有人说话",
    ],
)
def test_no_headings(line: str) -> None:
    assert titles(f"It rained.\n\n{line}\n\nThe water rose.") == []


# A label before a date is a heading where it stands before several dates.
def test_labels() -> None:
    dates = "DATE: 1:56 pm on 8 May, 2023", "DATE: 2 June 2023"

    assert titles("Place: Rome\n\n" + "".join(f"{one}\n\nIt rained.\n\n" for one in dates)) == [
        *dates
    ]
    assert titles(f"Place: Rome\n{dates[0]}\n\nIt rained.\n\nMonday: 3 May 2021\n\nOh.") == [
        "Monday: 3 May 2021"
    ]


# A line of capitals that recurs is a speaker or a page head.
def test_recurring_capitals() -> None:
    pages = (f"THE MILL {n}\n\nOne.\n\n" for n in range(3))

    assert titles("THE FORD\n\n" + "".join(pages) + "BOB\n\nYes.\n\n" * 3) == ["THE FORD"]


# Numbers of headings follow each other; addresses, amounts and dates with a number do not.
def test_numbers() -> None:
    parts = "1 Aims", "1.1 Mills", "12 Mill Lane", "1.2 Fords", "2 Means", "50 Cent", "3. Mai 1897"

    assert titles("\n\nWords.\n\n".join(parts)) == [*parts[:2], *parts[3:5], parts[-1]]


# Underlined lines are headings, with levels in the order of their signs; code has none.
def test_underlines_and_code() -> None:
    text = (
        "Mill\n====\n\nOld.\n\nFord\n----\n\n```\n# x\nChapter 1\n\n2021-05-03\n```\n\nEnd\n===\n"
    )

    assert [(one.title, one.level) for one in headings_of(text)] == [
        *(("Mill", 1), ("Ford", 2), ("End", 1))
    ]


# Where the format marks headings, lines of capitals and numbers are left to it; bold lines, dates
# and chapters stand below its headings.
def test_marked_headings() -> None:
    text = "# Report\n\nTHE MILL\n\n1 Output\n\n## 2020\n\n**Costs**\n\nMuch.\n\n## 2021\n\nLess.\n"
    document = from_text(text, "report", "c", "s")
    content = read_markdown(text.encode(), "report.md")
    found = list(headings_of(text, content.headings))

    assert found == [
        *(Heading(0, "Report", 1), Heading(text.index("## 2020"), "2020", 2)),
        *(Heading(text.index("**Costs"), "Costs", 18), Heading(text.index("## 2021"), "2021", 2)),
    ]
    assert path_at(found, text.index("Much")) == ("Report", "2020", "Costs")
    assert path_at(found, text.index("Less")) == ("Report", "2021")
    assert [one.title for one in document.headings] == ["THE MILL", "1 Output", "Costs"]


# Long lines, and nothing but line ends, take no longer by the square of their length.
@pytest.mark.parametrize(
    "unit", ["\n", " ", "x", "CHAPTER I ", "1.1.", "*", "3 May 2021\n", "A\n\n"]
)
def test_hostile_text(unit: str) -> None:
    assert len(list(headings_of(unit * (1_000_000 // len(unit))))) <= 1
