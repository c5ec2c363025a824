"""Streamed answers and events, and streams that end early."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from graphreader.agent.decisions import Answer
from graphreader.agent.events import AnswerToken, QuestionAnswered
from graphreader.agent.tasks import AnswerTask, Evidence, PlanTask
from graphreader.errors import DecisionError, ReplyError, StoreError
from graphreader.graph_reader import GraphReader
from graphreader.ingestion.extraction import Extraction, ExtractionTask
from graphreader.llm.protocols import Budget, DecisionResult
from graphreader.settings import Settings
from graphreader.store.writer import FREQUENT, Deleter, GraphWriter
from graphreader.testing import ScriptedDecider
from tests.runs import chronicle, mind
from tests.runs.openai_faults import Body
from tests.runs.openai_server import Fault, OpenAIServer, opened
from tests.runs.soundness import check
from tests.runs.world import Facts, extraction

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


# Only answers are passed on while they are written, and only where somebody listens; all replies
# are streamed, so that one without end is noticed.
async def test_what_is_streamed() -> None:
    plan, answer = Ear(), Ear()
    with OpenAIServer(lambda body: {**REPLY, "plan": "Look."}) as server:
        async with opened(server) as decider:
            await decider.decide(TASK)
            await decider.decide(PlanTask("Who won?"), None, plan)
            await decider.decide(TASK, Budget(), answer)

    assert streamed(server) == [True, True, True]
    assert (plan.pieces, answer.text) == ([], TEXT)


# From files to an answer: a stream of events has the answer as it is written, once.
@pytest.mark.usefixtures("cleaned")
def test_events(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    with OpenAIServer(mind.think, piece=3) as server:
        settings = chronicle.settings(neo4j, server, tmp_path / "home", initial_nodes=2)
        with GraphReader(corpus, settings=settings) as reader:
            reader.ingest(chronicle.write(tmp_path / "books", 3))
            events = list(reader.stream(chronicle.question(1)))
            reading = reader.ask(chronicle.question(1))

    tokens = [event for event in events if isinstance(event, AnswerToken)]
    last = events[-1]
    assert isinstance(last, QuestionAnswered)
    assert "".join(token.text for token in tokens) == last.reading.answer == reading.answer
    assert [token.begins for token in tokens] == [True] + [False] * (len(tokens) - 1)
    assert len(tokens) > 5
    chronicle.check_answer(last.reading, 1)
    assert [claim.citations for claim in last.reading.claims] == [(1,)]


LINES = {f"Ann{n} met Ben{n}.": [f"Ann{n}", f"Ben{n}"] for n in range(9)}
PARAGRAPH = "{} " + "It was a long day and nobody said much about it. " * 4

pytestmark = pytest.mark.usefixtures("cleaned")


def decider(facts: Facts = LINES) -> ScriptedDecider:
    return ScriptedDecider({ExtractionTask: extraction(facts)})


async def refuses(task: ExtractionTask) -> Extraction:
    await asyncio.sleep(0.3)
    raise DecisionError("Nobody answers.")


def text(*numbers: int) -> str:
    return "\n\n".join(PARAGRAPH.format(list(LINES)[number]).strip() for number in numbers)


def reading(neo4j: Settings, corpus: str, by: ScriptedDecider) -> GraphReader:
    return GraphReader(corpus, settings=neo4j.model_copy(update={"chunk_tokens": 60}), decider=by)


# A service that refuses while many files are still to be loaded ends the run.
async def test_refused_early(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    for number in range(60):
        (tmp_path / f"{number}.txt").write_text(text(number % 9) * (number % 3 + 1))
    with reading(neo4j, corpus, ScriptedDecider({ExtractionTask: refuses})) as reader:
        async with asyncio.timeout(60):
            with pytest.raises(DecisionError, match="Nobody answers"):
                await reader.aingest(tmp_path)


# A document that comes a second time does not wait for a first one that failed.
async def test_refused_twice(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    lines = '{"id": "same", "text": "Ann0 met Ben0."}\n' * 3
    (tmp_path / "a.jsonl").write_text(lines)
    (tmp_path / "b.jsonl").write_text(lines)
    with reading(neo4j, corpus, ScriptedDecider({ExtractionTask: refuses})) as reader:
        async with asyncio.timeout(60):
            with pytest.raises(DecisionError, match="Nobody answers"):
                await reader.aingest(tmp_path)


# What goes wrong while it is written comes as what it is.
async def test_the_graph_fails(
    neo4j: Settings, corpus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: object, **__: object) -> None:
        raise StoreError("The disk is full.")

    (tmp_path / "a.txt").write_text(text(0, 1, 2))
    monkeypatch.setattr(GraphWriter, "write_chunks", fails)
    with reading(neo4j, corpus, decider()) as reader, pytest.raises(StoreError, match="disk"):
        await reader.aingest(tmp_path)


# An edit that was cut off before its text was put in order is not completed by a retry.
def test_a_retry_after_a_cut_off_edit(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text(text(0, 1, 2))
    answers = extraction(LINES)

    def fails_at_four(task: ExtractionTask) -> Extraction:
        if "Ann4" in task.text:
            raise ReplyError("Of no use.")
        return answers(task)

    async def killed(*_: object) -> None:
        raise StoreError("Killed.")

    with reading(neo4j, corpus, decider()) as reader:
        reader.ingest(file)
    file.write_text(text(0, 4, 2))
    failing = ScriptedDecider({ExtractionTask: fails_at_four})
    with reading(neo4j, corpus, failing) as reader, pytest.MonkeyPatch.context() as patch:
        patch.setattr(GraphWriter, "arrange", killed)
        with pytest.raises(StoreError):
            reader.ingest(file)
    with reading(neo4j, corpus, decider()) as reader:
        retried = reader.retry_failed()
        (between,) = reader.documents()
        again = reader.ingest(file)

    assert not retried.complete
    assert between.status == "incomplete"
    assert again.complete
    check(neo4j, corpus, {"a": file.read_text()}, answers_of)


# What a cut-off edit had half deleted is asked for again where the old text comes back.
def test_an_edit_taken_back(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"

    async def half(self: Deleter, chunks: list[str]) -> None:
        if chunks:
            values = {"corpus": self._corpus, "chunks": chunks, "frequent": FREQUENT}
            await self._connection.run("write/delete_chunk_facts", **values)
            raise StoreError("Killed.")

    file.write_text(text(0, 1, 2))
    with reading(neo4j, corpus, decider()) as reader:
        reader.ingest(file)
        file.write_text(text(0, 5, 2))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Deleter, "delete_chunks", half)
            with pytest.raises(StoreError):
                reader.ingest(file)
        file.write_text(text(0, 1, 2))
        report = reader.ingest(file)

    assert report.complete
    check(neo4j, corpus, {"a": file.read_text()}, answers_of)


def answers_of(chunk: str) -> Facts:
    """The facts of a chunk."""
    return {fact: elements for fact, elements in LINES.items() if fact in chunk}
