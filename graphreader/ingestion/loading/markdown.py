"""Parser of Markdown: the text as it is in the file, but for what readers do not see.

Comments, imports of MDX and front matter are left out; front matter becomes metadata.
"""

import re
import tomllib
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import yaml
from markdown_it import MarkdownIt

from graphreader.documents import Heading, Skipped
from graphreader.ingestion.loading.content import (
    MAX_HEADINGS,
    Content,
    error_text,
    is_blank,
    plain,
    read_text,
)

_MAX_FRONT_MATTER = 64_000  # characters: YAML is slow to parse
_FRONT_MATTER = re.compile(
    r"\ufeff?(?:---[ \t]*\n((?s:.)*?)^(?:---|\.\.\.)|\+\+\+[ \t]*\n((?s:.)*?)^\+\+\+)"
    r"[ \t]*(?:\n|\Z)",
    re.MULTILINE,
)
_MAX_PARSED = 2_000_000  # characters in which comments are sought: the parser is slow
_BLOCKS = MarkdownIt("commonmark").enable("table")  # parses no inline text
_BLOCKS.core.ruler.enableOnly(["normalize", "block"])
_COMMENTS = {"<!--": "-->", "{/*": "*/}"}  # of HTML and of MDX
_INLINE = re.compile(r"\\[!-/:-@\[-`{-~]|`+|<!--|\{/\*")
_RAW_TEXT = re.compile(r"\s*<(?:script|style|textarea)\b", re.IGNORECASE)
_REST_OF_LINE = re.compile(r"[ \t]*(?:\n|\Z)")
_IMPORTS = re.compile(  # statements of JavaScript, each on its own line, but for names in braces
    r"""(?:\s*(?:
        import\s+(?:[\w$]+|(?:[\w$]+\s*,\s*)?(?:\{[^{}]*\}|\*\s*as\s+[\w$]+))\s+from\s*(["'])[^"'\n]+\1
        |import\s*(["'])[^"'\n]+\2
        |export\s+(?:\*(?:\s*as\s+[\w$]+)?|\{[^{}]*\})\s*from\s*(["'])[^"'\n]+\3
        |export\s+(?:const|let|var)\s+[\w$]+\s*=[^\n]*;
        |export\s+default\s+[\w$.]+;
    )[ \t]*;?[ \t]*(?:\n|\Z))+""",
    re.VERBOSE,
)
_LINE = re.compile(r".*\n?")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`\n]*$)|~{3,})", re.MULTILINE)
_HASHES = re.compile(r" {0,3}#{1,6}(?=\s)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*\n?")
_UNDERLINED = re.compile(r" {0,3}(?![>#|]|[-*+][ \t]|\d+[.)][ \t])\S.*\n")


def read_markdown(data: bytes, shown: str) -> Content:
    """Parse Markdown: the visible text, its headings, and metadata of a front matter.

    Front matter in YAML (---) or TOML (+++) is cut from the text where all of it becomes metadata.
    """
    page = read_text(data, shown)
    text = page.text
    front = _FRONT_MATTER.match(text)
    values, problem = _front_matter_values(front) if front else ({}, "")
    title = values.get("title")
    body = front.end() if front and values else 0  # a block that is no mapping is text
    if body and not plain(values)[1] and not is_blank(text[body:]):
        text, body = text[body:].lstrip("\n"), 0
    visible = _without_comments(text)
    if imports := _IMPORTS.match(visible):
        visible = visible[imports.end() :].lstrip("\n")
    text = text if is_blank(visible) else visible
    return replace(
        page,
        text=text,
        title=title.strip() if isinstance(title, str) else "",
        metadata={**values, **page.metadata},
        headings=tuple(islice(_markdown_headings(text, body), MAX_HEADINGS + 1)),
        skipped=(*page.skipped, *([Skipped("front matter", problem)] if problem else [])),
    )


def _without_comments(text: str) -> str:
    """Cut comments outside of code, with their lines if nothing else is on them."""
    pieces: list[str] = []
    position = 0
    is_blank_line = True  # so far
    for start, end in _comments(text):
        piece = text[position:start]
        lines, line_feed, before = piece.rpartition("\n")
        is_blank_line = not before.strip() and (bool(line_feed) or is_blank_line)
        rest = _REST_OF_LINE.match(text, end) if is_blank_line else None
        if rest:
            position = rest.end()
            is_apart = lines.endswith("\n") or not piece or text.startswith("\n", position)
            pieces += [lines, line_feed, "" if is_apart else "\n"]
        else:
            pieces.append(piece)
            position = end
    return "".join([*pieces, text[position:]])


def _comments(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of comments outside of code, in order.

    Comments behind the first _MAX_PARSED characters are not sought.
    """
    last = max(text.rfind(one) for one in _COMMENTS.values())
    if last < 0 or not any(one in text for one in _COMMENTS):
        return
    end = text.find("\n\n", min(last, _MAX_PARSED), 2 * _MAX_PARSED) + 1 or 2 * _MAX_PARSED
    end = min(end, len(text))
    starts = [0, *(one.end() for one in re.finditer("\n", text[:end])), end]
    for block in _BLOCKS.parse(text[:end]):
        if block.map is None:
            continue
        span = starts[block.map[0]], starts[min(block.map[1], len(starts) - 1)]
        if block.type == "html_block" and not _RAW_TEXT.match(text, *span):
            yield from _comments_in_html(text, *span)
        elif block.type in ("paragraph_open", "heading_open", "tr_open"):
            yield from _comments_in_line(text, *span)


def _comments_in_html(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while (start := text.find("<!--", start, end)) >= 0:
        stop = text.find("-->", start + 2, end)
        if stop < 0:
            return
        yield start, stop + 3
        start = stop + 3


def _comments_in_line(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of comments between the code spans of a paragraph."""
    runs: dict[int, list[int]] = defaultdict(list)  # of backticks, by their length
    for run in re.finditer("`+", text[start:end]):
        runs[len(run[0])].append(start + run.start())
    missing = set()  # ends that do not come
    while sign := _INLINE.search(text, start, end):
        start = sign.end()
        if sign[0][0] == "`":
            closing = runs[len(sign[0])]
            following = bisect_right(closing, sign.start())
            if following < len(closing):
                start = closing[following] + len(sign[0])
        elif (close := _COMMENTS.get(sign[0])) and close not in missing:
            stop = text.find(close, sign.start() + 2, end)
            if stop < 0:
                missing.add(close)
            else:
                start = stop + 3
                yield sign.start(), start


class _FrontMatterLoader(yaml.SafeLoader):
    """A YAML loader without aliases, a few of which can expand to millions of values."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not read")
        return super().compose_node(parent, index)


def _front_matter_values(front: re.Match[str]) -> tuple[dict[Any, Any], str]:
    """Parse a front matter; return its values and the problem, if there is one."""
    language, block = ("YAML", front[1]) if front[1] is not None else ("TOML", front[2])
    if len(block) > _MAX_FRONT_MATTER:
        return {}, f"longer than {_MAX_FRONT_MATTER:,} characters"
    try:
        # The loader is a SafeLoader.
        values = (
            yaml.load(block, _FrontMatterLoader) if language == "YAML" else tomllib.loads(block)
        )
    except Exception as error:  # yaml also raises exceptions of other kinds
        return {}, f"not read, it is no {language} ({error_text(error)})"
    return (values, "") if isinstance(values, dict) else ({}, "")


def _markdown_headings(text: str, start: int) -> Iterator[Heading]:
    """Yield the headings after `start`: "# Title", or underlined by = or -."""
    fence = ""
    previous: re.Match[str] | None = None  # the previous line, if it can be a heading
    for line in _LINE.finditer(text, start):
        mark = _FENCE.match(line[0])
        if fence:
            if mark and mark[1].startswith(fence) and not line[0].strip(" \n" + fence[0]):
                fence = ""
        elif mark:
            fence, previous = mark[1], None
        elif hashes := _HASHES.match(line[0]):
            previous = None
            title = line[0][hashes.end() :].strip()
            bare = title.rstrip("#")  # "# Title #" is closed by hashes
            if title := bare.rstrip() if not bare or bare[-1].isspace() else title:
                yield Heading(line.start(), title, hashes[0].count("#"))
        elif previous and _UNDERLINE.fullmatch(line[0]):
            yield Heading(previous.start(), previous[0].strip(), 1 if "=" in line[0] else 2)
            previous = None
        else:
            previous = line if _UNDERLINED.fullmatch(line[0]) else None
