"""What Markdown says of itself, and metadata of any kind."""

import json
from typing import Any

import pytest

from graphreader.ingestion.loading.content import MAX_CHARACTERS, document_of, plain
from graphreader.ingestion.loading.formats import read_markdown


def headings(text: str) -> list[str]:
    found = read_markdown(text.encode(), "a.md").headings
    for start, title in found:
        assert title in text[start : start + len(title) + 12]
    return [title for _, title in found]


# A front matter becomes metadata and gives the title; the text stays whole.
def test_front_matter() -> None:
    text = "---\ntitle: The Seine\ndate: 2024-03-01\ntags: [river, 2]\nx: .nan\n---\n# One\nText.\n"
    content = read_markdown(text.encode(), "a.md")
    document = document_of(content, "a", "c", "/a.md")

    assert document.text == text
    assert document.title == "The Seine"
    assert document.metadata == {
        "title": "The Seine",
        "date": "2024-03-01",
        "tags": ["river", 2],
        "x": "nan",
    }
    assert document.headings == ((text.index("# One"), "One"),)
    assert document.skipped == ()


# A front matter that is none is text like any other; one that is broken is reported.
@pytest.mark.parametrize(
    ("text", "reported", "found"),
    [
        ("---\nJust a line.\n---\n\n# A\n", 0, ["Just a line.", "A"]),
        ("---\n# A\n", 0, ["A"]),
        ("text\n\n---\na: 1\n---\n", 0, ["a: 1"]),
        ("---\na: [1\n---\n# A\n", 1, ["A"]),
        ("---\nd: 2024-13-45\n---\n# A\n", 1, ["A"]),
        ("---\na: !!python/object/apply:os.getcwd []\n---\n# A\n", 1, ["A"]),
        (f"---\na: {'x' * 70_000}\n---\n# A\n", 1, ["A"]),
        ("---\na: !!bool maybe\n---\n# A\n", 1, ["A"]),
        ("---\na: !!int ''\n---\n# A\n", 1, ["A"]),
        ("---\na: !!timestamp foo\n---\n# A\n", 1, ["A"]),
    ],
)
def test_no_front_matter(text: str, reported: int, found: list[str]) -> None:
    content = read_markdown(text.encode(), "a.md")

    assert content.metadata == {}
    assert len(content.skipped) == reported
    assert [title for _, title in content.headings][-len(found) :] == found


# Headings are marked with # or underlined; what only looks so is none.
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# One\n## Two ##\n###### Six\n", ["One", "Two", "Six"]),
        ("#hash\n####### seven\n    # code\n#\n", []),
        ("   # C#\n# F # #\n", ["C#", "F #"]),
        ("One\n===\n\nTwo\n---\n", ["One", "Two"]),
        ("\n---\n\n- item\n---\n> quote\n---\n| a |\n---\n", []),
        ("```\n# code\n```\n# One\n~~~ python\n# code\n```\n~~~~\n# Two", ["One", "Two"]),
        ("````\n```\n# code\n````\n# One\n", ["One"]),
        ("```never closed\n# code\n", []),
        ("`inline` # no\n# `code` *here*\n", ["`code` *here*"]),
        ("# 标题\n正文\n", ["标题"]),
    ],
)
def test_headings(text: str, found: list[str]) -> None:
    assert headings(text) == found


# Lines that are all marks and spaces take no more time than others.
def test_long_lines() -> None:
    evil = "# a" + " " * 200_000 + "#" * 200_000 + " x\n" + "---\n" + "`" * 200_000 + "\n"

    assert len(headings(evil)) == 1


class Odd:
    def __str__(self) -> str:
        return "odd"


# Metadata are plain JSON values, whatever they were.
@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (1.5, 1.5),
        (float("inf"), "inf"),
        (None, None),
        (True, True),
        ({1: (1, 2), "b": {"x"}}, {"1": [1, 2], "b": ["x"]}),
        (Odd(), "odd"),
        ("a\ud800\0", "a\ufffd\ufffd"),
    ],
)
def test_metadata(value: Any, kept: Any) -> None:
    assert plain({"key": value}) == ({"key": kept}, ())


# What is too large, too deep or endless is left out and named; the rest is kept.
def test_metadata_too_large() -> None:
    endless: list[Any] = []
    endless.append(endless)
    doubled: list[Any] = ["lol"]
    for _ in range(15):
        doubled = [doubled, doubled]
    found, left_out = plain(
        {"a": 1, "long": "x" * MAX_CHARACTERS, "endless": endless, "many": doubled, "b": "end"}
    )

    assert found == {"a": 1, "b": "end"}
    assert [one.part for one in left_out] == ["metadata long", "metadata endless", "metadata many"]
    assert len(json.dumps(plain({str(n): "x" * 90 for n in range(900)})[0])) < MAX_CHARACTERS + 99
