"""The real clients of Anthropic and Ollama, opened from settings, over HTTP on loopback."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from graphreader.agent.tasks import AnswerTask, ChunkTask, CondenseTask, PlanTask
from graphreader.errors import (
    CutOffError,
    ModelRefusedError,
)
from graphreader.ingestion.extraction import ExtractionTask
from graphreader.llm.protocols import ROOM_TO_THINK, Decider, Task
from graphreader.llm.structured_output import schema_of
from graphreader.models import open_decider
from graphreader.settings import Settings
from tests.runs import mind
from tests.runs.model_server import ModelServer
from tests.runs.openai_faults import Body, Fault
from tests.runs.other_servers import AnthropicServer, OllamaServer

KEY = "sk-ant-very-secret-4711"
PLAN = PlanTask("Where did Anna1 meet Bert7?")
EXTRACTION = ExtractionTask("A title", "Anna1 met Bert7 in Town1. It rained. " * 50)
CHUNK = ChunkTask(PLAN.question, "Look.", (), "", "Anna1", "chunk 1", EXTRACTION.text)
TASKS: tuple[Task[Any], ...] = (PLAN, EXTRACTION, CHUNK)


@dataclass(frozen=True, slots=True)
class Service:
    """A provider, and the variables that its client reads."""

    model: str
    server: type[ModelServer]
    address: str
    key: str

    def settings(self, url: str, patch: pytest.MonkeyPatch, **given: Any) -> Settings:
        """Those that reach the server."""
        patch.setenv(self.address, url)
        patch.setenv(self.key, KEY)
        return Settings.read(**{"model": self.model, **given})


ANTHROPIC = Service(
    "anthropic:claude-haiku-4-5", AnthropicServer, "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"
)
OLLAMA = Service("ollama:qwen3:8b", OllamaServer, "OLLAMA_HOST", "OLLAMA_API_KEY")

both = pytest.mark.parametrize("its", [ANTHROPIC, OLLAMA], ids=["anthropic", "ollama"])
pytestmark = pytest.mark.usefixtures("short_pauses")


@asynccontextmanager
async def opened(
    its: Service, server: ModelServer, patch: pytest.MonkeyPatch, **given: Any
) -> AsyncIterator[Decider]:
    decider = open_decider(its.settings(server.url, patch, **given))
    try:
        yield decider
    finally:
        await decider.aclose()


def limits_of(its: Service, requests: list[Body]) -> list[int]:
    if its is OLLAMA:
        return [body["options"]["num_predict"] for body in requests]
    return [body["max_tokens"] for body in requests]


def properties(schema: Mapping[str, Any]) -> list[str]:
    return sorted(schema["properties"])


# Both are asked for a schema, in their own words, with the limit, and the seed where they take one;
# what a prompt cache gave is counted. Ollama's window is made large enough for the largest prompt
# with the longest reply, because it cuts off in silence what exceeds it.
@both
async def test_requests(its: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    with its.server(mind.think) as server:
        async with opened(its, server, monkeypatch, seed=7, window=5000) as decider:
            decided = [await decider.decide(task) for task in TASKS]

    plan, usage = decided[0].decision.plan, decided[0].usage
    assert plan.endswith(PLAN.question)
    assert decided[1].decision.facts[0].key_elements == ["Anna1", "Bert7", "Town1"]
    assert decided[2].decision.quotes == ["Anna1 met Bert7 in Town1."]
    assert (usage.input_tokens, usage.output_tokens, usage.estimated) == (100, 10, 0)
    assert usage.cached_tokens == (70 if its is ANTHROPIC else 0)
    assert (usage.dollars > 0) == (its is ANTHROPIC)
    assert server.keys == {f"Bearer {KEY}"}
    assert limits_of(its, server.chats) == [task.reply_tokens for task in TASKS]
    longest = max(one.reply_tokens for one in (*TASKS, AnswerTask, CondenseTask))
    for body, task in zip(server.chats, TASKS, strict=True):
        assert body["model"] == its.model.partition(":")[2]
        if its is ANTHROPIC:
            schema = body["output_config"]["format"]["schema"]
            assert body["output_config"]["format"]["type"] == "json_schema"
            assert properties(schema) == properties(schema_of(task.decision))
            assert schema["additionalProperties"] is False
            assert body["temperature"] == 0.2
            assert [one["role"] for one in body["messages"]] == ["user"]
            assert not {"seed", "stream"} & {name for name, value in body.items() if value}
        else:
            options = body["options"]
            assert body["format"] == schema_of(task.decision, bounded=True)
            assert options["num_ctx"] >= 5000 + longest + ROOM_TO_THINK
            assert (options["temperature"], options["seed"]) == (0.2, 7)


# An answer is streamed while it is written, in each one's own kind of stream; it costs what it
# costs in one piece.
@both
async def test_streamed(its: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces: list[tuple[str, bool]] = []
    reply = {"analysis": "It is plain.", "answer": f"In Town1, “孙悟空” 😀. {'So. ' * 30}"}
    whole = {**reply, "confidence": "stated", "claims": [], "contradictions": []}
    task = AnswerTask(PLAN.question, "Look.", ("Town1.",), ())
    with its.server(lambda body: whole) as server:
        async with opened(its, server, monkeypatch) as decider:
            heard = await decider.decide(task, None, lambda *piece: pieces.append(piece))
            unheard = await decider.decide(task)

    assert "".join(piece for piece, _ in pieces) == heard.decision.answer == reply["answer"]
    assert pieces[0][1]
    assert len(pieces) > 2
    assert heard == unheard
    # Ollama's replies are always watched, since its models may be small.
    unheard_streams = its.model.partition(":")[0] == "ollama"
    assert [bool(body.get("stream")) for body in server.chats[-2:]] == [True, unheard_streams]


# A chunk's reply that was cut off is not asked for again, so that the chunk is divided; a model
# that spends its limit on thinking gets room for it from then on, and the same task.
@both
async def test_cut_off(its: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    cut = Fault(content='{"facts": [', finish_reason="length")
    thinking = "Let me think about Anna1. " * 9
    lost = Fault(content="", thinking=thinking, finish_reason="length")
    with its.server(mind.think, faults=[cut, lost]) as server:
        async with opened(its, server, monkeypatch) as decider:
            with pytest.raises(
                CutOffError, match=r"after 10 of the 4,096 tokens .* context is too small"
            ):
                await decider.decide(EXTRACTION)
            decided = await decider.decide(PLAN)

    first = PLAN.reply_tokens
    assert (decided.usage.calls, decided.usage.output_tokens) == (2, 920)
    assert limits_of(its, server.chats) == [4096, first, first + ROOM_TO_THINK]
    assert server.chats[1]["messages"] == server.chats[2]["messages"]


# A failure that passes is retried, by us alone; a final one says what to check, without the key.
@both
async def test_failures(its: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    faults = [Fault(503, "server busy, please try again"), Fault(429, "Slow down.")]
    with its.server(mind.think, faults=faults) as server:
        async with opened(its, server, monkeypatch) as decider:
            await decider.decide(PLAN)
            server.always = Fault(401, f"unauthorized: {KEY}")
            with pytest.raises(ModelRefusedError, match=its.key) as refused:
                await decider.decide(PLAN)

    assert KEY not in str(refused.value)
    assert len(server.requests) == 3 + 1
