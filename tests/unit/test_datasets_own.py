import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphreader.errors import DatasetError
from graphreader.evaluation.datasets.load import load
from graphreader.evaluation.datasets.record import Record, SourceText, Supporting

RECORD = {
    "id": "boats-1",
    "dataset": "boats",
    "question": "Who built the ferry?",
    "answers": ["Ada Lund", "Lund"],
    "documents": [
        {"title": "Ferry", "text": "Ada Lund built the ferry. It floats."},
        {"title": "Harbor", "text": "The harbor is deep."},
    ],
    "supporting": [{"doc": 0, "sentence_idx": 0, "sentence": "Ada Lund built the ferry."}],
    "language": "en",
    "type": "bridge",
    "hops": 2,
}
Written = Callable[..., Path]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    def write(*records: dict[str, Any], name: str = "boats.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        return path

    return write


# A record of our own schema is read as it stands; what its set tells beside it is looked past.
def test_a_record(written: Written) -> None:
    records = load(written({**RECORD, "decomposition": [{"question": "x"}], "hops": 2}))

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
            hops=2,
        )
    ]


# Documents with evidence are told once each, in their order.
def test_gold_documents(written: Written) -> None:
    places = [{"doc": 1}, {"doc": 0, "sentence": "It floats."}, {"doc": 1}]
    (record,) = load(written({**RECORD, "supporting": places}))

    assert record.gold_documents == (0, 1)


# A text file lies relative to the data file; evidence in lines becomes the text of these lines.
def test_text_files_and_lines(written: Written, tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    text = "Ann: Hello.\nBo: The fare is two crowns.\nAnn: Good.\nBo: Bye."
    (tmp_path / "texts" / "talk.txt").write_text(text, encoding="utf-8")
    documents = [{"title": "Talk", "text_file": "texts/talk.txt"}]
    record = {**RECORD, "documents": documents, "supporting": [{"doc": 0, "lines": [1, 2]}]}
    first, second = load(written(record, {**record, "id": "boats-2"}))

    assert first.documents == (SourceText("Talk", text),)
    assert first.supporting == (
        Supporting(0, "Bo: The fare is two crowns.\nAnn: Good.", lines=(1, 2)),
    )
    assert first.documents[0] is second.documents[0]


# Options with their right one, inexact evidence, language and no answers are kept.
def test_further_keys(written: Written) -> None:
    options = ["Ada", "Bo", "Cy", "Di"]
    supporting = [{"doc": 0, "sentence": "She built it.", "exact": False}]
    (record,) = load(
        written(
            {
                **RECORD,
                "options": options,
                "gold_option": 3,
                "answers": [],
                "supporting": supporting,
                "language": "zh",
            }
        )
    )

    assert record.options == tuple(options)
    assert record.gold_option == 3
    assert record.answers == ()
    assert record.supporting == (Supporting(0, "She built it.", exact=False),)
    assert record.language == "zh"


# What is wrong with a record is said with file and line, and nothing is guessed.
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"question": " "}, '"question" must be a text that is not empty.'),
        ({"id": None}, '"id" must be a text that is not empty.'),
        ({"answers": "Ada"}, '"answers" must be a list.'),
        ({"answers": [1]}, '"answers" must be a list of texts.'),
        ({"documents": []}, '"documents" is empty: there is nothing to read.'),
        ({"documents": ["x"]}, "must be an object."),
        ({"supporting": [{"doc": 2}]}, '"doc" is 2, but there are 2 only (from 0 on).'),
        ({"supporting": [{"doc": True}]}, '"doc" must be a whole number from 0 on.'),
        ({"supporting": [{"doc": 0, "lines": [0, 1]}]}, "there are no lines 0 to 1 of 1"),
        ({"supporting": [{"doc": 0, "lines": ["a"]}]}, "lines must be two whole numbers."),
        ({"options": ["A"], "gold_option": 1}, '"gold_option" is 1, but there are 1 only'),
        ({"documents": [{"title": "T", "text_file": "no.txt"}]}, "cannot be read: No such file"),
        ({"documents": [{"text_file": "../o.txt"}]}, "must lie in the folder of the data file"),
        ({"documents": [{"text_file": "/etc/passwd"}]}, "must lie in the folder of the data file"),
    ],
)
def test_what_is_wrong(written: Written, change: dict[str, Any], told: str) -> None:
    path = written(RECORD, {**RECORD, "id": "boats-2", **change})

    with pytest.raises(DatasetError) as raised:
        load(path)

    assert str(raised.value).startswith("boats.jsonl, line 2")
    assert told in str(raised.value)


# A line that is no JSON, or no object, is named with its number; blank lines are passed over.
@pytest.mark.parametrize(
    ("line", "told"),
    [("{]", "line 3: is no JSON"), ("[1]", "line 3: must be a JSON object.")],
)
def test_broken_lines(tmp_path: Path, line: str, told: str) -> None:
    path = tmp_path / "boats.jsonl"
    path.write_text(f"{json.dumps(RECORD)}\n\n{line}\n", encoding="utf-8")

    with pytest.raises(DatasetError, match=told):
        load(path)


# A misspelt field is told with its line, those that are known, and what was meant perhaps.
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"suporting": []}, '"suporting" is no field of it: known are id, dataset, question,'),
        ({"suporting": []}, 'Did you mean "supporting"?'),
        ({"gold": 1}, '"gold" is no field of it'),
        ({"documents": [{"titel": "T", "text": "x"}]}, 'documents[0]: "titel" is no field of it'),
        ({"documents": [{"titel": "T", "text": "x"}]}, 'Did you mean "title"?'),
        ({"supporting": [{"doc": 0, "line": [0, 0]}]}, 'supporting[0]: "line" is no field of it'),
    ],
)
def test_unknown_fields(written: Written, change: dict[str, Any], told: str) -> None:
    path = written(RECORD, {**RECORD, "id": "boats-2", **change})

    with pytest.raises(DatasetError) as raised:
        load(path)

    assert str(raised.value).startswith("boats.jsonl, line 2")
    assert told in str(raised.value)


# What a person wants to keep beside it stands in metadata, which may hold anything.
def test_metadata(written: Written) -> None:
    documents = [{**one, "metadata": {"page": 3}} for one in RECORD["documents"]]
    (record,) = load(written({**RECORD, "documents": documents, "metadata": {"author": "me"}}))

    assert record == load(written(RECORD))[0]


# A language by which answers cannot be compared is refused; without one it is compared by words.
def test_languages(written: Written) -> None:
    without = {name: value for name, value in RECORD.items() if name != "language"}

    assert load(written(without))[0].language == "en"
    for language in ("de", "zh-CN", "English"):
        with pytest.raises(DatasetError, match=rf'line 1: "language" is "{language}", but must be'):
            load(written({**RECORD, "language": language}))
