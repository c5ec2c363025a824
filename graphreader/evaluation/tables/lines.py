"""The lines that an evaluation wrote, as the tables need them.

Only the keys that every line has are asked for; what else is missing makes a dash in a table.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from graphreader.errors import UsageError
from graphreader.evaluation.folder import EQUAL_READING, READINGS, RUN
from graphreader.evaluation.stages import OF_ONE_STAGE, Stage
from graphreader.usage import Usage

NATIVE = "native"


def _length(value: object) -> object:
    """`native`, `64k`: as it is written on the command line."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{round(value / 1000)}k" if value >= 1000 else str(value)
    return value or NATIVE


def _function(value: object) -> object:
    """A bare name tells its stage where it is a function of one stage only."""
    return {"name": value, "stage": OF_ONE_STAGE.get(value)} if isinstance(value, str) else value


Text = Annotated[str, BeforeValidator(lambda value: str(value) if value is not None else "")]
Length = Annotated[str, BeforeValidator(_length)]


class _Known(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Function(_Known):
    """A chosen exploration function, and the stage at which it was chosen."""

    name: str
    stage: Stage | None = None


class PathTold(_Known):
    """One path of a GraphReader."""

    calls: int = 0
    functions: tuple[Annotated[Function, BeforeValidator(_function)], ...] = ()


class Recall(_Known):
    """Supporting facts in a text: (covered, all) by their words, (covered, relevant) by a rater."""

    strings: tuple[int, int] | None = None
    rated: tuple[int, int] | None = None


class Line(_Known):
    """One reading, measured. Scores and shares are 0 to 1."""

    id: Text
    dataset: str
    reader: str
    length: Length
    answered: bool
    em: float | None
    f1: float | None
    documents_read: tuple[int, ...]
    documents_cited: tuple[int, ...]
    tokens_read: int
    usage: Usage
    seconds: float
    model: Text = ""
    repeat: int = 0
    window: int = 0
    subset: Text = ""
    f1_star: float | None = None
    rouge: Mapping[str, float] | None = None
    choice: bool | None = None
    rating: Literal["exact", "partial", "no"] | None = None
    recall: Recall | None = None
    facts_recall: Recall | None = None
    chunk_recall: float | None = None
    gold_documents: tuple[int, ...] = ()
    record_tokens: int = 0
    documents: int = 0
    phases: Mapping[str, Usage] = Field(default_factory=dict)
    building: Usage | None = None
    paths: tuple[PathTold, ...] | None = None
    graph: Mapping[str, Any] | None = None
    compression: Mapping[str, Any] | None = None
    pages_looked_up: int | None = None
    error: str | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """What was asked of whom: a later line of the same takes the earlier one's place."""
        return (self.dataset, self.id, self.length, self.reader, self.model, self.repeat)


class EqualReading(_Known):
    """What a retrieval finds that may read as many tokens as a reader did for the question."""

    id: Text
    dataset: str
    length: Length
    reader: str
    against: str
    documents_read: tuple[int, ...]
    tokens_read: int
    k: int = 0
    model: Text = ""
    repeat: int = 0

    @property
    def key(self) -> tuple[object, ...]:
        """What was ranked for whom; a later line of the same takes the earlier one's place."""
        asked = (self.dataset, self.id, self.length, self.reader)
        return (*asked, self.against, self.model, self.repeat)


@dataclass(frozen=True, slots=True)
class Results:
    """All that one evaluation left in its folder; `notes` say what a report must tell of it."""

    lines: tuple[Line, ...]
    equal: tuple[EqualReading, ...]
    run: Mapping[str, Any]
    notes: tuple[str, ...] = ()


def read_results(folder: Path) -> Results:
    """The results in a folder. Raises UsageError, which says what is wrong with which file."""
    if not (folder / READINGS).is_file():
        raise UsageError(
            f"There is no {READINGS} in {folder}: name a folder that `graphreader evaluate --out` "
            "made."
        )
    lines = {line.key: line for line in _lines(folder / READINGS, Line)}
    if not lines:
        raise UsageError(f"{folder / READINGS} is empty: nothing has been evaluated yet.")
    equal = {one.key: one for one in _lines(folder / EQUAL_READING, EqualReading)}
    run = _run(folder / RUN)
    notes = tuple(str(note) for note in run.get("notes") or ())
    return Results(tuple(lines.values()), tuple(equal.values()), run, notes)


_Told = TypeVar("_Told", bound=BaseModel)


def _lines(path: Path, kind: type[_Told]) -> Iterator[_Told]:
    """The lines of a file; none where there is no file. A last line that was cut off is left."""
    if not path.is_file():
        return
    read = _bytes(path)
    for number, line in enumerate(read.splitlines(keepends=True), 1):
        if not line.strip():
            continue
        try:
            yield kind.model_validate_json(line.decode("utf-8"))
        except (ValidationError, UnicodeDecodeError) as error:
            if not line.endswith(b"\n"):
                return
            raise UsageError(
                f"{path}, line {number}: {_wrong(error)}; take the line out, or evaluate again."
            ) from None


def _wrong(error: ValidationError | UnicodeDecodeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    first = error.errors(include_url=False, include_input=False)[0]
    if first["type"] == "json_invalid":
        return "it is not JSON"
    where = ".".join(map(str, first["loc"]))
    if not where:
        return "it is no JSON object"
    return f"{where} is missing" if first["type"] == "missing" else f"{where} makes no sense"


def _run(path: Path) -> Mapping[str, Any]:
    """What was run; nothing where there is no such file, which tells no figures."""
    if not path.is_file():
        return {}
    try:
        told = json.loads(_bytes(path))
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        raise UsageError(f"{path} is no JSON object: take it away, or evaluate again.")
    return told


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}).") from error
