"""Conversion of HTML to its visible text, in paragraphs and lines, with positions of headings.

Signs keep what tags show: `10^30` and `[2]` for superscripts, `1/2` for fractions, `4.` for items
of numbered lists, `[x]` for checkboxes, `(kan)` for ruby, `[text](address)` for links elsewhere.
"""

import re
from dataclasses import dataclass
from enum import Enum
from html import unescape
from html.parser import HTMLParser

from graphreader.documents import Skipped
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
    "textarea dialog title del s strike rp ix:header ix:hidden"
)
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_SIGNS = {"mfrac": "/", "msup": "^", "msub": "_"}  # between the two parts of these elements
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
_MOST_PARTS = 50  # of an inline element; a longer one is left as it is
_MOST_SPANNED, _MOST_COLUMNS = 50, 200  # columns or rows of a cell; columns of a row
_ABSOLUTE = ("http://", "https://", "mailto:")
_NOTE_OR_EXPONENT = re.compile(r"[-−+]?\d{1,3}|[*†‡§a-z]")
# A number but for years, or a unit or variable, right before an exponent.
_BASE = re.compile(r"(?:(?<!\d)\d{1,3}|\d[.,]\d+|(?<![^\W\d_])[^\W\d_]{1,2}|\))\Z")
_Spans = dict[int, tuple[str, int]]  # by column: the text of a cell above, and rows that it goes on
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
        headings=tuple(layout.headings),
        skipped=(*page.skipped, *([Skipped(unread, "a tag without an end")] if unread else [])),
    )


class _Mark(Enum):
    """A boundary between pieces of text."""

    LINE = "line"
    BREAK = "one more line"
    PARAGRAPH = "paragraph"
    HEADING = "start of heading"
    END_OF_HEADING = "end of heading"


class _Verbatim(str):
    """A text whose white space is kept."""


@dataclass(frozen=True, slots=True)
class _Item:
    """The start of a list item, with its bullet or number."""

    label: str


@dataclass(frozen=True, slots=True)
class _Cell:
    """The start of a table cell that spans some columns and rows."""

    columns: int = 1
    rows: int = 1


_Part = str | _Mark | _Item | _Cell


@dataclass(frozen=True, slots=True)
class _Element:
    """An open HTML element; `first_part` is the number of text parts before it."""

    tag: str
    invisible: bool
    first_part: int
    address: str = ""


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
        self._numbers: list[int | None] = []  # of the next items of open lists, None for bullets
        self._tables: list[_Spans] = []  # of the open tables

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
            self._begin(tag, attributes)
        if tag in _VOID:
            return
        is_navigation = attributes.get("role") == "navigation"
        is_hidden = "hidden" in attributes or _HIDDEN.search(attributes.get("style", ""))
        invisible = tag in _INVISIBLE or bool(is_hidden) or is_navigation
        address = attributes.get("href", "") if tag == "a" else ""
        self._open.append(_Element(tag, invisible, len(self.parts), address))
        self._counts[tag] = self._counts.get(tag, 0) + 1
        self._invisible += invisible

    def _begin(self, tag: str, attributes: dict[str, str]) -> None:
        """Add the parts with which a visible element begins."""
        parent = self._open[-1] if self._open else None
        if parent and parent.tag in _SIGNS and len(self.parts) > parent.first_part:
            self.parts.append(_SIGNS[parent.tag])
        match tag:
            case "br":
                self.parts.append(_Mark.BREAK)
            case "ol":
                self._numbers.append(_number(attributes.get("start"), 1))
            case "ul":
                self._numbers.append(None)
            case "li":
                self.parts.append(_Item(self._label(attributes)))
            case "td" | "th":
                spans = (_number(attributes.get(name), 1) for name in ("colspan", "rowspan"))
                self.parts.append(_Cell(*(min(max(1, one), _MOST_SPANNED) for one in spans)))
            case "table":
                self._tables.append({})
            case "input" if attributes.get("type", "").lower() == "checkbox":
                self.parts.append("[x] " if "checked" in attributes else "[ ] ")
            case "img" if attributes.get("alt", "").strip():
                self.parts.append(f" {attributes['alt'].strip()} ")
            case _ if tag in _HEADINGS:
                self.parts.append(_Mark.HEADING)

    def _label(self, attributes: dict[str, str]) -> str:
        """The bullet or the number of the next list item."""
        if not self._numbers or (number := self._numbers[-1]) is None:
            return "- "
        number = _number(attributes.get("value"), number)
        self._numbers[-1] = number + 1
        return f"{number}. "

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
            self._end(element)
            self._separate(element.tag)
        return element.tag

    def _end(self, element: _Element) -> None:
        """Write the parts of a visible element that ends in their form for reading."""
        match element.tag:
            case "tr" if self._counts["tr"] < _NESTED_ROWS:
                spans = self._tables[-1] if self._tables else {}
                self.parts[element.first_part :] = _table_row(
                    self.parts[element.first_part :], spans
                )
            case "table" if self._tables:
                self._tables.pop()
            case "ol" | "ul" if self._numbers:
                self._numbers.pop()
            case "sup" | "sub" | "rt" | "a" if len(self.parts) - element.first_part <= _MOST_PARTS:
                self._end_inline(element)

    def _end_inline(self, element: _Element) -> None:
        parts = self.parts[element.first_part :]
        text = "".join(part for part in parts if isinstance(part, str)).strip()
        match element.tag:
            case "sup" if text:
                self.parts[element.first_part :] = [self._superscript(text, element.first_part)]
            case "sub" if text.isdigit() and self.parts[element.first_part - 1] == "/":
                before = self.parts[element.first_part - 2]
                if isinstance(before, str) and before.startswith("^"):  # 1¹/₂
                    self.parts[element.first_part - 2] = f" {before[1:]}"
            case "rt" if text:
                self.parts[element.first_part :] = [f"({text})"]
            case "a" if self._counts.get("sup") and text.isdigit():
                self.parts[element.first_part :] = [f"[{text}]"]
            case "a" if text and element.address.startswith(_ABSOLUTE) and text != element.address:
                self.parts[element.first_part :] = ["[", *parts, f"]({element.address})"]

    def _superscript(self, text: str, first_part: int) -> str:
        """The written form of a superscript: an exponent, the mark of a note, or plain letters."""
        if not _NOTE_OR_EXPONENT.fullmatch(text):
            return text  # 1st, M.lle
        tail = (part for part in self.parts[max(0, first_part - 3) : first_part])
        before = "".join(part for part in tail if isinstance(part, str))
        is_exponent = _BASE.search(before) and not self._counts.get("a")
        return f"^{text}" if is_exponent else f"[{text}]"

    def _separate(self, tag: str) -> None:
        """Separate the text before and after a tag. A list in a list item is no paragraph."""
        if tag in _LINES or (tag in _LISTS and self._counts.get("li")):
            self.parts.append(_Mark.LINE)
        elif tag in _PARAGRAPHS:
            self.parts.append(_Mark.PARAGRAPH)


def _number(written: str | None, otherwise: int) -> int:
    """The number of an attribute, at most six digits; another value if it is none."""
    return int(written) if written and re.fullmatch(r"-?[0-9]{1,6}", written) else otherwise


def _table_row(parts: list[_Part], spans: "_Spans") -> list[_Part]:
    """Join the cells of a table row as "a | b", or as paragraphs if the table is page layout.

    A cell that spans columns or rows is repeated in each; `spans` are those of the rows above.
    """
    size = sum(len(part) for part in parts if isinstance(part, str))
    has_blocks = any(one in parts for one in (_Mark.PARAGRAPH, _Mark.LINE, _Mark.HEADING))
    if has_blocks and (_Mark.HEADING in parts or size > _LONGEST_ROW):
        return [_Mark.PARAGRAPH if isinstance(part, _Cell) else part for part in parts]
    cells: list[tuple[_Cell, str]] = []
    for part in parts:
        if isinstance(part, _Cell) or (not cells and isinstance(part, str)):
            cells.append((part if isinstance(part, _Cell) else _Cell(), ""))
        if cells and not isinstance(part, _Cell):
            cells[-1] = (cells[-1][0], cells[-1][1] + (part if isinstance(part, str) else " "))
    columns: list[str] = []
    following: _Spans = {}
    waiting = iter(cells)
    while len(columns) < _MOST_COLUMNS:
        if (place := len(columns)) in spans:
            text, rows = spans.pop(place)
            columns.append(text)
            if rows > 1:
                following[place] = (text, rows - 1)
            continue
        cell, text = next(waiting, (None, ""))
        if cell is None:
            break
        text = _squeezed(text).strip()
        for _ in range(cell.columns):
            if cell.rows > 1:
                following[len(columns)] = (text, cell.rows - 1)
            columns.append(text)
    spans.update(following)
    line = " | ".join(columns)
    return [line] if line.strip(" |") else []


class _Layout:
    """A builder of the text and its headings, which adds one part at a time."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.headings: list[tuple[int, str]] = []
        self._length = 0
        self._newlines = 0  # pending before the next piece
        self._space = False  # pending before the next piece
        self._item = ""  # the bullet or number that is pending
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
            case _Item(label=label):
                self._item = label
            case _Cell():
                self._space = True
            case _ if not self._item:  # a block at the start of a list item begins no new line
                due = self._newlines + 1 if part is _Mark.BREAK else 1 + (part is _Mark.PARAGRAPH)
                self._newlines = min(2, max(self._newlines, due))

    def _write(self, text: str) -> None:
        """Append text after the pending separators."""
        if not text:
            return
        before = "\n" * self._newlines or (" " if self._space else "")
        before = (before if self._length else "") + self._item
        self.pieces += [before, text]
        self._length += len(before) + len(text)
        self._newlines, self._space, self._item = 0, False, ""

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
