"""Parser of Markdown: the text as it is in the file, but for what readers do not see.

Comments, imports of MDX and front matter are left out; front matter becomes metadata.
"""

import re
import tomllib
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import accumulate
from typing import Any

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

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
_PARSED, _MAX_BLOCK = 200_000, 2_000_000  # characters that are parsed at once, and of one block
_BLOCKS = MarkdownIt("commonmark").enable("table")  # parses no inline text
_BLOCKS.core.ruler.enableOnly(["normalize", "block"])
_COMMENTS = {"<!--": "-->", "{/*": "*/}"}  # of HTML and of MDX
_INLINE = re.compile(r"\\[!-/:-@\[-`{-~]|`+|<!--|\{/\*")
_RAW_TEXT = re.compile(r"\s*<(?:script|style|textarea)\b", re.IGNORECASE)
_REST_OF_LINE = re.compile(r"[ \t]*(?:\n|\Z)")
_HEADING_OR_COMMENT = re.compile(r"#|<!--|\{/\*|\n {0,3}(?:=+|-+)[ \t]*(?:\n|\Z)")
_MDX = re.compile(
    r"""^(?:import\s.*\sfrom\s*["']|export\s+(?:const|default|\*|\{))|</?[A-Z][\w.]*[\s/>]""",
    re.MULTILINE,
)
_IMPORTS = re.compile(  # statements of JavaScript, each on its own line, but for names in braces
    r"""(?:(?:[ \t]*\n)*(?:
        import\s+(?:[\w$]+|(?:[\w$]+\s*,\s*)?(?:\{[^{}]*\}|\*\s*as\s+[\w$]+))\s+from\s*(["'])[^"'\n]+\1
        |import\s*(["'])[^"'\n]+\2
        |export\s+(?:\*(?:\s*as\s+[\w$]+)?|\{[^{}]*\})\s*from\s*(["'])[^"'\n]+\3
        |export\s+(?:const|let|var)\s+[\w$]+\s*=[^\n]*;
        |export\s+default\s+[\w$.]+;
    )[ \t]*;?[ \t]*(?:\n|\Z))+(?=[ \t]*(?:\n|\Z))""",
    re.VERBOSE,
)
_HASHES = re.compile(r" {0,3}#")
_LINE_FEED = re.compile("\n")
_MOST_LINES = 4  # of an underlined title and its line; a longer one is a paragraph and a rule
_ATTRIBUTES = re.compile(r"\s{0,3}\{#[\w:.-]{1,99}(?:\s[^{}]{0,99})?\}\Z")  # "Title {#address}"


def read_markdown(data: bytes, shown: str) -> Content:
    """Parse Markdown: the visible text, its headings, and metadata of a front matter.

    Front matter in YAML (---) or TOML (+++) is cut from the text where all of it becomes metadata.
    """
    page = read_text(data, shown)
    text = page.text
    front = _FRONT_MATTER.match(text)
    values, problem = _front_matter_values(front) if front else ({}, "")
    title = values.get("title")
    body = front.end() if front and (values or problem) else 0  # a list or a line is text
    if values and not plain(values)[1] and not is_blank(text[body:]):
        text, body = text[body:].lstrip("\n"), 0
    visible, headings = _parsed(text, body)
    if is_blank(visible):
        visible, headings = text, []
    return replace(
        page,
        text=visible,
        title=title.strip() if isinstance(title, str) else "",
        metadata={**values, **page.metadata},
        headings=tuple(headings),
        skipped=(*page.skipped, *([Skipped("front matter", problem)] if problem else [])),
    )


def _parsed(text: str, body: int) -> tuple[str, list[Heading]]:
    """Return the text without comments and imports, and its headings.

    Both are sought from the position `body` on.
    """
    signs = [one for one in _COMMENTS if one == "<!--" or _MDX.search(text, body)]
    comments: list[tuple[int, int]] = []
    headings: list[Heading] = []
    for token, content, start, end in _blocks(text, body):
        if token.type == "html_block" and not _RAW_TEXT.match(text, start, end):
            comments += _comments_in_html(text, start, end)
        elif token.type in ("paragraph_open", "heading_open", "tr_open"):
            comments += _comments_in_line(text, start, end, signs)
        if token.type == "heading_open" and len(headings) <= MAX_HEADINGS:
            is_hashed = _HASHES.match(text, start)
            top, bottom = token.map or (0, 0)  # lines
            title = _without(content, _comments_in_line(content, 0, len(content), signs))
            title = _ATTRIBUTES.sub("", title.strip()).replace("\n", " ")
            if title and (is_hashed or (token.level == 0 and bottom - top <= _MOST_LINES)):
                headings.append(Heading(start, title, int(token.tag[1])))
    cuts = _with_lines(text, comments)
    visible = _without(text, cuts)
    first = 0
    if imports := _IMPORTS.match(visible):
        first = len(visible) - len(visible[imports.end() :].lstrip("\n"))
    ends = [end for _, end in cuts]
    removed = [0, *accumulate(end - start for start, end in cuts)]
    moved = [
        one._replace(start=one.start - removed[bisect_right(ends, one.start)] - first)
        for one in headings
    ]
    return visible[first:], [one for one in moved if one.start >= 0]


def _blocks(text: str, start: int) -> Iterator[tuple[Token, str, int, int]]:
    """Yield the tokens of blocks, with the content that follows and their positions.

    The text is parsed in parts. The last block or list item of a part may go on behind it: it
    begins the next part.
    """
    size = _PARSED
    if not _HEADING_OR_COMMENT.search(text, start):
        return
    while start < len(text):
        end = text.find("\n", start + size) + 1 or len(text)
        starts = [start, *(one.end() for one in _LINE_FEED.finditer(text, start, end)), end]
        tokens = _BLOCKS.parse(text[start:end])
        last = len(tokens)
        if end < len(text):
            last = next((at for at in range(last - 1, -1, -1) if _can_begin(tokens[at])), last)
            if last == len(tokens) and size < _MAX_BLOCK:
                size *= 2
                continue
        for at, token in enumerate(tokens[:last]):
            if token.map and token.type != "inline":
                content = tokens[at + 1].content if token.type == "heading_open" else ""
                yield token, content, starts[token.map[0]], starts[token.map[1]]
        following = tokens[last].map if last < len(tokens) else None
        start, size = starts[following[0]] if following else end, _PARSED


def _can_begin(token: Token) -> bool:
    """Whether the token begins a block or an item of a list behind the start of its part."""
    is_first_of_two = token.level == 0 or (token.level == 1 and token.type == "list_item_open")
    return bool(token.map and token.map[0] > 0 and is_first_of_two)


def _without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Cut spans out of the text."""
    pieces = []
    position = 0
    for start, end in spans:
        pieces.append(text[position:start])
        position = end
    return "".join([*pieces, text[position:]])


def _with_lines(text: str, comments: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Widen the spans of comments to their lines if nothing else is on them.

    A line feed stays between the paragraphs before and behind a comment.
    """
    spans: list[tuple[int, int]] = []
    position = 0
    is_blank_line = True  # so far
    for start, end in comments:
        line = max(position, text.rfind("\n", position, start) + 1)
        is_blank_line = not text[line:start].strip() and (line > position or is_blank_line)
        rest = _REST_OF_LINE.match(text, end) if is_blank_line else None
        if rest:
            end, start = rest.end(), line
            is_apart = (
                text[position:start].endswith("\n\n")
                or start == position
                or text.startswith("\n", end)
            )
            end -= not is_apart and text[end - 1] == "\n"
        spans.append((start, end))
        position = end
    return spans


def _comments_in_html(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while (start := text.find("<!--", start, end)) >= 0:
        stop = text.find("-->", start + 2, end)
        if stop < 0:
            return
        yield start, stop + 3
        start = stop + 3


def _comments_in_line(
    text: str, start: int, end: int, signs: list[str]
) -> Iterator[tuple[int, int]]:
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
        elif sign[0] in signs and (close := _COMMENTS[sign[0]]) not in missing:
            stop = text.find(close, sign.start() + 2, end)
            if stop < 0:
                missing.add(close)
            else:
                start = stop + 3
                yield sign.start(), start


class _FrontMatterLoader(yaml.BaseLoader):
    """A YAML loader of texts: "NO" and 1.10 stay as they are written.

    Aliases, a few of which can expand to millions of values, are errors.
    """

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
        # The loader makes nothing but texts, lists and mappings.
        values = (
            yaml.load(block, _FrontMatterLoader) if language == "YAML" else tomllib.loads(block)
        )
    except Exception as error:  # yaml also raises exceptions of other kinds
        return {}, f"not read, it is no {language} ({error_text(error)})"
    return (values, "") if isinstance(values, dict) else ({}, "")
