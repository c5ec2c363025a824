"""The rules of the papers' tables, counted by hand for a few readings."""

from typing import Any

import pytest

from graphreader.evaluation.measures import length_position, reader_position, window_name
from graphreader.evaluation.tables import format_cell
from tests.unit.evaluated_report import cells, reading, tables

near = pytest.approx
Fields = dict[str, Any]


def usage(tokens: int) -> dict[str, int]:
    return {"calls": 1, "input_tokens": tokens, "output_tokens": 10}


def readings(reader: str, **columns: list[Any]) -> list[Fields]:
    """Readings of one reader, of the questions a, b, c..., with a value of each."""
    rows = zip(*columns.values(), strict=True)
    names = [dict(zip(columns, one, strict=True)) for one in rows]
    return [{"id": "abcdefg"[n], "reader": reader, **one} for n, one in enumerate(names)]


UNKNOWN: Fields = {"em": None, "f1": None}


# Each case: a table, readings, columns, and the cells of our rows.
COUNTED: dict[str, tuple[str, list[Fields], tuple[str, ...], list[list[object]]]] = {
    # Of three questions two have all gold documents read, one of them is also answered rightly;
    # five of six gold documents are read; cited are 1 of 2 and 1 of 1 gold ones. Of the supporting
    # sentences a half and all were read in full; of one question none is known.
    "evidence": (
        "evidence",
        [
            {
                **{"id": "a", "gold_documents": [0, 1], "documents_read": [0, 1, 5]},
                **{"documents_cited": [0, 5], "chunk_recall": 0.5},
            },
            {
                **{"id": "b", "gold_documents": [2, 3], "documents_read": [3]},
                **{"documents_cited": [3], "chunk_recall": 1.0},
            },
            {"id": "c", "gold_documents": [1, 4], "documents_read": [4, 1], "em": 0.0},
            {"id": "no evidence known"},
        ],
        ("n", "FCR", "JSR", "Document recall", "Chunk recall", "Citation precision"),
        [[3, 2 / 3, 1 / 3, 5 / 6, 3 / 4, 3 / 4]],
    ),
    # A reading that failed counts as 0, also in scores that it has not; amounts leave it out.
    "failures": (
        "scores",
        [
            {"id": "a", "rating": "exact"},
            {"id": "b", "answered": False, "em": 0.0, "f1": 0.0, "error": "gone"},
        ],
        ("Answered", "LR-1", "F1"),
        [[0.5, 0.5, 0.5]],
    ),
    # Of five questions two have no answer: one of the two refusals is to one of them, and a failure
    # is none. A list of which 3 of 4 items are found beside a wrong one is not right; the count is.
    # So 2 of 5 are right, with 500 tokens and 5 calls.
    "lists_counts_and_refusals": (
        "scores",
        [
            {"id": "a", "answerable": False, "answered": False, **UNKNOWN, "usage": usage(90)},
            {"id": "b", "answerable": False, "answered": False, **UNKNOWN, "error": "gone"},
            {"id": "c", "answered": False, "em": 0.0, "f1": 0.0, "usage": usage(190)},
            {"id": "d", "items": {"found": 3, "named": 4, "gold": 4}, "usage": usage(90)},
            {"id": "e", "count": True, "em": 0.0, "f1": 0.0, "usage": usage(90)},
        ],
        (
            *("Refusal precision", "Refusal recall", "Item precision", "Item recall", "Item F1"),
            *("Exact count", "Tokens a right answer", "Calls a right answer"),
        ),
        [[1 / 2, 1 / 2, 3 / 4, 3 / 4, 3 / 4, 1, 250, 2]],
    ),
    # Where every question has an answer, refusals are not measured. Right is what the raters say,
    # else an exact match; without a right answer nothing is divided.
    "success_economy": (
        "quality_and_cost",
        [
            *readings("rag-bm25-3", rating=["exact", "no"], usage=[usage(90), usage(190)]),
            *readings("full-text", em=[0.0, 0.0], usage=[usage(90), usage(90)]),
        ],
        ("Reader", "Tokens a right answer", "Calls a right answer"),
        [["rag-bm25-3", 300, 2], ["full-text", None, None]],
    ),
    # Accuracy is over the questions with options, EM and F1 over the others; a failed reading has
    # the options of its question.
    "options": (
        "scores",
        [
            {"id": "a", "choice": True, "em": 0.0, "f1": 0.1},
            {"id": "b", "choice": False, "em": 0.0, "f1": 0.1},
            {"id": "c", "f1": 0.9},
            {"id": "a", "reader": "full-text", "error": "gone", "em": 0.0, "f1": 0.0},
            {"id": "b", "reader": "full-text", "choice": True},
            {"id": "c", "reader": "full-text", "em": 0.0, "f1": 0.2},
        ],
        ("Accuracy", "EM", "F1"),
        [[0.5, 0.0, 0.2], [0.5, 1.0, 0.9]],
    ),
    # F1 0.6 and 0.3 where golden has 0.8 and 0.4: three quarters; what golden was not asked, and
    # another model's golden, are left out.
    "share of golden": (
        "scores",
        [
            *readings("graphreader", f1=[0.6, 0.3, 1.0]),
            *readings("golden", f1=[0.8, 0.4]),
            {"id": "a", "reader": "golden", "model": "other", "f1": 0.1},
        ],
        ("Reader", "Of golden"),
        [["graphreader", 0.75], ["golden", 1], ["golden", 1]],
    ),
    # Table 6: 3 of 5 facts, all of them of one of two questions; facts and notebook stand apart.
    "recall": (
        "recall",
        [
            {
                **{"id": "a", "gold_documents": [0], "documents_read": [0]},
                **{"recall": {"strings": [2, 2], "rated": [1, 1]}},
                "facts_recall": {"strings": [0, 2]},
            },
            {
                **{"id": "b", "gold_documents": [1], "recall": {"strings": [1, 3], "rated": None}},
                "facts_recall": {"strings": [3, 3]},
            },
        ],
        ("Text", "SF-wise, by words", "Sample-wise, by words", "SF-wise, rated", "FCR"),
        [["atomic facts", 3 / 5, 0.5, None, None], ["final notebook", 3 / 5, 0.5, 1, 0.5]],
    ),
    # Table 5: plan, paths and answer are the question's; facts, gists and raters are not.
    "costs": (
        "costs",
        [
            {
                "phases": {
                    **{"plan": usage(90), "explore": usage(990)},
                    **{"answer": usage(190), "rate": usage(500)},
                },
                **{"built": ["a graph"], "gpt4_tokens": 20000},
            },
            {"reader": "read-agent-s", "usage": usage(290), "window": 128000},
        ],
        ("Tokens a question", "Plan", "Paths", "Building a text", "Context", "Calls"),
        [[300, None, None, None, None, 1], [1300, 100, 1000, 5000, 20000, 3]],
    ),
    # A graph cost the same whoever uses it how often; two questions about a text share its graph.
    # The mean is over texts: of 600 and 200 tokens.
    "cost of a graph": (
        "costs",
        [
            {"reader": name, "repeat": n, "id": id_, "corpus": corpus, "built": [corpus]}
            for corpus, ids in (("t", "ab"), ("u", "c"))
            for id_ in ids
            for name, n in (("graphreader", 0), ("graphreader", 1), ("graphreader-paper", 0))
        ],
        ("Reader", "Building a text"),
        [["graphreader-paper", 400], ["graphreader", 400]],
    ),
    # ReadAgent's pages, which retrieval made first, are part of what its own memory cost.
    "cost of pages": (
        "costs",
        [
            {"reader": "rag-pages-bm25-3", "built": ["pages"]},
            {"reader": "read-agent-s", "built": ["pages", "gists"]},
        ],
        ("Building a text",),
        [[100], [300]],
    ),
    # Table 1 counts as the paper does, each question once, whoever was asked it how often.
    "datasets": (
        "datasets",
        [
            *readings("graphreader", gpt4_tokens=[10, 20]),
            *readings("golden", gpt4_tokens=[10], length=["16k"]),
            *readings("golden", gpt4_tokens=[10], repeat=[1]),
            *readings("full-text", record_tokens=[9000, 9000]),
        ],
        ("Length", "Avg. tokens", "Max. tokens", "Samples"),
        [["native", 15, 20, 2], ["16k", 10, 10, 1]],
    ),
    # The differences are 0.6, 0.5, -0.1 and 0; of the 8 ways to set the signs of the first three 4
    # reach their sum. The question that only one of them was asked takes no part.
    "pair": (
        "pairs",
        [
            *readings("graphreader", f1=[1.0, 0.9, 0.3, 0.5]),
            *readings("rag-bm25-3", f1=[0.4, 0.4, 0.4, 0.5, 1.0]),
        ],
        (
            *("Against", "Measure", "n", "p", "Better / same / worse"),
            *("Mean of reader", "Mean of the other", "Difference"),
        ),
        [["rag-bm25-3", "F1", 4, 0.5, "2 / 1 / 1", 2.7 / 4, 1.7 / 4, 0.25]],
    ),
    # Table 4: what a part's absence costs is counted question by question; other readers are out.
    "ablations": (
        "ablations",
        [
            *readings("graphreader", f1=[1.0, 0.5]),
            *readings("graphreader-no-plan", f1=[0.5, 0.4]),
            *readings("rag-bm25-3", f1=[0.1]),
            *readings("graphreader-adaptive", f1=[0.1]),
        ],
        ("Reader", "Change", "Change of"),
        [["graphreader", None, None], ["graphreader-no-plan", -0.3, "F1"]],
    ),
}


# What is counted by hand is what the tables show.
@pytest.mark.parametrize("name", COUNTED)
def test_counted_by_hand(name: str) -> None:
    table, lines, columns, expected = COUNTED[name]
    building = {"a graph": 5000, "t": 600, "u": 200, "pages": 100, "gists": 200}
    made = tables(*(reading(**line) for line in lines), building=building)[table]
    rows = cells(made, *columns)

    assert len(rows) == len(expected)
    for made, counted in zip(rows, expected, strict=True):
        assert [isinstance(one, str) for one in made] == [isinstance(one, str) for one in counted]
        assert made == [near(one) if isinstance(one, float) else one for one in counted]


# Figure 5 is by the rater as soon as one was asked: a reading that has no rating is left out, and n
# says so; counting words never takes its place. A question counts once (macro mean).
def test_figure_5() -> None:
    counts = {"strings": [2, 2], "rated": [1, 4]}
    lines = [
        reading(id=id_, length=length, recall={**counts, "rated": rated})
        for length in ("16k", "64k")
        for id_, rated in (("a", [1, 4]), ("b", [1, 1] if length == "64k" else None))
    ]
    (section,) = tables(*lines)["recall_by_length"].sections
    by_words = [one | {"recall": counts | {"rated": None}} for one in lines]
    (other,) = tables(*by_words)["recall_by_length"].sections

    assert section.title == "musique: recall, rated"
    short, long = (section.rows[0][length] for length in ("16k", "64k"))
    assert (short.value, short.n, long.value, long.n) == (0.25, 1, 0.625, None)
    assert (other.title, other.rows[0]["16k"].value) == ("musique: recall, by words", 1)


# Right is what the raters say; without them the option, without options an exact match. If no
# answer is known, JSR is not measured.
@pytest.mark.parametrize(
    ("fields", "right"),
    [
        ({"em": 0.0, "rating": "exact"}, 1),
        ({"em": 1.0, "rating": "partial"}, 0),
        ({"em": 0.0, "choice": True}, 1),
        ({"em": 1.0}, 1),
        ({"em": 1.0, "error": "gone"}, 0),
        ({"em": None}, None),
    ],
)
def test_right_answers(fields: Fields, right: int | None) -> None:
    gold = {"gold_documents": [0, 1], "documents_read": [0, 1]}

    assert cells(tables(reading(**gold, **fields))["evidence"], "JSR") == [[right]]


# A rating that is missing while others are there is left out, and its row says of how many the mean
# is; nothing else takes its place, also not in JSR. What failed is no missing rating.
def test_missing_rating() -> None:
    gold = {"gold_documents": [0], "documents_read": [0]}
    lines = [
        reading(id="a", rating="exact", **gold),
        reading(id="b", rating="no", **gold),
        reading(id="c", rating=None, em=1.0, **gold),
        reading(id="d", error="gone", em=0.0, gold_documents=[0]),
    ]
    made = tables(*lines, reading(id="a", reader="rag-bm25-1", rating="no"))
    (_, scored), (evidence,) = made["scores"].own_rows, made["evidence"].own_rows

    assert (scored["n"].value, scored["LR-1"].n, scored["EM"].n) == (4, 3, None)
    assert (scored["LR-1"].value, evidence["JSR"].value) == near((1 / 3, 1 / 3))
    assert (evidence["JSR"].n, evidence["FCR"].n) == (3, None)
    assert format_cell(scored["LR-1"], "percent").endswith("; n 3)")
    assert cells(made["pairs"], "Measure") == [["LR-1"]]
    unrated = tables(*lines, reading(id="a", reader="full-text"))
    assert cells(unrated["pairs"], "Measure") == [["F1"]]


# Readers stand in the papers' order, the paper's mode before our default, golden last.
def test_order() -> None:
    names = ["rag-bm25-3", "rag-bm25-10", "full-text", "graphreader-paper", "graphreader", "golden"]
    lengths = ["native", "900", "16k", "256k"]

    assert sorted(reversed(names), key=reader_position) == names
    assert sorted(reversed(lengths), key=length_position) == lengths
    assert [window_name(one) for one in (4096, 128000, 2000, 0)] == ["4k", "128k", "2k", None]


# Each table says which contexts were read. The paper's rows have a mark, which a note
# explains, unless its very samples were read as one text; the sets of ReadAgent's paper are whole.
@pytest.mark.parametrize(
    ("dataset", "name", "more", "contexts", "marked"),
    [
        ("longbench-musique", "scores", {"contexts": "text"}, "were one text", False),
        ("longbench-musique", "scores", {"contexts": "documents"}, "documents of their own", True),
        ("longbench-musique", "ablations", {"contexts": "documents"}, "documents of their", True),
        ("longbench-narrativeqa", "scores", {"documents": 1}, "Single texts: longbench-n", False),
        ("musique", "datasets", {"contexts": "text"}, "were one text", True),
        ("narrativeqa", "read_agent", {"documents": 1, "reader": "gistmem"}, "Single texts", False),
    ],
)
def test_contexts(
    dataset: str, name: str, more: dict[str, Any], contexts: str, marked: bool
) -> None:
    lines = [reading(dataset=dataset, **{"documents": 9, "subset": "book", **more})]
    lines += [lines[0] | {"reader": "graphreader-no-plan"}]
    table = tables(*lines)[name]
    labels = [str(one[table.columns[0].name].value) for one in table.rows if one.paper]

    assert any(contexts in note for note in table.notes)
    assert {one.startswith("paper, other texts: ") for one in labels} == {marked}
    assert any("no comparison" in note for note in table.notes) == marked


# In table 4 stands mode paper: beside a default of another mode only `graphreader-paper`.
def test_ablations_are_of_mode_paper() -> None:
    lines = [
        *readings("graphreader", f1=[1.0]),
        *readings("graphreader-paper", f1=[0.6]),
        *readings("graphreader-no-plan", f1=[0.5]),
    ]
    made = tables(*(reading(**line) for line in lines), fixed={"mode": "adaptive"})["ablations"]

    ours = [(one["Reader"].value, one["Change"].value) for one in made.rows if not one.paper]
    assert ours == [("graphreader-paper", None), ("graphreader-no-plan", pytest.approx(-0.1))]


# Table 7 counts mode paper alone: the calls of other modes are not at the paper's stages.
@pytest.mark.parametrize(
    ("mode", "readers"),
    [("adaptive", {"graphreader-paper"}), ("paper", {"graphreader", "graphreader-paper"})],
)
def test_function_calls_are_of_mode_paper(mode: str, readers: set[str]) -> None:
    path = {"calls": 1, "functions": [{"name": "read_chunk", "stage": "facts"}]}
    names = ("graphreader", "graphreader-adaptive", "graphreader-paper", "graphreader-one-path")
    lines = [reading(reader=name, paths=[path]) for name in names]
    made = tables(*lines, fixed={"mode": mode})

    assert {reader for (reader,) in cells(made["functions"], "Reader")} == readers


# A set of which a reader was asked fewer questions gets a note; ablations are not counted.
def test_uneven_questions() -> None:
    both = [reading(id=id_, dataset=name) for id_ in "ab" for name in ("mine", "other")]
    few = [reading(id="a", reader=name) for name in ("graphreader-no-plan", "golden")]
    made = tables(*both, *(one | {"dataset": "mine"} for one in few))["scores"]
    even = tables(*both, few[0] | {"dataset": "mine"})["scores"]

    assert "Not all readers were asked the same questions: mine." in made.notes
    assert not any("same questions" in one for one in even.notes)


# Where a paper's figures stand beside those of no model, a table begins with a sentence that says
# so; not where there are only ours, nor where texts are counted.
def test_offline_warning() -> None:
    made = tables(
        reading(model="offline", gold_documents=[0]),
        reading(model="offline", reader="graphreader-nodes-3"),
    )
    mixed = tables(reading(model="offline"), reading(model="openai:x"))["scores"]

    assert {name for name, table in made.items() if table.warning} == {"scores", "initial_nodes"}
    assert made["scores"].warning.startswith("No language model answered here")
    assert mixed.warning.startswith('No language model answered where the model is "offline"')
    assert not tables(reading(model="openai:x"))["scores"].warning
    assert not tables(reading(model="offline", dataset="mine"))["scores"].warning
