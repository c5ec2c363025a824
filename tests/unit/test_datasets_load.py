"""Loading records: our own format, files, folders, samples, limits and the hub."""

import json
from pathlib import Path
from typing import Any

import pytest

from graphreader.errors import DatasetError
from graphreader.evaluation.datasets.load import SAMPLES, data_files, load
from graphreader.evaluation.datasets.record import Record, SourceText, Supporting

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
# ignored. One that cannot be answered is left out.
def test_own_format(tmp_path: Path) -> None:
    documents = [{**one, "metadata": {"page": 3}} for one in RECORD["documents"]]
    more = {"decomposition": [{"question": "x"}], "metadata": {"author": "me"}}
    rows = {**RECORD, **more, "documents": documents}, {**row(2), "answerable": False}
    records = load(write(tmp_path / "a.jsonl", *rows))

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
