"""HTML becomes text: blocks become paragraphs, rows of a table lines, headings are remembered.

What nobody reads on the page is left out: scripts, styles, navigation, controls, what is hidden.

What a Markdown text says of itself: its front matter and its headings. The text stays as it is.

Headings are found line by line, as most Markdown is written: those inside of quotes and lists, or
in HTML, are not.

PDF becomes text, page by page, by pypdf. What is only a picture of text is not read.

DOCX and EPUB: zip archives of markup.

A DOCX is turned into HTML by mammoth. An EPUB is a list of pages, read in their order. An archive
that would grow too large is refused before it is unpacked.

A text that is nothing but text.

Packages that only some formats need, imported when a file of such a format is read.
"""

import logging
import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from html.parser import HTMLParser
from importlib import import_module
from io import BytesIO
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree
from zipfile import ZipFile

import yaml

from graphreader.documents import Skipped
from graphreader.errors import DocumentError
from graphreader.ingestion.loading.content import Content, clean, decode, joined, told_by


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


def read_text(data: bytes, shown: str) -> Content:
    """The text as it is: for UTF-8 what `open(path, encoding="utf-8").read()` gives.

    Every line end is a newline, and a byte order mark stays as its first character, so that the
    spans fit what others read. Raises DocumentError where it is binary.
    """
    decoded = decode(data, shown)
    return Content(decoded.text, metadata=decoded.metadata, skipped=decoded.skipped)


_LARGEST = 64_000  # characters of a front matter: YAML is slow to read
_FRONT_MATTER = re.compile(r"\ufeff?---[ \t]*\n((?:.*\n)*?)(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_LINE = re.compile(r".*\n?")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`\n]*$)|~{3,})", re.MULTILINE)
_MARK = re.compile(r" {0,3}#{1,6}(?=\s)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*\n?")
_UNDERLINED = re.compile(r" {0,3}(?![>#|]|[-*+][ \t]|\d+[.)][ \t])\S.*\n")


def read_markdown(data: bytes, shown: str) -> Content:
    """The text with its headings, and the values of its front matter (YAML) as metadata.

    Its title is that of the front matter. Raises DocumentError where it is binary.
    """
    plain = read_text(data, shown)
    front = _FRONT_MATTER.match(plain.text)
    values, problem = _values(front[1]) if front else ({}, "")
    title = values.get("title")
    return replace(
        plain,
        title=title.strip() if isinstance(title, str) else "",
        metadata={**values, **plain.metadata},
        # What stands between two rules and is no YAML of names and values is text.
        headings=tuple(_headings(plain.text, front.end() if front and values else 0)),
        skipped=(*plain.skipped, *([Skipped("front matter", problem)] if problem else [])),
    )


def _values(written: str) -> tuple[dict[Any, Any], str]:
    """The values of a front matter, or what is wrong with it."""
    if len(written) > _LARGEST:
        return {}, f"longer than {_LARGEST:,} characters"
    try:
        values = yaml.safe_load(written)
    except Exception as error:  # yaml has its own, and many others slip through
        return {}, f"not read, it is no YAML ({told_by(error)})"
    return (values, "") if isinstance(values, dict) else ({}, "")


def _headings(text: str, start: int) -> Iterator[tuple[int, str]]:
    """Where each heading begins, and its words: "# so", or underlined with = or -."""
    fence = ""
    before: re.Match[str] | None = None  # the line before, if it may be underlined
    for line in _LINE.finditer(text, start):
        mark = _FENCE.match(line[0])
        if fence:
            if mark and mark[1].startswith(fence) and not line[0].strip(" \n" + fence[0]):
                fence = ""
        elif mark:
            fence, before = mark[1], None
        elif marked := _MARK.match(line[0]):
            before = None
            if title := _unmarked(line[0][marked.end() :].strip()):
                yield line.start(), title
        elif before and _UNDERLINE.fullmatch(line[0]):
            yield before.start(), before[0].strip()
            before = None
        else:
            before = line if _UNDERLINED.fullmatch(line[0]) else None


def _unmarked(title: str) -> str:
    """The heading without the marks that may close it ("# so #")."""
    bare = title.rstrip("#")
    return bare.rstrip() if not bare or bare[-1].isspace() else title


def optional(package: str, shown: str) -> Any:
    """The package; a DocumentError that says what to install where it is missing."""
    try:
        return import_module(package)
    except ImportError as error:
        raise DocumentError(f"{shown} needs a further package: pip install {package}") from error


_PDF_LOADERS = ("title", "author", "subject", "keywords", "creation_date")
_MOST_HEADINGS = 5_000


def read_pdf(data: bytes, shown: str) -> Content:
    """The text of the pages, a blank line between them, and the outline's entries as headings.

    A page that cannot be read is skipped and counts as an empty one. What the file tells of itself
    is metadata; its title is not taken, it is rarely the text's. Raises DocumentError.
    """
    pypdf = optional("pypdf", shown)
    logger = logging.getLogger("pypdf")
    if not logger.handlers:  # else its complaints go to a terminal where nobody set up logging
        logger.addHandler(logging.NullHandler())
    try:
        reader = pypdf.PdfReader(BytesIO(data))
        locked = reader.is_encrypted and not reader.decrypt("")
        number = 0 if locked else len(reader.pages)
    except pypdf.errors.DependencyError as error:
        raise DocumentError(
            f"{shown} is encrypted: save it without encryption, or pip install cryptography."
        ) from error
    except Exception as error:  # pypdf has its own, and many others slip through
        why = " ".join(str(error).split()) or type(error).__name__
        raise DocumentError(f"{shown} cannot be read as PDF ({why}): is it damaged?") from error
    if locked:
        raise DocumentError(f"{shown} is protected by a password: save it without one.")
    return _content(reader, number, shown)


def _content(reader: Any, number: int, shown: str) -> Content:
    """All pages, one after the other."""
    pages: list[str] = []
    skipped: list[Skipped] = []
    for index in range(number):
        try:
            pages.append(clean(reader.pages[index].extract_text().strip()))
        except Exception as error:  # one page, of which there may be hundreds
            pages.append("")
            why = " ".join(str(error).split()) or type(error).__name__
            skipped.append(Skipped(f"page {index + 1}", f"cannot be read ({why[:200]})"))
    if not any(pages):
        why = f"no page can be read ({skipped[0].reason})" if skipped else "no text, only pictures"
        raise DocumentError(f"{shown} has {why}: run OCR on it first, for example with ocrmypdf.")
    text, starts = joined(pages)
    return Content(
        text,
        metadata=_told(reader),
        page_starts=tuple(starts),
        headings=tuple(sorted(_pdf_headings(reader, pages, starts))),
        skipped=tuple(skipped),
    )


def _told(reader: Any) -> dict[str, Any]:
    """What the file tells of itself, as far as it can be read."""
    told = {}
    for name in _PDF_LOADERS:
        try:
            value = getattr(reader.metadata, name, None)
        except Exception:  # a date that is none, a name that is no text
            continue
        if value:
            told[name] = value
    return told


def _pdf_headings(reader: Any, pages: list[str], starts: list[int]) -> Iterator[tuple[int, str]]:
    """The entries of the outline, where they stand on their page, else where it begins."""
    try:
        entries = list(_entries(reader.outline))[:_MOST_HEADINGS]
    except Exception:  # an outline is no reason to refuse a text
        return
    for entry in entries:
        try:
            page = reader.get_destination_page_number(entry)
            title = " ".join(clean(str(entry.title)).split())
        except Exception:
            continue
        if title and page is not None and 0 <= page < len(pages):
            yield starts[page] + max(pages[page].find(title), 0), title


def _entries(outline: Any) -> Iterator[Any]:
    """The entries of an outline and of all outlines in it."""
    for entry in outline:
        if isinstance(entry, list):
            yield from _entries(entry)
        else:
            yield entry


MAX_UNPACKED = 256 * 1024 * 1024

MAX_XML = 32 * 1024 * 1024
"""Bytes of the XML in a DOCX: all of it is held in memory, at forty times its size."""

_OLD_OFFICE = b"\xd0\xcf\x11\xe0"  # how .doc begins, and .docx with a password
_STYLES = "p[style-name='Title'] => h1:fresh"

_ARCHIVE_LOADERS = re.compile(  # of the whole, in words of the Dublin Core
    "title|creator|subject|description|publisher|contributor|date|language|identifier|created"
    "|modified|keywords"
)


def read_docx(data: bytes, shown: str) -> Content:
    """The text of a Word document: paragraphs, lists, tables, notes at the end.

    What it tells of itself is metadata; its title is not taken, it is rarely the text's.
    """
    mammoth = optional("mammoth", shown)
    if data.startswith(_OLD_OFFICE):
        raise DocumentError(
            f"{shown} is protected by a password or an old .doc file: save it as .docx without one."
        )
    try:
        with _opened(data, shown, MAX_XML) as archive:
            metadata = _archive_problem(archive, "docProps/core.xml")
        html = mammoth.convert_to_html(
            BytesIO(data),
            style_map=_STYLES,
            include_embedded_style_map=False,
            convert_image=mammoth.images.img_element(lambda image: {}),
        )
    except DocumentError:
        raise
    except Exception as error:  # mammoth has no exceptions of its own
        raise _damaged(shown, "DOCX", error) from error
    content = read_html(html.value.encode(), shown)
    return Content(content.text, metadata=metadata, headings=content.headings)


def read_epub(data: bytes, shown: str) -> Content:
    """The text of an electronic book: its pages in their order, titled as it says."""
    try:
        with _opened(data, shown) as archive:
            package = _package(archive)
            metadata = _archive_problem(archive, package)
            parts, skipped = _pages(archive, package, shown)
    except DocumentError:
        raise
    except Exception as error:  # of zip files, of XML, of what is missing in them
        raise _damaged(shown, "EPUB", error) from error
    if skipped and not parts:
        raise DocumentError(
            f"{shown} has no page that can be read ({skipped[0].reason}): is it protected?"
        )
    text, starts = joined([part.text for part in parts])
    headings = [
        (start + at, heading)
        for start, part in zip(starts, parts, strict=True)
        for at, heading in part.headings
    ]
    title = metadata.get("title", "")
    return Content(
        text,
        title if isinstance(title, str) else title[0],
        metadata,
        headings=tuple(headings),
        skipped=tuple(skipped),
    )


def _opened(data: bytes, shown: str, max_xml: int = MAX_UNPACKED) -> ZipFile:
    """The archive, if it is not too large when unpacked."""
    archive = ZipFile(BytesIO(data))
    sizes = [(one.filename, one.file_size) for one in archive.infolist()]
    whole = sum(size for _, size in sizes)
    xml = sum(size for name, size in sizes if name.lower().endswith((".xml", ".rels")))
    if whole > MAX_UNPACKED or xml > max_xml:
        raise DocumentError(
            f"{shown} holds {whole / 2**20:,.0f} MiB when it is unpacked, more than can be read: "
            "cut it into smaller files."
        )
    return archive


def _archive_problem(archive: ZipFile, name: str) -> dict[str, str | list[str]]:
    """What the XML file of that name tells of the whole, as far as it does; lists where twice."""
    found: dict[str, list[str]] = {}
    try:
        root = ElementTree.fromstring(archive.read(name))
    except (KeyError, ElementTree.ParseError):
        return {}
    for element in root.iter():
        tag = element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
        value = " ".join((element.text or "").split())
        if _ARCHIVE_LOADERS.fullmatch(tag) and value and value not in found.setdefault(tag, []):
            found[tag].append(value)
    return {tag: values[0] if len(values) == 1 else values for tag, values in found.items()}


def _package(archive: ZipFile) -> str:
    """The file that lists the pages."""
    container = ElementTree.fromstring(archive.read("META-INF/container.xml"))
    return next(one.attrib["full-path"] for one in container.iter() if "full-path" in one.attrib)


def _pages(archive: ZipFile, package: str, shown: str) -> tuple[list[Content], list[Skipped]]:
    """The pages of the book, and those that cannot be read."""
    parts: list[Content] = []
    skipped: list[Skipped] = []
    for name in _names_of_pages(archive, package):
        try:
            part = read_html(archive.read(name), name)
        except Exception as error:  # one page, of which there are many
            skipped.append(Skipped(name, f"cannot be read ({str(error) or type(error).__name__})"))
            continue
        skipped += [Skipped(f"{name}, {one.part}", one.reason) for one in part.skipped]
        if part.text:
            parts.append(part)
    return parts, skipped


def _names_of_pages(archive: ZipFile, package: str) -> Iterator[str]:
    """The names of the pages in their order, each once."""
    root = ElementTree.fromstring(archive.read(package))
    folder = posixpath.dirname(package)
    files = {
        one.attrib["id"]: one.attrib["href"]
        for one in root.iter()
        if {"id", "href", "media-type"} <= one.attrib.keys() and "html" in one.attrib["media-type"]
    }
    order = [one.attrib["idref"] for one in root.iter() if "idref" in one.attrib]
    for id_ in dict.fromkeys(order):
        if id_ in files:
            yield posixpath.normpath(posixpath.join(folder, unquote(files[id_])))


def _damaged(shown: str, form: str, error: Exception) -> DocumentError:
    why = " ".join(str(error).split()) or type(error).__name__
    return DocumentError(f"{shown} cannot be read as {form} ({why[:200]}): is it damaged?")
