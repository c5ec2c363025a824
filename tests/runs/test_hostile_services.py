"""Model services that send what no model sends: impossible usage, replies without an end, bombs."""

import asyncio
import gzip
import resource
import sys
import zlib
from collections.abc import AsyncIterator, Iterator
from itertools import chain, repeat
from typing import Any

import pytest
import zstandard
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from graphreader.agent.decisions import Answer
from graphreader.agent.tasks import AnswerTask
from graphreader.errors import DecisionError, ReplyError
from graphreader.llm import response_limit
from graphreader.llm.protocols import Budget
from graphreader.llm.rate_limit import rate_limiter
from graphreader.models import open_embedder
from tests.runs import world
from tests.runs.openai_faults import Body, Fault
from tests.runs.openai_server import OpenAIServer, opened, settings_for

ANSWER = world.answer("Beta").model_dump()
TASK = AnswerTask("Whom did Alpha meet?", "Look.", ("Alpha met Beta.",), ())
SMALL = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
IMPOSSIBLE: dict[str, Body] = {
    "negative": {name: -5 for name in SMALL},
    "negative output": SMALL | {"completion_tokens": -(2**40), "total_tokens": -(2**40)},
    "above 64 bits": {name: 2**70 for name in SMALL},
    "just below 64 bits": {name: 2**63 - 1 for name in SMALL},
    "a fraction": {name: 1.5 for name in SMALL},
    "a text": {name: "12" for name in SMALL},
    "words": {name: "many" for name in SMALL},
    "null": dict.fromkeys(SMALL),
    "a list": {name: [1] for name in SMALL},
    "nothing": {"a": 1},
    "a negative cache": SMALL | {"prompt_tokens_details": {"cached_tokens": -(2**70)}},
    "a large cache": SMALL | {"prompt_tokens_details": {"cached_tokens": 2**70}},
}


# Usage that cannot be true is counted by ourselves: the reply is used, the budget and the limits
# of a minute are those of what was sent, and all numbers fit into 64 bits.
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("usage", IMPOSSIBLE.values(), ids=IMPOSSIBLE.keys())
async def test_impossible_usage(usage: Body, streamed: bool) -> None:
    always = Fault(usage=usage, harmless=True)
    budget = Budget(max_tokens=100_000)
    with OpenAIServer(lambda body: ANSWER, always=always) as server:
        async with opened(server, keep_replies="off", tokens_per_minute=10**7) as decider:
            on_token = (lambda text, begins: None) if streamed else None
            results = [await decider.decide(TASK, budget, on_token) for _ in range(2)]
            held = rate_limiter()

    spent = results[0].usage + results[1].usage
    assert {result.decision.answer for result in results} == {"Beta"}
    assert spent.calls == 2
    assert 0 < spent.input_tokens < 10_000
    assert 0 < spent.output_tokens < 10_000
    assert 0 <= spent.cached_tokens <= spent.input_tokens
    assert spent.dollars >= 0
    assert 80_000 < budget.left("answer") < 100_000
    assert held is not None


MEBI = b"x" * (1 << 20)
EVENT = b'data: {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m", '
EVENT += b'"choices": [{"index": 0, "delta": {"content": "a"}}]}\n\n'


def compressed(kind: str) -> Iterator[bytes]:
    """Much white space, compressed a thousand times."""
    if kind == "gzip":
        packer: Any = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    else:
        packer = zstandard.ZstdCompressor().compressobj()
    for _ in range(3_000):
        yield packer.compress(b" " * len(MEBI))


Endless = tuple[dict[str, str], Any]
ENDLESS: dict[str, Endless] = {
    "white space": ({}, lambda: repeat(b" " * 65_536)),
    "a text": ({}, lambda: chain([b'{"id": "'], repeat(MEBI))),
    "lists": ({}, lambda: repeat(b"[]," * 20_000)),
    "a bomb": ({"content-encoding": "gzip"}, lambda: compressed("gzip")),
    "another bomb": ({"content-encoding": "zstd"}, lambda: compressed("zstd")),
    "a bomb in a bomb": ({"content-encoding": "gzip, gzip"}, lambda: compressed("gzip")),
    "events": ({"content-type": "text/event-stream"}, lambda: repeat(EVENT * 100)),
    "comments": ({"content-type": "text/event-stream"}, lambda: repeat(b": wait\n\n" * 1_000)),
    "one event": ({"content-type": "text/event-stream"}, lambda: repeat(MEBI)),
}


class EndlessServer(OpenAIServer):
    """Every reply to a POST has no end; `sent` counts its bytes."""

    def __init__(self, kind: Endless, status: int) -> None:
        super().__init__()
        self.kind = kind
        self.status = status
        self.sent = 0

    async def answer(self, request: Request) -> Response | None:
        if request.method == "GET":
            return JSONResponse({"object": "list", "data": []})
        headers, pieces = self.kind

        async def stream() -> AsyncIterator[bytes]:
            for piece in pieces():
                self.sent += len(piece)
                yield piece
                await asyncio.sleep(0)  # to learn that the client has left

        given = {"content-type": "application/json"} | headers
        return StreamingResponse(stream(), self.status, given)


def peak() -> int:
    """The largest memory of this process so far, in MiB."""
    unit = 1 if sys.platform == "darwin" else 1 << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit >> 20


# A reply without an end, or a bomb, ends the request with a sentence while it arrives, whatever its
# status: as a reply, as a stream, as vectors.
@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize("way", ["reply", "stream", "vectors"])
@pytest.mark.parametrize("kind", ENDLESS.values(), ids=ENDLESS.keys())
async def test_endless_replies(
    kind: Endless, way: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphreader.llm.retry.FIRST_TRIES", 1)
    monkeypatch.setattr(response_limit, "MOST_STREAM", 4 << 20)
    before = peak()
    with EndlessServer(kind, status) as server:
        if way == "vectors":
            embedder = open_embedder(settings_for(server), "openai:fake", 2)
            with pytest.raises(DecisionError) as failure:
                await embedder.embed(["one", "two"])
            await embedder.aclose()
        else:
            on_token = (lambda text, begins: None) if way == "stream" else None
            async with opened(server, keep_replies="off") as decider:
                with pytest.raises(DecisionError) as failure:
                    await decider.decide(TASK, on_token=on_token)

    assert str(failure.value).endswith(".")
    assert server.sent < 50 << 20
    assert peak() - before < 250


# The health check reads no list of models, however long it is.
async def test_endless_models() -> None:
    class Server(EndlessServer):
        async def answer(self, request: Request) -> Response | None:
            if request.method == "GET":
                return await super().answer(Request({**request.scope, "method": "POST"}))
            return await OpenAIServer.answer(self, request)

    with Server(ENDLESS["lists"], 200) as server:
        server.reply = lambda body: ANSWER
        async with opened(server, keep_replies="off") as decider:
            result = await decider.decide(TASK)

    assert isinstance(result.decision, Answer)
    assert server.sent < 10 << 20


# Compressed replies of an ordinary size, also of many vectors, arrive as before.
async def test_compressed_replies() -> None:
    class Server(OpenAIServer):
        async def answer(self, request: Request) -> Response | None:
            response = await super().answer(request)
            assert response
            body = gzip.compress(bytes(response.body))
            assert request.headers["accept-encoding"] == "gzip" or request.method == "GET"
            headers = {"content-encoding": "gzip", "content-type": "application/json"}
            return Response(body, response.status_code, headers)

    texts = [f"text {number}" for number in range(120)]
    with Server(lambda body: ANSWER, dimension=4_096, streams=False) as server:
        async with opened(server, keep_replies="off") as decider:
            result = await decider.decide(TASK)
        embedder = open_embedder(settings_for(server), "openai:fake", 4_096)
        vectors = await embedder.embed(texts)
        await embedder.aclose()

    assert isinstance(result.decision, Answer)
    assert [len(one or ()) for one in vectors] == [4_096] * len(texts)


# An endless reply says what is wrong.
async def test_the_sentence() -> None:
    with EndlessServer(ENDLESS["a text"], 200) as server:
        async with opened(server, keep_replies="off") as decider:
            with pytest.raises(ReplyError, match="openai:fake sends a reply of more than 8 MiB"):
                await decider.decide(TASK)
