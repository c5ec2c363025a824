"""The parser of PDF files: text by its place on the page, fields, comments, outline and labels."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any

from graphreader.documents import Heading, Place, Skipped
from graphreader.errors import DocumentError
from graphreader.ingestion.loading.content import (
    MAX_HEADINGS,
    Content,
    clean,
    optional_package,
)
from graphreader.ingestion.loading.ocr import Pixels, Recognizer
from graphreader.ingestion.loading.page_layout import lines_of_page, runs_on, text_of_lines
from graphreader.ingestion.loading.page_segments import PageLine, glue
from graphreader.ingestion.loading.pdf_page import Comment, PageParts, parts_of_page
from graphreader.ingestion.loading.running_heads import without_edges

_METADATA = {
    "title": "Title",
    "author": "Author",
    "subject": "Subject",
    "keywords": "Keywords",
}
_DATE = re.compile(r"D:(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:Z|([+-]\d\d)'?(\d\d)?)?")
_LEVELS = 15  # of an outline
_MOST_FILES = 100
_WRONG_PASSWORD = 4  # PDFium's error
_UNREADABLE_SHARE = 0.2  # of a page's letters

_NO_TEXT = "has no text, only pictures: read it with --ocr"
_SOME_LETTERS = "some letters or signs cannot be read, as the fonts do not name them"
_NO_LETTERS = "its letters cannot be read, as its fonts do not name them: read it with --ocr"
_FIGURE = "has a picture, whose text is not read: read it with --ocr"
_FOR_OCR = (_NO_TEXT, _NO_LETTERS, _FIGURE)


def read_pdf(data: bytes, shown: str, ocr: str = "") -> Content:
    """Parse a PDF: the pages' text in reading order, with fields and comments at their places.

    The outline gives headings, the labels of pages their names. Running heads and page numbers are
    left out. The title in the metadata is ignored: it is rarely the title of the text. With `ocr`
    (`ocr_of`) pages without a text that can be read are recognized.
    """
    package = optional_package("pypdfium2", shown)
    pdfium = optional_package("pypdfium2.raw", shown)
    try:
        document = package.PdfDocument(data)
    except package.PdfiumError as error:
        if getattr(error, "err_code", None) == _WRONG_PASSWORD:
            raise DocumentError(
                f"{shown} is protected by a password: save it without one."
            ) from None
        raise
    try:
        return _read(document, pdfium, shown, Recognizer(ocr) if ocr else None)
    finally:
        document.close()


def _read(document: Any, pdfium: Any, shown: str, recognizer: Recognizer | None) -> Content:
    pages: list[list[PageLine]] = []
    skipped: list[Skipped] = []
    unsure: list[int] = []  # pages with some letters that cannot be read
    with suppress(Exception):  # a broken form does not make the text unreadable
        document.init_forms()
    form = document.formenv and document.formenv.raw
    for index in range(len(document)):
        part = f"page {index + 1}"
        try:
            parts = _page_parts(document, pdfium, form, index)
            lines = _lines(parts)
        except Exception:  # one unreadable page of perhaps hundreds
            pages.append([])
            skipped.append(Skipped(part, "cannot be read"))
            continue
        reasons = list(_left_out(parts, lines))
        if recognizer and (not parts.letters or any(one in _FOR_OCR for one in reasons)):
            image = partial(_picture_of_page, document, index, recognizer)
            lines = _with_recognized(lines, reasons, recognizer.lines(part, image))
            reasons = [one for one in reasons if one not in _FOR_OCR]
        pages.append(lines)
        skipped += (Skipped(part, reason) for reason in reasons)
        if 0 < parts.unreadable <= _UNREADABLE_SHARE * parts.letters:
            unsure.append(index + 1)
    if unsure:
        more = f" and {len(unsure) - 10:,} more" if len(unsure) > 10 else ""
        numbers = ", ".join(map(str, unsure[:10]))
        skipped.append(Skipped(f"page{'s' * (len(unsure) > 1)} {numbers}{more}", _SOME_LETTERS))
    pages, note = without_edges(pages)
    text, starts, line_starts = _joined(pages)
    if not text:
        raise DocumentError(f"{shown} has {_why_empty(skipped, recognizer)}")
    notes = (*(recognizer.notes if recognizer else ()), *filter(None, [note]))
    return Content(
        text,
        metadata=_metadata(document),
        places=_places(document, starts),
        headings=tuple(
            sorted(_headings(document, pages, line_starts, starts), key=lambda one: one.start)
        ),
        skipped=(
            *skipped,
            *(recognizer.skipped if recognizer else ()),
            *_of_document(document, pdfium),
        ),
        notes=notes,
    )


def _why_empty(skipped: Sequence[Skipped], recognizer: Recognizer | None) -> str:
    """The reason why a file has no text, with the remedy."""
    if recognizer and recognizer.skipped:
        return f"no text that can be read: {recognizer.skipped[0].reason}."
    if any(one.reason == _NO_LETTERS for one in skipped):
        return "no letters that can be read: read it with --ocr."
    if any(one.reason == "cannot be read" for one in skipped):
        return "no page that can be read: save it anew, or print it into a PDF."
    return "no text, only pictures: read it with --ocr."


def _page_parts(document: Any, pdfium: Any, form: Any, index: int) -> PageParts:
    page = pdfium.FPDF_LoadPage(document, index)
    if not page:
        raise ValueError(f"page {index} cannot be loaded")
    try:
        return parts_of_page(pdfium, page, form)
    finally:
        pdfium.FPDF_ClosePage(page)


def _lines(parts: PageParts) -> list[PageLine]:
    """The lines of a page in its main direction, then of turned text, with the comments."""
    lines = lines_of_page(parts.words, parts.rules)
    for words in parts.turned:
        more = lines_of_page(words)
        if more and lines:
            more[0].before = "\n\n"
        lines += more
    places = [(_place_of(comment, lines), comment) for comment in parts.comments]
    for place, comment in sorted(places, key=lambda one: one[0], reverse=True):
        lines.insert(place, PageLine(comment.text, comment.left, comment.left, comment.top, 0))
    for line in lines:
        line.text = clean(line.text)
    return lines


def _picture_of_page(document: Any, index: int, recognizer: Recognizer) -> Pixels:
    page = document[index]
    try:
        image: Pixels = page.render(scale=recognizer.scale(*page.get_size())).to_numpy().copy()
        return image
    finally:
        page.close()


def _with_recognized(
    lines: list[PageLine], reasons: Sequence[str], recognized: list[PageLine]
) -> list[PageLine]:
    """The lines of a page with the recognized lines: of its picture, or of the whole page."""
    if _FIGURE not in reasons:
        comments = [one for one in lines if not one.size]
        return [*recognized, *comments] if recognized else lines
    known = _plain(" ".join(line.text for line in lines))
    added = [one for one in recognized if _plain(one.text) not in known]
    if added:
        added[0].before = "\n\n"
    return lines + added


def _place_of(comment: Comment, lines: list[PageLine]) -> int:
    """The number of the line before which a comment stands: behind its paragraph or table."""
    at = min(
        range(len(lines)),
        key=lambda number: (
            abs(lines[number].base + 0.35 * lines[number].size - comment.top),
            abs(lines[number].left - comment.left),
        ),
        default=-1,
    )
    at += 1
    while at < len(lines) and lines[at].before != "\n\n":
        at += 1
    return at


def _left_out(parts: PageParts, lines: list[PageLine]) -> Iterator[str]:
    """Yield why something of a page is not read."""
    if parts.unreadable and parts.unreadable > _UNREADABLE_SHARE * parts.letters:
        yield _NO_LETTERS
    elif not parts.letters and parts.has_pictures:
        yield _NO_TEXT
    if lines and parts.has_figure:
        yield _FIGURE
    for name in parts.files:
        yield f"has a file attached, which is not read: {clean(name)[:200]}"


def _joined(pages: list[list[PageLine]]) -> tuple[str, list[int], list[list[int]]]:
    """Join the pages; return the text, the start of each page, and of each line of a page.

    A sentence that a page break divides runs on.
    """
    parts: list[str] = []
    starts: list[int] = []
    line_starts: list[list[int]] = []
    size = 0
    last: PageLine | None = None
    for lines in pages:
        if lines and last:
            first = lines[0]
            between = glue(last.text, first.text) if runs_on(last, first) else "\n\n"
            parts.append(between)
            size += len(between)
        text, own = text_of_lines(lines)
        starts.append(size)
        line_starts.append([size + one for one in own])
        parts.append(text)
        size += len(text)
        last = lines[-1] if lines else last
    return "".join(parts), [min(one, size) for one in starts], line_starts


def _places(document: Any, starts: Sequence[int]) -> tuple[Place, ...]:
    """The pages by their numbers, with the printed label of a page where it is another."""
    places = []
    for number, start in enumerate(starts, 1):
        label = ""
        with suppress(Exception):
            label = " ".join(clean(document.get_page_label(number - 1)).split())[:40]
        name = f"page {number}"
        places.append(Place(start, f"{name} ({label})" if label not in ("", str(number)) else name))
    return tuple(places)


def _metadata(document: Any) -> dict[str, str]:
    metadata = {}
    for name, key in _METADATA.items():
        with suppress(Exception):
            if value := document.get_metadata_value(key).strip():
                metadata[name] = value
    with suppress(Exception):  # an invalid date makes neither pages nor author unreadable
        if created := _date(document.get_metadata_value("CreationDate")):
            metadata["creation_date"] = created
    return metadata


def _date(written: str) -> str:
    """Convert a date of the form D:20230616102100+02'00' to ISO format, "" if it is no date."""
    match = _DATE.match(written.strip())
    if not match:
        return ""
    *parts, hours, minutes = match.groups()
    year, month, day, hour, minute, second = (int(one or 0) for one in parts)
    when = datetime(year, month or 1, day or 1, hour, minute, second).isoformat()
    return when + (f"{hours}:{minutes or '00'}" if hours else "")


def _of_document(document: Any, pdfium: Any) -> Iterator[Skipped]:
    """Yield parts of the whole file that are not read: files within, forms without pages."""
    with suppress(Exception):
        count = document.count_attachments()
        for index in range(min(count, _MOST_FILES)):
            name = "a file"
            with suppress(Exception):
                name = " ".join(clean(document.get_attachment(index).get_name()).split())[:200]
            yield Skipped(f"attachment {name}", "is a file within the PDF and not read: save it")
        if count > _MOST_FILES:
            yield Skipped(f"{count - _MOST_FILES:,} more attachments", "are not read")
    if pdfium.FPDF_GetFormType(document) in (
        pdfium.FORMTYPE_XFA_FULL,
        pdfium.FORMTYPE_XFA_FOREGROUND,
    ):
        yield Skipped("form", "is an XFA form, whose fields may be missing: print it into a PDF")


def _headings(
    document: Any, pages: list[list[PageLine]], line_starts: list[list[int]], starts: list[int]
) -> Iterator[Heading]:
    """Yield the outline's entries, each at its words on the page, else at the page's start."""
    forms = [[_plain(line.text) for line in lines] for lines in pages]
    used: Counter[tuple[int, str]] = Counter()
    for level, page, title in _outline(document):
        if not title or not 0 <= page < len(pages):
            continue
        wanted = _plain(title)
        at = [n for n, form in enumerate(forms[page]) if wanted and form == wanted]
        at = at or [n for n, form in enumerate(forms[page]) if wanted and wanted in form]
        place = used[page, wanted]
        used[page, wanted] += 1
        if at:
            number = at[min(place, len(at) - 1)]
            inside = max(pages[page][number].text.find(title), 0)
            yield Heading(line_starts[page][number] + inside, title, level)
        else:
            yield Heading(starts[page], title, level)


def _plain(text: str) -> str:
    return "".join(one for one in text.casefold() if one.isalnum())


def _outline(document: Any) -> Iterator[tuple[int, int, str]]:
    """Yield level from 1, page from 0 and title of each entry of the outline."""
    number = 0
    try:
        for entry in document.get_toc(max_depth=_LEVELS):
            number += 1
            if number > MAX_HEADINGS:
                return
            with suppress(Exception):
                target = entry.get_dest()
                page = target.get_index() if target else None
                if page is not None:
                    title = " ".join(clean(entry.get_title()).split())
                    yield entry.level + 1, page, title
    except Exception:  # a broken outline does not make the text unreadable
        return
