"""What models and their services do wrong, over HTTP, from the files to the answer.

Each kind of fault strikes once at every kind of decision.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from graphreader.graph_reader import GraphReader
from graphreader.llm.chat_model import LanguageModelDecider
from graphreader.llm.providers import adapter_for
from graphreader.llm.retry import ModelService
from graphreader.settings import Settings
from tests.runs import chronicle, mind
from tests.runs.openai_faults import FAULTS, QUOTA, Body, Chance, Fault
from tests.runs.openai_server import OpenAIServer, Request
from tests.terminal import Terminal, environment_of

CHUNKS = 4
QUESTION = chronicle.question(2)

pytestmark = pytest.mark.usefixtures("cleaned", "short_pauses")


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
@pytest.mark.parametrize("name", [name for name in FAULTS if name != "refused"])
def test_each_fault(name: str, neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    script = OnceEach(FAULTS[name])
    with OpenAIServer(mind.think, script=script) as server:
        given = chronicle.settings(neo4j, server, tmp_path / "home", timeout=1.0)
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
    neo4j: Settings,
    corpus: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    good, at_once = 5, 2
    texts = chronicle.write(tmp_path / "texts", 12)
    terminal = Terminal(monkeypatch, capsys, tmp_path)
    with OpenAIServer(mind.think, faults=[Fault()] * good, always=QUOTA) as server:
        given = chronicle.settings(neo4j, server, tmp_path / "home", concurrency=at_once)
        terminal.set(**environment_of(neo4j), **chronicle.environment(given))
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
    assert again.json["documents"][0]["asked"] == len(asked_again) == 12 - good
    assert len(server.requests) == before + 1


# Servers that know no JSON schema, and no tools either, read and answer just as well.
@pytest.mark.parametrize("refuses", [[], ["response_format"], ["response_format", "tools"]])
def test_each_form(refuses: list[str], neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    with OpenAIServer(mind.think, refuses=refuses) as server:
        given = chronicle.settings(neo4j, server, tmp_path / "home")
        with GraphReader(corpus, settings=given) as reader:
            report = reader.ingest(chronicle.write(tmp_path / "texts", CHUNKS))
            reading = reader.ask(QUESTION)

    assert (report.complete, report.facts) == (True, 6 * CHUNKS)
    chronicle.check_answer(reading, 2)
    answered = [one.body for one in server.requests if one.answered]
    assert not [part for part in refuses for body in answered if part in body]
    assert server.asked_again() == []


# A model whose client streams its replies serves as well as any other, in each form.
@pytest.mark.parametrize("refuses", [[], ["response_format"], ["response_format", "tools"]])
def test_streamed(refuses: list[str], neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    def streaming() -> ChatOpenAI:
        return ChatOpenAI(
            model="fake",
            base_url=server.url,
            api_key=SecretStr("k"),
            max_retries=0,
            streaming=True,
            stream_usage=True,
        )

    with OpenAIServer(mind.think, refuses=refuses) as server:
        decider = LanguageModelDecider(
            streaming,
            ModelService("openai:fake", url=server.url),
            window=4096,
            adapter=adapter_for("openai", streaming()),
        )
        given = chronicle.settings(neo4j, server, tmp_path / "home")
        with GraphReader(corpus, settings=given, decider=decider) as reader:
            report = reader.ingest(chronicle.write(tmp_path / "texts", CHUNKS))
            reading = reader.ask(QUESTION)

    assert (report.complete, report.facts) == (True, 6 * CHUNKS)
    chronicle.check_answer(reading, 2)
    assert all(body["stream"] for body in server.chats)
    assert reading.usage.input_tokens == 100 * reading.usage.calls
    assert reading.usage.estimated == 0


PROGRAM = """
import logging, sys
logging.basicConfig()
from graphreader import GraphReader
with GraphReader(sys.argv[1]) as reader:
    reader.ingest(sys.argv[2])
    answer = reader.ask(sys.argv[3]).answer
sys.stdout.write(answer)
"""


# No key, no prompt and no text is logged at the default level, also where much goes wrong.
def test_nothing_is_logged(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    texts = chronicle.write(tmp_path / "texts", CHUNKS)
    with OpenAIServer(mind.think, script=Chance(0.3, seed=1)) as server:
        given = chronicle.settings(neo4j, server, tmp_path / "home")
        program = subprocess.run(
            [sys.executable, "-c", PROGRAM, corpus, str(texts), QUESTION],
            env={**os.environ, **environment_of(neo4j), **chronicle.environment(given)},
            capture_output=True,
            encoding="utf-8",
            check=True,
            timeout=60,
        )

    assert len([one for one in server.requests if one.fault.spoils]) > 3
    assert chronicle.meeting(2) in program.stdout
    prompt = server.chats[0]["messages"][0]["content"]
    words = [chronicle.KEY, "Anna2", "Bert14", "lost the map", prompt[:40], prompt[-40:]]
    assert [word for word in words if word in program.stderr] == []
