"""The papers' tables, counted by hand for a few readings, and what is printed of the papers."""

import pytest

from graphreader.evaluation.measures import (
    EqualBudgetLine,
    ReadingLine,
    Results,
    equal_budget_frame,
    main_measure,
    place,
    question_scores,
    size,
    window_name,
)
from graphreader.evaluation.paper_figures import (
    is_paper_sample,
    paper_figures,
    paper_set,
    printed_sums,
)
from graphreader.evaluation.paper_tables import (
    ablations,
    chunk_size,
    costs,
    equal_reading,
    evidence_found,
    function_calls,
    graphs,
    initial_nodes,
    pairs,
    read_agent,
    recall_by_length,
    recalls,
    score_by_length,
    scores,
    spread,
)
from graphreader.evaluation.report import all_tables, merge_same_reader
from graphreader.evaluation.tables import (
    Section,
    Table,
    as_csv,
    as_json,
    as_markdown,
    best_values,
    footnotes,
    format_cell,
    row,
    visible_columns,
)
from tests.unit.evaluated_report import cells, frame, paper_rows, reading, rows, values

near = pytest.approx
RUN = {"fixed": {"mode": "paper", "initial_nodes": None, "calls": None}}


# Of three questions two have all gold documents read (FCR 2/3), one of them is also answered
# rightly (JSR 1/3); five of six gold documents are read; cited are 1 of 2 and 1 of 1 gold ones.
# Of the supporting sentences a half and all were read in full; of one question none is known.
def test_evidence() -> None:
    lines = [
        reading(id="a", gold_documents=[0, 1], documents_read=[0, 1, 5], documents_cited=[0, 5]),
        reading(id="b", gold_documents=[2, 3], documents_read=[3], documents_cited=[3]),
        reading(id="c", gold_documents=[1, 4], documents_read=[4, 1], em=0.0),
    ]
    shares = zip(lines, (0.5, 1.0, None), strict=True)
    lines = [line.model_copy(update={"chunk_recall": share}) for line, share in shares]
    (found,) = rows(evidence_found(frame(*lines)))

    names = ("FCR", "JSR", "Document recall", "Chunk recall", "Citation precision")
    assert cells(found, *names) == near([2 / 3, 1 / 3, 5 / 6, 3 / 4, 3 / 4])


# Right is what the raters say; without them the option, without options an exact match. If no
# answer is known, JSR is not measured.
@pytest.mark.parametrize(
    ("fields", "right"),
    [
        ({"em": 0.0, "rating": "exact"}, 1),
        ({"em": 1.0, "rating": "partial"}, 0),
        ({"em": 1.0, "choice": False}, 0),
        ({"em": 0.0, "choice": True}, 1),
        ({"em": 1.0}, 1),
        ({"em": 1.0, "error": "gone"}, 0),
        ({"em": None}, None),
    ],
)
def test_right_answers(fields: dict[str, object], right: int | None) -> None:
    line = reading(gold_documents=[0], documents_read=[0], **fields)

    assert values(evidence_found(frame(line)), "JSR") == [right]


# The footnote says by what JSR is counted, and in which set if that differs.
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ([{"rating": "no"}], "by LR-1 (the raters call it exact)."),
        ([{}], "by an exact match (EM), for no rater was asked."),
        ([{"choice": True}], "by the right option, for no rater was asked."),
        ([{"choice": True}, {"id": "b"}], "by the right option or an exact match (EM), for"),
        (
            [{"rating": "no"}, {"dataset": "x"}],
            "by LR-1 (the raters call it exact), in musique; by",
        ),
    ],
)
def test_jsr_note(fields: list[dict[str, object]], words: str) -> None:
    table = evidence_found(frame(*(reading(**{"gold_documents": [0], **one}) for one in fields)))
    assert table

    assert any(note.startswith("JSR") and words in note for note in table.notes)


# A rating that is missing while others are there is left out, and its row says of how many the mean
# is; nothing else takes its place, also not in JSR. What failed is no missing rating.
def test_missing_rating() -> None:
    gold = {"gold_documents": [0], "documents_read": [0], "recall": {"strings": [1, 1]}}
    lines = [
        reading(id="a", rating="exact", **{**gold, "recall": {"strings": [1, 1], "rated": [1, 1]}}),
        reading(id="b", rating="no", **gold),
        reading(id="c", rating=None, em=1.0, **gold),
        reading(id="d", error="gone", em=0.0, gold_documents=[0]),
    ]
    table = scores(all_lines := frame(*lines))
    assert table
    (scored,), (found,), (recalled,) = map(
        rows, (table, evidence_found(all_lines), recalls(all_lines))
    )

    assert (scored["n"].value, scored["LR-1"].n, scored["EM"].n) == (4, 3, None)
    assert (scored["LR-1"].value, found["JSR"].value) == near((1 / 3, 1 / 3))
    assert (found["JSR"].n, found["FCR"].n) == (3, None)
    assert (recalled["SF-wise, rated"].n, recalled["SF-wise, by words"].n) == (1, None)
    assert format_cell(scored["LR-1"], "percent").endswith("; n 3)")
    assert any(note.startswith("n in brackets") for note in footnotes(table))
    assert main_measure(all_lines) == "LR-1"
    assert main_measure(frame(*lines, reading(reader="full-text"))) == "F1"


# Where some questions have options accuracy is over these, EM and F1 over the others, and the cells
# and a note say how many they are; a failed reading has those of its question.
def test_options_and_others() -> None:
    lines = [
        reading(id="a", choice=True, em=0.0, f1=0.1),
        reading(id="b", choice=False, em=0.0, f1=0.1),
        reading(id="c", em=1.0, f1=0.9),
        reading(id="a", reader="full-text", error="gone", em=0.0, f1=0.0),
        reading(id="b", reader="full-text", choice=True),
        reading(id="c", reader="full-text", em=0.0, f1=0.2),
    ]
    table = scores(frame(*lines))
    assert table
    without, own = rows(table)

    assert (own["Accuracy"].value, own["Accuracy"].n) == (0.5, 2)
    assert (own["EM"].value, own["F1"].value, own["F1"].n) == (1.0, 0.9, 1)
    assert cells(without, "Accuracy", "F1") == [0.5, 0.2]
    assert any("accuracy over 2 questions with options" in one for one in table.notes)
    assert any("over 1 without" in one for one in table.notes)
    assert values(scores(frame(*lines[:2])), "F1") == [None]
    name = main_measure(group := frame(*lines))
    assert (name, list(group[name][:3])) == ("Accuracy or F1", [1, 0, 0.9])
    assert main_measure(frame(*lines[:2])) == "Accuracy"


# Questions whose dataset names no evidence take no part; if there are no others there is no table.
def test_no_gold() -> None:
    lines = [reading(id="a", gold_documents=[1], documents_read=[1]), reading(id="b")]

    assert values(evidence_found(frame(*lines)), "n") == [1]
    assert evidence_found(frame(lines[1])) is None


# F1 0.6 and 0.3 where golden has 0.8 and 0.4: three quarters; what golden was not asked is out.
def test_of_golden() -> None:
    lines = [
        reading(id="a", f1=0.6),
        reading(id="b", f1=0.3),
        reading(id="c", f1=1.0),
        reading(id="a", reader="golden", f1=0.8),
        reading(id="b", reader="golden", f1=0.4),
        reading(id="a", reader="golden", model="other", f1=0.1),
    ]
    own, golden, _ = rows(scores(frame(*lines)))

    assert cells(own, "Reader", "Of golden") == ["graphreader", near(0.75)]
    assert cells(golden, "Reader", "Of golden") == ["golden", 1]


# Of next to nothing there is no share: the interval of golden's score must begin at 10 at least.
@pytest.mark.parametrize(
    ("golden", "share"),
    [([0.0, 0.0], None), ([0.03, 0.02], None), ([1.0, 0.05], None), ([0.11, 0.1], 1.0)],
)
def test_of_weak_golden(golden: list[float], share: float | None) -> None:
    table = scores(
        frame(
            *(
                reading(id=str(number), reader=reader, f1=f1)
                for reader in ("graphreader", "golden")
                for number, f1 in enumerate(golden)
            )
        )
    )
    assert table

    assert values(table, "Of golden") == [share, share]
    assert any("begins below 10" in note for note in table.notes)


# LR-1 counts exact answers, LR-2 partial ones, too; what was repeated is one question. A reading
# that failed counts as 0, also in scores that it has not; amounts leave it out.
def test_ratings_and_failures() -> None:
    lines = [
        reading(id="a", rating="exact"),
        reading(id="b", rating="partial"),
        reading(id="c", rating="no"),
        reading(id="d", rating="exact"),
        reading(id="d", rating="no", repeat=1),
    ]
    assert cells(rows(scores(frame(*lines)))[0], "n", "LR-1", "LR-2") == near([4, 1.5 / 4, 2.5 / 4])

    lines = [
        reading(id="a", rating="exact", gold_documents=[0], documents_read=[0], tokens_read=50),
        reading(id="b", answered=False, em=0.0, f1=0.0, error="gone", gold_documents=[0]),
    ]
    assert cells(rows(scores(frame(*lines)))[0], "Answered", "LR-1", "F1") == [0.5, 0.5, 0.5]
    assert cells(rows(evidence_found(frame(*lines)))[0], "FCR", "Tokens read") == [0.5, 50]


# A question without a known answer has no score, whether its reading failed or not.
def test_unknown_answer() -> None:
    lines = [reading(id="a"), reading(id="b", em=None, f1=None, error="gone")]
    failed = reading(id="c", em=0.0, f1=0.0, error="gone")

    assert question_scores(frame(*lines), "F1") == {"a": 1.0}
    assert question_scores(frame(*lines, failed), "F1") == {"a": 1.0, "c": 0.0}


# Best and second best of ours are marked, by what is printed; papers and golden take no part.
def test_best() -> None:
    ours = [row({"x": value}) for value in (0.5, 0.61, 0.6104)]
    others = [row({"x": 0.9}, paper=True), row({"x": 0.95}, ranked=False), row({"x": None})]

    assert best_values(Section("", (*ours, *others)), "x") == (0.61, 0.5)
    assert best_values(Section("", tuple(ours[:1])), "x") == (None, None)
    assert best_values(Section("", tuple(ours[1:])), "x") == (None, None)


# FCR at equal reading: the reader finds all of both questions, retrieval of one; the difference is
# a half, with one win and one tie. Lines of other readers and sets are not mixed in.
def test_equal_reading() -> None:
    lines = [reading(id=id_, gold_documents=[0, 1], documents_read=[0, 1]) for id_ in "ab"]
    fields = {"length": "native", "reader": "bm25", "against": "graphreader", "tokens_read": 10}
    equal = [
        EqualBudgetLine(id="a", dataset="musique", documents_read=(0, 1, 2), k=3, **fields),
        EqualBudgetLine(id="b", dataset="musique", documents_read=(1,), k=1, **fields),
        EqualBudgetLine(id="b", dataset="hotpotqa", documents_read=(0, 1), k=1, **fields),
    ]
    (found,) = rows(equal_reading(frame(*lines), equal_budget_frame(equal, lines)))

    names = ("FCR of reader", "FCR of retrieval", "Difference", "Better / same / worse", "n", "k")
    assert cells(found, *names) == [1, 0.5, 0.5, "1 / 1 / 0", 2, 2]


# Table 6: 3 of 5 facts, all of them of one of two questions; facts and notebook stand apart.
def test_recalls() -> None:
    lines = [
        reading(
            id="a",
            recall={"strings": [2, 2], "rated": [1, 1]},
            facts_recall={"strings": [0, 2]},
            gold_documents=[0],
            documents_read=[0],
        ),
        reading(
            id="b",
            recall={"strings": [1, 3], "rated": None},
            facts_recall={"strings": [3, 3]},
            gold_documents=[1],
        ),
    ]
    facts, notebook = rows(recalls(frame(*lines)))

    by_words = ("SF-wise, by words", "Sample-wise, by words")
    assert cells(facts, "Text", *by_words) == ["atomic facts", near(3 / 5), 0.5]
    assert cells(notebook, "Text", *by_words) == ["final notebook", near(3 / 5), 0.5]
    assert cells(notebook, "SF-wise, rated", "Sample-wise, rated", "FCR") == [1, 1, 0.5]


# Table 5: plan, paths and answer are the question's; facts, gists and raters are not.
def test_costs() -> None:
    def usage(tokens: int) -> dict[str, int]:
        return {"calls": 1, "input_tokens": tokens, "output_tokens": 10}

    phases = {"plan": usage(90), "explore": usage(990), "answer": usage(190), "rate": usage(500)}
    lines = [
        reading(phases=phases, building=usage(4990), record_tokens=20000),
        reading(reader="read-agent-s", usage=usage(290), window=128000),
    ]
    other, own = rows(costs(frame(*lines)))

    assert cells(own, "Tokens a question", "Plan", "Paths") == [1300, 100, 1000]
    assert cells(own, "Building a text", "Context", "Calls") == [5000, 20000, 3]
    assert cells(other, "Tokens a question", "Plan") == [300, None]


# Of six calls two are at facts, three at chunks, one at neighbors; next_page counts beside. Two
# paths of one question: 3.5 calls a path, 7 a question.
def test_function_calls() -> None:
    def path(*functions: tuple[str, str]) -> dict[str, object]:
        calls = [{"name": name, "stage": stage} for name, stage in functions]
        return {"calls": len(calls), "functions": calls}

    paths = [
        path(("read_chunk", "facts"), ("search_more", "chunks"), ("termination", "chunks")),
        path(
            ("read_chunk", "facts"),
            ("read_previous_chunk", "chunks"),
            ("next_page", "neighbors"),
            ("termination", "neighbors"),
        ),
    ]
    found = rows(function_calls(frame(reading(paths=paths))))
    named = {(one["Stage"].value, one["Function"].value): one for one in found}
    shares = {key[1]: one["Of its stage"].value for key, one in named.items() if "chunks" in key[0]}

    assert cells(found[0], "Calls a path", "Calls a question") == [3.5, 7]
    assert named["Exploring atomic facts", "read_chunk"]["Of all calls"].value == near(2 / 6)
    assert named["Exploring chunks", "search_more"]["Of all calls"].value == near(3 / 6)
    assert shares.pop("read_subsequent_chunk") == 0
    assert list(shares.values()) == near([1 / 3] * 3)
    assert named["Exploring neighbors", "termination"]["Of its stage"].value == 1
    assert named["Exploring neighbors", "next_page (ours, beside)"]["Of its stage"].value == 1


# Bare names count where only one stage has such a function; of the others a note says how many.
def test_bare_function_names() -> None:
    paths = [{"calls": 2, "functions": ["read_chunk", "termination"]}]
    table = function_calls(frame(reading(paths=paths)))
    assert table

    assert rows(table)[0]["Of all calls"].value == 1
    assert any("without their stage" in note and note.endswith(" 1.") for note in table.notes)


def answers(reader: str, f1: dict[str, float], **fields: object) -> list[ReadingLine]:
    """Readings of one reader, with the F1 of each question."""
    return [reading(id=id_, reader=reader, f1=value, **fields) for id_, value in f1.items()]


# The differences are 0.6, 0.5, -0.1 and 0, their mean 0.25; of the 8 ways to set the signs of the
# first three 4 reach their sum, 1. The question that only one of them was asked takes no part.
def test_pair() -> None:
    lines = [
        *answers("graphreader", {"a": 1.0, "b": 0.9, "c": 0.3, "d": 0.5}),
        *answers("rag-bm25-3", {"a": 0.4, "b": 0.4, "c": 0.4, "d": 0.5, "e": 1.0}),
    ]
    (pair,) = rows(pairs(frame(*lines)))

    names = ("Reader", "Against", "Measure", "n", "p", "Better / same / worse")
    assert cells(pair, *names) == ["graphreader", "rag-bm25-3", "F1", 4, 0.5, "2 / 1 / 1"]
    means = cells(pair, "Mean of reader", "Mean of the other", "Difference")
    assert means == near([2.7 / 4, 1.7 / 4, 0.25])
    low, high = pair["Difference"].low, pair["Difference"].high
    assert low is not None
    assert high is not None
    assert -0.1 <= low < 0.25 < high <= 0.6


# Rated answers are compared by LR-1; a reading that failed counts as 0, and readings of the same
# question are averaged first: (1 + 0) / 2 of one question against 0 of the other reader.
def test_pair_failed_and_repeated() -> None:
    lines = [
        reading(rating="exact"),
        reading(rating="partial", repeat=1),
        reading(reader="full-text", answered=False, f1=0.0, error="no model"),
    ]
    (pair,) = rows(pairs(frame(*lines)))

    assert cells(pair, "Measure", "n", "Mean of reader", "Mean of the other") == ["LR-1", 1, 0.5, 0]
    assert pair["Better / same / worse"].value == "1 / 0 / 0"


# FCR follows where evidence is known, over the questions of which it is: all of `a` was read by
# one reader only; `b` names no evidence.
def test_pair_evidence() -> None:
    lines = [
        reading(id="a", gold_documents=[0, 1], documents_read=[0, 1, 5]),
        reading(id="b", documents_read=[0]),
        reading(id="a", reader="rag-bm25-1", gold_documents=[0, 1], documents_read=[1]),
        reading(id="b", reader="rag-bm25-1", documents_read=[0]),
    ]
    by_answers, by_evidence = rows(pairs(frame(*lines)))

    assert cells(by_answers, "Measure", "n") == ["F1", 2]
    names = ("Measure", "n", "Mean of reader", "Mean of the other")
    assert cells(by_evidence, *names) == ["FCR", 1, 1, 0]


# Every other reader of the main table is an opponent, in its order; ablations are none. Without
# the default the first other mode of GraphReader is the reader.
def test_opponents() -> None:
    names = ("golden", "graphreader-paper", "rag-bm25-1", "graphreader-no-plan", "graphreader")
    every, without = (
        pairs(frame(*(reading(reader=name) for name in some))) for some in (names, names[:-1])
    )

    assert values(every, "Reader") == ["graphreader"] * 3
    assert values(every, "Against") == ["rag-bm25-1", "graphreader-paper", "golden"]
    assert values(without, "Reader") == ["graphreader-paper"] * 2
    assert values(without, "Against") == ["rag-bm25-1", "golden"]


# Only readers of the same model, dataset and length that share a question are a pair.
@pytest.mark.parametrize(
    "other", [{"model": "another"}, {"length": "16k"}, {"dataset": "another"}, {"id": "another"}]
)
def test_no_pair(other: dict[str, str]) -> None:
    lines = [reading(model="one"), reading(**{"model": "one", **other}, reader="full-text")]

    assert pairs(frame(*lines)) is None
    assert pairs(frame(lines[0], reading(model="one", reader="full-text"))) is not None


# Several models have rows of their own in every table, and a row of their spread; each has its own
# GraphReader to be compared with. A model that is the only one is not shown.
def test_models() -> None:
    readers = ("graphreader", "full-text", "graphreader-no-plan", "graphreader-nodes-3")
    lines = [
        reading(reader=reader, model=model, f1=f1)
        for model, f1 in (("one", 0.2), ("two", 0.8))
        for reader in readers
    ]
    both, one = pairs(frame(*lines)), pairs(frame(*lines[:4]))
    assert both
    assert one

    assert values(both, "Model") == ["one", "two"]
    assert values(scores(frame(*lines)), "Model") == ["one", "two"] * 2
    assert values(ablations(frame(*lines)), "F1") == [0.2, 0.2, 0.8, 0.8]
    assert values(initial_nodes(frame(*lines)), "F1") == [0.2, 0.8]
    assert values(spread(frame(lines[0], lines[4])), "Over") == ["models"]
    shown = [{c.name for c in visible_columns(table, table.sections[0])} for table in (both, one)]
    assert ["Model" in names for names in shown] == [True, False]


# Table 4: what a part's absence costs is counted question by question against all of GraphReader.
def test_ablations() -> None:
    lines = [
        reading(id="a", f1=1.0),
        reading(id="b", f1=0.5),
        reading(id="a", reader="graphreader-no-plan", f1=0.5),
        reading(id="b", reader="graphreader-no-plan", f1=0.4),
        reading(id="a", reader="rag-bm25-3", f1=0.1),
    ]
    whole, without = rows(ablations(frame(*lines)))

    assert cells(whole, "Reader", "Change") == ["graphreader", None]
    assert cells(without, "Change", "Change of") == [near((-0.5 - 0.1) / 2), "F1"]
    assert ablations(frame(*lines[:2])) is None


# Figures 3 and 4: by number, whatever the order of the lines; the main table is without them.
def test_sweeps() -> None:
    lines = frame(
        reading(reader="graphreader-nodes-10", f1=0.4),
        reading(reader="graphreader-nodes-5", f1=0.9),
        reading(reader="graphreader-chunk-2000", f1=0.3),
        reading(),
    )

    assert values(initial_nodes(lines), "Initial nodes") == [5, 10]
    assert values(initial_nodes(lines), "F1") == [0.9, 0.4]
    assert values(chunk_size(lines), "Tokens a chunk") == [2000]
    assert values(scores(lines), "Reader") == ["graphreader"]


# Figures 1 and 5 are of sets at several lengths, from short to long; the paper's beside its own.
def test_by_length() -> None:
    def at(length: str, f1_star: float, covered: int) -> ReadingLine:
        recall = {"strings": [covered, 2], "rated": None}
        fields = {"f1_star": f1_star, "rating": "exact", "recall": recall}
        return reading(dataset="hotpotwikiqa-mixup", length=length, **fields)

    lines = frame(at("256k", 0.1, 1), at("16k", 0.5, 2), reading(dataset="hotpotqa"))
    table, recall = score_by_length(lines), recall_by_length(lines)
    assert table

    assert [column.name for column in table.columns[3:]] == ["16k", "256k"]
    assert [one.title for one in table.sections] == ["hotpotwikiqa-mixup: LR-1"]
    assert cells(rows(recall)[0], "16k", "256k") == [1, 0.5]
    printed = {one["Reader"].value: one for one in paper_rows(table)}
    assert printed["paper: GraphReader"]["256k"].value == 0.30
    assert not paper_rows(recall)


# Table 8: over graphs the mean and the greatest; of a node's neighbors the mean of both.
def test_graphs() -> None:
    def graph(nodes: int, most: int) -> dict[str, float]:
        return {
            "key_elements": nodes,
            "facts": 10,
            "neighbors_per_element": 4.0,
            "most_neighbors": most,
            "facts_per_element": 2.0,
            "most_facts": 5,
        }

    lines = [
        reading(id="a", graph=graph(100, 30)),
        reading(id="b", graph=graph(300, 50)),
        reading(id="a", graph=graph(100, 30), reader="graphreader-paper"),
    ]
    (sizes,) = rows(graphs(frame(*lines)))

    names = ("Nodes avg.", "Nodes max.", "Neighbors a node, avg. avg.", "Neighbors, avg. max.")
    assert cells(sizes, *names) == [200, 300, 4, 40]


# ReadAgent's books and scripts stand apart, each beside the paper's rows of its own part.
def test_read_agent() -> None:
    lines = [
        reading(
            id=subset,
            dataset="narrativeqa",
            subset=subset,
            reader="read-agent-p-2",
            rouge={"1": 0.5, "2": 0.1, "L": 0.4},
            compression={"gists": 0.9, "final_query": 0.8},
            pages_looked_up=pages,
        )
        for subset, pages in (("script", 1), ("book", 2))
    ]
    table = read_agent(frame(*lines))
    assert table

    assert [one.title for one in table.sections] == ["narrativeqa, books", "narrativeqa, scripts"]
    assert values(table, "Pages looked up") == [2, 1]
    assert values(table, "Compression, at the question") == [0.8, 0.8]
    for section, part in zip(table.sections, ("book", "script"), strict=True):
        names = [str(one["Reader"].value) for one in section.rows if one.paper]
        assert len(names) == 2 * 6
        assert all(part in name for name in names)
    assert read_agent(frame(reading(reader="full-text", dataset="quality"))) is None


# Spread: runs of F1 0.2 and 0.6 have a deviation of 0.283; a single run has none.
def test_spread() -> None:
    lines = [
        reading(id=id_, f1=f1, repeat=repeat)
        for repeat, f1 in ((0, 0.2), (1, 0.6))
        for id_ in ("a", "b")
    ]
    (found,) = rows(spread(frame(*lines)))

    assert cells(found, "Mean", "Standard deviation") == near([0.4, 0.2828], abs=1e-4)
    assert cells(found, "Least", "Most", "Over") == [0.2, 0.6, "repeats"]
    assert spread(frame(*lines[:2])) is None


# Readers stand in the papers' order, the paper's mode before our default, golden last.
def test_order() -> None:
    names = ["rag-bm25-3", "rag-bm25-10", "full-text", "graphreader-paper", "graphreader", "golden"]

    assert sorted(reversed(names), key=place) == names
    assert sorted(["256k", "native", "16k", "900"], key=size) == ["native", "900", "16k", "256k"]
    assert [window_name(one) for one in (4096, 128000, 2000, 0)] == ["4k", "128k", "2k", None]


# The tables print what the papers print, to a sample of the cells.
def test_paper_figures() -> None:
    figures = paper_figures("graphreader")
    musique, at_64k = (
        {one["label"]: one["scores"][key] for one in figures[table]["rows"] if key in one["scores"]}
        for table, key in (("table_2", "musique"), ("table_3", "64k"))
    )

    assert musique["ReadAgent"] == [54.5, 61.0, 35.0, 45.1]
    assert musique["GraphReader"] == [59.0, 63.5, 38.0, 47.4]
    assert at_64k["GPT-4-128k (chunk w/ notes)"] == [28.0, 32.0, 22.0]
    assert at_64k["GraphReader"] == [30.0, 36.0, 32.9]
    assert figures["table_6"]["rows"] == [
        ["Atomic Facts", 76.4, 64.7],
        ["Final Notebook", 90.5, 85.3],
    ]
    assert figures["table_8"]["sizes"]["musique"][""][0] == 1029.4


# The paper's own share of golden: 0.95, 0.955 and 0.85, by the F1 of its table 2.
@pytest.mark.parametrize(
    ("dataset", "share"),
    [("longbench-hotpotqa", 0.95), ("longbench-2wikimqa", 0.955), ("longbench-musique", 0.85)],
)
def test_of_golden_in_the_paper(dataset: str, share: float) -> None:
    printed = paper_rows(scores(frame(reading(dataset=dataset))))
    (found,) = [one for one in printed if one["Reader"].value == "paper: GraphReader"]

    assert found["Of golden"].value == near(share, abs=0.005)


# Beside LongBench's HotpotQA stand the paper's ablations, with what random nodes cost there.
def test_printed_ablations() -> None:
    lines = [
        reading(dataset="longbench-hotpotqa", reader=reader)
        for reader in ("graphreader", "graphreader-random-nodes")
    ]
    printed = paper_rows(ablations(frame(*lines)))

    assert [one["LR-1"].value for one in printed] == [0.843, 0.817, 0.66]
    assert printed[2]["Change"].value == near(-0.183)


# The paper's table 5 stands beside the same set at the same length only.
@pytest.mark.parametrize(("length", "printed"), [("256k", ["48.7k", "52.8k"]), ("128k", [])])
def test_printed_costs(length: str, printed: list[str]) -> None:
    table = costs(frame(reading(dataset="hotpotwikiqa-mixup", length=length)))

    assert [one["Tokens a question"].value for one in paper_rows(table)] == printed


# What cannot be in a printed table is printed, and a note says so: a sum that is not 100, and an
# LR-2 below LR-1.
def test_slips_of_the_paper() -> None:
    calls = function_calls(frame(reading(dataset="longbench-hotpotqa", paths=[{"calls": 1}])))
    assert calls
    table = scores(frame(reading(dataset="hotpotwikiqa-mixup", length="128k")))
    assert table
    neighbors = [one for one in paper_rows(calls) if one["Stage"].value == "Exploring neighbors"]

    assert [one["Of its stage"].value for one in neighbors] == [0.355, 0.655]
    assert printed_sums() == ["hotpotqa, neighbors: 101.0"]
    assert any("hotpotqa, neighbors: 101.0" in note for note in calls.notes)
    assert cells(paper_rows(table)[0], "LR-1", "LR-2") == [0.1, 0.08]
    assert any("cannot be less" in one and one.endswith("BM25 (top-1).") for one in table.notes)


# LongBench's samples are the paper's very sets; a note says that the originals are others.
def test_same_set() -> None:
    assert paper_set("longbench-2wikimqa") == paper_set("2wikimultihopqa")
    assert is_paper_sample("longbench-2wikimqa")
    assert not is_paper_sample("2wikimultihopqa")
    assert paper_set("quality") == ""

    table = scores(frame(reading(dataset="musique")))
    assert table
    assert any("LongBench's samples" in note and "musique" in note for note in table.notes)


def tables(*lines: ReadingLine) -> dict[str, Table]:
    """All tables of these lines, by their names."""
    return {table.name: table for table in all_tables(Results(lines, (), {}))}


# Where a paper's figures stand beside those of no model, a table begins with a sentence that says
# so; not where there are only ours, nor where texts are counted.
def test_offline_warning() -> None:
    found = tables(
        reading(model="offline", gold_documents=[0]),
        reading(model="offline", reader="graphreader-nodes-3"),
    )
    main = found["scores"]

    warned = {name for name, table in found.items() if table.warning}
    assert warned == {"scores", "initial_nodes"}
    assert found.keys() > {"evidence", "datasets", "costs"}
    assert main.warning.startswith("No language model answered here")
    assert as_markdown("", [], [main], []).splitlines()[4].startswith("No language model")
    assert as_json(main)["warning"] == main.warning
    assert "ours,graphreader,offline" in as_csv(main)


# Of several models the sentence says which is none; where each is one, or the set is no paper's,
# there is no sentence.
def test_offline_beside_models() -> None:
    mixed = tables(reading(model="offline"), reading(model="openai:x"))["scores"]

    assert mixed.warning.startswith('No language model answered where the model is "offline"')
    assert not tables(reading(model="openai:x"))["scores"].warning
    assert not tables(reading(model="offline", dataset="mine"))["scores"].warning


# `graphreader` in the paper's mode and `graphreader-paper` are one row, with the mean of both
# readings, in all tables; a footnote says so. Alone it is said to be that of the mode.
def test_one_reader() -> None:
    lines = (reading(f1=0.2), reading(reader="graphreader-paper", f1=0.6))
    fields = {"id": "q1", "dataset": "musique", "length": "native", "reader": "bm25"}
    equal = EqualBudgetLine(
        **fields, against="graphreader-paper", documents_read=(), tokens_read=1, k=1
    )
    one = merge_same_reader(Results(lines, (equal,), RUN))
    found = all_tables(one)
    (alone,) = merge_same_reader(Results(lines[:1], (), RUN)).notes

    assert cells(rows(found[0])[0], "Reader", "n", "F1") == ["graphreader", 1, near(0.4)]
    assert len(rows(found[0])) == 1
    assert one.equal[0].against == "graphreader"
    assert any("graphreader-paper: they are one reader" in note for note in found[0].notes)
    assert "very arguments of graphreader-paper" in alone
    assert not merge_same_reader(Results((reading(reader="full-text"),), (), RUN)).notes


# With another mode, with a part of it set otherwise, or where no mode is known, they are two.
@pytest.mark.parametrize(
    "run", [{}, {"fixed": {"mode": "fast"}}, {"fixed": {"mode": "paper", "calls": 5}}, {"fixed": 1}]
)
def test_two_readers(run: dict[str, object]) -> None:
    lines = (reading(), reading(reader="graphreader-paper"))
    results = merge_same_reader(Results(lines, (), run))

    assert values(all_tables(results)[0], "Reader") == ["graphreader-paper", "graphreader"]
