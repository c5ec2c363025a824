"""The results folder of an evaluation and the files in it, as a process finds and leaves them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphreader.errors import UsageError
from graphreader.evaluation.results import ReadingKey, ReadingsFile, ResultsFolder
from graphreader.files import Line

ONE = ReadingKey("musique", "q1", "native", "full-text", "offline", 0)
TWO = ReadingKey("musique", "q2", "native", "full-text", "offline", 0)


def line(key: ReadingKey = ONE, question: str = "Who?", **more: Any) -> dict[str, Any]:
    named = {name: getattr(key, name) for name in ReadingKey.__slots__}
    lists: dict[str, Any] = {"documents_read": [], "gold_documents": []}
    figures = {"em": 1.0, "f1": 1.0, "tokens_read": 7, "usage": {"calls": 1}, "seconds": 0.5}
    return {**named, **lists, **figures, "digest": question, "error": None, **more}


def data_of(*lines: Line) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in lines)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with one reading."""
    (tmp_path / "readings.jsonl").write_bytes(data_of(line(ONE)))
    return tmp_path / "readings.jsonl"


def opened(path: Path) -> tuple[ReadingsFile, list[Line]]:
    """The file, after its lines were read, and these lines."""
    lines: list[Line] = []
    with ReadingsFile(path, lines.append) as file:
        return file, lines


# A reading without an error is done, also after one that failed; another length, reader, model or
# repeat is not done; other data under the same id is refused.
def test_done(path: Path) -> None:
    path.write_bytes(data_of(line(ONE, error="No."), line(ONE), line(TWO, error="No.")))
    file, lines = opened(path)
    others = {"length": "64k", "reader": "golden", "model": "a:b", "repeat": 1, "dataset": "d"}

    assert len(lines) == 3
    assert file.is_done(ONE, "Who?")
    assert not file.is_done(TWO, "Who?")
    for name, value in others.items():
        assert not file.is_done(replace(ONE, **{name: value}), "Who?")
    with pytest.raises(UsageError, match="another question, text or right answer of the id q1"):
        file.is_done(ONE, "When?")


# A file of something else is named with its line, and not changed.
def test_foreign_file(path: Path) -> None:
    path.write_bytes(data_of(line(ONE)) + b'{"id": "q1"}\n' + data_of(line(TWO)))
    before = path.read_bytes()

    with pytest.raises(UsageError, match="line 2: this is no line of an evaluation"):
        opened(path)

    assert path.read_bytes() == before


# A line is on the disk, in UTF-8, as soon as it is appended. A reading that a rater did not rate is
# unrated until a later line has its rating.
def test_append(path: Path) -> None:
    path.write_bytes(data_of(line(ONE, unrated={}), line(TWO)))
    with ReadingsFile(path, lambda line: None) as file:
        unrated = dict(file.unrated)
        file.append(line(ONE, "谁?", unrated=None))
        data = path.read_bytes()

    assert unrated == {ONE: line(ONE, unrated={})}
    assert not file.unrated
    assert not opened(path)[0].unrated
    assert json.loads(data.splitlines()[2]) == line(ONE, "谁?", unrated=None)
    assert "谁".encode() in data
    assert data.endswith(b"\n")


# Readings whose run.json is missing, broken or of something else are not continued.
@pytest.mark.parametrize(
    ("run", "sentence"),
    [
        (None, r"has readings but no run\.json"),
        *((run, "none of an evaluation: name another --out") for run in ("{", "[]", '{"a": 1}')),
    ],
)
def test_foreign_run(path: Path, run: str | None, sentence: str) -> None:
    if run is not None:
        (path.parent / "run.json").write_text(run)

    with ResultsFolder(path.parent) as folder, pytest.raises(UsageError, match=sentence):
        folder.check({})


# Another value than that of an earlier run is refused by name; a new one holds from then on.
def test_fixed_values(tmp_path: Path) -> None:
    with ResultsFolder(tmp_path) as folder:
        folder.check({"seed": 0, "rater": None})
        folder.record_run({"seed": 0, "rater": None}, {"command": "one"})
        folder.check({"seed": 0, "rater": None, "model b": "y"})
        folder.record_run({"seed": 0, "model b": "y"}, {"command": "two"})
        with pytest.raises(UsageError, match='begun with rater null, not "openai:x"'):
            folder.check({"seed": 0, "rater": "openai:x"})
        with pytest.raises(UsageError, match='begun with model b "y", not "z"'):
            folder.check({"model b": "z"})

    assert json.loads((tmp_path / "run.json").read_text()) == {
        "fixed": {"seed": 0, "rater": None, "model b": "y"},
        "command": "two",
        "commands": ["one", "two"],
    }
