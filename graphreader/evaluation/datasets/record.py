"""What every dataset becomes: records of one question, its documents and what is known of both.

Rows of data files, and what is said where one is not as its format wants it.

Data files as rows: JSON Lines, and JSON files of one list or one object.

How large a dataset's contexts are (paper, table 1).

How many records of a dataset an evaluation takes that repeats a paper's.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphreader.errors import DatasetError
from graphreader.tokens import count


@dataclass(frozen=True, slots=True)
class SourceText:
    """One document of a record: an encyclopedia's paragraph, a story, a meeting's transcript."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Supporting:
    """A place that the dataset names as evidence.

    `document` is an index into the record's documents. `sentence` is the evidence as the dataset
    quotes it, empty where it names the document only; where it names `lines` of the text (from 0,
    the last one included) it is these lines. `exact` is False where the sentence is an annotator's
    wording and no part of the document.
    """

    document: int
    sentence: str = ""
    lines: tuple[int, int] | None = None
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Record:
    """A question of a dataset, with the documents to read for it.

    `answers` are equally good references; none where the dataset does not say them. Where it says
    that the documents do not tell the answer, it is not `answerable`, and right is to say so.
    `gold_option` counts from 0. `supporting` names all evidence of the dataset or is empty: then
    nothing is known of evidence. `kind` is the dataset's own class of the question, `hops` the
    documents that must be combined (0: unknown), `subset` a part of the dataset that tables keep
    apart. `keywords` is what an answer must have to count in LV-Eval, empty where LV-Eval has none,
    and None for what is not scored by its F1*.

    `length` is "native", or the target that the context was built for, such as "64k"; the same
    question has the same id at every length.
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
    hops: int = 0
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
    """One JSON object of a file, or of a list within another one.

    `where` says for people where it stands ("dev.jsonl, line 3"). `name` is the file's without its
    ending, `folder` where files that it names lie.
    """

    values: Mapping[str, Any]
    where: str
    name: str = ""
    folder: Path | None = None

    def wrong(self, what: str) -> DatasetError:
        """The error that says where the row stands and what is wrong with it."""
        return DatasetError(f"{self.where}: {what}")

    def text(self, key: str) -> str:
        """A text that must be there and say something, as it stands."""
        value = self.values.get(key)
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(f'"{key}" must be a text that is not empty.')
        return value

    def written(self, key: str) -> str:
        """A text that may be missing or null: then it is empty. Numbers are written out."""
        value = self.values.get(key)
        if value is None:
            return ""
        if not isinstance(value, str | int) or isinstance(value, bool):
            raise self.wrong(f'"{key}" must be a text.')
        return str(value)

    def name_of(self, *keys: str) -> str:
        """The first of these keys' texts that is not empty: what the record is called by."""
        for key in keys:
            if written := self.written(key):
                return written
        raise self.wrong(f'"{keys[0]}" must be a text that is not empty.')

    def number(self, key: str, below: int | None = None) -> int:
        """A whole number from 0 on."""
        value = self.values.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self.wrong(f'"{key}" must be a whole number from 0 on.')
        if below is not None and value >= below:
            raise self.wrong(f'"{key}" is {value}, but there are {below} only (from 0 on).')
        return value

    def listed(self, key: str) -> list[Any]:
        """A list that must be there; it may be empty."""
        value = self.values.get(key)
        if not isinstance(value, list):
            raise self.wrong(f'"{key}" must be a list.')
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts that must be there; it may be empty."""
        value = self.listed(key)
        if not all(isinstance(text, str) for text in value):
            raise self.wrong(f'"{key}" must be a list of texts.')
        return tuple(value)

    def rows(self, key: str) -> list["Row"]:
        """A list of objects that must be there; it may be empty."""
        return [self.within(value, f"{key}[{n}]") for n, value in enumerate(self.listed(key))]

    def row(self, key: str) -> "Row":
        """An object that must be there."""
        return self.within(self.values.get(key), key)

    def within(self, value: Any, place: str) -> "Row":
        """What stands at a place of this row, as a row of its own."""
        where = f"{self.where}, {place}"
        if not isinstance(value, Mapping):
            raise DatasetError(f"{where}: must be an object.")
        return Row(value, where, self.name, self.folder)


def distinct(texts: Iterable[str]) -> tuple[str, ...]:
    """The texts that say something, each once, in their order."""
    return tuple(dict.fromkeys(text for text in texts if text.strip()))


SUFFIXES = (".jsonl", ".json")


def data_files(source: Path, also: Callable[[Path], bool] = lambda path: False) -> list[Path]:
    """The data files of a source: the file itself, or those right within the folder, by name.

    Of a folder these are its .jsonl and .json, and what is a data file `also`.
    """
    if source.is_file():
        return [source]
    if not source.is_dir():
        raise DatasetError(f"{source} does not exist: give a data file or a folder of data files.")
    files = sorted(
        path for path in source.iterdir() if path.suffix.lower() in SUFFIXES or also(path)
    )
    if not files:
        raise DatasetError(f"{source} has no data file (.jsonl or .json).")
    return files


def read(path: Path) -> Iterator[Row]:
    """The rows of a file, read as they are asked for. Raises DatasetError, also while it goes on.

    A file is taken as JSON Lines unless its name ends in .json and it is one JSON value.
    """
    if path.suffix.lower() == ".json" and (value := _whole(path)) is not None:
        yield from _within(value, path)
        return
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _row(_parsed(line, path, number), path, f"line {number}")
    except (OSError, UnicodeDecodeError) as error:
        raise _unread(path, error) from None


def text_of(path: Path, where: str) -> str:
    """The whole text of a file in UTF-8 that a row names; lines end as they are written."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{where}: {_unread(path, error)}") from None


def _whole(path: Path) -> Any:
    """The one JSON value that a file is, or None where it is lines of such."""
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            return None
        raise DatasetError(f"{path.name}, line {error.lineno}: is no JSON ({error.msg}).") from None
    except (OSError, UnicodeDecodeError) as error:
        raise _unread(path, error) from None


def _within(value: Any, path: Path) -> Iterator[Row]:
    if isinstance(value, dict) and isinstance(value.get("data"), list):
        value = value["data"]
    for number, record in enumerate(value if isinstance(value, list) else [value], 1):
        yield _row(record, path, f"record {number}")


def _parsed(line: str, path: Path, number: int) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise DatasetError(f"{path.name}, line {number}: is no JSON ({error.msg}).") from None


def _row(value: Any, path: Path, place: str) -> Row:
    where = f"{path.name}, {place}"
    if not isinstance(value, dict):
        raise DatasetError(f"{where}: must be a JSON object.")
    return Row(value, where, path.stem, path.parent)


def _unread(path: Path, error: OSError | UnicodeDecodeError) -> DatasetError:
    why = "it is not in UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror
    return DatasetError(f"{path} cannot be read: {why}.")


GPT_4 = "cl100k_base"
"""The encoding of GPT-4, in which the paper counts."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """Tokens of the average and of the longest context, and how many records there are."""

    average_tokens: float
    max_tokens: int
    samples: int


def statistics(records: Iterable[Record], encoding: str = GPT_4) -> Statistics:
    """The statistics of all these records together: give those of one dataset and length.

    Tokens are those of the documents' texts, without titles and question.
    """
    counted: dict[str, int] = {}
    totals: list[int] = []
    for record in records:
        for document in record.documents:
            if document.text not in counted:
                counted[document.text] = count(document.text, encoding)
        totals.append(sum(counted[document.text] for document in record.documents))
    average = sum(totals) / len(totals) if totals else 0.0
    return Statistics(average, max(totals, default=0), len(totals))


_PRESETS = {
    # Table 1 and appendix C; table 1's 300 are the sizes of LongBench-E.
    "graphreader-paper": {
        "hotpotwikiqa-mixup": 50,
        "longbench-hotpotqa": 300,
        "longbench-2wikimqa": 300,
        "longbench-musique": 200,
        "longbench-narrativeqa": 200,
        "hotpotqa": 300,
        "2wikimultihopqa": 300,
        "musique": 200,
        "narrativeqa": 200,
    }
}

PRESETS = tuple(_PRESETS)


def preset_limit(dataset: str, preset: str = "graphreader-paper") -> int | None:
    """How many records of a dataset, at each length, a preset takes; None: all of them.

    "graphreader-paper" takes the first 50 of every level of LV-Eval's mixup, and 300, 300, 200 and
    200 of HotpotQA, 2WikiMultihopQA, MuSiQue and NarrativeQA. An empty name takes all.
    """
    if not preset:
        return None
    if preset not in _PRESETS:
        raise DatasetError(f'There is no preset "{preset}"; there is: {", ".join(PRESETS)}.')
    return _PRESETS[preset].get(dataset)
