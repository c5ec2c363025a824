"""Answers that are heard while a model writes them, by the real OpenAI client over HTTP."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from graphreader.agent.decisions import Answer
from graphreader.agent.events import AnswerToken, QuestionAnswered
from graphreader.agent.tasks import AnswerTask, Evidence, PlanTask
from graphreader.errors import ModelUnavailableError, ReplyError
from graphreader.graph_reader import GraphReader
from graphreader.llm.protocols import Budget, Decider, DecisionResult
from graphreader.models import open_decider
from graphreader.settings import Settings
from tests.runs import chronicle, mind
from tests.runs.openai_faults import Body
from tests.runs.openai_server import Fault, OpenAIServer

TEXT = 'Danny "the Drum" \\ 林雨桐 😀\nwon.'
REPLY = {
    "analysis": 'One {"answer": "no"}.',
    "answer": TEXT,
    "answered": True,
    "claims": [{"claim": "Danny won.", "citations": [1]}],
    "contradictions": [],
}
TASK = AnswerTask("Who won?", "Look.", ("Danny won.",), (Evidence("text, chunk 1", "Danny won."),))


class Ear:
    """Keeps what is heard; `text` is what counts of it."""

    def __init__(self) -> None:
        self.pieces: list[tuple[str, bool]] = []
        self.text = ""

    def __call__(self, piece: str, begins: bool) -> None:
        self.pieces.append((piece, begins))
        self.text = piece if begins else self.text + piece


@asynccontextmanager
async def opened(server: OpenAIServer, **given: Any) -> AsyncIterator[Decider]:
    settings = {"model": "openai:fake", "openai_api_key": "k", "openai_base_url": server.url}
    decider = open_decider(Settings.read(**(settings | given)))
    try:
        yield decider
    finally:
        await decider.aclose()


async def asked(server: OpenAIServer, ear: Ear) -> DecisionResult[Answer]:
    async with opened(server) as decider:
        return await decider.decide(TASK, None, ear)


def streamed(server: OpenAIServer) -> list[bool]:
    """Which of the requests asked for a stream."""
    return [bool(body.get("stream")) for body in server.chats]


# The answer is heard piece by piece, however its stream is cut into events and packets, in each
# form of reply; it is the decision's, and it is paid by the provider's count.
@pytest.mark.parametrize("refuses", [[], ["response_format"], ["response_format", "tools"]])
@pytest.mark.parametrize(("piece", "split"), [(1, 0), (1, 3), (7, 1), (40, 5), (10_000, 0)])
async def test_heard(refuses: list[str], piece: int, split: int) -> None:
    ear = Ear()
    with OpenAIServer(lambda _: REPLY, refuses=refuses, piece=piece, split=split) as server:
        decided = await asked(server, ear)

    assert ear.text == decided.decision.answer == TEXT
    assert len(ear.pieces) >= (1 if piece > 1000 else len(TEXT) // piece)
    assert [begins for _, begins in ear.pieces].count(True) == 1
    usage = decided.usage
    assert (usage.calls, usage.input_tokens, usage.output_tokens) == (1, 100, 10)
    assert usage.estimated == 0
    assert streamed(server) == [True] * (len(refuses) + 1)
    assert server.chats[-1]["stream_options"] == {"include_usage": True}


# It is heard while it is written: the last piece is still on its way when the first one comes.
async def test_heard_in_time() -> None:
    first = threading.Event()
    with OpenAIServer(lambda _: REPLY, piece=3, hold=first) as server:
        async with opened(server) as decider:
            await decider.decide(TASK, None, lambda piece, begins: first.set())

    assert streamed(server) == [True]


# Where the server gives no usage, prompt and reply are counted by ourselves.
async def test_no_usage() -> None:
    ear = Ear()
    with OpenAIServer(lambda _: REPLY, usage=False, piece=3) as server:
        decided = await asked(server, ear)

    assert decided.usage.estimated == 1
    assert decided.usage.input_tokens > 500
    assert 30 < decided.usage.output_tokens < 100
    assert ear.text == TEXT


# Who cannot stream, or not with these options, is asked in one piece from then on.
@pytest.mark.parametrize(
    "fault",
    [
        Fault(400, "Unsupported parameter: 'stream'."),
        Fault(400, "Unknown parameter: stream_options.include_usage"),
        Fault(400, "response_format is not supported with streaming."),
        Fault(422, "Extra inputs are not permitted: stream_options"),
        Fault(500, "Streaming is not supported."),
        Fault(501, "stream: not implemented"),
    ],
    ids=lambda fault: fault.message[:24],
)
async def test_no_stream(fault: Fault) -> None:
    ear = Ear()

    def script(body: Body, before: int) -> Fault | None:
        return fault if body.get("stream") else None

    with OpenAIServer(lambda _: REPLY, script=script) as server:
        async with opened(server) as decider:
            first = await decider.decide(TASK, None, ear)
            second = await decider.decide(TASK, None, ear)

    assert first.decision == second.decision == Answer.model_validate(REPLY)
    assert first.usage.calls == 1
    assert streamed(server) == [True, False, False]
    assert all("response_format" in body for body in server.chats)
    assert ear.pieces == []


# A server that takes no notice of the wish for a stream is asked without it from then on.
@pytest.mark.parametrize("refuses", [[], ["response_format"]])
async def test_ignored_wish(refuses: list[str]) -> None:
    with OpenAIServer(lambda _: REPLY, refuses=refuses, streams=False) as server:
        async with opened(server) as decider:
            decided = await decider.decide(TASK, None, Ear())
            await decider.decide(TASK, None, Ear())

    assert decided.decision.answer == TEXT
    assert streamed(server)[-3:] == [True, False, False]


# A stream that breaks off, or ends too early, is asked for again, in one piece; what was heard of
# it is void. The next answer is heard again.
@pytest.mark.parametrize("refuses", [[], ["response_format"]])
@pytest.mark.parametrize("breaks", ["closed", "ended"])
@pytest.mark.usefixtures("short_pauses")
async def test_broken_stream(breaks: Any, refuses: list[str]) -> None:
    ear = Ear()
    broken = [Fault(breaks=breaks)]
    with OpenAIServer(lambda _: REPLY, refuses=refuses, faults=broken, piece=3) as server:
        async with opened(server) as decider:
            decided = await decider.decide(TASK, None, ear)
            heard = ear.text
            await decider.decide(TASK, None, ear)

    assert decided.decision.answer == TEXT
    assert decided.usage.calls == 1
    assert TEXT.startswith(heard)
    assert heard != TEXT
    assert streamed(server)[-3:] == [True, False, True]
    assert ear.text == TEXT


# A stream that stalls is cut off in time, and asked for again.
async def test_stalled_stream() -> None:
    with OpenAIServer(lambda _: REPLY, faults=[Fault(), Fault(hang=True)]) as server:
        async with opened(server, timeout=1) as decider:
            await decider.decide(TASK, None, Ear())
            decided = await decider.decide(TASK, None, Ear())
    with OpenAIServer(always=Fault(hang=True)) as silent:
        async with opened(silent, timeout=1) as decider:
            with pytest.raises(ModelUnavailableError, match="GRAPHREADER_TIMEOUT"):
                await decider.decide(TASK, None, Ear())

    assert decided.decision.answer == TEXT
    assert len(server.chats) == 3


# What passes by itself is waited for, and then the answer is heard.
@pytest.mark.parametrize("fault", [Fault(429), Fault(503), Fault(drop=True)], ids=str)
@pytest.mark.usefixtures("short_pauses")
async def test_passing_faults(fault: Fault) -> None:
    ear = Ear()
    with OpenAIServer(lambda _: REPLY, faults=[fault] * 2) as server:
        await asked(server, ear)

    assert ear.text == TEXT
    assert streamed(server) == [True] * 3


# A reply that cannot be used is void, however much of it was heard: the next one begins anew.
async def test_unusable_reply() -> None:
    ear = Ear()
    wrong = Fault(content='{"answer": "Alice won.", "answered": true}')
    with OpenAIServer(lambda _: REPLY, faults=[wrong], piece=5) as server:
        decided = await asked(server, ear)

    assert [piece for piece, begins in ear.pieces if begins] == ["Ali", TEXT[: len("Da")]]
    assert ear.text == TEXT
    assert decided.usage.calls == 2


# A reply that is cut off is known as such, in each form, and asked for again, briefer.
@pytest.mark.parametrize("refuses", [[], ["response_format"]])
async def test_cut_off(refuses: list[str]) -> None:
    half = Fault(content=json.dumps(REPLY)[:-20], finish_reason="length")
    ear = Ear()
    with OpenAIServer(lambda _: REPLY, refuses=refuses, faults=[half]) as server:
        decided = await asked(server, ear)

    assert "too long" in server.chats[-1]["messages"][-1]["content"]
    assert (decided.usage.calls, decided.usage.input_tokens) == (2, 200)
    assert ear.text == TEXT


# A refusal in a stream is not argued with.
@pytest.mark.parametrize(
    "fault",
    [Fault(content="", refusal="I cannot."), Fault(content="", finish_reason="content_filter")],
    ids=["refusal", "filter"],
)
async def test_refusals(fault: Fault) -> None:
    with (
        OpenAIServer(always=fault) as server,
        pytest.raises(ReplyError, match="refuses to reply") as caught,
    ):
        await asked(server, Ear())

    assert (caught.value.spent.calls, caught.value.spent.input_tokens) == (1, 100)


# Thoughts before the answer are not heard.
async def test_thoughts() -> None:
    ear = Ear()
    thinking = f'<think>{{"answer": "Alice"}}? No.</think>\n```json\n{json.dumps(REPLY)}\n```'
    with OpenAIServer(lambda _: thinking, piece=3) as server:
        await asked(server, ear)

    assert ear.text == TEXT
    assert [begins for _, begins in ear.pieces].count(True) == 1


# Only answers are streamed, and only where somebody listens.
async def test_what_is_streamed() -> None:
    with OpenAIServer(lambda body: {**REPLY, "plan": "Look."}) as server:
        async with opened(server) as decider:
            await decider.decide(TASK)
            await decider.decide(PlanTask("Who won?"), None, Ear())
            await decider.decide(TASK, Budget(), Ear())

    assert streamed(server) == [False, False, True]


# A decision that is kept, or asked for by somebody else just now, is not heard; it only comes.
async def test_kept(tmp_path: Path) -> None:
    ears = [Ear(), Ear(), Ear()]
    with OpenAIServer(lambda _: REPLY, piece=3) as server:
        async with opened(server, keep_replies="all", home=tmp_path) as decider:
            await asyncio.gather(*(decider.decide(TASK, None, ear) for ear in ears[:2]))
            kept = await decider.decide(TASK, None, ears[2])

    assert kept.decision.answer == TEXT
    assert kept.usage.reused == 1
    assert [ear.text for ear in ears] == [TEXT, "", ""]
    assert len(server.chats) == 1


# From files to an answer: who watches a run hears the answer as it is written, once; who only asks
# hears nothing, and no stream is asked for.
@pytest.mark.usefixtures("cleaned")
@pytest.mark.parametrize("piece", [3, 10_000])
def test_watched(neo4j: Settings, corpus: str, tmp_path: Path, piece: int) -> None:
    with OpenAIServer(mind.think, piece=piece) as server:
        settings = chronicle.settings(neo4j, server, tmp_path / "home")
        with GraphReader(corpus, settings=settings) as reader:
            reader.ingest(chronicle.write(tmp_path / "books", 3))
            events = list(reader.stream(chronicle.question(1)))
            watched = len(server.chats)
            asked = reader.ask(chronicle.question(1))

    tokens = [event for event in events if isinstance(event, AnswerToken)]
    last = events[-1]
    assert isinstance(last, QuestionAnswered)
    assert "".join(token.text for token in tokens) == last.reading.answer == asked.answer
    assert [token.begins for token in tokens] == [True] + [False] * (len(tokens) - 1)
    assert (len(tokens) > 5) == (piece == 3)
    assert streamed(server).count(True) == streamed(server)[:watched].count(True) == 1
    chronicle.check_answer(last.reading, 1)
    assert [claim.citations for claim in last.reading.claims] == [(1,)]
