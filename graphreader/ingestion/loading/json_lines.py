"""JSON Lines become documents, line by line; the file is never held whole.

A line is an object with `text`, mostly with `title` and `id`; all else is metadata. A line of a
question set has `documents` instead, each with a `title` and `text` or `text_file`.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

from graphreader.documents import Document
from graphreader.errors import DocumentError
from graphreader.ingestion.loading.content import (
    Content,
    Refused,
    clean,
    document_of,
    is_blank,
    why_not,
)
from graphreader.ingestion.loading.files import MAX_BYTES, load, opened


def read_json_lines(path: Path, corpus: str) -> Iterator[Document | Refused]:
    """The documents of a file, each once, and the lines that give none.

    The source of a document is the file with "#" and its id, else its title, else its line. Where
    several texts share one, the second has "#2" behind it, and so on. A `text_file` is looked for
    in the file's folder and is its own source. Raises DocumentError where the file gives nothing.
    """
    lines = _Lines(path, corpus)
    shown = clean(str(path))
    with opened(path, shown) as file:
        for number, line in enumerate(_lines(file), 1):
            yield from lines.documents(number, line)
    if not lines.found:
        raise DocumentError(f"{shown} has no text in it: leave it out or fill it.")


class _Lines:
    """Knows which documents were given already."""

    def __init__(self, path: Path, corpus: str) -> None:
        self.found = False
        self._path = path
        self._corpus = corpus
        self._source = os.path.realpath(path)
        self._given: set[bytes] = set()
        self._names: Counter[str] = Counter()

    def documents(self, number: int, line: bytes) -> Iterator[Document | Refused]:
        """What one line gives."""
        if not line.strip():
            return
        self.found = True
        try:
            record = _record(line)
            several = record.get("documents")
            if "text" in record or several is None:
                yield from self._own(record, number)
                return
            if not isinstance(several, list):
                raise DocumentError("`documents` is no list")
        except Exception as error:  # of any library: the others are read all the same
            yield self._refused(number, "", error)
            return
        for index, one in enumerate(several):
            try:
                yield from self._listed(one)
            except Exception as error:
                yield self._refused(number, f", document {index}", error)

    def _own(self, record: Mapping[str, Any], number: int) -> Iterator[Document]:
        """The document that a line is."""
        text = _text(record)
        rest = {key: one for key, one in record.items() if key not in ("text", "title", "id")}
        inner = rest.pop("metadata", {})
        metadata = {**rest, **inner} if isinstance(inner, dict) else {**rest, "metadata": inner}
        id_, title = _name(record.get("id")), _name(record.get("title"))
        named = title or id_ or f"{self._path.stem} {number}"
        yield from self._once(Content(text, named, metadata), id_ or title or str(number))

    def _listed(self, one: Any) -> Iterator[Document]:
        """A document that a line lists."""
        if not isinstance(one, dict):
            raise DocumentError("it is no object")
        title = _name(one.get("title"))
        if "text" in one:
            text = _text(one)
            name = title or sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
            yield from self._once(Content(text, name), name)
            return
        beside = one.get("text_file")
        if not beside or not isinstance(beside, str):
            raise DocumentError("it has neither `text` nor `text_file`")
        file = self._beside(beside)
        if self._is_new(os.fsencode(file)):
            document = load(file, self._corpus, shown=clean(beside))
            yield replace(document, title=title or document.title)

    def _once(self, content: Content, name: str) -> Iterator[Document]:
        """The document of a text, unless it was given already."""
        if self._is_new(f"{name}\0{content.text}".encode("utf-8", "surrogatepass")):
            self._names[name] += 1
            times = self._names[name]
            source = f"{self._source}#{name}" + (f"#{times}" if times > 1 else "")
            yield document_of(content, content.title, self._corpus, source)

    def _is_new(self, what: bytes) -> bool:
        digest = sha256(what).digest()[:16]
        if digest in self._given:
            return False
        self._given.add(digest)
        return True

    def _beside(self, name: str) -> Path:
        """A file in the folder, or below it: no question set shall name others."""
        folder = os.path.dirname(self._source)
        file = os.path.realpath(os.path.join(folder, clean(name)))
        if os.path.commonpath([folder, file]) != folder:
            raise DocumentError(f"its `text_file` {name} lies outside of the folder of the file")
        return Path(file)

    def _refused(self, number: int, where: str, error: Exception) -> Refused:
        shown = clean(str(self._path))
        why = clean(why_not(error, "it"))
        sentence = f"{shown}, line {number}{where}: {why}{'' if why[-1] in '.?' else '.'}"
        return Refused(f"{clean(self._path.stem)} {number}", f"{shown}#{number}", sentence)


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines; of one that is too long as much as shows it."""
    while line := file.readline(MAX_BYTES + 1):
        yield line
        while len(line) > MAX_BYTES and not line.endswith(b"\n"):
            line = file.readline(MAX_BYTES + 1)


def _record(line: bytes) -> dict[str, Any]:
    """The object that a line holds."""
    if len(line) > MAX_BYTES:
        raise DocumentError(f"it has more than {MAX_BYTES / 2**20:,.0f} MiB")
    try:
        record = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise DocumentError("it is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"it is no JSON ({error})") from None
    if not isinstance(record, dict):
        raise DocumentError("it is no object")
    return record


def _text(record: Mapping[str, Any]) -> str:
    text = record.get("text")
    if not isinstance(text, str):
        raise DocumentError("it has no `text`")
    if is_blank(text):
        raise DocumentError("its `text` is empty")
    return text


def _name(value: Any) -> str:
    """An id or a title, if it is one."""
    named = isinstance(value, (str, int)) and not isinstance(value, bool)
    return str(value).strip()[:300] if named else ""
