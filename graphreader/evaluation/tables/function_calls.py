"""Which functions the paths called at which stage (paper, appendix F and table 7)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from graphreader.evaluation import papers
from graphreader.evaluation.stages import STAGES, Stage
from graphreader.evaluation.tables import grouping
from graphreader.evaluation.tables.lines import NATIVE, Line, PathTold
from graphreader.evaluation.tables.measures import average
from graphreader.evaluation.tables.table import MODEL, Column, Row, Section, Table, has_printed

FUNCTIONS: Mapping[Stage, Sequence[str]] = {
    "facts": ("read_chunk", "stop_and_read_neighbor"),
    "chunks": ("search_more", "read_previous_chunk", "read_subsequent_chunk", "termination"),
    "neighbors": ("read_neighbor_node", "termination"),
}
"""The paper's functions. `next_page` is ours, and counts in none of its shares."""

_NAMES: Mapping[Stage, str] = {
    "facts": "Exploring atomic facts",
    "chunks": "Exploring chunks",
    "neighbors": "Exploring neighbors",
}
_SLIP = 0.05
"""By how many percent points rounding may move a printed sum for each of its figures."""


def function_calls(lines: Sequence[Line]) -> Table | None:
    """Table 7; None where no paths are told."""
    kept = [line for line in lines if line.paths and not grouping.is_studied(line.reader)]
    sections = []
    unplaced = 0
    for key, members in grouping.by_set(kept).items():
        printed = papers.graphreader("table_7").get(papers.set_of(key[0]))
        rows: list[Row] = []
        for (reader, model), own in grouping.by_reader(members).items():
            paths = [path for line in own for path in line.paths or ()]
            unplaced += sum(one.stage is None for path in paths for one in path.functions)
            rows += _rows(reader, model, own, paths)
        if printed and key[1] == NATIVE:
            rows += _printed(printed)
        sections.append(Section(grouping.set_name(*key), tuple(rows)))
    if not sections:
        return None
    columns = (
        Column("Reader"),
        MODEL,
        Column("Window"),
        Column("Calls a path", "decimal"),
        Column("Calls a question", "decimal"),
        Column("Stage"),
        Column("Of all calls", "percent"),
        Column("Function"),
        Column("Of its stage", "percent"),
    )
    notes = tuple(_notes(sections, unplaced))
    return Table("functions", "Function calls (table 7)", columns, tuple(sections), notes)


def _rows(reader: str, model: str, lines: Sequence[Line], paths: Sequence[PathTold]) -> list[Row]:
    called = Counter(
        (one.stage, one.name) for path in paths for one in path.functions if one.stage is not None
    )
    calls = average(_calls(path) for path in paths)
    a_question = average(sum(map(_calls, line.paths or ())) for line in lines)
    stages = {stage: sum(called[stage, name] for name in FUNCTIONS[stage]) for stage in STAGES}
    whole = sum(stages.values())
    rows = []
    for stage in STAGES:
        for name in (*FUNCTIONS[stage], "next_page"):
            if name == "next_page" and not called[stage, name]:
                continue
            is_first = name == FUNCTIONS[stage][0]
            rows.append(
                Row.of(
                    reader,
                    model,
                    grouping.window(lines[0].window),
                    calls if is_first and stage == STAGES[0] else None,
                    a_question if is_first and stage == STAGES[0] else None,
                    _NAMES[stage],
                    _share(stages[stage], whole) if is_first else None,
                    name + (" (ours, beside)" if name == "next_page" else ""),
                    _share(called[stage, name], stages[stage]),
                )
            )
    return rows


def _calls(path: PathTold) -> int:
    return path.calls or len(path.functions)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _printed(told: Mapping[str, Any]) -> Iterable[Row]:
    for stage in STAGES:
        for name, share in told["functions"][stage].items():
            is_first = name == FUNCTIONS[stage][0]
            calls = told["calls"] if is_first and stage == STAGES[0] else None
            yield Row.of(
                "paper: GraphReader",
                None,
                "4k",
                calls,
                None,
                _NAMES[stage],
                papers.share(told["stages"][stage]) if is_first else None,
                name,
                papers.share(share),
                paper=True,
            )


def slips() -> list[str]:
    """What of the paper's table 7 does not add up to 100, beyond what rounding explains."""
    found = []
    for dataset, told in papers.graphreader("table_7").items():
        parts = {"stages": told["stages"], **told["functions"]}
        for part, figures in parts.items():
            whole = sum(figures.values())
            if abs(whole - 100) > _SLIP * len(figures) + 1e-9:
                found.append(f"{dataset}, {part}: {whole:.1f}")
    return found


def _notes(sections: Sequence[Section], unplaced: int) -> list[str]:
    notes = [
        "Stages are shares of all calls, functions of the calls at their stage. next_page, which "
        "the paper has not, counts in neither; beside its name stands how many there are for 100 "
        "other calls of the stage.",
    ]
    if has_printed(sections):
        notes.append(
            f"In italics table 7 of the {papers.graphreader('source')}, as printed. Its average "
            "number of calls can only be that of a path: each of five paths has one at least. "
            "Its caption names MuSiQue and NarrativeQA alone. What does not add up to 100 there: "
            f"{'; '.join(slips())}."
        )
    if unplaced:
        notes.append(f"Calls that are told without their stage, and not counted: {unplaced:,}.")
    return notes
