"""The tables of the GraphReader and ReadAgent papers, made from the readings of an evaluation.

`paper_tables.toml` declares the tables; this module has the measures of cells, and special rows.
`paper_figures.json` has the rows that the papers print, percentages as shares of 0 to 1.
"""

import json
import math
import statistics
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib.resources import files
from operator import eq
from typing import TYPE_CHECKING, Any

from graphreader.agent.functions import STAGES, functions_at
from graphreader.evaluation.measures import (
    DEFAULT,
    GOLDEN,
    NATIVE,
    PAPER,
    a_right_answer,
    average,
    building,
    fitting_score,
    greatest,
    grouped,
    length_position,
    main_measure,
    mean,
    nonzero,
    page_reader,
    question_average,
    question_means,
    question_scores,
    questions,
    reader_position,
    recall_measure,
    score,
    set_name,
    share_of_golden,
    value,
    window,
    with_options,
)
from graphreader.evaluation.metrics.evidence import compare, mean_interval
from graphreader.evaluation.tables import (
    Cell,
    CellValue,
    Column,
    MakeRows,
    Prepare,
    Section,
    Table,
    TableRow,
    TableSpec,
    group_cells,
    group_row,
    group_rows,
    make_table,
    row,
)
from graphreader.settings import OFFLINE

if TYPE_CHECKING:
    from pandas import DataFrame


def paper_tables(frame: "DataFrame", equal: "DataFrame") -> list[Table]:
    """Make the tables that the readings fill, the main table first."""
    rows: dict[str, MakeRows] = {
        **_ROWS,
        "equal_reading": partial(_equal_reading_rows, equal),
    }
    papers = frame["dataset"].map(paper_set) != ""
    is_sample = frame["dataset"].isin(paper_figures()["samples"])
    other = papers & (~is_sample | (frame["contexts"] == "documents"))
    frame = frame.assign(other_texts=other, uneven=frame["set"].isin(_uneven_sets(frame)))
    tables = []
    for name, declared in _declarations()["tables"].items():
        columns = [*map(_column, declared["columns"])]
        if name in ("score_by_length", "recall_by_length"):
            columns += _length_columns(frame)
        notes = [*declared["notes"], *_declarations()["notes"]]
        spec = TableSpec(
            **{**declared, "name": name, "columns": tuple(columns), "notes": notes},
            prepare=_PREPARE.get(name, lambda section: section),
            rows=partial(_with_mark, rows.get(name, _rows_and_printed)),
        )
        # ReadAgent's paper uses whole datasets.
        readings = frame.assign(other_texts=False) if name == "read_agent" else frame
        if table := make_table(spec, readings):
            tables.append(_with_all_sets(table) if name == "quality_and_cost" else table)
    return tables


def _uneven_sets(frame: "DataFrame") -> list[str]:
    """List the sets in which readers were asked different questions."""
    return [
        value(section, "set")
        for section in grouped(frame[~frame["study"]], "dataset", "length")
        if len({frozenset(one.index) for one in grouped(section, "reader", "model")}) > 1
    ]


@cache
def _declarations() -> Mapping[str, Any]:
    return tomllib.loads(files(__package__).joinpath("paper_tables.toml").read_text("utf-8"))


def _column(declared: str | Mapping[str, Any]) -> Column:
    """Make a declared column, perhaps with other properties in one table."""
    name, changes = (declared, {}) if isinstance(declared, str) else (declared["name"], declared)
    fields = {**_declarations()["columns"][name], **changes, "name": name}
    measure = _MEASURES.get(fields.pop("measure", ""))
    return Column(**fields, aggregate=measure)


def _with_mark(make: MakeRows, spec: TableSpec, section: "DataFrame") -> list[TableRow]:
    """Make the rows of a section; rows of a paper that read other texts get a mark."""
    rows, name = make(spec, section), spec.columns[0].name
    if not section["other_texts"].any():
        return rows
    return [
        one.with_cells({name: f"{label}".replace("paper:", "paper, other texts:", 1)})
        if one.paper and (label := one[name].value)
        else one
        for one in rows
    ]


def _rows_and_printed(spec: TableSpec, section: "DataFrame") -> list[TableRow]:
    """Make our rows, then the rows that a paper prints for this dataset and length."""
    return [*group_rows(spec, section), *printed_rows(spec.name, _paper_section(section))]


@cache
def paper_figures() -> Mapping[str, Any]:
    """Load the rows that the papers print, with the papers' names of the datasets."""
    text = files(__package__).joinpath("paper_figures.json").read_text("utf-8")
    figures: Mapping[str, Any] = json.loads(text)
    return figures


def printed_rows(table: str, section: str) -> list[TableRow]:
    """The rows that a paper prints in a section; the cell `reader` has our name of the reader."""
    printed = paper_figures()["tables"].get(table, {"columns": [], "rows": {}})
    return [
        row(dict(zip(printed["columns"], (f"paper: {name}", *cells), strict=True)), paper=True)
        for name, *cells in printed["rows"].get(section, [])
    ]


def paper_set(dataset: str) -> str:
    """The GraphReader paper's name of a dataset; empty if it has no figures of it."""
    return str(paper_figures()["sets"].get(dataset, ""))


def _paper_section(section: "DataFrame") -> str:
    """The GraphReader paper's name of a section."""
    return set_name(paper_set(value(section, "dataset")), value(section, "length"))


# ------------------------------------------------------------------ answers (tables 2 and 3)

_FREE_ANSWERS = ("narrativeqa", "qmsum", "loogle")
"""Datasets with free text as answers, which their papers measure by ROUGE."""


def _with_golden(section: "DataFrame") -> "DataFrame":
    """Add golden's score with the same model to readings, and remove scores that do not apply.

    ROUGE is for free answers, refusals are measured where some questions have no answer.
    """
    golden = {
        value(group, "model"): question_scores(group, "Accuracy or F1")
        for group in grouped(section[section["reader"] == GOLDEN], "model")
    }
    keys = zip(section["model"], section.index, strict=True)
    scores = [golden.get(model, {}).get(id_, float("nan")) for model, id_ in keys]
    section = with_options(section).assign(golden=scores)
    if not any(name in value(section, "dataset") for name in _FREE_ANSWERS):
        section[[name for name in section if name.startswith("ROUGE")]] = float("nan")
    if section["answerable"].all():
        section["Refusal precision"] = float("nan")
    return section


def _score_rows(spec: TableSpec, section: "DataFrame") -> list[TableRow]:
    """Make our rows, each with the paper's row of its reader below, and shares of golden."""
    printed = printed_rows("scores", _paper_section(section))
    percent = {one["reader"].value: round(100 * (one["F1"].number or 0), 1) for one in printed}
    if golden := percent.get(GOLDEN):
        printed = [
            one.with_cells({"Of golden": percent[one["reader"].value] / golden}) for one in printed
        ]

    def position(one: TableRow) -> tuple[Any, ...]:
        reader = one["reader"] if one.paper else one["Reader"]
        return (*reader_position(str(reader.value)), one.paper)

    return sorted([*group_rows(spec, section), *printed], key=position)


def _with_quality(section: "DataFrame") -> "DataFrame":
    """Add the name of the measure of quality; without a model it is FCR."""
    offline = (section["model"] == OFFLINE).all() and section["gold"].any()
    return section.assign(measure="FCR" if offline else main_measure(section))


def _with_all_sets(table: Table) -> Table:
    """Add the means over all sets to the table of quality and cost, if the sets share a measure."""
    measure, *others = {one.title.rpartition(": ")[2] for one in table.sections}
    by_name: dict[tuple[CellValue, ...], list[TableRow]] = {}
    for one in table.rows:
        by_name.setdefault((one["Reader"].value, one["Model"].value), []).append(one)
    rows = [
        row(
            {
                **{"Reader": reader, "Model": model},
                **{"n": sum(one["n"].number or 0 for one in group)},
                **{column.name: _mean_cell(group, column.name) for column in table.columns[3:]},
            },
            ranked=reader != GOLDEN,
        )
        for (reader, model), group in by_name.items()
        if len(group) == len(table.sections)
    ]
    if others or len(table.sections) < 2 or not rows:
        return table
    return replace(table, sections=(Section(f"All sets: {measure}", tuple(rows)), *table.sections))


def _mean_cell(rows: Sequence[TableRow], name: str) -> Cell:
    """The mean of a column over independent sets, with its interval; empty if a cell is empty."""
    cells = [row[name] for row in rows]
    numbers = [one.number for one in cells if one.number is not None]
    if len(numbers) < len(cells):
        return Cell()
    middle = statistics.fmean(numbers)
    ends = [
        math.hypot(*(one - (end or 0) for one, end in zip(numbers, ends, strict=True))) / len(cells)
        for ends in ([one.low for one in cells], [one.high for one in cells])
    ]
    known = all(one.low is not None for one in cells)
    return Cell(middle, middle - ends[0], middle + ends[1]) if known else Cell(middle)


# ------------------------------------------------------------------ lengths (figures 1 and 5)


def _length_columns(frame: "DataFrame") -> Iterable[Column]:
    """Make a column for each length of datasets that were read at several lengths."""
    readings = frame[~frame["study"]]
    several = readings.groupby("dataset")["length"].transform("nunique") > 1
    for length in sorted(set(readings["length"][several]), key=length_position):
        yield Column(length, "percent", _score_at_length, ranked=True)


def _score_at_length(group: "DataFrame", length: str) -> CellValue:
    """The value of the section's measure over the readings of one length."""
    part = group[group["length"] == length]
    return None if part.empty else _section_score(part)


def _section_score(group: "DataFrame", _: str = "") -> Cell:
    """The value of the section's measure over a group of readings."""
    measure = value(group, "measure")
    result = (mean if measure in ("Document recall", "FCR") else score)(group, measure)
    return Cell.of(result, questions(group))


def _length_rows(spec: TableSpec, section: "DataFrame") -> list[TableRow]:
    """Make our rows by length, then rows of the paper's table 3; none without a comparison."""
    if section["length"].nunique() < 2:
        return []
    dataset, measure = paper_set(value(section, "dataset")), value(section, "measure")
    lengths = [column.name for column in spec.columns if column.ranked]
    printed: dict[CellValue, dict[str, CellValue]] = {}
    for length in lengths:
        for one in printed_rows("scores", set_name(dataset, length)):
            if length != NATIVE and one[measure].value is not None:
                cells = printed.setdefault(one["Reader"].value, {})
                cells |= {"Reader": one["Reader"], "Window": one["Window"], length: one[measure]}
    rows = [*group_rows(spec, section), *(row(one, paper=True) for one in printed.values())]
    return rows if any(one[name].value is not None for one in rows for name in lengths) else []


# ------------------------------------------------------------------ reader against reader


def _paired(
    own: Mapping[str, float], other: Mapping[str, float], names: tuple[str, str]
) -> dict[str, CellValue]:
    """Make the cells that compare two readers over common questions; `names` name the means."""
    comparison = compare(own, other)
    if comparison is None:
        return {"n": 0}
    both = own.keys() & other.keys()
    means = (mean_interval(one[id_] for id_ in one if id_ in both) for one in (own, other))
    return {
        "n": len(both),
        **dict(zip(names, means, strict=True)),
        "Difference": comparison.difference,
        "p": comparison.p,
        "Better / same / worse": f"{comparison.wins} / {comparison.ties} / {comparison.losses}",
    }


def _pair_rows(_: TableSpec, section: "DataFrame") -> list[TableRow]:
    """Compare GraphReader with every other reader of its model, by the main measure and FCR."""
    rows = []
    for measure, values in ((main_measure(section), question_scores), ("FCR", question_means)):
        by_model: dict[str, dict[str, Mapping[str, float]]] = {}
        for group in grouped(section, "reader", "model"):
            readers = by_model.setdefault(value(group, "model"), {})
            readers[value(group, "reader")] = values(group, measure)
        for model, readers in by_model.items():
            ours = [name for name in readers if name.startswith(DEFAULT)]
            reader = DEFAULT if DEFAULT in ours else next(iter(ours), "")
            for other, scores in readers.items():
                if ours and other != reader and readers[reader].keys() & scores.keys():
                    pair = {"Reader": reader, "Against": other, "Model": model, "Measure": measure}
                    names = "Mean of reader", "Mean of the other"
                    rows.append(row(pair | _paired(readers[reader], scores, names)))
    return rows


def _equal_reading_rows(equal: "DataFrame", _: TableSpec, section: "DataFrame") -> list[TableRow]:
    """Compare each reader with each ranking that had its token budget, by FCR."""
    dataset, length = value(section, "dataset"), value(section, "length")
    rankings = equal[(equal["dataset"] == dataset) & (equal["length"] == length)]
    rows = []
    for (reader, retrieval), ranking in rankings.groupby(["against", "reader"], sort=False):
        if (own := section[section["reader"] == reader]).empty:
            continue
        scores = question_means(own, "FCR"), question_means(ranking, "FCR")
        both = list(scores[0].keys() & scores[1].keys())
        own, ranking = (one[one.index.isin(both)] for one in (own, ranking))
        cells = {
            **{"Reader": reader, "Window": window(section[section["reader"] == reader], "window")},
            **{"Retrieval": retrieval},
            **_paired(*scores, ("FCR of reader", "FCR of retrieval")),
            "Tokens of reader": average(own, "Tokens read"),
            "Tokens of retrieval": average(ranking, "tokens_read"),
            "k": average(ranking, "k"),
        }
        rows.append(row(cells))
    return rows


# ------------------------------------------------------------------ evidence, recall (table 6)


def _with_jsr(section: "DataFrame") -> "DataFrame":
    """Add JSR to readings: 1 if all gold documents were read and the answer is right, else 0."""
    measure = "LR-1" if section["LR-1"].notna().any() else "Accuracy or EM"
    right = section[measure].mask(section["failed"], 0.0)
    return section.assign(JSR=(section["FCR"] * (right == 1)).where(right.notna()))


def _texts_of_recall(section: "DataFrame") -> "DataFrame":
    """Make a row for each text of a reading that is searched for facts; FCR is of the evidence."""
    evidence = section["reader"].str.startswith(DEFAULT)
    names = evidence.map({True: "final notebook", False: "evidence"})
    texts = section.assign(text=[("atomic facts", name) for name in names]).explode("text")
    of_facts = texts["text"] == "atomic facts"
    texts["counts"] = texts["recall"].where(~of_facts, texts["facts_recall"])
    texts["FCR"] = texts["FCR"].mask(of_facts)
    return texts[texts["counts"].notna()]


def _fact_recall(group: "DataFrame", name: str) -> Cell:
    """The recall of a column such as "SF-wise, rated", over readings that have counts."""
    way, _, kind = name.partition(", ")
    pairs = group["counts"].map(lambda one: one.get("rated" if kind == "rated" else "strings"))
    pairs = pairs[[bool(pair and pair[1]) for pair in pairs]]
    if pairs.empty:
        return Cell()
    covered, relevant = zip(*pairs, strict=True)
    sample_wise = sum(map(eq, covered, relevant)) / len(pairs)
    share = sum(covered) / sum(relevant) if way == "SF-wise" else sample_wise
    n = questions(pairs)
    return Cell(share, n=n if n < questions(group) else None)


# ------------------------------------------------------------------ ablations (table 4)


def _ablation_rows(spec: TableSpec, section: "DataFrame") -> list[TableRow]:
    """Make the row of mode `paper`, and below it the rows of its ablations."""
    rows = []
    compared = section["is_ablation"] | section["whole"]
    for group in grouped(section[compared], "model"):
        readers = {value(one, "reader"): one for one in grouped(group, "reader")}
        whole = [name for name in (PAPER, DEFAULT) if name in readers]
        base = whole[0] if whole else None
        measure = main_measure(group)
        before = question_scores(readers[base], measure) if base else {}
        for reader, readings in readers.items() if group["is_ablation"].any() else ():
            cells: dict[str, CellValue] = {}
            comparison = compare(question_scores(readings, measure), before)
            if comparison and reader not in whole:
                cells = {"Change": comparison.difference, "Change of": measure}
            rows.append(group_row(spec.columns, readings, **cells))
    printed = printed_rows("ablations", _paper_section(section)) if rows else []
    complete = printed[0]["LR-1"].number or 0.0 if printed else 0.0
    changed = (
        one.with_cells({"Change": (one["LR-1"].number or 0.0) - complete, "Change of": "LR-1"})
        for one in printed[1:]
    )
    return [*rows, *printed[:1], *changed]


# ------------------------------------------------------------------ function calls (table 7)


def _call_rows(spec: TableSpec, section: "DataFrame") -> list[TableRow]:
    """Make a row for each function; the first row of a stage has its share, row one the means."""
    rows = []
    for group in grouped(section, "reader", "model"):
        paths = [path for paths in group["paths"] for path in paths]
        calls = [(call["stage"], call["name"]) for path in paths for call in path["functions"]]
        numbers = [path["calls"] for path in paths]
        first: dict[str, CellValue] = {
            "Calls a path": statistics.fmean(numbers),
            "Calls a question": sum(numbers) / len(group),
        }
        sums = {
            stage: sum(calls.count((stage, one.name)) for one in functions_at(stage))
            for stage in STAGES
        }
        for stage, title in STAGES.items():
            first["Of all calls"] = sums[stage] / sum(sums.values()) if any(sums.values()) else None
            for name in (one.name for one in functions_at(stage)):
                share = calls.count((stage, name)) / sums[stage] if sums[stage] else None
                cells = {"Stage": title, "Function": name, "Of its stage": share, **first}
                rows.append(row(group_cells(spec.columns, group) | cells))
                first = {}
    return rows + printed_rows("functions", _paper_section(section))


# ------------------------------------------------------------------ sizes (tables 1 and 8)


def _dataset_rows(spec: TableSpec, section: "DataFrame") -> list[TableRow]:
    """Make a row for each length; the paper's row, of the whole dataset, is the second."""
    first, *others = group_rows(spec, section)
    return [first, *printed_rows("datasets", paper_set(value(section, "dataset"))), *others]


def _one_graph_each(section: "DataFrame") -> "DataFrame":
    """Keep one reading of GraphReader for each graph, as all its modes build equal graphs."""
    readers = set(section["reader"])
    base = next((one for one in (PAPER, DEFAULT) if one in readers), None)
    built = section[section["reader"] == base] if base else section
    return built[~built.index.duplicated(keep="last")]


# ------------------------------------------------------------------ ReadAgent (its tables 1 to 4)


def _with_subset(section: "DataFrame") -> "DataFrame":
    """Mark questions with options; give NarrativeQA's books and scripts titles of their own."""
    subset = value(section, "subset")
    title = value(section, "set") + (f", {subset}s" if subset else "")
    return with_options(section).assign(set=title)


def _read_agent_rows(spec: TableSpec, section: "DataFrame") -> list[TableRow]:
    """Make our rows and the ReadAgent paper's, for equal kinds of readers; none without it."""
    kinds = set(map(page_reader, section["reader"]))
    if not kinds & {"read-agent", "gistmem"}:
        return []
    kinds |= {"read-agent", "gistmem"}
    dataset, subset = value(section, "dataset"), value(section, "subset")
    printed = printed_rows("read_agent", f"{dataset}, {subset}s" if subset else dataset)
    wanted = [one for one in printed if page_reader(str(one["reader"].value)) in kinds]
    return group_rows(spec, section) + wanted


def _spread_rows(_: TableSpec, section: "DataFrame") -> list[TableRow]:
    rows = []
    for group in grouped(section, "reader"):
        repeats = [("repeats", one, "repeat") for one in grouped(group, "model")]
        for over, readings, column in (*repeats, ("models", group, "model")):
            if readings[column].nunique() > 1:
                rows.append(_spread_row(over, readings, column))
    return rows


def _spread_row(over: str, readings: "DataFrame", column: str) -> TableRow:
    """Make the row of runs that differ in repetition or model: their mean and spread."""
    runs = [run for _, run in readings.groupby(column, sort=False)]
    measure = main_measure(readings)
    cells: dict[str, CellValue] = {
        **{"Reader": value(readings, "reader"), "Window": window(readings, "window")},
        **{"Model": ", ".join(sorted(set(readings["model"]))) or None, "Over": over},
        **{"Runs": len(runs), "Score": measure},
    }
    for values, of, name, deviation in (
        (question_scores, measure, "Mean", "Standard deviation"),
        (question_means, "FCR", "FCR", "FCR, standard deviation"),
    ):
        means = [statistics.fmean(one.values()) for run in runs if (one := values(run, of))]
        if means:
            cells[name] = statistics.fmean(means)
            cells[deviation] = statistics.stdev(means) if len(means) > 1 else None
            cells |= {"Least": min(means), "Most": max(means)} if name == "Mean" else {}
    return row(cells)


_MEASURES: Mapping[str, Callable[["DataFrame", str], CellValue]] = {
    "a_right_answer": a_right_answer,
    "average": average,
    "building": building,
    "fact_recall": _fact_recall,
    "fitting_score": fitting_score,
    "greatest": greatest,
    "mean": mean,
    "nonzero": nonzero,
    "question_average": question_average,
    "questions": questions,
    "score": score,
    "section_score": _section_score,
    "share_of_golden": share_of_golden,
    "value": value,
    "window": window,
}
_PREPARE: Mapping[str, Prepare] = {
    "scores": _with_golden,
    "quality_and_cost": _with_quality,
    "evidence": _with_jsr,
    "score_by_length": lambda section: section.assign(measure=main_measure(section)),
    "recall_by_length": lambda section: section.assign(measure=recall_measure(section)),
    "recall": _texts_of_recall,
    "graphs": _one_graph_each,
    "read_agent": _with_subset,
}
_ROWS: Mapping[str, MakeRows] = {
    "scores": _score_rows,
    "quality_and_cost": group_rows,
    "pairs": _pair_rows,
    "score_by_length": _length_rows,
    "recall_by_length": _length_rows,
    "ablations": _ablation_rows,
    "datasets": _dataset_rows,
    "functions": _call_rows,
    "read_agent": _read_agent_rows,
    "spread": _spread_rows,
}
