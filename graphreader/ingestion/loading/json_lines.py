"""JSON Lines as documents, read line by line; memory holds one line at a time.

A line is an object with `text`, mostly with `title` and `id`; all other keys are metadata. A line
of a question set has `documents` instead, each with a `title` and `text` or `text_file`.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from graphreader.documents import Document
from graphreader.errors import DocumentError
from graphreader.files import bounded_lines
from graphreader.ingestion.loading.content import (
    Content,
    Refused,
    clean,
    document_of,
    is_blank,
    refusal_reason,
)
from graphreader.ingestion.loading.formats import MAX_BYTES, load, open_file


def read_json_lines(path: Path, corpus: str) -> Iterator[Document | Refused]:
    """The documents of a file, each once, and a refusal for each line that gives none.

    The source of a document is the file with "#" and its id, else its title, else its line number.
    A second text of the same name has "#2" appended, and so on. A `text_file` is looked up in the
    folder of the file and is its own source. Raises DocumentError where the file has no lines.
    """
    reader = _LineReader(path, corpus)
    shown = clean(str(path))
    is_empty = True
    with open_file(path, shown) as file:
        for number, line in bounded_lines(file, MAX_BYTES):
            is_empty = False
            yield from reader.documents(number, line)
    if is_empty:
        raise DocumentError(f"{shown} has no text in it: leave it out or fill it.")


class _LineReader:
    """Turns lines into documents and leaves out those that came before."""

    def __init__(self, path: Path, corpus: str) -> None:
        self._path = path
        self._corpus = corpus
        self._source = os.path.realpath(path)
        self._digests: set[bytes] = set()
        self._names: Counter[str] = Counter()

    def documents(self, number: int, line: bytes) -> Iterator[Document | Refused]:
        """The documents of one line."""
        try:
            record = _json_object(line)
            listed = record.get("documents")
            if "text" in record or listed is None:
                yield from self._line_document(record, number)
                return
            if not isinstance(listed, list):
                raise DocumentError("`documents` is no list")
        except Exception as error:  # of any library: the other lines are read all the same
            yield self._refused(number, "", error)
            return
        for index, one in enumerate(listed):
            try:
                yield from self._listed_document(one)
            except Exception as error:
                yield self._refused(number, f", document {index}", error)

    def _line_document(self, record: Mapping[str, Any], number: int) -> Iterator[Document]:
        """The document that the line itself is."""
        text = _text(record)
        rest = {key: one for key, one in record.items() if key not in ("text", "title", "id")}
        inner = rest.pop("metadata", {})
        metadata = {**rest, **inner} if isinstance(inner, dict) else {**rest, "metadata": inner}
        id_, title = _name(record.get("id")), _name(record.get("title"))
        shown_title = title or id_ or f"{self._path.stem} {number}"
        yield from self._if_new(Content(text, shown_title, metadata), id_ or title or str(number))

    def _listed_document(self, record: Any) -> Iterator[Document]:
        """A document in the `documents` of a line."""
        if not isinstance(record, dict):
            raise DocumentError("it is no object")
        title = _name(record.get("title"))
        if "text" in record:
            text = _text(record)
            name = title or sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
            yield from self._if_new(Content(text, name), name)
            return
        text_file = record.get("text_file")
        if not text_file or not isinstance(text_file, str):
            raise DocumentError("it has neither `text` nor `text_file`")
        path = self._resolve(text_file)
        if self._is_new(os.fsencode(path)):
            document = load(path, self._corpus, shown=clean(text_file))
            yield replace(document, title=title or document.title)

    def _if_new(self, content: Content, name: str) -> Iterator[Document]:
        """The document of a text, unless the same one came before."""
        if self._is_new(f"{name}\0{content.text}".encode("utf-8", "surrogatepass")):
            self._names[name] += 1
            times = self._names[name]
            source = f"{self._source}#{name}" + (f"#{times}" if times > 1 else "")
            yield document_of(content, content.title, self._corpus, source)

    def _is_new(self, identity: bytes) -> bool:
        digest = sha256(identity).digest()[:16]
        if digest in self._digests:
            return False
        self._digests.add(digest)
        return True

    def _resolve(self, name: str) -> Path:
        """The path of a `text_file`; files outside the folder of the question set are refused."""
        folder = os.path.dirname(self._source)
        file = os.path.realpath(os.path.join(folder, clean(name)))
        if os.path.commonpath([folder, file]) != folder:
            raise DocumentError(f"its `text_file` {name} lies outside of the folder of the file")
        return Path(file)

    def _refused(self, number: int, where: str, error: Exception) -> Refused:
        shown = clean(str(self._path))
        reason = clean(refusal_reason(error, "it"))
        reason += "" if reason[-1] in ".?" else "."
        return Refused(
            f"{clean(self._path.stem)} {number}",
            f"{shown}#{number}",
            f"{shown}, line {number}{where}: {reason}",
        )


def _json_object(line: bytes) -> dict[str, Any]:
    """Parse a line. Raises DocumentError."""
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
    """The text of a record. Raises DocumentError where it has none."""
    text = record.get("text")
    if not isinstance(text, str):
        raise DocumentError("it has no `text`")
    if is_blank(text):
        raise DocumentError("its `text` is empty")
    return text


def _name(value: Any) -> str:
    """An id or a title as a string; empty where the value is neither text nor number."""
    is_name = isinstance(value, (str, int)) and not isinstance(value, bool)
    return str(value).strip()[:300] if is_name else ""
