"""Parts of a page as lines of text: paragraphs, lines of a list, cells of a table row, headings."""

import re
from dataclasses import dataclass
from enum import Enum

from graphreader.documents import Heading
from graphreader.ingestion.loading import notation
from graphreader.ingestion.loading.lists import BULLET, Item
from graphreader.ingestion.loading.tables import GridCell, GridRow, with_signs

_SPACES = re.compile(r"[ \t\n\f\r]+")
_LONGEST_ROW = 1_000  # characters; a longer row with paragraphs in it is page layout


class Mark(Enum):
    """A boundary between pieces of text."""

    LINE = "line"
    BREAK = "one more line"
    PARAGRAPH = "paragraph"
    END_OF_HEADING = "end of heading"
    END_OF_ITEM = "end of list item"


@dataclass(frozen=True, slots=True)
class HeadingStart:
    """The start of a heading of a level from 1."""

    level: int


class Verbatim(str):
    """A text whose white space is kept."""


Part = str | Mark | HeadingStart | Item | GridCell | GridRow


class Layout:
    """A builder of the text and its headings, which adds one part at a time."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.headings: list[Heading] = []
        self._length = 0
        self._newlines = 0  # pending before the next line
        self._line: list[str] = []  # pieces of the line so far
        self._is_verbatim = False
        self._labels: list[str] = []  # bullets, numbers and marks of notes that are pending
        self._heading: tuple[int, int, int] | None = None  # position, piece and level
        self._links: list[str] = []  # addresses of the heading's links

    def add(self, part: Part) -> None:
        """Add a part behind the others."""
        match part:
            case str():
                self._line.append(part)
                self._is_verbatim |= isinstance(part, Verbatim)
                return
            case GridCell(is_layout=False):
                if self._line:
                    self._line.append(" | ")
                return
        self._end_line()
        match part:
            case GridRow():
                self._write(part.line)
            case Item():
                self._add_label(part)
            case Mark.END_OF_ITEM:
                del self._labels[-1:]
            case HeadingStart():
                self._heading = (self._length, len(self.pieces), part.level)
            case Mark.END_OF_HEADING:
                self._end_heading()
            case _ if not self._labels:  # a block at the start of a list item begins no new line
                due = self._newlines + 1 if part is Mark.BREAK else 1
                due += part is Mark.PARAGRAPH or isinstance(part, GridCell)
                self._newlines = min(2, max(self._newlines, due))

    def _add_label(self, item: Item) -> None:
        is_second_bullet = item.label == BULLET == "".join(self._labels[-1:])
        if item.is_note and self._labels:  # in place of a list number
            self._labels[-1] = ""
        self._labels.append("" if is_second_bullet else item.label)

    def _end_line(self) -> None:
        """Write the line so far."""
        text = "".join(self._line)
        self._line.clear()
        if self._is_verbatim:
            self._is_verbatim = False
            text = text.lstrip("\n") if self._newlines else text
            self._write(notation.with_links(text) if text.strip() else text)
        elif self._heading:
            text, links = notation.write_out(squeezed(text).strip(" "))
            self._links += [f"({address})" for _, address in links]
            self._write(text)
        else:
            self._write(notation.with_links(squeezed(text).strip(" ")))

    def _write(self, text: str) -> None:
        """Append a line after the pending separators."""
        if not text:
            return
        if self._labels and _is_marked(text, self._labels[-1]):
            self._labels[-1] = ""
        before = ("\n" * self._newlines if self._length else "") + "".join(self._labels)
        self.pieces += [before, text]
        self._length += len(before) + len(text)
        self._newlines = 0
        self._labels.clear()

    def _end_heading(self) -> None:
        if self._heading is None:
            return
        length, first, level = self._heading
        pieces = self.pieces[first:]
        if title := squeezed("".join(pieces[1:])).strip():
            self.headings.append(Heading(length + len(pieces[0]), title, level))
        self._heading = None
        if self._links:
            self._newlines = 2
            self._write(" ".join(self._links))
            self._links.clear()


def _is_marked(text: str, label: str) -> bool:
    """Whether a text begins with the mark of a note of its own, as "1." or "(1)" for "[1] "."""
    own = re.match(r"\W{0,2}(\w+)(?![.,]\d)", text) if label[:1] == "[" else None
    return text.startswith(label) or (own is not None and own[1] == label.strip("[] "))


def row_cells(parts: list[Part]) -> list[GridCell] | None:
    """The cells of a table row with their texts, None if the row is page layout."""
    if _is_layout(parts):
        return None
    written: list[tuple[GridCell, list[str]]] = []
    has_text = False  # in the cell so far
    for part in parts:
        if isinstance(part, GridCell):
            written.append((part, []))
            has_text = False
        elif not written and isinstance(part, str) and part.strip():
            written.append((GridCell(1, 1), []))
        if written:
            piece = _in_cell(part, is_first=not has_text)
            has_text = has_text or bool(piece.strip())
            written[-1][1].append(piece)
    boxes = []  # cells of nothing but a checkbox
    for cell, pieces in written:
        text = squeezed("".join(pieces)).strip()
        cell.text = notation.with_links(text)
        if not cell.text and notation.ONLY_BOXES.fullmatch(text):
            boxes.append((cell, notation.without_marks(text)))
    if any(cell.text for cell, _ in written):
        for cell, box in boxes:  # a row of nothing else is a switch of the page
            cell.text = box
    return with_signs([cell for cell, _ in written])


def _is_layout(parts: list[Part]) -> bool:
    """Whether a table row is page layout: a heading, code, long paragraphs, or some in a cell."""
    blocks = [at for at, part in enumerate(parts) if isinstance(part, Mark)]
    if not blocks:
        return False
    if any(isinstance(part, HeadingStart) for part in parts):
        return True
    if any(isinstance(part, Verbatim) and "\n" in part.strip("\n") for part in parts):
        return True  # lines of code
    if sum(isinstance(part, GridCell) for part in parts) == 1:
        texts = [at for at, part in enumerate(parts) if isinstance(part, str) and part.strip()]
        return bool(texts) and any(texts[0] < at < texts[-1] for at in blocks)
    has_paragraphs = any(parts[at] is not Mark.BREAK for at in blocks)
    return has_paragraphs and sum(len(one) for one in parts if isinstance(one, str)) > _LONGEST_ROW


def _in_cell(part: Part, is_first: bool) -> str:
    """A part of a cell in one line."""
    if isinstance(part, Item):
        return "" if is_first and part.label == BULLET else f" {part.label}"
    return part if isinstance(part, str) else " "


def squeezed(text: str) -> str:
    """Collapse each run of white space to one space, and drop soft hyphens."""
    return _SPACES.sub(" ", text).replace("\xad", "")
