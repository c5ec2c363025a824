"""What rankings read within the token budget of a reading."""

import json
from pathlib import Path
from typing import Any

import pytest

from graphreader.baselines.session import TextPassage
from graphreader.evaluation.equal_budget import EqualBudgetFile, within_budget
from graphreader.evaluation.plan import QuestionSelection, make_plan
from graphreader.evaluation.runner import Arm
from graphreader.ingestion.loading.content import from_text
from graphreader.offline.embedder import OfflineEmbedder
from graphreader.settings import Settings
from tests.unit.test_evaluation_runner import FakeReader


# The fewest best passages with as many tokens as were read; all if these do not suffice.
@pytest.mark.parametrize(
    ("tokens", "k", "total"),
    [(0, 0, 0), (1, 1, 30), (30, 1, 30), (31, 2, 50), (50, 2, 50), (51, 3, 60), (999, 3, 60)],
)
def test_smallest_k(tokens: int, k: int, total: int) -> None:
    document = from_text("text", "T", "c", "s")
    passages = [TextPassage(document, n, 0, "text", size) for n, size in enumerate((30, 20, 10))]

    assert within_budget(passages, tokens) == (passages[:k], total)


async def rank(folder: Path, tokens_read: dict[str, int]) -> list[dict[str, Any]]:
    """All lines after a ranking for two questions; the fifth of six texts answers the first."""
    texts = [f"Nothing but sheep number {n}." for n in range(6)]
    texts[4] = "The band was formed in Toronto."
    rows = [
        {
            "id": f"q{n}",
            "dataset": "d",
            "question": question,
            "answers": ["Toronto"],
            "documents": [{"title": "T", "text": text} for text in texts],
            "supporting": [{"doc": 4}],
        }
        for n, question in enumerate(["Where was the band formed?", "What of sheep number 5?"])
    ]
    (folder / "data.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    plan = make_plan([str(folder / "data.jsonl")], QuestionSelection())
    with EqualBudgetFile(folder / "equal_reading.jsonl", OfflineEmbedder()) as file:
        arms = [Arm(FakeReader("graphreader"), Settings())]
        await file.rank(plan, arms, lambda key: tokens_read.get(key.id))
    lines = (folder / "equal_reading.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


# Each reading gets a line for each ranking, with the documents that this reads first.
async def test_lines(tmp_path: Path) -> None:
    lines = await rank(tmp_path, {"q0": 5, "q1": 12})

    assert [(one["id"], one["reader"]) for one in lines] == [
        (id_, name) for id_ in ("q0", "q1") for name in ("bm25", "embedding")
    ]
    assert lines[0]["documents_read"] == lines[1]["documents_read"] == [4]
    assert lines[2]["documents_read"][0] == 5
    assert lines[2]["k"] == 2
    assert lines[2]["tokens_read"] >= 12
    assert {one["against"] for one in lines} == {"graphreader"}


# A failed reading is not compared, a compared one not again, unless it read more since.
async def test_continues(tmp_path: Path) -> None:
    first = await rank(tmp_path, {"q0": 5})
    second = await rank(tmp_path, {"q0": 5, "q1": 5})
    third = await rank(tmp_path, {"q0": 12, "q1": 5})

    assert [one["id"] for one in first] == ["q0", "q0"]
    assert second[:2] == first
    assert [one["id"] for one in second[2:]] == ["q1", "q1"]
    assert third[:4] == second
    assert [(one["id"], one["k"]) for one in third[4:]] == [("q0", 2), ("q0", 2)]
