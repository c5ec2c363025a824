"""Conversion of HTML to its visible text, in paragraphs and lines, with positions of headings.

A table row is one line, `a | b`; a list item begins with `- ` or its number, `4. `; checkboxes are
`[x]` and `[ ]`, ruby stands in brackets. See `notation` for superscripts, notes and links.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape

from lxml import etree

from graphreader.documents import Skipped
from graphreader.ingestion.loading import elements, notation, tables
from graphreader.ingestion.loading.content import Content, read_text
from graphreader.ingestion.loading.layout import (
    HeadingStart,
    Layout,
    Mark,
    Part,
    Verbatim,
    row_cells,
    squeezed,
)
from graphreader.ingestion.loading.lists import BULLET, Item, List

_META = elements.tags("author date description keywords article:published_time")
_ENCODING = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z0-9_.:-]+)""")
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_NOTES = elements.tags("aside blockquote dd div dt p")
_ANCHORS = elements.tags("a b em i span strong sup")
_ITEM_LABEL = re.compile(r"•|[(\[]?(?:\d{1,3}|[a-zA-Z]|[ivxlc]{1,5})[.)\]]+")
_BRACKETED_MARK = re.compile(r"\[(?:\d{1,3}|[a-zA-Z*†‡]|[ivxlc]{2,5})\]")
_NOTE_ATTRIBUTES = re.compile(r"\b(?:doc-)?noteref\b|\bfootnote-?ref\b", re.IGNORECASE)
_NOTE_ADDRESS = re.compile(r"#_?(?:fn|ftn|edn|cite|\w*note)", re.IGNORECASE)
_POINTERS = elements.tags("↑ ↩ ↩︎ ⏎ ^ ¶ § # 🔗")  # links to a note's or a heading's own place
_POINTER = re.compile("[↩↑]\ufe0e?\\d{1,3}")  # one of several
_PICTURE_FILE = re.compile(r"\S+\.(?:jpe?g|png|gif|svg|webp)", re.IGNORECASE)
_SIMPLE_TERM = re.compile(r"[\w.,%]*|\S|\(.*\)")
_FEW_PARTS = 12  # of a note mark or a term of a formula
_REPEATS = 100_000  # characters of repeated cells in a page, and twice its size


def read_html(data: bytes, shown: str) -> Content:
    """Parse a page into its text, title, headings and metadata, in linear time.

    A comment, tag or script without an end hides the rest of the page, as in browsers (HTML
    standard, section 13.2.5), and is noted in `skipped`.
    """
    page = read_text(data, shown, declared_encoding(data))
    source = page.text
    if end := source.rfind("]]>") + 1:  # so that each search for an end finds one
        source = _CDATA.sub(lambda one: escape(one[1]), source[: end + 2]) + source[end + 2 :]
    target = _Target(source)
    parser = etree.HTMLParser(target=target, huge_tree=True)
    for start in range(0, len(source), 1 << 20):
        parser.feed(source[start : start + (1 << 20)])
    parser.feed(target.sentinel)
    parser.close()
    layout = Layout()
    for part in target.parts:
        layout.add(part)
    layout.add(Mark.PARAGRAPH)
    unread = [] if target.is_whole else [Skipped("the end of the page", "a tag without an end")]
    return Content(
        "".join(layout.pieces),
        squeezed("".join(target.title)).strip(),
        {**target.metadata, **page.metadata},
        headings=tuple(layout.headings),
        skipped=(*page.skipped, *unread),
        encoding=page.encoding,
        notes=page.notes,
    )


def declared_encoding(data: bytes) -> str:
    """The name of the encoding that a page declares, "" without one."""
    declared = _ENCODING.search(data[:2048])
    return declared[1].decode("ascii") if declared else ""


@dataclass(slots=True, eq=False)
class _Element:
    """An open HTML element; parts, words and marks are counted before its content."""

    tag: str = ""
    is_invisible: bool = False
    is_deleted: bool = False
    first_part: int = 0
    words: int = 0
    marks: int = 0
    address: str = ""
    is_note: bool = False
    terms: int = 0  # of a formula's element
    is_term: bool = False  # of a formula
    end: str = ""  # the sign behind a term
    is_formula: bool = False
    is_label: bool = False
    is_footnote: bool = False  # with a mark before it
    is_silent: bool = False  # for screen readers
    cells: list[tables.GridCell] = field(default_factory=list)
    is_layout: bool = False


_PLAIN = _Element()  # an element that changes nothing


class _Target:
    """A target of lxml's parser, which collects visible text with marks, the title and metadata."""

    def __init__(self, source: str) -> None:
        self.parts: list[Part] = []
        self.title: list[str] = []
        self.metadata: dict[str, str] = {}
        # A character at the end of the page shows whether the parser came there.
        self.sentinel = next(one for one in map(chr, range(0xE000, 0xF8FF)) if one not in source)
        self.is_whole = False
        self._room = _REPEATS + 2 * len(source)
        self._open: list[_Element] = []
        self._counts = dict.fromkeys(("heading", "li", "math", "pre"), 0)  # visible open elements
        self._invisible = 0  # number of open invisible elements
        self._words = self._marks = 0  # so far
        self._line = 0  # words before the line
        self._is_after_start = self._is_letter = False  # is_letter: the last element's whole text
        self._formula_end = -1  # words up to the end of the last formula
        self._silent = (0, -1, 0)  # first part of the last silent element, words and marks so far
        self._lists: list[List] = []
        self._tables: list[list[tables.GridRow]] = []
        self._groups: list[int] = []
        self._rows: list[_Element] = []
        self._shifted: list[_Element] = []  # open superscripts
        self._anchors: list[_Element] = []  # open links within the page
        self._notes: dict[str, str] = {}  # marks of notes by the addresses that they lead to

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Open an element."""
        self._is_after_start = True
        self._take_metadata(tag, attributes)
        tag = elements.shown_as(tag, attributes)
        parent = self._open[-1] if self._open else _PLAIN
        if tag in elements.RUBY and parent.tag in elements.RUBY:
            self._open[-1] = _PLAIN
            self._close(parent)
        is_hidden = self._hides(tag, attributes)
        if is_hidden or self._invisible:
            self._invisible += is_hidden
            self._open.append(_Element(tag, is_invisible=True) if is_hidden else _PLAIN)
            return
        if self._silent[1:] == (self._words, self._marks) and elements.is_assistive(
            tag, attributes
        ):
            del self.parts[self._silent[0] :]  # the first form of a formula
        is_formula = elements.is_formula(tag, attributes)
        is_label = not self._counts["pre"] and elements.is_label(tag, attributes)
        is_silent = attributes.get("aria-hidden") == "true"
        is_term = parent.tag in elements.FORMULAS
        note = self._notes.pop(attributes.get("id") or attributes.get("name", ""), "")
        if not (tag in elements.KNOWN or is_formula or is_label or is_silent or is_term or note):
            self._open.append(_PLAIN)
            return
        element = _Element(
            tag, words=self._words, is_formula=is_formula, is_label=is_label, is_silent=is_silent
        )
        if is_term:
            self._begin_term(parent, element)
        self._separate(tag)
        if note:
            self._begin_note(element, note)
        element.first_part, element.marks = len(self.parts), self._marks
        if is_label:
            self.parts.append(notation.WORDS)
        self._begin(element, attributes)
        if note and tag == "li":
            self.parts[element.first_part] = Item(f"{note} ", is_note=True)
        self._open.append(element)

    def end(self, tag: str) -> None:
        """Close the innermost element."""
        self._is_after_start = False
        if self._open:
            self._close(self._open.pop())

    def data(self, text: str) -> None:
        """Collect visible text, and the text of the title."""
        element = self._open[-1] if self._open else _PLAIN
        if text.endswith(self.sentinel):
            text = text[:-1]
            self.is_whole = element.tag not in elements.UNPARSED
            for one in self._open:
                one.is_deleted = False  # without an end tag
        if self._invisible:
            if element.tag == "title" and self._invisible == 1:
                self.title.append(text)
            return
        if self._counts["math"] and element.tag != "mtext":
            text = text.strip()
        if not text:
            return
        self._is_letter = self._is_after_start and len(text) == 1 and text.isalpha()
        self._is_after_start = False
        self._words += not text.isspace()
        self.parts.append(Verbatim(text) if self._counts["pre"] else text)

    def close(self) -> None:
        """End the page."""

    def _take_metadata(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "meta":
            name = (attributes.get("name") or attributes.get("property", "")).lower()
            if name in _META and attributes.get("content"):
                self.metadata.setdefault(name, attributes["content"].strip())
        if tag == "html" and (language := attributes.get("lang") or attributes.get("xml:lang")):
            self.metadata.setdefault("language", language)

    def _hides(self, tag: str, attributes: Mapping[str, str]) -> bool:
        if self._words == self._formula_end and elements.is_second_form(tag, attributes):
            return True
        is_question = tag == "button" and self._counts["heading"]
        return elements.is_hidden("" if is_question else tag, attributes)

    def _separate(self, tag: str) -> None:
        """Separate the text before and after a tag. A list in a list item is no paragraph."""
        if tag in elements.LINES or (tag in elements.LISTS and self._counts["li"]):
            self._mark(Mark.LINE)
        elif tag in elements.PARAGRAPHS:
            self._mark(Mark.PARAGRAPH)

    def _mark(self, mark: Mark) -> None:
        self.parts.append(mark)
        self._marks += 1
        self._line = self._words

    def _begin(self, element: _Element, attributes: Mapping[str, str]) -> None:
        """Add the parts with which a visible element begins."""
        match element.tag:
            case "br":
                self._mark(Mark.BREAK)
            case "img" | "input":
                self._show_void(element.tag, attributes)
            case "a":
                self._begin_link(element, attributes)
            case "sup":
                self.parts.append(notation.VARIABLE * self._is_letter + notation.SUPERSCRIPT)
                self._shifted.append(element)
            case tag if tag in elements.FIRST_SIGNS:
                self.parts.append(elements.FIRST_SIGNS[tag])
            case "mfrac" if self.parts and str(self.parts[-1])[-1:].isdigit():
                self.parts.append(" ")
            case tag if tag in elements.DELETED:
                element.is_deleted = True
            case tag if tag in elements.HEADINGS:
                self.parts.append(HeadingStart(int(tag[1])))
                self._counts["heading"] += 1
            case tag if tag in elements.LIST_OR_TABLE:
                self._begin_list_or_table(element, attributes)
        if element.tag in self._counts:
            self._counts[element.tag] += 1

    def _show_void(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Add the alternative of a picture, or a checkbox."""
        shown = " ".join(attributes.get("alt", "").split())
        if tag == "img" and shown and not _PICTURE_FILE.fullmatch(shown):
            is_letter = len(shown) == 1  # of a word
            marked = notation.WORDS + shown + notation.END_OF_WORDS
            self.parts.append(shown if is_letter else marked)
            self._words += 1
        elif tag == "input" and attributes.get("type", "").lower() == "checkbox":
            box = notation.CHECKED if "checked" in attributes else notation.UNCHECKED
            self.parts.append(f" {box} ")

    def _begin_list_or_table(self, element: _Element, attributes: Mapping[str, str]) -> None:
        match element.tag:
            case tag if tag in elements.LISTS:
                self._lists.append(List.of(element.tag, attributes))
            case "li":
                self.parts.append((self._lists[-1] if self._lists else List()).item(attributes))
            case "table":
                self._tables.append([])
                self._groups.append(0)
            case "thead" | "tbody" | "tfoot" if self._tables:
                self._groups[-1] += 1
            case "tr":
                if self._rows:
                    self._rows[-1].is_layout = True
                self._rows.append(element)
            case "td" | "th":
                cell = tables.GridCell.of(attributes)
                self.parts.append(cell)
                if self._rows:
                    self._rows[-1].cells.append(cell)

    def _close(self, element: _Element) -> None:
        """Close an element: write its parts in their form for reading."""
        if element.is_invisible:
            self._invisible -= 1
        if self._invisible or element.is_invisible or element is _PLAIN:
            return
        match element.tag:
            case "a":
                self._end_link(element)
            case "sup":
                self._shifted.pop()
                self._end_superscript(element)
            case tag if tag in elements.RUBY:
                self._end_ruby(element)
            case tag if tag in elements.LAST_SIGNS:
                self.parts.append(elements.LAST_SIGNS[tag])
            case _ if element.is_deleted:
                del self.parts[element.first_part :]
            case tag if tag in elements.HEADINGS:
                self.parts.append(Mark.END_OF_HEADING)
                self._counts["heading"] -= 1
            case tag if tag in elements.LIST_OR_TABLE:
                self._end_list_or_table(element)
        if element.tag in self._counts:
            self._counts[element.tag] -= 1
        self._leave(element)
        self._separate(element.tag)

    def _leave(self, element: _Element) -> None:
        """Add what follows any element of a kind, and remember where formulas end."""
        if element.is_term:
            self._end_term(element)
        if element.is_label:
            self._end_label(element)
        if element.is_footnote:
            self.parts.append(Mark.END_OF_ITEM)
        if element.is_silent:
            self._silent = (element.first_part, self._words, self._marks)
        if element.is_formula:
            self._formula_end = self._words

    def _end_ruby(self, element: _Element) -> None:
        """Put a reading in brackets, and drop brackets of the page."""
        if element.tag == "rp" and len(self._written(element) or "...") <= 2:
            del self.parts[element.first_part :]
        elif element.tag in ("rt", "rtc") and self._words > element.words:
            self.parts[element.first_part] = "("
            self.parts.append(")")

    def _end_list_or_table(self, element: _Element) -> None:
        match element.tag:
            case tag if tag in elements.LISTS:
                self._lists.pop().close()
            case "li":
                self.parts.append(Mark.END_OF_ITEM)
            case "table":
                self._groups.pop()
                self._room = tables.lay_out(self._tables.pop(), self._room)
            case "tr":
                self._rows.pop()
                self._end_row(element)

    def _written(self, element: _Element) -> str | None:
        """The text of a short element, None of a long one."""
        parts = self.parts[element.first_part : element.first_part + _FEW_PARTS + 1]
        if len(parts) > _FEW_PARTS:
            return None
        text = "".join(part for part in parts if isinstance(part, str))
        return " ".join(notation.without_marks(text).split())

    def _begin_term(self, formula: _Element, element: _Element) -> None:
        """Write the sign before a part of a formula's element."""
        signs = elements.FORMULAS[formula.tag]
        is_further = 0 < formula.terms <= len(signs)
        sign, element.end = signs[formula.terms - 1] if is_further else ("", "")
        formula.terms += 1
        element.is_term = True
        self.parts += [sign, ""]

    def _end_term(self, element: _Element) -> None:
        """Write the sign behind a part of a formula, or brackets around several signs."""
        if element.end:
            self.parts.append(element.end)
        elif not _SIMPLE_TERM.fullmatch(self._written(element) or "+"):
            self.parts[element.first_part - 1] = "("
            self.parts.append(")")

    def _begin_link(self, element: _Element, attributes: Mapping[str, str]) -> None:
        self.parts.append("")
        element.address = "".join(attributes.get("href", "").split())
        is_inside = "#" in element.address and ":" not in element.address
        if is_inside or _NOTE_ADDRESS.search(element.address):
            self._anchors.append(element)
            kinds = (attributes.get(one, "") for one in ("epub:type", "data-type", "role", "class"))
            element.is_note = bool(_NOTE_ATTRIBUTES.search(" ".join(kinds)))

    def _end_link(self, element: _Element) -> None:
        """Write the address of a link elsewhere; drop a pointer back; find the mark of a note."""
        address, first = element.address, element.first_part
        text = self._written(element)
        if self._anchors and self._anchors[-1] is element:
            self._anchors.pop()
            if self._shifted:
                self._shifted[-1].is_note = True
                self._keep_note(address, text)
                return
            is_note = element.is_note or (text and _BRACKETED_MARK.fullmatch(text))
            if is_note and text and notation.SUPERSCRIPT not in self.parts[first:]:
                self.parts[first] = notation.NOTE
                self.parts.append(notation.END)
                self._keep_note(address, text)
                return
        if (text in _POINTERS or _POINTER.fullmatch(text or "")) and "#" in address:
            del self.parts[first:]
        elif address.startswith(("http://", "https://", "mailto:")) and self._words > element.words:
            if address.startswith("mailto:"):
                address = address[7:].partition("?")[0]
            written = notation.LINK + address + notation.LINK_TEXT
            if self._marks == element.marks:
                self.parts[first] = written
                self.parts.append(notation.END_OF_LINK)
            else:
                self.parts.append(written + notation.END_OF_LINK)

    def _end_superscript(self, element: _Element) -> None:
        self.parts.append(notation.END)
        anchor = self._anchors[-1] if self._anchors else None
        if anchor and anchor.words == element.words:
            element.is_note = True
            self._keep_note(anchor.address, self._written(element))
            anchor.address = ""
        if element.is_note:
            self.parts[element.first_part] = notation.NOTE

    def _keep_note(self, address: str, text: str | None) -> None:
        if text:
            self._notes[address.rpartition("#")[2]] = f"[{text.strip(' []')}]"

    def _begin_note(self, element: _Element, mark: str) -> None:
        """Begin a note with its mark; an anchor within a line has none."""
        element.is_footnote = element.tag in _NOTES and not self._rows
        begins_line = element.tag in _ANCHORS and self._line == self._words and not self._rows
        if element.is_footnote or begins_line:
            self.parts.append(Item(f"{mark} ", is_note=True))

    def _end_label(self, label: _Element) -> None:
        """End a label: as the number of a list item if it begins one, else with a space."""
        item = self._open[-1] if self._open else _PLAIN
        text = self._written(label) or ""
        if item.tag == "li" and item.words == label.words and _ITEM_LABEL.fullmatch(text):
            self.parts[label.first_part :] = []
            self.parts[item.first_part] = Item(BULLET if text == "•" else f"{text} ")
        else:
            self.parts.append(notation.END_OF_WORDS)

    def _end_row(self, row: _Element) -> None:
        """Join the cells of a row, or make them paragraphs if the table is page layout."""
        rows, group = (self._tables[-1], self._groups[-1]) if self._tables else ([], 0)
        cells = None if row.is_layout else row_cells(self.parts[row.first_part :])
        if cells is None:
            for cell in row.cells:
                cell.is_layout = True
            rows.append(tables.GridRow([], group))
            return
        line = tables.GridRow(cells, group)
        self.parts[row.first_part :] = [line]
        rows.append(line)
        if not self._tables:
            self._room = tables.lay_out(rows, self._room)
