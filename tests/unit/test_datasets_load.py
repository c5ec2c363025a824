import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from graphreader.errors import DatasetError
from graphreader.evaluation.datasets.load import SAMPLES, data_files, load
from graphreader.evaluation.datasets.record import (
    Record,
    SourceText,
    Statistics,
    preset_limit,
    statistics,
)


def row(number: int, dataset: str = "boats") -> dict[str, Any]:
    return {
        "id": f"{dataset}-{number}",
        "dataset": dataset,
        "question": f"Question {number}?",
        "answers": ["Yes"],
        "documents": [{"title": "T", "text": "Yes."}],
        "supporting": [],
        "language": "en",
    }


def written(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in rows), encoding="utf-8")
    return path


# A folder's data files are read by name; its folders and other files are not data.
def test_a_folder(tmp_path: Path) -> None:
    written(tmp_path / "b.jsonl", row(0, "b"))
    written(tmp_path / "a.jsonl", row(0, "a"), row(1, "a"))
    (tmp_path / "README.md").write_text("No data.", encoding="utf-8")
    (tmp_path / "corpus").mkdir()
    written(tmp_path / "corpus" / "a.jsonl", {"title": "T", "text": "x"})

    assert data_files(tmp_path) == [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    assert [record.id for record in load(tmp_path)] == ["a-0", "a-1", "b-0"]


# A limit keeps the first records of each dataset.
def test_a_limit(tmp_path: Path) -> None:
    written(tmp_path / "a.jsonl", *(row(n, "a") for n in range(4)))
    written(tmp_path / "b.jsonl", *(row(n, "b") for n in range(3)))

    assert [one.id for one in load(tmp_path, limit=2)] == ["a-0", "a-1", "b-0", "b-1"]
    assert load(tmp_path, limit=0) == []
    assert len(load(str(tmp_path), limit=100)) == 7


# A limit holds for each dataset of one file, too, and the file is read no further than for these.
def test_a_limit_of_two_datasets(tmp_path: Path) -> None:
    path = tmp_path / "mixed.jsonl"
    rows = [row(0, "a"), row(1, "a"), row(2, "a"), row(0, "b"), row(1, "b"), row(3, "a")]
    written(path, row(9, "b"), *rows, {"broken": True})

    assert [one.id for one in load(path, limit=2)] == ["b-9", "a-0", "a-1", "b-0"]
    with pytest.raises(DatasetError, match="line 8"):
        load(path, limit=4)


# The preset of the paper takes the first 50 of each level of LV-Eval, and no more than a limit.
def test_the_preset_of_the_paper(tmp_path: Path) -> None:
    for level in ("16k", "32k"):
        path = tmp_path / f"hotpotwikiqa_mixup_{level}.jsonl"
        rows = (
            {
                "input": f"Question {n}?",
                "context": "### Passage 1\nYes.",
                "answers": ["Yes"],
                "answer_keywords": "Yes",
                "dataset": "hotpotwikiqa_mixup",
            }
            for n in range(60)
        )
        written(path, *rows)

    records = load(tmp_path, preset="graphreader-paper")

    assert [record.length for record in records] == ["16k"] * 50 + ["32k"] * 50
    assert len(load(tmp_path, preset="graphreader-paper", limit=3)) == 6
    assert len(load(tmp_path)) == 120


# The preset's other sizes are those of the paper's table 1; other datasets are taken whole.
def test_sizes_of_the_preset() -> None:
    names = ("hotpotqa", "2wikimqa", "musique", "narrativeqa", "qasper")

    assert [preset_limit(f"longbench-{name}") for name in names] == [300, 300, 200, 200, None]
    assert preset_limit("longbench-hotpotqa", "") is None
    with pytest.raises(DatasetError, match='no preset "mine"; there is: graphreader-paper'):
        preset_limit("hotpotqa", "mine")


# The records that come with the program load by name, all and each set, and say whose they are.
def test_samples() -> None:
    named = {record.dataset: record for record in load("samples")}
    attribution = (SAMPLES / "ATTRIBUTION.md").read_text(encoding="utf-8")

    assert list(named) == ["cmrc2018", "hotpotqa", "musique"]
    assert len(load("samples")) == 13
    assert load("samples/musique")[-1] == named["musique"]
    assert load("samples/musique.jsonl") == load("samples/musique")
    assert all(path.name in attribution for path in data_files("samples"))
    assert sum(path.stat().st_size for path in SAMPLES.iterdir()) < 300_000


# Every sample has its evidence in its documents, and its answer in the evidence.
def test_samples_are_sound() -> None:
    for record in load("samples"):
        gold = " ".join(record.documents[n].text for n in record.gold_documents)

        assert gold
        assert any(answer in gold for answer in record.answers), record.id
        assert all(
            place.sentence in record.documents[place.document].text for place in record.supporting
        )


# What is at a path comes before what the program has of the same name.
def test_a_path_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "samples").mkdir()
    written(tmp_path / "samples" / "mine.jsonl", row(0))
    monkeypatch.chdir(tmp_path)

    assert [record.id for record in load("samples")] == ["boats-0"]


# Sources that give nothing say so, each in its own words.
def test_nothing_there(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    (tmp_path / "none.jsonl").write_text("\n", encoding="utf-8")
    written(tmp_path / "mute.jsonl", {"meeting_transcripts": [], "general_query_list": []})
    (tmp_path / "latin.jsonl").write_bytes(b'{"id": "caf\xe9"}\n')

    with pytest.raises(DatasetError, match="does not exist: give a data file"):
        load(tmp_path / "absent.jsonl")
    known = r'There is no sample "absent"; there are: cmrc2018_zh, hotpotqa, musique\.'
    with pytest.raises(DatasetError, match=known):
        load("samples/absent")
    with pytest.raises(DatasetError, match="has no data file"):
        load(empty)
    with pytest.raises(DatasetError, match=r"none\.jsonl is empty"):
        load(tmp_path / "none.jsonl")
    with pytest.raises(DatasetError, match=r"mute\.jsonl has no records"):
        load(tmp_path / "mute.jsonl")
    with pytest.raises(DatasetError, match=r"latin\.jsonl cannot be read: it is not in UTF-8"):
        load(tmp_path / "latin.jsonl")


# A file of no known format is named with its keys: a pool of passages, or SQuAD's nested JSON.
def test_no_known_format(tmp_path: Path) -> None:
    pool = written(tmp_path / "pool.jsonl", {"title": "T", "text": "x"})
    squad = tmp_path / "squad.json"
    squad.write_text(json.dumps({"data": [{"paragraphs": []}]}), encoding="utf-8")

    with pytest.raises(DatasetError, match=r"pool\.jsonl, line 1: no known format .*: title, text"):
        load(pool)
    with pytest.raises(DatasetError, match=r"squad\.json, record 1: no known format"):
        load(squad)


# Two questions of one id would be taken for one: that is refused.
def test_an_id_that_comes_twice(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", row(0), row(0))

    with pytest.raises(DatasetError, match=r'a\.jsonl: the id "boats-0" comes twice'):
        load(path)


# A JSON file may be one list, or lines in spite of its name; broken JSON is named with its line.
def test_json_files(tmp_path: Path) -> None:
    listed = tmp_path / "list.json"
    listed.write_text(json.dumps([row(0), row(1)], indent=1), encoding="utf-8-sig")
    broken = tmp_path / "broken.json"
    broken.write_text('[{"id": 1},\n{"id" 2}]', encoding="utf-8")

    assert len(load(listed)) == 2
    assert len(load(written(tmp_path / "lines.json", row(0), row(1)))) == 2
    with pytest.raises(DatasetError, match=r"broken\.json, line 2: is no JSON"):
        load(broken)


# A dataset of the `datasets` library is loaded by name: test if there is such a split, or as said.
def test_the_datasets_library(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str | None]] = []

    def load_dataset(path: str, name: str | None) -> dict[str, list[dict[str, Any]]]:
        asked.append((path, name))
        return {"train": [row(0)], "test": [row(1), row(2)]}

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))

    assert [record.id for record in load("hf:acme/sea/boats")] == ["boats-1", "boats-2"]
    assert [record.id for record in load("hf:acme/sea@train")] == ["boats-0"]
    assert asked == [("acme/sea", "boats"), ("acme/sea", None)]
    assert data_files("hf:acme/sea") == []
    with pytest.raises(DatasetError, match='has no split "dev"; it has: train, test'):
        load("hf:acme/sea@dev")
    with pytest.raises(DatasetError, match='must be like "hf:OWNER/NAME/CONFIGURATION"'):
        load("hf:acme")


# Without the library, or where it fails, it is said what to do instead.
def test_the_datasets_library_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def load_dataset(path: str, name: str | None) -> None:
        raise ConnectionError("Couldn't reach the hub\nand much more")

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    with pytest.raises(DatasetError) as raised:
        load("hf:acme/sea")
    monkeypatch.setitem(sys.modules, "datasets", None)

    assert "cannot be loaded (Couldn't reach the hub). Without a network" in str(raised.value)
    with pytest.raises(DatasetError, match="needs a further package: pip install datasets"):
        load("hf:acme/sea")


# Table 1's figures: tokens of the average and the longest context, and the samples.
def test_statistics() -> None:
    short = Record("1", "d", "Q?", (), (SourceText("T", "one two three"),))
    long = Record("2", "d", "Q?", (), (SourceText("T", "one two three"), SourceText("U", " four")))

    assert statistics([short, long]) == Statistics(3.5, 4, 2)
    assert statistics([]) == Statistics(0.0, 0, 0)
