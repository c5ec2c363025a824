"""Tables for programs: CSV, one file each, and plain JSON types. Shares stay 0 to 1 there.

Tables as Markdown. Names of readers and datasets are data: they never become markup.

The lines that an evaluation wrote, as the tables need them.

Only the keys that every line has are asked for; what else is missing makes a dash in a table.

What is measured of one reading, and the mean of it over many.

Lines in groups, and groups and readers in the order in which the papers' tables have them.

What a table is, before it is Markdown, CSV, JSON or a picture: sections of rows of cells.

How a cell is written for people: 45.0 (38.2–52.1; n 38), 4,096, 9.4k; a dash for nothing.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from graphreader.errors import UsageError
from graphreader.evaluation.metrics import evidence
from graphreader.evaluation.metrics.evidence import Interval, mean_interval
from graphreader.evaluation.results import EQUAL_READING, READINGS, RUN
from graphreader.evaluation.scoring import OF_ONE_STAGE, Stage
from graphreader.usage import Usage

Style = Literal["text", "percent", "count", "decimal", "tokens", "seconds", "dollars"]
"""How numbers are written. Shares are 0 to 1 in a cell, also the paper's, and percent on paper."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column. `ranked`: more is better, and the best of a section stands out.

    `missing` says why there may be nothing in it; such a column is shown, and the reason told,
    where others are left out. A `varied` one is shown to people only where our rows differ in it.
    """

    name: str
    style: Style = "text"
    ranked: bool = False
    missing: str = ""
    varied: bool = False


MODEL = Column("Model", varied=True)


@dataclass(frozen=True, slots=True)
class Cell:
    """A value, perhaps with its 95 % interval. None is written as a dash.

    `n` is of how many questions it is the mean, where not of all of its row.
    """

    value: float | str | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None

    @classmethod
    def of(cls, found: Interval | None, n: int | None = None) -> "Cell":
        """The mean and its interval; `n` is how many questions there are, if that is to be told."""
        if found is None:
            return cls()
        told = found.number if n not in (None, found.number) else None
        return cls(found.mean, found.low, found.high, told)


@dataclass(frozen=True, slots=True)
class Row:
    """As many cells as the table has columns. `paper` rows are printed in a paper, not measured.

    Rows that are not `ranked` (golden) take no part in what is best.
    """

    cells: tuple[Cell, ...]
    paper: bool = False
    ranked: bool = True

    @classmethod
    def of(
        cls,
        *values: "Cell | Interval | float | str | None",
        paper: bool = False,
        ranked: bool = True,
        n: int | None = None,
    ) -> "Row":
        """A row of values, cells and intervals as they come; `n` is how many questions it is of."""
        return cls(tuple(_cell(value, n) for value in values), paper, ranked and not paper)


@dataclass(frozen=True, slots=True)
class Section:
    """Rows that are compared with each other: those of one dataset and length, for example."""

    title: str
    rows: tuple[Row, ...]


def has_printed(sections: Iterable[Section]) -> bool:
    """Whether a row of them is what a paper prints."""
    return any(row.paper for section in sections for row in section.rows)


@dataclass(frozen=True, slots=True)
class Table:
    """A table. `name` is that of its file; `notes` say what a reader of it must know.

    `warning` is what must be known before anything else.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    sections: tuple[Section, ...]
    notes: tuple[str, ...] = field(default=())
    warning: str = ""

    @property
    def is_beside_a_paper(self) -> bool:
        """Whether a paper's figures stand in it."""
        return has_printed(self.sections)

    def place(self, column: str) -> int:
        """Where a column stands."""
        return [one.name for one in self.columns].index(column)


def shown(table: Table, section: Section) -> list[int]:
    """The columns in which the section has anything, or that say why they have nothing."""
    return [
        place
        for place, column in enumerate(table.columns)
        if column.missing
        or (
            any(row.cells[place].value is not None for row in section.rows)
            and (not column.varied or varies(table, place))
        )
    ]


def varies(table: Table, place: int) -> bool:
    """Whether our rows have several values in a column."""
    return len({row.cells[place].value for row in _ours(table)}) > 1


def footnotes(table: Table) -> list[str]:
    """Its notes; why there are dashes, for the columns in which we have nothing at all; what n is.

    No note stands there twice.
    """
    ours = _ours(table)
    lacking = [
        column.missing
        for place, column in enumerate(table.columns)
        if column.missing and all(row.cells[place].value is None for row in ours)
    ]
    of_some = any(cell.n is not None for row in ours for cell in row.cells)
    told = ["n in brackets: over so many questions, not over all of the row."] if of_some else []
    return list(dict.fromkeys((*table.notes, *lacking, *told)))


def best(section: Section, place: int) -> tuple[float | None, float | None]:
    """The greatest and the second greatest value of the ranked rows, as they are printed.

    None where there are fewer than two rows to compare, or where all are alike.
    """
    values = _numbers(row.cells[place].value for row in section.rows if row.ranked)
    distinct = sorted({round(value, 3) for value in values}, reverse=True)
    if len(values) < 2 or len(distinct) < 2:
        return None, None
    return distinct[0], distinct[1]


def _numbers(values: Iterable[float | str | None]) -> Sequence[float]:
    return [value for value in values if isinstance(value, int | float)]


def _ours(table: Table) -> list[Row]:
    return [row for section in table.sections for row in section.rows if not row.paper]


def _cell(value: Cell | Interval | float | str | None, n: int | None) -> Cell:
    if isinstance(value, Cell):
        return value
    return Cell.of(value, n) if isinstance(value, Interval) else Cell(value)


_BESIDE = ("low", "high", "n")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_csv(table: Table) -> str:
    """One line a row, with its section and source.

    An interval has two columns of its own, and the n of a column's means one, where they have any.
    """
    kept = [place for place in range(len(table.columns)) if _is_told(table, place)]
    parts = {place: _parts(table, place) for place in kept}
    heads = ["section", "source"]
    for place in kept:
        name = table.columns[place].name
        heads += [name, *(f"{name} {part}" for part in parts[place])]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(map(_harmless, heads))
    for section in table.sections:
        for row in section.rows:
            values: list[Any] = [section.title, _source(row)]
            for place in kept:
                cell = row.cells[place]
                values += [
                    _exact(cell.value),
                    *(_exact(getattr(cell, one)) for one in parts[place]),
                ]
            writer.writerow(map(_harmless, values))
    return file.getvalue()


def as_json(table: Table) -> Mapping[str, Any]:
    """Plain JSON types; a cell is its value, or value, low and high, and n."""
    names = [column.name for column in table.columns]
    return {
        "name": table.name,
        "title": table.title,
        "warning": table.warning,
        "sections": [
            {
                "title": section.title,
                "rows": [
                    {
                        "source": _source(row),
                        "cells": dict(zip(names, map(_told, row.cells), strict=True)),
                    }
                    for row in section.rows
                ],
            }
            for section in table.sections
        ],
        "notes": footnotes(table),
    }


def _rows(table: Table) -> Iterable[Row]:
    return (row for section in table.sections for row in section.rows)


def _is_told(table: Table, place: int) -> bool:
    column = table.columns[place]
    return bool(column.missing) or any(row.cells[place].value is not None for row in _rows(table))


def _source(row: Row) -> str:
    return "paper" if row.paper else "ours"


def _parts(table: Table, place: int) -> list[str]:
    """What a column's cells have beside their values."""
    cells = [row.cells[place] for row in _rows(table)]
    return [part for part in _BESIDE if any(getattr(cell, part) is not None for cell in cells)]


def _told(cell: Cell) -> Any:
    beside = {part: _exact(getattr(cell, part)) for part in _BESIDE}
    known = {part: value for part, value in beside.items() if value is not None}
    return {"value": _exact(cell.value), **known} if known else _exact(cell.value)


def _exact(value: float | str | None) -> float | str | None:
    """Six digits behind the point are more than anything here is known by."""
    return round(value, 6) if isinstance(value, float) else value


def _harmless(value: Any) -> Any:
    """A text that a spreadsheet would calculate is told to be one; lines stay lines."""
    if not isinstance(value, str):
        return value
    text = " ".join(value.split())
    return f"'{text}" if text.startswith(_FORMULA) else text


DASH = "–"


def written(cell: Cell, style: Style) -> str:
    """The value, with its interval where it has one, and its n."""
    beside = []
    if cell.low is not None and cell.high is not None:
        between = "–" if cell.low >= 0 else " to "
        beside.append(f"{figure(cell.low, style)}{between}{figure(cell.high, style)}")
    if cell.n is not None:
        beside.append(f"n {cell.n:,}")
    value = figure(cell.value, style)
    return f"{value} ({'; '.join(beside)})" if beside else value


def briefly(cell: Cell, style: Style) -> str:
    """The same without the interval."""
    return written(replace(cell, low=None), style)


def figure(value: float | str | None, style: Style) -> str:
    """The value alone."""
    if value is None:
        return DASH
    if isinstance(value, str):
        return value
    return _FIGURES[style](value)


def _decimal(value: float) -> str:
    return f"{value:,.2f}" if abs(value) < 10 else f"{value:,.1f}"


def _tokens(value: float) -> str:
    return f"{value / 1000:,.1f}k" if abs(value) >= 1000 else f"{value:,.0f}"


_FIGURES: Mapping[Style, Callable[[float], str]] = {
    "text": str,
    "percent": lambda value: _no_minus(100 * value),
    "count": lambda value: f"{value:,.0f}",
    "decimal": _decimal,
    "tokens": _tokens,
    "seconds": lambda value: f"{value:,.2f}",
    "dollars": lambda value: f"{value:,.4f}",
}


def _no_minus(value: float) -> str:
    """One digit behind the point, and no minus before a zero."""
    return f"{round(value, 1) + 0.0:.1f}"


_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~!&@]|(?<=:)/(?=/)|(?<=www)\.)")
"""Also what GitHub makes a link or a mention of."""


def plain(text: str) -> str:
    """The text in one line, with nothing that Markdown or HTML would take for its own."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


def page(title: str, lead: Sequence[str], tables: Sequence[Table], plots: Sequence[str]) -> str:
    """The whole report. `plots` are files of pictures beside it, each named as its table."""
    parts = [f"# {plain(title)}", *lead]
    for table in tables:
        parts += _table(table)
        parts += [f"![{plain(table.title)}]({one})" for one in plots if _is_of(one, table)]
    return "\n\n".join(parts) + "\n"


def _is_of(plot: str, table: Table) -> bool:
    return plot.rpartition("/")[2].partition(".")[0] == table.name


def _table(table: Table) -> Iterable[str]:
    yield f"## {plain(table.title)}"
    if table.warning:
        yield plain(table.warning)
    for section in table.sections:
        if not section.rows:
            continue
        if section.title:
            yield f"### {plain(section.title)}"
        yield _section(table, section)
    if notes := footnotes(table):
        yield "\n".join(f"- {plain(note)}" for note in notes)


def _section(table: Table, section: Section) -> str:
    places = shown(table, section)
    columns = [table.columns[place] for place in places]
    heads = [plain(column.name) for column in columns]
    aligned = ["---" if column.style == "text" else "---:" for column in columns]
    tops = [
        best(section, place) if table.columns[place].ranked else (None, None) for place in places
    ]
    rows = [
        [
            _markdown_cell(row, place, table.columns[place], top)
            for place, top in zip(places, tops, strict=True)
        ]
        for row in section.rows
    ]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (heads, aligned, *rows))


def _markdown_cell(
    row: Row, place: int, column: Column, top: tuple[float | None, float | None]
) -> str:
    """The best in bold, the second underlined, what a paper prints in italics."""
    cell = row.cells[place]
    text = plain(written(cell, column.style))
    if row.paper:
        return f"*{text}*" if cell.value is not None else DASH
    if not row.ranked or not isinstance(cell.value, int | float):
        return text
    value, _, rest = text.partition(" ")
    rounded = round(cell.value, 3)
    if rounded == top[0]:
        value = f"**{value}**"
    elif rounded == top[1]:
        value = f"<ins>{value}</ins>"
    return f"{value} {rest}".rstrip()


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


Measure = Callable[[Line], float | None]
_OfQuestion = TypeVar("_OfQuestion", Line, EqualReading)


def lr1(line: Line) -> float | None:
    """LR-1: the raters call the answer an exact match."""
    return None if line.rating is None else float(line.rating == "exact")


def lr2(line: Line) -> float | None:
    """LR-2: they call it an exact or a partial match."""
    return None if line.rating is None else float(line.rating != "no")


def exact(line: Line) -> float | None:
    """EM."""
    return line.em


def f1(line: Line) -> float | None:
    """F1."""
    return line.f1


def f1_star(line: Line) -> float | None:
    """LV-Eval's F1*."""
    return line.f1_star


def choice(line: Line) -> float | None:
    """The right option was chosen."""
    return None if line.choice is None else float(line.choice)


def rouge(kind: str) -> Measure:
    """ROUGE-1, -2 or -L of an answer in free words."""
    return lambda line: (line.rouge or {}).get(kind)


def answered(line: Line) -> float | None:
    """The reader gave an answer."""
    return float(line.answered)


def document_recall(line: Line) -> float | None:
    """The share of the gold documents that were read."""
    return evidence.document_recall(line.documents_read, line.gold_documents)


def chunk_recall(line: Line) -> float | None:
    """The share of the supporting sentences that stand in chunks that were read."""
    return line.chunk_recall


def fcr(line: Line) -> float | None:
    """All gold documents were read."""
    return evidence.fcr(line.documents_read, line.gold_documents)


def jsr(right: Measure) -> Measure:
    """All gold documents were read, and the answer is right, which `right` tells.

    A reading that failed is not right; one of which that is not known is not measured.
    """

    def measured(line: Line) -> float | None:
        told = 0.0 if line.error else right(line)
        if told is None:
            return None
        return evidence.jsr(line.documents_read, line.gold_documents, told == 1)

    return measured


def citation_precision(line: Line) -> float | None:
    """The share of the cited documents that are gold."""
    return evidence.citation_precision(line.documents_cited, line.gold_documents)


def what_is_right(lines: Sequence[Line]) -> tuple[str, Measure]:
    """By what the answers to these are right: LR-1 where raters were asked, else what is exact.

    That is the right option where there are options, and an exact match elsewhere.
    """
    if any(line.rating is not None for line in lines):
        return "LR-1 (the raters call it exact)", lr1
    kinds = {line.choice is not None for line in lines if not line.error}
    names = {True: "the right option", False: "an exact match (EM)"}
    told = " or ".join(names[kind] for kind in sorted(kinds, reverse=True)) or names[False]
    return f"{told}, for no rater was asked", lambda line: _either(line, exact)


def option_or_f1(line: Line) -> float | None:
    """Accuracy where there are options, F1 elsewhere."""
    return _either(line, f1)


def _either(line: Line, in_words: Measure) -> float | None:
    chosen = choice(line)
    return in_words(line) if chosen is None else chosen


def with_options(lines: Sequence[Line]) -> frozenset[str]:
    """The questions that have options, by their ids; a failed reading does not tell that itself."""
    if all(line.choice is None for line in lines):
        return frozenset()
    without = {line.id for line in lines if line.choice is None and not line.error}
    return frozenset(line.id for line in lines if line.id not in without)


def measured_by(name: str, lines: Sequence[Line], options: Collection[str]) -> list[Line]:
    """The lines that a score is for: accuracy for `options`, a rating for all, else the rest."""
    if name.startswith("LR-"):
        return list(lines)
    return [line for line in lines if (line.id in options) == (name == "Accuracy")]


def tokens_read(line: Line) -> float | None:
    """Tokens of the documents' text that were shown."""
    return None if line.error else float(line.tokens_read)


def share_read(line: Line) -> float | None:
    """The same as a share of the record."""
    if line.error or not line.record_tokens:
        return None
    return line.tokens_read / line.record_tokens


def seconds(line: Line) -> float | None:
    """How long the reading took."""
    return None if line.error else line.seconds


def mean(lines: Iterable[Line], measure: Measure) -> Interval | None:
    """The mean over questions with its 95 % interval; None where nothing is measured.

    Repeated readings of a question are averaged first, for they are no further questions.
    """
    return mean_interval(by_question(lines, measure).values())


def score(lines: Sequence[Line], measure: Measure) -> Interval | None:
    """The same of a score: a reading that failed counts as 0 where others have one."""
    if all(measure(line) is None for line in lines):
        return None
    return mean_interval(scored(lines, measure).values())


def scored(lines: Iterable[Line], measure: Measure) -> dict[str, float]:
    """A score by question: a reading that failed counts as 0, where an answer is known."""

    def measured(line: Line) -> float | None:
        return 0.0 if line.error and line.em is not None else measure(line)

    return by_question(lines, measured)


def by_question(
    lines: Iterable[_OfQuestion], measure: Callable[[_OfQuestion], float | None]
) -> dict[str, float]:
    """The mean of each question that is measured, by its id."""
    found: dict[str, list[float]] = {}
    for line in lines:
        value = measure(line)
        if value is not None:
            found.setdefault(line.id, []).append(value)
    return {id_: sum(values) / len(values) for id_, values in found.items()}


def average(values: Iterable[float | None]) -> float | None:
    """The plain mean of what is known."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def number(told: Mapping[str, Any] | None, key: str) -> float | None:
    """A number of a mapping whose keys are another part's; None where it has none of it."""
    value = (told or {}).get(key)
    return float(value) if isinstance(value, int | float) else None


def questions(lines: Iterable[Line]) -> int:
    """How many different questions there are."""
    return len({line.id for line in lines})


MAIN: tuple[tuple[str, Measure], ...] = (
    ("LR-1", lr1),
    ("Accuracy", choice),
    ("F1*", f1_star),
    ("F1", f1),
)


def main_measure(lines: Sequence[Line]) -> tuple[str, Measure]:
    """By what readers of a dataset are compared in one number: the first that all have.

    What is rated, else options chosen (and F1 where a question has none), else LV-Eval's F1*, else
    F1. Here and there a rating may be missing, for raters fail; but each reader must have some.
    """
    sound = [line for line in lines if not line.error]
    rated = {(line.reader, line.model) for line in sound if line.rating is not None}
    if rated and rated == {(line.reader, line.model) for line in sound}:
        return MAIN[0]
    if len({line.choice is None for line in sound}) > 1:
        return "Accuracy or F1", option_or_f1
    for name, measure in MAIN[1:]:
        if sound and all(measure(line) is not None for line in sound):
            return name, measure
    return MAIN[-1]


_Key = TypeVar("_Key", bound=Hashable)

_ORDER = (
    "rag-bm25",
    "rag-embedding",
    "rag-pages-bm25",
    "rag-pages-embedding",
    "full-text",
    "chunk-read",
    "gistmem",
    "read-agent-p",
    "read-agent-s",
    "search-agent",
    "graphreader",
)

_STUDIED = re.compile(
    r"^graphreader-(no-|random-|one-path|nodes-|chunk-)",
)

PAPER, DEFAULT, GOLDEN = "graphreader-paper", "graphreader", "golden"


def grouped(lines: Iterable[Line], key: Callable[[Line], _Key]) -> dict[_Key, list[Line]]:
    """The lines by a key, in the order in which each key comes up first."""
    found: dict[_Key, list[Line]] = {}
    for line in lines:
        found.setdefault(key(line), []).append(line)
    return found


def by_set(lines: Iterable[Line]) -> dict[tuple[str, str], list[Line]]:
    """By dataset and length: by names, and from short to long."""
    found = grouped(lines, lambda line: (line.dataset, line.length))
    return {key: found[key] for key in sorted(found, key=lambda key: (key[0], size(key[1])))}


def by_reader(lines: Iterable[Line]) -> dict[tuple[str, str], list[Line]]:
    """By reader and model, in the order of the papers' tables."""
    found = grouped(lines, lambda line: (line.reader, line.model))
    return {key: found[key] for key in sorted(found, key=lambda key: (place(key[0]), key[1]))}


def by_name(lines: Iterable[Line]) -> dict[str, list[Line]]:
    """By reader alone, all its models together, in the same order."""
    found = grouped(lines, lambda line: line.reader)
    return {reader: found[reader] for reader in sorted(found, key=place)}


def place(reader: str) -> tuple[int, str, tuple[int, ...]]:
    """Where a reader stands: retrieval, whole texts, ReadAgent, agents, GraphReader, golden."""
    numbers = tuple(int(found[:9]) for found in re.findall(r"\d+", reader))
    if reader == GOLDEN:
        return len(_ORDER) + 1, reader, numbers
    kind = max((name for name in _ORDER if reader.startswith(name)), key=len, default="")
    at = _ORDER.index(kind) if kind else len(_ORDER)
    # The paper's mode stands before our default, next to the paper's figures.
    words = "" if reader == PAPER else re.sub(r"\d+", "", reader)
    return at, words, numbers


def is_studied(reader: str) -> bool:
    """Whether a reader is GraphReader with one thing changed, which has tables of its own."""
    return bool(_STUDIED.match(reader))


def size(length: str) -> tuple[int, str]:
    """The length as a number to sort by; native texts come first."""
    found = re.fullmatch(r"(\d{1,9})(k?)", length)
    if length == NATIVE or not found:
        return -1, length
    return int(found[1]) * (1000 if found[2] else 1), length


def window(tokens: int) -> str | None:
    """`4k` for 4,096, `128k` for 128,000, as the paper writes it; None if it is not known."""
    if tokens < 1000:
        return str(tokens) if tokens else None
    unit = 1000 if tokens % 1000 == 0 else 1024
    return f"{tokens / unit:g}k"


def set_name(dataset: str, length: str) -> str:
    """`hotpotqa` or `hotpotqa, 64k`."""
    return dataset if length == NATIVE else f"{dataset}, {length}"
