"""Office files (.docx, .pptx, .xlsx) as packages of XML parts, and what Word and slides share.

Both hold relationships, charts, diagrams (SmartArt), symbols of fonts, and alternatives of which a
program shows the first that it knows.
"""

import posixpath
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from typing import Any
from urllib.parse import unquote
from zipfile import ZipFile

from lxml import etree

from graphreader.documents import Skipped
from graphreader.errors import DocumentError
from graphreader.ingestion.loading.archives import open_archive
from graphreader.ingestion.loading.lists import number_of
from graphreader.ingestion.loading.number_formats import shown_number

_SCHEMAS = "http://schemas.openxmlformats.org"
W = f"{{{_SCHEMAS}/wordprocessingml/2006/main}}"
A = f"{{{_SCHEMAS}/drawingml/2006/main}}"
P = f"{{{_SCHEMAS}/presentationml/2006/main}}"
R = f"{{{_SCHEMAS}/officeDocument/2006/relationships}}"
_CHART = f"{{{_SCHEMAS}/drawingml/2006/chart}}"
_DIAGRAM = f"{{{_SCHEMAS}/drawingml/2006/diagram}}"
_ALTERNATIVES = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"

_OLE_SIGNATURE = b"\xd0\xcf\x11\xe0"  # beginning of .doc and .ppt, and of files with a password
_STRICT = re.compile(  # names of the strict variant of ISO 29500
    rb"http://purl\.oclc\.org/ooxml/(wordprocessingml|presentationml|drawingml|officeDocument)/"
)
_LONGEST_ADDRESS = 2_000  # characters of a link
_MOST_VALUES = 100_000  # of a chart
_FILE_NAME = re.compile(
    r".*\.(?:bmp|emf|gif|jpe?g|png|svg|tiff?|webp|wmf)|\S+\.\w{3,4}", re.IGNORECASE
)

Element = Any  # lxml's, which has no types
Counts = Counter[tuple[str, str, str]]  # parts not read: singular, plural, reason

PICTURE = ("picture", "pictures", "not read, without an alternative text")
CHART = ("chart", "charts", "not read: no values are stored in a known form")
_DAMAGED = ("part of the file", "parts of the file", "cannot be read, damaged")
EMBEDDED = ("embedded object", "embedded objects", "not read: save it as a file of its own")


def skipped_parts(counts: Counts) -> tuple[Skipped, ...]:
    """Name what was not read, with its numbers: "12 pictures"."""
    return tuple(
        Skipped(f"{number:,} {one if number == 1 else several}", reason)
        for (one, several, reason), number in counts.items()
        if number
    )


@dataclass(frozen=True, slots=True)
class Relation:
    """A reference of a part to another part, or to an address elsewhere."""

    kind: str  # "footnotes", "hyperlink", ...
    target: str
    is_external: bool


@dataclass(slots=True, eq=False)
class Package:
    """An open Office file, whose parts are parsed without entities, DTD and network.

    Relations are read once, and so are the parts of which `is_new` is asked.
    """

    archive: ZipFile
    _relations: dict[str, dict[str, Relation]] = field(default_factory=dict)
    _used: set[str] = field(default_factory=set)

    def root(self, name: str) -> Element | None:
        """Parse a part, None if there is none. Raises an error for a damaged part or a DTD."""
        try:
            data = self.archive.read(name)
        except KeyError:
            return None
        data = _STRICT.sub(rb"http://schemas.openxmlformats.org/\1/2006/", data)
        parser = etree.XMLParser(
            resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True
        )
        root = etree.fromstring(data, parser)
        if root.getroottree().docinfo.internalDTD is not None:
            raise ValueError("a part with a document type, which no Office program writes")
        return root

    def optional_root(self, name: str, counts: Counts) -> Element | None:
        """Parse a part without which a file can be read; a damaged part is counted."""
        try:
            return self.root(name)
        except Exception:  # of any kind of damage
            counts[_DAMAGED] += 1
            return None

    def relations(self, name: str) -> dict[str, Relation]:
        """The relations of a part by their ids; "" is the package."""
        if name not in self._relations:
            self._relations[name] = self._read_relations(name)
        return self._relations[name]

    def is_new(self, name: str) -> bool:
        """Whether a part is asked for the first time, so that no small file makes a long text."""
        is_new = name not in self._used
        self._used.add(name)
        return is_new

    def _read_relations(self, name: str) -> dict[str, Relation]:
        folder, base = posixpath.split(name)
        root = self.root(posixpath.join(folder, "_rels", f"{base}.rels"))
        found = {}
        for one in () if root is None else root:
            target = one.get("Target", "")
            is_external = one.get("TargetMode") == "External"
            if not is_external:
                path = unquote(target).replace("\\", "/")
                path = path if path.startswith("/") else posixpath.join("/", folder, path)
                target = posixpath.normpath(path).lstrip("/")
            kind = one.get("Type", "").rpartition("/")[2]
            found[one.get("Id", "")] = Relation(kind, target, is_external)
        return found

    def main(self) -> str:
        """The name of the main part. Raises KeyError where there is none."""
        kinds = {one.kind: one.target for one in self.relations("").values()}
        return kinds["officeDocument"]


@contextmanager
def open_package(data: bytes, shown: str, suffix: str) -> Iterator[Package]:
    """Open an Office file. Raises DocumentError for an old or encrypted one, or one too large."""
    if data.startswith(_OLE_SIGNATURE):
        raise DocumentError(
            f"{shown} is protected by a password or an old .{suffix[1:-1]} file: save it as "
            f"{suffix} without one."
        )
    with open_archive(data, shown) as archive:
        yield Package(archive)


def of_kind(relations: dict[str, Relation], kind: str) -> str:
    """The first part of a kind among relations, "" if there is none."""
    return next((one.target for one in relations.values() if one.kind == kind), "")


def address_of(relation: Relation | None) -> str:
    """The address of a link to another place, "" for one within the file."""
    is_link = relation and relation.is_external and len(relation.target) <= _LONGEST_ADDRESS
    return relation.target if relation and is_link else ""


def shown_alternative(element: Element) -> Element | tuple[()]:
    """The content that is shown of a choice between a new form (DrawingML) and an old one (VML)."""
    choices = [one for one in element if one.tag == f"{_ALTERNATIVES}Choice" and len(one)]
    fallbacks = [one for one in element if one.tag == f"{_ALTERNATIVES}Fallback"]
    return next(iter(choices + fallbacks), ())


ALTERNATIVES = f"{_ALTERNATIVES}AlternateContent"


def alternative_text(properties: Element | None) -> str:
    """The alternative text of a picture or shape, "" for none and for the name of a file."""
    if properties is None:
        return ""
    text = " ".join((properties.get("descr") or properties.get("title") or "").split())
    return "" if _FILE_NAME.fullmatch(text) else text


def graphic(
    package: Package, relations: dict[str, Relation], element: Element, counts: Counts
) -> str | None:
    """A chart as a table, or the words of a diagram, in HTML; None for another graphic."""
    for one in element.iter(f"{_CHART}chart", f"{_DIAGRAM}relIds"):
        is_chart = one.tag == f"{_CHART}chart"
        relation = relations.get(one.get(f"{R}{'id' if is_chart else 'dm'}", ""))
        is_new = relation and package.is_new(relation.target)
        root = package.optional_root(relation.target, counts) if relation and is_new else None
        if root is not None:
            return _chart(root) if is_chart else _diagram(root)
    return None


def _chart(root: Element) -> str | None:
    """The title of a chart, and its values as a table with a row for each category."""
    title = root.find(f"{_CHART}chart/{_CHART}title")
    columns: list[tuple[str, dict[str, str]]] = []
    categories: dict[str, str] = {}
    for series in root.iter(f"{_CHART}ser"):
        name = " ".join(_points(series.find(f"{_CHART}tx")).values())
        for kind in ("cat", "xVal"):
            for at, value in _points(series.find(f"{_CHART}{kind}")).items():
                categories.setdefault(at, value)
        for kind in ("val", "yVal"):
            if values := _points(series.find(f"{_CHART}{kind}")):
                columns.append((name, values))
    for _, values in columns:
        for at in values:
            categories.setdefault(at, "")
    if not columns or len(columns) * len(categories) > _MOST_VALUES:
        return None
    rows = [["", *(name for name, _ in columns)]]
    rows += [
        [name, *(values.get(at, "") for _, values in columns)] for at, name in categories.items()
    ]
    return f"<p>{escape(_words(title))}</p>" + table(rows)


def _points(element: Element | None) -> dict[str, str]:
    """The stored values of a series by their indexes; levels of a category are joined."""
    found: dict[str, str] = {}
    form = "" if element is None else element.findtext(f".//{_CHART}formatCode") or ""
    for point in () if element is None else element.iter(f"{_CHART}pt"):
        at, value = point.get("idx", ""), _value(point.findtext(f"{_CHART}v") or "", form)
        found[at] = f"{value} {found[at]}" if at in found else value
    if not found and element is not None:
        found = {"": element.findtext(f"{_CHART}v") or ""}
    return {at: value for at, value in found.items() if value}


def _value(written: str, form: str) -> str:
    """A stored value as a cell shows it; a word stays as it is."""
    try:
        return shown_number(float(written), form)
    except ValueError:
        return written


def _diagram(root: Element) -> str:
    """The words of a diagram, a line for each shape, followed by the shapes below it."""
    points = {one.get("modelId", ""): one for one in root.iter(f"{_DIAGRAM}pt")}
    below: dict[str, list[tuple[int, str]]] = {}
    for one in root.iter(f"{_DIAGRAM}cxn"):
        if one.get("type", "parOf") == "parOf":
            at = number_of(one.get("srcOrd")) or 0
            below.setdefault(one.get("srcId", ""), []).append((at, one.get("destId", "")))
    first = [name for name, point in points.items() if point.get("type") == "doc"]
    left = [*reversed(points), *first]  # a shape that nothing leads to comes last
    lines = []
    while left:
        name = left.pop()
        point = points.pop(name, None)  # each once, also in a circle
        if point is not None:
            lines.append(_words(point.find(f"{_DIAGRAM}t")))
            left += [one for _, one in sorted(below.get(name, ()), reverse=True)]
    items = "".join(f"<dd>{escape(line)}</dd>" for line in lines if line)
    return f"<div>{items}</div>"


def _words(element: Element | None) -> str:
    """The words of paragraphs in DrawingML, in one line."""
    paragraphs = () if element is None else element.iter(f"{A}p")
    return " ".join(
        "".join(one.text or "" for one in paragraph.iter(f"{A}t")) for paragraph in paragraphs
    ).strip()


def table(rows: list[list[str]]) -> str:
    """Write rows of plain cells as an HTML table."""
    lines = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows)
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


# The characters from 0x22 of the font Symbol (Adobe's encoding), a space for unused codes.
_SYMBOL = (
    "∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"
    + " " * 33
    + "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…|—↵"
    + "ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪ 〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭"
)
_WINGDINGS = {
    **{0x28: "☎", 0x2A: "✉", 0x45: "☜", 0x46: "☞", 0x4A: "☺", 0x4C: "☹", 0x6C: "●", 0x6E: "■"},
    **{0x75: "◆", 0x76: "❖", 0x9F: "•", 0xA7: "▪", 0xAB: "★", 0xD8: "➢", 0xFB: "✗", 0xFC: "✓"},
    **{0xDF: "←", 0xE0: "→", 0xE1: "↑", 0xE2: "↓", 0xE7: "←", 0xE8: "→", 0xE9: "↑", 0xEA: "↓"},
    **{0xEF: "⇐", 0xF0: "⇒", 0xF1: "⇑", 0xF2: "⇓", 0xF3: "⇔", 0xF4: "⇕"},
    **dict.fromkeys((0x6F, 0x71, 0x72, 0xA8), "[ ]"),
    **dict.fromkeys((0x78, 0xFD, 0xFE), "[x]"),
    **{0x81 + at: sign for at, sign in enumerate("①②③④⑤⑥⑦⑧⑨⑩❶❶❷❸❹❺❻❼❽❾❿") if at != 10},
}
_WINGDINGS_2 = {
    **{0x4F: "✗", 0x50: "✓", 0xA3: "[ ]"},
    **dict.fromkeys((0x51, 0x52, 0x53, 0x54), "[x]"),
}
_DINGBATS = {
    "Wingdings": _WINGDINGS,
    "Wingdings 2": _WINGDINGS_2,
    "Wingdings 3": {},
    "Webdings": {},
}
_ANY_SIGN = "•"  # for a sign of these fonts that Unicode has not, or hardly anyone reads
_FEW_SIGNS = 20  # characters of a text in such a font; a longer one only has its name
_PRIVATE = re.compile("[\uf020-\uf0ff]")
_SIGN = re.compile("[!-\xff\uf020-\uf0ff]")


def symbol(font: str, code: int) -> str:
    """The character of a code in a font of symbols; in another font the one of Unicode."""
    at = code & 0xFF
    if font in _DINGBATS:
        return _DINGBATS[font].get(at, _ANY_SIGN) if at > 0x20 else " "
    if font == "Symbol":
        return (_SYMBOL[at - 0x22 : at - 0x21].strip() or _ANY_SIGN) if at >= 0x22 else chr(at)
    if _PRIVATE.match(chr(code)):
        return chr(at) if at < 0x7F else _ANY_SIGN
    return chr(code) if code >= 0x20 else ""


def with_symbols(text: str, font: str) -> str:
    """Replace the letters of a text in a font of symbols, and signs of private use, by Unicode."""
    is_symbols = (font == "Symbol" or font in _DINGBATS) and len(text) <= _FEW_SIGNS
    signs = _SIGN if is_symbols else _PRIVATE
    return signs.sub(lambda one: symbol(font, ord(one[0])), text)


def is_on(element: Element | None) -> bool | None:
    """Whether a property that is present is switched on, None if it is absent."""
    if element is None:
        return None
    value = element.get(f"{W}val", element.get("val", "1"))
    return value not in ("0", "false", "off", "none")
