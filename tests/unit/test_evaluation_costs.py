"""What an evaluation will cost, told before anything is spent."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphreader.baselines.search_agent import MOST_CALLS
from graphreader.estimate import estimate
from graphreader.evaluation.costs import PROMPT, REPLY, Cost, building_key, estimate_cost
from graphreader.evaluation.plan import Plan, QuestionSelection, make_plan
from graphreader.evaluation.results import corpus_of, documents_of
from graphreader.evaluation.runner import Arm
from graphreader.llm.window import BuildingMeasurer
from graphreader.settings import Settings
from tests.unit.test_benchmark import Fake

MODEL = "openai:priced"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A model that costs a dollar for a million tokens, out two."""
    prices = tmp_path / "prices.toml"
    prices.write_text(f'["{MODEL}"]\ninput = 1.0\noutput = 2.0\n')
    return Settings(model=MODEL, embeddings="offline", prices=prices)


@pytest.fixture
def story(tmp_path: Path) -> Plan:
    """Two questions about one text of 4,000 tokens, with evidence for one of them."""
    text = "\n\n".join(f"Sentence number {n} tells of {n} sheep." for n in range(400))
    rows: list[dict[str, Any]] = [
        {
            "id": f"q{n}",
            "dataset": "d",
            "question": "Which?",
            "answers": ["a"],
            "documents": [{"title": "T", "text": text}],
            "supporting": [{"doc": 0}] if n else [],
        }
        for n in range(2)
    ]
    (tmp_path / "data.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    return make_plan([str(tmp_path / "data.jsonl")], QuestionSelection())


async def cost(name: str, settings: Settings, what: Plan, **more: Any) -> Cost:
    missing = [(group, len(group.records)) for group in what.groups]
    given: dict[str, Any] = {"rater": None, **more}
    return await estimate_cost(Arm(Fake(name), settings), missing, **given)


# A graph is built once for all questions about a text, at what `graphreader estimate` says.
async def test_graph_reader(settings: Settings, story: Plan) -> None:
    found = await cost("graphreader", settings, story)
    record = story.groups[0].records[0]

    class Source:
        size = 0

        def documents(self, corpus: str) -> Any:
            yield from documents_of(record, corpus_of(record))

    measurer = BuildingMeasurer.of(settings)
    wanted = await estimate([Source()], "c", measurer, settings)
    assert wanted.reading.calls > 1
    assert found.building == wanted.reading
    assert found.asking == wanted.question.times(2)
    assert found.questions == 2


# A variant costs what it is run with: `graphreader-paper` the same in every configured mode.
async def test_variants(settings: Settings, story: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    paper, plain = [
        await cost(name, settings, story) for name in ("graphreader-paper", "graphreader")
    ]
    monkeypatch.setenv("GRAPHREADER_MODE", "fast")
    for fast in (Settings.read(**settings.model_dump(exclude_unset=True)), settings):
        assert await cost("graphreader-paper", fast, story) == paper
    configured = settings.model_copy(update={"mode": "fast", "initial_nodes": 1, "calls": 1})
    limited = await cost("graphreader-paper", configured, story)

    assert limited == paper
    assert paper.asking == plain.asking
    assert (await cost("graphreader", configured, story)).asking.calls < paper.asking.calls


# What costs nothing without a model is told in calls alone.
@pytest.mark.parametrize("name", ["graphreader", "read-agent-s", "full-text", "golden"])
async def test_offline(story: Plan, name: str) -> None:
    found = await cost(name, Settings(), story)

    assert found.total.calls > 0
    assert found.total.input_tokens == found.total.output_tokens == 0
    assert found.total.dollars == 0


# The whole text is sent with each question, as far as the window holds it.
async def test_full_text(settings: Settings, story: Plan) -> None:
    size = story.groups[0].own_tokens
    found = await cost("full-text", settings, story)
    narrow = settings.model_copy(update={"long_window": 2_000})
    cut = await cost("full-text", narrow, story)

    assert 3_000 < size < 6_000
    assert found.asking.input_tokens == 2 * (size + PROMPT)
    assert found.asking.output_tokens == 2 * REPLY
    assert found.asking.dollars == pytest.approx(2e-6 * (size + PROMPT) + 4e-6 * REPLY)
    assert cut.asking.input_tokens == 2 * 2_000
    assert not found.building.calls


# Finding pauses may send the text as often as a largest page has the words of a smallest one.
async def test_read_agent(settings: Settings, story: Plan) -> None:
    size = story.groups[0].own_tokens
    found = await cost("read-agent-s-3", settings, story)
    parallel = await cost("read-agent-p-3", settings, story)

    assert found.building.input_tokens >= size * 600 / 280
    assert found.building.input_tokens <= size * (600 / 280 + 1) + found.building.calls * PROMPT * 2
    assert (found.asking.calls, parallel.asking.calls) == (2 * 4, 2 * 2)


# Gists that are made for each question cost so much more with each of them.
async def test_task_aware(settings: Settings, story: Plan) -> None:
    found = await cost("read-agent-s-3", settings, story)
    aware = await cost("read-agent-s-3-task-aware", settings, story)
    pages = found.building.calls - aware.building.calls

    assert pages > 0
    assert aware.asking.calls == found.asking.calls + 2 * pages


# A text that comes as long as those of LV-Eval has larger pages: fewer of them, but finding pauses
# sends the text more often.
async def test_large_pages(settings: Settings, story: Plan) -> None:
    size = story.groups[0].own_tokens
    long = replace(story, groups=tuple(replace(one, length="64k") for one in story.groups))

    small, large = [await cost("read-agent-s", settings, one) for one in (story, long)]

    assert large.building.calls < small.building.calls
    assert large.building.input_tokens > size * (600 / 280 + 1)


# Every kind of reader has a cost of its own, and a ranking by embeddings one for the vectors.
@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("rag-bm25-3", 1),
        ("rag-embedding-1", 1),
        ("rag-pages-bm25-2", 1),
        ("gistmem", 1),
        ("gistmem-retrieval-1", 1),
        ("chunk-read", 2),
        ("search-agent", MOST_CALLS + 1),
        ("golden", 1),
    ],
)
async def test_other_readers(settings: Settings, story: Plan, name: str, calls: int) -> None:
    vectors = settings.model_copy(update={"embeddings": "openai:vectors"})
    found = await cost(name, vectors, story)

    assert found.asking.calls == 2 * calls
    assert found.asking.input_tokens < 2 * calls * 6_000
    assert (found.building.dollars is None) == (
        "embedding" in name or name in ("search-agent", "gistmem-retrieval-1")
    )


# Raters are asked about each answer, and about evidence that is not too long where data names any.
async def test_raters(settings: Settings, story: Plan) -> None:
    records = story.groups[0].records
    known = replace(story.groups[0], records=tuple(reversed(records)))
    long = replace(known, own_tokens=90_000)
    calls = {
        (name, n): (await cost(name, settings, Plan((group,)), rater=settings)).rating.calls
        for name in ("golden", "full-text", "graphreader")
        for n, group in enumerate((story.groups[0], known, long))
    }

    assert [calls["golden", n] for n in range(3)] == [4, 6, 6]
    assert [calls["full-text", n] for n in range(3)] == [4, 6, 4]
    assert [calls["graphreader", n] for n in range(3)] == [4, 8, 8]


# A graph or a gist memory that another reader builds costs nothing more.
async def test_built_already(settings: Settings, story: Plan) -> None:
    entries = {
        name: Arm(Fake(name), settings)
        for name in ("graphreader", "graphreader-fast", "graphreader-chunk-500", "gistmem")
    }
    found = await cost("graphreader-fast", settings, story, is_built=True)

    assert building_key(entries["graphreader"]) == building_key(entries["graphreader-fast"])
    assert building_key(entries["graphreader"]) != building_key(entries["graphreader-chunk-500"])
    assert building_key(entries["gistmem"]) == building_key(Arm(Fake("read-agent-p"), settings))
    for without in ("rag-pages-bm25-3", "read-agent-p-task-aware"):  # these have no gists to share
        assert building_key(Arm(Fake(without), settings)) != building_key(entries["gistmem"])
    assert not found.building.calls
    assert found.asking.calls


# A longer context costs in proportion to its length.
async def test_longer(settings: Settings, story: Plan, tmp_path: Path) -> None:
    rows = [{"title": f"P{n}", "text": f"Passage {n} tells of goats. " * 20} for n in range(200)]
    (tmp_path / "pool.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    wanted = QuestionSelection(lengths=("16k",), pool=tmp_path / "pool.jsonl")
    longer = make_plan([str(tmp_path / "data.jsonl")], wanted)
    short = await cost("graphreader", settings, story)
    long = await cost("graphreader", settings, longer)

    # Two questions have two contexts then, each about 3.5 times as long.
    assert 5 < long.building.input_tokens / short.building.input_tokens < 11
    assert long.asking == short.asking
