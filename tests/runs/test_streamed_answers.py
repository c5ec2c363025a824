"""Answers that are streamed while a model writes them, by the real OpenAI client over HTTP."""

import threading
from pathlib import Path
from typing import Any

import pytest

from graphreader.agent.decisions import Answer
from graphreader.agent.events import AnswerToken, QuestionAnswered
from graphreader.agent.tasks import AnswerTask, Evidence, PlanTask
from graphreader.graph_reader import GraphReader
from graphreader.llm.protocols import Budget, DecisionResult
from graphreader.settings import Settings
from tests.runs import chronicle, mind
from tests.runs.openai_faults import Body
from tests.runs.openai_server import Fault, OpenAIServer, opened

TEXT = 'Danny "the Drum" \\ 林雨桐 😀\nwon.'
REPLY = {
    "analysis": 'One {"answer": "no"}.',
    "answer": TEXT,
    "explanation": "He won.",
    "confidence": "stated",
    "claims": [{"claim": "Danny won.", "citations": [1]}],
    "contradictions": [],
}
TASK = AnswerTask("Who won?", "Look.", ("Danny won.",), (Evidence("text, chunk 1", "Danny won."),))


class Ear:
    """A token callback that keeps the pieces; `text` is what counts of them."""

    def __init__(self) -> None:
        self.pieces: list[tuple[str, bool]] = []
        self.text = ""

    def __call__(self, piece: str, begins: bool) -> None:
        self.pieces.append((piece, begins))
        self.text = piece if begins else self.text + piece


async def ask(server: OpenAIServer, ear: Ear) -> DecisionResult[Answer]:
    async with opened(server) as decider:
        return await decider.decide(TASK, None, ear)


def streamed(server: OpenAIServer) -> list[bool]:
    """Which of the requests asked for a stream."""
    return [bool(body.get("stream")) for body in server.chats]


# The answer comes piece by piece, however its stream is cut into events and packets, in each form
# of reply; it is the decision's, and it costs what the provider counts, or what we count.
@pytest.mark.parametrize(
    ("refuses", "piece", "split", "usage"),
    [
        ([], 3, 7, True),
        (["response_format"], 40, 5, True),
        (["response_format", "tools"], 10_000, 0, False),
    ],
)
async def test_pieces(refuses: list[str], piece: int, split: int, usage: bool) -> None:
    ear = Ear()
    options = {"refuses": refuses, "piece": piece, "split": split, "usage": usage}
    with OpenAIServer(lambda _: REPLY, **options) as server:
        decided = await ask(server, ear)

    assert ear.text == decided.decision.answer == TEXT
    assert len(ear.pieces) >= (1 if piece > 1000 else len(TEXT) // piece)
    assert [begins for _, begins in ear.pieces].count(True) == 1
    assert (decided.usage.calls, decided.usage.estimated) == (1, not usage)
    assert (decided.usage.input_tokens == 100) == usage
    assert decided.usage.output_tokens == 10 or 30 < decided.usage.output_tokens < 100
    assert streamed(server) == [True] * (len(refuses) + 1)
    assert server.chats[-1]["stream_options"] == {"include_usage": True}


# It comes while it is written: the last piece is still on its way when the first one comes.
async def test_in_time() -> None:
    first = threading.Event()
    with OpenAIServer(lambda _: REPLY, piece=3, hold=first) as server:
        async with opened(server) as decider:
            await decider.decide(TASK, None, lambda piece, begins: first.set())

    assert streamed(server) == [True]


# A server that does not stream, not with these options, or ignores the wish is asked in one piece
# from then on.
@pytest.mark.parametrize(
    "fault",
    [
        Fault(400, "Unsupported parameter: 'stream'."),
        Fault(500, "Streaming is not supported."),
        None,
    ],
    ids=lambda fault: fault.message[:24] if fault else "ignored",
)
async def test_no_stream(fault: Fault | None) -> None:
    ear = Ear()

    def script(body: Body, before: int) -> Fault | None:
        return fault if body.get("stream") else None

    with OpenAIServer(lambda _: REPLY, script=script, streams=fault is not None) as server:
        async with opened(server) as decider:
            first = await decider.decide(TASK, None, ear)
            second = await decider.decide(TASK, None, ear)

    assert first.decision == second.decision == Answer.model_validate(REPLY)
    assert first.usage.calls == 1
    assert streamed(server) == [True, False, False]
    assert all("response_format" in body for body in server.chats)
    assert ear.pieces == []


# A stream that breaks off, or ends too early, is asked for again, in one piece; what was heard of
# it is void. The next answer is heard again.
@pytest.mark.parametrize(
    ("breaks", "refuses"), [("closed", []), ("ended", []), ("ended", ["response_format"])]
)
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


# A reply that cannot be used is void, however much of it was heard: the next one begins anew.
async def test_unusable_reply() -> None:
    ear = Ear()
    wrong = Fault(content='{"answer": "Alice won.", "confidence": "sure"}')
    with OpenAIServer(lambda _: REPLY, faults=[wrong], piece=5) as server:
        decided = await ask(server, ear)

    assert [piece for piece, begins in ear.pieces if begins] == ["Ali", TEXT[: len("Da")]]
    assert ear.text == TEXT
    assert decided.usage.calls == 2


# Only answers are streamed, and only where somebody listens.
async def test_what_is_streamed() -> None:
    with OpenAIServer(lambda body: {**REPLY, "plan": "Look."}) as server:
        async with opened(server) as decider:
            await decider.decide(TASK)
            await decider.decide(PlanTask("Who won?"), None, Ear())
            await decider.decide(TASK, Budget(), Ear())

    assert streamed(server) == [False, False, True]


# From files to an answer: a stream of events has the answer as it is written, once; a mere question
# makes no stream of the reply.
@pytest.mark.usefixtures("cleaned")
def test_events(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    with OpenAIServer(mind.think, piece=3) as server:
        settings = chronicle.settings(neo4j, server, tmp_path / "home")
        with GraphReader(corpus, settings=settings) as reader:
            reader.ingest(chronicle.write(tmp_path / "books", 3))
            events = list(reader.stream(chronicle.question(1)))
            before = len(server.chats)
            reading = reader.ask(chronicle.question(1))

    tokens = [event for event in events if isinstance(event, AnswerToken)]
    last = events[-1]
    assert isinstance(last, QuestionAnswered)
    assert "".join(token.text for token in tokens) == last.reading.answer == reading.answer
    assert [token.begins for token in tokens] == [True] + [False] * (len(tokens) - 1)
    assert len(tokens) > 5
    assert streamed(server).count(True) == streamed(server)[:before].count(True) == 1
    chronicle.check_answer(last.reading, 1)
    assert [claim.citations for claim in last.reading.claims] == [(1,)]
