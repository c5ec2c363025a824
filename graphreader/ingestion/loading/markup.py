"""HTML becomes text: blocks become paragraphs, rows of a table lines, headings are remembered.

What nobody reads on the page is left out: scripts, styles, navigation, controls, what is hidden.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from html.parser import HTMLParser

from graphreader.errors import DocumentError
from graphreader.ingestion.loading.content import Content, told_by
from graphreader.ingestion.loading.encodings import decode


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


_HEADINGS = _names("h1 h2 h3 h4 h5 h6")
_UNREAD = _names(
    "script style nav template noscript svg canvas iframe object audio video button select "
    "textarea dialog title"
)
_EMPTY = _names("area base br col embed hr img input link meta source track wbr")
_PARAGRAPHS = _HEADINGS | _names(
    "address article aside blockquote body caption details div dl fieldset figure footer form "
    "header hgroup hr main ol p pre section table ul"
)
_LINES = _names("dd dt figcaption legend li option summary tr")
_LISTS = _names("ol ul")
_CELLS = _names("td th")
# What an element that is still open is ended by: end tags are often left out.
_ENDED_BY = {
    "p": _PARAGRAPHS | _LINES | _CELLS,
    "li": {"li"},
    "dt": {"dt", "dd"},
    "dd": {"dt", "dd"},
    "tr": {"tr"},
    "td": {"td", "th", "tr"},
    "th": {"td", "th", "tr"},
}
_TOLD = _names("author date description keywords article:published_time")
_DECLARED = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z0-9_.:-]+)""")
_LONGEST_ROW = 1_000  # characters; a longer one with paragraphs in it lays out a page
_SPACES = re.compile(r"[ \t\n\f\r]+")


def read_html(data: bytes, shown: str) -> Content:
    """The text of a page, titled as it says. Raises DocumentError where it is none."""
    declared = _DECLARED.search(data[:2048])
    decoded = decode(data, shown, declared[1].decode("ascii") if declared else "")
    reader = _Reader()
    try:
        reader.feed(decoded.text.lstrip("\ufeff"))
        reader.close()
    except AssertionError as error:  # how html.parser tells of what no page has: <![so[
        raise DocumentError(
            f"{shown} cannot be read as HTML ({told_by(error)}): is it damaged?"
        ) from error
    text, headings = _laid_out(reader.parts)
    metadata = {**reader.metadata, **decoded.metadata}
    title = _squeezed("".join(reader.title)).strip()
    return Content(text, title, metadata, headings=headings, skipped=decoded.skipped)


class _Mark(Enum):
    """What stands between pieces of text."""

    LINE = "line"  # a new line is needed
    BREAK = "break"  # another new line
    PARAGRAPH = "paragraph"
    ITEM = "item"
    CELL = "cell"
    HEADING = "heading"
    END_OF_HEADING = "end of heading"


@dataclass(frozen=True, slots=True)
class _Verbatim:
    """Text whose white space counts."""

    text: str


_Part = str | _Verbatim | _Mark


class _Reader(HTMLParser):
    """Collects what is read, in order, with marks between; and what the head tells."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[_Part] = []
        self.title: list[str] = []
        self.metadata: dict[str, str] = {}
        self._open: list[tuple[str, bool, int]] = []  # name, whether unread, parts before
        self._counts: dict[str, int] = {}
        self._unread = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins."""
        given = {name: value or "" for name, value in attrs}
        self._tell(tag, given)
        while self._open and tag in _ENDED_BY.get(self._open[-1][0], ()):
            self._end()
        self._mark(tag)
        if tag in _EMPTY:
            return
        unread = tag in _UNREAD or "hidden" in given or given.get("role") == "navigation"
        self._open.append((tag, unread, len(self.parts)))
        self._counts[tag] = self._counts.get(tag, 0) + 1
        self._unread += unread

    def handle_endtag(self, tag: str) -> None:
        """An element ends, and with it all that is open in it."""
        if self._counts.get(tag):
            while self._end() != tag:
                pass

    def handle_data(self, data: str) -> None:
        """Text."""
        if self._counts.get("title") and self._open[-1][0] == "title" and self._unread == 1:
            self.title.append(data)
        elif not self._unread:
            self.parts.append(_Verbatim(data) if self._counts.get("pre") else data)

    def _tell(self, tag: str, given: dict[str, str]) -> None:
        """Keep what the page says of itself."""
        name = (given.get("name") or given.get("property", "")).lower()
        if tag == "meta" and name in _TOLD and given.get("content"):
            self.metadata.setdefault(name, given["content"].strip())
        if tag == "html" and given.get("lang"):
            self.metadata.setdefault("language", given["lang"])

    def _mark(self, tag: str) -> None:
        """Note what the beginning of an element means for the text."""
        if self._unread:
            return
        self._divide(tag)
        if tag == "br":
            self.parts.append(_Mark.BREAK)
        elif tag == "li":
            self.parts.append(_Mark.ITEM)
        elif tag in _CELLS:
            self.parts.append(_Mark.CELL)
        elif tag in _HEADINGS:
            self.parts.append(_Mark.HEADING)

    def _end(self) -> str:
        """End the innermost element."""
        tag, unread, before = self._open.pop()
        self._counts[tag] -= 1
        self._unread -= unread
        if self._unread or unread:
            return tag
        if tag in _HEADINGS:
            self.parts.append(_Mark.END_OF_HEADING)
        if tag == "tr":
            self.parts[before:] = _row(self.parts[before:])
        self._divide(tag)
        return tag

    def _divide(self, tag: str) -> None:
        """Part the text before an element, or after it. A list in a list is no paragraph."""
        inner = tag in _LISTS and self._counts.get("li")
        if inner or tag in _LINES:
            self.parts.append(_Mark.LINE)
        elif tag in _PARAGRAPHS:
            self.parts.append(_Mark.PARAGRAPH)


def _row(parts: list[_Part]) -> list[_Part]:
    """The cells in one line, "a | b"; one below the other where they lay out a page."""
    size = sum(len(part) for part in parts if isinstance(part, str))
    broken = not {_Mark.PARAGRAPH, _Mark.LINE, _Mark.HEADING}.isdisjoint(
        part for part in parts if isinstance(part, _Mark)
    )
    if broken and (_Mark.HEADING in parts or size > _LONGEST_ROW):
        return [_Mark.PARAGRAPH if part is _Mark.CELL else part for part in parts]
    cells: list[str] = []
    for part in parts:
        if part is _Mark.CELL:
            cells.append("")
        elif not isinstance(part, _Mark):
            if not cells:
                cells.append("")
            cells[-1] += part if isinstance(part, str) else part.text
        elif cells:
            cells[-1] += " "
    line = " | ".join(_squeezed(cell).strip() for cell in cells)
    return [line] if line.strip(" |") else []


class _Layout:
    """The text that grows piece by piece, and its headings."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.headings: list[tuple[int, str]] = []
        self._length = 0
        self._lines = 0  # new lines that are due before the next piece
        self._space = self._item = False
        self._heading: tuple[int, int] | None = None  # where it begins, in characters and pieces

    def take(self, part: _Part) -> None:
        """Add a piece of text, or heed a mark."""
        match part:
            case _Verbatim(text):
                self._add(text.lstrip("\n") if self._lines else text)
            case str():
                words = _squeezed(part)
                self._space |= words.startswith(" ")
                self._add(words.strip(" "))
                self._space |= words.endswith(" ")
            case _Mark.HEADING:
                self._heading = (self._length, len(self.pieces))
            case _Mark.END_OF_HEADING:
                self._end_heading()
            case _Mark.ITEM:
                self._item = True
            case _Mark.CELL:
                self._space = True
            case _ if not self._item:  # what an item begins with is no new line
                due = self._lines + 1 if part is _Mark.BREAK else 1 + (part is _Mark.PARAGRAPH)
                self._lines = min(2, max(self._lines, due))

    def _add(self, text: str) -> None:
        """Text as it stands, after what is due before it."""
        if not text:
            return
        before = "\n" * self._lines or (" " if self._space else "")
        before = (before if self._length else "") + ("- " if self._item else "")
        self.pieces += [before, text]
        self._length += len(before) + len(text)
        self._lines, self._space, self._item = 0, False, False

    def _end_heading(self) -> None:
        """Remember where the heading began, if it has words."""
        if self._heading is None:
            return
        length, pieces = self._heading
        written = self.pieces[pieces:]
        if title := _squeezed("".join(written[1:])).strip():
            self.headings.append((length + len(written[0]), title))
        self._heading = None


def _laid_out(parts: Iterable[_Part]) -> tuple[str, tuple[tuple[int, str], ...]]:
    """The text of the parts, and where its headings begin."""
    layout = _Layout()
    for part in parts:
        layout.take(part)
    return "".join(layout.pieces), tuple(layout.headings)


def _squeezed(text: str) -> str:
    """Runs of white space as one space, without marks of where a word may be divided."""
    return _SPACES.sub(" ", text).replace("\xad", "")
