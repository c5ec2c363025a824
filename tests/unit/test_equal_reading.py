"""What a ranking would have read in a reader's place."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from graphreader.baselines.session import TextPassage
from graphreader.evaluation.equal_budget import EqualBudgetFile, within_budget
from graphreader.evaluation.plan import QuestionSelection, make_plan
from graphreader.evaluation.results import ReadingKey
from graphreader.evaluation.runner import Arm
from graphreader.ingestion.loading.content import from_text
from graphreader.offline.embedder import OfflineEmbedder
from graphreader.settings import Settings
from tests.unit.test_benchmark import Fake


def passages(*sizes: int) -> list[TextPassage]:
    document = from_text("text", "T", "c", "s")
    return [TextPassage(document, n, 0, "text", size) for n, size in enumerate(sizes)]


# As few of the best passages as have the tokens that were read; all where these do not suffice.
@pytest.mark.parametrize(
    ("tokens", "k", "total"),
    [(0, 0, 0), (1, 1, 30), (30, 1, 30), (31, 2, 50), (50, 2, 50), (51, 3, 60), (999, 3, 60)],
)
def test_smallest_k(tokens: int, k: int, total: int) -> None:
    best, total_tokens = within_budget(passages(30, 20, 10), tokens)

    assert (len(best), total_tokens) == (k, total)
    assert [one.index for one in best] == list(range(k))


def write(folder: Path) -> str:
    """Two questions; the fifth of six texts has the words of the first one."""
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
    path = folder / "data.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return str(path)


async def ranked(folder: Path, read: dict[str, int]) -> list[dict[str, Any]]:
    """The lines, where `read` says how many tokens were read for which question."""

    def tokens(key: ReadingKey) -> int | None:
        return read.get(key.id)

    entries: Sequence[Arm] = [Arm(Fake("graphreader"), Settings())]
    with EqualBudgetFile(folder / "equal_reading.jsonl", OfflineEmbedder()) as comparing:
        await comparing.rank(make_plan([write(folder)], QuestionSelection()), entries, tokens)
    lines = (folder / "equal_reading.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


# For each reading a line a ranking, with the documents that it reads first.
async def test_lines(tmp_path: Path) -> None:
    lines = await ranked(tmp_path, {"q0": 5, "q1": 12})

    assert [(one["id"], one["reader"]) for one in lines] == [
        (id_, name) for id_ in ("q0", "q1") for name in ("bm25", "embedding")
    ]
    assert lines[0]["documents_read"] == lines[1]["documents_read"] == [4]
    assert lines[2]["documents_read"][0] == 5
    assert lines[2]["k"] == 2
    assert lines[2]["tokens_read"] >= 12
    assert {one["against"] for one in lines} == {"graphreader"}


# A reading that failed is not compared; one that is compared already is not ranked again.
async def test_goes_on(tmp_path: Path) -> None:
    first = await ranked(tmp_path, {"q0": 5})
    second = await ranked(tmp_path, {"q0": 5, "q1": 5})

    assert [one["id"] for one in first] == ["q0", "q0"]
    assert second[:2] == first
    assert [one["id"] for one in second[2:]] == ["q1", "q1"]


# A reading that was taken again, and read more, is compared again.
async def test_read_again(tmp_path: Path) -> None:
    await ranked(tmp_path, {"q0": 5})
    lines = await ranked(tmp_path, {"q0": 12})

    assert [one["k"] for one in lines] == [1, 1, 2, 2]
