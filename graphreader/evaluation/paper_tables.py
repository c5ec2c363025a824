"""What the papers' tables print, as data; never ours, and never mixed with ours.

Only printed numbers stand there: of figures 1, 3, 4 and 5 the paper prints none but what its text
says. Percentages of the tables are given as shares, 0 to 1, as ours are.

Answer quality of every reader on every dataset and length (paper, tables 2 and 3).

How readers keep up as texts grow: score (paper, figure 1) and recall (figure 5) by length.

Whether readers find the evidence: by documents, and against retrieval that may read as much.

How many supporting facts stand in what a reader answered from (paper, table 6, appendix E).

GraphReader with one thing changed: ablations (paper, table 4) and sweeps (figures 3 and 4).

What an answer costs (paper, table 5): tokens a question, phase by phase; building apart.

Which functions the paths called at which stage (paper, appendix F and table 7).

How large the texts and their graphs are (paper, tables 1 and 8).

ReadAgent's own tables: compression, pages looked up, and what they bring (its tables 1 to 4).

How much scores move when the same is asked again, or of another model.

GraphReader against every other reader, question by question.

All tables of an evaluation, in the order of a report.

Two names of one reader: GraphReader in its usual mode is also the reader of that mode.
"""

import json
import re
import statistics
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib.resources import files
from typing import Any

from graphreader.baselines.read_agent.reader import TASK_AWARE
from graphreader.evaluation import tables
from graphreader.evaluation.metrics import evidence
from graphreader.evaluation.metrics.evidence import (
    FactRecall,
    Interval,
    compare,
    fact_wise,
    mean_interval,
    sample_wise,
)
from graphreader.evaluation.scoring import STAGES, Stage
from graphreader.evaluation.tables import (
    MODEL,
    NATIVE,
    Cell,
    Column,
    EqualReading,
    Line,
    Measure,
    PathTold,
    Recall,
    Results,
    Row,
    Section,
    Table,
    answered,
    average,
    by_question,
    choice,
    chunk_recall,
    citation_precision,
    document_recall,
    exact,
    f1,
    f1_star,
    fcr,
    has_printed,
    jsr,
    lr1,
    lr2,
    main_measure,
    mean,
    measured_by,
    number,
    option_or_f1,
    questions,
    rouge,
    score,
    scored,
    seconds,
    share_read,
    tokens_read,
    what_is_right,
    with_options,
)
from graphreader.settings import OFFLINE
from graphreader.usage import BUILDING, Usage


@cache
def _papers() -> Mapping[str, Any]:
    return json.loads(files(__package__).joinpath("papers_figures.json").read_text("utf-8"))  # type: ignore[no-any-return]


def graphreader(what: str) -> Any:
    """A part of what the GraphReader paper prints: "table_2", "source", ..."""
    return _papers()["graphreader"][what]


def read_agent(what: str) -> Any:
    """A part of what the ReadAgent paper prints: "quality", "narrativeqa", "qmsum", "source"."""
    return _papers()["read_agent"][what]


def set_of(dataset: str) -> str:
    """The name by which the GraphReader paper's figures of this dataset stand here, or empty."""
    names: Mapping[str, Sequence[str]] = graphreader("names")
    return next((name for name, ours in names.items() if dataset in ours), "")


def is_same_set(dataset: str) -> bool:
    """Whether it is the paper's very set, LongBench's sample or LV-Eval's, not just its origin."""
    return dataset in graphreader("same")


def as_share(percent: float | None) -> float | None:
    """A printed percentage as a share."""
    return None if percent is None else round(percent / 100, 6)


NO_RATERS = "LR-1 and LR-2 are a model's ratings: no rater was asked here."

_SCORES: Mapping[str, Measure] = {
    "LR-1": lr1,
    "LR-2": lr2,
    "EM": exact,
    "F1": f1,
    "F1*": f1_star,
    "Accuracy": choice,
    "ROUGE-1": rouge("1"),
    "ROUGE-2": rouge("2"),
    "ROUGE-L": rouge("L"),
}

_ROUGE = ("ROUGE-1", "ROUGE-2", "ROUGE-L")

_FREE_WORDS = ("narrativeqa", "qmsum", "loogle")
"""Sets whose answers are free words, which their papers measure by ROUGE."""

_MISSING = {"LR-1": NO_RATERS, "LR-2": NO_RATERS}

_LEAST = 0.1
"""What golden must have for sure, that a share of it may say something."""


def scores(lines: Sequence[Line]) -> Table:
    """The main table: one section a dataset and length; ablations and sweeps have their own."""
    kept = [line for line in lines if not tables.is_studied(line.reader)]
    columns = (
        Column("Reader"),
        MODEL,
        Column("Window"),
        Column("n", "count"),
        Column("Answered", "percent"),
        *(Column(name, "percent", True, _MISSING.get(name, "")) for name in _SCORES),
        Column("Of golden", "decimal"),
    )
    found = tables.by_set(kept)
    sections = [_section(*key, members) for key, members in found.items()]
    return Table("scores", "Scores", columns, tuple(sections), tuple(_notes(kept, found)))


def _section(dataset: str, length: str, lines: Sequence[Line]) -> Section:
    names = _names(dataset)
    options = with_options(lines)
    printed = printed_scores(dataset, length)
    paper = {row["reader"]: _paper_row(row, printed) for row in printed["rows"]}
    placed = []
    for (reader, model), members in tables.by_reader(lines).items():
        golden = [line for line in lines if (line.reader, line.model) == (tables.GOLDEN, model)]
        row = Row.of(
            reader,
            model,
            tables.window(members[0].window),
            questions(members),
            score(members, answered),
            *(
                score(measured_by(name, members, options), measure) if name in names else None
                for name, measure in _SCORES.items()
            ),
            _relative(members, golden),
            ranked=reader != tables.GOLDEN,
            n=questions(members),
        )
        placed.append((tables.place(reader), 0, row))
    placed += [(tables.place(reader), 1, row) for reader, row in paper.items()]
    rows = [row for *_, row in sorted(placed, key=lambda one: one[:2])]
    return Section(tables.set_name(dataset, length), tuple(rows))


def _names(dataset: str) -> list[str]:
    """The scores by which this dataset may be measured."""
    in_words = any(name in dataset for name in _FREE_WORDS)
    return [name for name in _SCORES if in_words or name not in _ROUGE]


def _relative(lines: Sequence[Line], golden: Sequence[Line]) -> float | None:
    """The score as a share of what the same model has with the supporting facts given.

    Over the questions that both were asked; None where that is next to nothing.
    """
    own = scored(lines, option_or_f1)
    best = scored(golden, option_or_f1)
    both = [id_ for id_ in best if id_ in own]
    whole = mean_interval(best[id_] for id_ in both)
    if whole is None or whole.low < _LEAST:
        return None
    return sum(own[id_] for id_ in both) / sum(best[id_] for id_ in both)


def printed_scores(dataset: str, length: str) -> Mapping[str, Any]:
    """The paper's table 2 or 3 for this dataset and length: its columns and rows, perhaps none."""
    name = set_of(dataset)
    table = graphreader("table_3" if length != NATIVE else "table_2")
    key = name if length == NATIVE else length
    if not name or (length != NATIVE and name != "hotpotwikiqa-mixup"):
        return {"columns": [], "rows": []}
    rows = [{**row, "scores": row["scores"][key]} for row in table["rows"] if key in row["scores"]]
    return {"columns": table["columns"], "rows": rows}


def _paper_row(row: Mapping[str, Any], printed: Mapping[str, Any]) -> Row:
    columns = printed["columns"]
    told = dict(zip(columns, map(as_share, row["scores"]), strict=True))
    golden = next((one for one in printed["rows"] if one["reader"] == tables.GOLDEN), None)
    relative = None
    if golden is not None:
        whole = golden["scores"][columns.index("F1")]
        relative = row["scores"][columns.index("F1")] / whole
    told_cells = (Cell(told.get(name)) for name in _SCORES)
    return Row.of(
        f"paper: {row['label']}", None, row["window"], None, None, *told_cells, relative, paper=True
    )


def _notes(lines: Sequence[Line], found: Mapping[tuple[str, str], Sequence[Line]]) -> list[str]:
    notes = [
        "In brackets the 95 % interval (bootstrap over questions). Best of ours in bold, second "
        "best underlined; golden takes no part.",
    ]
    if any(line.reader == tables.GOLDEN for line in lines):
        notes.append(
            "Of golden: F1 (accuracy where there are options) as a share of what the same model "
            "has when the supporting facts are given; left out where the interval of that begins "
            f"below {100 * _LEAST:.0f}, for a share of next to nothing says nothing."
        )
    notes += _of_two_kinds(found)
    if any(printed_scores(*key)["rows"] for key in found):
        notes += _of_the_paper([dataset for dataset, _ in found])
        notes += _slips(found)
    if failed := sum(line.error is not None for line in lines):
        many = "1 reading" if failed == 1 else f"{failed:,} readings"
        notes.append(f"{many} failed: unanswered, with scores of 0.")
    uneven = [
        tables.set_name(*key)
        for key, members in found.items()
        if len({frozenset(line.id for line in one) for one in tables.by_reader(members).values()})
        > 1
    ]
    if uneven:
        notes.append(f"Not all readers were asked the same questions: {'; '.join(uneven)}.")
    return notes


def _of_two_kinds(found: Mapping[tuple[str, str], Sequence[Line]]) -> list[str]:
    """Which sets have questions with options and others, and how many of each."""
    told = []
    for key, lines in found.items():
        chosen = len(with_options(lines))
        if 0 < chosen < questions(lines):
            rest = questions(lines) - chosen
            told.append(
                f"{tables.set_name(*key)}: accuracy over {chosen:,} questions with options, EM, "
                f"F1, F1* and ROUGE over {rest:,} without; LR-1 and LR-2 over all."
            )
    return told


def _slips(keys: Iterable[tuple[str, str]]) -> list[str]:
    """What the paper prints that cannot be: an exact match is a partial one as well."""
    found = [
        f"{tables.set_name(*key)}: {row['label']}"
        for key in keys
        for row in printed_scores(*key)["rows"]
        if row["scores"][0] > row["scores"][1]
    ]
    if not found:
        return []
    return [f"As printed, though LR-2 cannot be less than LR-1: {'; '.join(found)}."]


def _of_the_paper(datasets: Sequence[str]) -> list[str]:
    notes = [f"In italics tables 2 and 3 of the {graphreader('source')}."]
    others = sorted({one for one in datasets if set_of(one) and not is_same_set(one)})
    if others:
        notes.append(
            f"The paper read LongBench's samples, whose texts are other ones than those of "
            f"{', '.join(others)} here (table 1): its figures are a bearing, no comparison."
        )
    return notes


Measured = Callable[[Sequence[Line]], Interval | None]


def score_by_length(lines: Sequence[Line]) -> Table | None:
    """Figure 1: the main score of each dataset at each of its lengths."""
    return _by_length(lines, "score_by_length", "Score by length (figure 1)", _score, _printed)


def recall_by_length(lines: Sequence[Line]) -> Table | None:
    """Figure 5: recall of supporting facts, by a rater or by strings; else of gold documents."""
    notes = [f"The paper's figure 5: {graphreader('figure_5')}"]
    title = "Recall by length (figure 5)"
    return _by_length(lines, "recall_by_length", title, _recall, lambda *_: [], notes)


def _by_length(
    lines: Sequence[Line],
    name: str,
    title: str,
    measured: Callable[[Sequence[Line]], tuple[str, Measured]],
    printed: Callable[[str, str, Sequence[str]], list[Row]],
    notes: Sequence[str] = (),
) -> Table | None:
    """A table with a column a length, of the datasets that were read at several lengths."""
    kept = [line for line in lines if not tables.is_studied(line.reader)]
    datasets = tables.grouped(kept, lambda line: line.dataset)
    several = {
        dataset: members
        for dataset, members in sorted(datasets.items())
        if len({line.length for line in members}) > 1
    }
    lengths = sorted(
        {line.length for members in several.values() for line in members}, key=tables.size
    )
    sections = []
    for dataset, members in several.items():
        what, measure = measured(members)
        rows = _rows(members, lengths, measure) + printed(dataset, what, lengths)
        if any(cell.value is not None for row in rows for cell in row.cells[3:]):
            sections.append(Section(f"{dataset}: {what}", tuple(rows)))
    if not sections:
        return None
    columns = (
        Column("Reader"),
        MODEL,
        Column("Window"),
        *(Column(one, "percent", True) for one in lengths),
    )
    if has_printed(sections):
        notes = [*notes, f"In italics table 3 of the {graphreader('source')}."]
    return Table(name, title, columns, tuple(sections), tuple(notes))


def _rows(lines: Sequence[Line], lengths: Sequence[str], measure: Measured) -> list[Row]:
    rows = []
    for (reader, model), members in tables.by_reader(lines).items():
        at = tables.grouped(members, lambda line: line.length)
        rows.append(
            Row.of(
                reader,
                model,
                tables.window(members[0].window),
                *(_cell(measure, at.get(one, ())) for one in lengths),
                ranked=reader != tables.GOLDEN,
            )
        )
    return rows


def _cell(measure: Measured, lines: Sequence[Line]) -> Cell:
    return Cell.of(measure(lines), questions(lines)) if lines else Cell()


def _score(lines: Sequence[Line]) -> tuple[str, Measured]:
    name, measure = main_measure(lines)
    return name, partial(score, measure=measure)


def _recall(lines: Sequence[Line]) -> tuple[str, Measured]:
    for name, measure in (("recall, rated", _rated), ("recall, by words", _by_words)):
        if all(line.error or measure(line) is not None for line in lines):
            return name, partial(score, measure=measure)
    return "document recall", partial(mean, measure=document_recall)


def _rated(line: Line) -> float | None:
    return _share(line.recall.rated if line.recall else None)


def _by_words(line: Line) -> float | None:
    return _share(line.recall.strings if line.recall else None)


def _share(counted: tuple[int, int] | None) -> float | None:
    return counted[0] / counted[1] if counted and counted[1] else None


def _printed(dataset: str, what: str, lengths: Sequence[str]) -> list[Row]:
    """The paper's rows, where it prints the same score."""
    found: dict[str, dict[str, Cell]] = {}
    windows: dict[str, str] = {}
    for length in lengths:
        told = printed_scores(dataset, length)
        if length == "native" or what not in told["columns"]:
            continue
        at = told["columns"].index(what)
        for row in told["rows"]:
            found.setdefault(row["label"], {})[length] = Cell(as_share(row["scores"][at]))
            windows[row["label"]] = row["window"]
    return [
        Row.of(
            f"paper: {label}",
            None,
            windows[label],
            *(cells.get(one, Cell()) for one in lengths),
            paper=True,
        )
        for label, cells in found.items()
    ]


def pairs(lines: Sequence[Line]) -> Table | None:
    """By the main measure of a set, and by FCR where evidence is known; None without a pair.

    Readers of the same model are paired; ablations and sweeps have a table of their own.
    """
    kept = [line for line in lines if not tables.is_studied(line.reader)]
    sections = [
        Section(tables.set_name(*key), tuple(rows))
        for key, members in tables.by_set(kept).items()
        if (rows := _pair_rows(members))
    ]
    if not sections:
        return None
    columns = (
        Column("Reader"),
        Column("Against"),
        MODEL,
        Column("Measure"),
        Column("n", "count"),
        Column("Mean of reader", "percent"),
        Column("Mean of the other", "percent"),
        Column("Difference", "percent"),
        Column("p", "decimal"),
        Column("Better / same / worse"),
    )
    notes = (
        "Over the questions that both were asked. The difference is paired: question by question, "
        "with its 95 % interval; p by flipping signs, each pair by itself (the more pairs, the "
        "more small p by chance).",
    )
    return Table("pairs", "Reader against reader", columns, tuple(sections), notes)


def paired(own: Mapping[str, float], other: Mapping[str, float]) -> tuple[Cell, ...]:
    """Two readers over the questions that both have, by the questions' ids.

    Six cells: how many questions, both means, the difference, p, and better / same / worse.
    """
    found = compare(own, other)
    if found is None:
        return Cell(0), *[Cell()] * 5
    both = own.keys() & other.keys()
    return (
        Cell(len(both)),
        Cell.of(mean_interval(own[id_] for id_ in own if id_ in both)),
        Cell.of(mean_interval(other[id_] for id_ in other if id_ in both)),
        Cell.of(found.difference),
        Cell(found.p),
        Cell(f"{found.wins} / {found.ties} / {found.losses}"),
    )


def _pair_rows(lines: Sequence[Line]) -> list[Row]:
    """Of one dataset and length: all pairs by the main measure, then all by FCR."""
    name, measure = main_measure(lines)
    readers = tables.by_reader(lines)
    by_measure = {
        name: {key: scored(told, measure) for key, told in readers.items()},
        "FCR": {key: by_question(told, fcr) for key, told in readers.items()},
    }
    return [
        Row.of(reader, other, model, told, *paired(own, values[other, model]))
        for told, values in by_measure.items()
        for reader, other, model in _opponents(list(readers))
        if (own := values[reader, model]).keys() & values[other, model].keys()
    ]


def _opponents(readers: Sequence[tuple[str, str]]) -> list[tuple[str, str, str]]:
    """(GraphReader, other reader, model) of readers with their models, in the readers' order."""
    found = []
    for model in dict.fromkeys(model for _, model in readers):
        names = [name for name, its in readers if its == model]
        ours = [name for name in names if name.startswith(tables.DEFAULT)]
        reader = tables.DEFAULT if tables.DEFAULT in ours else next(iter(ours), None)
        if reader:
            found += [(reader, name, model) for name in names if name != reader]
    return found


_RECALLS = (document_recall, chunk_recall, fcr)


def found_evidence(lines: Sequence[Line]) -> Table | None:
    """Retrieval quality; None where no dataset names its evidence."""
    kept = [line for line in lines if line.gold_documents and not tables.is_studied(line.reader)]
    found = tables.by_set(kept)
    if not found:
        return None
    columns = (
        Column("Reader"),
        MODEL,
        Column("Window"),
        Column("n", "count"),
        Column("Document recall", "percent", True),
        Column("Chunk recall", "percent", True),
        Column("FCR", "percent", True),
        Column("JSR", "percent", True),
        Column("Citation precision", "percent", True),
        Column("Tokens read", "tokens"),
        Column("Of the record", "percent"),
        Column("Seconds", "seconds"),
    )
    sections = [
        Section(tables.set_name(*key), tuple(_evidence_rows(members)))
        for key, members in found.items()
    ]
    notes = (
        "Chunk recall: the share of supporting sentences that stand in what was read in full.",
        "FCR: the share of questions all of whose gold documents were read in full.",
        *_on_jsr(found),
        "Citation precision is the mean over readings that cite anything.",
    )
    return Table("evidence", "Evidence found", columns, tuple(sections), notes)


def _on_jsr(found: Mapping[tuple[str, str], Sequence[Line]]) -> list[str]:
    """What JSR is, and by which measure it was counted in which set."""
    sets: dict[str, list[str]] = {}
    for key, lines in found.items():
        sets.setdefault(what_is_right(lines)[0], []).append(tables.set_name(*key))
    told = "; ".join(
        f"by {by}" + (f", in {', '.join(names)}" if len(sets) > 1 else "")
        for by, names in sets.items()
    )
    notes = [f"JSR: those of them that were answered rightly as well, {told}."]
    if any(line.model == OFFLINE and line.choice is None for one in found.values() for line in one):
        notes.append("Answers without a model are whole sentences, hardly ever an exact match.")
    return notes


def _evidence_rows(lines: Sequence[Line]) -> list[Row]:
    right = what_is_right(lines)[1]
    return [
        Row.of(
            reader,
            model,
            tables.window(members[0].window),
            questions(members),
            *(mean(members, one) for one in (*_RECALLS, jsr(right), citation_precision)),
            *(average(map(one, members)) for one in (tokens_read, share_read, seconds)),
            ranked=reader != tables.GOLDEN,
            n=questions(members),
        )
        for (reader, model), members in tables.by_reader(lines).items()
    ]


def equal_reading(lines: Sequence[Line], equal: Sequence[EqualReading]) -> Table | None:
    """FCR of a reader, and of retrieval that reads as much for each question; None without any.

    For each question retrieval takes the smallest k whose tokens reach the reader's.
    """
    sections = []
    by_set = tables.by_set(lines)
    for key, members in by_set.items():
        rows = []
        told = [one for one in equal if (one.dataset, one.length) == key]
        for against, reader in dict.fromkeys((one.against, one.reader) for one in told):
            ours = [line for line in members if line.reader == against and line.gold_documents]
            theirs = [one for one in told if (one.against, one.reader) == (against, reader)]
            if ours and theirs:
                rows.append(_compared(against, reader, ours, theirs))
        if rows:
            sections.append(Section(tables.set_name(*key), tuple(rows)))
    if not sections:
        return None
    columns = (
        Column("Reader"),
        Column("Window"),
        Column("Retrieval"),
        Column("n", "count"),
        Column("FCR of reader", "percent"),
        Column("FCR of retrieval", "percent"),
        Column("Difference", "percent"),
        Column("p", "decimal"),
        Column("Better / same / worse"),
        Column("Tokens of reader", "tokens"),
        Column("Tokens of retrieval", "tokens"),
        Column("k", "decimal"),
    )
    notes = (
        "For each question retrieval takes the smallest k whose tokens reach those that the reader "
        "was shown. The difference is paired: question by question, with its 95 % interval; p by "
        "flipping signs.",
    )
    return Table("equal_reading", "FCR at equal reading", columns, tuple(sections), notes)


def _compared(
    against: str, retrieval: str, ours: Sequence[Line], theirs: Sequence[EqualReading]
) -> Row:
    gold = {line.id: line.gold_documents for line in ours}
    own = by_question(ours, fcr)
    other = by_question(theirs, lambda one: evidence.fcr(one.documents_read, gold.get(one.id, ())))
    both = own.keys() & other.keys()
    return Row.of(
        against,
        tables.window(ours[0].window),
        retrieval,
        *paired(own, other),
        average(tokens_read(line) for line in ours if line.id in both),
        average(one.tokens_read for one in theirs if one.id in both),
        average(one.k for one in theirs if one.id in both),
    )


_NO_RATER = "Rated recall is a model's: no rater was asked here."


def recalls(lines: Sequence[Line]) -> Table | None:
    """Table 6: recall fact by fact and sample by sample; None where no facts are known."""
    kept = [line for line in lines if not tables.is_studied(line.reader)]
    sections = []
    for key, members in tables.by_set(kept).items():
        rows = [
            row
            for (reader, model), own in tables.by_reader(members).items()
            for row in _recall_rows(reader, model, own)
        ]
        if rows:
            sections.append(Section(tables.set_name(*key), (*rows, *_printed_recall(*key))))
    if not sections:
        return None
    columns = (
        Column("Reader"),
        MODEL,
        Column("Window"),
        Column("Text"),
        Column("n", "count"),
        Column("SF-wise, rated", "percent", missing=_NO_RATER),
        Column("Sample-wise, rated", "percent", missing=_NO_RATER),
        Column("SF-wise, by words", "percent"),
        Column("Sample-wise, by words", "percent"),
        Column("FCR", "percent"),
    )
    notes = [
        "SF-wise: covered facts of all facts; sample-wise: questions all of whose facts are "
        "covered; FCR: questions all of whose gold documents were read. By words: a fact is "
        "covered where its words stand close together.",
    ]
    if has_printed(sections):
        notes.append(f"In italics table 6 of the {graphreader('source')}, rated by GPT-4.")
    return Table(
        "recall", "Recall of supporting facts (table 6)", columns, tuple(sections), tuple(notes)
    )


def _recall_rows(reader: str, model: str, lines: Sequence[Line]) -> list[Row]:
    is_agent = reader.startswith("graphreader")
    told: list[tuple[str, Callable[[Line], Recall | None]]] = [
        ("atomic facts", lambda line: line.facts_recall),
        ("final notebook" if is_agent else "evidence", lambda line: line.recall),
    ]
    rows = []
    for text, recall in told:
        known = [line for line in lines if recall(line)]
        if not known:
            continue
        found = mean(known, fcr) if text != "atomic facts" else None
        n = questions(known)
        figures = (
            figure
            for kind in ("rated", "strings")
            for figure in _counted([(one.id, getattr(recall(one), kind)) for one in known], n)
        )
        window = tables.window(known[0].window)
        rows.append(Row.of(reader, model, window, text, n, *figures, found))
    return rows


def _counted(samples: Sequence[tuple[str, tuple[int, int] | None]], n: int) -> tuple[Cell, Cell]:
    """Fact-wise and sample-wise, of (id, (covered, all)); without facts it is no sample.

    `n` questions there are; where not all are counted, the cells say how many.
    """
    known = [(id_, pair) for id_, pair in samples if pair and pair[1]]
    counted = len({id_ for id_, _ in known})
    told = counted if 0 < counted < n else None
    recalls_ = [FactRecall(relevant=of, covered=covered) for _, (covered, of) in known]
    return Cell(fact_wise(recalls_), n=told), Cell(sample_wise(recalls_), n=told)


def _printed_recall(dataset: str, length: str) -> list[Row]:
    told = graphreader("table_6")
    if length != NATIVE or set_of(dataset) != told["dataset"]:
        return []
    return [
        Row.of(
            "paper: GraphReader",
            None,
            "4k",
            text,
            None,
            as_share(by_fact),
            as_share(by_sample),
            None,
            None,
            None,
            paper=True,
        )
        for text, by_fact, by_sample in told["rows"]
    ]


_SWEEP = re.compile(r"^graphreader-(nodes|chunk)-(\d{1,9})$")
_OF_BOTH = (tables.DEFAULT, tables.PAPER)

_Drops = dict[tuple[str, str, str], list[float]]
"""What was lost in each set, by reader, model and measure."""

_MEASURED = (
    Column("n", "count"),
    Column("LR-1", "percent", True, NO_RATERS),
    Column("LR-2", "percent", True, NO_RATERS),
    Column("F1", "percent", True),
    Column("FCR", "percent", True),
)


def ablations(lines: Sequence[Line]) -> Table | None:
    """Table 4: what is lost when a part of GraphReader is taken away."""
    sections = []
    drops: _Drops = {}
    for key, members in tables.by_set(lines).items():
        by_model = tables.grouped(members, lambda line: line.model)
        rows = [row for model in sorted(by_model) for row in _ablated(by_model[model], drops)]
        if rows:
            sections.append(Section(tables.set_name(*key), (*rows, *_printed_variant(*key))))
    if not sections:
        return None
    if len(sections) > 1:
        none = [None] * len(_MEASURED)
        means = [
            Row.of(reader, model, None, *none, average(told), name)
            for (reader, model, name), told in drops.items()
        ]
        sections.append(Section("Mean over these", tuple(means)))
    columns = (
        Column("Reader"),
        MODEL,
        Column("Window"),
        *_MEASURED,
        Column("Change", "percent"),
        Column("Change of"),
    )
    notes = [
        "Change: against GraphReader with all its parts, question by question, with its 95 % "
        "interval.",
    ]
    if has_printed(sections):
        mean_drop = average(_printed_drops("graphreader-random-nodes"))
        notes.append(
            f"In italics table 4 of the {graphreader('source')}; there random nodes cost "
            f"{-(mean_drop or 0) * 100:.1f} points of LR-1 on average (the text says 18)."
        )
    return Table("ablations", "Ablations (table 4)", columns, tuple(sections), tuple(notes))


def _ablated(lines: Sequence[Line], drops: _Drops) -> list[Row]:
    """Those of one model."""
    readers = tables.by_name(lines)
    changed = [
        reader for reader in readers if tables.is_studied(reader) and not _SWEEP.match(reader)
    ]
    if not changed:
        return []
    base = next((readers[name] for name in _OF_BOTH if name in readers), [])
    name, measure = main_measure([*base, *(one for reader in changed for one in readers[reader])])
    rows = []
    for reader in [*(one for one in reversed(_OF_BOTH) if one in readers), *changed]:
        members = readers[reader]
        model = members[0].model
        lost = _change(members, base, measure) if reader in changed else None
        if lost:
            drops.setdefault((reader, model, name), []).append(lost.mean)
        window = tables.window(members[0].window)
        told = (*_measured(members), lost, name if lost else None)
        rows.append(Row.of(reader, model, window, *told, n=questions(members)))
    return rows


def _change(lines: Sequence[Line], base: Sequence[Line], measure: Measure) -> Interval | None:
    found = compare(scored(lines, measure), scored(base, measure))
    return found.difference if found else None


def _measured(lines: Sequence[Line]) -> list[Interval | float | None]:
    """What `_MEASURED` names."""
    measured = (score(lines, measure) for measure in (lr1, lr2, f1))
    return [questions(lines), *measured, mean(lines, fcr)]


def _printed_variant(dataset: str, length: str) -> list[Row]:
    """The paper's rows for this dataset."""
    told = graphreader("table_4")
    printed = told["scores"].get(set_of(dataset), []) if length == NATIVE else []
    rows = []
    for label, figures in zip(told["labels"], printed, strict=False):
        shares = [as_share(one) for one in figures]
        lost = None if figures is printed[0] else as_share(figures[0] - printed[0][0])
        row = (f"paper: {label}", None, "4k", None, *shares, None, lost, "LR-1" if lost else None)
        rows.append(Row.of(*row, paper=True))
    return rows


def _printed_drops(reader: str) -> list[float | None]:
    told = graphreader("table_4")
    at = told["readers"].index(reader)
    return [as_share(one[at][0] - one[0][0]) for one in told["scores"].values()]


def initial_nodes(lines: Sequence[Line]) -> Table | None:
    """Figure 3: scores by the number of initial nodes."""
    return _sweep(lines, "nodes", "Initial nodes", "initial_nodes", "figure 3", "figure_3")


def chunk_size(lines: Sequence[Line]) -> Table | None:
    """Figure 4: scores by the greatest size of a chunk, in tokens."""
    return _sweep(lines, "chunk", "Tokens a chunk", "chunk_size", "figure 4", "figure_4")


def _sweep(
    lines: Sequence[Line], kind: str, column: str, name: str, source: str, said: str
) -> Table | None:
    found = [
        (int(sweep[2]), line)
        for line in lines
        if (sweep := _SWEEP.match(line.reader)) and sweep[1] == kind
    ]
    if not found:
        return None
    at = {line.reader: number for number, line in found}
    sections = []
    for key, members in tables.by_set(line for _, line in found).items():
        rows = [
            Row.of(
                Cell(at[reader]),
                model,
                tables.window(told[0].window),
                *_measured(told),
                average(map(tokens_read, told)),
                n=questions(told),
            )
            for (reader, model), told in sorted(
                tables.by_reader(members).items(), key=lambda one: (one[0][1], at[one[0][0]])
            )
        ]
        sections.append(Section(tables.set_name(*key), tuple(rows)))
    columns = (
        Column(column, "count"),
        MODEL,
        Column("Window"),
        *_MEASURED,
        Column("Tokens read", "tokens"),
    )
    notes = (f"The paper's {source}: {graphreader(said)}",)
    return Table(name, f"{column} ({source})", columns, tuple(sections), notes)


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
    kept = [line for line in lines if not tables.is_studied(line.reader) and not line.error]
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
        Section(tables.set_name(*key), tuple(_cost_rows(members, key)))
        for key, members in tables.by_set(kept).items()
    ]
    notes = [
        "Tokens of prompts and replies. Asking alone: what is spent once for a text (facts, pages, "
        "gists) is building, and raters are no part of either.",
    ]
    if has_printed(sections):
        notes.append(f"In italics table 5 of the {graphreader('source')}.")
    if any(line.model == OFFLINE for line in kept):
        notes.append(
            "Without a model (offline) nothing was spent: these are the prompts that a model would "
            "have been sent, without its replies."
        )
    if any(line.usage.unpriced for line in kept):
        notes.append("The price of some calls is not known: dollars lack them.")
    return Table("costs", "Tokens a question (table 5)", columns, tuple(sections), tuple(notes))


def _cost_rows(lines: Sequence[Line], key: tuple[str, str]) -> list[Row]:
    rows = []
    for (reader, model), members in tables.by_reader(lines).items():
        spent = list(map(_asking, members))
        rows.append(
            Row.of(
                reader,
                model,
                tables.window(members[0].window),
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
    return rows + _printed_cost(*key)


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


def _printed_cost(dataset: str, length: str) -> list[Row]:
    told = graphreader("table_5")
    if (set_of(dataset), length) != (told["dataset"], told["length"]):
        return []
    windows = {"read-agent-s": "128k", tables.PAPER: "4k"}
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
    kept = [line for line in lines if line.paths and not tables.is_studied(line.reader)]
    sections = []
    unplaced = 0
    for key, members in tables.by_set(kept).items():
        printed = graphreader("table_7").get(set_of(key[0]))
        rows: list[Row] = []
        for (reader, model), own in tables.by_reader(members).items():
            paths = [path for line in own for path in line.paths or ()]
            unplaced += sum(one.stage is None for path in paths for one in path.functions)
            rows += _function_call_rows(reader, model, own, paths)
        if printed and key[1] == NATIVE:
            rows += _printed_calls(printed)
        sections.append(Section(tables.set_name(*key), tuple(rows)))
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
    notes = tuple(_function_call_notes(sections, unplaced))
    return Table("functions", "Function calls (table 7)", columns, tuple(sections), notes)


def _function_call_rows(
    reader: str, model: str, lines: Sequence[Line], paths: Sequence[PathTold]
) -> list[Row]:
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
                    tables.window(lines[0].window),
                    calls if is_first and stage == STAGES[0] else None,
                    a_question if is_first and stage == STAGES[0] else None,
                    _NAMES[stage],
                    _function_share(stages[stage], whole) if is_first else None,
                    name + (" (ours, beside)" if name == "next_page" else ""),
                    _function_share(called[stage, name], stages[stage]),
                )
            )
    return rows


def _calls(path: PathTold) -> int:
    return path.calls or len(path.functions)


def _function_share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _printed_calls(told: Mapping[str, Any]) -> Iterable[Row]:
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
                as_share(told["stages"][stage]) if is_first else None,
                name,
                as_share(share),
                paper=True,
            )


def slips() -> list[str]:
    """What of the paper's table 7 does not add up to 100, beyond what rounding explains."""
    found = []
    for dataset, told in graphreader("table_7").items():
        parts = {"stages": told["stages"], **told["functions"]}
        for part, figures in parts.items():
            whole = sum(figures.values())
            if abs(whole - 100) > _SLIP * len(figures) + 1e-9:
                found.append(f"{dataset}, {part}: {whole:.1f}")
    return found


def _function_call_notes(sections: Sequence[Section], unplaced: int) -> list[str]:
    notes = [
        "Stages are shares of all calls, functions of the calls at their stage. next_page, which "
        "the paper has not, counts in neither; beside its name stands how many there are for 100 "
        "other calls of the stage.",
    ]
    if has_printed(sections):
        notes.append(
            f"In italics table 7 of the {graphreader('source')}, as printed. Its average "
            "number of calls can only be that of a path: each of five paths has one at least. "
            "Its caption names MuSiQue and NarrativeQA alone. What does not add up to 100 there: "
            f"{'; '.join(slips())}."
        )
    if unplaced:
        notes.append(f"Calls that are told without their stage, and not counted: {unplaced:,}.")
    return notes


_BASES = (tables.DEFAULT, tables.PAPER)
"""Whose graphs are counted, the first of these that was asked: all build the same one."""


def datasets(results: Results) -> Table:
    """Table 1: tokens of the texts that were read, and of how many questions.

    Native texts are counted in GPT-4's encoding, as in the paper, where the run tells that.
    """
    told = _told(results.run)
    columns = (
        Column("Dataset"),
        Column("Length"),
        Column("Avg. tokens", "tokens"),
        Column("Max. tokens", "tokens"),
        Column("Samples", "count"),
    )
    rows: list[Row] = []
    shown: set[str] = set()
    for (dataset, length), members in tables.by_set(results.lines).items():
        tokens = {line.id: line.record_tokens for line in members if line.record_tokens}
        counted = average(tokens.values()), max(tokens.values(), default=None)
        size = told.get((dataset, length), counted) if length == NATIVE else counted
        rows.append(Row.of(dataset, length, *size, len({line.id for line in members})))
        if dataset not in shown:
            rows += _printed_sizes(dataset)
            shown.add(dataset)
    notes = ["Samples: the questions that were asked."]
    if any(row.paper for row in rows):
        notes.append(f"In italics table 1 of the {graphreader('source')}.")
    return Table("datasets", "Datasets (table 1)", columns, _one(rows), tuple(notes))


def _told(run: Mapping[str, Any]) -> Mapping[tuple[str, str], tuple[float | None, float | None]]:
    """Average and most tokens of the datasets of the last command, as its run tells them."""
    sets = run.get("datasets")
    return {
        (str(one.get("dataset")), str(one.get("length"))): (
            number(one, "average_tokens"),
            number(one, "max_tokens"),
        )
        for one in (sets if isinstance(sets, list) else ())
        if isinstance(one, dict)
    }


def _printed_sizes(dataset: str) -> list[Row]:
    name = set_of(dataset)
    told = graphreader("table_1").get(name)
    if not told:
        return []
    return [Row.of(f"paper: {name}", None, told["avg"], told["max"], told["samples"], paper=True)]


def graphs(lines: Sequence[Line]) -> Table | None:
    """Table 8: sizes of the graphs, one graph a record; None where no graph was built."""
    built = [line for line in lines if line.graph and not tables.is_studied(line.reader)]
    rows: list[Row] = []
    for (dataset, length), members in tables.by_set(built).items():
        base = next((one for one in _BASES if any(line.reader == one for line in members)), None)
        sizes = {line.id: line.graph for line in members if base in (None, line.reader)}
        rows.append(Row.of(dataset, length, *_sizes([one for one in sizes.values() if one])))
        printed = graphreader("table_8")["sizes"].get(set_of(dataset), {})
        if told := printed.get("" if length == NATIVE else length):
            rows.append(Row.of(f"paper: {set_of(dataset)}", length, *told, paper=True))
    if not rows:
        return None
    columns = (
        Column("Dataset"),
        Column("Length"),
        Column("Nodes avg.", "decimal"),
        Column("Nodes max.", "count"),
        Column("Facts avg.", "decimal"),
        Column("Facts max.", "count"),
        Column("Neighbors a node, avg. avg.", "decimal"),
        Column("Neighbors, avg. max.", "decimal"),
        Column("Facts a node, avg. avg.", "decimal"),
        Column("Facts, avg. max.", "decimal"),
    )
    notes = [
        'A graph is that of one record. "avg. max." is the mean over graphs of the node that has '
        "most."
    ]
    if any(row.paper for row in rows):
        notes.append(f"In italics table 8 of the {graphreader('source')}.")
    return Table("graphs", "Graphs (table 8)", columns, _one(rows), tuple(notes))


def _sizes(graphs: Sequence[Mapping[str, Any]]) -> Iterable[float | None]:
    for key in ("key_elements", "facts"):
        values = [number(one, key) for one in graphs]
        yield average(values)
        yield max((value for value in values if value is not None), default=None)
    for key in ("neighbors_per_element", "most_neighbors", "facts_per_element", "most_facts"):
        yield average(number(one, key) for one in graphs)


def _one(rows: Sequence[Row]) -> tuple[Section, ...]:
    return (Section("", tuple(rows)),)


_READERS = re.compile(r"^(read-agent|gistmem|rag-pages-bm25|rag-pages-embedding|full-text)")
_OWN = re.compile(r"^(read-agent|gistmem)")
_SETS = ("quality", "narrativeqa", "qmsum")

_READ_AGENT_SCORES: dict[str, Measure] = {
    "Accuracy": choice,
    "LR-1": lr1,
    "LR-2": lr2,
    "ROUGE-1": rouge("1"),
    "ROUGE-2": rouge("2"),
    "ROUGE-L": rouge("L"),
}


def read_agent_table(lines: Sequence[Line]) -> Table | None:
    """QuALITY by most pages, NarrativeQA's books and scripts apart, QMSum by P and S.

    Other datasets are shown as well where ReadAgent read them; None where it read nothing.
    """
    kept = [line for line in lines if _READERS.match(line.reader)]
    own = {(line.dataset, line.length) for line in kept if _OWN.match(line.reader)}
    sections = []
    for key, members in tables.by_set(kept).items():
        if key not in own:
            continue
        for subset, part in sorted(tables.grouped(members, lambda line: line.subset).items()):
            named = tables.set_name(*key) + (f", {subset}s" if subset else "")
            kinds = {_kind(line.reader) for line in part} | {"read-agent", "gistmem"}
            rows = (*_read_agent_rows(part), *_printed_read_agent(key[0], subset, kinds))
            sections.append(Section(named, rows))
    if not sections:
        return None
    columns = (
        Column("Reader"),
        MODEL,
        Column("Window"),
        Column("n", "count"),
        Column("Compression, gists", "percent"),
        Column("Compression, at the question", "percent"),
        Column("Pages looked up", "decimal"),
        *(
            Column(name, "percent", True, NO_RATERS if name.startswith("LR") else "")
            for name in _READ_AGENT_SCORES
        ),
    )
    notes = ["Compression: words that are saved of those of the text, 1 - shown / whole."]
    if has_printed(sections):
        notes += [f"In italics: {read_agent('source')}.", read_agent("first_version")]
    return Table("read_agent", "ReadAgent's tables", columns, tuple(sections), tuple(notes))


def _read_agent_rows(lines: Sequence[Line]) -> list[Row]:
    options = with_options(lines)
    return [
        Row.of(
            reader,
            model,
            tables.window(members[0].window),
            questions(members),
            _mean(members, lambda line: number(line.compression, "gists")),
            _mean(members, lambda line: number(line.compression, "final_query")),
            _mean(members, lambda line: line.pages_looked_up),
            *(
                score(measured_by(name, members, options), measure)
                for name, measure in _READ_AGENT_SCORES.items()
            ),
            n=questions(members),
        )
        for (reader, model), members in tables.by_reader(lines).items()
    ]


def _mean(lines: Sequence[Line], told: Callable[[Line], float | None]) -> float | None:
    return average(None if line.error else told(line) for line in lines)


def _kind(reader: str) -> str:
    """What sort of reader it is, without the number of its pages."""
    found = _READERS.match(reader)
    return found[1] if found else ""


def _printed_read_agent(dataset: str, subset: str, kinds: Collection[str]) -> list[Row]:
    """The paper's rows of ReadAgent itself, and of the other kinds that were asked here."""
    if dataset not in _SETS:
        return []
    told = read_agent(dataset)
    rows = []
    for part, printed in told["parts"].items():
        if part and subset and not part.startswith(subset):
            continue
        for label, reader, *figures in printed:
            if _kind(reader) not in kinds:
                continue
            named = dict(zip(told["columns"], figures, strict=True))
            compressed = as_share(named["compression"])
            is_gist = label == "GistMem"
            rows.append(
                Row.of(
                    f"paper: {label}" + (f" ({part})" if part else ""),
                    None,
                    None,
                    None,
                    compressed if is_gist else None,
                    compressed,
                    named["pages"],
                    *(as_share(named.get(name)) for name in _READ_AGENT_SCORES),
                    paper=True,
                )
            )
    return rows


def spread(lines: Sequence[Line]) -> Table | None:
    """Mean and standard deviation over repeats and over models; None where there are no such."""
    sections = []
    for key, members in tables.by_set(lines).items():
        rows = [
            row
            for reader, own in tables.by_name(members).items()
            for row in (*_over_repeats(reader, own), *_over_models(reader, own))
        ]
        if rows:
            sections.append(Section(tables.set_name(*key), tuple(rows)))
    if not sections:
        return None
    columns = (
        Column("Reader"),
        Column("Model"),
        Column("Window"),
        Column("Over"),
        Column("Runs", "count"),
        Column("Score"),
        Column("Mean", "percent"),
        Column("Standard deviation", "percent"),
        Column("Least", "percent"),
        Column("Most", "percent"),
        Column("FCR", "percent"),
        Column("FCR, standard deviation", "percent"),
    )
    notes = ("The sample's standard deviation, of the means of whole runs.",)
    return Table("spread", "Spread", columns, tuple(sections), notes)


def _over_repeats(reader: str, lines: Sequence[Line]) -> list[Row]:
    rows = []
    for model, members in sorted(tables.grouped(lines, lambda line: line.model).items()):
        runs = list(tables.grouped(members, lambda line: line.repeat).values())
        if len(runs) > 1:
            rows.append(_row(reader, model, "repeats", runs))
    return rows


def _over_models(reader: str, lines: Sequence[Line]) -> list[Row]:
    runs = tables.grouped(lines, lambda line: line.model)
    if len(runs) < 2:
        return []
    return [_row(reader, ", ".join(sorted(runs)), "models", list(runs.values()))]


def _row(reader: str, model: str, over: str, runs: Sequence[Sequence[Line]]) -> Row:
    name, measure = main_measure([line for run in runs for line in run])
    scores = [
        value for run in runs if (value := average(scored(run, measure).values())) is not None
    ]
    found = [
        value for run in runs if (value := average(by_question(run, fcr).values())) is not None
    ]
    return Row.of(
        reader,
        model or None,
        tables.window(runs[0][0].window),
        over,
        len(runs),
        name,
        average(scores),
        _deviation(scores),
        min(scores, default=None),
        max(scores, default=None),
        average(found),
        _deviation(found),
    )


def _deviation(values: Sequence[float]) -> float | None:
    return statistics.stdev(values) if len(values) > 1 else None


_BESIDE_WORDS = ("initial_nodes", "chunk_size", "recall_by_length")
"""Tables beside which stands in words what a figure of the paper shows."""

_OF_TEXTS = ("datasets",)
"""Tables in which it is all the same who answers."""


def all_tables(results: Results) -> Sequence[Table]:
    """The tables that these results fill, the main one first; none that has nothing to show."""
    lines = results.lines
    main = scores(lines)
    made = (
        replace(main, notes=(*main.notes, *results.notes)),
        found_evidence(lines),
        equal_reading(lines, results.equal),
        pairs(lines),
        datasets(results),
        score_by_length(lines),
        ablations(lines),
        initial_nodes(lines),
        chunk_size(lines),
        recall_by_length(lines),
        costs(lines),
        recalls(lines),
        function_calls(lines),
        graphs(lines),
        read_agent_table(lines),
        spread(lines),
    )
    warning = _warning({line.model for line in lines})
    return [
        replace(table, warning=warning) if _is_compared(table) else table
        for table in made
        if table and any(one.rows for one in table.sections)
    ]


def _warning(models: Collection[str]) -> str:
    """What must be known of figures that stand beside a paper's; nothing where models answered."""
    if OFFLINE not in models:
        return ""
    where = "here" if len(models) == 1 else f'where the model is "{OFFLINE}"'
    return (
        f"No language model answered {where} (the offline decider takes sentences out of the "
        "texts): these figures are not comparable with the paper's."
    )


def _is_compared(table: Table) -> bool:
    """Whether figures of readers stand beside a paper's."""
    if table.name in _OF_TEXTS:
        return False
    return table.is_beside_a_paper or table.name in _BESIDE_WORDS


def as_one(results: Results) -> Results:
    """The results with each reader under one name, and a note that says so.

    `graphreader` has the mode of the settings. Where that is the paper's, and nothing of it is set
    otherwise, `graphreader-paper` has the very same arguments; their readings of a question are
    two of one reader then.
    """
    named = f"{tables.DEFAULT}-{_mode(results.run)}"
    readers = {line.reader for line in results.lines}
    if tables.DEFAULT not in readers or not _mode(results.run):
        return results
    note = f"{tables.DEFAULT} was asked with the very arguments of {named}"
    if named not in readers:
        return replace(results, notes=(*results.notes, f"{note}: it is that reader."))
    one = {"reader": tables.DEFAULT}
    lines = (
        line.model_copy(update=one) if line.reader == named else line for line in results.lines
    )
    equal = (
        each.model_copy(update={"against": tables.DEFAULT}) if each.against == named else each
        for each in results.equal
    )
    note = f"{note}: they are one reader, and its readings of a question are averaged."
    return replace(results, lines=tuple(lines), equal=tuple(equal), notes=(*results.notes, note))


def _mode(run: Mapping[str, Any]) -> str:
    """The mode in which `graphreader` was asked; empty if it is not known, or not all of it."""
    fixed = run.get("fixed")
    told = fixed if isinstance(fixed, dict) else {}
    if told.get("initial_nodes") is not None or told.get("calls") is not None:
        return ""
    return str(told.get("mode") or "")
