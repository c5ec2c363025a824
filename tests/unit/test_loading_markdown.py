"""Markdown keeps its text but for what readers do not see; front matter becomes metadata."""

import time
import tracemalloc

import pytest

from graphreader.documents import Heading
from graphreader.ingestion.loading.content import MAX_HEADINGS, completed, document_of
from graphreader.ingestion.loading.markdown import read_markdown


# A front matter becomes metadata, gives the title, and is no part of the text.
def test_front_matter() -> None:
    text = "---\ntitle: The Seine\ndate: 2024-03-01\ntags: [river, 2]\n---\n# One\nText.\n"
    document = document_of(completed(read_markdown(text.encode(), "a.md")), "a", "c", "/a.md")

    assert document.text == "# One\nText.\n"
    assert (document.title, document.skipped) == ("The Seine", ())
    assert document.metadata == {"title": "The Seine", "date": "2024-03-01", "tags": ["river", "2"]}
    assert document.headings == (Heading(0, "One"),)


# A front matter in TOML is read alike; one that is all of the text, or too large for metadata,
# stays in it.
def test_other_front_matter() -> None:
    toml = read_markdown(b'+++\ntitle = "Seine"\ndate = 2024-03-01\n+++\nText.\n', "a.md")
    alone = read_markdown(b"---\ntitle: Seine\n---\n", "a.md")
    large = f"---\ntitle: Seine\nabstract: {'x' * 30_000}\n---\n# A\n"

    assert (toml.title, toml.text, str(toml.metadata["date"])) == ("Seine", "Text.\n", "2024-03-01")
    assert (alone.title, alone.text) == ("Seine", "---\ntitle: Seine\n---\n")
    assert read_markdown(large.encode(), "a.md").text == large
    assert read_markdown(b"+++\na b\n+++\n# A\n", "a.md").text == "+++\na b\n+++\n# A\n"


# Comments and imports of MDX are no part of the text, but in code, or escaped, they are.
@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("a <!-- not shown --> b\n", "a  b\n"),
        ("a\n\n<!-- TODO\n\nlater -->\n\nb\n", "a\n\n\nb\n"),
        ("a\n<!-- c -->\n---\n", "a\n\n---\n"),
        ("a <!-- x\ny -->\n# H\n", "a \n# H\n"),
        ("<!-- a\n--> b\n# H\n", " b\n# H\n"),
        ("# A <!-- {#id} -->\n", "# A \n"),
        ("- x\n  <!-- c -->\n  y\n", "- x\n\n  y\n"),
        ("> <!-- c -->\n> x\n", "> \n> x\n"),
        (
            "| a <!-- c --> | b |\n| - | - |\n| c <!-- d --> | e |\n",
            "| a  | b |\n| - | - |\n| c  | e |\n",
        ),
        ("<div>\n<!-- c -->\nx\n</div>\n", "<div>\n\nx\n</div>\n"),
        ("<Note>x</Note>\n\na {/* of MDX */} b\n", "<Note>x</Note>\n\na  b\n"),
        ("import Tabs from '@theme/Tabs';\nexport * from \"./x\"\n\n# A\n", "# A\n"),
        ("import {\n  A,\n  B\n} from 'x'\nimport 'y.css'\n\nText.\n", "Text.\n"),
        ("<!-- c -->\nexport const x = 3;\n\nText.\n", "Text.\n"),
        ("---\ntitle: x\n---\nimport A from 'a'\n\n# A\n", "# A\n"),
    ],
)
def test_hidden(text: str, visible: str) -> None:
    assert read_markdown(text.encode(), "a.md").text == visible


# What only looks hidden stays.
@pytest.mark.parametrize(
    "text",
    [
        "import the goods from Delft\n",
        "import 'x'\nis how Go begins.\n",
        "    import x from 'y'\n\nText.\n",
        "a {/* of no MDX */} b\n",
        "export from 'Delft' began in 1630\n",
        "# A\n\nimport x from 'y'\n",
        "```\nimport x from 'y'\n<!-- kept -->\n```\n",
        "```mermaid\nA --> B\n```\n<!- no -->\n",
        "- a\n\n  ```html\n  <!-- kept -->\n  ```\n",
        "> ```\n> <!-- kept -->\n> ```\n",
        "~~~\n```\n<!-- kept -->\n~~~\n",
        "a\n\n    <!-- kept -->\n",
        "a `<!-- kept -->` b ``<!-- ` -->`` c\n",
        "a \\<!-- kept --> b\n",
        "a `b\nx <!-- c --> d` e\n",
        "a <!-- without an end\n\nb --> c\n",
        "<!-- without an end\n\n# A\n",
        "<script>\nx = '<!-- kept -->'\n</script>\n",
        "<!-- all of it -->\n",
    ],
)
def test_not_hidden(text: str) -> None:
    assert read_markdown(text.encode(), "a.md").text == text


# Comments and backticks without an end, or many on one line, take linear time.
@pytest.mark.parametrize(
    "text",
    [
        "a <!-- b -->" * 100_000,
        "a <!-- b " * 100_000,
        "".join("`" * number + " " for number in range(1_000)) + "<!-- a -->",
        "<!-- a -->\n" * 50_000,
        "a\n" * 300_000 + "<!-- a -->\n",
        ">" * 100_000 + "<!-- a -->",
        "import {" * 50_000,
    ],
)
def test_attacks(text: str) -> None:
    start = time.process_time()
    content = read_markdown(text.encode(), "a.md")

    assert time.process_time() - start < 60  # in quadratic time it would be hours
    assert len(content.text) >= text.count("a\n")


# Values of a front matter in YAML stay as they are written.
def test_front_matter_values() -> None:
    front = "country: NO\nversion: 1.10\ntime: 12:30\nzip: 01234\nday: 2024-13-45\ntitle: 2020"
    content = read_markdown(f"---\n{front}\n---\nText.\n".encode(), "a.md")

    assert content.title == "2020"
    assert content.metadata == dict(line.split(": ") for line in front.split("\n"))


# What only looks like a front matter is text; a broken one is reported.
@pytest.mark.parametrize(
    ("text", "reported", "headings"),
    [
        ("---\nJust a line.\n---\n\n# A\n", 0, ["Just a line.", "A"]),
        ("---\n# A\n", 0, ["A"]),
        ("---\na: [1\n---\n# A\n", 1, ["A"]),
        ("---\ntitle: Foo: bar\ndate: 2020-01-01\n---\n# A\n", 1, ["A"]),
        (f"---\na: {'x' * 70_000}\n---\n# A\n", 1, ["A"]),
        ("---\na: &a [x, x]\nb: [*a, *a]\n---\n# A\n", 1, ["A"]),
    ],
)
def test_no_front_matter(text: str, reported: int, headings: list[str]) -> None:
    content = read_markdown(text.encode(), "a.md")

    assert content.metadata == {}
    assert len(content.skipped) == reported
    assert [one.title for one in content.headings] == headings


# A front matter without an end, or a text of short lines that is not UTF-8, takes no more memory
# than a few times its size.
@pytest.mark.parametrize("data", [b"---\n" + b"a: 1\n" * 60_000, b"ab\n" * 90_000 + b"\xe9t\xe9\n"])
def test_many_lines(data: bytes) -> None:
    read_markdown(data[-9:], "a.md")  # what is loaded once does not count
    tracemalloc.start()
    try:
        read_markdown(data, "a.md")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 8 * len(data)


# Headings are cut and counted, so that no text is a list of millions of them in the graph.
def test_too_many_headings() -> None:
    content = read_markdown(b"# " + b"a" * 1_000 + b"\n" + b"# b\n" * 10_000, "a.md")
    document = document_of(completed(content), "a", "c", "/a.md")

    assert len(content.headings) == MAX_HEADINGS + 1
    assert len(document.headings) == MAX_HEADINGS
    assert document.headings[0] == Heading(0, "a" * 300)
    assert [one.part for one in document.skipped] == ["headings"]


# The parts of a large text are parsed as the whole text would be.
@pytest.mark.parametrize(
    "block",
    ["# {}\n\ntext\n\n", "- a\n\n  ```\n  # code\n  ```\n", "```\n# code\n```\n\n# {}\n", "a\n"],
)
def test_parts(block: str) -> None:
    text = "".join(block.format(number) for number in range(500_000 // len(block)))
    text += "```\n" + "# code\n" * 50_000 + "```\n<!-- c -->\n# Last\n"
    content = read_markdown(text.encode(), "a.md")
    marks = text.count("# ") - text.count("# code")

    assert len(content.headings) == min(marks, MAX_HEADINGS + 1)
    assert "<!--" not in content.text
    assert all(content.text.startswith("# ", one.start) for one in content.headings)


# Headings are marked with # or underlined, and stand at their positions; lookalikes do not count.
@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("# One\n## Two ##\n###### Six\n", ["One", "Two", "Six"]),
        ("#hash\n####### seven\n    # code\n#\n", []),
        ("   # C#\n# F # #\n", ["C#", "F #"]),
        ("One\n===\n\nTwo\n---\n", ["One", "Two"]),
        ("\n---\n\n- item\n---\n> quote\n---\n| a |\n---\n", []),
        ("```\n# code\n```\n# One\n~~~ python\n# code\n```\n~~~~\n# Two", ["One", "Two"]),
        ("````\n```\n# code\n````\n# One\n", ["One"]),
        ("```\n# code\n```\t\n# One\n", ["One"]),
        ("<pre>\n# code\n</pre>\n# One\n", ["One"]),
        ("- item\n  wrapped\n---\n# One\n", ["One"]),
        ("A title\nof two lines\n===\n", ["A title of two lines"]),
        ("One line\n" * 9 + "---\n", []),
        ("1. a\n\n   ## In an item\n", ["In an item"]),
        ("<!-- a -->\n# One {#one}\nx <!-- b --> y\n## Two <!-- c --> too\n", ["One", "Two  too"]),
        ("import A from 'a'\n\n# One\n<A/>\n\n{/* c */}\n\n# Two\n", ["One", "Two"]),
        ("```never closed\n# code\n", []),
        ("`inline` # no\n# `code` *here*\n# 标题\n正文\n", ["`code` *here*", "标题"]),
        ("# a" + " " * 200_000 + "#" * 200_000 + " x\n---\n" + "`" * 200_000 + "\n", None),
    ],
)
def test_headings(text: str, titles: list[str] | None) -> None:
    content = read_markdown(text.encode(), "a.md")
    text, headings = content.text.replace("title\nof", "title of"), content.headings

    assert all(one.title in text[one.start : one.start + len(one.title) + 12] for one in headings)
    assert titles is None or [one.title for one in headings] == titles
