"""What an answer costs (paper, table 5): tokens a question, phase by phase; building apart."""

from collections.abc import Mapping, Sequence

from graphreader.baselines.read_agent.reader import TASK_AWARE
from graphreader.evaluation import papers
from graphreader.evaluation.tables import grouping
from graphreader.evaluation.tables.lines import Line
from graphreader.evaluation.tables.measures import average, questions
from graphreader.evaluation.tables.table import MODEL, Column, Row, Section, Table, has_printed
from graphreader.settings import OFFLINE
from graphreader.usage import BUILDING, Usage

PHASES: Mapping[str, str] = {
    "plan": "Plan",
    "select": "Initial nodes",
    "explore": "Paths",
    "look_up": "Look-up",
    "read": "Reading",
    "answer": "Answer",
}
_NOT_ASKING = {*BUILDING, "rate"}


def costs(lines: Sequence[Line]) -> Table:
    """Table 5: mean tokens a question, in and out; what reading a text in costs stands apart."""
    kept = [line for line in lines if not grouping.is_studied(line.reader) and not line.error]
    columns = (
        Column("Reader"),
        MODEL,
        Column("Window"),
        Column("n", "count"),
        Column("Context", "tokens"),
        Column("Tokens a question", "tokens"),
        *(Column(name, "tokens") for name in PHASES.values()),
        Column("Calls", "decimal"),
        Column("Dollars", "dollars"),
        Column("Building a text", "tokens"),
        Column("Seconds", "seconds"),
    )
    sections = [
        Section(grouping.set_name(*key), tuple(_rows(members, key)))
        for key, members in grouping.by_set(kept).items()
    ]
    notes = [
        "Tokens of prompts and replies. Asking alone: what is spent once for a text (facts, pages, "
        "gists) is building, and raters are no part of either.",
    ]
    if has_printed(sections):
        notes.append(f"In italics table 5 of the {papers.graphreader('source')}.")
    if any(line.model == OFFLINE for line in kept):
        notes.append(
            "Without a model (offline) nothing was spent: these are the prompts that a model would "
            "have been sent, without its replies."
        )
    if any(line.usage.unpriced for line in kept):
        notes.append("The price of some calls is not known: dollars lack them.")
    return Table("costs", "Tokens a question (table 5)", columns, tuple(sections), tuple(notes))


def _rows(lines: Sequence[Line], key: tuple[str, str]) -> list[Row]:
    rows = []
    for (reader, model), members in grouping.by_reader(lines).items():
        spent = list(map(_asking, members))
        rows.append(
            Row.of(
                reader,
                model,
                grouping.window(members[0].window),
                questions(members),
                average(line.record_tokens or None for line in members),
                average(one.tokens for one in spent) or None,
                *(_phase(members, phase) for phase in PHASES),
                average(one.calls for one in spent),
                average(one.dollars for one in spent) or None,
                _building(members),
                average(line.seconds for line in members),
            )
        )
    return rows + _printed(*key)


def _asking(line: Line) -> Usage:
    """What the question cost: all phases but rating and building, unless that was for it alone."""
    beside = _NOT_ASKING - {"gist"} if line.reader.endswith(TASK_AWARE) else _NOT_ASKING
    told = [spent for phase, spent in line.phases.items() if phase not in beside]
    return sum(told, Usage()) if told else line.usage


def _phase(lines: Sequence[Line], phase: str) -> float | None:
    """The mean of a phase over all readings; None where none of them spent anything in it."""
    told = (line.phases[phase].tokens if phase in line.phases else 0 for line in lines)
    return average(told) or None


def _building(lines: Sequence[Line]) -> float | None:
    """The mean of what was spent to read a record in; what was kept from earlier costs nothing."""
    told = {line.id: line.building.tokens for line in lines if line.building}
    return average(told.values()) or None


def _printed(dataset: str, length: str) -> list[Row]:
    told = papers.graphreader("table_5")
    if (papers.set_of(dataset), length) != (told["dataset"], told["length"]):
        return []
    windows = {"read-agent-s": "128k", grouping.PAPER: "4k"}
    empty = [None] * (len(PHASES) + 4)
    return [
        Row.of(
            f"paper: {label}",
            None,
            windows[reader],
            None,
            told["context"],
            tokens,
            *empty,
            paper=True,
        )
        for reader, (label, tokens) in told["tokens"].items()
    ]
