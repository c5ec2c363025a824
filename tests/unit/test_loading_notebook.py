"""Notebooks cell by cell, and source code as one block of code."""

import json
from pathlib import Path
from typing import Any

import pytest

from graphreader.documents import Skipped
from graphreader.errors import DocumentError
from graphreader.ingestion.loading.formats import READERS, load
from graphreader.ingestion.loading.notebook import MAX_LINE, MAX_OUTPUT, read_notebook
from graphreader.ingestion.loading.parser_process import parse
from graphreader.ingestion.loading.sources import sources_of
from graphreader.text.blocks import blocks_of


def notebook(*cells: dict[str, Any], **more: Any) -> bytes:
    return json.dumps({"cells": cells, "nbformat": 4, **more}).encode()


def code(source: str, *outputs: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": "code", "source": source.splitlines(keepends=True), "outputs": outputs}


# Cells in order: texts as Markdown with headings, code between fences, tables and texts of
# outputs; errors by their last line; pictures are named.
def test_notebooks() -> None:
    table = "<table><tr><th>Mill</th><th>Year</th></tr><tr><td>Voss</td><td>1850</td></tr></table>"
    figure = {"image/png": "AA", "text/plain": "<Figure>"}
    content = read_notebook(
        notebook(
            {"cell_type": "markdown", "source": ["# Mills\n", "\n", "Read **this**."]},
            code("print('```')\n```", {"output_type": "stream", "text": ["\x1b[1mfour\x1b[0m\n"]}),
            code("", {"output_type": "execute_result", "data": {"text/html": table}}),
            code("plot()", {"output_type": "display_data", "data": figure},
                 {"output_type": "error", "ename": "KeyError", "evalue": "'a'", "traceback": []}),
            {"cell_type": "markdown", "source": "![a](attachment:a.png)",
             "attachments": {"a.png": {}}},
            code("", {"output_type": "stream", "text": "line\n" * MAX_OUTPUT}),
            metadata={"kernelspec": {"language": "r"}, "authors": [{"name": "Ada"}]},
        ),
        "a.ipynb",
    )  # fmt: skip

    assert content.text.partition("line\n")[0].split("\n\n") == [
        "# Mills", "Read **this**.", "````r\nprint('```')\n```\n````", "four",
        "Mill | Year\nVoss | 1850", "```r\nplot()\n```", "KeyError: 'a'",
        "![a](attachment:a.png)", "",
    ]  # fmt: skip
    assert [one.name for one in content.places] == [f"cell {number}" for number in range(1, 7)]
    assert (content.title, content.metadata) == ("Mills", {"authors": ["Ada"]})
    assert [one.kind for one in blocks_of(content.text)][:3] == ["code", "table", "code"]
    assert [one.part for one in content.skipped] == [
        "cell 4, output", "cell 5, a.png", "cell 6, output"
    ]  # fmt: skip


# The format before 2015 has worksheets, headings as cells, and outputs without `data`.
def test_old_notebook() -> None:
    cells = [
        {"cell_type": "heading", "level": 2, "source": "Mills"},
        {"cell_type": "code", "language": "python", "input": "1+1",
         "outputs": [{"output_type": "pyout", "text": ["2"]},
                     {"output_type": "display_data", "png": "AA", "text": "<Figure>"}]},
    ]  # fmt: skip
    data = json.dumps({"worksheets": [{"cells": cells}], "nbformat": 3}).encode()
    content = read_notebook(data, "a.ipynb")

    assert content.text == "## Mills\n\n```python\n1+1\n```\n\n2"
    assert content.skipped == (Skipped("cell 2, output", "not read: a picture"),)


@pytest.mark.parametrize(
    "data", [b"{", b"[]", b'{"cells": 5}', b'{"cells": ["a"]}', b"[" * 100_000, b"\xff", b"{}"]
)
def test_broken_notebooks(data: bytes) -> None:
    with pytest.raises(DocumentError, match="cannot be read"):
        parse(".ipynb", data, "a.ipynb")


# Source code is one block of code with its language; generated lines are named; a minified file
# is refused.
def test_code(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("def f():\n    return 1\n\n# ```\n", encoding="utf-8")
    document = load(path, "c")
    assert document.text == "```python\ndef f():\n    return 1\n\n# ```\n```"
    assert [(one.kind, one.label) for one in blocks_of(document.text)] == [("code", "python")]

    content = READERS[".js"](b"let a;\n" + b"x" * (MAX_LINE + 1), "a.js")
    assert content.text == "```javascript\nlet a;\n```"
    assert content.skipped[0].part == "line 2"
    with pytest.raises(DocumentError, match="generated code"):
        READERS[".js"](b"x" * 1_000_000, "a.js")
    with pytest.raises(DocumentError, match="binary"):
        READERS[".m"](bytes(range(256)) * 9, "a.m")


# Data in one long line are read.
def test_long_lines_of_data() -> None:
    line = "<a>Voss</a>" * MAX_LINE

    assert READERS[".xml"](line.encode(), "a.xml").text == f"```xml\n{line}\n```"


# A table or a formula beside a picture is read.
def test_text_beside_a_picture() -> None:
    table = {"image/png": "AA", "text/html": "<table><tr><td>Voss</td><td>56</td></tr></table>"}
    formula = {"image/png": "AA", "text/latex": "$x^2$", "text/plain": "<Figure>"}
    outputs = [{"output_type": "display_data", "data": one} for one in (table, formula)]
    content = read_notebook(notebook(code("", *outputs)), "a.ipynb")

    assert content.text == "Voss | 56\n\n$x^2$"
    assert [one.reason for one in content.skipped] == ["not read: a picture"] * 2


# A folder gives source code only where a pattern names its suffix.
def test_code_in_folders(tmp_path: Path) -> None:
    for name in ("a.py", "b.md", "src/c.py", "src/d.SQL"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x = 1", encoding="utf-8")

    def names(*include: str) -> list[str]:
        return [Path(one.name).name for one in sources_of([tmp_path], include)]

    assert names() == names("*") == ["b.md"]
    assert names("*.py") == ["a.py", "c.py"]
    assert names("src/*.sql", "src/*.SQL", "src") == ["d.SQL"]
    assert [one.name for one in sources_of([tmp_path / "a.py"])] == [str(tmp_path / "a.py")]
