"""The estimated cost of an evaluation."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphreader.baselines.search_agent import MOST_CALLS
from graphreader.estimate import estimate
from graphreader.evaluation.costs import PROMPT, REPLY, Cost, estimate_costs
from graphreader.evaluation.plan import Plan
from graphreader.evaluation.results import documents_of
from graphreader.evaluation.runner import Arm
from graphreader.llm.window import BuildingMeasurer
from graphreader.settings import Settings
from tests.unit.test_evaluation_runner import FakeReader, plan_of, write

MODEL = "openai:priced"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A model that costs one dollar for a million tokens sent, and two for a million received."""
    prices = tmp_path / "prices.toml"
    prices.write_text(f'["{MODEL}"]\ninput = 1.0\noutput = 2.0\n')
    return Settings(model=MODEL, embeddings="offline", prices=prices)


@pytest.fixture
def story(tmp_path: Path) -> Plan:
    """Two questions about one text of 4,000 tokens, with evidence for the second."""
    text = "\n\n".join(f"Sentence number {n} tells of {n} sheep." for n in range(400))
    return plan_of(write(tmp_path, {"q0": text, "q1": text}, lacks={"q0"}))


async def costs(
    names: list[str], settings: Settings, plan: Plan, rater: Settings | None = None
) -> list[Cost]:
    """The costs of all questions to these readers."""
    missing = [(group, len(group.records)) for group in plan.groups]
    arms = [(Arm(FakeReader(name), settings), missing, []) for name in names]
    return await estimate_costs(arms, rater)


async def cost(name: str, settings: Settings, plan: Plan, rater: Settings | None = None) -> Cost:
    (only,) = await costs([name], settings, plan, rater)
    return only


# A graph is built once for all questions about a text, at what `graphreader estimate` says.
async def test_graphreader(settings: Settings, story: Plan) -> None:
    class Source:
        size = 0

        def documents(self, corpus: str) -> Any:
            yield from documents_of(story.groups[0].records[0])

    estimated = await estimate([Source()], "c", BuildingMeasurer.of(settings), settings)
    whole, built = await costs(["graphreader", "graphreader-adaptive"], settings, story)

    assert estimated.reading.calls > 1
    assert whole.building == estimated.reading
    assert whole.asking == estimated.question.times(2)
    assert whole.questions == 2
    assert not built.building.calls
    assert 0 < built.asking.calls < whole.asking.calls


# A variant costs what it is run with: `graphreader-paper` the same in every configured mode.
async def test_variants(settings: Settings, story: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    paper = await cost("graphreader-paper", settings, story)
    plain = await cost("graphreader", settings, story)
    limited = settings.model_copy(update={"initial_nodes": 1, "calls": 1})
    monkeypatch.setenv("GRAPHREADER_MODE", "adaptive")
    adaptive = Settings.read(**settings.model_dump(exclude_unset=True))

    assert paper.asking == plain.asking
    for configured in (adaptive, limited):
        assert await cost("graphreader-paper", configured, story) == paper
        assert (await cost("graphreader", configured, story)).asking.calls < paper.asking.calls


# The whole text is sent with each question, as far as the window holds it.
async def test_full_text(settings: Settings, story: Plan) -> None:
    size = story.groups[0].own_tokens
    whole = await cost("full-text", settings, story)
    narrow = settings.model_copy(update={"long_window": 2_000})
    cut = await cost("full-text", narrow, story)

    assert whole.asking.input_tokens == 2 * (size + PROMPT)
    assert whole.asking.dollars == pytest.approx(2e-6 * (size + PROMPT) + 4e-6 * REPLY)
    assert cut.asking.input_tokens == 2 * 2_000
    assert not whole.building.calls


# Pagination may send the text as often as a largest page has the words of a smallest one, and gists
# send it once more; task-aware gists cost with each question.
async def test_read_agent(settings: Settings, story: Plan) -> None:
    size = story.groups[0].own_tokens
    names = ("read-agent-s-3", "read-agent-p-3", "read-agent-s-3-task-aware")
    one_by_one, at_once, aware = [await cost(name, settings, story) for name in names]
    building = one_by_one.building
    gists = building.calls // 2  # there are as many pages
    sent = building.input_tokens - building.calls * PROMPT

    assert (one_by_one.asking.calls, at_once.asking.calls) == (2 * 4, 2 * 2)
    assert 600 / 280 + 1 <= sent / size <= 600 / 280 + 1.2
    assert aware.asking.calls == one_by_one.asking.calls + 2 * gists


# Every kind of reader has a cost of its own; offline it is in calls alone.
async def test_other_readers(settings: Settings, story: Plan) -> None:
    calls = dict.fromkeys(["rag-bm25-3", "rag-embedding-1", "gistmem-retrieval-1", "gistmem"], 1)
    calls |= {"rag-pages-bm25-2": 1, "chunk-read": 2, "search-agent": MOST_CALLS + 1, "golden": 1}
    estimated = await costs(list(calls), settings, story)
    offline = await costs(list(calls), Settings(), story)

    assert {one.reader: one.asking.calls // 2 for one in estimated} == calls
    assert all(0 < one.asking.input_tokens < 6_000 * one.asking.calls for one in estimated)
    assert [one.asking.calls for one in offline] == [one.asking.calls for one in estimated]
    assert not any(one.total.input_tokens or one.total.dollars for one in offline)


# Raters are asked about each answer, and about evidence if data names any.
@pytest.mark.parametrize(("name", "calls"), [("golden", (4, 6)), ("graphreader", (4, 8))])
async def test_raters(settings: Settings, story: Plan, name: str, calls: tuple[int, int]) -> None:
    (group,) = story.groups
    with_evidence = replace(group, records=tuple(reversed(group.records)))
    estimated = [
        (await cost(name, settings, Plan((one,)), rater=settings)).rating.calls
        for one in (group, with_evidence)
    ]

    assert tuple(estimated) == calls


# Readers that build the same graph, or pages and gists, pay for them once; repeats are added up.
async def test_shared_building(settings: Settings, story: Plan) -> None:
    names = [
        "graphreader",
        "graphreader-adaptive",
        "graphreader-chunk-500",
        "gistmem",
        "read-agent-p",
    ]
    names += ["graphreader"]
    paid = {one.reader: bool(one.building.calls) for one in await costs(names, settings, story)}
    (twice,) = await costs(["golden", "golden"], settings, story)

    assert [name for name, pays in paid.items() if not pays] == [
        "graphreader-adaptive",
        "read-agent-p",
    ]
    assert (twice.questions, twice.asking.calls) == (4, 4)
