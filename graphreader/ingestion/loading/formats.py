"""The table of all file formats, and the loading of a file as a document.

READERS maps each file extension to a function from bytes to `Content`; a file without an extension
is plain text. An unreadable file raises a DocumentError with the remedy.
"""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO

from graphreader.documents import Document
from graphreader.errors import DocumentError
from graphreader.files import file_source
from graphreader.ingestion.loading.calendars import read_calendar
from graphreader.ingestion.loading.content import Content, clean, document_of, read_as, read_text
from graphreader.ingestion.loading.epub import read_epub
from graphreader.ingestion.loading.html import declared_encoding, read_html
from graphreader.ingestion.loading.mail import read_email
from graphreader.ingestion.loading.markdown import read_markdown
from graphreader.ingestion.loading.notebook import LANGUAGES, read_code, read_notebook
from graphreader.ingestion.loading.ocr import read_picture
from graphreader.ingestion.loading.parser_process import FileParser, parse
from graphreader.ingestion.loading.pdf import read_pdf
from graphreader.ingestion.loading.records import read_json
from graphreader.ingestion.loading.rtf import read_rtf
from graphreader.ingestion.loading.sheets import read_table, read_workbook
from graphreader.ingestion.loading.slides import read_pptx
from graphreader.ingestion.loading.word import read_docx

MAX_BYTES = 64 * 1024 * 1024


def load(
    path: Path,
    corpus: str,
    real: str = "",
    source: str = "",
    *,
    encoding: str = "",
    ocr: str = "",
    parse: FileParser = parse,
) -> Document:
    """Load a file as one document of `corpus`. Raises DocumentError, or a library's error.

    The title is taken from the file, else from its name; `source` is by default the absolute path
    with links resolved. `encoding` is that of texts that do not declare one, "" if it is to be
    recognized; `ocr` as of `ocr_of`. `parse` parses the bytes.
    """
    shown = clean(source or str(path))
    with open_file(path, shown, real, ocr=ocr) as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise DocumentError(
            f"{shown} has more than the limit of {MAX_BYTES / 2**20:,.0f} MiB: cut it into smaller "
            "files."
        )
    suffix = path.suffix.lower() or ".txt"
    content = parse_data(suffix, data, shown, encoding=encoding, ocr=ocr, parse=parse)
    return document_of(content, path.stem, corpus, source or file_source(path), shown)


def parse_data(
    suffix: str,
    data: bytes,
    shown: str,
    *,
    encoding: str = "",
    ocr: str = "",
    parse: FileParser = parse,
) -> Content:
    """Parse the bytes of a file, in the given encoding if they are a text that declares none."""
    read = partial(parse, suffix, ocr=ocr)
    declares = READERS.get(suffix) is read_html and declared_encoding(data)
    if encoding and is_encoded(suffix) and not declares:
        return read_as(encoding, read, data, shown)
    return read(data, shown)


def is_encoded(suffix: str) -> bool:
    """Whether a format is a text in the encoding that its owner names; the others say theirs."""
    texts = (read_html, read_json, read_markdown, read_table, read_text)
    return suffix in CODE or READERS.get(suffix) in texts


@contextmanager
def open_file(path: Path, shown: str, real: str = "", *, ocr: str = "") -> Iterator[BinaryIO]:
    """Open a regular file of a known format for reading bytes. Raises DocumentError.

    If `real` is given, the opened file must be at this path, which contains no link.
    """
    try:
        if path.is_dir():
            os.listdir(path)  # raises if the folder cannot be opened
            raise DocumentError(
                f"{shown} holds no {_FORMATS} file that is wanted: name a folder that does, other "
                "patterns, or the files themselves."
            )
        found = os.stat(path)
        if path.suffix.lower() in PICTURES and not ocr:
            raise DocumentError(f"{shown} is a picture: read it with --ocr.")
        known = (*SUFFIXES, *CODE_SUFFIXES, *PICTURES)
        if path.suffix and not path.name.lower().endswith(known):
            raise DocumentError(
                f"{shown} is not a {_FORMATS} file, nor source code, and no other is supported: "
                "save its text as one of these."
            )
        _check_regular(found, shown)  # even opening a device may have an effect
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | _NONBLOCK)) as file:
            status = os.fstat(file.fileno())  # the path may have changed meanwhile
            _check_regular(status, shown)
            if real and not (
                os.path.realpath(path) == real and os.path.samestat(status, os.lstat(real))
            ):
                raise DocumentError(
                    f"{shown} now leads to another file than when the reading began: read it in "
                    "again."
                )
            yield file
    except FileNotFoundError:
        raise DocumentError(f"{shown} does not exist: check the path.") from None
    except OSError as error:
        raise DocumentError(
            f"{shown} cannot be opened ({error.strerror}): check the path and its permissions."
        ) from None


_NONBLOCK = getattr(os, "O_NONBLOCK", 0)
_SYSTEM = ("/proc", "/sys")  # their files reveal the environment of processes, with API keys


def _check_regular(status: os.stat_result, shown: str) -> None:
    """Raise DocumentError for anything but a regular file outside of /proc and /sys."""
    system = {os.stat(folder).st_dev for folder in _SYSTEM if os.path.ismount(folder)}
    if not stat.S_ISREG(status.st_mode) or status.st_dev in system:
        raise DocumentError(f"{shown} is not a regular file: copy its text into one.")


READERS: dict[str, Callable[[bytes, str], Content]] = {
    ".csv": read_table,
    ".docm": read_docx,
    ".docx": read_docx,
    ".dotm": read_docx,
    ".dotx": read_docx,
    ".epub": read_epub,
    ".htm": read_html,
    ".html": read_html,
    ".ics": read_calendar,
    ".ipynb": read_notebook,
    ".json": read_json,
    ".log": read_text,
    ".markdown": read_markdown,
    ".md": read_markdown,
    ".mdx": read_markdown,
    ".ods": read_workbook,
    ".org": read_text,
    ".pdf": read_pdf,
    ".potm": read_pptx,
    ".potx": read_pptx,
    ".ppsm": read_pptx,
    ".ppsx": read_pptx,
    ".pptm": read_pptx,
    ".pptx": read_pptx,
    ".rst": read_text,
    ".rtf": read_rtf,
    ".srt": read_text,
    ".tex": read_text,
    ".tsv": read_table,
    ".txt": read_text,
    ".vtt": read_text,
    ".xhtml": read_html,
    ".xls": read_workbook,
    ".xlsb": read_workbook,
    ".xlsm": read_workbook,
    ".xlsx": read_workbook,
}

CODE = {suffix: partial(read_code, language=name) for suffix, name in LANGUAGES.items()}
READERS |= CODE
READERS[".eml"] = partial(read_email, readers=READERS)  # its attachments have these formats, too

JSON_LINES, MAILBOX = ".jsonl", ".mbox"  # files of many documents, see sources.py
SUFFIXES = tuple(sorted({*READERS, JSON_LINES, MAILBOX} - CODE.keys()))
CODE_SUFFIXES = tuple(CODE)  # read in folders only where a pattern names them


def _read_email_with_ocr(data: bytes, shown: str, ocr: str) -> Content:
    """Parse a mail; of its attachments the PDF files are recognized."""
    return read_email(data, shown, READERS | {".pdf": partial(read_pdf, ocr=ocr)})


OCR_READERS: dict[str, Callable[[bytes, str, str], Content]] = {
    ".eml": _read_email_with_ocr,
    ".jpeg": read_picture,
    ".jpg": read_picture,
    ".pdf": read_pdf,
    ".png": read_picture,
    ".tif": read_picture,
    ".tiff": read_picture,
}
"""The readers of scans, which are used if OCR is asked for."""

PICTURES = tuple(sorted(OCR_READERS.keys() - READERS.keys()))
_FORMATS = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
