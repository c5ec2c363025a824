"""Published formats of question sets, as their files are."""

import json
from pathlib import Path
from typing import Any

import pytest

from graphreader.errors import DatasetError
from graphreader.evaluation.datasets.load import load, split_passages
from graphreader.evaluation.datasets.record import Record, SourceText, Supporting

MUSIQUE: dict[str, Any] = {
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
HOTPOT: dict[str, Any] = {
    "_id": "5abc",
    "question": "Which of the two is older?",
    "answer": "Brik",
    "type": "comparison",
    "level": "hard",
    "context": [
        ["Brik", ["Brik opened in 1901.", "It is a mill."]],
        ["Tarn", ["Tarn is a mill.", " It opened in 1950."]],
        ["Sol", ["Sol is a hill."]],
    ],
    "supporting_facts": [["Brik", 0], ["Tarn", 1]],
}
QUALITY: dict[str, Any] = {
    "article_id": "00001",
    "set_unique_id": "00001_AB",
    "title": "The Lamp",
    "article": "The lamp went out.\nNobody minded.",
    "questions": [
        {"question": "Who?", "question_unique_id": "00001_AB_1", "options": ["Ann", "Nobody"]}
        | {"gold_label": 2, "difficult": 1},
        {"question": "What?", "options": ["The lamp", "The cat"], "gold_label": 1, "difficult": 0},
    ],
}
QMSUM: dict[str, Any] = {
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
LONGBENCH: dict[str, Any] = {
    "input": "Who owns the mill?",
    "context": (
        "Passage 1:\nBrik mill\nBrik is a mill.\nIt is tall.\n\nPassage 2:\nTarn\nTarn owns Brik."
    ),
    "answers": ["Tarn", "Mr. Tarn"],
    "length": 14,
    "dataset": "hotpotqa",
    "language": "en",
    "_id": "ab12",
}
LV_EVAL: dict[str, Any] = {
    "input": "Who owns the mill?",
    "context": (
        "### Passage 1\nBrik is a mill.\n\nLife\nIt is tall.\n\n### Passage 2\nTarn owns Brik."
    ),
    "answers": ["Tarn owns the mill."],
    "dataset": "hotpotwikiqa_mixup",
    "language": "en",
    "answer_keywords": "Tarn",
    "confusing_facts": ["Torn owns Brok."],
}


def write(path: Path, *rows: Any) -> Path:
    """JSON Lines, or one list of rows if the file's name ends in .json."""
    lines = [json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) if path.suffix != ".json" else f"[{','.join(lines)}]")
    return path


# MuSiQue: aliases are answers and supporting paragraphs evidence. Of MuSiQue-Full's pairs with one
# id, the one that cannot be answered is left out.
def test_musique(tmp_path: Path) -> None:
    lacking = {**MUSIQUE, "answerable": False, "paragraphs": MUSIQUE["paragraphs"][:2]}
    (record,) = load(write(tmp_path / "full.jsonl", MUSIQUE, lacking))

    assert (record.id, record.dataset) == ("musique-2hop__101_202", "musique")
    assert record.answers == ("Vell", "Land of Vell")
    assert record.documents[1] == SourceText("Ida", "Ida was born in Oro.")
    assert (record.gold_documents, record.kind) == ((1, 2), "2hop")


# HotpotQA: a paragraph is its sentences joined, evidence the sentence in it.
def test_hotpotqa(tmp_path: Path) -> None:
    (record,) = load(write(tmp_path / "dev.json", HOTPOT))

    assert (record.id, record.answers, record.kind) == ("hotpotqa-5abc", ("Brik",), "comparison")
    assert record.documents[0] == SourceText("Brik", "Brik opened in 1901. It is a mill.")
    assert record.supporting == (
        Supporting(0, "Brik opened in 1901."),
        Supporting(1, "It opened in 1950."),
    )


# A supporting fact past the paragraph's sentences names the paragraph only; one that names no
# paragraph makes the evidence unknown. 2WikiMultihopQA has evidences, by which it differs from
# HotpotQA.
def test_odd_supporting_facts(tmp_path: Path) -> None:
    past = {**HOTPOT, "supporting_facts": [["Brik", 7], ["Tarn", 0]]}
    absent = {**HOTPOT, "_id": "5abd", "supporting_facts": [["Brik", 0], ["Elsewhere", 0]]}
    of_2wiki = {**HOTPOT, "evidences": [["Brik", "opening", "1901"]]}
    first, second, third = load(write(tmp_path / "dev.json", past, absent, of_2wiki))

    assert first.supporting == (Supporting(0), Supporting(1, "Tarn is a mill."))
    assert second.supporting == ()
    assert (third.id, third.dataset) == ("2wikimultihopqa-5abc", "2wikimultihopqa")


# QuALITY: each question of an article is a record, and labels count from 1. In a folder its files
# without HTML are found by their published names.
def test_quality(tmp_path: Path) -> None:
    for name in ("dev", "train", "htmlstripped.test", "zip"):
        (tmp_path / f"QuALITY.v1.0.1.{name}").touch()
    write(tmp_path / "QuALITY.v1.0.1.htmlstripped.dev", QUALITY)
    first, second = load(tmp_path)

    assert first.id == "quality-00001_AB_1"
    assert first.documents == (SourceText("The Lamp", "The lamp went out.\nNobody minded."),)
    assert (first.gold_option, first.answers, first.kind) == (1, ("Nobody",), "hard")
    assert (second.id, second.gold_option, second.kind) == ("quality-00001_AB-2", 0, "easy")


# QMSum: a turn is a line, spans are lines with their text, and meetings may be a file each.
def test_qmsum(tmp_path: Path) -> None:
    general, specific = load(write(tmp_path / "val.jsonl", QMSUM))
    meeting = tmp_path / "ES2004a.json"
    meeting.write_text(json.dumps(QMSUM))

    assert general.documents[0].text == (
        "Ann: Which paint ?\nBo: I want red . Really .\nAnn: Fine .\nBo: Red then ."
    )
    assert (general.kind, general.answers) == ("general", ("They chose red.",))
    assert general.supporting == ()
    assert specific.supporting == (
        Supporting(0, "Bo: I want red . Really .\nAnn: Fine ."),
        Supporting(0, "Bo: Red then ."),
    )
    assert [one.id for one in load(meeting)] == ["qmsum-ES2004a-0-g0", "qmsum-ES2004a-0-s0"]


# Test splits without answers, and rows that are not whole, are refused with their place.
@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ({**MUSIQUE, "answer": None}, 'line 1: "answer" must be a text that is not empty'),
        ({**HOTPOT, "context": [["Brik", "x"]]}, 'line 1: "context": 0: 1: Input should be'),
        ({**MUSIQUE, "paragraphs": [{"title": "x"}]}, r'paragraphs\[0\]: "paragraph_text" must'),
        (
            {**QUALITY, "questions": [{"question": "Who?", "options": ["A"], "gold_label": 0}]},
            r'questions\[0\]: "gold_label" must be from 1 to 1',
        ),
        ({**LONGBENCH, "input": " "}, 'line 1: "input" must be a text that is not empty'),
        ({**LONGBENCH, "language": "python"}, '"language" must be en or zh, not python'),
    ],
    ids=["answer", "sentences", "paragraph", "label", "question", "language"],
)
def test_faulty_rows(tmp_path: Path, row: dict[str, Any], fault: str) -> None:
    with pytest.raises(DatasetError, match=fault):
        load(write(tmp_path / "data.jsonl", row))


def record_of(tmp_path: Path, row: dict[str, Any], **changes: Any) -> Record:
    (record,) = load(write(tmp_path / "data.jsonl", {**row, **changes}))
    return record


# LongBench: a multi-document context becomes its passages, titled by their first lines; Chinese
# ones are called by their marks; a single document stays whole.
def test_longbench(tmp_path: Path) -> None:
    record = record_of(tmp_path, LONGBENCH)
    chinese = {"dataset": "dureader", "language": "zh"}
    chinese["context"] = "文章1\n水在零度结冰。\n\n文章2\n水在一百度沸腾。"
    passages = record_of(tmp_path, LONGBENCH, **chinese).documents

    assert (record.id, record.dataset) == ("longbench-hotpotqa-ab12", "longbench-hotpotqa")
    assert (record.question, record.answers) == ("Who owns the mill?", ("Tarn", "Mr. Tarn"))
    assert record.documents == (
        SourceText("Brik mill", "Brik is a mill.\nIt is tall."),
        SourceText("Tarn", "Tarn owns Brik."),
    )
    assert (record.supporting, record.length) == ((), "native")
    assert passages == (
        SourceText("文章1", "水在零度结冰。"),
        SourceText("文章2", "水在一百度沸腾。"),
    )
    one = record_of(tmp_path, LONGBENCH, dataset="narrativeqa", context="Once.")
    assert one.documents == (SourceText("narrativeqa", "Once."),)


# LV-Eval: keywords and level are kept; passages are called by their marks. Its rows differ from
# LongBench's in that they have no id, and some have no keywords. What its published code does not
# score by F1* has none.
def test_lv_eval(tmp_path: Path) -> None:
    (record,) = load(write(tmp_path / "hotpotwikiqa_mixup_16k.jsonl", LV_EVAL))
    fewer = {key: LV_EVAL[key] for key in ("input", "context", "answers")}

    assert (record.dataset, record.length) == ("hotpotwikiqa-mixup", "16k")
    assert record.keywords == "Tarn"
    assert record.documents == (
        SourceText("Passage 1", "Brik is a mill.\n\nLife\nIt is tall."),
        SourceText("Passage 2", "Tarn owns Brik."),
    )
    named = record_of(tmp_path, fewer, dataset="cmrc_mixup_32k")
    assert (named.dataset, named.length, named.keywords) == ("cmrc-mixup", "32k", "")
    for name in ("factrecall_en_16k", "factrecall_zh_16k", "dureader_mixup_16k"):
        assert record_of(tmp_path, LV_EVAL, dataset=name).keywords is None


# A question of LV-Eval has the same id at all levels; one that comes again has a number.
def test_ids_of_lv_eval(tmp_path: Path) -> None:
    other = {**LV_EVAL, "input": "Who owns the hill?"}
    again = {**LV_EVAL, "context": "### Passage 1\nTarn."}
    shorter = load(write(tmp_path / "hotpotwikiqa_mixup_16k.jsonl", LV_EVAL, other, again))
    longer = load(write(tmp_path / "hotpotwikiqa_mixup_256k.jsonl", other, LV_EVAL))

    assert [longer[1].id, longer[0].id, f"{longer[1].id}-2"] == [one.id for one in shorter]
    assert {record.length for record in longer} == {"256k"}


# Only marks in their order cut a context, and only one that begins with the first of them; a titled
# passage of one line only has no title.
def test_marks() -> None:
    def texts(context: str) -> list[str]:
        return [passage.text for passage in split_passages(context, False, "all")]

    assert texts("Passage 1:\nA\nPassage 7:\nB\nPassage 2:\nC") == ["A\nPassage 7:\nB", "C"]
    assert texts("Before.\nPassage 1:\nA") == ["Before.\nPassage 1:\nA"]
    assert split_passages("Passage 1:\nAlone", True, "all") == (SourceText("Passage 1", "Alone"),)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """NarrativeQA's published folder, with a story as text and one as HTML."""
    (tmp_path / "documents.csv").write_text(
        "document_id,set,kind,story_url,wiki_title\n"
        "d1,test,gutenberg,http://example.org/1,The Lamp\n"
        "d2,test,movie,http://example.org/2,Night Bus\n"
        "d3,train,gutenberg,http://example.org/3,Old Book\n"
    )
    (tmp_path / "qaps.csv").write_text(
        "document_id,set,question,answer1,answer2,question_tokenized\n"
        "d3,train,Who?,Ann,Ann Lee,Who ?\n"
        'd1,test,Who lit the lamp?,Bo,"Bo, the smith",Who lit ?\n'
        "d2,test,Who drives?,Cy,Cy,Who drives ?\n"
        "d1,test,Who left?,Di,,Who left ?\n"
    )
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp" / "d1.content").write_text("Bo lit the lamp.\n\nDi left.")
    page = "<html><body><pre>INT. BUS\n\nCy drives.</pre></body></html>"
    (tmp_path / "tmp" / "d2.content").write_text(page)
    return tmp_path


# The published folder is one source: each question of its test set is a record with its story.
# Questions on a story that is missing or no text are left out; the others keep their ids.
def test_narrativeqa_folder(folder: Path) -> None:
    first, second, third = load(folder)
    (folder / "tmp" / "d2.content").write_bytes(bytes(range(256)) * 20)
    with_garbage = load(folder)
    for story in (folder / "tmp").iterdir():
        story.unlink()

    assert (first.id, first.answers) == ("narrativeqa-d1-0", ("Bo", "Bo, the smith"))
    assert first.documents == (SourceText("The Lamp", "Bo lit the lamp.\n\nDi left."),)
    assert (first.subset, first.kind) == ("book", "story")
    assert (second.subset, second.answers) == ("script", ("Cy",))
    assert second.documents[0].text.split() == ["INT.", "BUS", "Cy", "drives."]
    assert (third.id, third.answers) == ("narrativeqa-d1-1", ("Di",))
    assert with_garbage == [first, third]
    with pytest.raises(DatasetError, match=r"has no stories: fetch them with .*download_stories"):
        load(folder)
