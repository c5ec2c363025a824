"""Records, which every dataset becomes, the rows that they are made of, and our own format.

A record is one question with its documents, its reference answers and its evidence. `Row` checks
the values of a JSON object or of a line of CSV, and says where a wrong one stands.

Our own format is JSON Lines: `id, dataset, question, answers, documents, supporting, language`. A
document is `title` and `text`, or `text_file`: a path within the file's folder. A place of evidence
is `doc` (index of the document) with `sentence`, or with `lines`: [first, last], from 0; `exact` is
false if the sentence is not part of the document. More keys: `options`, `gold_option` (from 0),
`type`, `hops`, `answer_keywords`, `subset`. `metadata` is ignored, and so are further keys of some
published sets; any other key is refused, because it may be misspelt.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from graphreader.errors import DatasetError

_RECORD_KEYS = (
    *("id", "dataset", "question", "answers", "documents", "supporting", "language", "options"),
    *("gold_option", "type", "hops", "answer_keywords", "subset", "metadata"),
)
_DOCUMENT_KEYS = ("title", "text", "text_file", "metadata")
_SUPPORTING_KEYS = ("doc", "sentence", "lines", "exact", "metadata")
_IGNORED = frozenset(
    {
        *("answerable", "decomposition", "evidences", "level", "narrativeqa_document_id", "note"),
        "sentence_idx",
    }
)
"""Further keys of MuSiQue, HotpotQA, 2WikiMultihopQA and NarrativeQA records in this format."""


@dataclass(frozen=True, slots=True)
class SourceText:
    """A document of a record: a paragraph of an encyclopedia, a story, a meeting's transcript."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Supporting:
    """A place of evidence.

    `document` is an index into the record's documents. `sentence` is the evidence as the dataset
    quotes it, empty if it names the document only. `lines` are its first and last line, from 0, if
    the dataset names lines; `sentence` has their text. `exact` is False if the sentence is an
    annotator's wording and not part of the document.
    """

    document: int
    sentence: str = ""
    lines: tuple[int, int] | None = None
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Record:
    """A question of a dataset, with the documents to read for it.

    - `answers`: equally good references; none if the dataset has none.
    - `answerable`: False if the documents do not contain the answer, and the reader should say so.
    - `supporting`: all evidence that the dataset names; empty if none is known.
    - `gold_option`: the index of the right one of `options`, from 0.
    - `kind`: the dataset's own class of the question.
    - `subset`: a part of the dataset that has table sections of its own.
    - `keywords`: what an answer must contain for LV-Eval's F1*, empty if LV-Eval has none; None if
      the dataset is not scored by F1*.
    - `length`: "native", or the target length of the context, such as "64k"; a question has the
      same id at every length.
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
    answerable: bool = True

    @property
    def gold_documents(self) -> tuple[int, ...]:
        """Indexes of the documents with evidence, each once, in order."""
        return tuple(sorted({place.document for place in self.supporting}))


@dataclass(frozen=True, slots=True)
class Row:
    """A JSON object of a data file, or one within such an object, with checked access.

    `where` is its place for messages ("dev.jsonl, line 3"), `name` the file's name without its
    suffix, and `folder` the folder of the files that it refers to. All methods raise DatasetError
    for a value of the wrong type. An `optional` list may be missing or null, and is empty then.
    """

    values: Mapping[str, Any]
    where: str
    name: str = ""
    folder: Path | None = None

    def wrong(self, fault: str) -> DatasetError:
        """A DatasetError that names the row's place and its fault."""
        return DatasetError(f"{self.where}: {fault}")

    def text(self, key: str) -> str:
        """A text that must not be missing or blank."""
        value = self.values.get(key)
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(f'"{key}" must be a text that is not empty.')
        return value

    def optional_text(self, key: str) -> str:
        """A text or number as text; empty if it is missing or null."""
        value = self.values.get(key)
        if value is None:
            return ""
        if not isinstance(value, str | int) or isinstance(value, bool):
            raise self.wrong(f'"{key}" must be a text.')
        return str(value)

    def name_of(self, *keys: str) -> str:
        """The first text of these keys that is not empty, as the id of a record."""
        for key in keys:
            if text := self.optional_text(key):
                return text
        raise self.wrong(f'"{keys[0]}" must be a text that is not empty.')

    def check_answer(self, key: str) -> None:
        """Raise DatasetError for a row of a test split, which has no answers."""
        if self.values.get(key) in (None, ""):
            raise self.wrong(f'"{key}" is missing: take a split with answers, such as dev.')

    def number(self, key: str, below: int) -> int:
        """A whole number of at least 0 and below a bound."""
        value = self.values.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self.wrong(f'"{key}" must be a whole number from 0 on.')
        if value >= below:
            raise self.wrong(f'"{key}" is {value}, but there are {below} only (from 0 on).')
        return value

    def values_of(self, key: str, *, optional: bool = False) -> list[Any]:
        """A list."""
        value = self.values.get(key)
        if optional and not value:
            return []
        if not isinstance(value, list):
            raise self.wrong(f'"{key}" must be a list.')
        return value

    def texts(self, key: str, *, optional: bool = False) -> tuple[str, ...]:
        """A list of texts."""
        value = self.values_of(key, optional=optional)
        if not all(isinstance(text, str) for text in value):
            raise self.wrong(f'"{key}" must be a list of texts.')
        return tuple(value)

    def rows(self, key: str, *, optional: bool = False) -> list["Row"]:
        """A list of objects."""
        values = self.values_of(key, optional=optional)
        return [self._within(value, f"{key}[{n}]") for n, value in enumerate(values)]

    def row(self, key: str) -> "Row":
        """An object that must not be missing."""
        return self._within(self.values.get(key), key)

    def _within(self, value: Any, place: str) -> "Row":
        where = f"{self.where}, {place}"
        if not isinstance(value, Mapping):
            raise DatasetError(f"{where}: must be an object.")
        return Row(value, where, self.name, self.folder)


def distinct(texts: Iterable[str]) -> tuple[str, ...]:
    """The texts that are not blank, each once, in their order."""
    return tuple(dict.fromkeys(text for text in texts if text.strip()))


def read_error(path: Path, error: OSError | UnicodeDecodeError) -> DatasetError:
    """The error of a file that cannot be read."""
    reason = "it is not in UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror
    return DatasetError(f"{path} cannot be read: {reason}.")


def own_records(rows: Iterable[Row]) -> Iterator[Record]:
    """The records of a file in our own format. A text file of several records is read once."""
    texts: dict[str, str] = {}
    for row in rows:
        _check_keys(row, _RECORD_KEYS)
        documents = tuple(_document(document, texts) for document in row.rows("documents"))
        if not documents:
            raise row.wrong('"documents" is empty: there is nothing to read.')
        options = row.texts("options", optional=True)
        supporting = row.rows("supporting", optional=True)
        yield Record(
            id=row.name_of("id"),
            dataset=row.optional_text("dataset") or row.name,
            question=row.text("question"),
            answers=distinct(row.texts("answers")),
            documents=documents,
            supporting=tuple(_evidence(place, documents) for place in supporting),
            language=_language(row),
            options=options,
            gold_option=row.number("gold_option", len(options)) if options else None,
            kind=row.optional_text("type"),
            keywords=row.optional_text("answer_keywords") or None,
            subset=row.optional_text("subset"),
        )


def _check_keys(row: Row, known: Sequence[str]) -> None:
    """Raise DatasetError for an unknown key: ignoring it could lose what its author meant."""
    for key in row.values:
        if key not in known and key not in _IGNORED:
            near = get_close_matches(key, known, 1)
            hint = f' Did you mean "{near[0]}"?' if near else ""
            raise row.wrong(
                f'"{key}" is no field of it: known are {", ".join(known)} (metadata may hold '
                f"anything).{hint}"
            )


def _language(row: Row) -> str:
    language = row.optional_text("language") or "en"
    if language not in ("en", "zh"):
        raise row.wrong(
            f'"language" is "{language}", but must be en or zh: it says whether answers are '
            "compared by words (en, also for other languages with spaces) or by characters (zh)."
        )
    return language


def _document(row: Row, texts: dict[str, str]) -> SourceText:
    """A document; `texts` are those of the text files read so far, by their names."""
    _check_keys(row, _DOCUMENT_KEYS)
    title = row.optional_text("title")
    if "text_file" not in row.values:
        return SourceText(title, row.optional_text("text"))
    name = row.text("text_file")
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise row.wrong(f'"text_file" must lie in the folder of the data file or below: "{name}".')
    if row.folder is None:
        raise row.wrong('"text_file" needs a data file beside which it lies: give "text".')
    if name not in texts:
        path = row.folder / name
        try:
            texts[name] = path.read_bytes().decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise row.wrong(str(read_error(path, error))) from None
    return SourceText(title, texts[name])


def _evidence(row: Row, documents: tuple[SourceText, ...]) -> Supporting:
    _check_keys(row, _SUPPORTING_KEYS)
    document = row.number("doc", len(documents))
    if "lines" in row.values:
        return lines_of(row, document, documents[document].text, row.values_of("lines"))
    exact = row.values.get("exact") is not False
    return Supporting(document, row.optional_text("sentence"), exact=exact)


def lines_of(row: Row, document: int, text: str, ends: list[Any]) -> Supporting:
    """Evidence at lines of a document; `ends` are the first and the last one, from 0."""
    lines = text.split("\n")
    try:
        first, last = (int(end) for end in ends)
    except (TypeError, ValueError):
        raise row.wrong("lines must be two whole numbers.") from None
    if not 0 <= first <= last < len(lines):
        raise row.wrong(f"there are no lines {first} to {last} of {len(lines)} (from 0 on).")
    return Supporting(document, "\n".join(lines[first : last + 1]), (first, last))
