"""The parser of Jupyter notebooks (.ipynb), and of source code, which is one block of code."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from graphreader.documents import Place, Skipped
from graphreader.errors import DocumentError
from graphreader.ingestion.loading.content import Content, clean, join_contents, read_text
from graphreader.ingestion.loading.html import read_html
from graphreader.ingestion.loading.markdown import read_markdown

MAX_OUTPUT = 20_000
"""Number of characters of a cell's output that are read."""
MAX_LINE = 5_000
"""Longest line of source code in characters; longer lines are generated, but not in _DATA."""
_DATA = ("sql", "toml", "xml", "yaml")  # languages of data, whose lines are of any length

LANGUAGES = {
    ".bat": "batch", ".bib": "bibtex", ".c": "c", ".cc": "cpp", ".cfg": "ini", ".clj": "clojure",
    ".conf": "ini", ".cpp": "cpp", ".cs": "csharp", ".css": "css", ".cu": "cuda", ".cxx": "cpp",
    ".dart": "dart", ".el": "elisp", ".erl": "erlang", ".ex": "elixir", ".exs": "elixir",
    ".f90": "fortran", ".fs": "fsharp", ".go": "go", ".graphql": "graphql", ".groovy": "groovy",
    ".h": "c", ".hpp": "cpp", ".hs": "haskell", ".ini": "ini", ".java": "java", ".jl": "julia",
    ".js": "javascript", ".jsx": "jsx", ".kt": "kotlin", ".less": "less", ".lua": "lua",
    ".m": "matlab", ".mjs": "javascript", ".ml": "ocaml", ".nim": "nim", ".pas": "pascal",
    ".php": "php", ".pl": "perl", ".proto": "protobuf", ".ps1": "powershell", ".py": "python",
    ".pyi": "python", ".r": "r", ".rb": "ruby", ".rs": "rust", ".scala": "scala", ".scss": "scss",
    ".sh": "bash", ".sol": "solidity", ".sql": "sql", ".svelte": "svelte", ".swift": "swift",
    ".tf": "terraform", ".toml": "toml", ".ts": "typescript", ".tsx": "tsx", ".vb": "vb",
    ".vue": "vue", ".xml": "xml", ".xsd": "xml", ".yaml": "yaml", ".yml": "yaml", ".zig": "zig",
    ".zsh": "bash",
}  # fmt: skip
"""The suffixes of source code, with the names of their languages."""


def read_code(data: bytes, shown: str, language: str = "") -> Content:
    """Read source code as one block between fences; generated lines are left out and named.

    Raises DocumentError where nothing else is left.
    """
    plain = read_text(data, shown)
    lines = plain.text.split("\n")
    skipped = tuple(
        Skipped(f"line {number}", f"not read: its {len(line):,} characters are generated code")
        for number, line in enumerate(lines, 1)
        if len(line) > MAX_LINE and language not in _DATA
    )
    text = "\n".join(line for line in lines if len(line) <= MAX_LINE or not skipped)
    if skipped and not text.strip():
        raise DocumentError(
            f"{shown} is generated code, with more than {MAX_LINE:,} characters in a line: leave "
            "it out, or name its source."
        )
    if not text.strip():
        return plain
    return replace(plain, text=_fenced(text, language), skipped=(*plain.skipped, *skipped))


def read_notebook(data: bytes, shown: str) -> Content:
    """Parse a notebook: its texts as Markdown, its code between fences, its outputs as text.

    Places are "cell 4"; pictures and other outputs without a text are named.
    """
    book = json.loads(data.decode("utf-8-sig"))
    sheets = book.get("worksheets") or [book]  # format 3 has worksheets
    about = book.get("metadata") or {}
    kernel = (about.get("language_info") or {}).get("name") or (about.get("kernelspec") or {}).get(
        "language"
    )
    parts: list[Content] = []
    for number, cell in enumerate((one for sheet in sheets for one in sheet["cells"]), 1):
        language = str(cell.get("language") or kernel or "python")
        part = join_contents(list(_cell(cell, f"cell {number}", language)))
        parts.append(replace(part, places=(Place(0, f"cell {number}"),) if part.text else ()))
    content = join_contents(parts)
    title = str(about.get("title") or "") or next((one.title for one in content.headings), "")
    authors = [one.get("name", "") for one in about.get("authors") or () if isinstance(one, dict)]
    return replace(content, title=title, metadata={"authors": authors} if authors else {})


def _cell(cell: dict[str, Any], place: str, language: str) -> Iterator[Content]:
    """Yield the source of a cell and its outputs."""
    source = _joined(cell.get("source", cell.get("input", "")))
    match cell.get("cell_type"):
        case "code":
            if source.strip():
                yield Content(_fenced(source, language))
        case "heading":  # of format 3
            yield read_markdown(f"{'#' * int(cell.get('level', 1))} {source}".encode(), place)
        case "markdown":
            yield read_markdown(source.encode("utf-8", "replace"), place)
        case _:
            yield Content(source.strip())
    for name in cell.get("attachments") or ():
        yield _skipped(f"{place}, {name}", "not read: a picture")
    for output in cell.get("outputs") or ():
        yield from _output(output, place)


def _output(output: dict[str, Any], place: str) -> Iterator[Content]:
    """Yield the text of an output: tables as rows, else plain text; an error is its last line."""
    if output.get("output_type") in ("error", "pyerr"):
        yield Content(clean(f"{output.get('ename')}: {output.get('evalue')}"[:MAX_OUTPUT]))
        return
    kinds = output.get("data") or output  # format 3 has no `data`
    pictures = [kind for kind in kinds if kind.startswith("image/") or kind in ("png", "jpeg")]
    html = _joined(kinds.get("text/html", kinds.get("html", "")))
    plain = _joined(kinds.get("text/plain", kinds.get("text", "")))
    markdown = _joined(kinds.get("text/markdown", kinds.get("text/latex", "")))
    if pictures:
        yield _skipped(f"{place}, output", "not read: a picture")
        plain = ""  # "<Figure size 640x480>"
    if "<table" in html[:MAX_OUTPUT]:
        yield _cut(read_html(html.encode("utf-8", "replace"), place), place)
    elif text := markdown or plain:
        yield _cut(read_text(text.encode("utf-8", "replace"), place), place)
    elif html and not pictures:
        yield _cut(read_html(html.encode("utf-8", "replace"), place), place)
    elif kinds and not pictures:
        yield _skipped(f"{place}, output", f"not read: {', '.join(sorted(kinds))[:100]}")


def _cut(content: Content, place: str) -> Content:
    """The text of an output, cut at a line end where it is long."""
    text = content.text.strip("\n")
    if len(text) <= MAX_OUTPUT:
        return Content(text, skipped=content.skipped)
    end = max(text.rfind("\n", 0, MAX_OUTPUT), 1)
    reason = f"of {len(text):,} characters the first {end:,} are read"
    return Content(text[:end], skipped=(Skipped(f"{place}, output", reason),))


def _skipped(part: str, reason: str) -> Content:
    return Content("", skipped=(Skipped(part, reason),))


def _joined(text: Any) -> str:
    """A text that is a string or a list of lines."""
    return "".join(map(str, text)) if isinstance(text, list) else str(text)


def _fenced(code: str, language: str) -> str:
    """Code between fences, which are longer than any in it."""
    longest = max(map(len, re.findall(r"^`{3,}", code, re.MULTILINE)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{code.strip(chr(10))}\n{fence}"
