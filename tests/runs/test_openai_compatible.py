"""The real OpenAI client, opened from settings, against a server that fails as it is told to."""

import asyncio
import time
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from graphreader.agent.decisions import RationalPlan
from graphreader.agent.tasks import PlanTask
from graphreader.errors import (
    DecisionError,
    ModelRefusedError,
    ModelUnavailableError,
    ReplyError,
)
from graphreader.llm import retry
from graphreader.llm.structured_output import schema_of
from graphreader.models import open_decider, open_embedder
from graphreader.settings import Settings
from tests.runs.loopback import Loopback
from tests.runs.openai_server import Fault, OpenAIServer, opened, settings_for
from tests.terminal import closed_port

PLAN = PlanTask("贞德生于哪一年?")


def plan(body: dict[str, Any]) -> Any:
    """A reply that depends on the prompt, and is JSON only where the schema is known."""
    asked = body["messages"][-1]["content"]
    known = "response_format" in body or "tools" in body or "JSON" in body["messages"][0]["content"]
    return {"plan": asked[-30:]} if known else "I would look it up."


# One decision over HTTP: strict schema, temperature 0.2, the key, the provider's usage.
async def test_one_decision() -> None:
    with OpenAIServer(plan) as server:
        async with opened(server) as decider:
            decided = await decider.decide(PLAN)

    (body,) = server.chats
    usage = decided.usage
    assert decided.decision.plan.endswith("贞德生于哪一年?")
    assert (usage.calls, usage.input_tokens, usage.output_tokens) == (1, 100, 10)
    assert (body["model"], body["temperature"]) == ("fake", 0.2)
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert body["response_format"]["json_schema"]["strict"] is True
    assert body["response_format"]["json_schema"]["schema"] == schema_of(RationalPlan, bounded=True)
    assert "tools" not in body
    assert server.keys == {"Bearer k"}
    assert (decider.name, decider.concurrency) == ("openai:fake", 8)


# Servers that know no JSON schema, no tools, no temperature, or give no usage, are used too; what
# they refuse is not sent again.
async def test_modest_servers() -> None:
    refuses = ["response_format", "tools", "temperature"]
    with OpenAIServer(plan, refuses=refuses, usage=False) as server:
        async with opened(server) as decider:
            first, second = await decider.decide(PLAN), await decider.decide(PLAN)

    assert first.decision.plan.endswith("贞德生于哪一年?")
    assert (second.usage.calls, second.usage.estimated) == (1, 1)
    assert second.usage.input_tokens > 200
    assert len(server.chats) == 5


# Unusable replies are requested again once, mere prose once more with the schema in words, a
# refusal not at all; and every one is paid.
@pytest.mark.parametrize(
    ("fault", "most"),
    [
        (Fault(content=""), 2),
        (Fault(content="Let me think."), 3),
        (Fault(content='{"plan": "cut', finish_reason="length"), 2),
        (Fault(content="", refusal="I cannot."), 1),
        (Fault(content="", finish_reason="content_filter"), 1),
    ],
    ids=["empty", "prose", "cut off", "refusal", "filter"],
)
async def test_unusable_replies(fault: Fault, most: int) -> None:
    with OpenAIServer(plan, always=fault) as server:
        async with opened(server) as decider:
            with pytest.raises(ReplyError, match=r"could not be used|refuses to reply") as caught:
                await decider.decide(PLAN)

    spent = caught.value.spent
    assert (spent.calls, spent.input_tokens, spent.output_tokens) == (most, most * 100, most * 10)
    assert len(server.chats) == most


# A service that nobody answers for, or that never says a word, is reported soon and clearly, to all
# who wait at once. User and password of the address, and the key in a service's own words, are
# never shown.
@pytest.mark.parametrize("kind", ["refusing", "silent", "failing"])
async def test_failing_services(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "HEALTH_CHECK_TIMEOUT", 1)
    monkeypatch.setattr(retry, "FIRST_TRIES", 1)
    words = Fault(503, "The key 'my own secret' is not for http://user:pa55@inside/v1.")
    with OpenAIServer(always=words, silent=kind == "silent") as server:
        host = server.url.removeprefix("http://")
        if kind == "refusing":
            host = f"127.0.0.1:{closed_port()}/v1"
        url = f"http://user:pa55@{host}"
        begin = time.monotonic()
        async with opened(server, openai_base_url=url, openai_api_key="my own secret") as decider:
            calls = [decider.decide(PLAN) for _ in range(4)]
            errors = await asyncio.gather(*calls, return_exceptions=True)

    assert time.monotonic() - begin < 10
    for error in errors:
        assert isinstance(error, DecisionError)
        assert host in str(error)
        assert ("Nothing answers at" in str(error)) == (kind != "failing")
        assert "pa55" not in str(error)
        assert "my own secret" not in str(error)


class _WebPage(Loopback):
    """Answers everything with a page, as a server does where /v1 is missing from the address."""

    async def answer(self, request: Request) -> Response:
        return HTMLResponse("<html>Welcome</html>")


# A web page in place of a service is named as such, by chat models and by embeddings.
async def test_web_page() -> None:
    with _WebPage() as page:
        given = Settings.read(
            openai_api_key="k",
            openai_base_url=page.url,
            model="openai:fake",
            embeddings="openai:text-embedding-3-small",
        )
        decider, embedder = open_decider(given), open_embedder(given)
        for asked in (decider.decide(PLAN), embedder.embed(["x"])):
            with pytest.raises(ModelUnavailableError, match=r"no OpenAI-compatible server.*/v1\?"):
                await asked
        await decider.aclose()
        await embedder.aclose()


# OpenAI's v3 models are asked for 256 dimensions, with plain text, in batches.
async def test_embeddings_with_dimensions() -> None:
    texts = [f"text {number}" for number in range(300)]
    with OpenAIServer() as server:
        embedder = open_embedder(settings_for(server, embeddings="openai:text-embedding-3-small"))
        vectors = await embedder.embed(texts)
        single = await embedder.embed(["text 7", " ", ""])
        await embedder.aclose()

    assert (embedder.name, embedder.dimension) == ("openai:text-embedding-3-small", 256)
    assert {len(vector) for vector in vectors} == {256}
    assert vectors[7] == pytest.approx(single[0])
    assert sorted(len(body["input"]) for body in server.embeddings) == [3, 44, 256]
    assert all(body["dimensions"] == 256 for body in server.embeddings)
    assert all(text.strip() for body in server.embeddings for text in body["input"])


# A refused batch ends the others: nothing goes on, and is paid, behind the error's back.
async def test_refused_embeddings() -> None:
    settings = {"embeddings": "openai:text-embedding-3-small", "concurrency": 2}
    with OpenAIServer(embeddings_faults=[Fault(401)] * 9) as server:
        embedder = open_embedder(settings_for(server, **settings))
        with pytest.raises(ModelRefusedError, match="check OPENAI_API_KEY"):
            await embedder.embed([f"text {number}" for number in range(256 * 20)])
        await asyncio.sleep(0.2)
        await embedder.aclose()

    assert 1 <= len(server.embeddings) <= 4


# The length of other models' vectors is found by one request, also inside a running loop.
async def test_embeddings_of_unknown_dimension() -> None:
    with OpenAIServer(dimension=17) as server:
        embedder = open_embedder(settings_for(server, embeddings="openai:own-model"))
        dimensions = [body.get("dimensions") for body in server.embeddings]
        server.dimension = 18

        with pytest.raises(DecisionError, match=r"length 18 .* not one of length 17"):
            await embedder.embed(["text"])
        await embedder.aclose()

    assert (embedder.dimension, dimensions) == (17, [None])
