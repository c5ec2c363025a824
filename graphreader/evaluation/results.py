"""The results folder of an evaluation, its readings and their progress, and the ids of documents.

`run.json` has settings and commands, `readings.jsonl` one line a reading, written at once,
`building.jsonl` the cost of graphs, pages and gists, and `equal_reading.jsonl` what rankings read
within the same token budget.
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, Self

from filelock import FileLock, Timeout

from graphreader.documents import Document
from graphreader.errors import UsageError
from graphreader.evaluation.datasets.record import Record
from graphreader.evaluation.metrics.evidence import fcr
from graphreader.files import Line, LinesFile, atomic_write
from graphreader.ingestion.loading.content import from_text, is_blank
from graphreader.settings import Settings, variable
from graphreader.usage import Usage

READINGS, EQUAL_READING, RUN = "readings.jsonl", "equal_reading.jsonl", "run.json"
BUILDING_COSTS = "building.jsonl"


class ResultsFolder:
    """A results folder, locked for this process while it is entered."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).expanduser().resolve()
        self._lock = FileLock(self.path / ".lock")

    def __enter__(self) -> Self:
        """Create the folder if it is missing. Raises UsageError if another process has it."""
        self.path.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise UsageError(
                f"Another evaluation works in {self.path}: wait for its end, or name another --out."
            ) from None
        return self

    def __exit__(self, *exception: object) -> None:
        self._lock.release()

    def check(self, fixed: Mapping[str, Any]) -> None:
        """Raise UsageError if `fixed` differs from earlier runs: figures could not be compared."""
        readings = self.path / READINGS
        if not (self.path / RUN).exists() and readings.exists() and readings.stat().st_size:
            raise UsageError(
                f"{self.path} has readings but no {RUN}, which says how they were made: put it "
                "back, or name another --out."
            )
        recorded = read_run(self.path)["fixed"]
        if recorded:  # a folder of before there was a choice
            recorded.setdefault("contexts", "documents")
        for name, value in fixed.items():
            if (before := recorded.get(name, value)) != value:
                first, now = (json.dumps(one, ensure_ascii=False) for one in (before, value))
                is_setting = name in Settings.model_fields.keys() - {"seed"}  # that of --seed
                way = f"set {variable(name)}={before}, or " if is_setting and before else ""
                raise UsageError(
                    f"{self.path} was begun with {name} {first}, not {now}: {way}name another "
                    "--out."
                )

    def record_run(self, fixed: Mapping[str, Any], details: Mapping[str, Any]) -> None:
        """Write `run.json`: `fixed` is added to, `details` are those of this command."""
        before = read_run(self.path)
        commands = [*before["commands"], details["command"]]
        run = {"fixed": before["fixed"] | fixed, **details, "commands": commands}
        with atomic_write(self.path / RUN) as file:
            text = json.dumps(run, ensure_ascii=False, indent=1)
            file.write(text.encode("utf-8", "replace") + b"\n")


def read_run(folder: Path) -> dict[str, Any]:
    """The content of `run.json`, empty without one. Raises UsageError for another file."""
    path = folder / RUN
    if not path.exists():
        return {"fixed": {}, "commands": []}
    try:
        run: dict[str, Any] = json.loads(path.read_bytes())
        is_run = isinstance(run["fixed"], dict) and isinstance(run["commands"], list)
    except (KeyError, TypeError, ValueError):
        is_run = False
    if not is_run:
        raise UsageError(f"{path} is none of an evaluation: name another --out.")
    return run


@dataclass(frozen=True, slots=True)
class ReadingKey:
    """What identifies a reading; of several lines with one key the last one counts."""

    dataset: str
    id: str
    length: str
    reader: str
    model: str
    repeat: int

    @classmethod
    def of(cls, line: Line) -> "ReadingKey":
        """The key of a line."""
        return cls(*(line[name] for name in cls.__slots__))


_FIGURES = ("em", "f1", "documents_read", "gold_documents", "tokens_read", "usage", "seconds")
REQUIRED = frozenset((*ReadingKey.__slots__, "digest", "error", *_FIGURES))
BUILDING_KEYS = frozenset(("name", "usage", "complete"))


class ReadingsFile(LinesFile):
    """The file `readings.jsonl`, which a later run continues; `on_line` receives every line."""

    def __init__(self, path: Path, on_line: Callable[[Line], None]) -> None:
        super().__init__(path, REQUIRED)
        self.unrated: dict[ReadingKey, Line] = {}
        self._on_line = on_line
        self._digests: dict[ReadingKey, str] = {}

    def is_done(self, key: ReadingKey, digest: str) -> bool:
        """Whether there is a reading of this key. Raises UsageError if it was of other data."""
        recorded = self._digests.get(key)
        if recorded not in (None, digest):
            raise UsageError(
                f"{self.path} has another question, text or right answer of the id {key.id} in "
                f"{key.dataset}: name another --out."
            )
        return recorded is not None

    def note(self, line: Line) -> None:
        """Register a line and pass it on."""
        key = ReadingKey.of(line)
        if line["error"] is None:
            self._digests[key] = line["digest"]
        self.unrated.pop(key, None)
        if line.get("unrated") is not None:
            self.unrated[key] = line
        self._on_line(line)


class BuildingFile(LinesFile):
    """The file `building.jsonl`: what was spent to build each graph, pages or gists, by its name.

    A line is written before any question is asked, also for a part whose building failed. What
    was complete once costs nothing more, though it is deleted and built again.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, BUILDING_KEYS)
        self._complete: set[str] = set()

    def note(self, line: Line) -> None:
        """Register what is complete."""
        if line["complete"]:
            self._complete.add(line["name"])

    def add(self, built: Mapping[str, Usage], *, complete: bool) -> None:
        """Write what was spent now."""
        for name, usage in built.items():
            if usage.calls and name not in self._complete:
                self.append({"name": name, "usage": asdict(usage), "complete": complete})


_SCORES, _AMOUNTS = ("em", "f1", "fcr"), ("tokens", "calls", "seconds")


@dataclass(slots=True)
class ProgressRow:
    """The figures of the `readings` of one reader with one model at one dataset and length."""

    dataset: str
    length: str
    reader: str
    model: str
    total: int = 0
    readings: dict[ReadingKey, Mapping[str, float | None]] = field(default_factory=dict)

    @property
    def done(self) -> int:
        """The number of readings done, failed ones included."""
        return len(self.readings)

    @property
    def failed(self) -> int:
        """The number of failed readings."""
        return sum(bool(one["failed"]) for one in list(self.readings.values()))

    def mean(self, name: str) -> float | None:
        """The mean of a figure; a failed reading counts as 0 for scores, and not for amounts."""
        # The display's thread asks while readings are added.
        readings = list(self.readings.values())
        figures = (one for one in readings if name in _SCORES or not one["failed"])
        values = [value for one in figures if (value := one[name]) is not None]
        return sum(values) / len(values) if values else None

    def as_dict(self) -> dict[str, Any]:
        """The row in plain JSON types, means rounded to four digits."""
        row: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("dataset", "length", "reader", "model", "total", "done", "failed")
        }
        for name in (*_SCORES, *_AMOUNTS):
            mean = self.mean(name)
            row[name] = None if mean is None else round(mean, 4)
        return row


class EvaluationProgress:
    """Counts the readings that are expected now, those of an earlier run among them."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str, str, str], ProgressRow] = {}
        self._row_of: dict[ReadingKey, ProgressRow] = {}

    def expect(self, keys: Iterable[ReadingKey]) -> None:
        """Expect these readings; lines of others are not counted."""
        for key in keys:
            place = (key.dataset, key.length, key.reader, key.model)
            row = self._rows.setdefault(place, ProgressRow(*place))
            row.total += 1
            self._row_of[key] = row

    def add(self, line: Line) -> None:
        """Count a line; of several with the same key the last one counts."""
        key = ReadingKey.of(line)
        if row := self._row_of.get(key):
            row.readings[key] = {
                "em": line["em"],
                "f1": line["f1"],
                "fcr": fcr(line["documents_read"], line["gold_documents"]),
                "tokens": line["tokens_read"],
                "calls": line["usage"]["calls"],
                "seconds": line["seconds"],
                "failed": line.get("error") is not None,
            }

    @property
    def rows(self) -> list[ProgressRow]:
        """All rows, in the order in which they are expected."""
        return list(self._rows.values())

    @property
    def total(self) -> int:
        """The number of readings expected."""
        return sum(row.total for row in self.rows)

    @property
    def done(self) -> int:
        """The number of readings done, failed ones included."""
        return sum(row.done for row in self.rows)

    @property
    def failed(self) -> int:
        """The number of failed readings."""
        return sum(row.failed for row in self.rows)


_SOURCE = "document "


def corpus_of(record: Record) -> str:
    """The corpus of the record's documents, shared with all records about the same texts."""
    digest = sha256()
    for part in (part for one in record.documents for part in (one.title, one.text)):
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return f"evaluation-{digest.hexdigest()[:16]}"


def record_digest(record: Record) -> str:
    """A digest of the record's question, options, documents, right answers and evidence."""
    answers = (record.answers, record.gold_option, record.supporting)
    text = f"{corpus_of(record)} {(record.question, record.options, *answers)!r}"
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def documents_of(record: Record) -> list[Document]:
    """The documents of a record that have any text; equal texts get ids of their own."""
    corpus = corpus_of(record)
    return [
        from_text(one.text, one.title or f"Document {place + 1}", corpus, f"{_SOURCE}{place}")
        for place, one in enumerate(record.documents)
        if not is_blank(one.text)
    ]


def document_places(documents: Sequence[Document]) -> Mapping[str, int]:
    """For each document id the document's index in its record, counted from 0."""
    return {one.id: int(one.source.removeprefix(_SOURCE)) for one in documents}


Contexts = Literal["documents", "text"]
"""What readers get of a record: its passages as documents, or joined to one text."""

Piece = tuple[str, int, int]
"""A slice of a document: the document's id, its first character, the one behind the last."""


class Context:
    """The `documents` that readers get of a record, and where its passages stand in them."""

    def __init__(self, record: Record, contexts: Contexts = "documents") -> None:
        passages = documents_of(record)
        places = document_places(passages)
        self.documents: Sequence[Document] = passages
        self._spans = {one.id: [(places[one.id], 0, len(one.text))] for one in passages}
        if contexts == "text" and len(passages) > 1:
            text, spans = "", []
            for number, one in enumerate(passages, 1):
                title = record.documents[places[one.id]].title
                text += _heading(number, title, record.language)
                spans.append((places[one.id], len(text), len(text) + len(one.text)))
                text += f"{one.text}\n\n"
            joined = from_text(text, record.dataset, corpus_of(record), "text")
            self.documents = [joined]
            self._spans[joined.id] = spans  # golden reads the passages all the same
        self._texts = {one.id: one.text for one in (*passages, *self.documents)}

    def passages(self, pieces: Iterable[Piece]) -> list[int]:
        """The record's indexes of the passages that these pieces of the documents show, in order.

        A piece shows a passage if it has half of it, or if half of the piece lies in it.
        """
        return list(
            dict.fromkeys(
                place
                for id_, start, end in pieces
                for place, first, last in self._spans[id_]
                if (common := min(end, last) - max(start, first)) > 0
                and 2 * common >= min(end - start, last - first)
            )
        )

    def texts(self, pieces: Iterable[Piece]) -> list[str]:
        """The texts of these pieces."""
        return [self._texts[id_][start:end] for id_, start, end in pieces]


def _heading(number: int, title: str, language: str) -> str:
    """The lines above a passage in a text of several, as LongBench has them."""
    mark = f"文章{number}" if language == "zh" else f"Passage {number}"
    is_mark = title.replace(" ", "") == mark.replace(" ", "")
    return f"{mark}:\n{title}\n" if title and not is_mark else f"{mark}:\n"
