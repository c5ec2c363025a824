"""An OpenAI-compatible HTTP server on loopback whose replies are a function of the request.

It speaks /v1/models, /v1/chat/completions (JSON schema, tools, plain, streamed) and
/v1/embeddings, and it fails as it is told to. It sleeps only where a fault stalls.
"""

import json
import select
import socket
import threading
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from graphreader.llm.protocols import Decider
from graphreader.models import open_decider
from graphreader.settings import Settings
from tests.runs.loopback import Handler, Loopback
from tests.runs.openai_faults import Body, Fault
from tests.runs.openai_replies import completion, events, vector

__all__ = ["Body", "Fault", "OpenAIServer", "Request", "opened", "settings_for"]

Script = Callable[[Body, int], Fault | None]


@dataclass(slots=True)
class Request:
    """One chat request. `prompt` is its messages in short; `answered` well, and to the end."""

    body: Body
    prompt: str
    fault: Fault
    answered: bool = False


class OpenAIServer(Loopback):
    """`reply` gets a chat request's body and gives the content, as text or as an object.

    `faults` are used up one a chat request; `always` happens to every further one; `script` is
    asked before them, with the body and how often the same prompt came before. `refuses` names
    parts of a request that get status 400. `silent`: nothing is ever answered, at no address.
    `embeddings_faults` are those of embeddings. `piece` is how many characters an event of a stream
    has, `split` how many of its bytes are sent at once (0: an event); without `streams` a wish for
    one is ignored, and with `hold` the second half of one waits for it, for 5 seconds at most.
    `requests` (and `chats`, their bodies) and `embeddings` keep what was asked, `most_at_once` is
    the highest number of chat requests in progress whose clients were still waiting.
    """

    def __init__(
        self,
        reply: Callable[[Body], Any] = lambda body: {},
        *,
        faults: Iterable[Fault] = (),
        always: Fault | None = None,
        script: Script | None = None,
        refuses: Iterable[str] = (),
        silent: bool = False,
        embeddings_faults: Iterable[Fault] = (),
        dimension: int = 12,
        usage: bool = True,
        piece: int = 40,
        split: int = 0,
        streams: bool = True,
        hold: threading.Event | None = None,
    ) -> None:
        super().__init__(_Handler)
        self.reply = reply
        self.faults = deque(faults)
        self.always = always
        self.script = script
        self.refuses = frozenset(refuses)
        self.silent = silent
        self.embeddings_faults = deque(embeddings_faults)
        self.dimension = dimension
        self.usage = usage
        self.piece = piece
        self.split = split
        self.streams = streams
        self.hold = hold
        self.requests: list[Request] = []
        self.embeddings: list[Body] = []
        self.keys: set[str] = set()
        self.most_at_once = 0
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._times: Counter[str] = Counter()
        self._in_progress: list[socket.socket] = []

    @property
    def url(self) -> str:
        """The base URL of a client."""
        return f"{super().url}/v1"

    @property
    def chats(self) -> list[Body]:
        """The bodies of all chat requests, in the order in which they came."""
        return [request.body for request in self.requests]

    def asked_again(self) -> list[Request]:
        """The requests whose very prompt had been answered well, or was just being so."""
        answered: set[str] = set()
        again = []
        for request in self.requests:
            if request.prompt in answered:
                again.append(request)
            if request.answered:
                answered.add(request.prompt)
        return again

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        super().__exit__()

    @contextmanager
    def taken(self, body: Body, connection: socket.socket) -> Iterator[Request]:
        """Keeps a chat request, with what shall happen to it, and counts it as in progress."""
        messages = json.dumps(body["messages"])
        prompt = blake2b(messages.encode(), digest_size=12).hexdigest()
        with self._lock:
            request = Request(body, prompt, self._fault(body, self._times[prompt]))
            self._times[prompt] += 1
            self.requests.append(request)
            self._in_progress.append(connection)
            waiting = [one for one in self._in_progress if not _hung_up(one)]
            self.most_at_once = max(self.most_at_once, len(waiting))
        try:
            yield request
        finally:
            with self._lock:
                self._in_progress.remove(connection)

    def _fault(self, body: Body, before: int) -> Fault:
        for part in sorted(self.refuses):
            if body.get(part) is not None:
                return Fault(400, f"Unsupported parameter: '{part}'.", "unsupported_parameter")
        scripted = self.script(body, before) if self.script else None
        if scripted is None and self.faults:
            scripted = self.faults.popleft()
        return scripted or self.always or Fault()


class _Handler(Handler):
    @property
    def fake(self) -> OpenAIServer:
        server: OpenAIServer = self.server.fake
        return server

    def do_GET(self) -> None:
        if self.fake.silent:
            return self._hang()
        return self.send(200, {"object": "list", "data": []})

    def do_POST(self) -> None:
        fake = self.fake
        body = json.loads(self.body())
        fake.keys.add(self.headers.get("authorization", ""))
        if fake.silent:
            return self._hang()
        if self.path == "/v1/embeddings":
            return self._embeddings(body)
        if self.path != "/v1/chat/completions":
            return self.send(404, {"error": {"message": "no such address"}})
        with fake.taken(body, self.connection) as request:
            fault = request.fault
            if fault.hang:
                return self._hang()
            text = "" if fault.status != 200 or fault.drop else fault.text(lambda: fake.reply(body))
            request.answered = not fault.spoils and not _hung_up(self.connection)
        # No longer in progress: whoever has the reply may ask for the next one at once.
        return self._chat(body, fault, text)

    def _chat(self, body: Body, fault: Fault, text: str) -> None:
        fake, usage = self.fake, self.fake.usage
        if fault.drop:
            self.close_connection = True
        elif fault.status != 200:
            self._fail(fault)
        elif body.get("stream") and fake.streams:
            self._stream(events(body, text, fault, usage, fake.piece), fault)
        else:
            self.send(200, completion(body, text, fault, usage))

    def _embeddings(self, body: Body) -> None:
        fake = self.fake
        fake.embeddings.append(body)
        if fake.embeddings_faults:
            fault = fake.embeddings_faults.popleft()
            if fault.spoils:
                return self._chat(body, fault, "")
        size = body.get("dimensions") or fake.dimension
        data = [
            {"object": "embedding", "index": index, "embedding": vector(text, size)}
            for index, text in enumerate(body["input"])
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return self.send(200, {"object": "list", "model": "fake", "data": data, "usage": usage})

    def _hang(self) -> None:
        while not self.fake.closing.wait(0.02) and not _hung_up(self.connection):
            pass
        self.close_connection = True

    def _fail(self, fault: Fault) -> None:
        error = {"message": fault.message, "code": fault.code, "type": "error"}
        self.send(fault.status, {"error": error}, fault.headers)

    def _stream(self, parts: Iterable[str], fault: Fault) -> None:
        self.send_response(200)
        self.begin_stream("text/event-stream")
        sent = [f"data: {one}\n\n".encode() for one in parts]
        if split := self.fake.split:
            whole = b"".join(sent)
            sent = [whole[start : start + split] for start in range(0, len(whole), split)]
        self.close_connection = fault.breaks == "closed"
        hold = self.fake.hold
        for number, part in enumerate(sent if self.close_connection else [*sent, b""]):
            if hold and number == len(sent) // 2 and not hold.wait(5):
                self.close_connection = True
                return
            self.send_part(part)


@asynccontextmanager
async def opened(server: OpenAIServer, **settings: Any) -> AsyncIterator[Decider]:
    """The decider of the settings that asks the server."""
    decider = open_decider(settings_for(server, **settings))
    try:
        yield decider
    finally:
        await decider.aclose()


def settings_for(server: OpenAIServer, **settings: Any) -> Settings:
    """The settings of a model, "openai:fake", that the server serves."""
    own = {"model": "openai:fake", "openai_api_key": "k", "openai_base_url": server.url}
    return Settings.read(**(own | settings))


def _hung_up(connection: socket.socket) -> bool:
    """Whether the client closed the connection."""
    try:
        if not select.select([connection], [], [], 0)[0]:
            return False
        return connection.recv(1, socket.MSG_PEEK) == b""
    except (OSError, ValueError):
        return True
