"""Records, which every dataset becomes, and the rows of data files that they are made of.

A record is one question with its documents, its reference answers and its evidence. `read_rows`
reads JSON Lines and JSON files; `Row` checks values and says where a wrong one stands. At the end
are the sizes of contexts (paper, table 1) and the presets of how many records a paper took.
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
    - `hops`: the number of documents that must be combined; 0 if unknown.
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
    """A JSON object of a data file, or one within such an object, with checked access.

    `where` is its place for messages ("dev.jsonl, line 3"), `name` the file's name without its
    suffix, and `folder` the folder of the files that it refers to. All methods raise DatasetError
    for a value of the wrong type.
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

    def number(self, key: str, below: int | None = None) -> int:
        """A whole number of at least 0, and below a bound if one is given."""
        value = self.values.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self.wrong(f'"{key}" must be a whole number from 0 on.')
        if below is not None and value >= below:
            raise self.wrong(f'"{key}" is {value}, but there are {below} only (from 0 on).')
        return value

    def values_of(self, key: str) -> list[Any]:
        """A list that must not be missing; it may be empty."""
        value = self.values.get(key)
        if not isinstance(value, list):
            raise self.wrong(f'"{key}" must be a list.')
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts that must not be missing; it may be empty."""
        value = self.values_of(key)
        if not all(isinstance(text, str) for text in value):
            raise self.wrong(f'"{key}" must be a list of texts.')
        return tuple(value)

    def rows(self, key: str) -> list["Row"]:
        """A list of objects that must not be missing; it may be empty."""
        return [self.within(value, f"{key}[{n}]") for n, value in enumerate(self.values_of(key))]

    def row(self, key: str) -> "Row":
        """An object that must not be missing."""
        return self.within(self.values.get(key), key)

    def within(self, value: Any, place: str) -> "Row":
        """A value of this row, which must be an object, as a row."""
        where = f"{self.where}, {place}"
        if not isinstance(value, Mapping):
            raise DatasetError(f"{where}: must be an object.")
        return Row(value, where, self.name, self.folder)


def distinct(texts: Iterable[str]) -> tuple[str, ...]:
    """The texts that are not blank, each once, in their order."""
    return tuple(dict.fromkeys(text for text in texts if text.strip()))


SUFFIXES = (".jsonl", ".json")


def files_of(source: Path, accepts: Callable[[Path], bool] = lambda path: False) -> list[Path]:
    """A data file itself, or the data files of a folder (not of its folders), sorted by name.

    Of a folder these are its .jsonl and .json files, and those that `accepts` returns True for.
    """
    if source.is_file():
        return [source]
    if not source.is_dir():
        raise DatasetError(f"{source} does not exist: give a data file or a folder of data files.")
    files = sorted(
        path for path in source.iterdir() if path.suffix.lower() in SUFFIXES or accepts(path)
    )
    if not files:
        raise DatasetError(f"{source} has no data file (.jsonl or .json).")
    return files


def read_rows(path: Path) -> Iterator[Row]:
    """Read the rows of a file one by one. Raises DatasetError, also in the middle.

    A file is JSON Lines unless its name ends in .json and it is one JSON value: a list of objects,
    an object with such a list as `data`, or one object.
    """
    if path.suffix.lower() == ".json" and (value := _json_value(path)) is not None:
        yield from _rows_of_value(value, path)
        return
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _row(_parse(line, path, number), path, f"line {number}")
    except (OSError, UnicodeDecodeError) as error:
        raise _read_error(path, error) from None


def text_of(path: Path, where: str) -> str:
    """The whole text of a UTF-8 file that a row names; line ends are kept."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{where}: {_read_error(path, error)}") from None


def _json_value(path: Path) -> Any:
    """The JSON value of a whole file; None if the file is JSON Lines."""
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            return None
        raise DatasetError(f"{path.name}, line {error.lineno}: is no JSON ({error.msg}).") from None
    except (OSError, UnicodeDecodeError) as error:
        raise _read_error(path, error) from None


def _rows_of_value(value: Any, path: Path) -> Iterator[Row]:
    if isinstance(value, dict) and isinstance(value.get("data"), list):
        value = value["data"]
    for number, record in enumerate(value if isinstance(value, list) else [value], 1):
        yield _row(record, path, f"record {number}")


def _parse(line: str, path: Path, number: int) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise DatasetError(f"{path.name}, line {number}: is no JSON ({error.msg}).") from None


def _row(value: Any, path: Path, place: str) -> Row:
    where = f"{path.name}, {place}"
    if not isinstance(value, dict):
        raise DatasetError(f"{where}: must be a JSON object.")
    return Row(value, where, path.stem, path.parent)


def _read_error(path: Path, error: OSError | UnicodeDecodeError) -> DatasetError:
    why = "it is not in UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror
    return DatasetError(f"{path} cannot be read: {why}.")


GPT_4 = "cl100k_base"
"""The encoding of GPT-4, in which the paper counts."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """Tokens of the average and of the longest context, and the number of records."""

    average_tokens: float
    max_tokens: int
    samples: int


def statistics(records: Iterable[Record], encoding: str = GPT_4) -> Statistics:
    """The statistics of the records of one dataset and length.

    Tokens are those of the documents' texts, without titles and questions.
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
    """How many records of a dataset a preset takes at each length; None for all of them.

    "graphreader-paper" takes the first 50 of every level of LV-Eval's mixup, and 300, 300, 200 and
    200 of HotpotQA, 2WikiMultihopQA, MuSiQue and NarrativeQA. An empty name takes all.
    """
    if not preset:
        return None
    if preset not in _PRESETS:
        raise DatasetError(f'There is no preset "{preset}"; there is: {", ".join(PRESETS)}.')
    return _PRESETS[preset].get(dataset)
