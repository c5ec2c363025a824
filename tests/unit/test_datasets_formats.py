"""Published formats of question sets, as their files are."""

import json
from pathlib import Path
from typing import Any

import pytest

from graphreader.errors import DatasetError
from graphreader.evaluation.datasets.formats import split_passages
from graphreader.evaluation.datasets.load import data_files, load
from graphreader.evaluation.datasets.record import SourceText, Supporting

MUSIQUE = {
    "id": "2hop__101_202",
    "paragraphs": [
        {"idx": 0, "title": "Kite", "paragraph_text": "A kite flies.", "is_supporting": False},
        {"idx": 1, "title": "Ida", "paragraph_text": "Ida was born in Oro.", "is_supporting": True},
        {"idx": 2, "title": "Oro", "paragraph_text": "Oro lies in Vell.", "is_supporting": True},
    ],
    "question": "In which land was Ida born?",
    "question_decomposition": [{"id": 101, "question": "Ida >> birth", "answer": "Oro"}],
    "answer": "Vell",
    "answer_aliases": ["Land of Vell", "Vell"],
    "answerable": True,
}
HOTPOT = {
    "_id": "5abc",
    "question": "Which of the two is older?",
    "answer": "Brik",
    "type": "comparison",
    "level": "hard",
    "context": [
        ["Brik", ["Brik opened in 1901.", " It is a mill."]],
        ["Tarn", ["Tarn is a mill.", " It opened in 1950."]],
        ["Sol", ["Sol is a hill."]],
    ],
    "supporting_facts": [["Brik", 0], ["Tarn", 1]],
}
QUALITY = {
    "article_id": "00001",
    "set_unique_id": "00001_AB",
    "title": "The Lamp",
    "article": "The lamp went out.\nNobody minded.",
    "questions": [
        {
            "question": "Who minded?",
            "question_unique_id": "00001_AB_1",
            "options": ["Ann", "Bo", "Cy", "Nobody"],
            "gold_label": 4,
            "difficult": 1,
        },
        {
            "question": "What went out?",
            "question_unique_id": "00001_AB_2",
            "options": ["The lamp", "The cat", "The fire", "The dog"],
            "gold_label": 1,
            "difficult": 0,
        },
    ],
}
QMSUM = {
    "topic_list": [],
    "general_query_list": [{"query": "Sum it up.", "answer": "They chose red."}],
    "specific_query_list": [
        {
            "query": "What did Bo want?",
            "answer": "Red paint.",
            "relevant_text_span": [["1", "2"], ["3", "3"]],
        }
    ],
    "meeting_transcripts": [
        {"speaker": "Ann", "content": "Which paint ?"},
        {"speaker": "Bo", "content": "I want red .\nReally ."},
        {"speaker": "Ann", "content": "Fine ."},
        {"speaker": "Bo", "content": "Red then ."},
    ],
}


def lines(path: Path, *values: Any) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return path


def whole(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")
    return path


# MuSiQue: aliases are answers, supporting paragraphs evidence, and the id tells the hops.
def test_musique(tmp_path: Path) -> None:
    (record,) = load(lines(tmp_path / "dev.jsonl", MUSIQUE))

    assert record.id == "musique-2hop__101_202"
    assert record.dataset == "musique"
    assert record.answers == ("Vell", "Land of Vell")
    assert record.documents[1] == SourceText("Ida", "Ida was born in Oro.")
    assert record.gold_documents == (1, 2)
    assert (record.kind, record.hops) == ("2hop", 2)


# MuSiQue-Full: the two of a pair, which have one id, are told apart; what cannot be answered has no
# evidence, and its answer is known, so that no longer context tells it.
def test_musique_unanswerable(tmp_path: Path) -> None:
    lacking = {**MUSIQUE, "answerable": False, "paragraphs": MUSIQUE["paragraphs"][:2]}
    first, second = load(lines(tmp_path / "full.jsonl", MUSIQUE, lacking))

    assert (first.id, first.dataset, first.answerable) == ("musique-2hop__101_202", "musique", True)
    assert second.id == "musique-2hop__101_202 (unanswerable)"
    assert (second.dataset, second.answerable) == ("musique-unanswerable", False)
    assert (second.answers, second.supporting) == (first.answers, ())
    assert first.gold_documents == (1, 2)


# HotpotQA: a paragraph is its sentences joined, evidence the sentence in it.
def test_hotpotqa(tmp_path: Path) -> None:
    (record,) = load(whole(tmp_path / "dev.json", [HOTPOT]))

    assert record.id == "hotpotqa-5abc"
    assert record.answers == ("Brik",)
    assert record.documents[0] == SourceText("Brik", "Brik opened in 1901. It is a mill.")
    assert record.supporting == (
        Supporting(0, "Brik opened in 1901."),
        Supporting(1, "It opened in 1950."),
    )
    assert (record.kind, record.hops) == ("comparison", 2)


# HotpotQA as the `datasets` library has it, with dicts of lists, gives the same record.
def test_hotpotqa_as_columns(tmp_path: Path) -> None:
    context: Any = HOTPOT["context"]
    facts: Any = HOTPOT["supporting_facts"]
    columns = {
        **{key: value for key, value in HOTPOT.items() if key != "_id"},
        "id": "5abc",
        "context": {"title": [t for t, _ in context], "sentences": [s for _, s in context]},
        "supporting_facts": {"title": [t for t, _ in facts], "sent_id": [n for _, n in facts]},
    }

    assert load(lines(tmp_path / "a.jsonl", columns)) == load(whole(tmp_path / "b.json", [HOTPOT]))


# A supporting fact past the paragraph's sentences names the paragraph only; one that names no
# paragraph makes the evidence unknown.
def test_odd_supporting_facts(tmp_path: Path) -> None:
    past = {**HOTPOT, "supporting_facts": [["Brik", 7], ["Tarn", 0]]}
    absent = {**HOTPOT, "_id": "5abd", "supporting_facts": [["Brik", 0], ["Elsewhere", 0]]}
    first, second = load(whole(tmp_path / "dev.json", [past, absent]))

    assert first.supporting == (Supporting(0), Supporting(1, "Tarn is a mill."))
    assert second.supporting == ()


# 2WikiMultihopQA is told from HotpotQA by its evidences; its sentences have no spaces between.
def test_2wikimultihopqa(tmp_path: Path) -> None:
    row = {
        **HOTPOT,
        "type": "bridge_comparison",
        "context": [["Brik", ["Brik opened in 1901.", "It is a mill."]], ["Tarn", ["A mill."]]],
        "supporting_facts": [["Brik", 1], ["Tarn", 0]],
        "evidences": [["Brik", "opening", "1901"]],
    }
    (record,) = load(whole(tmp_path / "dev.json", [row]))

    assert record.id == "2wikimultihopqa-5abc"
    assert record.dataset == "2wikimultihopqa"
    assert record.documents[0].text == "Brik opened in 1901. It is a mill."
    assert record.supporting == (Supporting(0, "It is a mill."), Supporting(1, "A mill."))


# QuALITY: each question of an article is a record, and labels that count from 1 count from 0.
def test_quality(tmp_path: Path) -> None:
    first, second = load(lines(tmp_path / "dev.jsonl", QUALITY))

    assert first.id == "quality-00001_AB_1"
    assert first.documents == (SourceText("The Lamp", "The lamp went out.\nNobody minded."),)
    assert (first.gold_option, first.answers, first.kind) == (3, ("Nobody",), "hard")
    assert (second.gold_option, second.answers, second.kind) == (0, ("The lamp",), "easy")


# QuALITY's other files are HTML: its text is read, not its tags.
def test_quality_in_html(tmp_path: Path) -> None:
    article = "<html><body><p>The lamp &amp; the cat.</p><p>Gone.</p></body></html>"
    first, _ = load(lines(tmp_path / "dev.jsonl", {**QUALITY, "article": article}))

    assert " ".join(first.documents[0].text.split()) == "The lamp & the cat. Gone."


# QuALITY's files are found in a folder by their published names: those that have answers, and those
# in HTML only where there is no text beside them.
def test_published_names_of_quality(tmp_path: Path) -> None:
    def article(name: str) -> dict[str, Any]:
        asked = [
            {**one, "question_unique_id": f"{name}{n}"}
            for n, one in enumerate(QUALITY["questions"])
        ]
        return {**QUALITY, "questions": asked}

    for name in ("htmlstripped.dev", "dev", "train", "htmlstripped.test", "zip"):
        lines(tmp_path / f"QuALITY.v1.0.1.{name}", article(name))

    records = load(tmp_path)

    assert [file.name for file in data_files(tmp_path)] == [
        "QuALITY.v1.0.1.htmlstripped.dev",
        "QuALITY.v1.0.1.train",
    ]
    assert [one.id for one in records] == [
        *("quality-htmlstripped.dev0", "quality-htmlstripped.dev1"),
        *("quality-train0", "quality-train1"),
    ]


# QMSum: a turn is a line, spans are lines with their text, and meetings may be a file each.
def test_qmsum(tmp_path: Path) -> None:
    general, specific = load(lines(tmp_path / "val.jsonl", QMSUM))
    alone = load(whole(tmp_path / "ES2004a.json", QMSUM))

    assert general.documents[0].text == (
        "Ann: Which paint ?\nBo: I want red . Really .\nAnn: Fine .\nBo: Red then ."
    )
    assert (general.kind, general.answers, general.supporting) == (
        "general",
        ("They chose red.",),
        (),
    )
    assert specific.supporting == (
        Supporting(0, "Bo: I want red . Really .\nAnn: Fine .", lines=(1, 2)),
        Supporting(0, "Bo: Red then .", lines=(3, 3)),
    )
    assert [record.id for record in alone] == ["qmsum-ES2004a-0-g0", "qmsum-ES2004a-0-s0"]


# Test splits without answers, and rows that are not whole, are refused with their place.
@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({**MUSIQUE, "answer": None}, 'line 1: "answer" is missing: take a split with answers'),
        ({**HOTPOT, "answer": None}, 'line 1: "answer" is missing'),
        ({**HOTPOT, "context": "x"}, 'line 1: "context" must be a list of pairs'),
        ({**HOTPOT, "context": [["Brik", [1]]]}, 'a list of sentences for "Brik"'),
        ({**MUSIQUE, "paragraphs": [{"title": "x"}]}, r'paragraphs\[0\]: "paragraph_text" must'),
        (
            {**QUALITY, "questions": [{"question": "Who?", "options": ["A", "B"]}]},
            r'questions\[0\]: "gold_label" is missing',
        ),
        (
            {**QUALITY, "questions": [{"question": "Who?", "options": ["A"], "gold_label": 0}]},
            '"gold_label" counts from 1',
        ),
        (
            {**QMSUM, "general_query_list": [{"query": "Sum it up."}]},
            r'general_query_list\[0\]: "answer" must be a text',
        ),
    ],
)
def test_what_is_wrong(tmp_path: Path, row: dict[str, Any], told: str) -> None:
    with pytest.raises(DatasetError, match=told):
        load(lines(tmp_path / "data.jsonl", row))


# Fields of their own that published files have beside those of their format do not keep them out.
@pytest.mark.parametrize("row", [MUSIQUE, HOTPOT, QUALITY, QMSUM])
def test_more_fields(tmp_path: Path, row: dict[str, Any]) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps({**row, "suporting": [], "source": "web"}), encoding="utf-8")

    assert load(path)


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
