"""Conversion of HTML to its visible text, in paragraphs and lines, with positions of headings."""

import re
from dataclasses import dataclass
from enum import Enum
from html import unescape
from html.parser import HTMLParser

from graphreader.documents import Heading, Skipped
from graphreader.ingestion.loading.content import Content, read_text


def _tags(names: str) -> frozenset[str]:
    return frozenset(names.split())


_HEADINGS = _tags("h1 h2 h3 h4 h5 h6")
_LISTS = _tags("ol ul")
_CELLS = _tags("td th")
_LINES = _tags("dd dt figcaption legend li option summary tr")
_PARAGRAPHS = _HEADINGS | _tags(
    "address article aside blockquote body caption details div dl fieldset figure footer form "
    "header hgroup hr main ol p pre section table ul"
)
_INVISIBLE = _tags(
    "script style nav template noscript svg canvas iframe object audio video button select "
    "textarea dialog title"
)
_VOID = _tags("area base br col embed hr img input link meta source track wbr")

# The start tags that end an open element without an end tag.
_ENDED_BY = {
    "p": _PARAGRAPHS | _LINES | _CELLS,
    "li": {"li"},
    "dt": {"dt", "dd"},
    "dd": {"dt", "dd"},
    "tr": {"tr"},
    "td": {"td", "th", "tr"},
    "th": {"td", "th", "tr"},
}

_META = _tags("author date description keywords article:published_time")
_ENCODING = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z0-9_.:-]+)""")
_SPACES = re.compile(r"[ \t\n\f\r]+")
_LONGEST_ROW = 1_000  # characters; a longer row with paragraphs in it is page layout
_NESTED_ROWS = 20  # rows nested deeper are page layout too
_UNFINISHED = re.compile(r"<[A-Za-z/!?]")


def read_html(data: bytes, shown: str) -> Content:
    """Parse a page into its text, title, headings and metadata, in linear time.

    A comment, tag or script without an end hides the rest of the page, as in browsers (HTML
    standard, section 13.2.5), and is noted in `skipped`.
    """
    declared = _ENCODING.search(data[:2048])
    page = read_text(data, shown, declared[1].decode("ascii") if declared else "")
    parser = _Parser()
    parser.feed(page.text.lstrip("\ufeff"))
    unread = parser.end()
    layout = _Layout()
    for part in parser.parts:
        layout.add(part)
    return Content(
        "".join(layout.pieces),
        _squeezed("".join(parser.title)).strip(),
        {**parser.metadata, **page.metadata},
        headings=tuple(Heading(*one) for one in layout.headings),
        skipped=(*page.skipped, *([Skipped(unread, "a tag without an end")] if unread else [])),
    )


class _Mark(Enum):
    """A boundary between pieces of text."""

    LINE = "line"
    BREAK = "one more line"
    PARAGRAPH = "paragraph"
    ITEM = "list item"
    CELL = "table cell"
    HEADING = "start of heading"
    END_OF_HEADING = "end of heading"


class _Verbatim(str):
    """A text whose white space is kept."""


_Part = str | _Mark


@dataclass(frozen=True, slots=True)
class _Element:
    """An open HTML element; `first_part` is the number of text parts before it."""

    tag: str
    invisible: bool
    first_part: int


class _Parser(HTMLParser):
    """An HTML parser that collects visible text with boundary marks, the title and metadata."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[_Part] = []
        self.title: list[str] = []
        self.metadata: dict[str, str] = {}
        self._open: list[_Element] = []
        self._counts: dict[str, int] = {}  # open elements by tag
        self._invisible = 0  # number of open invisible elements

    def end(self) -> str:
        """Parse the remaining text; return the size of an unfinished tag, in characters.

        It replaces `close`, which in Python 3.11 searches the rest anew for each "<".
        """
        rest, self.rawdata = self.rawdata, ""
        if rest and (self.cdata_elem or _UNFINISHED.match(rest)):
            return f"the last {len(rest):,} characters"
        if rest:
            self.handle_data(unescape(rest))
        return ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element."""
        attributes = {name: value or "" for name, value in attrs}
        self._take_metadata(tag, attributes)
        while self._open and tag in _ENDED_BY.get(self._open[-1].tag, ()):
            self._close_innermost()
        if not self._invisible:
            self._separate(tag)
            if tag == "br":
                self.parts.append(_Mark.BREAK)
            elif tag == "li":
                self.parts.append(_Mark.ITEM)
            elif tag in _CELLS:
                self.parts.append(_Mark.CELL)
            elif tag in _HEADINGS:
                self.parts.append(_Mark.HEADING)
        if tag in _VOID:
            return
        is_navigation = attributes.get("role") == "navigation"
        invisible = tag in _INVISIBLE or "hidden" in attributes or is_navigation
        self._open.append(_Element(tag, invisible, len(self.parts)))
        self._counts[tag] = self._counts.get(tag, 0) + 1
        self._invisible += invisible

    def handle_endtag(self, tag: str) -> None:
        """Close an element and all open elements inside of it."""
        if self._counts.get(tag):
            while self._close_innermost() != tag:
                pass

    def handle_data(self, data: str) -> None:
        """Collect visible text, and the text of the title."""
        if self._counts.get("title") and self._open[-1].tag == "title" and self._invisible == 1:
            self.title.append(data)
        elif not self._invisible:
            self.parts.append(_Verbatim(data) if self._counts.get("pre") else data)

    def _take_metadata(self, tag: str, attributes: dict[str, str]) -> None:
        name = (attributes.get("name") or attributes.get("property", "")).lower()
        if tag == "meta" and name in _META and attributes.get("content"):
            self.metadata.setdefault(name, attributes["content"].strip())
        if tag == "html" and attributes.get("lang"):
            self.metadata.setdefault("language", attributes["lang"])

    def _close_innermost(self) -> str:
        element = self._open.pop()
        self._counts[element.tag] -= 1
        self._invisible -= element.invisible
        if not self._invisible and not element.invisible:
            if element.tag in _HEADINGS:
                self.parts.append(_Mark.END_OF_HEADING)
            if element.tag == "tr" and self._counts["tr"] < _NESTED_ROWS:
                self.parts[element.first_part :] = _table_row(self.parts[element.first_part :])
            self._separate(element.tag)
        return element.tag

    def _separate(self, tag: str) -> None:
        """Separate the text before and after a tag. A list in a list item is no paragraph."""
        if tag in _LINES or (tag in _LISTS and self._counts.get("li")):
            self.parts.append(_Mark.LINE)
        elif tag in _PARAGRAPHS:
            self.parts.append(_Mark.PARAGRAPH)


def _table_row(parts: list[_Part]) -> list[_Part]:
    """Join the cells of a table row as "a | b", or as paragraphs if the table is page layout."""
    size = sum(len(part) for part in parts if isinstance(part, str))
    has_blocks = any(one in parts for one in (_Mark.PARAGRAPH, _Mark.LINE, _Mark.HEADING))
    if has_blocks and (_Mark.HEADING in parts or size > _LONGEST_ROW):
        return [_Mark.PARAGRAPH if part is _Mark.CELL else part for part in parts]
    cells: list[str] = []
    for part in parts:
        if part is _Mark.CELL or (not cells and not isinstance(part, _Mark)):
            cells.append("")
        if cells:
            cells[-1] += part if isinstance(part, str) else " "
    line = " | ".join(_squeezed(cell).strip() for cell in cells)
    return [line] if line.strip(" |") else []


class _Layout:
    """A builder of the text and its headings, which adds one part at a time."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.headings: list[tuple[int, str]] = []
        self._length = 0
        self._newlines = 0  # pending before the next piece
        self._space = self._item = False  # pending before the next piece
        self._heading: tuple[int, int] | None = None  # position in characters and in pieces

    def add(self, part: _Part) -> None:
        match part:
            case _Verbatim():
                self._write(part.lstrip("\n") if self._newlines else part)
            case str():
                words = _squeezed(part)
                self._space |= words.startswith(" ")
                self._write(words.strip(" "))
                self._space |= words.endswith(" ")
            case _Mark.HEADING:
                self._heading = (self._length, len(self.pieces))
            case _Mark.END_OF_HEADING:
                self._end_heading()
            case _Mark.ITEM:
                self._item = True
            case _Mark.CELL:
                self._space = True
            case _ if not self._item:  # a block at the start of a list item begins no new line
                due = self._newlines + 1 if part is _Mark.BREAK else 1 + (part is _Mark.PARAGRAPH)
                self._newlines = min(2, max(self._newlines, due))

    def _write(self, text: str) -> None:
        """Append text after the pending separators."""
        if not text:
            return
        before = "\n" * self._newlines or (" " if self._space else "")
        before = (before if self._length else "") + ("- " if self._item else "")
        self.pieces += [before, text]
        self._length += len(before) + len(text)
        self._newlines, self._space, self._item = 0, False, False

    def _end_heading(self) -> None:
        if self._heading is None:
            return
        length, first = self._heading
        pieces = self.pieces[first:]
        if title := _squeezed("".join(pieces[1:])).strip():
            self.headings.append((length + len(pieces[0]), title))
        self._heading = None


def _squeezed(text: str) -> str:
    """Collapse each run of white space to one space, and drop soft hyphens."""
    return _SPACES.sub(" ", text).replace("\xad", "")
