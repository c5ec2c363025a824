"""The papers' tables, counted by hand for a few readings."""

import pytest

from graphreader.evaluation.paper_tables import (
    costs,
    equal_reading,
    found_evidence,
    recalls,
    scores,
)
from graphreader.evaluation.tables import (
    EqualReading,
    Row,
    Section,
    best,
    footnotes,
    main_measure,
    scored,
    written,
)
from tests.unit.evaluated_report import printed, reading, rows, values


# Of three questions two have all gold documents read (FCR 2/3), one of them is also answered
# rightly (JSR 1/3); five of six gold documents are read; cited are 1 of 2 and 1 of 1 gold ones.
# Of the supporting sentences a half and all were read in full; of one question none is known.
def test_evidence() -> None:
    lines = [
        reading(id="a", gold_documents=[0, 1], documents_read=[0, 1, 5], documents_cited=[0, 5]),
        reading(id="b", gold_documents=[2, 3], documents_read=[3], documents_cited=[3]),
        reading(id="c", gold_documents=[1, 4], documents_read=[4, 1], em=0.0),
    ]
    recalls = zip(lines, (0.5, 1.0, None), strict=True)
    lines = [line.model_copy(update={"chunk_recall": recall}) for line, recall in recalls]
    (row,) = rows(found_evidence(lines))

    assert row["FCR"].value == pytest.approx(2 / 3)
    assert row["JSR"].value == pytest.approx(1 / 3)
    assert row["Document recall"].value == pytest.approx(5 / 6)
    assert row["Chunk recall"].value == pytest.approx(3 / 4)
    assert row["Citation precision"].value == pytest.approx(3 / 4)


# Right is what the raters say; without them the option, without options an exact match. Where no
# answer is known, that is not measured.
@pytest.mark.parametrize(
    ("told", "right"),
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
def test_answered_rightly(told: dict[str, object], right: int | None) -> None:
    line = reading(gold_documents=[0], documents_read=[0], **told)

    assert values(found_evidence([line]), "JSR") == [right]


# The footnote says by what JSR was counted, in which set where that differs.
@pytest.mark.parametrize(
    ("told", "said"),
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
def test_right_by(told: list[dict[str, object]], said: str) -> None:
    table = found_evidence([reading(**{"gold_documents": [0], **one}) for one in told])
    assert table

    assert any(note.startswith("JSR") and said in note for note in table.notes)


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
    (scored,), (found,), (recalled,) = (
        rows(one(lines)) for one in (scores, found_evidence, recalls)
    )

    assert (scored["n"].value, scored["LR-1"].n, scored["EM"].n) == (4, 3, None)
    assert scored["LR-1"].value == pytest.approx(1 / 3)
    assert (found["JSR"].n, found["FCR"].n) == (3, None)
    assert found["JSR"].value == pytest.approx(1 / 3)
    assert (recalled["SF-wise, rated"].n, recalled["SF-wise, by words"].n) == (1, None)
    assert written(scored["LR-1"], "percent").endswith("; n 3)")
    assert any(note.startswith("n in brackets") for note in footnotes(scores(lines)))
    assert not any(note.startswith("n in brackets") for note in footnotes(scores(lines[:2])))
    assert main_measure(lines)[0] == "LR-1"
    assert main_measure([*lines, reading(reader="full-text")])[0] == "F1"


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
    table = scores(lines)
    without, own = rows(table)

    assert (own["Accuracy"].value, own["Accuracy"].n) == (0.5, 2)
    assert (own["EM"].value, own["F1"].value, own["F1"].n) == (1.0, 0.9, 1)
    assert (without["Accuracy"].value, without["F1"].value) == (0.5, 0.2)
    assert any("accuracy over 2 questions with options" in one for one in table.notes)
    assert any("over 1 without" in one for one in table.notes)
    assert rows(scores(lines[:2]))[0]["F1"].value is None
    name, measure = main_measure(lines)
    assert (name, [measure(line) for line in lines[:3]]) == ("Accuracy or F1", [1, 0, 0.9])
    assert main_measure(lines[:2])[0] == "Accuracy"


# Questions whose dataset names no evidence take no part; where there are no others is no table.
def test_no_gold() -> None:
    lines = [reading(id="a", gold_documents=[1], documents_read=[1]), reading(id="b")]

    assert values(found_evidence(lines), "n") == [1]
    assert found_evidence(lines[1:]) is None


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
    found = {row["Reader"].value: row for row in rows(scores(lines)) if not row["Model"].value}

    assert found["graphreader"]["Of golden"].value == pytest.approx(0.75)
    assert found["golden"]["Of golden"].value == 1


# Of next to nothing there is no share: golden must have 10 of 100 for sure.
@pytest.mark.parametrize(
    ("golden", "share"),
    [([0.0, 0.0], None), ([0.03, 0.02], None), ([1.0, 0.05], None), ([0.11, 0.1], 1.0)],
)
def test_of_weak_golden(golden: list[float], share: float | None) -> None:
    lines = [
        reading(id=str(number), reader=reader, f1=f1)
        for reader in ("graphreader", "golden")
        for number, f1 in enumerate(golden)
    ]
    table = scores(lines)

    assert values(table, "Of golden") == [share, share]
    assert any("begins below 10" in note for note in table.notes)


# The paper's own: 0.95, 0.955 and 0.85 of golden, by the F1 of its table 2.
@pytest.mark.parametrize(
    ("dataset", "share"),
    [("longbench-hotpotqa", 0.95), ("longbench-2wikimqa", 0.955), ("longbench-musique", 0.85)],
)
def test_of_golden_in_the_paper(dataset: str, share: float) -> None:
    told = printed(scores([reading(dataset=dataset)]))
    (row,) = [row for row in told if row["Reader"].value == "paper: GraphReader"]

    assert row["Of golden"].value == pytest.approx(share, abs=0.005)


# LR-1 counts exact answers, LR-2 partial ones, too; what was repeated is one question.
def test_ratings() -> None:
    lines = [
        reading(id="a", rating="exact"),
        reading(id="b", rating="partial"),
        reading(id="c", rating="no"),
        reading(id="d", rating="exact"),
        reading(id="d", rating="no", repeat=1),
    ]
    (row,) = rows(scores(lines))

    assert row["n"].value == 4
    assert row["LR-1"].value == pytest.approx((1 + 0.5) / 4)
    assert row["LR-2"].value == pytest.approx((1 + 1 + 0.5) / 4)


# A reading that failed counts as 0, also in scores that it has not; amounts leave it out.
def test_failed() -> None:
    lines = [
        reading(id="a", rating="exact", gold_documents=[0], documents_read=[0], tokens_read=50),
        reading(id="b", answered=False, em=0.0, f1=0.0, error="gone", gold_documents=[0]),
    ]
    (row,) = rows(scores(lines))
    (found,) = rows(found_evidence(lines))

    assert (row["Answered"].value, row["LR-1"].value, row["F1"].value) == (0.5, 0.5, 0.5)
    assert (found["FCR"].value, found["Tokens read"].value) == (0.5, 50)


# Best and second best of ours are told, by what is printed; papers and golden take no part.
def test_best() -> None:
    rows_ = [
        Row.of(0.5),
        Row.of(0.61),
        Row.of(0.6104),
        Row.of(0.9, paper=True),
        Row.of(0.95, ranked=False),
        Row.of(None),
    ]

    assert best(Section("", tuple(rows_)), 0) == (0.61, 0.5)
    assert best(Section("", tuple(rows_[:1])), 0) == (None, None)
    assert best(Section("", tuple(rows_[1:3])), 0) == (None, None)


# FCR at equal reading: the reader finds all of both questions, retrieval of one; the difference is
# a half, with one win and one tie. Lines of other readers and sets are not mixed in.
def test_equal_reading() -> None:
    lines = [reading(id=id_, gold_documents=[0, 1], documents_read=[0, 1]) for id_ in "ab"]
    told = {"length": "native", "reader": "bm25", "against": "graphreader", "tokens_read": 10}
    equal = [
        EqualReading(id="a", dataset="musique", documents_read=(0, 1, 2), k=3, **told),
        EqualReading(id="b", dataset="musique", documents_read=(1,), k=1, **told),
        EqualReading(id="b", dataset="hotpotqa", documents_read=(0, 1), k=1, **told),
    ]
    (row,) = rows(equal_reading(lines, equal))

    assert (row["FCR of reader"].value, row["FCR of retrieval"].value) == (1, 0.5)
    assert row["Difference"].value == 0.5
    assert row["Better / same / worse"].value == "1 / 1 / 0"
    assert (row["n"].value, row["k"].value) == (2, 2)


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
    facts, notebook = rows(recalls(lines))

    assert facts["Text"].value == "atomic facts"
    assert facts["SF-wise, by words"].value == pytest.approx(3 / 5)
    assert facts["Sample-wise, by words"].value == 0.5
    assert notebook["Text"].value == "final notebook"
    assert notebook["SF-wise, by words"].value == pytest.approx(3 / 5)
    assert notebook["Sample-wise, by words"].value == 0.5
    assert (notebook["SF-wise, rated"].value, notebook["Sample-wise, rated"].value) == (1, 1)
    assert notebook["FCR"].value == 0.5


# Table 5: plan, paths and answer are the question's; facts, gists and raters are not.
def test_costs() -> None:
    def spent(tokens: int) -> dict[str, int]:
        return {"calls": 1, "input_tokens": tokens, "output_tokens": 10}

    phases = {"plan": spent(90), "explore": spent(990), "answer": spent(190), "rate": spent(500)}
    lines = [
        reading(phases=phases, building=spent(4990), record_tokens=20000),
        reading(reader="read-agent-s", usage=spent(290), window=128000),
    ]
    read_agent_, own = rows(costs(lines))

    assert (own["Tokens a question"].value, own["Plan"].value, own["Paths"].value) == (
        1300,
        100,
        1000,
    )
    assert (own["Building a text"].value, own["Context"].value) == (5000, 20000)
    assert own["Calls"].value == 3
    assert (read_agent_["Tokens a question"].value, read_agent_["Plan"].value) == (300, None)


# The paper's table 5 stands beside the same set at the same length only.
@pytest.mark.parametrize(("length", "told"), [("256k", ["48.7k", "52.8k"]), ("128k", [])])
def test_printed_costs(length: str, told: list[str]) -> None:
    table = costs([reading(dataset="hotpotwikiqa-mixup", length=length)])

    assert [row["Tokens a question"].value for row in printed(table)] == told


# A question without a known answer has no score, whether its reading failed or not.
def test_failed_without_an_answer() -> None:
    lines = [reading(id="a"), reading(id="b", em=None, f1=None, error="gone")]
    failed = reading(id="c", em=0.0, f1=0.0, error="gone")

    assert scored(lines, (lambda line: line.f1)) == {"a": 1.0}
    assert scored([*lines, failed], (lambda line: line.f1)) == {"a": 1.0, "c": 0.0}
