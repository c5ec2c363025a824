"""The file of an exported corpus: its records, and reading it line by line.

The file is JSON Lines in UTF-8: a header, then for each document a line followed by one line per
chunk, then a line per key element with its vector, and a last line with counts, by which a file
that was cut off is recognized. Except for the header each line is an object with one key that names
its kind, {"chunk": {...}}. Fields with default values are left out, unknown fields are ignored. The
file has no ids: they follow from the content. It has no merges of key elements, only the stages of
normalization.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Annotated, Any, BinaryIO, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from graphreader.errors import UsageError
from graphreader.files import bounded_lines
from graphreader.ingestion.normalization.rules import LONGEST

FORMAT = 1

MAX_LINE = 2**26
"""Bytes of a line; those of an export are far shorter."""

_Count = Annotated[int, Field(ge=0, lt=2**53)]
_Name = Annotated[str, Field(min_length=1, max_length=LONGEST)]


class _Record(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, allow_inf_nan=False)

    def line(self, kind: str) -> bytes:
        """The record as a line of that kind."""
        body = self.model_dump_json(exclude_defaults=True)
        return f'{{"{kind}":{body}}}\n'.encode()


class _Format(_Record):
    graphreader: int


class Header(_Record):
    """How the corpus was made; `graphreader` is the number of the file format.

    `stages` are the stages of normalization that merged key elements. An import ignores stages
    that it does not know.
    """

    graphreader: int
    corpus: str
    decider: str
    prompts: str
    embedding: str
    dimension: Annotated[int, Field(ge=1, le=4096)]
    stages: tuple[str, ...] = ()


class DocumentRecord(_Record):
    """A document without its text, which its chunks give; `headings` are (start, text).

    `arranged` is the version of the text whose chunks are in order, `read_chunks` the number of
    chunks that have their facts.
    """

    title: str
    source: str
    language: str
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    chunk_tokens: _Count
    complete: bool
    arranged: str | None
    read_chunks: _Count = 0
    metadata: dict[str, Any] = Field(default_factory=dict)
    page_starts: tuple[_Count, ...] = ()
    headings: tuple[tuple[_Count, str], ...] = ()


class FactRecord(_Record):
    """A fact; `key_elements` maps each wording to the key of its key element."""

    text: Annotated[str, Field(min_length=1)]
    key_elements: dict[_Name, _Name]


class ChunkRecord(_Record):
    """A chunk of the document before it; `pending` ones belong to an unfinished edit."""

    index: _Count
    start: _Count
    end: _Count
    tokens: _Count
    text: str
    error: str | None = None
    pending: bool = False
    facts: tuple[FactRecord, ...] = ()


class KeyElementRecord(_Record):
    """A key element with its vector.

    `likes` maps the keys of similar key elements to the cosine similarity; a `fresh` one is still
    to be compared with the others.
    """

    key: _Name
    embedding: tuple[float, ...] | None = None
    fresh: bool = False
    likes: dict[_Name, float] = Field(default_factory=dict)


class Counts(_Record):
    """The numbers of exported or imported records."""

    documents: _Count = 0
    chunks: _Count = 0
    facts: _Count = 0
    key_elements: _Count = 0


class Line(_Record):
    """Any line but the header; exactly one field is set."""

    document: DocumentRecord | None = None
    chunk: ChunkRecord | None = None
    key_element: KeyElementRecord | None = None
    end: Counts | None = None


R = TypeVar("R", bound=_Record)


class Export:
    """Reads an exported corpus: the header at once, the other lines on demand.

    Blocks. Raises UsageError for a file that is no export, of a newer format, or cut off.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._numbered = bounded_lines(file, MAX_LINE)
        self._number = 0
        line = self._next_line()
        try:
            number = _Format.model_validate_json(line).graphreader
        except ValidationError:
            raise UsageError(
                "This is not an exported corpus, its first line is no header: name a file that "
                "`graphreader export` made."
            ) from None
        if number > FORMAT:
            raise UsageError(
                f"This export has format {number}, and this version of GraphReader reads format "
                f"{FORMAT}: use a newer GraphReader."
            )
        self.header = self._parse(Header, line)

    def lines(self) -> Iterator[tuple[int, Line]]:
        """The lines after the header with their numbers, up to the one with the counts."""
        while text := self._next_line():
            line = self._parse(Line, text)
            if sum(value is not None for _, value in line) != 1:
                raise wrong_line(self._number, "it is not one of document, chunk, key_element, end")
            yield self._number, line
            if line.end:
                return
        raise self._cut_off()

    def _next_line(self) -> bytes:
        """The next line that is not blank; empty at the end."""
        self._number, line = next(self._numbered, (self._number, b""))
        return line

    def _parse(self, kind: type[R], text: bytes) -> R:
        try:
            return kind.model_validate_json(text)
        except ValidationError as error:
            if not text.endswith(b"\n"):
                raise self._cut_off() from None
            first = error.errors(include_input=False, include_url=False)[0]
            where = ".".join(map(str, first["loc"]))
            reason = f"{where}: {first['msg']}" if where else first["msg"]
            raise wrong_line(self._number, reason) from None

    def _cut_off(self) -> UsageError:
        return UsageError(
            f"The export was cut off at line {self._number}: its last line is missing. Export the "
            "corpus again."
        )


@contextmanager
def open_export(path: str | PathLike[str]) -> Iterator[Export]:
    """Open an exported corpus. Raises UsageError, also where the file cannot be opened."""
    try:
        file = open(path, "rb")  # noqa: SIM115  # only opening it is inside the try
    except OSError as error:
        raise UsageError(
            f"{path} cannot be opened ({error.strerror}): check the path and its permissions."
        ) from None
    with file:
        yield Export(file)


def wrong_line(number: int, reason: str) -> UsageError:
    """The error for a line that no export has."""
    return UsageError(f"Line {number} of the export is wrong ({reason}): export the corpus again.")
