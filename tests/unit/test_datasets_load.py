"""Loading records: our own format, published formats, files, folders, samples, limits."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from graphreader.errors import DatasetError
from graphreader.evaluation.datasets.load import SAMPLES, data_files, load, split_passages
from graphreader.evaluation.datasets.record import Record, SourceText, Supporting
from tests.snapshots import Snapshots

RECORD: dict[str, Any] = {
    "id": "boats-1",
    "dataset": "boats",
    "question": "Who built the ferry?",
    "answers": ["Ada Lund", "Lund"],
    "documents": [
        {"title": "Ferry", "text": "Ada Lund built the ferry. It floats."},
        {"title": "Harbor", "text": "The harbor is deep."},
    ],
    "supporting": [{"doc": 0, "sentence_idx": 0, "sentence": "Ada Lund built the ferry."}],
    "type": "bridge",
    "hops": 2,
}


def row(number: int, dataset: str = "boats") -> dict[str, Any]:
    return {**RECORD, "id": f"{dataset}-{number}", "dataset": dataset}


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in rows), encoding="utf-8")
    return path


def ids(records: list[Record]) -> list[str]:
    return [record.id for record in records]


# A record of our own format is read as it stands; what its set tells beside it, and metadata, are
# ignored. One that cannot be answered has neither answers nor evidence.
def test_own_format(tmp_path: Path) -> None:
    documents = [{**one, "metadata": {"page": 3}} for one in RECORD["documents"]]
    more = {"decomposition": [{"question": "x"}], "metadata": {"author": "me"}}
    rows = {**RECORD, **more, "documents": documents}, {**row(2), "answerable": False}
    *records, unanswerable = load(write(tmp_path / "a.jsonl", *rows))

    assert (unanswerable.id, unanswerable.answerable) == ("boats-2", False)
    assert (unanswerable.answers, unanswerable.gold_documents) == ((), ())
    assert records == [
        Record(
            id="boats-1",
            dataset="boats",
            question="Who built the ferry?",
            answers=("Ada Lund", "Lund"),
            documents=(
                SourceText("Ferry", "Ada Lund built the ferry. It floats."),
                SourceText("Harbor", "The harbor is deep."),
            ),
            supporting=(Supporting(0, "Ada Lund built the ferry."),),
            kind="bridge",
        )
    ]


# Options with the right one, language and a set without answers are kept; documents with evidence
# are named once each, in their order.
def test_further_keys(tmp_path: Path) -> None:
    supporting = [{"doc": 1}, {"doc": 0, "sentence": "Built.", "exact": False}, {"doc": 1}]
    changes = {"options": ["Ada", "Bo", "Cy"], "gold_option": 2, "answers": [], "language": "zh"}
    rows = {**RECORD, **changes, "supporting": supporting}
    (record,) = load(write(tmp_path / "a.jsonl", rows))

    assert (record.options, record.gold_option) == (("Ada", "Bo", "Cy"), 2)
    assert (record.answers, record.language, record.gold_documents) == ((), "zh", (0, 1))
    assert record.supporting[1] == Supporting(0, "Built.")


# A list has items with accepted wordings, a count a number: without "answers" the raters get these.
def test_lists_and_counts(tmp_path: Path) -> None:
    items = [["Ada Lund", "Lund"], ["Bo"]]
    plain = {key: value for key, value in RECORD.items() if key != "answers"}
    rows = {**plain, "items": items, "ordered": True}, {**plain, "id": "n", "count": 0}
    listed, counted = load(write(tmp_path / "a.jsonl", *rows))

    assert (listed.items, listed.ordered) == ((("Ada Lund", "Lund"), ("Bo",)), True)
    assert (listed.count, counted.count) == (None, 0)
    assert (listed.answers, counted.answers) == (("Ada Lund, Bo",), ("0",))


# A text file lies relative to the data file; evidence in lines becomes the text of these lines.
def test_text_files_and_lines(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    text = "Ann: Hello.\nBo: The fare is two crowns.\nAnn: Good.\nBo: Bye."
    (tmp_path / "texts" / "talk.txt").write_text(text, encoding="utf-8")
    documents = [{"title": "Talk", "text_file": "texts/talk.txt"}]
    record = {**RECORD, "documents": documents, "supporting": [{"doc": 0, "lines": [1, 2]}]}
    (only,) = load(write(tmp_path / "a.jsonl", record))

    assert only.documents == (SourceText("Talk", text),)
    assert only.supporting == (Supporting(0, "Bo: The fare is two crowns.\nAnn: Good."),)


# A fault of a record is reported with file, line and key, and nothing is guessed; a key that is not
# known may be misspelt.
@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"question": " "}, '"question" must be a text that is not empty.'),
        ({"id": None}, '"id" must be a text that is not empty.'),
        ({"items": [["Ada"], [" "]]}, '"items" must be a list of items'),
        ({"items": ["Ada"]}, '"items": 0: Input should be a valid tuple'),
        ({"count": "many"}, '"count": Input should be a valid integer'),
        ({"answers": None}, '"answers": Input should be a valid tuple'),
        ({"documents": []}, "documents: there is nothing to read."),
        ({"documents": ["plain text"]}, '"documents": 0: Input should be a valid dictionary'),
        ({"supporting": ["a sentence"]}, '"supporting": 0: Input should be a valid dictionary'),
        ({"supporting": [{"doc": 2}]}, '"doc" is 2, but there are 2 only (from 0 on).'),
        ({"supporting": [{"doc": 0, "lines": [0, 1]}]}, "there are no lines 0 to 1 of 1"),
        ({"options": ["A"], "gold_option": 1}, '"gold_option" must be the index of one of'),
        ({"documents": [{"title": "T", "text_file": "no.txt"}]}, '"no.txt" cannot be read'),
        ({"documents": [{"text_file": "../o.txt"}]}, "must lie in the folder of the data file"),
        ({"language": "zh-CN"}, '"language" must be en or zh, not zh-CN.'),
        ({"documents": [{"titel": "T"}]}, "there is no key titel: is it misspelt?"),
        ({"Question": "Who?"}, "there is no key Question"),
    ],
)
def test_faulty_records(tmp_path: Path, change: dict[str, Any], fault: str) -> None:
    path = write(tmp_path / "boats.jsonl", RECORD, {**RECORD, "id": "boats-2", **change})

    with pytest.raises(DatasetError) as raised:
        load(path)

    assert str(raised.value).startswith("boats.jsonl, line 2")
    assert fault in str(raised.value)


# A folder's data files are read by name, not its folders and other files. A limit keeps the first
# records of each dataset, also of one that begins when another is full; a file of another format,
# which has one dataset, is read no further.
def test_folder_and_limit(tmp_path: Path) -> None:
    rows = [row(0, "a"), row(1, "a"), row(2, "a"), row(0, "b"), row(1, "b"), row(3, "a")]
    write(tmp_path / "b.jsonl", *(row(n, "c") for n in range(3)))
    write(tmp_path / "a.JSONL", *rows)
    foreign = [{"input": "Who?", "context": "x", "answers": ["x"], "_id": n} for n in range(3)]
    write(tmp_path / "d.jsonl", *foreign, {"broken": True})
    (tmp_path / "README.md").write_text("No data.", encoding="utf-8")
    (tmp_path / "corpus").mkdir()
    write(tmp_path / "corpus" / "a.jsonl", {"title": "T", "text": "x"})

    expected = ["a-0", "a-1", "b-0", "b-1", "c-0", "c-1", "longbench-d-0", "longbench-d-1"]
    assert data_files(tmp_path) == [tmp_path / one for one in ("a.JSONL", "b.jsonl", "d.jsonl")]
    assert ids(load(tmp_path, limit=2)) == expected
    with pytest.raises(DatasetError, match="line 4"):
        load(tmp_path, limit=4)


# The samples of the package load by name, all and each set, and name their sources; each has its
# evidence in its documents, and its answer in the evidence.
def test_samples() -> None:
    records = load("samples")
    attribution = (SAMPLES / "ATTRIBUTION.md").read_text(encoding="utf-8")

    assert {one.dataset for one in records} == {"cmrc2018", "hotpotqa", "musique"}
    assert load("samples/musique") == records[-len(load("samples/musique")) :]
    assert all(path.name in attribution for path in data_files("samples"))
    for record in records:
        gold = " ".join(record.documents[n].text for n in record.gold_documents)
        assert any(answer in gold for answer in record.answers), record.id
        for place in record.supporting:
            assert place.sentence in record.documents[place.document].text


# A path of the name of a sample comes first.
def test_path_before_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "samples").mkdir()
    write(tmp_path / "samples" / "mine.jsonl", row(0))
    monkeypatch.chdir(tmp_path)

    assert ids(load("samples")) == ["boats-0"]


# Faulty sources are refused in a sentence that names the file, and the line.
@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("absent.jsonl", None, r"does not exist: .* samples \(cmrc2018_zh, hotpotqa, musique\)"),
        ("none.jsonl", "\n", r"none\.jsonl is empty"),
        ("latin.jsonl", '{"id": "caf\xe9"}', r"latin\.jsonl cannot be read"),
        ("torn.jsonl", f"{json.dumps(RECORD)}\n\n{{]\n", "line 3: is no JSON"),
        ("lines.json", '{"id": 1}\n{"id": 2}', r"line 2: is no JSON .* call it \.jsonl"),
        ("broken.json", '[{"id": 1},\n{"id" 2}]', r"broken\.json, line 2: is no JSON"),
        (
            "pool.jsonl",
            '{"title": "T", "text": "x"}',
            r"pool\.jsonl, line 1: no known format .*: title, text\. Known are our own schema",
        ),
    ],
)
def test_faulty_sources(tmp_path: Path, name: str, content: str | None, fault: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content.encode("latin-1"))

    with pytest.raises(DatasetError, match=fault):
        load(tmp_path / name)


# A JSON file is one list, perhaps with a byte order mark.
def test_json_files(tmp_path: Path) -> None:
    listed = tmp_path / "list.JSON"
    listed.write_text(json.dumps([row(0), row(1)], indent=1), encoding="utf-8-sig")

    assert ids(load(listed)) == ["boats-0", "boats-1"]


def published(name: str) -> dict[str, Any]:
    """A row as a dataset publishes it."""
    folder = Path(__file__).with_name("datasets_load") / "published"
    row: dict[str, Any] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return row


MUSIQUE, HOTPOT, QUALITY, QMSUM, LONGBENCH, LV_EVAL = map(
    published, ("musique", "hotpot", "quality", "qmsum", "longbench", "lv_eval")
)


def write_rows(path: Path, *rows: Any) -> Path:
    """JSON Lines, or one list of rows if the file's name ends in .json."""
    lines = [json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) if path.suffix != ".json" else f"[{','.join(lines)}]")
    return path


SONG, RIVER = (
    {"id": "a", "input": "Who?\n\nBo sang.\n\nAnn left."},
    {"id": "b", "input": "Why?\n\nX", "pid": "b_0", "output": "-"},
)
SCROLLS = [{**SONG, "pid": "a_0", "output": "Bo"}, {**SONG, "pid": "a_1", "output": "Bo did"}]
FEWER = {key: LV_EVAL[key] for key in ("input", "context", "answers")}
CHINESE = {"dataset": "dureader", "language": "zh"} | {
    "context": "文章1\n水在零度结冰。\n\n文章2\n水在一百度沸腾。"
}
PUBLISHED: dict[str, tuple[str, list[dict[str, Any]]]] = {
    # Aliases are answers, and supporting paragraphs evidence. Of MuSiQue-Full's pairs with one id,
    # the one that cannot be answered gets another id, and neither answers nor evidence.
    "musique": (
        "full.jsonl",
        [MUSIQUE, {**MUSIQUE, "answerable": False, "paragraphs": MUSIQUE["paragraphs"][:2]}],
    ),
    # A paragraph is its sentences joined, evidence the sentence in it.
    "hotpotqa": ("dev.json", [HOTPOT]),
    # A supporting fact past the paragraph's sentences names the paragraph only; one that names no
    # paragraph makes the evidence unknown.
    "odd_facts": (
        "dev.json",
        [
            {**HOTPOT, "supporting_facts": [["Brik", 7], ["Tarn", 0]]},
            {**HOTPOT, "_id": "5abd", "supporting_facts": [["Brik", 0], ["Elsewhere", 0]]},
        ],
    ),
    # 2WikiMultihopQA has evidences, by which it differs from HotpotQA.
    "2wikimultihopqa": ("dev.json", [{**HOTPOT, "evidences": [["Brik", "opening", "1901"]]}]),
    # Each question of an article is a record, and labels count from 1.
    "quality": ("QuALITY.v1.0.1.htmlstripped.dev", [QUALITY]),
    # A turn is a line, and spans are lines with their text.
    "qmsum": ("val.jsonl", [QMSUM]),
    # The question stands above the text, several references are rows with one id; the folder tells
    # which set it is.
    "scrolls": ("narrative_qa/validation.jsonl", [*SCROLLS, RIVER]),
    # A multi-document context becomes its passages, titled by their first lines; Chinese passages
    # are called by their marks; a single document stays whole.
    "longbench": ("data.jsonl", [LONGBENCH]),
    "longbench_zh": ("data.jsonl", [{**LONGBENCH, **CHINESE}]),
    "longbench_single": ("d.jsonl", [{**LONGBENCH, "dataset": "narrativeqa", "context": "Once."}]),
    # Keywords and level are kept; passages are called by their marks. Rows differ from LongBench's
    # in that they have no id, and some have no keywords. What the published code does not score by
    # F1* has none.
    "lv_eval": ("hotpotwikiqa_mixup_16k.jsonl", [LV_EVAL]),
    "lv_eval_named": ("data.jsonl", [{**FEWER, "dataset": "cmrc_mixup_32k"}]),
    **{
        f"lv_eval_{name}": ("data.jsonl", [{**LV_EVAL, "dataset": name}])
        for name in ("factrecall_en_16k", "factrecall_zh_16k", "dureader_mixup_16k")
    },
}


# Rows of each published format become the records of the snapshot.
@pytest.mark.parametrize("name", PUBLISHED)
def test_published(tmp_path: Path, snapshots: Snapshots, name: str) -> None:
    file, rows = PUBLISHED[name]
    (tmp_path / file).parent.mkdir(exist_ok=True)

    records = load(write_rows(tmp_path / file, *rows))

    snapshots.check(name, [asdict(record) for record in records])


# In a folder QuALITY's files without HTML are found by their published names.
def test_quality_folder(tmp_path: Path) -> None:
    for name in ("dev", "train", "htmlstripped.test", "zip"):
        (tmp_path / f"QuALITY.v1.0.1.{name}").touch()
    write_rows(tmp_path / "QuALITY.v1.0.1.htmlstripped.dev", QUALITY)

    assert [one.id for one in load(tmp_path)] == ["quality-00001_AB_1", "quality-00001_AB-2"]


# Meetings of QMSum may be a file each, which gives their records its name.
def test_qmsum_meeting(tmp_path: Path) -> None:
    meeting = tmp_path / "ES2004a.json"
    meeting.write_text(json.dumps(QMSUM))

    assert [one.id for one in load(meeting)] == ["qmsum-ES2004a-0-g0", "qmsum-ES2004a-0-s0"]


# A set of SCROLLS needs a folder that names it, and an answer to each question.
@pytest.mark.parametrize(
    ("folder", "row", "fault"),
    [
        ("other", SCROLLS[0], "name the file or its folder"),
        ("narrative_qa", {**RIVER, "output": None}, '"output" must be'),
    ],
)
def test_faulty_scrolls(tmp_path: Path, folder: str, row: dict[str, Any], fault: str) -> None:
    (tmp_path / folder).mkdir()

    with pytest.raises(DatasetError, match=fault):
        load(write_rows(tmp_path / folder / "test.jsonl", row))


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
        load(write_rows(tmp_path / "data.jsonl", row))


# A question of LV-Eval has the same id at all levels; one that comes again has a number.
def test_ids_of_lv_eval(tmp_path: Path) -> None:
    other = {**LV_EVAL, "input": "Who owns the hill?"}
    again = {**LV_EVAL, "context": "### Passage 1\nTarn."}
    shorter = load(write_rows(tmp_path / "hotpotwikiqa_mixup_16k.jsonl", LV_EVAL, other, again))
    longer = load(write_rows(tmp_path / "hotpotwikiqa_mixup_256k.jsonl", other, LV_EVAL))

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
