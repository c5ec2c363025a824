"""Published formats of question sets, as their files are."""

import json
from pathlib import Path
from typing import Any

import pytest

from graphreader.errors import DatasetError
from graphreader.evaluation.datasets.formats import split_passages
from graphreader.evaluation.datasets.load import data_files, load
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
        ["Brik", ["Brik opened in 1901.", " It is a mill."]],
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
# id, what cannot be answered is a dataset of its own without evidence; its answer is known, so that
# no longer context contains it.
def test_musique(tmp_path: Path) -> None:
    lacking = {**MUSIQUE, "answerable": False, "paragraphs": MUSIQUE["paragraphs"][:2]}
    first, second = load(write(tmp_path / "full.jsonl", MUSIQUE, lacking))

    assert (first.id, first.dataset) == ("musique-2hop__101_202", "musique")
    assert first.answers == second.answers == ("Vell", "Land of Vell")
    assert first.documents[1] == SourceText("Ida", "Ida was born in Oro.")
    assert (first.gold_documents, first.kind, first.answerable) == ((1, 2), "2hop", True)
    assert second.id == "musique-2hop__101_202 (unanswerable)"
    assert (second.dataset, second.answerable) == ("musique-unanswerable", False)
    assert second.supporting == ()


# HotpotQA: a paragraph is its sentences joined, evidence the sentence in it; the dicts of lists of
# the `datasets` library give the same record.
def test_hotpotqa(tmp_path: Path) -> None:
    context, facts = HOTPOT["context"], HOTPOT["supporting_facts"]
    columns = {
        **HOTPOT,
        "context": {"title": [t for t, _ in context], "sentences": [s for _, s in context]},
        "supporting_facts": {"title": [t for t, _ in facts], "sent_id": [n for _, n in facts]},
    }
    columns["id"] = columns.pop("_id")
    (record,) = load(write(tmp_path / "dev.json", HOTPOT))

    assert (record.id, record.answers, record.kind) == ("hotpotqa-5abc", ("Brik",), "comparison")
    assert record.documents[0] == SourceText("Brik", "Brik opened in 1901. It is a mill.")
    assert record.supporting == (
        Supporting(0, "Brik opened in 1901."),
        Supporting(1, "It opened in 1950."),
    )
    assert load(write(tmp_path / "a.jsonl", columns)) == [record]


# A supporting fact past the paragraph's sentences names the paragraph only; one that names no
# paragraph makes the evidence unknown.
def test_odd_supporting_facts(tmp_path: Path) -> None:
    past = {**HOTPOT, "supporting_facts": [["Brik", 7], ["Tarn", 0]]}
    absent = {**HOTPOT, "_id": "5abd", "supporting_facts": [["Brik", 0], ["Elsewhere", 0]]}
    first, second = load(write(tmp_path / "dev.json", past, absent))

    assert first.supporting == (Supporting(0), Supporting(1, "Tarn is a mill."))
    assert second.supporting == ()


# 2WikiMultihopQA has evidences, by which it differs from HotpotQA, and no spaces between sentences.
def test_2wikimultihopqa(tmp_path: Path) -> None:
    row = {
        **HOTPOT,
        "type": "bridge_comparison",
        "context": [["Brik", ["Brik opened in 1901.", "It is a mill."]], ["Tarn", ["A mill."]]],
        "supporting_facts": [["Brik", 1], ["Tarn", 0]],
        "evidences": [["Brik", "opening", "1901"]],
    }
    (record,) = load(write(tmp_path / "dev.json", row))

    assert (record.id, record.dataset) == ("2wikimultihopqa-5abc", "2wikimultihopqa")
    assert record.documents[0].text == "Brik opened in 1901. It is a mill."
    assert record.supporting == (Supporting(0, "It is a mill."), Supporting(1, "A mill."))


# QuALITY: each question of an article is a record, labels count from 1, and of HTML the text is
# read.
def test_quality(tmp_path: Path) -> None:
    html = "<html><body><p>The lamp &amp; the cat.</p><p>Gone.</p></body></html>"
    first, second = load(write(tmp_path / "dev.jsonl", QUALITY))
    page, _ = load(write(tmp_path / "html.jsonl", {**QUALITY, "article": html}))

    assert first.id == "quality-00001_AB_1"
    assert first.documents == (SourceText("The Lamp", "The lamp went out.\nNobody minded."),)
    assert (first.gold_option, first.answers, first.kind) == (1, ("Nobody",), "hard")
    assert (second.id, second.gold_option, second.kind) == ("quality-00001_AB-2", 0, "easy")
    assert " ".join(page.documents[0].text.split()) == "The lamp & the cat. Gone."


# QuALITY's files are found in a folder by their published names: those that have answers, and those
# in HTML only where there is no text beside them.
def test_published_names_of_quality(tmp_path: Path) -> None:
    for name in ("htmlstripped.dev", "dev", "train", "htmlstripped.test", "zip"):
        (tmp_path / f"QuALITY.v1.0.1.{name}").touch()

    names = [file.name.removeprefix("QuALITY.v1.0.1.") for file in data_files(tmp_path)]
    assert names == ["htmlstripped.dev", "train"]


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
        Supporting(0, "Bo: I want red . Really .\nAnn: Fine .", lines=(1, 2)),
        Supporting(0, "Bo: Red then .", lines=(3, 3)),
    )
    assert [one.id for one in load(meeting)] == ["qmsum-ES2004a-0-g0", "qmsum-ES2004a-0-s0"]


NARRATIVEQA = {
    "document": {
        "id": "d1",
        "kind": "movie",
        "text": "Cy drives.",
        "summary": {"text": "A bus.", "title": "Night Bus"},
    },
    "question": {"text": "Who drives?", "tokens": []},
    "answers": [{"text": "Cy", "tokens": []}, {"text": "Driver Cy", "tokens": []}],
}


# NarrativeQA's rows of the `datasets` library: a record for each question, counted by story.
def test_narrativeqa_rows(tmp_path: Path) -> None:
    first, second = load(write(tmp_path / "rows.jsonl", NARRATIVEQA, NARRATIVEQA))

    assert (first.id, second.id) == ("narrativeqa-d1-0", "narrativeqa-d1-1")
    assert first.documents == (SourceText("Night Bus", "Cy drives."),)
    assert (first.question, first.answers) == ("Who drives?", ("Cy", "Driver Cy"))
    assert first.subset == "script"


# Test splits without answers, and rows that are not whole, are refused with their place.
@pytest.mark.parametrize(
    ("row", "fault"),
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
        ({**LONGBENCH, "input": " "}, 'line 1: "input" must be a text that is not empty'),
        ({**LONGBENCH, "dataset": "lcc"}, "line 1: lcc has code .*: leave its file out"),
        ({**LONGBENCH, "dataset": "repobench-p_e"}, "repobench-p has code"),
    ],
)
def test_faulty_rows(tmp_path: Path, row: dict[str, Any], fault: str) -> None:
    with pytest.raises(DatasetError, match=fault):
        load(write(tmp_path / "data.jsonl", row))


# Further fields beside those of a published format do not keep a file out.
@pytest.mark.parametrize("row", [MUSIQUE, HOTPOT, QUALITY, QMSUM, LONGBENCH, LV_EVAL, NARRATIVEQA])
def test_more_fields(tmp_path: Path, row: dict[str, Any]) -> None:
    assert load(write(tmp_path / "data.jsonl", {**row, "suporting": [], "source": "web"}))


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
    story = "Once.\n\nPassage 1:\nTwice."

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
    one = record_of(tmp_path, LONGBENCH, dataset="narrativeqa", context=story)
    assert one.documents == (SourceText("narrativeqa", story),)


# A set of LongBench that asks the same of all contexts may leave the question open: it has ours.
@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("gov_report", "What does the report say?"),
        ("multi_news_e", "these news articles"),
        ("passage_count", "How many different ones"),
        ("vcsum", "这次会议讲了什么？"),
    ],
)
def test_longbench_without_input(tmp_path: Path, name: str, question: str) -> None:
    record = record_of(tmp_path, LONGBENCH, input="", dataset=name)

    assert question in record.question
    assert record.dataset == f"longbench-{name.removesuffix('_e')}"
    assert record_of(tmp_path, LONGBENCH, dataset=name).question == LONGBENCH["input"]


# LV-Eval: keywords, given as a text or a list, and level are kept; passages are called by their
# marks. It is known by its dataset's name as well. What its published code does not score by F1*
# has no keywords.
def test_lv_eval(tmp_path: Path) -> None:
    (record,) = load(write(tmp_path / "hotpotwikiqa_mixup_16k.jsonl", LV_EVAL))
    by_name = {key: LV_EVAL[key] for key in ("input", "context", "answers")}

    assert (record.dataset, record.length) == ("hotpotwikiqa-mixup", "16k")
    assert record.keywords == "Tarn"
    assert record.documents == (
        SourceText("Passage 1", "Brik is a mill.\n\nLife\nIt is tall."),
        SourceText("Passage 2", "Tarn owns Brik."),
    )
    listed = record_of(tmp_path, LV_EVAL, answer_keywords=["Tarn", "mill"])
    assert listed.keywords == "Tarn mill"
    named = record_of(tmp_path, by_name, dataset="cmrc_mixup_32k")
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
    assert split_passages("Passage 1:\nAlone\n\nPassage 2:\nTitle\nText", True, "all") == (
        SourceText("Passage 1", "Alone"),
        SourceText("Title", "Text"),
    )


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
def test_narrativeqa_folder(folder: Path) -> None:
    first, second, third = load(folder)

    assert data_files(folder) == [folder]
    assert load(folder, limit=2) == [first, second]
    assert (first.id, first.answers) == ("narrativeqa-d1-0", ("Bo", "Bo, the smith"))
    assert first.documents == (SourceText("The Lamp", "Bo lit the lamp.\n\nDi left."),)
    assert (first.subset, first.kind) == ("book", "story")
    assert (second.subset, second.answers) == ("script", ("Cy",))
    assert second.documents[0].text.split() == ["INT.", "BUS", "Cy", "drives."]
    assert (third.id, third.answers) == ("narrativeqa-d1-1", ("Di",))


# Questions on a story that is missing or no text are left out; the others keep their ids. Without
# any story the summaries are read.
def test_missing_stories(folder: Path) -> None:
    (folder / "tmp" / "d2.content").write_bytes(bytes(range(256)) * 20)
    with_garbage = [record.id for record in load(folder)]
    (folder / "tmp" / "d2.content").unlink()
    without = [record.id for record in load(folder)]
    (folder / "tmp" / "d1.content").unlink()
    with pytest.raises(DatasetError, match=r"has no stories: fetch them with .*download_stories"):
        load(folder)
    (folder / "third_party" / "wikipedia").mkdir(parents=True)
    rows = 'document_id,set,summary\nd1,test,"Bo lights a lamp, Di goes."\nd2,test,A bus.\n'
    (folder / "third_party" / "wikipedia" / "summaries.csv").write_text(rows)
    summaries = load(folder)

    assert with_garbage == without == ["narrativeqa-d1-0", "narrativeqa-d1-1"]
    assert {record.kind for record in summaries} == {"summary"}
    assert summaries[0].documents[0].text == "Bo lights a lamp, Di goes."


# A question on an unknown document, and a table in another encoding, are refused by name.
def test_faulty_tables(folder: Path) -> None:
    table = folder / "qaps.csv"
    rows = table.read_text()
    table.write_text(f"{rows}d9,test,Who?,Ann,Ann,Who ?\n")
    with pytest.raises(DatasetError, match=r'qaps.csv, line 6: documents.csv has no document "d9"'):
        load(folder)
    table.write_bytes(rows.replace("Bo,", "B\xf6,").encode("latin-1"))
    with pytest.raises(DatasetError, match=r"qaps\.csv cannot be read"):
        load(folder)
