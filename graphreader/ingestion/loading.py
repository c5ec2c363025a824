"""Files become documents: found, read as UTF-8, named.

What cannot be read as a text is a DocumentError of one sentence that says how to mend it. Only the
text is taken: no markup is interpreted, and nothing in it is changed.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

from graphreader.documents import Document
from graphreader.errors import DocumentError
from graphreader.sentences import language_of

SUFFIXES = (".md", ".txt")
MAX_BYTES = 64 * 1024 * 1024

_BYTE_ORDER_MARKS = {
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}


def find_files(paths: Iterable[Path]) -> list[Path]:
    """The .txt and .md files that `paths` name or hold, sorted, each file once.

    Folders are searched with all that lies in them, links followed, hidden files and folders left
    out. What is not a folder is passed on as it is, also where it is missing or hidden or ends
    otherwise, and so is a folder in a folder that cannot be opened: `load` says what is wrong with
    each, and the others can be read all the same. A path that is a folder without any text is a
    DocumentError.
    """
    found: dict[str, Path] = {}
    for path in paths:
        inside = [path]
        if os.path.isdir(path):
            inside = list(_walk(path))
            if not inside:
                raise DocumentError(
                    f"{_shown(path)} holds no {' or '.join(SUFFIXES)} file: "
                    "name a folder that does, or the files themselves."
                )
        for file in inside:
            found.setdefault(os.path.realpath(file), file)
    return sorted(found.values())


def find_all(paths: Iterable[Path]) -> tuple[list[Path], dict[Path, DocumentError]]:
    """The files that `paths` name or hold, and why each of the others gives none."""
    files: list[Path] = []
    refused = {}
    for path in paths:
        try:
            files += find_files([path])
        except DocumentError as error:
            refused[path] = error
    return find_files(files), refused


def load(path: Path, corpus: str, max_bytes: int = MAX_BYTES) -> Document:
    """Read one file as a document of `corpus`.

    `text` is what `open(path, encoding="utf-8").read()` gives: every line end is a newline, and a
    byte order mark stays as its first character, so that the spans fit what others read.
    `title` is the file's name without its ending, otherwise as it is ("joan_of_arc"), so that a
    person can tell it beforehand. `source` is the absolute path with links resolved; the `id`
    comes from it and the corpus. Raises DocumentError.
    """
    data = _read(path, max_bytes)
    text = _decode(data, path).replace("\r\n", "\n").replace("\r", "\n")
    return from_text(text, path.stem, corpus, os.path.realpath(path))


def from_text(text: str, title: str, corpus: str, source: str) -> Document:
    """A document out of a text at hand; its id comes from `corpus` and `source`.

    Lone surrogates, which no database takes, become U+FFFD, and pairs of them the character that
    they stand for. Raises DocumentError where there is nothing but white space.
    """
    text, title, source = _clean(text), _clean(title), _clean(source)
    if not text.lstrip("\ufeff").strip():
        raise DocumentError(f"{_shown(source)} has no text in it: leave it out or fill it.")
    return Document(
        corpus=corpus,
        id=sha256(f"{_clean(corpus)}\0{source}".encode()).hexdigest()[:24],
        title=title,
        source=source,
        text=text,
        sha256=sha256(text.encode()).hexdigest(),
        language=language_of(text),
    )


def _walk(folder: Path) -> Iterator[Path]:
    """The texts in a folder, and the folders in it that cannot be opened; each real folder once."""
    unopened: list[Path] = []
    seen: set[str] = set()
    walk = os.walk(folder, onerror=lambda e: unopened.append(Path(e.filename)), followlinks=True)
    for root, folders, files in walk:
        real = os.path.realpath(root)
        folders[:] = [] if real in seen else sorted(f for f in folders if not f.startswith("."))
        if real in seen:
            continue
        seen.add(real)
        for name in files:
            if not name.startswith(".") and name.lower().endswith(SUFFIXES):
                yield Path(root, name)
    yield from unopened


def _read(path: Path, max_bytes: int) -> bytes:
    """The bytes of a regular file with a known ending and of an acceptable size."""
    shown = _shown(path)
    try:
        about = os.stat(path)
        if stat.S_ISDIR(about.st_mode):
            os.listdir(path)
            raise DocumentError(f"{shown} is a folder, not a file: name the files in it.")
        if path.suffix.lower() not in SUFFIXES:
            raise DocumentError(
                f"{shown} is not a {' or '.join(SUFFIXES)} file, and no other is supported: "
                "save its text as one of these."
            )
        if not stat.S_ISREG(about.st_mode):
            raise DocumentError(f"{shown} is not a regular file: copy its text into one.")
        with open(path, "rb") as file:
            data = file.read(max_bytes + 1)
    except FileNotFoundError:
        raise DocumentError(f"{shown} does not exist: check the path.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DocumentError(
            f"{shown} cannot be opened ({reason}): check the path and its permissions."
        ) from None
    if len(data) > max_bytes:
        size = max(about.st_size, len(data)) / 2**20
        raise DocumentError(
            f"{shown} has {size:,.1f} MiB, more than the limit of {max_bytes / 2**20:,.1f} MiB: "
            "cut it into smaller files."
        )
    return data


def _decode(data: bytes, path: Path) -> str:
    """The text of a file that must be UTF-8."""
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS.items() if data.startswith(mark)), "")
    if encoding:
        raise DocumentError(_not_utf8(path, f"it begins as {encoding} does", encoding))
    if b"\0" in data:
        raise DocumentError(
            f"{_shown(path)} is binary (a NUL byte at position {data.index(0)}), not a text: "
            "leave it out, or save its text as UTF-8."
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        where = f"byte 0x{data[error.start]:02x} at position {error.start}"
        raise DocumentError(_not_utf8(path, where, _guess(data))) from None


def _not_utf8(path: Path, why: str, encoding: str) -> str:
    name = _shown(path)
    return (
        f"{name} is not UTF-8 ({why}): convert it, for example with "
        f"`iconv -f {encoding} -t UTF-8 '{name}' > new{path.suffix}`."
    )


def _guess(data: bytes) -> str:
    """The likeliest encoding of a text that is not UTF-8."""
    text = data[:60_000].decode("gb18030", errors="replace")
    usable = text.count("\ufffd") <= len(text) // 100
    return "GB18030" if usable and language_of(text) == "zh" else "WINDOWS-1252"


def _clean(text: str) -> str:
    """The text with U+FFFD for each lone surrogate, pairs joined."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _shown(path: Path | str) -> str:
    """A path that can be printed, whatever bytes its name has."""
    return _clean(str(path))
