"""What models and their services do wrong, over HTTP, from the files to the answer."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from graphreader.errors import DecisionError
from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from tests.runs import chronicle, digest, mind
from tests.runs.openai_faults import FAULTS, QUOTA, Body, Fault
from tests.runs.openai_server import OpenAIServer, Request
from tests.terminal import Terminal, environment_of

CHUNKS, MANY = 4, 12
QUESTION = chronicle.question(2)

pytestmark = pytest.mark.usefixtures("cleaned", "short_pauses")


@pytest.fixture
def terminal_of(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[[Settings], Terminal]:
    """Makes a terminal of somebody with these settings."""

    def make(settings: Settings) -> Terminal:
        terminal = Terminal(monkeypatch, capsys, tmp_path)
        terminal.set(**environment_of(settings), **chronicle.environment(settings))
        return terminal

    return make


class OnceEach:
    """The first request for every kind of decision meets the fault, once it is `on`."""

    def __init__(self, fault: Fault) -> None:
        self.on = False
        self.struck: set[str] = set()
        self._fault = fault
        self._lock = threading.Lock()

    def __call__(self, body: Body, before: int) -> Fault | None:
        with self._lock:
            decision = mind.decision_of(body)
            if decision in self.struck or not self.on:
                return None
            self.struck.add(decision)
            return self._fault


def replies(requests: Sequence[Request]) -> list[Request]:
    """The requests to which the service replied something, good or bad: what is paid."""
    return [
        one
        for one in requests
        if one.fault.status == 200 and not one.fault.hang and not one.fault.drop
    ]


# Whatever goes wrong once at every kind of decision: all is read, the question is answered, every
# reply is counted and none that was good is asked for again.
@pytest.mark.parametrize("name", ["429 Retry-After", "drop", "stall", "unknown numbers", "think"])
def test_each_fault(name: str, neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    script = OnceEach(FAULTS[name])
    with OpenAIServer(mind.think, script=script) as server:
        given = chronicle.settings(neo4j, server, tmp_path / "home", timeout=3.0)
        with GraphReader(corpus, settings=given) as reader:
            if name == "stall":  # a service that never replied is not asked again after one
                reader.ingest(chronicle.write(tmp_path / "before", 1, first=50))
                reader.ask(chronicle.question(50))
            script.on, began = True, len(server.requests)
            report = reader.ingest(chronicle.write(tmp_path / "texts", CHUNKS))
            building = len(server.requests)
            reading = reader.ask(QUESTION)

    assert report.complete, report
    assert (report.documents[0].chunks, report.facts) == (CHUNKS, 6 * CHUNKS)
    chronicle.check_answer(reading, 2)
    assert not [path for path in reading.paths if path.error]
    assert script.struck >= {
        "Extraction", "RationalPlan", "InitialNodes", "FactsDecision", "ChunkDecision", "Answer",
    }  # fmt: skip
    assert server.asked_again() == []
    for usage, requests in (
        (report.usage, server.requests[began:building]),
        (reading.usage, server.requests[building:]),
    ):
        paid = replies(requests)
        assert (usage.calls, usage.input_tokens) == (len(paid), 100 * len(paid))


# A refusal is not argued with: the chunk is kept for the next run; plan, nodes and answer take
# their defaults, a path ends, and the reading says so.
def test_refusals(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    with OpenAIServer(mind.think, script=refuse) as server:
        given = chronicle.settings(neo4j, server, tmp_path / "home")
        with GraphReader(corpus, settings=given) as reader:
            texts = chronicle.write(tmp_path / "texts", CHUNKS)
            first = reader.ingest(texts)
            server.script = None
            asked = len(server.requests)
            again = reader.ingest(texts)
            asked_again = server.requests[asked:]
            server.script = refuse
            refused = reader.ask(QUESTION)
            server.script = lambda body, before: refuse(body, before, "InitialNodes")
            without_nodes = reader.ask(QUESTION)

    (document,) = first.documents
    assert (document.status, asked) == ("incomplete", CHUNKS)
    assert [one.chunk for one in document.failed] == [1]
    assert "refuses" in document.failed[0].reason
    assert again.complete
    assert [mind.passage(one.body) for one in asked_again] == [chronicle.paragraph(1)]
    assert (refused.answered, refused.plan) == (False, QUESTION)
    assert chronicle.meeting(2) in refused.answer
    assert "no answer was put together" in refused.analysis
    assert [path.initial_node for path in refused.paths if path.stopped == "error"] == ["Bert14"]
    no_plan, stopped = refused.notes
    assert no_plan.startswith("There is no plan, the question served as one")
    assert "stopped early" in stopped
    (note,) = without_nodes.notes
    assert note.startswith("The initial nodes were taken in the order of the searches")
    assert len(without_nodes.paths) == 5
    assert server.asked_again() == []


def refuse(body: Body, before: int, *what: str) -> Fault | None:
    """Refuses one chunk, one node, the plan and the answer; or else what is named."""
    decision, text = mind.decision_of(body), body["messages"][1]["content"]
    refused = {
        "Extraction": "Anna1 " in text,
        "FactsDecision": "Current node: Bert14\n" in text,
    }.get(decision, True)
    return FAULTS["refused"] if refused and decision in (what or _REFUSED) else None


_REFUSED = ("Extraction", "RationalPlan", "FactsDecision", "Answer")


# A quota that is used up ends the run at once: a sentence, exit code 1, and what was read is kept.
def test_used_up_quota(
    neo4j: Settings, corpus: str, tmp_path: Path, terminal_of: Callable[[Settings], Terminal]
) -> None:
    good, at_once = 5, 2
    texts = chronicle.write(tmp_path / "texts", MANY)
    with OpenAIServer(mind.think, faults=[Fault()] * good, always=QUOTA) as server:
        given = chronicle.settings(neo4j, server, tmp_path / "home", concurrency=at_once)
        terminal = terminal_of(given)
        outcome = terminal.run("ingest", str(texts), "--corpus", corpus)
        asked = len(server.requests)
        server.always = None
        again = terminal.run("ingest", str(texts), "--corpus", corpus, "--json")
        asked_again = server.requests[asked:]
        server.always = QUOTA
        before = len(server.requests)
        question = terminal.run("ask", QUESTION, "--corpus", corpus)

    for ended in (outcome, question):
        assert ended.code == 1
        assert "The quota of openai:fake is used up" in ended.err
        assert "Traceback" not in ended.err
        assert chronicle.KEY not in ended.out + ended.err
    assert good < asked <= good + 2 * at_once  # those that were about to begin
    assert again.code == 0
    assert again.json["documents"][0]["asked"] == len(asked_again) == MANY - good
    assert len(server.requests) == before + 1


# A service that falls silent in the middle ends the run with a sentence; all that it replied until
# then is safe in the graph itself, and the next run asks for the rest only.
def test_a_model_goes_away(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    texts = chronicle.write(tmp_path / "texts", MANY, files=2)
    options = {"concurrency": 3, "timeout": 1.0, "keep_replies": "off"}
    with OpenAIServer(mind.think, faults=[Fault()] * 7, always=Fault(hang=True)) as server:
        given = chronicle.settings(neo4j, server, tmp_path / "home", **options)
        with GraphReader(corpus, settings=given) as reader:
            with pytest.raises(DecisionError):
                reader.ingest(texts)
            answered = {mind.passage(one.body) for one in server.requests if one.answered}
            unfinished = {one.status for one in reader.documents()}
            server.always = None
            server.requests.clear()
            report = reader.ingest(texts)
            passages = [mind.passage(body) for body in server.chats]
            disturbed = digest.content(neo4j, corpus)
            reader.delete(everything=True)
            reader.ingest(texts)

    assert len(answered) == 7
    assert "incomplete" in unfinished
    assert report.complete
    assert len(passages) == MANY - 7
    assert not answered & set(passages)
    assert disturbed == digest.content(neo4j, corpus)


# A chunk that the model refuses is listed with the reason, the rest is complete; --retry-failed
# asks for it and for nothing else, and in the end the graph is as if nothing had been.
def test_hopeless_chunks(
    neo4j: Settings, corpus: str, tmp_path: Path, terminal_of: Callable[[Settings], Terminal]
) -> None:
    hopeless = [chronicle.meeting(number) for number in (4, 9)]
    texts = chronicle.write(tmp_path / "texts", MANY, files=2)

    def refuse(body: Body, _: int) -> Fault | None:
        passage = mind.passage(body)
        return FAULTS["refused"] if any(one in passage for one in hopeless) else None

    with OpenAIServer(mind.think, script=refuse) as server:
        given = chronicle.settings(neo4j, server, tmp_path / "home")
        terminal, requests = terminal_of(given), []
        outcomes = []
        for arguments in ([str(texts)], *[["--retry-failed"]] * 3):
            outcomes.append(terminal.run("ingest", *arguments, "--corpus", corpus, "--json"))
            requests.append([mind.passage(body) for body in server.chats])
            server.requests.clear()
            server.script = refuse if len(outcomes) < 2 else None
        message = terminal.run("ingest", str(texts), "--corpus", corpus)
        disturbed = digest.content(neo4j, corpus)
        with GraphReader(corpus, settings=given) as reader:
            reader.delete(everything=True)
            reader.ingest(texts)

    documents = [outcome.json["documents"] for outcome in outcomes]
    failed = [chunk for one in documents[0] for chunk in one["failed"]]
    assert [one.code for one in (*outcomes, message)] == [1, 1, 0, 0, 0]
    assert [one.json["asked_chunks"] for one in outcomes] == [MANY, 2, 2, 0]
    assert sorted(chunk["chunk"] for chunk in failed) == [2, 4]
    assert all("refuses to reply" in one["reason"] for one in failed)
    assert [one["status"] for one in documents[0]] == ["incomplete"] * 2
    assert {one["status"] for one in documents[2]} == {"read"}
    assert [len(set(one)) for one in requests] == [MANY, 2, 2, 0]
    assert all(any(one in passage for passage in requests[2]) for one in hopeless)
    assert disturbed == digest.content(neo4j, corpus)
