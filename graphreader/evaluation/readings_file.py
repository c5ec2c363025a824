"""The readings of an evaluation: one JSON line each, as soon as it is there."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from graphreader.errors import UsageError
from graphreader.evaluation.lines_file import Line, LinesFile


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
