"""What a Markdown text says of itself: its front matter and its headings. The text stays as it is.

Headings are found line by line, as most Markdown is written: those inside of quotes and lists, or
in HTML, are not.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import yaml

from graphreader.documents import Skipped
from graphreader.ingestion.loading.content import Content, told_by
from graphreader.ingestion.loading.plain_text import read_text

_LARGEST = 64_000  # characters of a front matter: YAML is slow to read
_FRONT_MATTER = re.compile(r"\ufeff?---[ \t]*\n((?:.*\n)*?)(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_LINE = re.compile(r".*\n?")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`\n]*$)|~{3,})", re.MULTILINE)
_MARK = re.compile(r" {0,3}#{1,6}(?=\s)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*\n?")
_UNDERLINED = re.compile(r" {0,3}(?![>#|]|[-*+][ \t]|\d+[.)][ \t])\S.*\n")


def read_markdown(data: bytes, shown: str) -> Content:
    """The text with its headings, and the values of its front matter (YAML) as metadata.

    Its title is that of the front matter. Raises DocumentError where it is binary.
    """
    plain = read_text(data, shown)
    front = _FRONT_MATTER.match(plain.text)
    values, problem = _values(front[1]) if front else ({}, "")
    title = values.get("title")
    return replace(
        plain,
        title=title.strip() if isinstance(title, str) else "",
        metadata={**values, **plain.metadata},
        # What stands between two rules and is no YAML of names and values is text.
        headings=tuple(_headings(plain.text, front.end() if front and values else 0)),
        skipped=(*plain.skipped, *([Skipped("front matter", problem)] if problem else [])),
    )


def _values(written: str) -> tuple[dict[Any, Any], str]:
    """The values of a front matter, or what is wrong with it."""
    if len(written) > _LARGEST:
        return {}, f"longer than {_LARGEST:,} characters"
    try:
        values = yaml.safe_load(written)
    except Exception as error:  # yaml has its own, and many others slip through
        return {}, f"not read, it is no YAML ({told_by(error)})"
    return (values, "") if isinstance(values, dict) else ({}, "")


def _headings(text: str, start: int) -> Iterator[tuple[int, str]]:
    """Where each heading begins, and its words: "# so", or underlined with = or -."""
    fence = ""
    before: re.Match[str] | None = None  # the line before, if it may be underlined
    for line in _LINE.finditer(text, start):
        mark = _FENCE.match(line[0])
        if fence:
            if mark and mark[1].startswith(fence) and not line[0].strip(" \n" + fence[0]):
                fence = ""
        elif mark:
            fence, before = mark[1], None
        elif marked := _MARK.match(line[0]):
            before = None
            if title := _unmarked(line[0][marked.end() :].strip()):
                yield line.start(), title
        elif before and _UNDERLINE.fullmatch(line[0]):
            yield before.start(), before[0].strip()
            before = None
        else:
            before = line if _UNDERLINED.fullmatch(line[0]) else None


def _unmarked(title: str) -> str:
    """The heading without the marks that may close it ("# so #")."""
    bare = title.rstrip("#")
    return bare.rstrip() if not bare or bare[-1].isspace() else title
