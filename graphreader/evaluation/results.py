"""The results folder of an evaluation, its readings and their progress, and the ids of documents.

`run.json` has settings and commands, `readings.jsonl` a line for each reading, written at once,
`building.jsonl` the cost of graphs, pages and gists, and `equal_reading.jsonl` the passages that
rankings read with an equal token budget.
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
    """A results folder; entering it locks it for this process."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).expanduser().resolve()
        self._lock = FileLock(self.path / ".lock")

    def __enter__(self) -> Self:
        """Create the folder if it is missing. Raises UsageError if another process locks it."""
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
        if recorded:  # older folders have no such choice
            recorded.setdefault("contexts", "documents")
        for name, value in fixed.items():
            if (before := recorded.get(name, value)) != value:
                first, now = (json.dumps(one, ensure_ascii=False) for one in (before, value))
                is_setting = name in Settings.model_fields.keys() - {"seed"}  # set by --seed
                way = f"set {variable(name)}={before}, or " if is_setting and before else ""
                raise UsageError(
                    f"{self.path} was begun with {name} {first}, not {now}: {way}name another "
                    "--out."
                )

    def record_run(self, fixed: Mapping[str, Any], details: Mapping[str, Any]) -> None:
        """Write `run.json`: add to its `fixed` values, and replace the `details` of the command."""
        before = read_run(self.path)
        commands = [*before["commands"], details["command"]]
        run = {"fixed": before["fixed"] | fixed, **details, "commands": commands}
        with atomic_write(self.path / RUN) as file:
            text = json.dumps(run, ensure_ascii=False, indent=1)
            file.write(text.encode("utf-8", "replace") + b"\n")


def read_run(folder: Path) -> dict[str, Any]:
    """Read `run.json`; without the file its content is empty. Raises UsageError."""
    path = folder / RUN
    if not path.exists():
        return {"fixed": {}, "commands": []}
    try:
        run: dict[str, Any] = json.loads(path.read_bytes())
        is_run = isinstance(run["fixed"], dict) and isinstance(run["commands"], list)
    except (KeyError, TypeError, ValueError):
        is_run = False
    if not is_run:
        raise UsageError(f"{path} is not the file of an evaluation: name another --out.")
    return run


@dataclass(frozen=True, slots=True)
class ReadingKey:
    """The key of a reading; of several lines with one key the last line counts."""

    dataset: str
    id: str
    length: str
    reader: str
    model: str
    repeat: int

    @classmethod
    def of(cls, line: Line) -> "ReadingKey":
        """Take the key from a line."""
        return cls(*(line[name] for name in cls.__slots__))


_FIGURES = ("em", "f1", "documents_read", "gold_documents", "tokens_read", "usage", "seconds")
REQUIRED = frozenset((*ReadingKey.__slots__, "digest", "error", *_FIGURES))
BUILDING_KEYS = frozenset(("name", "usage", "complete"))


class ReadingsFile(LinesFile):
    """The file `readings.jsonl`, which a later command continues; each line goes to `on_line`."""

    def __init__(self, path: Path, on_line: Callable[[Line], None]) -> None:
        super().__init__(path, REQUIRED)
        self.unrated: dict[ReadingKey, Line] = {}
        self._on_line = on_line
        self._digests: dict[ReadingKey, str] = {}

    def is_done(self, key: ReadingKey, digest: str) -> bool:
        """Whether the file has a reading with this key. Raises UsageError if its data differed."""
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
    """The file `building.jsonl`: the cost of building each graph, pages or gists, by their names.

    A line is written before any question is asked, also for a part whose building failed. A part
    that was complete once costs nothing more, even if it is deleted and built again.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, BUILDING_KEYS)
        self._complete: set[str] = set()

    def note(self, line: Line) -> None:
        """Register the name of a complete part."""
        if line["complete"]:
            self._complete.add(line["name"])

    def add(self, built: Mapping[str, Usage], *, complete: bool) -> None:
        """Write the cost of the parts that were built now."""
        for name, usage in built.items():
            if usage.calls and name not in self._complete:
                self.append({"name": name, "usage": asdict(usage), "complete": complete})


_SCORES, _AMOUNTS = ("em", "f1", "fcr"), ("tokens", "calls", "seconds")


@dataclass(slots=True)
class ProgressRow:
    """The progress of one reader with one model at one dataset and length."""

    dataset: str
    length: str
    reader: str
    model: str
    total: int = 0
    readings: dict[ReadingKey, Mapping[str, float | None]] = field(default_factory=dict)

    @property
    def done(self) -> int:
        """The number of finished readings, failed readings included."""
        return len(self.readings)

    @property
    def failed(self) -> int:
        """The number of failed readings."""
        return sum(bool(one["failed"]) for one in list(self.readings.values()))

    def mean(self, name: str) -> float | None:
        """The mean of a figure; a failed reading has the score 0, and does not count in amounts."""
        # The display's thread calls this while readings are added.
        readings = list(self.readings.values())
        figures = (one for one in readings if name in _SCORES or not one["failed"])
        values = [value for one in figures if (value := one[name]) is not None]
        return sum(values) / len(values) if values else None

    def as_dict(self) -> dict[str, Any]:
        """Convert the row to plain JSON types, with means rounded to four digits."""
        row: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("dataset", "length", "reader", "model", "total", "done", "failed")
        }
        for name in (*_SCORES, *_AMOUNTS):
            mean = self.mean(name)
            row[name] = None if mean is None else round(mean, 4)
        return row


class EvaluationProgress:
    """The progress of the expected readings, with readings of earlier commands."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str, str, str], ProgressRow] = {}
        self._row_of: dict[ReadingKey, ProgressRow] = {}

    def expect(self, keys: Iterable[ReadingKey]) -> None:
        """Add expected readings; lines of other readings are not counted."""
        for key in keys:
            place = (key.dataset, key.length, key.reader, key.model)
            row = self._rows.setdefault(place, ProgressRow(*place))
            row.total += 1
            self._row_of[key] = row

    def add(self, line: Line) -> None:
        """Count a line; of several lines with one key the last line counts."""
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
        """All rows, in the order in which their readings are expected."""
        return list(self._rows.values())

    @property
    def total(self) -> int:
        """The number of expected readings."""
        return sum(row.total for row in self.rows)

    @property
    def done(self) -> int:
        """The number of finished readings, failed readings included."""
        return sum(row.done for row in self.rows)

    @property
    def failed(self) -> int:
        """The number of failed readings."""
        return sum(row.failed for row in self.rows)


_SOURCE = "document "


def corpus_of(record: Record) -> str:
    """Name the corpus of a record's documents; records about the same texts share it."""
    digest = sha256()
    for part in (part for one in record.documents for part in (one.title, one.text)):
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return f"evaluation-{digest.hexdigest()[:16]}"


def record_digest(record: Record) -> str:
    """Hash the question, options, documents, right answers and evidence of a record."""
    answers: tuple[Any, ...] = (record.answers, record.gold_option, record.supporting)
    special = (record.items, record.ordered, record.count, record.answerable)
    # Digests in folders from before lists, counts and refusals stay as they are.
    answers += special if special != ((), False, None, True) else ()
    text = f"{corpus_of(record)} {(record.question, record.options, *answers)!r}"
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def documents_of(record: Record) -> list[Document]:
    """Make the documents of a record that have text; equal texts get different ids."""
    corpus = corpus_of(record)
    return [
        from_text(one.text, one.title or f"Document {place + 1}", corpus, f"{_SOURCE}{place}")
        for place, one in enumerate(record.documents)
        if not is_blank(one.text)
    ]


def document_places(documents: Sequence[Document]) -> Mapping[str, int]:
    """Map each document id to the document's index in its record, counted from 0."""
    return {one.id: int(one.source.removeprefix(_SOURCE)) for one in documents}


ContextForm = Literal["documents", "text"]
"""The form in which readers get a record: its passages as documents, or joined to one text."""

Piece = tuple[str, int, int]
"""A slice of a document: (id of the document, start, end) in characters."""


class QuestionContext:
    """The `documents` that readers get of a record, and the places of its passages in them."""

    def __init__(self, record: Record, contexts: ContextForm = "documents") -> None:
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
            self._spans[joined.id] = spans  # the reader golden still gets the passages
        self._texts = {one.id: one.text for one in (*passages, *self.documents)}

    def passages(self, pieces: Iterable[Piece]) -> list[int]:
        """List the indexes of the record's passages that slices of documents show, in order.

        A slice shows a passage if it has half of it, or if half of the slice lies in it.
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
        """The texts of slices of documents."""
        return [self._texts[id_][start:end] for id_, start, end in pieces]


def _heading(number: int, title: str, language: str) -> str:
    """Format the lines above a passage in a joined text, as LongBench has them."""
    mark = f"文章{number}" if language == "zh" else f"Passage {number}"
    is_mark = title.replace(" ", "") == mark.replace(" ", "")
    return f"{mark}:\n{title}\n" if title and not is_mark else f"{mark}:\n"
