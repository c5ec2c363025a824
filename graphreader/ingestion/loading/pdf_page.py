"""The parts of a page of a PDF, read by PDFium: words at their places, fields, comments, pictures.

All take PDFium's handles. Text is turned so that it runs from left to right, whatever the rotation
of the page, and parts outside of the page's box are left out.
"""

import ctypes
import math
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import regex

from graphreader.ingestion.loading.page_segments import Rule, Word

Box = tuple[float, float, float, float]
"""Left, bottom, right and top in points."""

_BULLETS = dict.fromkeys("\uf0b7\uf0a7\uf06e\uf0d8\uf076\uf0a8\uf02d\uf0be", "•") | {
    "\uf0fe": "☒",
    "\uf052": "☑",
    "\uf06f": "☐",
    "\uf0fc": "✓",
}
_HYPHEN_AT_END, _SOFT_HYPHEN = "\ufffe", "\xad"  # the first is PDFium's own
_COMPATIBLE = regex.compile(r"[\u2f00-\u2fd5\ufb00-\ufb4f\ufb50-\ufdff\ufe70-\ufefc]")
_UNREADABLE = regex.compile(r"[\p{Cc}\p{Co}\p{Cn}\ufffd]")
_REGULAR = regex.compile(r"\p{P}*(?:\p{Lu}?\p{Ll}{2,}|\p{Lu}{2,}|\p{Lo}+|\d[\d.,/:-]*)\p{P}*")
_WORD_SPACE = 0.18  # em
_SAME_LINE = 0.05  # points
_SAME_PLACE = 0.15  # em; a letter that is printed again so near is bold, not double
_SLANTED = 45  # stands for every angle that is no right one
_MOST_OBJECTS = 20_000  # of a page in which pictures are sought
_NESTED = 4  # forms within forms in which pictures are sought
_LARGE = 0.05  # of the page; smaller pictures are decoration
_LEAST_RULE, _THICK, _MOST_RULES = 15, 2, 5_000  # points, points, and their number on a page
_MOST_ANNOTATIONS = 2_000  # of a page
_HIDDEN = 0x02 | 0x20  # flags of an annotation that a reader does not see

_FREE_TEXT, _FILE, _WIDGET, _POPUP, _LINK = 3, 17, 20, 16, 2
_CHECKBOX, _RADIO, _CHOICE, _LIST, _TEXT = 2, 3, 4, 5, 6  # kinds of fields
_PASSWORD = 1 << 13  # flag of a text field


@dataclass(slots=True)
class Comment:
    """The words of an annotation, and the place on the page that it belongs to."""

    text: str
    left: float
    top: float


@dataclass(slots=True)
class PageParts:
    """The parts of a page; `unreadable` letters are left out of `words`, `files` are names."""

    words: list[Word] = field(default_factory=list)
    turned: list[list[Word]] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    letters: int = 0
    unreadable: int = 0
    rules: list[Rule] = field(default_factory=list)
    has_pictures: bool = False
    has_figure: bool = False


def parts_of_page(pdfium: Any, page: Any, form: Any) -> PageParts:
    """Read a page. `pdfium` is the module of raw functions, `form` a handle or None."""
    parts = PageParts()
    box = _box_of(pdfium, page)
    characters = pdfium.FPDFText_LoadPage(page)
    if not characters:
        raise ValueError("no text page")
    try:
        groups = _Characters(pdfium, characters, box, parts).words()
    finally:
        pdfium.FPDFText_ClosePage(characters)
    main = max(groups, key=lambda angle: sum(len(one.text) for one in groups[angle]), default=0)
    parts.words = groups.pop(main, [])
    if slanted := groups.pop(_SLANTED, None):
        groups[_SLANTED] = [_in_one(slanted)]
    parts.turned = list(groups.values())
    _add_annotations(pdfium, page, form, parts, main)
    _look_at_drawings(pdfium, page, box, parts, main)
    return parts


def _in_one(words: list[Word]) -> Word:
    """Slanted letters as one word, in the order of the file: their places say nothing."""
    text = "".join(" " * word.is_spaced + word.text for word in words).strip()
    return replace(words[0], text=text)


def _box_of(pdfium: Any, page: Any) -> Box:
    rectangle = pdfium.FS_RECTF()
    pdfium.FPDF_GetPageBoundingBox(page, rectangle)
    return rectangle.left, rectangle.bottom, rectangle.right, rectangle.top


@dataclass(slots=True)
class _Letters:
    """Letters of one size side by side, which are becoming a word."""

    letters: list[str]
    angle: int
    left: float
    low: float
    right: float
    high: float
    base: float
    size: float
    is_spaced: bool
    is_unnamed: bool
    last_left: float

    def takes(self, letter: str, box: Box, is_spaced: bool) -> bool:
        """Add a letter that stands right behind the last one, or again in its place as bold."""
        left, low, right, high = box if self.angle == 0 else _turned(box, self.angle)
        if abs(low - self.low) > _SAME_LINE or abs(high - self.high) > _SAME_LINE:
            return False
        moved = left - self.last_left
        if letter == self.letters[-1] and 0 < abs(moved) < min(
            _SAME_PLACE * self.size, 0.5 * (right - left)
        ):
            return True
        gap = left - self.right if moved else 0  # the parts of a ligature have one place
        if is_spaced or not -0.4 * self.size < gap < _WORD_SPACE * self.size:
            return False
        self.letters.append(letter)
        self.right = max(self.right, right)
        self.last_left = left
        return True


class _Characters:
    """The characters of a page, which become words by their places."""

    def __init__(self, pdfium: Any, characters: Any, box: Box, parts: PageParts) -> None:
        self._pdfium = pdfium
        self._page = characters
        self._box = box
        self._parts = parts
        self._x, self._y = ctypes.c_double(), ctypes.c_double()
        self._matrix = pdfium.FS_MATRIX()
        self._groups: dict[int, list[Word]] = {}
        self._seen: set[tuple[str, int, int]] = set()
        self._unnamed: list[Word] = []

    def words(self) -> dict[int, list[Word]]:
        """The words by the angle of their text in degrees."""
        page, box_of = self._page, self._pdfium.FPDFText_GetLooseCharBox
        rectangle = self._pdfium.FS_RECTF()
        reference = ctypes.byref(rectangle)
        run: _Letters | None = None
        is_spaced = False
        for index, letter in enumerate(self._text()):
            if letter in "\r\n":  # PDFium's guess that the next letter is elsewhere
                self._add(run)
                run, is_spaced = None, False
            elif letter == " " or letter == "\0" or letter.isspace():
                is_spaced = True
            elif box_of(page, index, reference):
                box = rectangle.left, rectangle.bottom, rectangle.right, rectangle.top
                if not (run and run.takes(letter, box, is_spaced)):
                    self._add(run)
                    run = self._begin(index, letter, box, is_spaced)
                is_spaced = False
        self._add(run)
        if not _are_plausible(self._unnamed):
            self._parts.unreadable += sum(len(one.text) for one in self._unnamed)
            dropped = set(map(id, self._unnamed))
            for words in self._groups.values():
                words[:] = [one for one in words if id(one) not in dropped]
        return self._groups

    def _begin(self, index: int, letter: str, box: Box, is_spaced: bool) -> _Letters | None:
        """Begin a run with a letter, unless it lies outside of the page."""
        left, bottom, right, top = self._box
        if box[2] < left or box[0] > right or box[3] < bottom or box[1] > top:
            return None
        angle = self._angle(index)
        place = _turned(box, angle)
        return _Letters(
            [letter],
            angle,
            *place,
            base=self._base(index, angle, place),
            size=self._size(index, place[3] - place[1]),
            is_spaced=is_spaced,
            is_unnamed=self._pdfium.FPDFText_HasUnicodeMapError(self._page, index) == 1,
            last_left=place[0],
        )

    def _add(self, run: _Letters | None) -> None:
        """Add the word of a run; words that are printed again in their place are one."""
        if not run:
            return
        self._parts.letters += len(run.letters)
        text = _plain("".join(run.letters))
        if not text:
            self._parts.unreadable += len(run.letters)
            return
        self._parts.unreadable += sum(map(_is_unreadable, run.letters))
        key = text, round(run.left), round(run.base)
        if key in self._seen:
            return
        self._seen.add(key)
        word = Word(text, run.left, run.right, run.base, run.size, run.is_spaced)
        self._groups.setdefault(run.angle, []).append(word)
        if run.is_unnamed:
            self._unnamed.append(word)

    def _text(self) -> str:
        """All characters, one for each index."""
        pdfium, page = self._pdfium, self._page
        count = pdfium.FPDFText_CountChars(page)
        if count <= 0:
            return ""
        buffer = ctypes.create_string_buffer(2 * (count + 1))
        written = pdfium.FPDFText_GetText(
            page, 0, count, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort))
        )
        text = buffer.raw[: 2 * max(0, written - 1)].decode("utf-16-le", "replace")
        if len(text) != count:
            letter = pdfium.FPDFText_GetUnicode
            text = "".join(_character(letter(page, index)) for index in range(count))
        return text

    def _angle(self, index: int) -> int:
        """The direction of the text, as one of four or _SLANTED for any other."""
        degrees = -math.degrees(self._pdfium.FPDFText_GetCharAngle(self._page, index)) % 360
        right_angle = round(degrees / 90) * 90
        return right_angle % 360 if abs(degrees - right_angle) < 12 else _SLANTED

    def _size(self, index: int, height: float) -> float:
        """The size of the font on the page, by the height of the box where it is not known."""
        size = self._pdfium.FPDFText_GetFontSize(self._page, index)
        matrix = self._matrix
        if self._pdfium.FPDFText_GetMatrix(self._page, index, matrix):
            size *= math.hypot(matrix.c, matrix.d)
        return size if 0.4 * height < size < 3 * height else max(height, 1)

    def _base(self, index: int, angle: int, place: Box) -> float:
        if not self._pdfium.FPDFText_GetCharOrigin(self._page, index, self._x, self._y):
            return place[1] + 0.2 * (place[3] - place[1])
        x, y = self._x.value, self._y.value
        return y if angle == 0 else _turned((x, y, x, y), angle)[1]


def _are_plausible(words: list[Word]) -> bool:
    """Whether most words, whose letters the font does not name, look like words or numbers."""
    sure = sum(bool(_REGULAR.fullmatch(one.text)) for one in words)
    return 2 * sure > len(words)


def _character(code: int) -> str:
    is_character = 0 < code < 0x110000 and not 0xD800 <= code < 0xE000
    return chr(code) if is_character else "\ufffd"


def _turned(box: Box, angle: int) -> Box:
    """Turn a box around the origin so that text of this angle runs to the right."""
    left, bottom, right, top = box
    match angle:
        case 90:
            return bottom, -right, top, -left
        case 180:
            return -right, -top, -left, -bottom
        case 270:
            return -top, left, -bottom, right
        case _:
            return box


def _is_unreadable(letter: str) -> bool:
    is_known = letter in _BULLETS or letter in (_HYPHEN_AT_END, _SOFT_HYPHEN)
    return not is_known and bool(_UNREADABLE.match(letter))


def _plain(text: str) -> str:
    """A word in plain letters: ligatures are written out, signs of symbol fonts are common."""
    text = text.replace(_HYPHEN_AT_END, "-").replace(_SOFT_HYPHEN, "-")
    if text.isascii():
        return text if text.isprintable() else _UNREADABLE.sub("", text)
    text = "".join(_BULLETS.get(one, one) for one in text)
    text = _COMPATIBLE.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    return _UNREADABLE.sub("", text).replace("\u200b", "")


def _add_annotations(pdfium: Any, page: Any, form: Any, parts: PageParts, angle: int) -> None:
    for index in range(min(pdfium.FPDFPage_GetAnnotCount(page), _MOST_ANNOTATIONS)):
        annotation = pdfium.FPDFPage_GetAnnot(page, index)
        if not annotation:
            continue
        try:
            _add_annotation(pdfium, annotation, form, parts, angle)
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)


def _add_annotation(pdfium: Any, annotation: Any, form: Any, parts: PageParts, angle: int) -> None:
    kind = pdfium.FPDFAnnot_GetSubtype(annotation)
    if kind in (_LINK, _POPUP) or pdfium.FPDFAnnot_GetFlags(annotation) & _HIDDEN:
        return
    rectangle = pdfium.FS_RECTF()
    if not pdfium.FPDFAnnot_GetRect(annotation, rectangle):
        return
    at = rectangle.left, rectangle.bottom, rectangle.right, rectangle.top
    box = _turned(at, angle)
    if kind == _WIDGET:
        if form:
            _add_field(pdfium, annotation, form, parts, box)
        return
    text = _annotated(pdfium, annotation, b"Contents").strip()
    if kind == _FILE:
        parts.files.append(text or "a file")
    elif kind == _FREE_TEXT and text:
        parts.words += _typed(text.splitlines(), box)
    elif text:
        author = " ".join(_annotated(pdfium, annotation, b"T").split())
        by = f" by {author}" if author else ""
        parts.comments.append(Comment(f"[Comment{by}: {' '.join(text.split())}]", box[0], box[3]))


def _add_field(pdfium: Any, annotation: Any, form: Any, parts: PageParts, box: Box) -> None:
    kind = pdfium.FPDFAnnot_GetFormFieldType(form, annotation)
    if kind in (_CHECKBOX, _RADIO):
        state = _annotated(pdfium, annotation, b"AS")
        is_checked = pdfium.FPDFAnnot_IsChecked(form, annotation) or state not in ("", "Off")
        parts.words += _typed(["[x]" if is_checked else "[ ]"], box)
        return
    flags = pdfium.FPDFAnnot_GetFormFieldFlags(form, annotation)
    if kind not in (_CHOICE, _LIST, _TEXT) or (kind == _TEXT and flags & _PASSWORD):
        return

    def string(get: Any) -> str:
        return _string(lambda *to: get(form, annotation, *to))

    value = string(pdfium.FPDFAnnot_GetFormFieldValue)
    lines = [line for line in (" ".join(one.split()) for one in value.splitlines()) if line]
    if lines:
        name = string(pdfium.FPDFAnnot_GetFormFieldAlternateName)
        name = name or string(pdfium.FPDFAnnot_GetFormFieldName)
        typed = _typed(lines, box)
        if name and not _has_label(parts.words, typed[0]):
            typed[0].text = f"{' '.join(name.split()).rstrip(':')}: {typed[0].text}"
        parts.words += typed


def _has_label(words: list[Word], value: Word) -> bool:
    """Whether words stand on the line of a value or right above it."""
    return any(
        (value.base - 0.5 * value.size < one.base < value.base + 2.5 * value.size)
        and one.left < value.right
        for one in words
    )


def _typed(lines: list[str], box: Box) -> list[Word]:
    """Words that fill a box line by line from its top."""
    left, bottom, right, top = box
    leading = max((top - bottom) / len(lines), 1)
    size = min(0.7 * leading, 11)
    leading = min(leading, 1.3 * size) if len(lines) > 1 else leading
    words = []
    for number, line in enumerate(lines):
        line = regex.sub(r"[\p{Cc}\p{Co}\p{Cn}]", " ", line)
        base = top - leading * number - size if len(lines) > 1 else (bottom + top) / 2 - 0.35 * size
        end = min(right, left + 0.5 * size * len(line))
        words.append(Word(line, left, max(end, left + 1), base, size, is_spaced=True))
    return words


def _annotated(pdfium: Any, annotation: Any, key: bytes) -> str:
    return _string(lambda *to: pdfium.FPDFAnnot_GetStringValue(annotation, key, *to))


def _string(write: Any) -> str:
    """A string that a function of PDFium writes in UTF-16."""
    size = write(None, 0)
    if not 2 < size < 10_000_000:
        return ""
    buffer = ctypes.create_string_buffer(size)
    write(ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), size)
    return buffer.raw[: size - 2].decode("utf-16-le", "replace")


def _look_at_drawings(pdfium: Any, page: Any, box: Box, parts: PageParts, angle: int) -> None:
    """Find the rules of a page, and its pictures: any, and one that is no small decoration.

    A picture with words on it does not count: it is a background, or a scan that is read.
    """
    area = max((box[2] - box[0]) * (box[3] - box[1]), 1.0)
    edges = tuple(ctypes.c_float() for _ in range(4))
    for kind, one in _drawings(pdfium, page):
        is_picture = kind == pdfium.FPDF_PAGEOBJ_IMAGE
        parts.has_pictures |= is_picture
        if not parts.words or not pdfium.FPDFPageObj_GetBounds(one, *edges):
            continue
        left, bottom, right, top = (edge.value for edge in edges)
        if not is_picture:
            left, bottom, right, top = _turned((left, bottom, right, top), angle)
            if right - left > _LEAST_RULE and len(parts.rules) < _MOST_RULES:
                ends = (bottom, top) if top - bottom > _THICK else ((bottom + top) / 2,)
                parts.rules += (Rule(base, left, right) for base in ends)
            continue
        width = min(right, box[2]) - max(left, box[0])
        height = min(top, box[3]) - max(bottom, box[1])
        if width > 0 and height > 0 and width * height > _LARGE * area:
            inside = sum(
                left < word.left < right and bottom < word.base < top for word in parts.words
            )
            parts.has_figure |= inside < 10


def _drawings(pdfium: Any, page: Any) -> Iterator[tuple[int, Any]]:
    """Yield the pictures and drawn lines of a page and of its forms, with their kinds."""
    left = _MOST_OBJECTS
    level = [(pdfium.FPDFPage_GetObject, page, pdfium.FPDFPage_CountObjects(page))]
    path, image, form = (
        pdfium.FPDF_PAGEOBJ_PATH,
        pdfium.FPDF_PAGEOBJ_IMAGE,
        pdfium.FPDF_PAGEOBJ_FORM,
    )
    for _ in range(_NESTED):
        inner = []
        for get, holder, count in level:
            for index in range(min(count, left)):
                left -= 1
                one = get(holder, index)
                kind = pdfium.FPDFPageObj_GetType(one)
                if kind in (path, image):
                    yield kind, one
                elif kind == form:
                    inner.append(
                        (pdfium.FPDFFormObj_GetObject, one, pdfium.FPDFFormObj_CountObjects(one))
                    )
        level = inner
