"""JSON Lines and question sets give documents line by line."""

from pathlib import Path

import pytest

from graphreader.documents import Document
from graphreader.ingestion.loading import json_lines
from graphreader.ingestion.loading.content import Refused
from graphreader.ingestion.loading.sources import sources_of
from tests.unit.loading import documents, lines, read, reasons, write


# Each line of JSON Lines is a document: known by its id, else its title, else its line.
def test_json_lines(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "a.jsonl",
        {"id": 7, "title": "Paris", "text": "A city.", "year": 52, "metadata": {"by": "V"}},
        {"title": "Paris", "text": "A hero."},
        {"title": "Paris", "text": "A plaster."},
        {"title": "Paris", "text": "A hero."},
        {"text": "Nameless \ud800."},
    )
    found = documents(path)
    names = [one.source.removeprefix(str(path.resolve())) for one in found]

    assert names == ["#7", "#Paris", "#Paris#2", "#5"]
    assert [one.title for one in found] == ["Paris", "Paris", "Paris", "a 5"]
    assert found[0].metadata == {"year": 52, "by": "V"}
    assert [one.text for one in found] == ["A city.", "A hero.", "A plaster.", "Nameless \ufffd."]


# A question set gives the documents of its questions, each once; files by their own paths.
def test_question_set(tmp_path: Path) -> None:
    story = write(tmp_path / "texts" / "story.txt", b"Once upon a time.")
    short = {"title": "Seine", "text": "A river."}
    listed = [short, {"title": "Seine", "text": "A department."}]
    path = lines(
        tmp_path / "set.jsonl",
        {"id": "q1", "question": "?", "answers": ["x"], "documents": listed, "supporting": []},
        {"id": "q2", "documents": [short, {"title": "Story", "text_file": "texts/story.txt"}]},
        {"id": "q3", "documents": [{"title": "Story", "text_file": "texts/../texts/story.txt"}]},
    )
    found = documents(path)

    assert [one.title for one in found] == ["Seine", "Seine", "Story"]
    assert [one.text for one in found] == ["A river.", "A department.", "Once upon a time."]
    assert len({one.id for one in found}) == 3
    assert found[2].id == documents(story)[0].id


# A bad line is named with its number and its reason, and the others are read.
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{broken", "line 2: it is no JSON"),
        (b'"text"', "line 2: it is no object."),
        (b"{}", "line 2: it has no `text`."),
        (b'{"text": 1}', "line 2: it has no `text`."),
        (b'{"text": " "}', "line 2: its `text` is empty."),
        (b'{"text": "caf\xe9"}', "line 2: it is not UTF-8."),
        (b"[" * 100_000, "line 2: it is no JSON"),
        (b'{"documents": 1}', "line 2: `documents` is no list."),
        (b'{"documents": [1]}', "line 2, document 0: it is no object."),
        (b'{"documents": [{"title": "x"}]}', "neither `text` nor `text_file`."),
        (b'{"documents": [{"text_file": "none.txt"}]}', "does not exist"),
        (b'{"documents": [{"text_file": "a.jsonl"}]}', "holds many texts"),
        (b'{"documents": [{"text_file": "../secret.txt"}]}', "lies outside"),
        (b'{"documents": [{"text_file": "/etc/hostname"}]}', "lies outside"),
        (b'{"documents": [{"text_file": "n\\u0000.txt"}]}', "line 2, document 0"),
        (b'{"text": "' + b"x" * 2000 + b'"}', "line 2: it has more than"),
    ],
)
def test_bad_lines(
    line: bytes, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if len(line) < 100_000:
        monkeypatch.setattr(json_lines, "MAX_BYTES", 1000)
    write(tmp_path / "secret.txt")
    path = write(
        tmp_path / "in" / "a.jsonl",
        b'\xef\xbb\xbf{"text": "One."}\r\n' + line + b'\n\n{"text": "Two."}',
    )
    found = read(path)
    refused = [one for one in found if isinstance(one, Refused)]

    assert [one.text for one in found if isinstance(one, Document)] == ["One.", "Two."]
    assert [one.source for one in refused] == [f"{path}#2"]
    assert reason in refused[0].reason
    assert refused[0].reason.startswith(str(path))
    assert "\n" not in refused[0].reason


# A file without any line is refused as one.
def test_no_lines(tmp_path: Path) -> None:
    assert reasons(write(tmp_path / "a.jsonl", b"\n \n")) == [
        f"{tmp_path}/a.jsonl has no text in it: leave it out or fill it."
    ]
    assert "does not exist" in reasons(tmp_path / "b.jsonl")[0]


# Nothing is read before it is asked for.
def test_lazy(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", {"text": "One."}, {"text": "Two."})
    (source,) = sources_of([path])
    found = source.documents("c")
    first = next(found)
    with path.open("a") as file:
        file.write('\n{"text": "Three."}')

    assert isinstance(first, Document)
    assert first.text == "One."
    assert len(list(found)) == 2
