"""The tables of the GraphReader and ReadAgent papers, made of an evaluation's readings.

A table is declared by its columns: each says what it shows of a reader's readings (see
`Column.aggregate`). Most tables have a section for each dataset and length, a row for each reader
and model, and the rows that the paper prints for the same set (`paper_figures`). A function returns
None if the readings have nothing for its table.
"""

import re
import statistics
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from graphreader.evaluation.measures import (
    DEFAULT,
    GOLDEN,
    GRAPH_SIZES,
    NATIVE,
    PAPER,
    PHASES,
    average,
    by_column,
    by_reader,
    by_set,
    main_measure,
    main_readers,
    mean,
    number,
    place,
    plain_mean,
    question_means,
    question_scores,
    questions,
    score,
    set_name,
    size,
    window_name,
    with_options,
)
from graphreader.evaluation.metrics.evidence import (
    FactRecall,
    Interval,
    compare,
    fact_wise,
    mean_interval,
    sample_wise,
)
from graphreader.evaluation.paper_figures import (
    FUNCTIONS,
    PAGE_READERS,
    READ_AGENT_SCORES,
    STAGE_NAMES,
    is_paper_sample,
    page_reader,
    paper_ablation_rows,
    paper_call_rows,
    paper_change,
    paper_cost_rows,
    paper_figures,
    paper_length_rows,
    paper_read_agent_rows,
    paper_recall_rows,
    paper_score_row,
    paper_scores,
    paper_set,
    printed_sums,
    source_note,
)
from graphreader.evaluation.scoring import STAGES, Stage
from graphreader.evaluation.tables import Cell, Column, Section, Table, TableRow, row
from graphreader.evaluation.variants import SWEEP_NAME
from graphreader.settings import OFFLINE

if TYPE_CHECKING:
    from pandas import DataFrame


# ------------------------------------------------------------------ columns and rows

NO_RATERS = "LR-1 and LR-2 are a model's ratings: no rater was asked here."


def _first(column: str) -> Callable[["DataFrame", str], str]:
    return lambda group, _: str(group[column].iat[0])


READER = Column("Reader", aggregate=_first("reader"))
MODEL = Column("Model", aggregate=_first("model"), varied=True)
WINDOW = Column("Window", aggregate=lambda group, _: window_name(int(group["window"].iat[0])))
QUESTIONS = Column("n", "count", questions)


def _ranked(name: str, aggregate: Callable[["DataFrame", str], Any] = score) -> Column:
    missing = NO_RATERS if name.startswith("LR-") else ""
    return Column(name, "percent", aggregate, ranked=True, missing=missing)


def _cells(columns: Iterable[Column], group: "DataFrame") -> dict[str, Any]:
    """The cells of a group of readings, in the columns that aggregate."""
    return {one.name: one.aggregate(group, one.name) for one in columns if one.aggregate}


def _row(columns: Iterable[Column], group: "DataFrame", **cells: Any) -> TableRow:
    """A row of the readings of one reader and model."""
    ranked = group["reader"].iat[0] != GOLDEN
    return row({**_cells(columns, group), **cells}, ranked=ranked, questions=questions(group))


def _reader_rows(columns: Sequence[Column], section: "DataFrame") -> list[TableRow]:
    return [_row(columns, group) for group in by_reader(section).values()]


def _table(
    name: str,
    title: str,
    columns: Iterable[Column],
    sections: Mapping[str, Sequence[TableRow]],
    notes: Iterable[str] = (),
    paper_note: str = "",
) -> Table | None:
    """A table of its sections that have rows; None without any.

    The `paper_note` is added if a paper's figures stand in the table.
    """
    filled = tuple(Section(title, tuple(rows)) for title, rows in sections.items() if rows)
    table = Table(name, title, tuple(columns), filled, tuple(notes))
    if table.has_paper_rows and paper_note:
        table = replace(table, notes=(*table.notes, paper_note))
    return table if filled else None


# ------------------------------------------------------------------ answers (tables 2 and 3)

_SCORES = ("LR-1", "LR-2", "EM", "F1", "F1*", "Accuracy", "ROUGE-1", "ROUGE-2", "ROUGE-L")

_FREE_ANSWERS = ("narrativeqa", "qmsum", "loogle")
"""Sets whose answers are free text, which their papers measure by ROUGE."""

_LEAST_GOLDEN = 0.1
"""The least lower bound of golden's score of which a share is shown."""


def _fitting_score(options: Collection[str]) -> Callable[["DataFrame", str], Interval | None]:
    """Score the questions that a score is for: accuracy those with options, EM and so on others."""

    def aggregate(group: "DataFrame", name: str) -> Interval | None:
        if name.startswith("LR-") or (not options and name != "Accuracy"):
            return score(group, name)
        has_options = group.index.isin(list(options))
        return score(group[has_options if name == "Accuracy" else ~has_options], name)

    return aggregate


def scores(frame: "DataFrame") -> Table | None:
    """The main table: the answers of every reader on every dataset and length."""
    sets = by_set(main_readers(frame))
    columns = (
        *(READER, MODEL, WINDOW, QUESTIONS),
        Column("Answered", "percent", score),
        *(_ranked(name) for name in _SCORES),
        Column("Of golden", "decimal"),
    )
    sections = {set_name(*key): _score_rows(*key, columns, one) for key, one in sets.items()}
    return _table("scores", "Scores", columns, sections, _score_notes(sets))


def _score_rows(
    dataset: str, length: str, columns: Sequence[Column], section: "DataFrame"
) -> list[TableRow]:
    """Our rows, each followed by the paper's row of the same reader."""
    has_rouge = any(name in dataset for name in _FREE_ANSWERS)
    fitting = _fitting_score(with_options(section))
    columns = [
        replace(one, aggregate=fitting) if one.name in _SCORES else one
        for one in columns
        if has_rouge or not one.name.startswith("ROUGE")
    ]
    rows = []
    for (reader, model), group in by_reader(section).items():
        golden = section[(section["reader"] == GOLDEN) & (section["model"] == model)]
        share = _share_of_golden(group, golden)
        rows.append((place(reader), 0, _row(columns, group, **{"Of golden": share})))
    paper = paper_scores(dataset, length)
    rows += [(place(one["reader"]), 1, paper_score_row(one, paper)) for one in paper["rows"]]
    return [one for *_, one in sorted(rows, key=lambda key: key[:2])]


def _share_of_golden(group: "DataFrame", golden: "DataFrame") -> float | None:
    """The score as a share of golden's, over the questions of both; None if that is too small."""
    own, best = (question_scores(one, "Accuracy or F1") for one in (group, golden))
    both = [id_ for id_ in best if id_ in own]
    whole = mean_interval(best[id_] for id_ in both)
    if whole is None or whole.low < _LEAST_GOLDEN:
        return None
    return sum(own[id_] for id_ in both) / sum(best[id_] for id_ in both)


def _score_notes(sets: Mapping[tuple[str, str], "DataFrame"]) -> list[str]:
    notes = [
        "In brackets the 95 % interval (bootstrap over questions). Best of ours in bold, second "
        "best underlined; golden takes no part.",
    ]
    if any((one["reader"] == GOLDEN).any() for one in sets.values()):
        notes.append(
            "Of golden: F1 (accuracy where there are options) as a share of what the same model "
            "has when the supporting facts are given; left out where the interval of that begins "
            f"below {100 * _LEAST_GOLDEN:.0f}, for a share of next to nothing says nothing."
        )
    for key, section in sets.items():
        chosen, whole = len(with_options(section)), questions(section)
        if 0 < chosen < whole:
            notes.append(
                f"{set_name(*key)}: accuracy over {chosen:,} questions with options, EM, F1, F1* "
                f"and ROUGE over {whole - chosen:,} without; LR-1 and LR-2 over all."
            )
    if any(paper_scores(*key)["rows"] for key in sets):
        notes += _paper_score_notes(sets)
    if failed := sum(int(one["failed"].sum()) for one in sets.values()):
        readings = "1 reading" if failed == 1 else f"{failed:,} readings"
        notes.append(f"{readings} failed: unanswered, with scores of 0.")
    uneven = [
        set_name(*key)
        for key, section in sets.items()
        if len({frozenset(one.index) for one in by_reader(section).values()}) > 1
    ]
    if uneven:
        notes.append(f"Not all readers were asked the same questions: {'; '.join(uneven)}.")
    return notes


def _paper_score_notes(keys: Iterable[tuple[str, str]]) -> list[str]:
    """The source, the sets that are not the paper's, and what it prints that cannot be."""
    notes = [source_note("tables 2 and 3", ".")]
    others = sorted({one for one, _ in keys if paper_set(one) and not is_paper_sample(one)})
    if others:
        notes.append(
            f"The paper read LongBench's samples, whose texts are other ones than those of "
            f"{', '.join(others)} here (table 1): its figures are a bearing, no comparison."
        )
    slips = [
        f"{set_name(*key)}: {one['label']}"
        for key in keys
        for one in paper_scores(*key)["rows"]
        if one["scores"][0] > one["scores"][1]
    ]
    if slips:
        notes.append(f"As printed, though LR-2 cannot be less than LR-1: {'; '.join(slips)}.")
    return notes


# ------------------------------------------------------------------ lengths (figures 1 and 5)


def score_by_length(frame: "DataFrame") -> Table | None:
    """Figure 1: the main score of each dataset at each of its lengths."""
    title = "Score by length (figure 1)"
    return _by_length(frame, "score_by_length", title, lambda one: (main_measure(one), score))


def recall_by_length(frame: "DataFrame") -> Table | None:
    """Figure 5: recall of supporting facts, by a rater or by strings; else of gold documents."""
    note = f"The paper's figure 5: {paper_figures('graphreader')['figure_5']}"
    return _by_length(
        frame, "recall_by_length", "Recall by length (figure 5)", _recall_measure, [note]
    )


def _recall_measure(section: "DataFrame") -> tuple[str, Callable[..., Interval | None]]:
    sound = section[~section["failed"]]
    for name in ("recall, rated", "recall, by words"):
        if sound[name].notna().all():
            return name, score
    return "document recall", lambda group, _: mean(group, "Document recall")


def _by_length(
    frame: "DataFrame",
    name: str,
    title: str,
    measure: Callable[["DataFrame"], tuple[str, Callable[..., Interval | None]]],
    notes: Sequence[str] = (),
) -> Table | None:
    """A table with a column a length, of the datasets that were read at several lengths."""
    several = {
        dataset: one
        for dataset, one in by_column(main_readers(frame), "dataset").items()
        if one["length"].nunique() > 1
    }
    lengths = sorted({one for group in several.values() for one in group["length"]}, key=size)
    sections = {}
    for dataset, section in several.items():
        score_name, aggregate = measure(section)
        rows = []
        for group in by_reader(section).values():
            at = by_column(group, "length")
            cells = {
                one: Cell.of(aggregate(at[one], score_name), questions(at[one]))
                for one in lengths
                if one in at
            }
            rows.append(_row((READER, MODEL, WINDOW), group, **cells))
        rows += paper_length_rows(dataset, score_name, lengths)
        if any(one[length].value is not None for one in rows for length in lengths):
            sections[f"{dataset}: {score_name}"] = rows
    columns = (READER, MODEL, WINDOW, *(_ranked(one) for one in lengths))
    return _table(name, title, columns, sections, notes, source_note("table 3", "."))


# ------------------------------------------------------------------ reader against reader

_PAIRED = (
    Column("Difference", "percent"),
    Column("p", "decimal"),
    Column("Better / same / worse"),
)


def _paired(
    own: Mapping[str, float], other: Mapping[str, float], names: tuple[str, str]
) -> dict[str, Any]:
    """Cells of two readers over the questions that both have; `names` are those of the means."""
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


def pairs(frame: "DataFrame") -> Table | None:
    """GraphReader against every other reader of the same model, question by question.

    By the main measure of a set, and by FCR where evidence is known; None without a pair.
    """
    columns = (
        *(Column("Reader"), Column("Against"), MODEL, Column("Measure"), Column("n", "count")),
        *(Column(name, "percent") for name in ("Mean of reader", "Mean of the other")),
        *_PAIRED,
    )
    sections = {set_name(*key): _pair_rows(one) for key, one in by_set(main_readers(frame)).items()}
    note = (
        "Over the questions that both were asked. The difference is paired: question by question, "
        "with its 95 % interval; p by flipping signs, each pair by itself (the more pairs, the "
        "more small p by chance)."
    )
    return _table("pairs", "Reader against reader", columns, sections, [note])


def _pair_rows(section: "DataFrame") -> list[TableRow]:
    """All pairs of one dataset and length by the main measure, then all by FCR."""
    readers = by_reader(section)
    main = main_measure(section)
    values = {
        main: {key: question_scores(one, main) for key, one in readers.items()},
        "FCR": {key: question_means(one, "FCR") for key, one in readers.items()},
    }
    names = "Mean of reader", "Mean of the other"
    return [
        row(
            {
                "Reader": reader,
                "Against": other,
                "Model": model,
                "Measure": measure,
                **_paired(known[reader, model], known[other, model], names),
            }
        )
        for measure, known in values.items()
        for reader, other, model in _opponents(list(readers))
        if known[reader, model].keys() & known[other, model].keys()
    ]


def _opponents(readers: Sequence[tuple[str, str]]) -> list[tuple[str, str, str]]:
    """(GraphReader, other reader, model), in the order of the readers."""
    triples = []
    for model in dict.fromkeys(model for _, model in readers):
        names = [name for name, its in readers if its == model]
        ours = [name for name in names if name.startswith(DEFAULT)]
        reader = DEFAULT if DEFAULT in ours else next(iter(ours), None)
        if reader:
            triples += [(reader, name, model) for name in names if name != reader]
    return triples


# ------------------------------------------------------------------ evidence, recall (table 6)


def evidence_found(frame: "DataFrame") -> Table | None:
    """Retrieval quality; None if no dataset names its evidence."""
    sets = by_set(main_readers(frame[frame["gold"]]))
    columns = (
        *(READER, MODEL, WINDOW, QUESTIONS),
        *(_ranked(name, mean) for name in ("Document recall", "Chunk recall", "FCR", "JSR")),
        _ranked("Citation precision", mean),
        Column("Tokens read", "tokens", average),
        Column("Of the record", "percent", average),
        Column("Seconds", "seconds", average),
    )
    sections = {set_name(*key): _reader_rows(columns, _with_jsr(one)) for key, one in sets.items()}
    notes = (
        "Chunk recall: the share of supporting sentences that stand in what was read in full.",
        "FCR: the share of questions all of whose gold documents were read in full.",
        *_jsr_notes(sets),
        "Citation precision is the mean over readings that cite anything.",
    )
    return _table("evidence", "Evidence found", columns, sections, notes)


def _with_jsr(section: "DataFrame") -> "DataFrame":
    """With JSR: 1 where all gold documents were read and the answer is right, else 0.

    A reading that failed is not right; if it is not known what is right, JSR is not measured.
    """
    right = section[_right_measure(section)[0]].mask(section["failed"], 0.0)
    return section.assign(JSR=(section["FCR"] * (right == 1)).where(right.notna()))


def _right_measure(section: "DataFrame") -> tuple[str, str]:
    """The column that says which answers are right, and its name for people.

    LR-1 if raters were asked, else the right option where there are options and EM elsewhere.
    """
    if section["LR-1"].notna().any():
        return "LR-1", "LR-1 (the raters call it exact)"
    chosen = section.loc[~section["failed"], "Accuracy"].notna()
    names = ["the right option"] if chosen.any() else []
    names += ["an exact match (EM)"] if not chosen.all() or not names else []
    return "Accuracy or EM", f"{' or '.join(names)}, for no rater was asked"


def _jsr_notes(sets: Mapping[tuple[str, str], "DataFrame"]) -> list[str]:
    """The definition of JSR, with the measure of a right answer in each set."""
    measures: dict[str, list[str]] = {}
    for key, section in sets.items():
        measures.setdefault(_right_measure(section)[1], []).append(set_name(*key))
    by = "; ".join(
        f"by {measure}" + (f", in {', '.join(names)}" if len(measures) > 1 else "")
        for measure, names in measures.items()
    )
    notes = [f"JSR: those of them that were answered rightly as well, {by}."]
    if any(((one["model"] == OFFLINE) & one["Accuracy"].isna()).any() for one in sets.values()):
        notes.append("Answers without a model are whole sentences, hardly ever an exact match.")
    return notes


def equal_reading(frame: "DataFrame", equal: "DataFrame") -> Table | None:
    """FCR of a reader, and of retrieval with the same token budget; None without any."""
    columns = (
        *(Column("Reader"), Column("Window"), Column("Retrieval"), Column("n", "count")),
        *(Column(name, "percent") for name in ("FCR of reader", "FCR of retrieval")),
        *_PAIRED,
        *(Column(name, "tokens") for name in ("Tokens of reader", "Tokens of retrieval")),
        Column("k", "decimal"),
    )
    sections = {}
    for key, section in by_set(frame[frame["gold"]]).items():
        rankings = equal[(equal["dataset"] == key[0]) & (equal["length"] == key[1])]
        sections[set_name(*key)] = [
            _equal_reading_row(reader, retrieval, own, ranking)
            for (reader, retrieval), ranking in rankings.groupby(["against", "reader"], sort=False)
            if len(own := section[section["reader"] == reader])
        ]
    note = (
        "For each question retrieval takes the smallest k whose tokens reach those that the reader "
        "was shown. The difference is paired: question by question, with its 95 % interval; p by "
        "flipping signs."
    )
    return _table("equal_reading", "FCR at equal reading", columns, sections, [note])


def _equal_reading_row(
    reader: str, retrieval: str, own: "DataFrame", ranking: "DataFrame"
) -> TableRow:
    first, second = question_means(own, "FCR"), question_means(ranking, "FCR")
    both = list(first.keys() & second.keys())
    own_both, ranking_both = (one[one.index.isin(both)] for one in (own, ranking))
    return row(
        {
            **{"Reader": reader, "Retrieval": retrieval, **_cells([WINDOW], own)},
            **_paired(first, second, ("FCR of reader", "FCR of retrieval")),
            "Tokens of reader": average(own_both, "Tokens read"),
            "Tokens of retrieval": average(ranking_both, "tokens_read"),
            "k": average(ranking_both, "k"),
        }
    )


_NO_RECALL_RATER = "Rated recall is a model's: no rater was asked here."


def recalls(frame: "DataFrame") -> Table | None:
    """Table 6: recall fact by fact and sample by sample; None if no facts are known."""
    columns = (
        *(READER, MODEL, WINDOW, Column("Text"), QUESTIONS),
        Column("SF-wise, rated", "percent", missing=_NO_RECALL_RATER),
        Column("Sample-wise, rated", "percent", missing=_NO_RECALL_RATER),
        Column("SF-wise, by words", "percent"),
        Column("Sample-wise, by words", "percent"),
        Column("FCR", "percent"),
    )
    sections = {}
    for key, section in by_set(main_readers(frame)).items():
        rows = [
            one
            for group in by_reader(section).values()
            for text, counts in (("atomic facts", "facts_recall"), ("", "recall"))
            if (one := _recall_row(columns, group, text, counts))
        ]
        sections[set_name(*key)] = [*rows, *paper_recall_rows(*key)] if rows else []
    note = (
        "SF-wise: covered facts of all facts; sample-wise: questions all of whose facts are "
        "covered; FCR: questions all of whose gold documents were read. By words: a fact is "
        "covered where its words stand close together."
    )
    title = "Recall of supporting facts (table 6)"
    paper_note = source_note("table 6", ", rated by GPT-4.")
    return _table("recall", title, columns, sections, [note], paper_note)


def _recall_row(
    columns: Sequence[Column], group: "DataFrame", text: str, counts: str
) -> TableRow | None:
    """The recall of one text of a reader, in which the facts are looked for."""
    known = group[group[counts].map(lambda one: one is not None)]
    if known.empty:
        return None
    cells: dict[str, Any] = {"Text": text or _answer_text(known["reader"].iat[0])}
    for kind, name in (("rated", "rated"), ("strings", "by words")):
        samples = known[counts].map(lambda one, kind=kind: getattr(one, kind))
        samples = samples[samples.map(lambda pair: bool(pair and pair[1]))]
        counted = questions(samples)
        n = counted if 0 < counted < questions(known) else None
        facts = [FactRecall(relevant=of, covered=covered) for covered, of in samples]
        cells[f"SF-wise, {name}"] = Cell(fact_wise(facts), n=n)
        cells[f"Sample-wise, {name}"] = Cell(sample_wise(facts), n=n)
    if not text:
        cells["FCR"] = mean(known, "FCR")
    return _row(columns, known, **cells)


def _answer_text(reader: str) -> str:
    return "final notebook" if reader.startswith(DEFAULT) else "evidence"


# ------------------------------------------------------------------ variants (table 4, figure 3, 4)

_UNCHANGED = (DEFAULT, PAPER)
"""GraphReader with all its parts; the first of these that was asked is compared with."""

_VARIANT_SCORES = (QUESTIONS, *map(_ranked, ("LR-1", "LR-2", "F1")), _ranked("FCR", mean))


def ablations(frame: "DataFrame") -> Table | None:
    """Table 4: what is lost when a part of GraphReader is taken away."""
    columns = (
        *(READER, MODEL, WINDOW, *_VARIANT_SCORES),
        *(Column("Change", "percent"), Column("Change of")),
    )
    changed = {one for one in frame[frame["study"]]["reader"] if not re.match(SWEEP_NAME, one)}
    changes: dict[tuple[str, str, str], list[float]] = {}
    sections = {}
    for key, section in by_set(frame).items():
        rows = []
        for group in by_column(section, "model").values():
            rows += _ablation_rows(columns, group, changed, changes)
        sections[set_name(*key)] = [*rows, *paper_ablation_rows(*key)] if rows else []
    if sum(map(bool, sections.values())) > 1:
        sections["Mean over these"] = [
            row({"Reader": reader, "Model": model, "Change": plain_mean(lost), "Change of": of})
            for (reader, model, of), lost in changes.items()
        ]
    note = (
        "Change: against GraphReader with all its parts, question by question, with its 95 % "
        "interval."
    )
    paper_note = source_note(
        "table 4",
        f"; there random nodes cost {-100 * paper_change('graphreader-random-nodes'):.1f} points "
        "of LR-1 on average (the text says 18).",
    )
    return _table("ablations", "Ablations (table 4)", columns, sections, [note], paper_note)


def _ablation_rows(
    columns: Sequence[Column],
    frame: "DataFrame",
    changed: Collection[str],
    changes: dict[tuple[str, str, str], list[float]],
) -> list[TableRow]:
    """The rows of one set and model; what changed is added to `changes`."""
    readers = by_column(frame, "reader")
    ablated = [reader for reader in readers if reader in changed]
    if not ablated:
        return []
    base = [name for name in _UNCHANGED if name in readers]
    measured = frame["reader"].isin([*base[:1], *ablated])
    measure = main_measure(frame[measured])
    before = question_scores(readers[base[0]], measure) if base else {}
    rows = []
    for reader in [*reversed(base), *ablated]:
        group = readers[reader]
        comparison = compare(question_scores(group, measure), before) if reader in ablated else None
        cells: dict[str, Any] = {}
        if comparison:
            cells = {"Change": comparison.difference, "Change of": measure}
            key = reader, group["model"].iat[0], measure
            changes.setdefault(key, []).append(comparison.difference.mean)
        rows.append(_row(columns, group, **cells))
    return rows


def _sweep(kind: str, name: str, column: str, figure: str, frame: "DataFrame") -> Table | None:
    """Scores by a number that is varied in the reader's name."""
    matches = frame["reader"].str.extract(SWEEP_NAME)
    varied = frame[matches[0] == kind]
    varied = varied.assign(**{column: matches.loc[matches[0] == kind, 1].astype(int)})
    first = Column(column, "count", lambda group, _: int(group[column].iat[0]))
    columns = (first, MODEL, WINDOW, *_VARIANT_SCORES, Column("Tokens read", "tokens", average))
    sections = {}
    for key, section in by_set(varied).items():
        groups = section.groupby(["model", column])  # sorted by both
        sections[set_name(*key)] = [_row(columns, group) for _, group in groups]
    note = f"The paper's {figure}: {paper_figures('graphreader')[figure.replace(' ', '_')]}"
    return _table(name, f"{column} ({figure})", columns, sections, [note])


initial_nodes = partial(_sweep, "nodes", "initial_nodes", "Initial nodes", "figure 3")
chunk_size = partial(_sweep, "chunk", "chunk_size", "Tokens a chunk", "figure 4")


# ------------------------------------------------------------------ costs (table 5)


def _nonzero(group: "DataFrame", name: str) -> float | None:
    return average(group, name) or None


def _building(group: "DataFrame", name: str) -> float | None:
    """The mean of building a text; what was kept from earlier costs nothing."""
    costs = group[group[name].notna()]
    return _nonzero(costs[~costs.index.duplicated(keep="last")], name)


def costs(frame: "DataFrame") -> Table | None:
    """Table 5: mean tokens a question, in and out; what reading a text in costs stands apart."""
    columns = (
        *(READER, MODEL, WINDOW, QUESTIONS),
        *(Column(name, "tokens", _nonzero) for name in ("Context", "Tokens a question")),
        *(Column(name, "tokens", _nonzero) for name in PHASES.values()),
        Column("Calls", "decimal", average),
        Column("Dollars", "dollars", _nonzero),
        Column("Building a text", "tokens", _building),
        Column("Seconds", "seconds", average),
    )
    sound = main_readers(frame[~frame["failed"]])
    sections = {
        set_name(*key): _reader_rows(columns, one) + paper_cost_rows(*key)
        for key, one in by_set(sound).items()
    }
    notes = [
        "Tokens of prompts and replies. Asking alone: what is spent once for a text (facts, pages, "
        "gists) is building, and raters are no part of either.",
    ]
    if any(one.paper for rows in sections.values() for one in rows):
        notes.append(source_note("table 5", "."))
    if (sound["model"] == OFFLINE).any():
        notes.append(
            "Without a model (offline) nothing was spent: these are the prompts that a model would "
            "have been sent, without its replies."
        )
    if sound["unpriced"].any():
        notes.append("The price of some calls is not known: dollars lack them.")
    return _table("costs", "Tokens a question (table 5)", columns, sections, notes)


# ------------------------------------------------------------------ function calls (table 7)


def function_calls(frame: "DataFrame") -> Table | None:
    """Table 7: the functions that paths called at each stage; None if no paths are known."""
    columns = (
        *(READER, MODEL, WINDOW),
        *(Column("Calls a path", "decimal"), Column("Calls a question", "decimal")),
        *(Column("Stage"), Column("Of all calls", "percent")),
        *(Column("Function"), Column("Of its stage", "percent")),
    )
    sections = {}
    unplaced = 0
    for key, section in by_set(main_readers(frame[frame["paths"].map(bool)])).items():
        rows = []
        for group in by_reader(section).values():
            paths = [path for paths in group["paths"] for path in paths]
            calls = [(one.stage, one.name) for path in paths for one in path.functions]
            unplaced += sum(stage is None for stage, _ in calls)
            means = {
                "Calls a path": plain_mean([path.number for path in paths]),
                "Calls a question": sum(path.number for path in paths) / len(group),
            }
            reader = _cells((READER, MODEL, WINDOW), group)
            rows += [row({**reader, **cells}) for cells in _call_cells(calls, means)]
        paper = paper_figures("graphreader")["table_7"].get(paper_set(key[0]))
        rows += paper_call_rows(paper) if paper and key[1] == NATIVE else []
        sections[set_name(*key)] = rows
    notes = [
        "Stages are shares of all calls, functions of the calls at their stage. next_page, which "
        "the paper has not, counts in neither; beside its name stands how many there are for 100 "
        "other calls of the stage.",
    ]
    if any(one.paper for rows in sections.values() for one in rows):
        notes.append(
            source_note("table 7", ", as printed. Its average ")
            + "number of calls can only be that of a path: each of five paths has one at least. "
            "Its caption names MuSiQue and NarrativeQA alone. What does not add up to 100 there: "
            f"{'; '.join(printed_sums())}."
        )
    if unplaced:
        notes.append(f"Calls without their stage, which are not counted: {unplaced:,}.")
    return _table("functions", "Function calls (table 7)", columns, sections, notes)


def _call_cells(
    calls: Sequence[tuple[Stage | None, str]], means: Mapping[str, float]
) -> Iterable[dict[str, Any]]:
    """The cells of each function; a stage's share and the means stand in its first row."""
    stages = {stage: sum(calls.count((stage, one)) for one in FUNCTIONS[stage]) for stage in STAGES}
    whole = sum(stages.values())
    for stage in STAGES:
        for name in (*FUNCTIONS[stage], "next_page"):
            count = calls.count((stage, name))
            if name == "next_page" and not count:
                continue
            cells: dict[str, Any] = {
                "Stage": STAGE_NAMES[stage],
                "Function": name + (" (ours, beside)" if name == "next_page" else ""),
                "Of its stage": count / stages[stage] if stages[stage] else None,
            }
            if name == FUNCTIONS[stage][0]:
                cells["Of all calls"] = stages[stage] / whole if whole else None
                cells |= means if stage == STAGES[0] else {}
            yield cells


# ------------------------------------------------------------------ sizes (tables 1 and 8)


def datasets(frame: "DataFrame", run: Mapping[str, Any]) -> Table | None:
    """Table 1: tokens of the texts that were read, and the number of questions.

    Native texts are counted in GPT-4's encoding, as in the paper, if the run has these counts.
    """
    sizes = _sizes_of_run(run)
    columns = (
        *(Column("Dataset"), Column("Length")),
        *(Column("Avg. tokens", "tokens"), Column("Max. tokens", "tokens")),
        Column("Samples", "count"),
    )
    names = [column.name for column in columns]
    rows: list[TableRow] = []
    shown: set[str] = set()
    for (dataset, length), group in by_set(frame).items():
        tokens = group["record_tokens"].dropna()
        tokens = tokens[~tokens.index.duplicated(keep="last")]
        counted = plain_mean(tokens), int(tokens.max()) if len(tokens) else None
        known = sizes.get((dataset, length), counted) if length == NATIVE else counted
        cells = (dataset, length, *known, questions(group))
        rows.append(row(dict(zip(names, cells, strict=True))))
        paper = paper_figures("graphreader")["table_1"].get(paper_set(dataset))
        if paper and dataset not in shown:
            cells = (
                f"paper: {paper_set(dataset)}",
                None,
                *(paper[key] for key in ("avg", "max", "samples")),
            )
            rows.append(row(dict(zip(names, cells, strict=True)), paper=True))
        shown.add(dataset)
    notes = ["Samples: the questions that were asked."]
    paper_note = source_note("table 1", ".")
    return _table("datasets", "Datasets (table 1)", columns, {"": rows}, notes, paper_note)


def _sizes_of_run(
    run: Mapping[str, Any],
) -> Mapping[tuple[str, str], tuple[float | None, float | None]]:
    """Average and greatest tokens of the last command's datasets, as `run.json` has them."""
    sets = run.get("datasets")
    return {
        (str(one.get("dataset")), str(one.get("length"))): (
            number(one, "average_tokens"),
            number(one, "max_tokens"),
        )
        for one in (sets if isinstance(sets, list) else ())
        if isinstance(one, dict)
    }


def graphs(frame: "DataFrame") -> Table | None:
    """Table 8: sizes of the graphs, one graph a record; None if no graph was built."""
    columns = (
        *(Column("Dataset"), Column("Length")),
        *(Column("Nodes avg.", "decimal"), Column("Nodes max.", "count")),
        *(Column("Facts avg.", "decimal"), Column("Facts max.", "count")),
        *(
            Column("Neighbors a node, avg. avg.", "decimal"),
            Column("Neighbors, avg. max.", "decimal"),
        ),
        *(Column("Facts a node, avg. avg.", "decimal"), Column("Facts, avg. max.", "decimal")),
    )
    names = [column.name for column in columns]
    rows = []
    for (dataset, length), group in by_set(main_readers(frame[frame["graph"].map(bool)])).items():
        readers = set(group["reader"])
        base = next((one for one in _UNCHANGED if one in readers), None)  # all build the same
        built = group[group["reader"] == base] if base else group
        built = built[~built.index.duplicated(keep="last")]
        cells: list[Any] = [dataset, length]
        for key in GRAPH_SIZES:
            cells.append(average(built, key))
            if key in GRAPH_SIZES[:2]:  # nodes and facts
                most = float(built[key].max())
                cells.append(None if most != most else most)
        rows.append(row(dict(zip(names, cells, strict=True))))
        printed = paper_figures("graphreader")["table_8"]["sizes"].get(paper_set(dataset), {})
        if paper := printed.get("" if length == NATIVE else length):
            cells = [f"paper: {paper_set(dataset)}", length, *paper]
            rows.append(row(dict(zip(names, cells, strict=True)), paper=True))
    note = (
        'A graph is that of one record. "avg. max." is the mean over graphs of the node that has '
        "most."
    )
    paper_note = source_note("table 8", ".")
    return _table("graphs", "Graphs (table 8)", columns, {"": rows}, [note], paper_note)


# ------------------------------------------------------------------ ReadAgent (its tables 1 to 4)


def read_agent(frame: "DataFrame") -> Table | None:
    """QuALITY by most pages, NarrativeQA's books and scripts apart, QMSum by P and S.

    Other datasets are shown as well if ReadAgent read them; None if it read nothing.
    """
    columns = (
        *(READER, MODEL, WINDOW, QUESTIONS),
        Column("Compression, gists", "percent", average),
        Column("Compression, at the question", "percent", average),
        Column("Pages looked up", "decimal", average),
        *(_ranked(name) for name in READ_AGENT_SCORES),
    )
    sections = {}
    for key, group in by_set(frame[frame["reader"].str.match(PAGE_READERS)]).items():
        if not group["reader"].str.match("read-agent|gistmem").any():
            continue
        for subset, part in by_column(group, "subset").items():
            fitting = _fitting_score(with_options(part))
            its_columns = [
                replace(one, aggregate=fitting) if one.ranked else one for one in columns
            ]
            kinds = {page_reader(reader) for reader in part["reader"]} | {"read-agent", "gistmem"}
            title = set_name(*key) + (f", {subset}s" if subset else "")
            sections[title] = [
                *_reader_rows(its_columns, part),
                *paper_read_agent_rows(key[0], subset, kinds),
            ]
    notes = ["Compression: words that are saved of those of the text, 1 - shown / whole."]
    if any(one.paper for rows in sections.values() for one in rows):
        paper = paper_figures("read_agent")
        notes += [f"In italics: {paper['source']}.", paper["first_version"]]
    return _table("read_agent", "ReadAgent's tables", columns, sections, notes)


# ------------------------------------------------------------------ spread


def spread(frame: "DataFrame") -> Table | None:
    """Mean and standard deviation over repeats and over models; None if there are no such."""
    percents = ("Mean", "Standard deviation", "Least", "Most", "FCR", "FCR, standard deviation")
    columns = (
        *map(Column, ("Reader", "Model", "Window", "Over")),
        *(Column("Runs", "count"), Column("Score")),
        *(Column(name, "percent") for name in percents),
    )
    sections = {}
    for key, section in by_set(frame).items():
        rows = []
        for group in by_column(section, "reader").values():
            models = by_column(group, "model")
            for model, one in models.items():
                rows.append(_spread_row("repeats", model, one, "repeat"))
            rows.append(_spread_row("models", ", ".join(models), group, "model"))
        sections[set_name(*key)] = [one for one in rows if one]
    note = "The sample's standard deviation, of the means of whole runs."
    return _table("spread", "Spread", columns, sections, [note])


def _spread_row(over: str, model: str, group: "DataFrame", column: str) -> TableRow | None:
    """The spread of the runs that differ in a column; None of a single run."""
    runs = [run for _, run in group.groupby(column, sort=False)]
    if len(runs) < 2:
        return None
    measure = main_measure(group)
    means = _run_means(question_scores(run, measure) for run in runs)
    fcrs = _run_means(question_means(run, "FCR") for run in runs)
    cells = {
        **_cells([READER, WINDOW], group),
        "Model": model or None,
        "Over": over,
        "Runs": len(runs),
        "Score": measure,
        "Mean": plain_mean(means),
        "Standard deviation": _deviation(means),
        "Least": min(means, default=None),
        "Most": max(means, default=None),
        "FCR": plain_mean(fcrs),
        "FCR, standard deviation": _deviation(fcrs),
    }
    return row(cells)


def _run_means(runs: Iterable[Mapping[str, float]]) -> list[float]:
    """The mean of each run in which something is measured."""
    means = (plain_mean(run.values()) for run in runs)
    return [one for one in means if one is not None]


def _deviation(values: Sequence[float]) -> float | None:
    return statistics.stdev(values) if len(values) > 1 else None
