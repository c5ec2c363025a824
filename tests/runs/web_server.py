"""The server of `graphreader serve` in this process, on a free port, and what it waits for."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx

from graphreader import sync
from graphreader.agent.adaptive.tasks import Turn, TurnTask
from graphreader.baselines.answering import PassagesTask, TextAnswer
from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from graphreader.web.app import ServeOptions, make_server
from tests.runs import world

ANSWER = {
    "findings": [{"passage": "1.0", "finding": "Alpha met Beta.", "quote": "Alpha met Beta here."}],
    "actions": [],
    "answer": "Beta",
    "explanation": "",
    "confidence": "stated",
}


class Gate:
    """A function of a decider whose replies are held back while `open` is not set."""

    def __init__(
        self, reply: Callable[[Any], Any] = lambda task: Turn.model_validate(ANSWER)
    ) -> None:
        self.open = threading.Event()
        self.open.set()
        self.waiting = 0
        self._reply = reply

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold replies back; those that are still held at the end of the block are let go."""
        self.open.clear()
        self.waiting = 0
        try:
            yield
        finally:
            self.open.set()

    def wait(self) -> None:
        """Wait until a reply is held back."""
        while not self.waiting:
            time.sleep(0.01)

    async def __call__(self, task: Any) -> Any:
        self.waiting += 1
        while not self.open.is_set():
            await asyncio.sleep(0.01)
        return self._reply(task)


OWN, OTHER = f"test-{uuid4().hex[:12]}", f"test-{uuid4().hex[:12]}"
"""The corpora of the servers `local` and `guarded`; a token reads the first one by default."""

SECRET = "Hesperides"
"""A word of the text of OTHER, and its title."""

QUESTION = {"question": "Whom did Alpha meet?"}
gate = Gate()


def reader_of(neo4j: Settings, home: Path) -> GraphReader:
    """A reader of OWN whose decider answers "Beta", once `gate` is open."""
    script = {TurnTask: gate, PassagesTask: lambda _: TextAnswer(answer="Beta")}
    decider = world.scripted(world.RING_FACTS, script)
    return world.reader(neo4j, OWN, decider, home=home, mode="adaptive", kept_runs=50)


def begun_run(web: httpx.Client) -> str:
    """Ask OWN the question, and do not wait for the answer; the id of the run."""
    url, prefer = f"/api/corpora/{OWN}/questions", {"Prefer": "respond-async"}
    return str(web.post(url, json=QUESTION, headers=prefer).json()["run"])


@contextmanager
def serving(
    reader: GraphReader, *, port: int = 0, proxies: Sequence[str] = (), **options: Any
) -> Iterator[str]:
    """Serve until the block ends; yields the address."""
    listening = socket.create_server(("127.0.0.1", port))
    server = make_server(reader, ServeOptions(**options), proxies=proxies, grace=3)
    with ThreadPoolExecutor(1) as thread:
        ended = thread.submit(lambda: sync.run(server.serve(sockets=[listening])))
        try:
            while not server.started and not ended.done():
                time.sleep(0.02)
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            ended.result()


def client(address: str, secret: str = "", **options: Any) -> httpx.Client:
    """A client with a token, if one is given."""
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    return httpx.Client(base_url=address, headers=headers, timeout=60, **options)


def finished_job(web: httpx.Client, job: str) -> Any:
    """A job of reading in, once it is over."""
    while (found := web.get(f"/api/jobs/{job}").json())["state"] in ("queued", "running"):
        time.sleep(0.05)
    return found


def events_of(response: httpx.Response) -> list[tuple[str, str]]:
    """The ids and names of the events of a stream."""
    found, number = [], ""
    for line in response.iter_lines():
        name, _, value = line.partition(": ")
        if name == "id":
            number = value
        elif name == "event":
            found.append((number, value))
    return found
