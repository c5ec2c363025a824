"""The file of answers: one a line as soon as it is there, so that nothing paid for is lost.

`{"id", "question", ...}` with all that a reading has, or with the `error` that was met instead.
"""

import json
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from filelock import FileLock, Timeout

from graphreader.cli.questions import Asked
from graphreader.errors import UsageError
from graphreader.files import atomic_write

_BEGINNING = b'{"id": '


class AnswerFile:
    """Answers in a file that no other process writes meanwhile; a later run goes on with it."""

    def __init__(self, path: str, corpus: str) -> None:
        # A link stays one, also when the file is written anew.
        self.path = Path(os.path.realpath(os.path.expanduser(path)))
        self._corpus = corpus
        self._lock = FileLock(self.path.with_name(f".{self.path.name}.lock"))
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        """Take the file for this process alone. Raises UsageError where another one has it."""
        if self.path.exists() and not self.path.is_file():
            raise UsageError(f"{self.path} is not a file: name another --out.")
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise UsageError(
                f"Another process writes its answers into {self.path}: wait for its end, or name "
                "another --out."
            ) from None
        except OSError as error:
            raise UsageError(
                f"{self.path} cannot be written ({error.strerror}): name another --out."
            ) from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file:
            self._file.close()
        self._lock.release()

    def take_up(self, questions: list[Asked]) -> list[Asked]:
        """Which questions are still to be answered.

        Errors, and a last line that was cut off, are taken out of the file first. Raises UsageError
        for a file that holds other things than answers to these questions: it is not touched then.
        """
        wanted = {str(asked.id): asked for asked in questions}
        if not self.is_new:
            for id_ in self._put_in_order(wanted):
                wanted.pop(id_, None)
        return list(wanted.values())

    @property
    def is_new(self) -> bool:
        """Whether the file is not there yet."""
        return not self.path.exists()

    def begin(self) -> None:
        """Open the file for answers, also where none ever comes."""
        self._file = self.path.open("ab")

    def append(self, line: Mapping[str, Any]) -> None:
        """Write one answer; it is safe from the end of this process when this returns."""
        assert self._file is not None
        self._file.write(json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        self._file.flush()

    def _put_in_order(self, wanted: Mapping[str, Asked]) -> set[str]:
        """Take out what is no answer; return the ids of what is answered."""
        answered: dict[str, int] = {}
        whole = True
        for number, line in self._lines():
            id_ = self._answer(line, number, wanted)
            if id_ is None or id_ in answered or not line.endswith(b"\n"):
                whole = False
            if id_ is not None:
                answered.setdefault(id_, number)
        if not whole:
            self._rewrite(set(answered.values()))
        return set(answered)

    def _answer(self, line: bytes, number: int, wanted: Mapping[str, Asked]) -> str | None:
        """The id of what a line answers, None for what is to be taken out."""
        value = _parsed(line)
        if value is None:
            if _is_torn(line):
                return None
            raise UsageError(
                f"{self.path}, line {number}: this is no answer of ours; name another --out."
            )
        id_ = str(value["id"])
        asked = wanted.get(id_)
        if asked and asked.question != value["question"]:
            raise UsageError(
                f"{self.path}, line {number}: the question {id_} was another one then; name "
                "another --out, or give the questions ids of their own."
            )
        if "error" in value:
            return None
        if value.get("corpus") != self._corpus:
            raise UsageError(
                f"{self.path}, line {number}: this is an answer from the corpus "
                f"{value.get('corpus')!r}; name another --out."
            )
        return id_

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        with self.path.open("rb") as file:
            yield from enumerate(file, 1)

    def _rewrite(self, numbers: Collection[int]) -> None:
        """Keep the lines of these numbers, at one stroke."""
        with atomic_write(self.path) as file:
            for number, line in self._lines():
                if number in numbers:
                    file.write(line.rstrip(b"\r\n") + b"\n")


def _parsed(line: bytes) -> dict[str, Any] | None:
    """The object of a line, None where it is none of ours."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not {"id", "question"} <= value.keys():
        return None
    return value if value.keys() & {"answer", "error"} else None


def _is_torn(line: bytes) -> bool:
    """Whether it is the beginning of a line of ours, and no more."""
    return not line.endswith(b"\n") and line[: len(_BEGINNING)] == _BEGINNING[: len(line)]
