"""The parser of presentations (.pptx, .pptm, .ppsx, .ppsm, .potx), slide by slide.

As for Word documents, the XML is written as HTML, of which `read_html` makes the text.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from html import escape

from graphreader.documents import Place, Skipped
from graphreader.errors import DocumentError
from graphreader.ingestion.loading import office
from graphreader.ingestion.loading.archives import xml_metadata
from graphreader.ingestion.loading.content import Content, join_contents
from graphreader.ingestion.loading.formulas import M, mathml
from graphreader.ingestion.loading.html import read_html
from graphreader.ingestion.loading.lists import number_of
from graphreader.ingestion.loading.numbering import written
from graphreader.ingestion.loading.office import A, Counts, Element, P, Package, R, Relation

_TITLES = ("title", "ctrTitle")
_PAGE_SIGNS = ("dt", "sldNum", "hdr")  # placeholders of date, number and header
_BODIES = ("body", "obj", "subTitle")
_COLUMN = 300_000  # width in EMU (a third of an inch) within which lefts of shapes are equal
_RECORDINGS = {f"{A}videoFile", f"{A}audioFile", f"{A}wavAudioFile", f"{A}quickTimeFile"}
_KINDS = {  # of automatic numbers
    **{"alphaLc": "lowerLetter", "alphaUc": "upperLetter"},
    **{"romanLc": "lowerRoman", "romanUc": "upperRoman"},
    **{"circleNum": "decimalEnclosedCircle", "ea1Chs": "chineseCounting"},
}

_RECORDING = ("recording", "recordings", "not read")
_STRUCK = ("struck passage", "struck passages", "left out as deleted")
_HIDDEN = ("hidden shape", "hidden shapes", "not read: no slide shows it")


def read_pptx(data: bytes, shown: str) -> Content:
    """Parse a presentation: each slide from top to bottom, with its notes and comments."""
    with office.open_package(data, shown, ".pptx") as package:
        metadata = xml_metadata(package.archive, "docProps/core.xml")
        deck = _Deck(package)
        skipped = [*office.skipped_parts(deck.counts)]
        slides = list(deck.slides())
    if slides and not any(html is not None for html, _ in slides):
        raise DocumentError(f"{shown} has no slide that can be read, it is damaged: save it anew.")
    parts = [read_html((html or "").encode(), shown) for html, _ in slides]
    content = join_contents(
        [
            replace(part, title="", metadata={}, places=(Place(0, f"slide {number}"),))
            for number, part in enumerate(parts, 1)
        ]
    )
    for number, ((html, counts), part) in enumerate(zip(slides, parts, strict=True), 1):
        reasons = [f"{one.part}: {one.reason}" for one in office.skipped_parts(counts)]
        if html is None:
            reasons.append("cannot be read")
        elif not part.text and counts[office.PICTURE]:
            reasons.append("has no text, only pictures")
        skipped += (Skipped(f"slide {number}", reason) for reason in reasons)
    hidden = ", ".join(map(str, deck.hidden))
    return replace(
        content,
        metadata=metadata,
        skipped=tuple(skipped),
        notes=(f"Hidden slides are read, too: {hidden}.",) if hidden else (),
    )


@dataclass(slots=True, eq=False)
class _Box:
    """The place of a shape on its slide in EMU."""

    left: int = 0
    top: int = 0
    height: int = 0


@dataclass(slots=True, eq=False)
class _Model:
    """A layout or master: its placeholders by index and kind, and the levels of its texts."""

    by_index: dict[str, Element] = field(default_factory=dict)
    by_kind: dict[str, Element] = field(default_factory=dict)
    body_style: Element | None = None


class _Deck:
    """The writer of slides as HTML; `counts` are the parts of a slide that are not read."""

    def __init__(self, package: Package) -> None:
        self.counts: Counts = Counter()
        self.hidden: list[int] = []
        self._package = package
        main = package.main()
        self._relations = package.relations(main)
        root = package.root(main)
        if root is None:
            raise ValueError("no main part")
        listed = (self._relations.get(one.get(f"{R}id", "")) for one in root.iter(f"{P}sldId"))
        self._names = list(dict.fromkeys(one.target for one in listed if one))
        self._authors = self._named_authors()
        self._models: dict[str, _Model] = {}
        self._footers: set[str] = set()

    def slides(self) -> Iterator[tuple[str | None, Counts]]:
        """Yield the slides in their order, None for one that cannot be read, and their counts."""
        for number, name in enumerate(self._names, 1):
            self.counts = Counter()
            root = None
            try:
                root = self._package.root(name)
                slide = None if root is None else self._slide(root, name)
            except Exception:  # one unreadable slide of many
                slide = None
            if root is not None and root.get("show") in ("0", "false"):
                self.hidden.append(number)
            yield slide, self.counts

    def _slide(self, root: Element, name: str) -> str:
        """A slide with its notes and comments."""
        relations = self._package.relations(name)
        layout = office.of_kind(relations, "slideLayout")
        master = office.of_kind(self._package.relations(layout), "slideMaster")
        slide = _Slide(self, relations, [self._model(one) for one in (layout, master)])
        slide.add_shapes(root.find(f"{P}cSld/{P}spTree"))
        self._add_notes(slide, office.of_kind(relations, "notesSlide"))
        for relation in relations.values():
            if relation.kind == "comments" and self._package.is_new(relation.target):
                slide.out += self._comments(relation.target)
        return "".join(slide.out)

    def is_new_footer(self, text: str) -> bool:
        """Whether the text of a footer has not been on a slide before."""
        is_new = text not in self._footers
        self._footers.add(text)
        return is_new

    def graphic(self, relations: dict[str, Relation], element: Element) -> str | None:
        return office.graphic(self._package, relations, element, self.counts)

    def _model(self, name: str) -> _Model:
        """Read a layout or master once."""
        if name not in self._models:
            model = self._models[name] = _Model()
            root = self._package.optional_root(name, self.counts) if name else None
            for shape in () if root is None else root.iter(f"{P}sp"):
                if (place := _placeholder(shape)) is not None:
                    model.by_index.setdefault(place.get("idx", "0"), shape)
                    model.by_kind.setdefault(_kind(place), shape)
            if root is not None:
                model.body_style = root.find(f"{P}txStyles/{P}bodyStyle")
        return self._models[name]

    def _add_notes(self, slide: "_Slide", name: str) -> None:
        """Add the notes of the speaker."""
        is_new = name and self._package.is_new(name)
        root = self._package.optional_root(name, self.counts) if is_new else None
        for shape in () if root is None else root.iter(f"{P}sp"):
            place = _placeholder(shape)
            if place is not None and place.get("type") == "body":
                notes = _Slide(self, self._package.relations(name), [])
                notes.add_text(shape.find(f"{P}txBody"))
                if notes.out[:1] and notes.out[0].startswith("<p>"):
                    notes.out[0] = f"<p>Notes: {notes.out[0][3:]}"
                elif notes.out:
                    slide.out.append("<p>Notes:</p>")
                slide.out += notes.out

    def _named_authors(self) -> dict[str, str]:
        """The names of the authors of comments by their ids."""
        names = {}
        for relation in self._relations.values():
            if relation.kind in ("commentAuthors", "authors"):
                root = self._package.optional_root(relation.target, self.counts)
                for one in () if root is None else root:
                    names[one.get("id", "")] = " ".join(one.get("name", "").split())
        return names

    def _comments(self, name: str) -> Iterator[str]:
        """Yield the comments of a slide, with replies, in the old form and the new one."""
        root = self._package.optional_root(name, self.counts)
        for one in () if root is None else root.iter("{*}cm", "{*}reply"):
            author = self._authors.get(one.get("authorId", ""), "")
            text = one.findtext("{*}text") or "".join(
                part.text or "" for part in one.iterfind(f"{{*}}txBody//{A}t")
            )
            if text.strip():
                yield f"<p>[Comment{' by ' * bool(author)}{escape(author)}: {escape(text)}]</p>"


class _Slide:
    """The writer of a slide: `out` are its paragraphs and tables in HTML."""

    def __init__(self, deck: _Deck, relations: dict[str, Relation], models: list[_Model]) -> None:
        self.out: list[str] = []
        self._deck = deck
        self._relations = relations
        self._models = models

    def add_shapes(self, tree: Element | None) -> None:
        """Add the shapes of a slide or group: the title first, the others row by row."""
        shapes = [] if tree is None else list(_shapes(tree))
        parts: tuple[list[Element], list[Element]] = ([], [])  # titles and others
        for shape in shapes:
            parts[_kind(_placeholder(shape)) not in _TITLES].append(shape)
        for shape in parts[0] + _in_rows(parts[1], self._box):
            self._add_shape(shape)

    def _add_shape(self, shape: Element) -> None:
        properties = shape.find(f"*/{P}cNvPr")
        place = _placeholder(shape)
        kind = _kind(place)
        if properties is not None and properties.get("hidden") in ("1", "true"):
            self._deck.counts[_HIDDEN] += 1
        elif shape.tag == f"{P}grpSp":
            self.add_shapes(shape)
        elif shape.tag == f"{P}pic":
            self._add_picture(shape, properties)
        elif shape.tag == f"{P}graphicFrame":
            self._add_graphic(shape, properties)
        elif kind == "ftr" or (kind == "dt" and next(shape.iter(f"{A}fld"), None) is None):
            if self._deck.is_new_footer("".join(shape.itertext(f"{A}t"))):
                self.add_text(shape.find(f"{P}txBody"))
        elif kind not in _PAGE_SIGNS:
            start = len(self.out)
            self.add_text(shape.find(f"{P}txBody"), place)
            own = self.out[start:]
            if kind in _TITLES and own:
                own = [f"<h1>{'<br>'.join(map(_content, own))}</h1>"]
            self.out[start:] = ["<div>", *own, "</div>"] if own else []

    def _add_picture(self, shape: Element, properties: Element | None) -> None:
        if any(one.tag in _RECORDINGS for one in shape.iterfind(f"{P}nvPicPr/{P}nvPr/*")):
            self._deck.counts[_RECORDING] += 1
            return
        text = office.alternative_text(properties)
        if text:
            self.out.append(f"<p>{escape(text)}</p>")
        else:
            self._deck.counts[office.PICTURE] += 1

    def _add_graphic(self, frame: Element, properties: Element | None) -> None:
        """Add a table, a chart or a diagram."""
        table = frame.find(f".//{A}tbl")
        if table is not None:
            self._add_table(table)
        elif frame.find(f".//{P}oleObj") is not None:
            self._deck.counts[office.EMBEDDED] += 1
        else:
            html = self._deck.graphic(self._relations, frame)
            text = office.alternative_text(properties)
            self.out += filter(None, [html, f"<p>{escape(text)}</p>" if text else ""])
            self._deck.counts[office.CHART] += html is None and not text

    def _add_table(self, table: Element) -> None:
        self.out.append("<table>")
        for row in table.iterfind(f"{A}tr"):
            self.out.append("<tr>")
            for cell in row.iterfind(f"{A}tc"):
                if cell.get("hMerge") in ("1", "true") or cell.get("vMerge") in ("1", "true"):
                    continue
                columns, rows = (number_of(cell.get(one)) or 1 for one in ("gridSpan", "rowSpan"))
                self.out.append(f'<td colspan="{columns}" rowspan="{rows}">')
                self.add_text(cell.find(f"{A}txBody"))
                self.out.append("</td>")
            self.out.append("</tr>")
        self.out.append("</table>")

    def add_text(self, body: Element | None, place: Element | None = None) -> None:
        """Add the paragraphs of a shape, with bullets and numbers."""
        counts: dict[int, tuple[str, int]] = {}  # kinds of numbers and numbers by level
        for paragraph in () if body is None else body.iterfind(f"{A}p"):
            html = "".join(self._runs(paragraph))
            if not html.replace("<br>", "").strip():
                continue
            own = paragraph.find(f"{A}pPr")
            level = (number_of(own.get("lvl")) or 0) if own is not None else 0
            bullet = next(_bullets(own, self._styles(body, place), level), None)
            label = ""
            if bullet is not None and bullet.tag == f"{A}buAutoNum":
                kind, before = bullet.get("type", ""), counts.get(level, ("", 0))
                start = number_of(bullet.get("startAt")) or 1
                counts[level] = (kind, before[1] + 1 if before[0] == kind else start)
                label = _number(kind, counts[level][1])
            elif bullet is not None and bullet.tag in (f"{A}buChar", f"{A}buBlip"):
                label = "- "
            for deeper in [one for one in counts if one > level or (one == level and not label)]:
                del counts[deeper]
            item = f"<dd>{label}{html.replace('<br>', ' ')}</dd>"
            self.out.append(item if label else f"<p>{html}</p>")

    def _styles(self, body: Element, place: Element | None) -> Iterator[Element | None]:
        """Yield the styles of the levels of a text, its own first, then what it is modelled on."""
        yield body.find(f"{A}lstStyle")
        if place is not None:
            for shape in self._modelled(place):
                yield shape.find(f"{P}txBody/{A}lstStyle")
            if _kind(place) in _BODIES:
                yield from (one.body_style for one in self._models)

    def _modelled(self, place: Element) -> Iterator[Element]:
        """Yield the placeholders of layout and master that a placeholder fills."""
        kind = _kind(place)
        for at, model in enumerate(self._models):
            general = {"obj": "body", "subTitle": "body", "ctrTitle": "title"}.get(kind, kind)
            found = model.by_index.get(place.get("idx", "")) if at == 0 else None
            for one in (found, model.by_kind.get(kind), model.by_kind.get(general)):
                if one is not None:
                    yield one
                    break

    def _box(self, shape: Element) -> _Box:
        """The place of a shape, its own or the one of the placeholder that it fills."""
        place = _placeholder(shape)
        for one in (shape, *(self._modelled(place) if place is not None else ())):
            frame = next(one.iterfind(f"{P}xfrm"), None)
            frame = next(one.iterfind(f"*/{A}xfrm"), None) if frame is None else frame
            offset = None if frame is None else frame.find(f"{A}off")
            size = None if frame is None else frame.find(f"{A}ext")
            if offset is not None and size is not None:
                values = (offset.get("x"), offset.get("y"), size.get("cy"))
                return _Box(*(number_of(value) or 0 for value in values))
        return _Box()

    def _runs(self, paragraph: Element) -> Iterator[str]:
        """Yield the pieces of a paragraph in HTML; a struck passage of several runs counts once."""
        was_struck = False
        for run in paragraph:
            if run.tag == f"{A}br":
                yield "<br>"
            elif run.tag in (f"{A}r", f"{A}fld"):
                properties = run.find(f"{A}rPr")
                strike = "noStrike" if properties is None else properties.get("strike", "noStrike")
                if strike == "noStrike" or not (run.findtext(f"{A}t") or "").strip():
                    yield self._run(run)
                else:
                    self._deck.counts[_STRUCK] += not was_struck
                was_struck = strike != "noStrike"
            else:
                found = run
                if run.tag == office.ALTERNATIVES:
                    found = office.shown_alternative(run)
                for one in () if isinstance(found, tuple) else found.iter(f"{M}oMath"):
                    yield mathml(one)

    def _run(self, run: Element) -> str:
        properties = run.find(f"{A}rPr")
        text = run.findtext(f"{A}t") or ""
        is_sign = not text.isascii() and len(text.strip()) == 1
        font = run.find(f"{A}rPr/{A}{'sym' if is_sign else 'latin'}")
        text = office.with_symbols(text, "" if font is None else font.get("typeface", ""))
        html = escape(text.replace("\v", " "))
        if properties is None or not text.strip():
            return html
        if shift := number_of(properties.get("baseline")):
            tag = "sup" if shift > 0 else "sub"
            html = f"<{tag}>{html}</{tag}>"
        link = properties.find(f"{A}hlinkClick")
        relation = None if link is None else self._relations.get(link.get(f"{R}id", ""))
        address = office.address_of(relation)
        return f'<a href="{escape(address)}">{html}</a>' if address else html


def _shapes(tree: Element) -> Iterator[Element]:
    """Yield the shapes of a tree, without alternatives that are not shown."""
    for child in tree:
        if child.tag == office.ALTERNATIVES:
            yield from _shapes(office.shown_alternative(child))
        elif child.tag in (f"{P}sp", f"{P}grpSp", f"{P}pic", f"{P}graphicFrame", f"{P}cxnSp"):
            yield child


def _in_rows(shapes: list[Element], box: Callable[[Element], _Box]) -> list[Element]:
    """Sort shapes as they are read: rows from top to bottom, from left to right in a row.

    A shape that begins above the middle of the first one of a row belongs to the row.
    """
    placed = sorted(((box(one), one) for one in shapes), key=lambda one: one[0].top)
    rows: list[list[tuple[_Box, Element]]] = []
    for place, shape in placed:
        first = rows[-1][0][0] if rows else None
        if first and place.top <= first.top + first.height // 2:
            rows[-1].append((place, shape))
        else:
            rows.append([(place, shape)])
    for row in rows:
        row.sort(key=lambda one: (one[0].left // _COLUMN, one[0].top))
    return [shape for row in rows for _, shape in row]


def _placeholder(shape: Element) -> Element | None:
    return shape.find(f"*/{P}nvPr/{P}ph")


def _kind(place: Element | None) -> str:
    """The kind of a placeholder, "" for another shape."""
    return "" if place is None else str(place.get("type", "obj"))


def _bullets(
    own: Element | None, styles: Iterator[Element | None], level: int
) -> Iterator[Element]:
    """Yield what a paragraph and its styles say about its bullet, the nearest first."""
    levels = (one.find(f"{A}lvl{level + 1}pPr") for one in styles if one is not None)
    for properties in (own, *levels):
        for one in () if properties is None else properties:
            if one.tag in (f"{A}buNone", f"{A}buChar", f"{A}buBlip", f"{A}buAutoNum"):
                yield one


def _number(kind: str, number: int) -> str:
    """The number of a paragraph: "1. ", "a) ", "(iv) "."""
    style = next((word for name, word in _KINDS.items() if kind.startswith(name)), "decimal")
    shown = written(number, style)
    if kind.endswith("ParenBoth"):
        return f"({shown}) "
    return (
        f"{shown}) "
        if kind.endswith("ParenR")
        else f"{shown} "
        if "Plain" in kind
        else f"{shown}. "
    )


def _content(element: str) -> str:
    """The content of an element."""
    return element.partition(">")[2].rpartition("<")[0]
