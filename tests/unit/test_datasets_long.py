import json
from pathlib import Path
from typing import Any

import pytest

from graphreader.errors import DatasetError
from graphreader.evaluation.datasets.formats import split_passages
from graphreader.evaluation.datasets.load import load
from graphreader.evaluation.datasets.record import SourceText

LONGBENCH: dict[str, Any] = {
    "input": "Who owns the mill?",
    "context": (
        "Passage 1:\nBrik mill\nBrik is a mill.\nIt is tall.\n\nPassage 2:\nTarn\nTarn owns Brik."
    ),
    "answers": ["Tarn", "Mr. Tarn"],
    "length": 14,
    "dataset": "hotpotqa",
    "language": "en",
    "all_classes": None,
    "_id": "ab12",
}
LV_EVAL: dict[str, Any] = {
    "input": "Who owns the mill?",
    "context": (
        "### Passage 1\nBrik is a mill.\n\nLife\nIt is tall.\n\n### Passage 2\nTarn owns Brik."
    ),
    "answers": ["Tarn owns the mill."],
    "length": 15000,
    "dataset": "hotpotwikiqa_mixup",
    "language": "en",
    "answer_keywords": "Tarn",
    "confusing_facts": ["Torn owns Brok."],
}


def written(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


# LongBench: a multi-document context becomes its passages, titled by their first lines.
def test_longbench(tmp_path: Path) -> None:
    (record,) = load(written(tmp_path / "hotpotqa.jsonl", LONGBENCH))

    assert (record.id, record.dataset) == ("longbench-hotpotqa-ab12", "longbench-hotpotqa")
    assert record.question == "Who owns the mill?"
    assert record.answers == ("Tarn", "Mr. Tarn")
    assert record.documents == (
        SourceText("Brik mill", "Brik is a mill.\nIt is tall."),
        SourceText("Tarn", "Tarn owns Brik."),
    )
    assert (record.supporting, record.length) == ((), "native")


# LongBench's single-document sets stay one document.
def test_longbench_of_one_document(tmp_path: Path) -> None:
    story = {**LONGBENCH, "dataset": "narrativeqa", "context": "Once.\n\nPassage 1:\nTwice."}
    (record,) = load(written(tmp_path / "narrativeqa.jsonl", story))

    assert record.documents == (SourceText("narrativeqa", story["context"]),)


# LongBench's Chinese contexts are cut at their own marks, without titles.
def test_longbench_in_chinese(tmp_path: Path) -> None:
    row = {**LONGBENCH, "dataset": "dureader", "language": "zh"}
    row["context"] = "文章1\n水在零度结冰。\n\n文章2\n水在一百度沸腾。"
    (record,) = load(written(tmp_path / "dureader.jsonl", row))

    assert record.language == "zh"
    assert record.documents == (
        SourceText("文章1", "水在零度结冰。"),
        SourceText("文章2", "水在一百度沸腾。"),
    )


# A set of LongBench that asks the same of all contexts leaves the question open: it has ours.
@pytest.mark.parametrize(
    ("name", "language", "asked"),
    [
        ("gov_report", "en", "What does the report say?"),
        ("multi_news_e", "en", "these news articles"),
        ("passage_count", "en", "How many different ones"),
        ("vcsum", "zh", "这次会议讲了什么？"),
    ],
)
def test_longbench_without_input(tmp_path: Path, name: str, language: str, asked: str) -> None:
    row = {**LONGBENCH, "input": "", "dataset": name, "language": language}
    (record,) = load(written(tmp_path / f"{name}.jsonl", row))

    assert asked in record.question
    assert record.dataset == f"longbench-{name.removesuffix('_e')}"


# Where a question is given it is asked; where one is missing, and is not the same for all, that is
# said.
def test_longbench_with_input(tmp_path: Path) -> None:
    given = written(tmp_path / "a.jsonl", {**LONGBENCH, "dataset": "gov_report"})
    missing = written(tmp_path / "b.jsonl", {**LONGBENCH, "input": " "})

    assert load(given)[0].question == LONGBENCH["input"]
    with pytest.raises(DatasetError, match='line 1: "input" must be a text that is not empty'):
        load(missing)


# LongBench's code to be completed is refused, and so its file is to be left out.
@pytest.mark.parametrize("name", ["lcc", "repobench-p", "lcc_e"])
def test_code(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / f"{name}.jsonl", {**LONGBENCH, "input": "", "dataset": name})
    told = rf"line 1: {name.removesuffix('_e')} has code .*: leave its file out"

    with pytest.raises(DatasetError, match=told):
        load(path)


# LV-Eval: keywords and level are kept, and passages are called by their marks.
def test_lv_eval(tmp_path: Path) -> None:
    (record,) = load(written(tmp_path / "hotpotwikiqa_mixup_16k.jsonl", LV_EVAL))

    assert (record.dataset, record.length) == ("hotpotwikiqa-mixup", "16k")
    assert record.keywords == "Tarn"
    assert record.documents == (
        SourceText("Passage 1", "Brik is a mill.\n\nLife\nIt is tall."),
        SourceText("Passage 2", "Tarn owns Brik."),
    )


# A question of LV-Eval has the same id at all levels; one that comes again has a number.
def test_ids_of_lv_eval(tmp_path: Path) -> None:
    other = {**LV_EVAL, "input": "Who owns the hill?"}
    again = {**LV_EVAL, "context": "### Passage 1\nTarn."}
    shorter = load(written(tmp_path / "hotpotwikiqa_mixup_16k.jsonl", LV_EVAL, other, again))
    longer = load(written(tmp_path / "hotpotwikiqa_mixup_256k.jsonl", other, LV_EVAL))

    assert shorter[0].id == longer[1].id
    assert shorter[1].id == longer[0].id
    assert shorter[2].id == f"{shorter[0].id}-2"
    assert {record.length for record in longer} == {"256k"}


# Keywords may be a list as well.
def test_listed_keywords(tmp_path: Path) -> None:
    path = written(tmp_path / "data.jsonl", {**LV_EVAL, "answer_keywords": ["Tarn", "mill"]})

    assert load(path)[0].keywords == "Tarn mill"


# Without keywords LV-Eval is known by its dataset's name.
def test_lv_eval_without_keywords(tmp_path: Path) -> None:
    row = {**LV_EVAL, "dataset": "cmrc_mixup_32k"}
    del row["answer_keywords"], row["confusing_facts"]
    (record,) = load(written(tmp_path / "data.jsonl", row))

    assert (record.dataset, record.length, record.keywords) == ("cmrc-mixup", "32k", "")


# What LV-Eval's published code does not score by F1* has no keywords, whatever the data say.
@pytest.mark.parametrize("name", ["factrecall_en_16k", "factrecall_zh_16k", "dureader_mixup_16k"])
def test_lv_eval_without_f1_star(tmp_path: Path, name: str) -> None:
    (record,) = load(written(tmp_path / f"{name}.jsonl", {**LV_EVAL, "dataset": name}))

    assert record.keywords is None


# Only marks in their order cut a context, and only one that begins with the first of them.
@pytest.mark.parametrize(
    ("context", "texts"),
    [
        ("Passage 1:\nA\nPassage 7:\nB\nPassage 2:\nC", ["A\nPassage 7:\nB", "C"]),
        ("Before.\nPassage 1:\nA", ["Before.\nPassage 1:\nA"]),
        ("Passage 1 is short.\nPassage 2 too.", ["Passage 1 is short.\nPassage 2 too."]),
        ("", [""]),
    ],
)
def test_marks(context: str, texts: list[str]) -> None:
    assert [passage.text for passage in split_passages(context, False, "all")] == texts


# A titled passage of one line only has no title: the line is its text.
def test_titled_passages() -> None:
    assert split_passages("Passage 1:\nAlone\n\nPassage 2:\nTitle\nText", True, "all") == (
        SourceText("Passage 1", "Alone"),
        SourceText("Title", "Text"),
    )
