"""Tables of studies, sizes and spread, counted by hand; and what is told of the papers."""

import pytest

from graphreader.evaluation import paper_tables
from graphreader.evaluation.paper_tables import (
    ablations,
    chunk_size,
    graphs,
    initial_nodes,
    read_agent_table,
    recall_by_length,
    score_by_length,
    scores,
    spread,
)
from graphreader.evaluation.tables import Line, place, size, window
from tests.unit.evaluated_report import printed, reading, rows, values


# Table 4: what a part's absence costs is counted question by question against all of GraphReader.
def test_ablations() -> None:
    lines = [
        reading(id="a", f1=1.0),
        reading(id="b", f1=0.5),
        reading(id="a", reader="graphreader-no-plan", f1=0.5),
        reading(id="b", reader="graphreader-no-plan", f1=0.4),
        reading(id="a", reader="rag-bm25-3", f1=0.1),
    ]
    whole, without = rows(ablations(lines))

    assert (whole["Reader"].value, whole["Change"].value) == ("graphreader", None)
    assert without["Change"].value == pytest.approx((-0.5 - 0.1) / 2)
    assert without["Change of"].value == "F1"
    assert ablations(lines[:2]) is None


# Each model has its own GraphReader to be compared with, and its own points of a sweep.
def test_studies_of_models() -> None:
    lines = [
        reading(reader=reader, model=model, f1=f1)
        for model, f1 in (("one", 0.2), ("two", 0.8))
        for reader in ("graphreader", "graphreader-no-plan", "graphreader-nodes-3")
    ]

    assert values(ablations(lines), "Model") == ["one", "one", "two", "two"]
    assert values(ablations(lines), "F1") == [0.2, 0.2, 0.8, 0.8]
    assert values(initial_nodes(lines), "F1") == [0.2, 0.8]


# Beside LongBench's HotpotQA stand the paper's rows, with what random nodes cost there.
def test_printed_ablations() -> None:
    lines = [
        reading(dataset="longbench-hotpotqa", reader=reader)
        for reader in ("graphreader", "graphreader-random-nodes")
    ]
    told = printed(ablations(lines))

    assert [row["LR-1"].value for row in told] == [0.843, 0.817, 0.66]
    assert told[2]["Change"].value == pytest.approx(-0.183)


# Figures 3 and 4: by number, whatever the order of the lines; the main table is without them.
def test_sweeps() -> None:
    lines = [
        reading(reader="graphreader-nodes-10", f1=0.4),
        reading(reader="graphreader-nodes-5", f1=0.9),
        reading(reader="graphreader-chunk-2000", f1=0.3),
        reading(),
    ]

    assert values(initial_nodes(lines), "Initial nodes") == [5, 10]
    assert values(initial_nodes(lines), "F1") == [0.9, 0.4]
    assert values(chunk_size(lines), "Tokens a chunk") == [2000]
    assert values(scores(lines), "Reader") == ["graphreader"]


# Figures 1 and 5 are of sets at several lengths, from short to long; the paper's beside its own.
def test_by_length() -> None:
    def at(length: str, f1_star: float, covered: int) -> Line:
        return reading(
            dataset="hotpotwikiqa-mixup",
            length=length,
            f1_star=f1_star,
            rating="exact",
            recall={"strings": [covered, 2], "rated": None},
        )

    lines = [at("256k", 0.1, 1), at("16k", 0.5, 2), reading(dataset="hotpotqa")]
    score, recall = score_by_length(lines), recall_by_length(lines)
    assert score
    assert recall

    assert [column.name for column in score.columns[3:]] == ["16k", "256k"]
    assert [one.title for one in score.sections] == ["hotpotwikiqa-mixup: LR-1"]
    (row,) = rows(recall)
    assert (row["16k"].value, row["256k"].value) == (1, 0.5)
    told = {row["Reader"].value: row for row in printed(score)}
    assert told["paper: GraphReader"]["256k"].value == 0.30
    assert not printed(recall)


# Table 8: over graphs the mean and the greatest; of a node's neighbors the mean of both.
def test_graphs() -> None:
    def of(nodes: int, most: int) -> dict[str, float]:
        return {
            "key_elements": nodes,
            "facts": 10,
            "neighbors_per_element": 4.0,
            "most_neighbors": most,
            "facts_per_element": 2.0,
            "most_facts": 5,
        }

    lines = [
        reading(id="a", graph=of(100, 30)),
        reading(id="b", graph=of(300, 50)),
        reading(id="a", graph=of(100, 30), reader="graphreader-paper"),
    ]
    (row,) = rows(graphs(lines))

    assert (row["Nodes avg."].value, row["Nodes max."].value) == (200, 300)
    assert row["Neighbors a node, avg. avg."].value == 4
    assert row["Neighbors, avg. max."].value == 40


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
    table = read_agent_table(lines)
    assert table

    assert [one.title for one in table.sections] == ["narrativeqa, books", "narrativeqa, scripts"]
    assert values(table, "Pages looked up") == [2, 1]
    assert values(table, "Compression, at the question") == [0.8, 0.8]
    for section, part in zip(table.sections, ("book", "script"), strict=True):
        names = [str(row.cells[0].value) for row in section.rows if row.paper]
        assert len(names) == 2 * 6
        assert all(part in name for name in names)
    assert read_agent_table([reading(reader="full-text", dataset="quality")]) is None


# Spread: runs of F1 0.2 and 0.6 have a deviation of 0.283; a single run has none.
def test_spread() -> None:
    lines = [
        reading(id=id_, f1=f1, repeat=repeat)
        for repeat, f1 in ((0, 0.2), (1, 0.6))
        for id_ in ("a", "b")
    ]
    (row,) = rows(spread(lines))

    assert row["Mean"].value == pytest.approx(0.4)
    assert row["Standard deviation"].value == pytest.approx(0.2828, abs=1e-4)
    assert (row["Least"].value, row["Most"].value, row["Over"].value) == (0.2, 0.6, "repeats")
    assert spread(lines[:2]) is None


# Several models make rows of their own, and a row of their spread.
def test_models() -> None:
    lines = [reading(model="a", f1=0.2), reading(model="b", f1=0.6)]

    assert values(scores(lines), "Model") == ["a", "b"]
    assert values(spread(lines), "Over") == ["models"]


# Readers stand in the papers' order, the paper's mode before our default, golden last.
def test_order() -> None:
    names = ["golden", "graphreader", "rag-bm25-10", "graphreader-paper", "rag-bm25-3", "full-text"]

    assert sorted(names, key=place) == [
        "rag-bm25-3",
        "rag-bm25-10",
        "full-text",
        "graphreader-paper",
        "graphreader",
        "golden",
    ]
    assert sorted(["256k", "native", "16k", "900"], key=size) == ["native", "900", "16k", "256k"]
    assert [window(one) for one in (4096, 128000, 2000, 0)] == ["4k", "128k", "2k", None]


# What the tables print of the paper is what it prints, to a sample of its cells.
def test_printed() -> None:
    of_musique = {
        row["label"]: row["scores"]["musique"]
        for row in paper_tables.graphreader("table_2")["rows"]
    }
    at_64k = {
        row["label"]: row["scores"]["64k"] for row in paper_tables.graphreader("table_3")["rows"]
    }

    assert of_musique["ReadAgent"] == [54.5, 61.0, 35.0, 45.1]
    assert of_musique["GraphReader"] == [59.0, 63.5, 38.0, 47.4]
    assert at_64k["GPT-4-128k (chunk w/ notes)"] == [28.0, 32.0, 22.0]
    assert at_64k["GraphReader"] == [30.0, 36.0, 32.9]
    assert paper_tables.graphreader("table_6")["rows"] == [
        ["Atomic Facts", 76.4, 64.7],
        ["Final Notebook", 90.5, 85.3],
    ]
    assert paper_tables.graphreader("table_8")["sizes"]["musique"][""][0] == 1029.4


# What cannot be in a printed table is printed, and told.
def test_slip() -> None:
    (bm25, *_) = printed(table := scores([reading(dataset="hotpotwikiqa-mixup", length="128k")]))

    assert (bm25["LR-1"].value, bm25["LR-2"].value) == (0.1, 0.08)
    assert any("cannot be less" in one and one.endswith("BM25 (top-1).") for one in table.notes)
    assert not any("cannot be less" in one for one in scores([reading()]).notes)


# LongBench's samples are the paper's very sets; the originals are told to be others.
def test_same_set() -> None:
    assert paper_tables.set_of("longbench-2wikimqa") == paper_tables.set_of("2wikimultihopqa")
    assert paper_tables.is_same_set("longbench-2wikimqa")
    assert not paper_tables.is_same_set("2wikimultihopqa")
    assert paper_tables.set_of("quality") == ""

    notes = scores([reading(dataset="musique")]).notes
    assert any("LongBench's samples" in note and "musique" in note for note in notes)
