"""What the GraphReader and ReadAgent papers print, as data and as rows of tables.

The figures are in `paper_figures.json`: only numbers that the papers print, as printed, and never
ours. Percentages become shares of 0 to 1, as ours are.
"""

import json
import re
import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from graphreader.evaluation.measures import GOLDEN, NATIVE, PAPER
from graphreader.evaluation.scoring import STAGES, Stage
from graphreader.evaluation.tables import TableRow, row


@cache
def paper_figures(paper: str) -> Mapping[str, Any]:
    """What a paper prints: of "graphreader" or of "read_agent"."""
    text = files(__package__).joinpath("paper_figures.json").read_text("utf-8")
    figures: Mapping[str, Any] = json.loads(text)[paper]
    return figures


def paper_set(dataset: str) -> str:
    """The GraphReader paper's name of a dataset; empty if it has no figures of it."""
    names: Mapping[str, Sequence[str]] = paper_figures("graphreader")["names"]
    return next((name for name, ours in names.items() if dataset in ours), "")


def is_paper_sample(dataset: str) -> bool:
    """Whether it is the paper's own sample (LongBench's, LV-Eval's), not only of its origin."""
    return dataset in paper_figures("graphreader")["same"]


def as_share(percent: float | None) -> float | None:
    """A printed percentage as a share of 0 to 1."""
    return None if percent is None else round(percent / 100, 6)


def paper_scores(dataset: str, length: str) -> Mapping[str, Any]:
    """The columns and rows of the paper's table 2 or 3 for a dataset and length, perhaps none."""
    name = paper_set(dataset)
    table = paper_figures("graphreader")["table_3" if length != NATIVE else "table_2"]
    key = name if length == NATIVE else length
    if not name or (length != NATIVE and name != "hotpotwikiqa-mixup"):
        return {"columns": [], "rows": []}
    rows = [{**one, "scores": one["scores"][key]} for one in table["rows"] if key in one["scores"]]
    return {"columns": table["columns"], "rows": rows}


def paper_row(label: str, window: str | None = None, **cells: Any) -> TableRow:
    """A row that a paper prints, with the paper's name of the reader."""
    return row({"Reader": f"paper: {label}", "Window": window, **cells}, paper=True)


def source_note(part: str, more: str = "") -> str:
    """A note that names the part of the GraphReader paper whose rows are in italics."""
    return f"In italics {part} of the {paper_figures('graphreader')['source']}{more}"


def paper_score_row(printed: Mapping[str, Any], paper: Mapping[str, Any]) -> TableRow:
    """A row of table 2 or 3; its share of golden is that of F1."""
    cells = dict(zip(paper["columns"], map(as_share, printed["scores"]), strict=True))
    golden = next((one for one in paper["rows"] if one["reader"] == GOLDEN), None)
    if golden is not None:
        f1 = paper["columns"].index("F1")
        cells["Of golden"] = printed["scores"][f1] / golden["scores"][f1]
    return paper_row(printed["label"], printed["window"], **cells)


def paper_length_rows(dataset: str, score_name: str, lengths: Sequence[str]) -> list[TableRow]:
    """The paper's rows, if it prints the same score."""
    cells: dict[str, dict[str, Any]] = {}
    for length in lengths:
        paper = paper_scores(dataset, length)
        if length == NATIVE or score_name not in paper["columns"]:
            continue
        at = paper["columns"].index(score_name)
        for one in paper["rows"]:
            known = cells.setdefault(one["label"], {"window": one["window"]})
            known[length] = as_share(one["scores"][at])
    return [paper_row(label, **known) for label, known in cells.items()]


def paper_recall_rows(dataset: str, length: str) -> list[TableRow]:
    """The rows of table 6, which is of one dataset."""
    table = paper_figures("graphreader")["table_6"]
    if length != NATIVE or paper_set(dataset) != table["dataset"]:
        return []
    names = "SF-wise, rated", "Sample-wise, rated"
    return [
        paper_row(
            "GraphReader", "4k", Text=text, **dict(zip(names, map(as_share, shares), strict=True))
        )
        for text, *shares in table["rows"]
    ]


def paper_ablation_rows(dataset: str, length: str) -> list[TableRow]:
    """The rows of table 4 for a dataset."""
    table = paper_figures("graphreader")["table_4"]
    printed = table["scores"].get(paper_set(dataset), []) if length == NATIVE else []
    rows = []
    for label, figures in zip(table["labels"], printed, strict=False):
        cells: dict[str, Any] = dict(zip(table["columns"], map(as_share, figures), strict=True))
        if figures is not printed[0]:
            cells |= {"Change": as_share(figures[0] - printed[0][0]), "Change of": "LR-1"}
        rows.append(paper_row(label, "4k", **cells))
    return rows


def paper_change(reader: str) -> float:
    """What a part is worth in the paper's table 4: the mean change of LR-1 over its sets."""
    table = paper_figures("graphreader")["table_4"]
    at = table["readers"].index(reader)
    changes = (as_share(one[at][0] - one[0][0]) for one in table["scores"].values())
    return statistics.fmean(one or 0.0 for one in changes)


def paper_cost_rows(dataset: str, length: str) -> list[TableRow]:
    """The rows of table 5, which is of one dataset and length."""
    table = paper_figures("graphreader")["table_5"]
    if (paper_set(dataset), length) != (table["dataset"], table["length"]):
        return []
    windows = {"read-agent-s": "128k", PAPER: "4k"}
    return [
        paper_row(
            label, windows[reader], **{"Context": table["context"], "Tokens a question": tokens}
        )
        for reader, (label, tokens) in table["tokens"].items()
    ]


STAGE_NAMES: Mapping[Stage, str] = {
    "facts": "Exploring atomic facts",
    "chunks": "Exploring chunks",
    "neighbors": "Exploring neighbors",
}


FUNCTIONS: Mapping[Stage, Sequence[str]] = {
    "facts": ("read_chunk", "stop_and_read_neighbor"),
    "chunks": ("search_more", "read_previous_chunk", "read_subsequent_chunk", "termination"),
    "neighbors": ("read_neighbor_node", "termination"),
}
"""The paper's functions. `next_page` is ours, and counts in none of its shares."""


_ROUNDING = 0.05
"""Percent points by which each figure of a printed sum may be rounded."""


def paper_call_rows(paper: Mapping[str, Any]) -> Iterable[TableRow]:
    """The rows of table 7 for a dataset, whose figures are `paper`."""
    for stage in STAGES:
        for name, share in paper["functions"][stage].items():
            cells = {
                "Stage": STAGE_NAMES[stage],
                "Function": name,
                "Of its stage": as_share(share),
            }
            if name == FUNCTIONS[stage][0]:
                cells["Of all calls"] = as_share(paper["stages"][stage])
                cells |= {"Calls a path": paper["calls"]} if stage == STAGES[0] else {}
            yield paper_row("GraphReader", "4k", **cells)


def printed_sums() -> list[str]:
    """The shares of the paper's table 7 that do not add up to 100, beyond rounding."""
    slips = []
    for dataset, paper in paper_figures("graphreader")["table_7"].items():
        for part, shares in {"stages": paper["stages"], **paper["functions"]}.items():
            whole = sum(shares.values())
            if abs(whole - 100) > _ROUNDING * len(shares) + 1e-9:
                slips.append(f"{dataset}, {part}: {whole:.1f}")
    return slips


PAGE_READERS = r"(read-agent|gistmem|rag-pages-bm25|rag-pages-embedding|full-text)"


_READ_AGENT_SETS = ("quality", "narrativeqa", "qmsum")


READ_AGENT_SCORES = ("Accuracy", "LR-1", "LR-2", "ROUGE-1", "ROUGE-2", "ROUGE-L")


def page_reader(reader: str) -> str:
    """The kind of a reader, without the number of its pages; empty for other readers."""
    match = re.match(PAGE_READERS, reader)
    return match[1] if match else ""


def paper_read_agent_rows(dataset: str, subset: str, kinds: Collection[str]) -> list[TableRow]:
    """The paper's rows of ReadAgent itself, and of the other kinds that were asked here."""
    if dataset not in _READ_AGENT_SETS:
        return []
    paper = paper_figures("read_agent")[dataset]
    rows = []
    for part, printed in paper["parts"].items():
        if part and subset and not part.startswith(subset):
            continue
        for label, reader, *figures in printed:
            if page_reader(reader) not in kinds:
                continue
            named = dict(zip(paper["columns"], figures, strict=True))
            compression = as_share(named["compression"])
            cells: dict[str, Any] = {name: as_share(named.get(name)) for name in READ_AGENT_SCORES}
            cells["Compression, gists"] = compression if label == "GistMem" else None
            cells["Compression, at the question"] = compression
            cells["Pages looked up"] = named["pages"]
            rows.append(paper_row(label + (f" ({part})" if part else ""), **cells))
    return rows
