"""The readings of an evaluation: one JSON line each, as soon as it is there."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

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


class ReadingsFile:
    """The file `readings.jsonl`, which a later run goes on with.

    A reading that failed has an `error`, and is asked again. `take` is told every line, those that
    are there already when the file is entered.
    """

    def __init__(self, path: Path, take: Callable[[Line], None]) -> None:
        self._lines = LinesFile(path, _NEEDED, self._note)
        self._take = take
        self._digests: dict[Key, str] = {}

    def __enter__(self) -> Self:
        self._lines.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lines.__exit__(kind, error, trace)

    def is_done(self, key: Key, digest: str) -> bool:
        """Whether this is read; `digest` tells what the data ask, and of what.

        Raises UsageError where the id was that of another question, text or right answer.
        """
        done = self._digests.get(key)
        if done not in (None, digest):
            raise UsageError(
                f"{self._lines.path} has another question, text or right answer of the id {key.id} "
                f"in {key.dataset}: name another --out for other data."
            )
        return done is not None

    def append(self, line: Mapping[str, Any]) -> None:
        """Keep one more; it is on the disk when this returns."""
        self._lines.append(line)
        self._note(line)

    def _note(self, line: Line) -> None:
        key = Key.of(line)
        if line["error"] is None:
            self._digests[key] = line["digest"]
        self._take(line)
