"""The parser of Word documents (.docx, .docm, .dotx, .dotm).

The XML is written as HTML, so a document has the form of a page: `read_html` makes the text.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from html import escape

from graphreader.ingestion.loading import office
from graphreader.ingestion.loading.archives import xml_metadata
from graphreader.ingestion.loading.content import Content
from graphreader.ingestion.loading.formulas import M, mathml
from graphreader.ingestion.loading.html import read_html
from graphreader.ingestion.loading.lists import number_of
from graphreader.ingestion.loading.numbering import (
    Numbering,
    Style,
    Styles,
    outline_level,
    with_run,
    written,
)
from graphreader.ingestion.loading.office import Counts, Element, Package, R, W
from graphreader.ingestion.loading.word_fields import Fields, is_page_number

_VML = "{urn:schemas-microsoft-com:vml}"
_OBJECT = "{urn:schemas-microsoft-com:office:office}OLEObject"
_WORD_2010 = "{http://schemas.microsoft.com/office/word/2010/wordml}"
_PICTURE = "{http://schemas.openxmlformats.org/drawingml/2006/picture}pic"
_DRAWN = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}docPr"
_CHARTS = (
    "{http://schemas.openxmlformats.org/drawingml/2006/chart}chart",
    "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds",
    "{http://schemas.microsoft.com/office/drawing/2014/chartex}chart",
)

_LONGEST_HEADING = 200  # characters
_LONGEST_SENTENCE = 8  # words of a heading that ends like a sentence
_LONGEST_LINE = 200  # of a list item; longer items are paragraphs
_SHORTEST_HEADER = 20  # characters of a header with the number of the page
_TAG = re.compile(r'<(?!img alt="[^"])[^>]*>')  # but pictures with an alternative text
_POSITIONS = {"superscript": "sup", "subscript": "sub"}

_DELETED = ("deletion", "deletions", "left out: tracked changes are read as accepted")
_HIDDEN = ("hidden passage", "hidden passages", "not read: Word does not show it")
_STRUCK = ("struck passage", "struck passages", "left out as deleted")
_NOWHERE = ("comment", "comments", "not read: no text that is read refers to it")
_INSERTED = ("inserted file", "inserted files", "not read: save it as a file of its own")

_TRANSPARENT = {  # elements of which only the content counts
    *(
        f"{W}{name}"
        for name in ("ins", "moveTo", "hyperlink", "smartTag", "customXml", "fldSimple")
    ),
    *(f"{W}{name}" for name in ("bdo", "dir", "sdtContent", "txbxContent")),
}
_REMOVED = {f"{W}del", f"{W}moveFrom"}


def read_docx(data: bytes, shown: str) -> Content:
    """Parse a Word document, with its tracked changes accepted and its notes at the end."""
    with office.open_package(data, shown, ".docx") as package:
        metadata = xml_metadata(package.archive, "docProps/core.xml")
        document = _Document(package)
        html = document.html()
    content = read_html(html.encode(), shown)
    return replace(
        content, title="", metadata=metadata, skipped=office.skipped_parts(document.counts)
    )


@dataclass(slots=True, eq=False)
class _WrittenLine:
    """A paragraph that is written: its HTML, what follows it, and the state of its last run."""

    pieces: list[str] = field(default_factory=list)
    after: list[Element | str] = field(default_factory=list)  # text boxes, and other HTML
    position: str = ""  # "sup" or "sub"
    left_out: str = ""  # the reason why the last run is

    def add(self, html: str, position: str = "") -> None:
        """Add a piece, as a superscript or subscript if `position` says so."""
        if position != self.position:
            self.pieces.append(f"</{self.position}>" if self.position else "")
            self.pieces.append(f"<{position}>" if position else "")
            self.position = position
        self.pieces.append(html)

    def html(self) -> str:
        self.add("")
        return "".join(self.pieces)


@dataclass(slots=True, eq=False)
class _Cell:
    """A table cell: its columns and rows, and the place of its tag."""

    at: int
    columns: int
    rows: int = 1

    def tag(self) -> str:
        return f'<td colspan="{self.columns}" rowspan="{self.rows}">'


class _Document:
    """The writer of a document as HTML; `counts` are the parts that are not read."""

    def __init__(self, package: Package) -> None:
        self.counts: Counts = Counter()
        self._package = package
        self._main = package.main()
        self._relations = package.relations(self._main)
        self._of_main = dict(self._relations)
        root = package.root(self._main)
        if root is None:
            raise ValueError("no main part")
        self._root: Element = root
        self._styles = Styles(self._part("styles"))
        self._numbering = Numbering(self._part("numbering"), self._styles)
        self._comments = _by_id(self._part("comments"), "comment")
        self._notes = {
            kind: _by_id(self._part(f"{kind}s"), kind) for kind in ("footnote", "endnote")
        }
        self._formats = {kind: self._note_format(kind) for kind in self._notes}
        self._cited: dict[tuple[str, str], tuple[str, str]] = {}  # addresses and marks of notes
        self._pending: dict[str, list[str]] = {kind: [] for kind in self._notes}
        self._numbers = Counter[str]()  # of the notes of a kind
        self._out: list[str] = []
        self._fields = Fields(root, self.counts)
        self._carried: list[str] = []  # of a paragraph whose end is deleted
        self._columns = 1  # of the innermost table row
        self._has_page_number = False

    def html(self) -> str:
        """The whole document: headers, text, footers, notes."""
        kinds = {"header": dict[str, None](), "footer": dict[str, None]()}
        for reference in self._root.iter(f"{W}headerReference", f"{W}footerReference"):
            relation = self._of_main.get(reference.get(f"{R}id", ""))
            if relation and relation.kind in kinds and not relation.is_external:
                kinds[relation.kind][relation.target] = None
        headers, footers = (self._margins(kind, list(parts)) for kind, parts in kinds.items())
        for body in self._root.iterfind(f"{W}body"):
            self._story(body)
        self._out += footers
        self._write_notes()
        self.counts[_NOWHERE] += len(self._comments)
        return "".join(headers + self._out)

    def _part(self, kind: str) -> Element | None:
        name = office.of_kind(self._of_main, kind)
        return self._package.optional_root(name, self.counts) if name else None

    def _note_format(self, kind: str) -> str:
        """The format of the numbers of footnotes or endnotes."""
        settings = self._part("settings")
        for root in (self._root, settings):
            for one in () if root is None else root.iter(f"{W}{kind}Pr"):
                if (numbers := one.find(f"{W}numFmt")) is not None:
                    return str(numbers.get(f"{W}val", ""))
        return "decimal" if kind == "footnote" else "lowerRoman"

    def _margins(self, kind: str, parts: list[str]) -> list[str]:
        """The distinct texts of headers or footers, but for page numbers."""
        texts: dict[str, None] = {}
        for part in parts:
            root = self._package.optional_root(part, self.counts)
            self._relations, self._out = self._package.relations(part), []
            self._has_page_number = False
            if root is not None:
                self._story(root)
            text = " ".join(read_html("".join(self._out).encode(), kind).text.split())
            is_number = self._has_page_number and len(text) < _SHORTEST_HEADER
            if re.search(r"[^\W\d]|\d{4}", text) and not is_number:
                texts[text] = None
        self._relations, self._out = self._of_main, []
        return [f"<p>{kind.capitalize()}: {escape(text)}</p>" for text in texts]

    def _write_notes(self) -> None:
        """Write the notes that are cited, footnotes first; one may cite further notes."""
        while kind := next((one for one, left in self._pending.items() if left), ""):
            numbers, self._pending[kind] = self._pending[kind], []
            self._relations = self._package.relations(office.of_kind(self._of_main, f"{kind}s"))
            for number in numbers:
                self._out.append(f'<div id="{self._cited[kind, number][0]}">')
                self._story(self._notes[kind][number])
                self._out.append("</div>")

    # Blocks

    def _story(self, story: Element) -> None:
        """Write a text of its own, within which fields and lines end."""
        outer = self._fields, self._carried
        self._fields, self._carried = Fields(story, self.counts), []
        self._blocks(story)
        self._end_line()
        self._fields, self._carried = outer

    def _end_line(self) -> None:
        """Write the line that no paragraph goes on with."""
        if self._carried:
            self._out += ("<p>", *self._carried, "</p>")
            self._carried.clear()

    def _pass_over(self, element: Element) -> None:
        """Follow the fields that begin or end in an element that is not read."""
        for character in element.iter(f"{W}fldChar"):
            self._fields.take(character, [])

    def _blocks(self, parent: Element | tuple[()]) -> None:
        for child in parent:
            tag = child.tag
            if tag == f"{W}p":
                self._paragraph(child)
            elif tag == f"{W}tbl":
                self._end_line()
                self._table(child)
            elif tag == f"{W}sdt":
                self._blocks(_child(child, "sdtContent"))
            elif tag in _TRANSPARENT:
                self._blocks(child)
            elif tag in _REMOVED:
                self._pass_over(child)
            elif tag == office.ALTERNATIVES:
                self._blocks(office.shown_alternative(child))
            elif tag == f"{W}altChunk":
                self.counts[_INSERTED] += 1

    def _paragraph(self, paragraph: Element) -> None:
        properties = paragraph.find(f"{W}pPr")
        style = self._styles.of(properties, "pStyle")
        line = _WrittenLine()
        self._inline(paragraph, line, style)
        html = line.html()
        text = _TAG.sub("", html)
        if _continues(properties):
            self._carried.append(html)
        elif text.strip() or self._carried or not line.left_out:
            label = self._numbering.label(properties, style)
            html = "".join([*self._carried, html])
            self._carried.clear()
            if text := _TAG.sub("", html).strip():
                tag = self._tag(properties, style, label, text)
                label = label.rstrip() if text[0] in _CLOSING else label
                self._out += (f"<{tag}>", escape(label), html, f"</{tag}>")
            elif any(map(str.isalnum, label)):  # Word shows the number of an empty paragraph
                self._out += ("<p>", escape(label.rstrip()), "</p>")
        for one in line.after:
            if isinstance(one, str):
                self._out.append(one)
            else:
                self._story(one)

    def _tag(self, properties: Element | None, style: Style, label: str, text: str) -> str:
        """The element of a paragraph: a heading, a line of a list, or a paragraph."""
        level = outline_level(properties)
        level = style.level if level is None else level
        if level and self._columns == 1 and not style.is_contents and not _is_clause(text, label):
            return f"h{min(level, 6)}"
        return "dd" if (label or style.is_contents) and len(text) <= _LONGEST_LINE else "p"

    def _table(self, table: Element) -> None:
        """Write a table; a cell that continues the one above makes that one taller."""
        above: dict[int, _Cell] = {}  # by their first columns
        columns = self._columns
        self._out.append("<table>")
        for row in _within(table, f"{W}tr"):
            properties = row.find(f"{W}trPr")
            if properties is not None and properties.find(f"{W}del") is not None:
                self.counts[_DELETED] += 1
                self._pass_over(row)
                continue
            before, after = _number(properties, "gridBefore"), _number(properties, "gridAfter")
            cells = list(_within(row, f"{W}tc"))
            self._columns = len(cells)
            self._out.append("<tr>" + (f'<td colspan="{before}"></td>' if before else ""))
            column, open_cells = before, {}
            for cell in cells:
                own = cell.find(f"{W}tcPr")
                merge = None if own is None else own.find(f"{W}vMerge")
                upper = above.get(column)
                width = max(1, _number(own, "gridSpan"))
                if merge is not None and merge.get(f"{W}val") != "restart" and upper:
                    self._pass_over(cell)
                    upper.rows += 1
                    self._out[upper.at] = upper.tag()
                    open_cells[column] = upper
                    column += upper.columns
                    continue
                new = _Cell(len(self._out), width)
                if merge is not None:
                    open_cells[column] = new
                self._out.append(new.tag())
                self._blocks(cell)
                self._end_line()
                self._out.append("</td>")
                column += width
            above = open_cells
            self._out.append((f'<td colspan="{after}"></td>' if after else "") + "</tr>")
        self._out.append("</table>")
        self._columns = columns

    # Lines

    def _inline(self, parent: Element | tuple[()], line: _WrittenLine, style: Style) -> None:
        for child in parent:
            tag = child.tag
            if tag == f"{W}r":
                self._run(child, line, style)
            elif tag == f"{W}hyperlink":
                self._hyperlink(child, line, style)
            elif tag == f"{W}fldSimple" and is_page_number(child.get(f"{W}instr", "")):
                self._has_page_number = True
            elif tag in _TRANSPARENT:
                self._inline(child, line, style)
            elif tag in _REMOVED:
                if tag == f"{W}del" and child.find(f".//{W}delText") is not None:
                    self._leave_out(line, _DELETED)
                self._pass_over(child)
            elif tag == f"{W}sdt":
                self._control(child, line, style)
            elif tag in (f"{M}oMath", f"{M}oMathPara"):
                line.add(mathml(child) if tag == f"{M}oMath" else "".join(map(mathml, child)))
            elif tag == office.ALTERNATIVES:
                self._inline(office.shown_alternative(child), line, style)

    def _leave_out(self, line: _WrittenLine, reason: tuple[str, str, str]) -> None:
        """Count a passage that is not read; its further runs count with the first."""
        self.counts[reason] += line.left_out != reason[0]
        line.left_out = reason[0]

    def _hyperlink(self, link: Element, line: _WrittenLine, style: Style) -> None:
        address = office.address_of(self._relations.get(link.get(f"{R}id", "")))
        line.add(f'<a href="{escape(address)}">' if address else "")
        self._inline(link, line, style)
        line.add("</a>" if address else "")

    def _control(self, control: Element, line: _WrittenLine, style: Style) -> None:
        """Write the content of a control, or the state of a checkbox."""
        box = control.find(f"{W}sdtPr/{_WORD_2010}checkbox")
        if box is None:
            self._inline(_child(control, "sdtContent"), line, style)
            return
        checked = box.find(f"{_WORD_2010}checked")
        value = "0" if checked is None else checked.get(f"{_WORD_2010}val", "1")
        line.add("[x]" if value in ("1", "true") else "[ ]")

    def _run(self, run: Element, line: _WrittenLine, style: Style) -> None:
        own = run.find(f"{W}rPr")
        if own is not None:
            named = self._styles.of(own, "rStyle")
            style = replace(
                style,
                is_hidden=style.is_hidden or named.is_hidden,
                is_struck=style.is_struck or named.is_struck,
                position=named.position or style.position,
            )
            style = with_run(style, own)
        if style.is_hidden or style.is_struck:
            if self._fields.is_shown and run.find(f"{W}t") is not None:
                self._leave_out(line, _HIDDEN if style.is_hidden else _STRUCK)
            for child in run:
                if child.tag in (f"{W}fldChar", f"{W}instrText"):
                    self._take(child, line, style, run)
            return
        has_sign = run.find(f"*[@{W}customMarkFollows]") is not None  # of a note
        for child in run:
            if not (has_sign and child.tag == f"{W}t"):
                self._take(child, line, style, run)

    def _take(self, child: Element, line: _WrittenLine, style: Style, run: Element) -> None:
        """Write a part of a run, if it is not the code of a field or a number of the page."""
        if child.tag == f"{W}fldChar":
            line.add("")
            self._fields.take(child, line.pieces)
        elif child.tag == f"{W}instrText":
            self._fields.add_code(child.text or "")
        elif self._fields.is_page_number:
            self._has_page_number = True
        elif self._fields.is_shown:
            self._write(child, line, style, run)

    def _write(self, child: Element, line: _WrittenLine, style: Style, run: Element) -> None:
        name = child.tag.removeprefix(W)
        if name == "t":
            if text := child.text or "":
                text = office.with_symbols(text, _font(run))
                position = _POSITIONS.get(style.position, "")
                line.add(escape(text), position if text.strip() else line.position)
                line.left_out = ""
        elif name in _SIGNS:
            line.add(_SIGNS[name])
        elif name == "sym":
            font, code = child.get(f"{W}font", ""), child.get(f"{W}char", "")
            line.add(escape(office.symbol(font, int(code, 16))) if _CODE.fullmatch(code) else "")
        elif name in ("footnoteReference", "endnoteReference"):
            self._note(child, name.removesuffix("Reference"), line, run)
        elif name == "commentReference":
            self._comment(child.get(f"{W}id", ""), line)
        elif name == "ruby":
            self._ruby(child, line, style)
        elif name in ("drawing", "pict", "object"):
            self._drawing(child, line, name == "object")
        elif child.tag == office.ALTERNATIVES:
            for one in office.shown_alternative(child):
                self._write(one, line, style, run)

    def _note(self, reference: Element, kind: str, line: _WrittenLine, run: Element) -> None:
        """Write the mark of a note: its number, or the sign that follows in the run."""
        number = reference.get(f"{W}id", "")
        if number not in self._notes[kind]:
            return
        if (kind, number) not in self._cited:
            mark = ""
            if f"{W}customMarkFollows" in reference.attrib:
                mark = "".join(one.text or "" for one in run.iterfind(f"{W}t")).strip()
            if not mark:
                self._numbers[kind] += 1
                mark = written(self._numbers[kind], self._formats[kind])
            self._cited[kind, number] = f"note{len(self._cited)}", escape(mark[:10])
            self._pending[kind].append(number)
        address, mark = self._cited[kind, number]
        line.add(f'<a role="doc-noteref" href="#{address}">[{mark}]</a>')

    def _comment(self, number: str, line: _WrittenLine) -> None:
        """Write a comment behind the paragraph that it is about."""
        comment = self._comments.pop(number, None)
        if comment is None:
            return
        inner = _WrittenLine()
        outer, self._fields = self._fields, Fields(comment, self.counts)
        for one in comment.iter(f"{W}p"):
            self._inline(one, inner, self._styles.of(None, "rStyle"))
            inner.add(" ")
        self._fields = outer
        author = " ".join(comment.get(f"{W}author", "").split())
        by = f" by {escape(author)}" if author else ""
        line.after.append(f"<p>[Comment{by}: {inner.html().strip()}]</p>")
        line.after += inner.after

    def _ruby(self, ruby: Element, line: _WrittenLine, style: Style) -> None:
        line.add("<ruby>")
        self._inline(_child(ruby, "rubyBase"), line, style)
        line.add("<rt>")
        self._inline(_child(ruby, "rt"), line, style)
        line.add("</rt></ruby>")

    def _drawing(self, drawing: Element, line: _WrittenLine, is_object: bool) -> None:
        """Write the text boxes, alternative texts, charts and diagrams of a drawing."""
        if is_object and next(drawing.iter(_OBJECT), None) is not None:
            self.counts[office.EMBEDDED] += 1
            return
        alternative = office.alternative_text(next(drawing.iter(_DRAWN), None))
        for one in _drawn(drawing):
            if one.tag == f"{W}txbxContent":
                line.after.append(one)
            elif one.tag in _CHARTS:
                html = office.graphic(self._package, self._relations, one, self.counts)
                line.after.append(html or "")
                self.counts[office.CHART] += html is None
            elif one.tag == f"{_VML}textpath":
                line.after.append(f"<p>{escape(one.get('string', ''))}</p>")
            else:
                own = one.find(f"{_PICTURE[:-3]}nvPicPr/{_PICTURE[:-3]}cNvPr")
                shape = one.getparent() if one.tag == f"{_VML}imagedata" else None
                text = alternative or office.alternative_text(own)
                text = text or ("" if shape is None else " ".join(shape.get("alt", "").split()))
                line.add(f'<img alt="{escape(text)}">' if text else "")
                self.counts[office.PICTURE] += not text


_CODE = re.compile("[0-9a-fA-F]{1,4}")  # of a symbol
_CLOSING = ".,:;)"
_SIGNS = {
    **{"tab": " ", "ptab": " ", "br": "<br>", "cr": "<br>"},
    **{"noBreakHyphen": "-", "softHyphen": ""},
}
_BOUNDARIES = {f"{W}txbxContent", _PICTURE, f"{_VML}imagedata", f"{_VML}textpath", *_CHARTS}


def _drawn(element: Element) -> Iterator[Element]:
    """Yield the outermost text boxes, pictures and graphics within a drawing."""
    for child in element:
        if child.tag in _BOUNDARIES:
            yield child
        elif child.tag == office.ALTERNATIVES:
            yield from _drawn(office.shown_alternative(child))
        else:
            yield from _drawn(child)


def _within(parent: Element, tag: str) -> Iterator[Element]:
    """Yield the rows of a table or the cells of a row, also within controls and changes."""
    for child in parent:
        if child.tag == tag:
            yield child
        elif child.tag in _TRANSPARENT or child.tag == f"{W}sdt":
            yield from _within(child, tag)


def _child(element: Element, name: str) -> Element | tuple[()]:
    child = element.find(f"{W}{name}")
    return () if child is None else child


def _by_id(root: Element | None, name: str) -> dict[str, Element]:
    """The notes or comments of a part by their ids, without separators."""
    return {
        one.get(f"{W}id", ""): one
        for one in (() if root is None else root.iterfind(f"{W}{name}"))
        if one.get(f"{W}type", "normal") == "normal"
    }


def _number(properties: Element | None, tag: str) -> int:
    child = None if properties is None else properties.find(f"{W}{tag}")
    return 0 if child is None else max(0, number_of(child.get(f"{W}val")) or 0)


def _is_clause(text: str, label: str) -> bool:
    """Whether a paragraph with a heading's style is a sentence of a numbered text."""
    text = re.sub(r"[\s\]]*(?:\[\w+\])?\Z", "", text)
    is_sentence = text.endswith((".", ";", ",", ":")) and len(text.split()) > _LONGEST_SENTENCE
    return len(text) > _LONGEST_HEADING or is_sentence or (bool(label) and text[:1].islower())


def _continues(properties: Element | None) -> bool:
    """Whether the next paragraph goes on in the line: the end is deleted, or it is an initial."""
    if properties is None:
        return False
    mark, frame = properties.find(f"{W}rPr"), properties.find(f"{W}framePr")
    is_removed = mark is not None and any(mark.find(one) is not None for one in _REMOVED)
    return is_removed or (frame is not None and frame.get(f"{W}dropCap") in ("drop", "margin"))


def _font(run: Element) -> str:
    fonts = run.find(f"{W}rPr/{W}rFonts")
    return "" if fonts is None else fonts.get(f"{W}ascii", "")
