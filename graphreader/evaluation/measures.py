"""The measures of an evaluation: its files as a pandas DataFrame, and means over groups of rows.

A row is a reading, indexed by the question's id; a column has its name in tables. Scores are 0 to
1; NaN means not measured. pandas belongs to the extra `evaluate`.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from graphreader.baselines.read_agent.reader import TASK_AWARE
from graphreader.errors import UsageError
from graphreader.evaluation.metrics import evidence
from graphreader.evaluation.metrics.answers import import_extra
from graphreader.evaluation.metrics.evidence import Interval, mean_interval
from graphreader.evaluation.results import (
    BUILDING_COSTS,
    BUILDING_KEYS,
    EQUAL_READING,
    READINGS,
    REQUIRED,
    read_run,
)
from graphreader.evaluation.variants import SWEEP_NAME, is_study
from graphreader.files import Line, complete_lines
from graphreader.usage import BUILDING, Usage

if TYPE_CHECKING:
    from pandas import DataFrame

NATIVE = "native"
PAPER, DEFAULT, GOLDEN = "graphreader-paper", "graphreader", "golden"

PHASES: Mapping[str, str] = {
    "plan": "Plan",
    "select": "Initial nodes",
    "explore": "Paths",
    "look_up": "Look-up",
    "read": "Reading",
    "answer": "Answer",
}
"""The phases of a question and the names of their columns."""

_GRAPH_SIZES: Mapping[str, str] = {
    "key_elements": "Nodes avg.",
    "facts": "Facts avg.",
    "neighbors_per_element": "Neighbors a node, avg. avg.",
    "most_neighbors": "Neighbors, avg. max.",
    "facts_per_element": "Facts a node, avg. avg.",
    "most_facts": "Facts, avg. max.",
}
"""The sizes of a reading's graph and the names of their columns."""

_OTHER_PHASES = {*BUILDING, "rate"}  # phases that are no part of the cost of a question


@dataclass(frozen=True, slots=True)
class Results:
    """The lines of an evaluation's files, and the content of `run.json`.

    `building` maps the name of a graph (or pages, or gists) to the tokens that it cost.
    """

    lines: Sequence[Line]
    equal: Sequence[Line]
    run: Mapping[str, Any]
    building: Mapping[str, int] = field(default_factory=dict)


def read_results(folder: Path) -> Results:
    """Read the results folder of an evaluation. Raises UsageError with the file and its fault."""
    lines = _read_lines(folder / READINGS, _READING_KEYS)
    if not lines:
        raise UsageError(
            f"There are no readings in {folder / READINGS}: name a folder that "
            "`graphreader evaluate --out` filled."
        )
    equal = _read_lines(folder / EQUAL_READING, _RANKING_KEYS)
    building: Counter[str] = Counter()
    for line in _lines(folder / BUILDING_COSTS, BUILDING_KEYS):
        building[line["name"]] += Usage(**line["usage"]).tokens
    return Results(lines, equal, read_run(folder), building)


_RANKING = ("dataset", "length", "reader", "against", "tokens_read", "k")
_READING_KEYS = (REQUIRED - {"digest"}) | {"answered", "documents_cited"}
_RANKING_KEYS = frozenset((*_RANKING, "id", "documents_read", "gold_documents"))
_KEY = ("dataset", "id", "length", "reader", "model", "repeat", "against")


def _read_lines(path: Path, keys: frozenset[str]) -> list[Line]:
    """Read the lines of a file; of several lines with one key the last. Raises UsageError."""
    lines = _lines(path, keys)
    return list({tuple(line.get(name) for name in _KEY): line for line in lines}.values())


def _lines(path: Path, keys: frozenset[str]) -> Iterable[Line]:
    return (line for line, _ in complete_lines(path, keys)) if path.is_file() else ()


def readings_frame(
    lines: Sequence[Line], building: Mapping[str, int], mode: str = "paper"
) -> "DataFrame":
    """Make the DataFrame of readings. Raises UsageError without pandas.

    `mode` is the mode of the reader "graphreader"; `whole` marks readings of mode `paper` without
    an ablation.
    """
    pandas = import_extra("pandas", "A report")
    ids = [line["id"] for line in lines]
    numbers = [{**_scores(line), **_amounts(line, building)} for line in lines]
    properties = pandas.DataFrame([_properties(line) for line in lines], index=ids)
    properties["whole"] = properties["reader"].isin([PAPER, *[DEFAULT] * (mode == "paper")])
    return pandas.concat([properties, pandas.DataFrame(numbers, index=ids, dtype=float)], axis=1)


def equal_budget_frame(equal: Sequence[Line]) -> "DataFrame":
    """Make the DataFrame of rankings with equal token budgets, with `evidence.fcr` of each."""
    fcrs = [evidence.fcr(one["documents_read"], one["gold_documents"]) for one in equal]
    return import_extra("pandas", "A report").DataFrame(
        {**{name: [one[name] for one in equal] for name in _RANKING}, "FCR": fcrs},
        index=[one["id"] for one in equal],
    )


_KEYS: Mapping[str, Any] = {
    **{"dataset": "", "length": NATIVE, "reader": "", "model": "", "repeat": 0},
    **{"subset": "", "window": 0, "recall": None, "facts_recall": None, "corpus": ""},
}
"""The keys of a line that become columns, with their defaults."""


def _properties(line: Line) -> dict[str, Any]:
    reader = line["reader"]
    sweep = re.match(SWEEP_NAME, reader)
    failed = line["error"] is not None
    return {
        **{name: line.get(name, default) for name, default in _KEYS.items()},
        "set": set_name(line["dataset"], line["length"]),
        "reads_pages": bool(page_reader(reader)),
        "sweep": sweep[1] if sweep else "",
        "number": int(sweep[2]) if sweep else 0,
        "contexts": line.get("contexts", "documents") if line.get("documents", 1) > 1 else "single",
        "options": False,
        "answerable": line.get("answerable", True),
        "listed": bool(line.get("items")) or line.get("count") is not None,
        "study": is_study(reader),
        "failed": failed,
        "unanswered": failed and line["em"] is not None,  # though it has an answer
        "is_ablation": is_study(reader) and not sweep,
        "chosen": line.get("choice") is not None,
        "gold": bool(line["gold_documents"]),
        "unpriced": bool(line["usage"].get("unpriced")),
        "graph": bool(line.get("graph")),
        "called": bool(line.get("paths")),
        "paths": line.get("paths") or (),
    }


def _scores(line: Line) -> dict[str, float | None]:
    """The scores of a reading, from 0 to 1, by the names of their columns."""
    choice, rouge = line.get("choice"), line.get("rouge") or {}
    gold, rating = line["gold_documents"], line.get("rating")
    counts = line.get("recall") or {}
    answerable, refused = line.get("answerable", True), _is_refusal(line)
    return {
        "Answered": line["answered"],
        "Right": _is_right(line),
        "Refusal precision": not answerable if refused else None,
        "Refusal recall": None if answerable else refused,
        **_item_scores(line.get("items")),
        "Exact count": line.get("count"),
        "LR-1": None if rating is None else rating == "exact",
        "LR-2": None if rating is None else rating != "no",
        "EM": line["em"],
        "F1": line["f1"],
        "F1*": line.get("f1_star"),
        "Accuracy": choice,
        "Accuracy or EM": line["em"] if choice is None else choice,
        "Accuracy or F1": line["f1"] if choice is None else choice,
        **{f"ROUGE-{kind}": rouge.get(kind) for kind in ("1", "2", "L")},
        "Document recall": evidence.document_recall(line["documents_read"], gold),
        "Chunk recall": line.get("chunk_recall"),
        "FCR": evidence.fcr(line["documents_read"], gold),
        "Citation precision": evidence.citation_precision(line["documents_cited"], gold),
        "recall, rated": _quotient(counts.get("rated")),
        "recall, by words": _quotient(counts.get("strings")),
    }


def _is_refusal(line: Line) -> bool:
    """Whether a reader said that the texts do not have the answer; a failure is no refusal."""
    return not line["answered"] and line["error"] is None


_RIGHT_LIST = 0.9
"""The least F1 by item of a list that counts as a right answer."""


def _item_scores(items: Mapping[str, int] | None) -> dict[str, float | None]:
    """Precision, recall and F1 of the items of a list; an answer without items has 0."""
    names = ("Item precision", "Item recall", "Item F1")
    if not items:
        return dict.fromkeys(names)
    found, named, gold = items["found"], items["named"], items["gold"]
    return dict(
        zip(names, (found / (named or 1), found / gold, 2 * found / (named + gold)), strict=True)
    )


def _is_right(line: Line) -> bool | None:
    """Whether an answer is right; None if no right answer is known.

    Right is a refusal where the texts have no answer, else the option, the exact count, the items
    of a list (`_RIGHT_LIST`), the raters' verdict, or an exact match: the first that is measured.
    """
    if not line.get("answerable", True):
        return _is_refusal(line)
    if (right := line.get("choice")) is None:
        right = line.get("count")
    if right is None and line.get("items"):
        right = (_item_scores(line["items"])["Item F1"] or 0) >= _RIGHT_LIST
    if right is None and line.get("rating") is not None:
        right = line["rating"] == "exact"
    return line["em"] == 1 if right is None and line["em"] is not None else right


def _amounts(line: Line, building: Mapping[str, int]) -> dict[str, float | None]:
    """The amounts of a reading (tokens, seconds, ...) by column; NaN for a failed reading."""
    compression, size = line.get("compression") or {}, line.get("record_tokens") or None
    built = line.get("built")
    phases = {phase: Usage(**usage) for phase, usage in line.get("phases", {}).items()}
    cost = _question_cost(line, phases)
    amounts = {
        "Tokens read": line["tokens_read"],
        "Of the record": line["tokens_read"] / size if size else None,
        "Seconds": line["seconds"],
        "Tokens a question": cost.tokens,
        "Calls": cost.calls,
        "Dollars": cost.dollars,
        "Building a text": sum(building.get(name, 0) for name in built) if built else None,
        **{name: phases.get(phase, Usage()).tokens for phase, name in PHASES.items()},
        "Compression, gists": compression.get("gists"),
        "Compression, at the question": compression.get("final_query"),
        "Pages looked up": line.get("pages_looked_up"),
    }
    if line["error"] is not None:
        amounts = dict.fromkeys(amounts)
    sizes = {name: (line.get("graph") or {}).get(key) for key, name in _GRAPH_SIZES.items()}
    return {**amounts, **sizes, "Context": line.get("gpt4_tokens")}


def _quotient(counts: Sequence[int] | None) -> float | None:
    return counts[0] / counts[1] if counts and counts[1] else None


def _question_cost(line: Line, phases: Mapping[str, Usage]) -> Usage:
    """The usage of a question: all phases but rating and building, with task-aware gists."""
    other = _OTHER_PHASES - {"gist"} if TASK_AWARE in line["reader"] else _OTHER_PHASES
    spent = [usage for phase, usage in phases.items() if phase not in other]
    return sum(spent, Usage()) if spent else Usage(**line["usage"])


def with_options(section: "DataFrame") -> "DataFrame":
    """Mark the questions that have options, as a failed reading alone does not show them."""
    chosen = section["Accuracy"].notna()
    free = section.index[~chosen & ~section["failed"]]
    return section.assign(options=bool(chosen.any()) & ~section.index.isin(free))


def main_measure(group: "DataFrame") -> str:
    """Choose the column by which readers of a dataset are compared: the first without gaps.

    LR-1, else accuracy (and F1 without options), else LV-Eval's F1*, else F1.
    """
    sound = group[~group["failed"]]
    rated = sound[sound["LR-1"].notna()]
    readers = set(zip(sound["reader"], sound["model"], strict=True))
    with_rating = set(zip(rated["reader"], rated["model"], strict=True))
    if with_rating and with_rating == readers:
        return "LR-1"
    if sound["Accuracy"].notna().nunique() > 1:
        return "Accuracy or F1"
    complete = (name for name in ("Accuracy", "F1*") if len(sound) and sound[name].notna().all())
    return next(complete, "F1")


def recall_measure(section: "DataFrame") -> str:
    """Choose the measure of recall: of facts by a rater or by words, else of documents.

    A missing rating is left out of a mean, and not replaced by another measure.
    """
    names = (name for name in ("recall, rated", "recall, by words") if section[name].notna().any())
    return next(names, "Document recall")


def question_means(group: "DataFrame", name: str) -> dict[str, float]:
    """The mean of a column for each question with a value; repetitions count as one question."""
    return _means_by_id(group.index, group[name])


def question_scores(group: "DataFrame", name: str) -> dict[str, float]:
    """The mean score of each question; a failed reading counts as 0 if the answer is known."""
    return _means_by_id(group.index, np.where(group["unanswered"], 0.0, group[name]))


def _means_by_id(ids: Iterable[str], values: Iterable[float]) -> dict[str, float]:
    """The mean of the values of each question; `DataFrame.groupby` takes ten times as long."""
    by_id: dict[str, list[float]] = {}
    for id_, value in zip(ids, values, strict=True):
        if value == value:  # NaN is not equal to itself
            by_id.setdefault(id_, []).append(float(value))
    return {id_: sum(values) / len(values) for id_, values in by_id.items()}


def mean(group: "DataFrame", name: str) -> Interval | None:
    """The mean of a column over questions, with its 95 % interval; None without values."""
    return mean_interval(question_means(group, name).values())


def score(group: "DataFrame", name: str) -> Interval | None:
    """The mean score over questions, with its 95 % interval; None if no reading has a score."""
    if np.isnan(group[name].to_numpy()).all():
        return None
    return mean_interval(question_scores(group, name).values())


def average(group: "DataFrame", name: str) -> float | None:
    """The mean of a column over readings with a value."""
    values = group[name].dropna()
    return float(sum(values) / len(values)) if len(values) else None


def fitting_score(group: "DataFrame", name: str) -> Interval | None:
    """The mean score over the questions with options (accuracy) or without (other scores)."""
    if group["options"].any():
        group = group[group["options"] == (name == "Accuracy")]
    return score(group, name)


_LEAST_GOLDEN = 0.1  # a share is shown from this lower bound of golden's score on


def share_of_golden(group: "DataFrame", _: str) -> float | None:
    """The score as a share of golden's score over common questions; None if that is too low."""
    own, golden = question_scores(group, "Accuracy or F1"), question_means(group, "golden")
    both = [id_ for id_ in golden if id_ in own]
    whole = mean_interval(golden[id_] for id_ in both)
    if whole is None or whole.low < _LEAST_GOLDEN:
        return None
    return sum(own[id_] for id_ in both) / sum(golden[id_] for id_ in both)


def value(group: "DataFrame", name: str) -> Any:
    """The value of a column in which all readings of the group are equal."""
    first = group[name].iat[0]
    return first.item() if isinstance(first, np.generic) else first


def building(group: "DataFrame", name: str) -> float | None:
    """The mean over texts of the cost of building; None in place of 0."""
    known = group[group[name].notna()]
    return nonzero(known[~known["corpus"].duplicated()], name)


def question_average(group: "DataFrame", name: str) -> float | None:
    """The mean of a column over questions, each counted once."""
    values = question_means(group, name).values()
    return sum(values) / len(values) if values else None


def questions(group: "DataFrame", name: str = "") -> int:
    """The number of different questions."""
    return int(group.index.nunique())


_READER_ORDER = (
    *("rag-bm25", "rag-embedding", "rag-pages-bm25", "rag-pages-embedding", "rag-gists"),
    *("full-text", "chunk-read", "gistmem", "read-agent-p", "read-agent-s", "lightrag"),
    *("search-agent", "graphreader", "golden"),
)


def reader_position(reader: str) -> tuple[int, str, tuple[int, ...]]:
    """The sort key of a reader: retrieval, full text, ReadAgent, agents, GraphReader, golden."""
    kinds = (at for at, kind in enumerate(_READER_ORDER) if reader.startswith(kind))
    numbers = tuple(map(int, re.findall(r"\d+", reader)))
    # The paper's mode stands before the default, next to the paper's figures.
    name = "" if reader == PAPER else re.sub(r"\d+", "", reader)
    return next(kinds, len(_READER_ORDER)), name, numbers


def length_position(length: str) -> int:
    """The sort key of a length such as 64k; native texts come first."""
    if length == NATIVE:
        return 0
    return int(length.removesuffix("k")) * (1000 if length.endswith("k") else 1)


_POSITIONS: Mapping[str, Callable[[Any], Any]] = {
    "reader": reader_position,
    "length": length_position,
    "number": int,
}


def grouped(frame: "DataFrame", *columns: str) -> list["DataFrame"]:
    """Group readings by columns; readers are sorted as in the papers, lengths ascending."""
    keys = [_POSITIONS.get(name, str) for name in columns]

    def position(group: tuple[Sequence[Any], "DataFrame"]) -> list[Any]:
        return [key(value) for key, value in zip(keys, group[0], strict=True)]

    groups = frame.groupby(list(columns), sort=False)
    return [group for _, group in sorted(groups, key=position)]


def page_reader(reader: str) -> str:
    """The name of a page reader without its number of pages; "" for other readers."""
    match = re.match("read-agent|gistmem|rag-(?:pages|gists)-(?:bm25|embedding)|full-text", reader)
    return match[0] if match else ""


def window_name(tokens: int) -> str | None:
    """Format a window as in the paper: `4k` for 4,096, `128k` for 128,000; None if unknown."""
    if tokens < 1000:
        return str(tokens) if tokens else None
    unit = 1000 if tokens % 1000 == 0 else 1024
    return f"{tokens / unit:g}k"


def set_name(dataset: str, length: str) -> str:
    """Format a dataset with its length: `hotpotqa` or `hotpotqa, 64k`."""
    return dataset if length == NATIVE else f"{dataset}, {length}"


def window(group: "DataFrame", _: str = "") -> str | None:
    """The window of a group's reader, formatted as in the paper."""
    return window_name(value(group, "window"))


def a_right_answer(group: "DataFrame", name: str) -> float | None:
    """The sum of a column over all readings for each right answer; None without one, or for 0."""
    known = group[group["Right"].notna()]
    rights = known["Right"].sum()
    return float(known[name].sum() / rights) or None if rights else None


def nonzero(group: "DataFrame", name: str) -> float | None:
    """The mean of a column over readings; None in place of 0."""
    return average(group, name) or None


def greatest(group: "DataFrame", name: str) -> float | None:
    """The greatest value of a column."""
    sizes = group[name].dropna()
    return None if sizes.empty else float(sizes.max())
