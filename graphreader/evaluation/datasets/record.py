"""The record of a question, which every dataset is converted to; rows of files; our own format."""

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from graphreader.errors import DatasetError
from graphreader.ingestion.loading.content import is_blank

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SourceText:
    """A document of a record: title and text, for example a paragraph of an encyclopedia."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Supporting:
    """The place of evidence: the index of a document, and a quoted sentence, if named."""

    document: int
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """The record of a question of a dataset, with the documents to read for it.

    `answers` are equally good references, `kind` the dataset's class of the question, `subset`
    a part with table sections of its own. `keywords` are for LV-Eval's F1*, None if it
    does not apply. `length` is "native" or the target, such as "64k". `items` are the items of a
    list with their accepted wordings, `ordered` if their order counts, and `count` is an exact
    number. A record that is not `answerable` has neither answers nor evidence.
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
    items: tuple[tuple[str, ...], ...] = ()
    ordered: bool = False
    count: int | None = None
    answerable: bool = True

    @property
    def gold_documents(self) -> tuple[int, ...]:
        """The indexes of the documents with evidence, each once, in order."""
        return tuple(sorted({place.document for place in self.supporting}))


@dataclass(frozen=True, slots=True)
class Row:
    """A JSON object of a data file; a wrong value raises DatasetError with its place `where`."""

    values: Mapping[str, Any]
    where: str
    name: str = ""
    folder: Path = Path()

    def wrong(self, fault: str) -> DatasetError:
        """Make a DatasetError that names the row's place and its fault."""
        return DatasetError(f"{self.where}: {fault}")

    def get(self, key: str, kind: type[T], default: T | None = None) -> T:
        """Read a value of a given type; `default` if it is missing or null."""
        value = self.values.get(key)
        if value is None and default is not None:
            return default
        try:
            return _adapter(kind).validate_python(value)  # type: ignore[no-any-return, arg-type]
        except ValidationError as error:
            first = error.errors()[0]
            fault = ": ".join([*map(str, first["loc"]), first["msg"]])
            raise self.wrong(f'"{key}": {fault}.') from None

    def text(self, key: str) -> str:
        """Read a text that must not be missing or blank."""
        text = self.optional_text(key)
        if not text.strip():
            raise self.wrong(f'"{key}" must be a text that is not empty.')
        return text

    def optional_text(self, key: str) -> str:
        """Read a text or number as text; "" if it is missing or null."""
        return self.get(key, str, "")

    def rows(self, key: str) -> list["Row"]:
        """Read a list of objects; empty if it is missing or null."""
        values = self.get(key, list[dict[str, Any]], [])
        places = (f"{self.where}, {key}[{n}]" for n in range(len(values)))
        return [
            Row(one, where, folder=self.folder) for one, where in zip(values, places, strict=True)
        ]

    def check_keys(self, keys: Set[str]) -> None:
        """Raise DatasetError for a key that is neither known nor ignored."""
        if unknown := self.values.keys() - keys - _IGNORED:
            raise self.wrong(f"there is no key {', '.join(sorted(unknown))}: is it misspelt?")


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind, config=ConfigDict(coerce_numbers_to_str=True))


def distinct(texts: Iterable[str]) -> tuple[str, ...]:
    """Keep the texts that are not blank, each once, in their order."""
    return tuple(dict.fromkeys(text for text in texts if text.strip()))


_IGNORED = {
    *("decomposition", "evidences", "exact", "hops", "level", "metadata"),
    *("narrativeqa_document_id", "note", "sentence_idx"),
}
"""The keys of our own format that are ignored, such as `metadata`."""

_RECORD_KEYS = {
    *("id", "dataset", "question", "answers", "documents", "supporting", "language", "options"),
    *("gold_option", "type", "answer_keywords", "subset", "items", "ordered", "count"),
    "answerable",
}


def own_records(rows: Iterable[Row]) -> Iterator[Record]:
    """Read the records of our own format (docs/evaluation.md)."""
    for row in rows:
        row.check_keys(_RECORD_KEYS)
        documents = tuple(_own_document(one) for one in row.rows("documents"))
        if all(is_blank(one.text) for one in documents):
            raise row.wrong("documents: there is nothing to read.")
        options = row.get("options", tuple[str, ...], ())
        gold_option = row.get("gold_option", int, -1)
        if options and not 0 <= gold_option < len(options):
            raise row.wrong('"gold_option" must be the index of one of the options, from 0.')
        if (language := row.optional_text("language") or "en") not in ("en", "zh"):
            raise row.wrong(f'"language" must be en or zh, not {language}.')
        question = Record(
            id=row.text("id"),
            dataset=row.optional_text("dataset") or row.name,
            question=row.text("question"),
            answers=(),
            documents=documents,
            language=language,
            kind=row.optional_text("type"),
            subset=row.optional_text("subset"),
            answerable=row.values.get("answerable") is not False,
        )
        if not question.answerable:
            yield question
            continue
        items = row.get("items", tuple[tuple[str, ...], ...], ())
        if not all(map(distinct, items)):
            raise row.wrong('"items" must be a list of items, each a list of accepted wordings.')
        count = row.get("count", int, -1)
        derived = [", ".join(item[0] for item in items), str(count) if count >= 0 else ""]
        answers = distinct(row.get("answers", tuple[str, ...], () if any(derived) else None))
        yield replace(
            question,
            answers=answers or distinct(derived),
            supporting=tuple(_own_evidence(one, documents) for one in row.rows("supporting")),
            options=options,
            gold_option=gold_option if gold_option >= 0 else None,
            keywords=row.optional_text("answer_keywords") or None,
            items=items,
            ordered=row.get("ordered", bool, False),
            count=count if count >= 0 else None,
        )


def _own_document(row: Row) -> SourceText:
    """Read a document; `text_file` is a path within the folder of the data file."""
    row.check_keys({"title", "text", "text_file"})
    title, text, name = map(row.optional_text, ("title", "text", "text_file"))
    if not name:
        return SourceText(title, text)
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise row.wrong(f'"text_file" must lie in the folder of the data file or below: "{name}".')
    try:
        return SourceText(title, (row.folder / name).read_bytes().decode("utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise row.wrong(f'"{name}" cannot be read ({error}).') from None


def _own_evidence(row: Row, documents: tuple[SourceText, ...]) -> Supporting:
    """Read a place of evidence: a document with a sentence, or with `lines` (first, last)."""
    row.check_keys({"doc", "sentence", "lines"})
    doc = row.get("doc", int)
    if not 0 <= doc < len(documents):
        raise row.wrong(f'"doc" is {doc}, but there are {len(documents)} only (from 0 on).')
    if row.values.get("lines"):
        return lines_of(row, doc, documents[doc].text, row.get("lines", tuple[int, int]))
    return Supporting(doc, row.optional_text("sentence"))


def lines_of(row: Row, document: int, text: str, ends: tuple[int, int]) -> Supporting:
    """Make the evidence from the lines `ends` (first, last; from 0) of a document's text."""
    lines = text.split("\n")
    first, last = ends
    if not 0 <= first <= last < len(lines):
        raise row.wrong(f"there are no lines {first} to {last} of {len(lines)} (from 0 on).")
    return Supporting(document, "\n".join(lines[first : last + 1]))
