"""The real OpenAI client, opened from settings, against a server that fails as it is told to."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from graphreader.agent.decisions import RationalPlan
from graphreader.agent.tasks import PlanTask
from graphreader.errors import (
    DecisionError,
    ModelRefusedError,
    ModelUnavailableError,
    ReplyError,
    SettingsError,
)
from graphreader.llm import retry
from graphreader.llm.protocols import Decider
from graphreader.llm.structured_output import schema_of
from graphreader.models import open_decider, open_embedder
from graphreader.settings import Settings
from tests.runs.openai_server import Fault, OpenAIServer

PLAN = PlanTask("贞德生于哪一年?")


def plan(body: dict[str, Any]) -> Any:
    """A reply that depends on the prompt, and is JSON only where the schema is known."""
    asked = body["messages"][-1]["content"]
    known = "response_format" in body or "tools" in body or "JSON" in body["messages"][0]["content"]
    return {"plan": asked[-30:]} if known else "I would look it up."


def settings_for(server: OpenAIServer, **given: Any) -> Settings:
    given = {"model": "openai:fake", "openai_api_key": "k", "openai_base_url": server.url, **given}
    return Settings.read(**given)


@asynccontextmanager
async def opened(server: OpenAIServer, **given: Any) -> AsyncIterator[Decider]:
    decider = open_decider(settings_for(server, **given))
    try:
        yield decider
    finally:
        await decider.aclose()


# One decision over HTTP: strict schema, temperature 0.2, the key, the provider's usage.
async def test_one_decision() -> None:
    with OpenAIServer(plan) as server:
        async with opened(server) as decider:
            decided = await decider.decide(PLAN)

    (body,) = server.chats
    assert decided.decision.plan.endswith("贞德生于哪一年?")
    assert (decided.usage.calls, decided.usage.input_tokens, decided.usage.output_tokens) == (
        1, 100, 10,
    )  # fmt: skip
    assert body["model"] == "fake"
    assert body["temperature"] == 0.2
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert body["response_format"]["json_schema"]["strict"] is True
    assert body["response_format"]["json_schema"]["schema"] == schema_of(RationalPlan)
    assert "tools" not in body
    assert server.keys == {"Bearer k"}
    assert decider.name == "openai:fake"
    assert decider.concurrency == 8


# Servers that know no JSON schema, no tools, no temperature, or give no usage, are used too.
@pytest.mark.parametrize(
    ("refuses", "asked"),
    [(["temperature"], 2), (["response_format", "tools", "temperature"], 4)],
)
async def test_modest_servers(refuses: list[str], asked: int) -> None:
    with OpenAIServer(plan, refuses=refuses, usage=False) as server:
        async with opened(server) as decider:
            first = await decider.decide(PLAN)
            second = await decider.decide(PLAN)

    assert first.decision.plan.endswith("贞德生于哪一年?")
    assert second.usage.calls == 1
    assert second.usage.input_tokens > 200
    assert len(server.chats) == asked + 1


# The words with which OpenAI, DeepSeek, Ollama and llama.cpp decline a form are understood.
@pytest.mark.parametrize(
    "fault",
    [
        Fault(
            400,
            "Invalid parameter: 'response_format' of type 'json_schema' is not supported with "
            "this model.",
        ),
        Fault(400, "Invalid schema for response_format 'RationalPlan'"),
        Fault(400, "This response_format type is unavailable now"),
        Fault(500, "Unsupported param: response_format"),
    ],
    ids=lambda fault: fault.message[:30],
)
async def test_declined_forms(fault: Fault) -> None:
    with OpenAIServer(plan, faults=[fault]) as server:
        async with opened(server) as decider:
            decided = await decider.decide(PLAN)

    assert decided.decision.plan
    assert "tools" in server.chats[1]


# Replies that cannot be used are asked for again once, mere prose once more with the schema in
# words; and every one is paid.
@pytest.mark.parametrize(
    ("fault", "most"),
    [
        (Fault(content=""), 2),
        (Fault(content="Let me think."), 3),
        (Fault(content='{"plan": 3}'), 2),
        (Fault(content='{"plan": "cut', finish_reason="length"), 2),
    ],
    ids=["empty", "prose", "misfit", "cut off"],
)
async def test_unusable_replies(fault: Fault, most: int) -> None:
    with OpenAIServer(plan, faults=[fault]) as server:
        async with opened(server) as decider:
            decided = await decider.decide(PLAN)
    with OpenAIServer(plan, always=fault) as hopeless:
        async with opened(hopeless) as decider:
            with pytest.raises(ReplyError) as caught:
                await decider.decide(PLAN)

    assert (decided.usage.calls, decided.usage.input_tokens) == (2, 200)
    spent = caught.value.spent
    assert (spent.calls, spent.input_tokens, spent.output_tokens) == (most, most * 100, most * 10)
    assert (len(server.chats), len(hopeless.chats)) == (2, most)


# A refusal, and content that is filtered, are not asked for again, but paid.
@pytest.mark.parametrize(
    "fault",
    [Fault(content="", refusal="I cannot."), Fault(content="", finish_reason="content_filter")],
    ids=["refusal", "filter"],
)
async def test_refusals(fault: Fault) -> None:
    with OpenAIServer(always=fault) as server:
        async with opened(server) as decider:
            with pytest.raises(ReplyError, match="refuses to reply") as caught:
                await decider.decide(PLAN)

    spent = caught.value.spent
    assert (spent.calls, spent.input_tokens, spent.output_tokens) == (1, 100, 10)


# What passes by itself is waited for: limits, broken servers, lost connections.
@pytest.mark.parametrize(
    "fault",
    [Fault(429), Fault(500), Fault(503), Fault(408), Fault(drop=True)],
    ids=["429", "500", "503", "408", "drop"],
)
async def test_passing_faults(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "_FIRST_BACKOFF", 0.01)
    with OpenAIServer(plan, faults=[fault] * 3) as server:
        async with opened(server) as decider:
            decided = await decider.decide(PLAN)

    assert decided.usage.calls == 1
    assert len(server.chats) == 4


# Retry-After is obeyed; where it asks for more than a minute we give up at once and say so.
async def test_retry_after(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "_FIRST_BACKOFF", 30)  # our own pause would be 15 seconds at least
    with OpenAIServer(plan, faults=[Fault(429, headers={"retry-after": "0.3"})]) as server:
        async with opened(server) as decider:
            begin = time.monotonic()
            await decider.decide(PLAN)
            patient = time.monotonic() - begin
    with OpenAIServer(always=Fault(429, headers={"retry-after": "3600"})) as server:
        async with opened(server) as decider:
            with pytest.raises(ModelUnavailableError, match="asks to wait 3600 seconds"):
                await decider.decide(PLAN)

    assert 0.3 < patient < 10
    assert len(server.chats) == 1


# 401, 403, 404 and a used-up quota end at once with what to check, and without the key.
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault(401, "Incorrect API key provided: sk-verysecret123"), "check OPENAI_API_KEY"),
        (Fault(403, "Forbidden for sk-verysecret123"), "check OPENAI_API_KEY"),
        (Fault(404, "The model does not exist", "model_not_found"), "check GRAPHREADER_MODEL"),
        (Fault(429, "You exceeded your current quota", "insufficient_quota"), "is used up"),
    ],
    ids=["401", "403", "404", "quota"],
)
async def test_final_refusals(fault: Fault, words: str) -> None:
    key = "sk-verysecret123"
    with OpenAIServer(always=fault) as server:
        async with opened(server, openai_api_key=key) as decider:
            with pytest.raises(ModelRefusedError, match=words) as caught:
                await decider.decide(PLAN)

    assert key not in str(caught.value)
    assert len(server.chats) == 1


# Nobody at the address; somebody who accepts and never says a word: reported soon, clearly.
@pytest.mark.parametrize("kind", ["refusing", "silent"])
async def test_service_that_never_answers(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "HEALTH_CHECK_TIMEOUT", 0.5)
    with OpenAIServer(silent=True) as server:
        url = server.url if kind == "silent" else f"http://127.0.0.1:{free_port()}/v1"
        async with opened(server, openai_base_url=url) as decider:
            with pytest.raises(ModelUnavailableError, match=f"Nothing answers at {url} "):
                await decider.decide(PLAN)

    assert server.chats == []


# User and password of an address, and the key in a service's own words, are never shown.
@pytest.mark.parametrize("kind", ["refusing", "silent", "nonsense", "failing", "declining"])
async def test_secrets_are_not_shown(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "HEALTH_CHECK_TIMEOUT", 0.5)
    monkeypatch.setattr(retry, "RETRY_SECONDS", 0.0)
    status = 503 if kind == "failing" else 418
    words = Fault(status, "The key 'my own secret' is not for http://user:pa55@inside/v1.")
    with OpenAIServer(always=words, silent=kind == "silent") as server:
        host = server.url.removeprefix("http://")
        if kind == "refusing":
            host = f"127.0.0.1:{free_port()}/v1"
        url = f"{'' if kind == 'nonsense' else 'http://'}user:pa55@{host}"
        async with opened(server, openai_base_url=url, openai_api_key="my own secret") as decider:
            with pytest.raises(DecisionError) as caught:
                await decider.decide(PLAN)

    assert host in str(caught.value)
    assert "pa55" not in str(caught.value)
    assert "my own secret" not in str(caught.value)


# Many decisions that wait for a silent service fail together, not one after the other.
async def test_all_fail_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "HEALTH_CHECK_TIMEOUT", 2)
    with OpenAIServer(silent=True) as server:
        async with opened(server, concurrency=4) as decider:
            begin = time.monotonic()
            outcomes = await asyncio.gather(
                *(decider.decide(PLAN) for _ in range(12)), return_exceptions=True
            )

    assert all(isinstance(one, ModelUnavailableError) for one in outcomes)
    assert time.monotonic() - begin < 10  # one after the other, it would be 24


# The times add up: whatever never answers is reported within 30 seconds.
def test_times_add_up() -> None:
    longest_first_contact = retry.HEALTH_CHECK_TIMEOUT

    assert longest_first_contact + retry.FIRST_REPLY_TIMEOUT < 30
    assert longest_first_contact + retry.FIRST_RETRY_SECONDS < 30
    assert retry.UNCHECKED_FIRST_REPLY_TIMEOUT < 30
    assert Settings.read().timeout >= 60


# A service that answers the first contact with an error gets a short time for its first reply;
# one that answers well may take as long as it needs.
async def test_doubtful_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_REPLY_TIMEOUT", 0.2)
    with OpenAIServer(always=Fault(hang=True), models_status=501) as server:
        async with opened(server) as decider:
            with pytest.raises(ModelUnavailableError, match="did not reply in time"):
                await decider.decide(PLAN)
        assert len(server.chats) == 1
    with OpenAIServer(lambda body: time.sleep(0.5) or plan(body)) as server:
        async with opened(server) as decider:
            assert (await decider.decide(PLAN)).decision.plan


# A stall is cut off at the timeout and asked again: once before the service ever replied, if the
# first contact went well, and more often afterwards.
async def test_stall() -> None:
    hang = Fault(hang=True)
    with OpenAIServer(plan, faults=[hang, hang, Fault(), hang, hang]) as server:
        async with opened(server, timeout=1) as decider:
            with pytest.raises(ModelUnavailableError, match="GRAPHREADER_TIMEOUT"):
                await decider.decide(PLAN)
            first = len(server.chats)
            await decider.decide(PLAN)
            assert (await decider.decide(PLAN)).decision.plan

    assert first == 2
    assert len(server.chats) == 6


# One decider serves several event loops, although connections belong to a loop: nothing is asked
# twice, and each loop closes its own.
def test_several_loops() -> None:
    with OpenAIServer(plan) as server:
        decider = open_decider(settings_for(server))

        async def twice() -> None:
            await asyncio.gather(decider.decide(PLAN), decider.decide(PLAN))
            await asyncio.to_thread(asyncio.run, once())
            await decider.decide(PLAN)
            await decider.aclose()

        async def once() -> None:
            await decider.decide(PLAN)
            await decider.aclose()

        asyncio.run(twice())
        asyncio.run(twice())

    assert len(server.chats) == 8


# OpenAI's v3 models are asked for 256 dimensions, with plain text, in batches.
async def test_embeddings_with_dimensions() -> None:
    texts = [f"text {number}" for number in range(300)]
    with OpenAIServer() as server:
        embedder = open_embedder(settings_for(server, embeddings="openai:text-embedding-3-small"))
        vectors = await embedder.embed(texts)
        single = await embedder.embed(["text 7", " ", ""])
        await embedder.aclose()  # type: ignore[attr-defined]  # not part of the protocol

    assert embedder.name == "openai:text-embedding-3-small"
    assert embedder.dimension == 256
    assert {len(vector) for vector in vectors} == {256}
    assert vectors[7] == pytest.approx(single[0])
    assert [len(body["input"]) for body in server.embeddings] in ([256, 44, 3], [44, 256, 3])
    assert all(body["dimensions"] == 256 for body in server.embeddings)
    assert all(text.strip() for body in server.embeddings for text in body["input"])


# A refused batch ends the others: nothing goes on, and is paid, behind the error's back.
async def test_refused_embeddings() -> None:
    with OpenAIServer(embeddings_status=401) as server:
        embedder = open_embedder(
            settings_for(server, embeddings="openai:text-embedding-3-small", concurrency=2)
        )
        with pytest.raises(ModelRefusedError, match="check OPENAI_API_KEY"):
            await embedder.embed([f"text {number}" for number in range(256 * 20)])
        await asyncio.sleep(0.5)
        await embedder.aclose()

    assert 1 <= len(server.embeddings) <= 4


# The length of other models' vectors is found by asking once, also inside a running loop.
async def test_embeddings_of_unknown_dimension() -> None:
    with OpenAIServer(dimension=17) as server:
        embedder = open_embedder(settings_for(server, embeddings="openai:own-model"))
        asked_for = [body.get("dimensions") for body in server.embeddings]
        server.dimension = 18

        with pytest.raises(DecisionError, match=r"length 18 .* not one of length 17"):
            await embedder.embed(["text"])
        await embedder.aclose()  # type: ignore[attr-defined]  # not part of the protocol

    assert embedder.dimension == 17
    assert asked_for == [None]


# What is missing is said before anything is sent, with what mends it.
@pytest.mark.parametrize("open_it", [open_decider, open_embedder])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("openai:fake", "OPENAI_API_KEY is not set"),
        ("cohere:command", "pip install langchain-cohere"),
        ("azure_openai:gpt", "check AZURE_OPENAI_API_KEY"),
        ("nobody:model", "no provider 'nobody'"),
        ("gpt", "must be provider:model"),
    ],
)
def test_missing_things(open_it: Callable[[Settings], object], name: str, words: str) -> None:
    settings = Settings.read(model=name, embeddings=name, openai_api_key=None, openai_base_url=None)

    with pytest.raises(SettingsError, match=words):
        open_it(settings)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
