"""The file of an exported corpus: JSON Lines in UTF-8, which people can read and programs can make.

The first line is the header. Then comes a line a document, followed by a line a chunk of it, then a
line a key element with its vector, and a last line that counts them, so that a file which was cut
off is known for one. But for the header each line is an object of one key, which says what it is:
{"chunk": {...}}. What is missing has its default, what is unknown is passed over. There are no ids
in it: they follow from what they stand for.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from os import PathLike
from typing import Annotated, Any, BinaryIO, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from graphreader.errors import UsageError
from graphreader.ingestion.normalization.rule import LONGEST
from graphreader.settings import Stage

VERSION = 1
LONGEST_LINE = 2**26
"""Bytes. The lines of an export are far shorter; what is longer is none."""

_Count = Annotated[int, Field(ge=0, lt=2**53)]
_Words = Annotated[str, Field(min_length=1, max_length=LONGEST)]


class _Record(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, allow_inf_nan=False)

    def line(self, kind: str) -> bytes:
        """The line of this record."""
        body = self.model_dump_json(exclude_defaults=True)
        return f'{{"{kind}":{body}}}\n'.encode()


class _Version(_Record):
    graphreader: int


class Header(_Record):
    """How the corpus was made. `graphreader` is the number of the format.

    `stages` are those of normalization which are in force: what they made of the key elements is
    not in the file, it follows from the rest.
    """

    graphreader: int
    corpus: str
    decider: str
    prompts: str
    embedding: str
    dimension: Annotated[int, Field(ge=1, le=4096)]
    stages: tuple[Stage, ...] = ()


class DocumentRecord(_Record):
    """A document without its text, which its chunks give; `headings` are (start, text).

    `read_chunks`: so many of them have their facts.
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
    """A fact; `key_elements` says for each of its wordings under which key it is known."""

    text: Annotated[str, Field(min_length=1)]
    key_elements: dict[_Words, _Words]


class ChunkRecord(_Record):
    """A chunk of the document before it. `pending`: it belongs to an edit that is not finished."""

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

    `likes` are the keys of others that were found alike, with the cosines; `fresh` says that it is
    still to be compared.
    """

    key: _Words
    embedding: tuple[float, ...] | None = None
    fresh: bool = False
    likes: dict[_Words, float] = Field(default_factory=dict)


class Counts(_Record):
    """How much there is of everything."""

    documents: _Count = 0
    chunks: _Count = 0
    facts: _Count = 0
    key_elements: _Count = 0


Told = Callable[[Counts], None]


def quiet(counts: Counts) -> None:
    """Take what is told, and do nothing."""


class Line(_Record):
    """Any line but the header; one of these is there."""

    document: DocumentRecord | None = None
    chunk: ChunkRecord | None = None
    key_element: KeyElementRecord | None = None
    end: Counts | None = None


R = TypeVar("R", bound=_Record)


@dataclass(frozen=True, slots=True)
class ExchangeReport:
    """What went into a file, or came out of one.

    `incomplete` counts those of the `documents` that are not complete, `unchanged` those that were
    in the corpus already and are not in the other numbers. `refused` has a sentence for each
    document that was left out.
    """

    corpus: str
    documents: int
    chunks: int
    facts: int
    key_elements: int
    incomplete: int = 0
    unchanged: int = 0
    refused: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self) | {"refused": list(self.refused)}


class Export:
    """An exported corpus as it is read: its header at once, its lines as they are asked for.

    Both block, and raise UsageError where it is no export, one of a newer version, or cut off.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._number = 0
        self.header = self._header()

    def lines(self) -> Iterator[tuple[int, Line]]:
        """The lines behind the header with their numbers, up to the one that counts them."""
        while text := self._next():
            line = self._parsed(Line, text)
            if sum(value is not None for _, value in line) != 1:
                raise wrong(self._number, "it is not one of document, chunk, key_element, end")
            yield self._number, line
            if line.end:
                return
        raise self._cut_off()

    def _header(self) -> Header:
        text = self._next()
        try:
            version = _Version.model_validate_json(text).graphreader
        except ValidationError:
            raise UsageError(
                "This is not an exported corpus, its first line is no header: name a file that "
                "`graphreader export` made."
            ) from None
        if version > VERSION:
            raise UsageError(
                f"This export has format {version}, and this version of GraphReader reads format "
                f"{VERSION}: use a newer GraphReader."
            )
        return self._parsed(Header, text)

    def _next(self) -> bytes:
        """The next line that is not empty; nothing at the end."""
        while text := self._file.readline(LONGEST_LINE):
            self._number += 1
            if text.strip():
                return text
        return b""

    def _parsed(self, kind: type[R], text: bytes) -> R:
        try:
            return kind.model_validate_json(text)
        except ValidationError as error:
            if not text.endswith(b"\n"):
                raise self._cut_off() from None
            first = error.errors(include_input=False, include_url=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise wrong(
                self._number, f"{where}: {first['msg']}" if where else first["msg"]
            ) from None

    def _cut_off(self) -> UsageError:
        return UsageError(
            f"The export was cut off at line {self._number}: its last line is missing. Export the "
            "corpus again."
        )


@contextmanager
def opened(path: str | PathLike[str]) -> Iterator[Export]:
    """The export in a file. Raises UsageError, also where there is no such file."""
    try:
        file = open(path, "rb")  # noqa: SIM115  # an error while it is read is not one of opening
    except OSError as error:
        raise UsageError(
            f"{path} cannot be opened ({error.strerror}): check the path and its permissions."
        ) from None
    with file:
        yield Export(file)


def wrong(number: int, why: str) -> UsageError:
    """What to raise for a line that an export does not have."""
    return UsageError(f"Line {number} of the export is wrong ({why}): export the corpus again.")
