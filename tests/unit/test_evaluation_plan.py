"""The plan of an evaluation: which records are asked at which lengths, and what is left out."""

import json
from pathlib import Path
from typing import Any

import pytest

from graphreader.errors import DatasetError, UsageError
from tests.unit.test_evaluation_runner import plan_of, write


def write_pool(path: Path, passages: int = 60) -> Path:
    path.parent.mkdir(exist_ok=True)
    rows = [{"title": f"P{n}", "text": f"Passage {n} tells of sheep."} for n in range(passages)]
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


# A record that is longer than a length, or for which the pool has too few passages without its
# answer, is left out with a note; the others are lengthened.
def test_records_left_out(tmp_path: Path) -> None:
    data = Path(write(tmp_path, {"q1": "word " * 150, "q2": "two", "q3": "three"}))
    data.write_text(
        data.read_text().replace('"q3?", "answers": ["Toronto"]', '"q3?", "answers": ["sheep"]')
    )
    plan = plan_of(str(data), lengths=("100",), pool=write_pool(tmp_path / "pool.jsonl"))

    assert [group.records[0].id for group in plan.groups] == ["q2"]
    assert plan.notes == (
        "1 of 3 records of own are longer than 100 already, and left out there.",
        "1 of 3 records of own have too small a pool for 100, and are left out there.",
    )


# A dataset without a pool is asked as it is, with a note; the others are lengthened.
def test_one_dataset_without_pool(tmp_path: Path) -> None:
    with_pool = write(tmp_path, {"q1": "one"}, "a.jsonl")
    write_pool(tmp_path / "corpus" / "a.jsonl")
    without = write(tmp_path, {"q2": "two"}, "b.jsonl")
    plan = plan_of(without, with_pool, lengths=("native", "100"))

    asked = [(group.records[0].id, group.length) for group in plan.groups]
    assert asked == [("q2", "native"), ("q1", "native"), ("q1", "100")]
    (note,) = plan.notes
    assert "no pool of passages beside" in note
    assert "b.jsonl to make its contexts 100 long, and they are left out: name one" in note


# What cannot be planned is refused in a sentence.
@pytest.mark.parametrize(
    ("times", "selection", "error", "sentence"),
    [
        (1, {"lengths": ("64k",)}, UsageError, r"There is no pool of passages beside .*--pool"),
        (2, {}, UsageError, "twice at the length native"),
        (1, {"lengths": ("far",)}, DatasetError, "is no length"),
        (1, {"lengths": ()}, UsageError, "at least one length"),
        (1, {"lengths": ("64k",), "pool": "p.jsonl"}, UsageError, "1 of 1 records .* too small"),
    ],
)
def test_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    times: int,
    selection: dict[str, Any],
    error: type[Exception],
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    data = write(tmp_path, {"q1": "one"})
    write_pool(tmp_path / "p.jsonl", 5)

    with pytest.raises(error, match=sentence):
        plan_of(*[data] * times, **selection)
