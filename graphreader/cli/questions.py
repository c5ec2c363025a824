"""The questions of a file: one a line, `{"question": "...", "id": "..."}` or a plain string."""

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import BinaryIO

from graphreader.cli.texts import STDIN
from graphreader.errors import UsageError

_BOM = b"\xef\xbb\xbf"
_SHAPE = 'write {"question": "..."}, with an "id" of your own if you like, or just "..."'


@dataclass(frozen=True, slots=True)
class Asked:
    """One question of a file; its `id` is the number of its line where the line gives none."""

    id: str | int
    question: str

    def run(self, *scope: str) -> str:
        """The id of the run that answers it: the same for the same question in the same scope."""
        told = json.dumps([*scope, self.id, self.question])
        return sha256(told.encode()).hexdigest()[:12]


def read_questions(path: str) -> list[Asked]:
    """All questions of a file, `-` for standard input, in their order.

    Raises UsageError, which names the line, for the first one that is not a question.
    """
    name = "standard input" if path == STDIN else path
    found: list[Asked] = []
    lines: dict[str, int] = {}
    with _opened(path) as file:
        for number, line in _lines(file):
            try:
                asked = _asked(line, number)
            except ValueError as error:
                raise UsageError(f"{name}, line {number}: {error}.") from None
            before = lines.setdefault(str(asked.id), number)
            if before != number:
                raise UsageError(
                    f"{name}, line {number}: the id {asked.id!r} is that of line {before}, too; "
                    "give each question its own."
                )
            found.append(asked)
    if not found:
        raise UsageError(f"There is no question in {name}: {_SHAPE}, one a line.")
    return found


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    if path != STDIN:
        try:
            file = open(os.path.expanduser(path), "rb")  # noqa: SIM115  # closed below
        except OSError as error:
            raise UsageError(
                f"{path} cannot be opened ({error.strerror}): name a file of questions."
            ) from error
        with file:
            yield file
    elif sys.stdin.isatty():
        raise UsageError("Nothing is piped into standard input: name a file.")
    else:
        yield sys.stdin.buffer


def _lines(file: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """The lines that are not empty, with their numbers."""
    for number, line in enumerate(file, 1):
        if kept := line.removeprefix(_BOM if number == 1 else b"").strip():
            yield number, kept


def _asked(line: bytes, number: int) -> Asked:
    """The question of a line. Raises ValueError with what is wrong."""
    try:
        value = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8; save the file in that encoding") from None
    except (ValueError, RecursionError):
        raise ValueError(f"it is not JSON; {_SHAPE}") from None
    if isinstance(value, str):
        value = {"question": value}
    if not isinstance(value, dict) or "question" not in value:
        raise ValueError(f"it has no question; {_SHAPE}")
    question, id_ = value["question"], value.get("id", number)
    if not isinstance(question, str) or not question.strip():
        raise ValueError("its question is empty or no text; ask something")
    if isinstance(id_, bool) or not isinstance(id_, str | int) or id_ == "":
        raise ValueError("its id is neither a text nor a whole number; leave it out, or give one")
    return Asked(_clean(id_) if isinstance(id_, str) else id_, _clean(question.strip()))


def _clean(text: str) -> str:
    """Without lone surrogates, which JSON can hold and no file takes."""
    return text.encode("utf-8", "replace").decode()
