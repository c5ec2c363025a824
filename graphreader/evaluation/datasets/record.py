"""Records, which every dataset becomes, the rows that they are made of, and our own format.

Our own format is JSON Lines, see docs/evaluation.md; an unknown key may be misspelt: refused.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from graphreader.errors import DatasetError
from graphreader.ingestion.loading.content import is_blank

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SourceText:
    """A document of a record: a paragraph of an encyclopedia, a story, a meeting's transcript."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Supporting:
    """A place of evidence: the document's index, and a sentence as quoted, if one is named."""

    document: int
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """A question of a dataset, with the documents to read for it.

    `answers` are equally good references, `kind` the dataset's class of the question, `subset`
    a part with table sections of its own. `keywords` are those of LV-Eval's F1*, None if it
    does not apply. `length` is "native" or the target, such as "64k".
    """

    id: str
    dataset: str
    question: str
    answers: tuple[str, ...]
    documents: tuple[SourceText, ...]
    supporting: tuple[Supporting, ...] = ()
    language: str = "en"
    options: tuple[str, ...] = ()
    gold_option: int | None = None
    kind: str = ""
    length: str = "native"
    keywords: str | None = None
    subset: str = ""

    @property
    def gold_documents(self) -> tuple[int, ...]:
        """Indexes of the documents with evidence, each once, in order."""
        return tuple(sorted({place.document for place in self.supporting}))


@dataclass(frozen=True, slots=True)
class Row:
    """A JSON object of a data file; a wrong value raises DatasetError with `where` it stands."""

    values: Mapping[str, Any]
    where: str
    name: str = ""
    folder: Path = Path()

    def wrong(self, fault: str) -> DatasetError:
        """A DatasetError that names the row's place and its fault."""
        return DatasetError(f"{self.where}: {fault}")

    def get(self, key: str, kind: type[T], default: T | None = None) -> T:
        """The value of a key, which has this type; `default` if it is missing or null."""
        value = self.values.get(key)
        if value is None and default is not None:
            return default
        try:
            return _adapter(kind).validate_python(value)  # type: ignore[no-any-return, arg-type]
        except ValidationError as error:
            raise self.wrong(f'"{key}": {fault_of(error)}.') from None

    def text(self, key: str) -> str:
        """A text that must not be missing or blank."""
        text = self.optional_text(key)
        if not text.strip():
            raise self.wrong(f'"{key}" must be a text that is not empty.')
        return text

    def optional_text(self, key: str) -> str:
        """A text or number as text; empty if it is missing or null."""
        return self.get(key, str, "")

    def rows(self, key: str) -> list["Row"]:
        """A list of objects, empty if it is missing or null."""
        values = self.get(key, list[dict[str, Any]], [])
        return [Row(one, f"{self.where}, {key}[{n}]") for n, one in enumerate(values)]


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind, config=ConfigDict(coerce_numbers_to_str=True))


def fault_of(error: ValidationError) -> str:
    """The first fault that pydantic found, after its place."""
    first = error.errors()[0]
    return ": ".join([*map(str, first["loc"]), first["msg"]])


def distinct(texts: Iterable[str]) -> tuple[str, ...]:
    """The texts that are not blank, each once, in their order."""
    return tuple(dict.fromkeys(text for text in texts if text.strip()))


_IGNORED = {
    *("answerable", "decomposition", "evidences", "exact", "hops", "level", "metadata"),
    *("narrativeqa_document_id", "note", "sentence_idx"),
}
"""`metadata`, and further keys of some published sets in our own format."""


class _OwnObject(BaseModel):
    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)

    @model_validator(mode="before")
    @classmethod
    def _without_ignored(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values  # pydantic refuses it
        return {k: v for k, v in values.items() if k not in _IGNORED and v is not None}


class _OwnDocument(_OwnObject):
    """`text_file` is a path within the folder of the data file."""

    title: str = ""
    text: str = ""
    text_file: str = ""


class _OwnEvidence(_OwnObject):
    """A document with a sentence, or with the first and last of some lines, from 0."""

    doc: NonNegativeInt
    sentence: str = ""
    lines: tuple[int, int] | None = None


class _OwnRecord(_OwnObject):
    """`language` says whether answers are compared by words (en) or by characters (zh)."""

    id: str = Field(min_length=1)
    dataset: str = ""
    question: str = Field(pattern=r"\S")
    answers: tuple[str, ...]
    documents: tuple[_OwnDocument, ...]
    supporting: tuple[_OwnEvidence, ...] = ()
    language: Literal["en", "zh"] = "en"
    options: tuple[str, ...] = ()
    gold_option: NonNegativeInt | None = None
    type: str = ""
    answer_keywords: str = ""
    subset: str = ""


def own_records(rows: Iterable[Row]) -> Iterator[Record]:
    """The records of a file in our own format, without those that cannot be answered."""
    for row in rows:
        if row.values.get("answerable") is False:
            continue
        try:
            own = _OwnRecord.model_validate(row.values)
        except ValidationError as error:
            raise row.wrong(f"{fault_of(error)}.") from None
        documents = tuple(SourceText(one.title, _text(row, one)) for one in own.documents)
        if all(is_blank(one.text) for one in documents):
            raise row.wrong("documents: there is nothing to read.")
        if own.options and (own.gold_option is None or own.gold_option >= len(own.options)):
            raise row.wrong('"gold_option" must be the index of one of the options, from 0.')
        yield Record(
            id=own.id,
            dataset=own.dataset or row.name,
            question=own.question,
            answers=distinct(own.answers),
            documents=documents,
            supporting=tuple(_evidence(row, place, documents) for place in own.supporting),
            language=own.language,
            options=own.options,
            gold_option=own.gold_option,
            kind=own.type,
            keywords=own.answer_keywords or None,
            subset=own.subset,
        )


def _text(row: Row, document: _OwnDocument) -> str:
    name = document.text_file
    if not name:
        return document.text
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise row.wrong(f'"text_file" must lie in the folder of the data file or below: "{name}".')
    try:
        return (row.folder / name).read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise row.wrong(f'"{name}" cannot be read ({error}).') from None


def _evidence(row: Row, own: _OwnEvidence, documents: tuple[SourceText, ...]) -> Supporting:
    if own.doc >= len(documents):
        raise row.wrong(f'"doc" is {own.doc}, but there are {len(documents)} only (from 0 on).')
    if own.lines:
        return lines_of(row, own.doc, documents[own.doc].text, own.lines)
    return Supporting(own.doc, own.sentence)


def lines_of(row: Row, document: int, text: str, ends: tuple[int, int]) -> Supporting:
    """Evidence at lines of a document; `ends` are the first and the last one, from 0."""
    lines = text.split("\n")
    first, last = ends
    if not 0 <= first <= last < len(lines):
        raise row.wrong(f"there are no lines {first} to {last} of {len(lines)} (from 0 on).")
    return Supporting(document, "\n".join(lines[first : last + 1]))
