"""The folder of an evaluation and the files in it, as a process finds and leaves them."""

import json
import multiprocessing
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from graphreader.errors import UsageError
from graphreader.evaluation.results import ReadingKey, ReadingsFile, ResultsFolder
from graphreader.files import Line

ONE = ReadingKey("musique", "q1", "native", "full-text", "offline", 0)
TWO = ReadingKey("musique", "q2", "native", "full-text", "offline", 0)


def line(key: ReadingKey = ONE, question: str = "Who?", error: str | None = None) -> dict[str, Any]:
    named = {name: getattr(key, name) for name in ReadingKey.__slots__}
    lists: dict[str, Any] = {"documents_read": [], "gold_documents": []}
    figures = {"em": 1.0, "f1": 1.0, "tokens_read": 7, "usage": {"calls": 1}, "seconds": 0.5}
    return {**named, **lists, **figures, "digest": question, "error": error}


def whole(*lines: Line) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in lines)


def entered(path: Path) -> tuple[ReadingsFile, list[Line]]:
    """The file, entered, and the lines that it told."""
    told: list[Line] = []
    file = ReadingsFile(path, told.append)
    with file:
        pass
    return file, told


# What was read is not asked again, what failed is.
def test_done(tmp_path: Path) -> None:
    path = tmp_path / "readings.jsonl"
    path.write_bytes(whole(line(ONE), line(TWO, error="The model went away.")))

    file, told = entered(path)

    assert file.is_done(ONE, "Who?")
    assert not file.is_done(TWO, "Who?")
    assert len(told) == 2


# What failed and was asked again with success is done.
def test_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "readings.jsonl"
    path.write_bytes(whole(line(ONE, error="No."), line(ONE)))

    file, _ = entered(path)

    assert file.is_done(ONE, "Who?")


# A line stands on the disk, in UTF-8, as soon as it is kept, and is told.
def test_append(tmp_path: Path) -> None:
    path = tmp_path / "readings.jsonl"
    told: list[Line] = []
    with ReadingsFile(path, told.append) as file:
        file.append(line(ONE, "谁?"))
        there = path.read_bytes()

    assert there.endswith(b"\n")
    assert json.loads(there) == line(ONE, "谁?") == told[0]
    assert "谁".encode() in there


# A last line that was cut off while it was written goes; the others stay as they are.
@pytest.mark.parametrize("cut", [1, 30, -2])
def test_torn_line(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "readings.jsonl"
    first, second = whole(line(ONE)), whole(line(TWO))
    path.write_bytes(first + second[:cut])
    told: list[Line] = []

    with ReadingsFile(path, told.append) as file:
        assert not file.is_done(TWO, "Who?")
        file.append(line(TWO))

    assert path.read_bytes() == first + second
    assert [one["id"] for one in told] == ["q1", "q2"]


# A last line that lacks its end alone is whole.
def test_line_without_end(tmp_path: Path) -> None:
    path = tmp_path / "readings.jsonl"
    path.write_bytes(whole(line(ONE))[:-1])

    with ReadingsFile(path, lambda line: None) as file:
        assert file.is_done(ONE, "Who?")
        file.append(line(TWO))

    assert path.read_bytes() == whole(line(ONE), line(TWO))


# A file of something else is named with its line, and not touched.
@pytest.mark.parametrize("foreign", [b'{"id": "q1"}\n', b"hello\n", b"[]\n", b"\n"])
def test_foreign_file(tmp_path: Path, foreign: bytes) -> None:
    path = tmp_path / "readings.jsonl"
    path.write_bytes(whole(line(ONE)) + foreign + whole(line(TWO)))
    before = path.read_bytes()

    with pytest.raises(UsageError, match="line 2: this is no line of an evaluation"):
        entered(path)

    assert path.read_bytes() == before


# An id that was that of another question, text or answer is refused: these are other data.
def test_other_question(tmp_path: Path) -> None:
    path = tmp_path / "readings.jsonl"
    path.write_bytes(whole(line(ONE)))
    file, _ = entered(path)

    with pytest.raises(UsageError, match="another question, text or right answer of the id q1"):
        file.is_done(ONE, "When?")


# The same question at another length, or asked of another reader or model, or again, is not done.
@pytest.mark.parametrize(
    "change",
    [{"length": "64k"}, {"reader": "golden"}, {"model": "a:b"}, {"repeat": 1}, {"dataset": "d"}],
)
def test_what_a_line_is_about(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "readings.jsonl"
    path.write_bytes(whole(line(ONE)))
    file, _ = entered(path)
    named = {name: getattr(ONE, name) for name in ReadingKey.__slots__}

    assert not file.is_done(ReadingKey(**{**named, **change}), "Who?")


def _hold(folder: str, pipe: Connection) -> None:
    with ResultsFolder(folder):
        pipe.send("held")
        pipe.recv()


# Two processes do not work in one folder; once the first has ended the second may.
def test_two_processes(tmp_path: Path) -> None:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_hold, args=(tmp_path, theirs))
    process.start()
    ours.recv()
    with pytest.raises(UsageError, match=r"Another evaluation works in .*name another --out"):
        ResultsFolder(tmp_path).__enter__()
    ours.send("end")
    process.join(30)

    with ResultsFolder(tmp_path) as folder:
        assert folder.readings == tmp_path / "readings.jsonl"


# A folder that cannot be made is said in a sentence.
def test_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")

    with pytest.raises(UsageError, match=r"cannot be written to .*name another --out"):
        ResultsFolder(tmp_path / "out").__enter__()


# What was asked in another way is refused by name; the same, with more said, goes on.
def test_other_settings(tmp_path: Path) -> None:
    with ResultsFolder(tmp_path) as folder:
        folder.check({"seed": 0, "rater": None})
        folder.record_run({"seed": 0, "rater": None}, {"command": "one"})
        folder.check({"seed": 0, "rater": None})
        folder.record_run({"seed": 0, "rater": None}, {"command": "two"})
        with pytest.raises(UsageError, match='begun with rater null, not "openai:x"'):
            folder.check({"seed": 0, "rater": "openai:x"})

    told = json.loads((tmp_path / "run.json").read_text())
    assert told == {
        "fixed": {"seed": 0, "rater": None},
        "command": "two",
        "commands": ["one", "two"],
        "mark": folder.id.partition(" ")[0],
    }


# Readings without a word on how they were made are not gone on with.
def test_readings_without_run(tmp_path: Path) -> None:
    (tmp_path / "readings.jsonl").write_bytes(whole(line(ONE)))

    with (
        ResultsFolder(tmp_path) as folder,
        pytest.raises(UsageError, match=r"without its run\.json"),
    ):
        folder.check({"seed": 0})


# A file run.json that says nothing is named.
@pytest.mark.parametrize("words", ["{", "[]", '{"seed": 0}'])
def test_damaged_run(tmp_path: Path, words: str) -> None:
    (tmp_path / "run.json").write_text(words)

    with (
        ResultsFolder(tmp_path) as folder,
        pytest.raises(UsageError, match="none of an evaluation"),
    ):
        folder.check({"seed": 0})


# A reading that a rater failed to judge is done, and told until a later line has its rating.
def test_unrated(tmp_path: Path) -> None:
    path = tmp_path / "readings.jsonl"
    path.write_bytes(whole({**line(ONE), "unrated": {}}, line(TWO)))

    with ReadingsFile(path, lambda line: None) as file:
        open_one = file.unrated(ONE)
        assert file.is_done(ONE, "Who?")
        assert file.unrated(TWO) is None
        file.append({**line(ONE), "unrated": None})
        rated = file.unrated(ONE)
    later, _ = entered(path)

    assert open_one == {**line(ONE), "unrated": {}}
    assert rated is None
    assert later.unrated(ONE) is None


# What is told for the first time is taken down beside the rest, and holds from then on.
def test_further_settings(tmp_path: Path) -> None:
    with ResultsFolder(tmp_path) as folder:
        folder.record_run({"seed": 0, "the building model of a": "x"}, {"command": "one"})
        folder.check({"seed": 0, "the building model of b": "y"})
        folder.record_run({"seed": 0, "the building model of b": "y"}, {"command": "two"})
        with pytest.raises(UsageError, match='begun with the building model of a "x", not "z"'):
            folder.check({"the building model of a": "z"})
        with pytest.raises(UsageError, match='begun with the building model of b "y", not "z"'):
            folder.check({"the building model of b": "z"})


# Whether graphs were left is kept until they are gone; all else that was told stays.
def test_graphs_left(tmp_path: Path) -> None:
    with ResultsFolder(tmp_path) as folder:
        before = folder.leaves_graphs
        folder.record_run({"seed": 0}, {"command": "one", "leaves_graphs": True})
        during = folder.leaves_graphs
        folder.record_graphs_deleted()
        after = folder.leaves_graphs

    assert (before, during, after) == (False, True, False)
    told = json.loads((tmp_path / "run.json").read_text())
    assert (told["command"], told["fixed"]) == ("one", {"seed": 0})
