"""JSON Lines and question sets give documents line by line."""

from pathlib import Path

import pytest

from graphreader.documents import Document
from graphreader.ingestion.loading import sources
from graphreader.ingestion.loading.content import Refused
from graphreader.ingestion.loading.sources import sources_of
from tests.unit.loading import documents, lines, read, reasons, write


# A line is a document, identified by its id, else its title, else its number; equal ones are one.
def test_json_lines(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "a.jsonl",
        {"id": 7, "title": "Paris", "text": "A city.", "year": 52, "metadata": {"by": "V"}},
        {"title": "Paris", "text": "A hero."},
        {"title": "Paris", "text": "A plaster."},
        {"title": "Paris", "text": "A hero."},
        {"text": "Nameless \ud800."},
    )
    loaded = documents(path)
    names = [one.source.removeprefix(str(path.resolve())) for one in loaded]

    assert names == ["#7", "#Paris", "#Paris#2", "#5"]
    assert [one.title for one in loaded] == ["Paris", "Paris", "Paris", "a 5"]
    assert loaded[0].metadata == {"year": 52, "by": "V"}
    assert [one.text for one in loaded] == ["A city.", "A hero.", "A plaster.", "Nameless \ufffd."]


# A question set gives the documents of its questions, each once; files by their own paths.
def test_question_set(tmp_path: Path) -> None:
    story = write(tmp_path / "texts" / "story.txt", b"Once upon a time.")
    short = {"title": "Seine", "text": "A river."}
    path = lines(
        tmp_path / "set.jsonl",
        {"id": "q1", "question": "?", "documents": [short, {"title": "Seine", "text": "A place."}]},
        {"id": "q2", "documents": [short, {"title": "Story", "text_file": "texts/story.txt"}]},
        {"id": "q3", "documents": [{"title": "Story", "text_file": "texts/../texts/story.txt"}]},
    )
    loaded = documents(path)

    assert [(one.title, one.text) for one in loaded] == [
        ("Seine", "A river."),
        ("Seine", "A place."),
        ("Story", "Once upon a time."),
    ]
    assert len({one.id for one in loaded}) == 3
    assert loaded[2].id == documents(story)[0].id


# A bad line is named with its number and the reason, and the others are read.
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{broken", "line 2: it is no JSON"),
        (b'"text"', "line 2: it is no object."),
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
        monkeypatch.setattr(sources, "MAX_BYTES", 1000)
    write(tmp_path / "secret.txt")
    path = write(
        tmp_path / "in" / "a.jsonl",
        b'\xef\xbb\xbf{"text": "One."}\r\n' + line + b'\n\n{"text": "Two."}',
    )
    loaded = read(path)
    (refused,) = [one for one in loaded if isinstance(one, Refused)]

    assert [one.text for one in loaded if isinstance(one, Document)] == ["One.", "Two."]
    assert refused.source == f"{path}#2"
    assert reason in refused.reason
    assert refused.reason.startswith(str(path))
    assert "\n" not in refused.reason


# A file without any line is refused as a whole.
def test_no_lines(tmp_path: Path) -> None:
    assert reasons(write(tmp_path / "a.jsonl", b"\n \n")) == [
        f"{tmp_path}/a.jsonl has no text in it: leave it out or fill it."
    ]
    assert "does not exist" in reasons(tmp_path / "b.jsonl")[0]


# A file is read line by line, as its documents are asked for.
def test_lazy(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", {"text": "One."}, {"text": "Two."})
    (source,) = sources_of([path])
    loading = source.documents("c")
    next(loading)
    with path.open("a") as file:
        file.write('\n{"text": "Three."}')

    assert len(list(loading)) == 2
