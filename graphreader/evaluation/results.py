"""The folder of an evaluation: what was asked and how, and what came of it.

`run.json` holds the arguments and settings, `readings.jsonl` a line for each reading,
`equal_reading.jsonl` what rankings would have read. One process at a time works on it.

The readings of an evaluation: one JSON line each, as soon as it is there.

The documents of a record as readers take them, and back to the record's own numbers.
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

from filelock import FileLock, Timeout

from graphreader.documents import Document
from graphreader.errors import UsageError
from graphreader.evaluation.datasets.record import Record
from graphreader.files import Line, LinesFile, atomic_write
from graphreader.ingestion.loading.content import from_text, is_blank

READINGS, EQUAL_READING, RUN = "readings.jsonl", "equal_reading.jsonl", "run.json"


class Folder:
    """A folder that is this process's own while it is entered."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).expanduser()
        self._lock = FileLock(self.path / ".lock")
        self._mark = uuid4().hex

    def __enter__(self) -> Self:
        """Make it where it is missing, and take it. Raises UsageError where that cannot be."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
        except Timeout:
            raise UsageError(
                f"Another evaluation works in {self.path}: wait for its end, or name another --out."
            ) from None
        except OSError as error:
            raise UsageError(
                f"{self.path} cannot be written to ({error.strerror}): name another --out."
            ) from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()

    @property
    def place(self) -> str:
        """A name that no other folder has, nor a copy of it, for what is kept elsewhere for it."""
        mark = (self._run() or {}).get("mark", self._mark)
        return f"{mark} {self.path.resolve()}"

    @property
    def readings(self) -> Path:
        """A line for each reading."""
        return self.path / READINGS

    @property
    def equal_reading(self) -> Path:
        """A line for each ranking compared with a reading."""
        return self.path / EQUAL_READING

    def check(self, fixed: Mapping[str, Any]) -> None:
        """See that `fixed` is what it was when the folder was begun.

        What is asked into one folder must be asked the same way, or its figures could not be
        compared. What was not told yet is as good as the same. Raises UsageError, which names what
        is not.
        """
        before = self._run()
        if before is None and self.readings.exists() and self.readings.stat().st_size:
            raise UsageError(
                f"{self.readings} is there without its {RUN}: name another --out, or put it back."
            )
        begun = before["fixed"] if before else fixed
        for name, value in fixed.items():
            if (was := begun.get(name, value)) != value:
                raise UsageError(
                    f"{self.path} was begun with {name} {_shown(was)}, not {_shown(value)}: name "
                    "another --out, or say the same again."
                )

    def tell(self, fixed: Mapping[str, Any], told: Mapping[str, Any]) -> None:
        """Write down what is asked, and how. `told` is that of this command, and has its words."""
        before = self._run() or {}
        commands = [*before.get("commands", []), told["command"]]
        fixed = {**before.get("fixed", {}), **fixed}
        mark = before.get("mark", self._mark)
        self._write({"fixed": fixed, **told, "commands": commands, "mark": mark})

    @property
    def leaves_graphs(self) -> bool:
        """Whether graphs may stand in Neo4j that were to be thrown away."""
        return bool((self._run() or {}).get("leaves_graphs"))

    def graphs_are_gone(self) -> None:
        """Write down that none of them does."""
        self._write({**(self._run() or {}), "leaves_graphs": False})

    def _write(self, run: Mapping[str, Any]) -> None:
        with atomic_write(self.path / RUN) as file:
            line = json.dumps(run, ensure_ascii=False, indent=1)
            file.write(line.encode("utf-8", "replace") + b"\n")

    def _run(self) -> dict[str, Any] | None:
        path = self.path / RUN
        if not path.exists():
            return None
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            found = None
        if not isinstance(found, dict) or not isinstance(found.get("fixed"), dict):
            raise UsageError(f"{path} is none of an evaluation: name another --out.")
        return found


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Key:
    """What a line is about; of several lines about the same the last one counts."""

    dataset: str
    id: str
    length: str
    reader: str
    model: str
    repeat: int

    @classmethod
    def of(cls, line: Line) -> "Key":
        """That of a line."""
        return cls(*(line[name] for name in cls.__slots__))


_FIGURES = ("em", "f1", "documents_read", "gold_documents", "tokens_read", "usage", "seconds")
_NEEDED = frozenset((*Key.__slots__, "digest", "error", *_FIGURES))


class ReadingsFile(LinesFile):
    """The file `readings.jsonl`, which a later run goes on with.

    A reading that failed has an `error`, and is asked again; one of which a rater failed has
    `unrated`, and is rated again. `take` is told every line, those that are there already when the
    file is entered.
    """

    def __init__(self, path: Path, take: Callable[[Line], None]) -> None:
        super().__init__(path, _NEEDED)
        self._take = take
        self._digests: dict[Key, str] = {}
        self._unrated: dict[Key, Line] = {}

    def is_done(self, key: Key, digest: str) -> bool:
        """Whether this is read; `digest` tells what the data ask, and of what.

        Raises UsageError where the id was that of another question, text or right answer.
        """
        done = self._digests.get(key)
        if done not in (None, digest):
            raise UsageError(
                f"{self.path} has another question, text or right answer of the id {key.id} "
                f"in {key.dataset}: name another --out for other data."
            )
        return done is not None

    def unrated(self, key: Key) -> Line | None:
        """The line of a reading that raters have not judged as they should."""
        return self._unrated.get(key)

    def note(self, line: Line) -> None:
        """Remember what it is about, and tell it."""
        key = Key.of(line)
        if line["error"] is None:
            self._digests[key] = line["digest"]
        self._unrated.pop(key, None)
        if line.get("unrated") is not None:
            self._unrated[key] = line
        self._take(line)


PREFIX = "evaluation-"
"""How the names of an evaluation's corpora begin."""

_SOURCE = "document "


def corpus_of(record: Record) -> str:
    """The name of a corpus of the record's documents, made of what they hold.

    Records about the same documents share it, and with it the graph, the gists and the indexes.
    """
    digest = sha256()
    texts = [part for one in record.documents for part in (one.title, one.text)]
    for part in texts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return f"{PREFIX}{digest.hexdigest()[:16]}"


def digest_of(record: Record) -> str:
    """What a record asks, of what, and which answers are right: another digest, other data."""
    asked = (record.question, record.options, record.answers, record.gold_option, record.supporting)
    told = f"{corpus_of(record)} {asked!r}"
    return sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def documents_of(record: Record, corpus: str) -> list[Document]:
    """The documents, each with an id of its own, also where two have the same text.

    One without any text is left out: there is nothing in it to be read.
    """
    return [
        from_text(one.text, one.title or f"Document {place + 1}", corpus, f"{_SOURCE}{place}")
        for place, one in enumerate(record.documents)
        if not is_blank(one.text)
    ]


def places_of(documents: Sequence[Document]) -> Mapping[str, int]:
    """Which of the record's documents, counted from 0, each id means."""
    return {one.id: int(one.source.removeprefix(_SOURCE)) for one in documents}


def placed(ids: Iterable[str], places: Mapping[str, int]) -> list[int]:
    """The places of these documents, each once, in the order of the ids."""
    return list(dict.fromkeys(places[one] for one in ids))
