"""The file of an exported corpus: its lines as records, and the check of a file that is read.

The lines of JSON are a header, {"document": ...}, {"key_element": ...}, and {"end": ...} with the
number of lines, which reveals a truncated file. There are no ids, since they follow from the
content; and no merges, since an import normalizes. Joins of names are in the lines of their
documents, so that a model is not asked about them again.
"""

import shutil
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from hashlib import sha256
from itertools import accumulate
from os import PathLike
from tempfile import TemporaryFile
from typing import Annotated, Any, BinaryIO, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from graphreader.errors import UsageError
from graphreader.files import structural_bytes
from graphreader.ingestion.loading.content import MAX_SOURCE, MAX_TITLE
from graphreader.llm.protocols import is_storable

MOST_BYTES = 2**30
"""Largest line in bytes; a document with its facts and vectors is read into memory."""
MOST_STRUCTURE = 32 * 2**20
"""Largest number of bytes outside of strings in a line: enough for a million facts."""


class _Record(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, allow_inf_nan=False)


Number = Annotated[int, Field(ge=0, lt=2**63)]  # Neo4j's 64-bit integers


class Header(_Record):
    """The header: settings with which the corpus was read; `graphreader` is the format number."""

    graphreader: Literal[2]
    corpus: str
    decider: str
    prompts: str
    embedding: str
    dimension: Annotated[int, Field(ge=1, le=4096)]


class FactRecord(_Record):
    """A fact, and the keys of its wordings.

    Older exports have no sentences (`start` and `end` in the chunk) and nothing after them, but
    perhaps a vector, which is ignored.
    """

    text: str
    key_elements: dict[str, str]
    start: Number | None = None
    end: Number | None = None
    heading: str = ""
    speaker: str = ""
    when: str = ""

    def has_place_in(self, text: str) -> bool:
        """Whether its sentences, if they are known, stand in the text of its chunk."""
        if self.start is None or self.end is None:
            return self.start == self.end
        return self.start < self.end <= len(text)


class PassageRecord(_Record):
    """The vector of a passage by its ends within the chunk (32-bit little-endian, Base64)."""

    start: Number
    end: Number
    embedding: str


class ChunkRecord(_Record):
    """A chunk; `error` is the reason for missing facts. Older exports have no summaries and places.

    Passages are made anew by an import, so only their vectors are exported.
    """

    index: Number
    start: Number
    end: Number
    tokens: Number
    text: str
    error: str | None = None
    summary: str | None = None
    place_starts: tuple[Number, ...] = ()
    place_names: tuple[str, ...] = ()
    facts: tuple[FactRecord, ...] = ()
    passages: tuple[PassageRecord, ...] = ()

    @model_validator(mode="after")
    def _check_places(self) -> Self:
        if len(self.place_starts) != len(self.place_names):
            raise ValueError("as many starts as names of places")
        return self


class DocumentRecord(_Record):
    """A document; its text is the chunks' joined text, `headings` are (start, words, level).

    `joins` are (key, key that it means, by whom); `tagged`: tags and date were set by hand. Older
    exports lack levels, encodings, joins and tags.
    """

    title: str
    source: str
    language: str
    sha256: str
    chunk_tokens: Number
    metadata: dict[str, Any] = Field(default_factory=dict)
    encoding: Annotated[str, Field(max_length=100)] = ""
    tags: tuple[str, ...] = ()
    date: Annotated[str, Field(max_length=100)] = ""
    tagged: bool = False
    page_starts: tuple[Number, ...] = ()
    headings: tuple[tuple[Number, str] | tuple[Number, str, Number], ...] = ()
    joins: tuple[tuple[str, str, str], ...] = ()
    asked_names: str = ""
    chunks: tuple[ChunkRecord, ...]

    @property
    def is_whole(self) -> bool:
        """Whether the joined chunks are the document's text."""
        text = "".join(chunk.text for chunk in self.chunks)
        return sha256(text.encode()).hexdigest() == self.sha256


class KeyElementRecord(_Record):
    """A key element with its vector."""

    key: str
    embedding: tuple[float, ...] | None = None


Item = DocumentRecord | KeyElementRecord


class Line(_Record):
    """A line after the header, with one field set; `end` is the number of lines before it."""

    document: DocumentRecord | None = None
    key_element: KeyElementRecord | None = None
    end: int | None = None


def packed(vector: Sequence[float]) -> str:
    """Return a vector as a text: 32-bit little-endian numbers in Base64."""
    return b64encode(np.asarray(vector, "<f4").tobytes()).decode()


def unpacked(text: str) -> list[float]:
    """Return the vector that such a text has. Raises ValueError."""
    numbers: list[float] = np.frombuffer(b64decode(text, validate=True), "<f4").tolist()
    return numbers


class Export:
    """An exported corpus, whose header is read at once. Raises UsageError for another file.

    The file is read twice, so it must be seekable; `open_export` accepts other streams too.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        try:
            self.header = Header.model_validate_json(file.readline(MOST_BYTES))
        except ValidationError:
            raise UsageError(
                "This is not an exported corpus of format 2: name a file that `graphreader export` "
                "of this version made."
            ) from None
        self._first = file.tell()

    def check(self) -> None:
        """Read the file to its end. Raises UsageError for the first invalid line."""
        for _ in self.items():
            pass

    def _problem(self, item: Item, sources: set[bytes]) -> str:
        """The reason why Neo4j cannot store an item after these `sources`; empty if it can."""
        if isinstance(item, KeyElementRecord):
            vectors: list[Any] = [item.embedding] if item.embedding is not None else []
        else:
            passages = (passage for chunk in item.chunks for passage in chunk.passages)
            try:
                vectors = [unpacked(passage.embedding) for passage in passages]
            except ValueError:
                return "a vector is not 32-bit numbers in Base64"
            source = sha256(item.source.encode()).digest()
            if source in sources:
                return f"the document {item.title} stands in it twice"
            sources.add(source)
            starts = accumulate((len(chunk.text) for chunk in item.chunks), initial=0)
            for place, (chunk, start) in enumerate(zip(item.chunks, starts, strict=False)):
                if (chunk.index, chunk.start) != (place, start):
                    return "a chunk is not in its place"
                if len({fact.text for fact in chunk.facts}) < len(chunk.facts):
                    return "a fact stands in its chunk twice"
                if not all(one.has_place_in(chunk.text) for one in chunk.facts):
                    return "the sentences of a fact are not in its chunk"
            if not item.is_whole:
                return "the chunks are not the document's text"
            if len(item.title) > MAX_TITLE or len(item.source) > MAX_SOURCE:
                return "a title or a source is too long"
        if all(len(one) == self.header.dimension and is_storable(one) for one in vectors):
            return ""
        return f"a vector is not {self.header.dimension} finite numbers with a length"

    def items(self) -> Iterator[Item]:
        """Yield the documents, then the key elements, from the beginning; each is checked.

        Raises UsageError, since the file may have changed since `check`.
        """
        self._file.seek(self._first)
        sources: set[bytes] = set()
        number = 1
        for number, text in enumerate(iter(partial(self._file.readline, MOST_BYTES), b""), 2):
            if not text.endswith(b"\n"):
                if len(text) == MOST_BYTES:
                    raise _wrong_line(number, f"it has more than {MOST_BYTES:,} bytes")
                break
            if structural_bytes(text) > MOST_STRUCTURE:
                raise _wrong_line(number, "it has too many values")
            try:
                line = Line.model_validate_json(text)
            except ValidationError as error:
                first = error.errors(include_input=False, include_url=False)[0]
                place = ".".join(map(str, first["loc"]))
                raise _wrong_line(number, f"{place}: {first['msg']}".lstrip(": ")) from None
            if item := line.document or line.key_element:
                if problem := self._problem(item, sources):
                    raise _wrong_line(number, problem)
                yield item
            elif line.end == number - 2:  # the header and this line are not counted
                return
            else:
                raise _wrong_line(number, "lines before it are missing")
        raise UsageError(
            f"The export was cut off at line {number}: its last line is missing. Export the corpus "
            "again."
        )


@contextmanager
def open_export(source: str | PathLike[str] | BinaryIO) -> Iterator[Export]:
    """Open an exported corpus from a file, a stream or an Export. Raises UsageError."""
    with ExitStack() as stack:
        if isinstance(source, str | PathLike):
            try:
                source = stack.enter_context(open(source, "rb"))
            except OSError as error:
                raise UsageError(
                    f"{source} cannot be opened ({error.strerror}): check the path and its "
                    "permissions."
                ) from None
        if not source.seekable():
            kept = stack.enter_context(TemporaryFile())
            shutil.copyfileobj(source, kept)
            kept.seek(0)
            source = kept
        yield Export(source)


def _wrong_line(number: int, reason: str) -> UsageError:
    return UsageError(f"Line {number} of the export is wrong ({reason}): export the corpus again.")
