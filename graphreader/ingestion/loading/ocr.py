"""Optical character recognition (OCR): the text of scanned pages and of pictures.

Two engines recognize a page: rapidocr, a package whose models read Chinese, Japanese and languages
in Latin letters, and the program Tesseract, which needs the names of the languages.
"""

import math
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from statistics import median
from time import monotonic
from typing import Any, Protocol
from unicodedata import east_asian_width

import numpy as np
from numpy.typing import NDArray

from graphreader.documents import Place, Skipped
from graphreader.errors import DocumentError, UsageError
from graphreader.ingestion.loading.content import Content, clean, join_parts, optional_package
from graphreader.ingestion.loading.page_layout import lines_of_page, text_of_lines
from graphreader.ingestion.loading.page_segments import PageLine, Word
from graphreader.ingestion.loading.parser_process import MAX_OCR_SECONDS

Pixels = NDArray[np.uint8]
"""The pixels of a page, of shape (height, width, 3): blue, green, red."""

AUTOMATIC = "auto"

_LANGUAGES = re.compile(r"\w{3,20}(?:/\w{3,20})?(?:\+\w{3,20}(?:/\w{3,20})?)*")
_PAGE_SECONDS = 120.0
_POINTS = 842.0  # the longest side of a page, as of a sheet of A4
_MAX_PIXELS = 100_000_000  # of a picture, which is decoded as a whole
_MAX_FRAMES = 2_000
_EM = 0.8  # of the height of a line that rapidocr finds
_LOOSE = 1.3  # a line so many times as wide as its letters has letters that rapidocr leaves out
_FEW = 10  # letters that do not say how a page is turned


@dataclass(frozen=True, slots=True)
class Piece:
    """A recognized line or word: its ends, the middle of its height, its size (em), in pixels.

    `is_tall` says that it runs from the top to the bottom.
    """

    text: str
    confidence: float
    left: float
    right: float
    middle: float
    size: float
    is_tall: bool = False


class Engine(Protocol):
    """An engine of OCR: its name for notes, and the largest image that suits it.

    It is less sure than `sure` of letters that it does not know, and of a page upside down.
    """

    name: str
    dpi: int
    longest: int
    sure: float

    def pieces(self, image: Pixels) -> list[Piece]:
        """Recognize what stands on a page. Blocks."""
        ...


def ocr_of(asked: bool | str) -> str:
    """The choice of an engine: "" if none is asked for, AUTOMATIC, or languages for Tesseract.

    Raises UsageError if neither engine is installed, or the languages are no names.
    """
    if not asked:
        return ""
    languages = AUTOMATIC if asked is True else asked
    if languages != AUTOMATIC and not _LANGUAGES.fullmatch(languages):
        raise UsageError(
            f"{languages!r:.100} does not name languages of Tesseract: deu, or rus+eng for two."
        )
    has_package, program = find_spec("rapidocr") is not None, shutil.which("tesseract")
    if languages != AUTOMATIC and not program:
        raise UsageError(
            "Languages are for the program Tesseract, which is not on the PATH: install it, or "
            "leave the languages out."
        )
    if not has_package and not program:
        raise UsageError(
            "OCR needs the package rapidocr, which the extra 'ocr' brings: "
            'pip install -e ".[ocr]". Or install the program Tesseract.'
        )
    return languages


@cache
def _engine_of(ocr: str) -> Engine:
    if ocr == AUTOMATIC and find_spec("rapidocr"):
        return RapidOcr()
    return Tesseract("eng" if ocr == AUTOMATIC else ocr)


class RapidOcr:
    """The package rapidocr with the models in its wheel; nothing is downloaded."""

    name = "rapidocr"
    dpi = 150  # with more the spaces between words are lost
    longest = 2_000
    sure = 0.8

    def __init__(self) -> None:
        package = optional_package("rapidocr", "OCR", "ocr")
        models = Path(package.__file__).parent / "models"
        self._recognize: Any = package.RapidOCR(
            params={
                "Global.log_level": "critical",
                "Global.text_score": 0.0,
                "Global.use_cls": False,  # it turns lines that stand upright
                # A path of its own keeps a model from being downloaded.
                "Det.model_path": str(next(models.glob("*_det_*.onnx"))),
                "Rec.model_path": str(next(models.glob("*_rec_*.onnx"))),
                # Threads that wait for each other take twice the processor time.
                "EngineConfig.onnxruntime.intra_op_num_threads": 1,
                "EngineConfig.onnxruntime.inter_op_num_threads": 1,
            }
        )

    def pieces(self, image: Pixels) -> list[Piece]:
        """Recognize the lines; a page that is a little skewed is made straight."""
        result = self._recognize(image)
        if not result.txts:
            return []
        boxes = np.asarray(result.boxes, dtype=float)  # corners from the upper left, clockwise
        across, down = boxes[:, 1] - boxes[:, 0], boxes[:, 3] - boxes[:, 0]
        widths, heights = np.hypot(*across.T), np.hypot(*down.T)
        wide = widths > 3 * heights
        angles = np.arctan2(across[:, 1], across[:, 0])[wide]
        angle = float(np.median(angles)) if len(angles) else 0.0
        turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
        straight = boxes @ turn
        return [
            Piece(
                text,
                float(confidence) * min(1.0, _LOOSE * _usual_width(text) * _EM * height / width),
                float(corners[:, 0].min()),
                float(corners[:, 0].max()),
                float(corners[:, 1].mean()),
                _EM * float(height),
                is_tall=bool(height > 1.5 * width),
            )
            for text, confidence, corners, width, height in zip(
                result.txts, result.scores, straight, widths, heights, strict=True
            )
        ]


def _usual_width(text: str) -> float:
    """The width of a text in em, about."""
    return sum(
        1.0 if east_asian_width(one) in "WF" else 0.7 if one.isupper() else 0.5 for one in text
    )


class Tesseract:
    """The program Tesseract, with the languages that it shall expect."""

    dpi = 300
    longest = 3_600
    sure = 0.6

    def __init__(self, languages: str) -> None:
        self.name = f"Tesseract, {languages}"
        self._languages = languages

    def pieces(self, image: Pixels) -> list[Piece]:
        """Recognize the words. Raises DocumentError for a missing language, TimeoutExpired."""
        height, width = image.shape[:2]
        gray = image.mean(axis=2).astype(np.uint8)
        done = subprocess.run(
            [
                *(shutil.which("tesseract") or "tesseract", "stdin", "stdout"),
                *("-l", self._languages, "--dpi", str(self.dpi), "tsv"),
            ],
            input=f"P5 {width} {height} 255\n".encode() + gray.tobytes(),
            capture_output=True,
            timeout=_PAGE_SECONDS,
            env={**os.environ, "OMP_THREAD_LIMIT": "1"},
        )
        if done.returncode:
            raise DocumentError(
                f"Tesseract cannot read in {self._languages}: install its data of these languages."
            )
        return list(_pieces_of_table(done.stdout.decode("utf-8", "replace")))


def _pieces_of_table(table: str) -> Iterator[Piece]:
    """Yield the words of Tesseract's table (TSV), whose lines may be a little skewed."""
    lines: dict[tuple[str, ...], list[Piece]] = {}
    for row in table.splitlines()[1:]:
        level, *place, _, left, top, width, height, confidence, text = row.split("\t", 11)
        if level != "5" or not text.strip():
            continue
        start, end, tall = float(left), float(left) + float(width), float(height)
        word = Piece(text.strip(), float(confidence) / 100, start, end, float(top) + tall / 2, tall)
        lines.setdefault(tuple(place), []).append(word)
    slopes = [
        (words[-1].middle - words[0].middle) / (words[-1].left - words[0].left)
        for words in lines.values()
        if len(words) > 3 and words[-1].left > words[0].left
    ]
    slope = median(slopes) if slopes else 0.0
    for words in lines.values():
        middle = median(one.middle - slope * one.left for one in words)
        heights = sorted(one.size for one in words)
        for one in words:
            is_tall = len(one.text) > 2 and one.size > 1.5 * (one.right - one.left)
            size = heights[3 * len(heights) // 4]
            yield replace(one, middle=middle, size=size, is_tall=is_tall)


class Recognizer:
    """The OCR of the pages of one file. It counts what it has recognized, for notes.

    Raises DocumentError where the engine is not installed.
    """

    def __init__(self, ocr: str) -> None:
        self._engine = _engine_of(ocr)
        self.longest = self._engine.longest
        self._ends = monotonic() + MAX_OCR_SECONDS
        self._confidences: dict[str, float] = {}
        self.skipped: list[Skipped] = []

    def scale(self, width: float, height: float) -> float:
        """The pixels for each point of a page with these sides, in points."""
        return min(self._engine.dpi / 72, self.longest / max(width, height, 1.0))

    def lines(self, part: str, image: Callable[[], Pixels]) -> list[PageLine]:
        """Recognize a page, unless it is of one color; `part` is its name for notes."""
        if monotonic() > self._ends:
            reason = (
                f"is not recognized: OCR of a file takes at most {MAX_OCR_SECONDS / 60:.0f} minutes"
            )
            self.skipped.append(Skipped(part, f"{reason}, cut it into smaller files"))
            return []
        try:
            pixels = np.ascontiguousarray(image()[:, :, :3])
            if pixels.min() == pixels.max():
                return []
            pieces = self._upright(pixels)
        except subprocess.TimeoutExpired:
            self.skipped.append(Skipped(part, f"OCR takes more than {_PAGE_SECONDS:.0f} s"))
            return []
        letters = _letters(pieces)
        if not letters:
            self.skipped.append(Skipped(part, "OCR has recognized no text"))
            return []
        self._confidences[part] = _confidence(pieces)
        return lines_of_page(_words(pieces, pixels.shape[:2]))

    def _upright(self, image: Pixels) -> list[Piece]:
        """Recognize a page, turned by a quarter or a half if it stands so in the file."""
        pieces = self._engine.pieces(image)
        if _letters(pieces) < _FEW or self._is_readable(pieces):
            return pieces
        for quarters in (1, 3, 2):
            turned = self._engine.pieces(np.ascontiguousarray(np.rot90(image, quarters)))
            if self._is_readable(turned) and _letters(turned) > _letters(pieces) / 2:
                return turned
        return pieces

    def _is_readable(self, pieces: Sequence[Piece]) -> bool:
        """Whether the engine is sure of a page, and its lines run from left to right."""
        tall = _letters([one for one in pieces if one.is_tall])
        return (
            bool(pieces)
            and 2 * tall < _letters(pieces)
            and _confidence(pieces) >= self._engine.sure
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences with the pages that were read by OCR, and how sure the engine is."""
        found, name = self._confidences, self._engine.name
        if not found:
            return ()
        lowest = min(found, key=lambda one: found[one])
        part, sure = f"{lowest[:1].upper()}{lowest[1:]}", f"{found[lowest]:.2f}"
        note = f"{part} was read by OCR ({name}), confidence {sure}."
        if len(found) > 1:
            note = (
                f"{len(found):,} pages were read by OCR ({name}), confidence "
                f"{sum(found.values()) / len(found):.2f}, lowest {sure} ({lowest})."
            )
        unsure = [one for one in found if found[one] < self._engine.sure]
        if not unsure:
            return (note,)
        if len(unsure) > 1:
            part = f"{len(unsure):,} pages"
        return (
            note,
            f"{part} may be read wrongly: handwriting, a poor scan, or letters that the engine "
            "does not know (--ocr-languages names their language).",
        )


def _confidence(pieces: Sequence[Piece]) -> float:
    """The mean confidence of the lines by their width."""
    width = sum(one.right - one.left for one in pieces)
    return sum((one.right - one.left) * one.confidence for one in pieces) / max(width, 1.0)


def _letters(pieces: Sequence[Piece]) -> int:
    return sum(sum(map(str.isalnum, one.text)) for one in pieces)


def _words(pieces: Sequence[Piece], sides: tuple[int, ...]) -> list[Word]:
    """Convert pieces to words in the plane of the page; sizes near the usual size are that."""
    scale = max(sides) / _POINTS
    usual = median(one.size for one in pieces)
    words = []
    for one in pieces:
        size = usual if 0.7 < one.size / usual < 1.4 else one.size
        base = (max(sides) - one.middle - 0.35 * size) / scale
        words.append(Word(clean(one.text), one.left / scale, one.right / scale, base, size / scale))
    return words


def read_picture(data: bytes, shown: str, ocr: str) -> Content:
    """Recognize the text of a picture, or of all pages of a TIFF."""
    package = optional_package("PIL.Image", shown, "ocr")
    recognizer = Recognizer(ocr)
    texts: list[str] = []
    with package.open(BytesIO(data), formats=("PNG", "JPEG", "TIFF")) as picture:
        frames = getattr(picture, "n_frames", 1)
        for frame in range(min(frames, _MAX_FRAMES)):
            picture.seek(frame)
            if picture.width * picture.height > _MAX_PIXELS:
                raise DocumentError(
                    f"{shown} has more than {_MAX_PIXELS // 10**6} megapixels: save it smaller."
                )
            part = f"page {frame + 1}" if frames > 1 else "the picture"
            lines = recognizer.lines(part, partial(_pixels, picture, recognizer.longest))
            texts.append(text_of_lines(lines)[0])
    if frames > _MAX_FRAMES:
        recognizer.skipped.append(Skipped("pages", f"only the first {_MAX_FRAMES:,} are read"))
    if not any(texts):
        raise DocumentError(f"{shown}: OCR has recognized no text: leave it out.")
    text, starts = join_parts(texts)
    return Content(
        text,
        places=Place.pages(starts) if frames > 1 else (),
        skipped=tuple(recognizer.skipped),
        notes=recognizer.notes,
    )


def _pixels(picture: Any, longest: int) -> Pixels:
    """The pixels of a picture, upright as its camera says, on white, with bounded sides."""
    operations = optional_package("PIL.ImageOps", "a picture", "ocr")
    picture.draft("RGB", (longest, longest))  # a JPEG is decoded in a smaller size
    upright = operations.exif_transpose(picture)
    if "transparency" in upright.info or "A" in upright.getbands():
        white = optional_package("PIL.Image", "a picture", "ocr").new("RGBA", upright.size, "white")
        white.alpha_composite(upright.convert("RGBA"))
        upright = white
    if upright.mode.startswith("I;16"):
        upright = upright.point(lambda value: value / 256)
    upright = upright.convert("RGB")
    upright.thumbnail((longest, longest))
    return np.ascontiguousarray(np.asarray(upright)[:, :, ::-1])
