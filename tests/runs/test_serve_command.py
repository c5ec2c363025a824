"""`graphreader serve` in a process of its own: how signals end it, what goes on then, its log."""

import json
import signal
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from graphreader.settings import Settings
from tests.runs import chronicle, mind
from tests.runs.forks import Fork, Forks
from tests.runs.openai_faults import SilentAfter
from tests.runs.openai_server import OpenAIServer
from tests.runs.web_server import client, finished_job
from tests.terminal import environment_of, wait_for

CHUNKS = 6
AT_ONCE = 4

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("cleaned")]
Start = Callable[..., tuple[Fork, str]]


@pytest.fixture
def start(forks: Forks, neo4j: Settings, tmp_path: Path) -> Start:
    """Starts the command with a model; returns it, and its address."""

    def start(model: OpenAIServer, *options: str) -> tuple[Fork, str]:
        given = chronicle.settings(
            neo4j, model, tmp_path / "home", concurrency=AT_ONCE, timeout=60.0
        )
        return started(forks, given, tmp_path, *options)

    return start


def started(
    forks: Forks, given: Settings, folder: Path, *options: str, **environment: str
) -> tuple[Fork, str]:
    """The command with these settings, its outputs in the folder; and its address."""
    environment = {**environment_of(given), **chronicle.environment(given), **environment}
    environment["GRAPHREADER_INITIAL_NODES"] = "2"
    fork = forks.start(["serve", "--port", "0", *options], environment, folder)
    out = folder / "out.txt"
    wait_for(lambda: "\n" in out.read_text("utf-8") or not fork.runs)
    return fork, out.read_text("utf-8").split()[-1]


def upload(web: httpx.Client, corpus: str, first: int, chunks: int) -> str:
    """Begin to read a text in; returns the job."""
    text = "\n\n".join(chronicle.paragraph(first + number) for number in range(chunks))
    texts = {"documents": [{"id": f"book{first}", "text": text}]}
    return str(web.post(f"/api/corpora/{corpus}/documents", json=texts).json()["job"])


def watched(address: str, run: str) -> list[str]:
    """The names of the events of a run, until its end or that of the connection."""
    names: list[str] = []
    with (
        suppress(httpx.HTTPError),
        client(address) as web,
        web.stream("GET", f"/api/runs/{run}/events") as response,
    ):
        for line in response.iter_lines():
            names += [line.removeprefix("event: ")] if line.startswith("event: ") else []
    return names


# However the server ends in the middle of a question and a job, the next one goes on with both, and
# pays for nothing twice but what was under way. Those who watch are told where it can be.
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_ends(start: Start, corpus: str, number: signal.Signals) -> None:
    with OpenAIServer(mind.think) as model, ThreadPoolExecutor(1) as thread:
        first, address = start(model)
        with client(address) as web:
            finished_job(web, upload(web, corpus, 0, 2))
            asking, reading = SilentAfter(2), SilentAfter(3)
            model.script = asking
            run = web.post(
                f"/api/corpora/{corpus}/questions",
                json={"question": chronicle.question(1)},
                headers={"Prefer": "respond-async"},
            ).json()["run"]
            watching = thread.submit(watched, address, run)
            wait_for(asking.hangs.is_set)
            model.script = reading
            job = upload(web, corpus, 10, CHUNKS)
            wait_for(reading.hangs.is_set)
        first.signal(number)
        outcome, events = first.end(), watching.result()
        model.script = None
        second, address = start(model)
        with client(address) as web:
            web.post(f"/api/runs/{run}/resume")
            read = finished_job(web, job)
            resumed = watched(address, run)
            reply = web.get(f"/api/runs/{run}").json()["reading"]
        second.signal(signal.SIGTERM)
        second.end()

    if number == signal.SIGKILL:
        assert outcome.code == -signal.SIGKILL
    else:
        assert (outcome.code, events[-1]) == (0, "Stopped")
        assert outcome.err.startswith("Stopping: runs can be resumed")
    assert events[0] == "RunBegan"
    assert (read["state"], read["report"]["documents"][0]["chunks"]) == ("finished", CHUNKS)
    assert resumed[-1] == "QuestionAnswered"
    assert reply["answer"] == chronicle.meeting(1)
    assert len(model.asked_again()) <= AT_ONCE


# What holds a connection is waited for, for some seconds, but not after a second Ctrl-C.
def test_second_interrupt(start: Start, corpus: str) -> None:
    with OpenAIServer(mind.think) as model:
        fork, address = start(model)
        there = urlsplit(address)
        with socket.create_connection((there.hostname, there.port)) as sending:
            head = f"POST /api/corpora/{corpus}/documents HTTP/1.1\r\nHost: {there.netloc}\r\n"
            head += "Content-Type: application/json\r\nContent-Length: 9\r\n"
            sending.sendall(f"{head}Expect: 100-continue\r\n\r\n".encode())
            assert sending.recv(100).startswith(b"HTTP/1.1 100")  # the body is waited for
            fork.signal(signal.SIGINT)
            err = fork._folder / "err.txt"
            wait_for(lambda: "Stopping" in err.read_text("utf-8"))
            fork.signal(signal.SIGINT)
            outcome = fork.end()

    assert outcome.code == 130


# With --json-logs each line of stderr is an object; a request's has its route, and nothing of what
# somebody wrote.
def test_json_logs(start: Start, corpus: str) -> None:
    with OpenAIServer(mind.think) as model:
        fork, address = start(model, "--json-logs")
        with client(address, "Hesperides") as web:
            web.get("/api/corpora", params={"limit": 1, "Hesperides": 1})
            web.post(f"/api/corpora/{corpus}/questions", json={"question": "Hesperides?"})
        fork.signal(signal.SIGTERM)
        outcome = fork.end()
    lines: list[dict[str, Any]] = [json.loads(line) for line in outcome.err.splitlines()]

    assert "Hesperides" not in outcome.err
    listed, asked = [line for line in lines if "route" in line]
    known = {"level": "info", "logger": "graphreader.web", "token": "local"}
    route = {"method": "GET", "route": "/api/corpora", "status": 200}
    assert {**listed, **known, **route, "message": "GET /api/corpora: 200"} == listed
    assert (asked["route"], asked["status"]) == ("/api/corpora/{corpus}/questions", 404)
    assert listed["time"].endswith("+00:00")
    assert lines[-1]["message"].startswith("Stopping")
