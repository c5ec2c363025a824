"""The base of the servers that play a chat model; each protocol has a class of its own."""

import json
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import blake2b
from threading import Event
from typing import Any, ClassVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from tests.runs.loopback import Loopback, drop, hang_up
from tests.runs.openai_faults import Body, Fault

Script = Callable[[Body, int], Fault | None]


@dataclass(slots=True)
class ModelRequest:
    """One chat request. `prompt` is its messages in short; `answered` well, and to the end."""

    body: Body
    prompt: str
    fault: Fault
    answered: bool = False


class ModelServer(Loopback):
    """`reply` gets a chat request as OpenAI's messages and gives the content, text or object.

    `faults` are used up one a chat request; `always` happens to every further one; `script` is
    asked before them, with the body and how often the same prompt came before. `silent`: nothing
    is ever answered, at no address. `piece` is how many characters an event of a stream has,
    `split` how many of its bytes are sent at once (0: an event); with `hold` the second half of one
    waits for it, for 5 seconds at most. `requests` (and `chats`, their bodies) keeps what was
    asked, `keys` with which keys; `most_at_once` is the highest number of chat requests in progress
    whose clients were still waiting.
    """

    path: ClassVar[str]
    media_type: ClassVar[str] = "text/event-stream"

    def __init__(
        self,
        reply: Callable[[Body], Any] = lambda body: {},
        *,
        faults: Iterable[Fault] = (),
        always: Fault | None = None,
        script: Script | None = None,
        silent: bool = False,
        piece: int = 40,
        split: int = 0,
        hold: Event | None = None,
    ) -> None:
        super().__init__()
        self.reply = reply
        self.faults = deque(faults)
        self.always = always
        self.script = script
        self.silent = silent
        self.piece = piece
        self.split = split
        self.hold = hold
        self.requests: list[ModelRequest] = []
        self.keys: set[str] = set()
        self.most_at_once = 0
        self._times: Counter[str] = Counter()
        self._in_progress: list[Request] = []

    def refused(self, body: Body) -> Fault | None:
        """The failure of a request that the protocol does not allow."""
        return None

    def chat(self, body: Body) -> Body:
        """The request with OpenAI's messages."""
        return body

    def error(self, fault: Fault) -> Body:
        """The content of a failure."""
        raise NotImplementedError

    def whole(self, body: Body, text: str, fault: Fault) -> Body:
        """The reply in one piece."""
        raise NotImplementedError

    def streams(self, body: Body) -> bool:
        """Whether the reply comes as a stream."""
        return bool(body.get("stream"))

    def events(self, body: Body, text: str, fault: Fault) -> Iterator[str]:
        """The reply as the events of a stream."""
        raise NotImplementedError

    @property
    def chats(self) -> list[Body]:
        """The bodies of all chat requests, in the order in which they came."""
        return [request.body for request in self.requests]

    def asked_again(self) -> list[ModelRequest]:
        """The requests whose very prompt had been answered well, or was just being so."""
        answered: set[str] = set()
        again = []
        for request in self.requests:
            if request.prompt in answered:
                again.append(request)
            if request.answered:
                answered.add(request.prompt)
        return again

    async def answer(self, request: Request) -> Response | None:
        if self.silent:
            return await hang_up(request)
        if request.method == "GET":
            return JSONResponse({"object": "list", "data": []})
        body, headers = await request.json(), request.headers
        self.keys.add(headers.get("x-api-key") or headers.get("authorization", ""))
        if request.url.path != self.path:
            return self.other(request.url.path, body)
        async with self._taken(request, body) as taken:
            fault = taken.fault
            if fault.hang:
                return await hang_up(request)
            if fault.status != 200 or fault.drop:
                return self.failure(fault)
            chat = self.chat(body)
            text = await run_in_threadpool(fault.text, lambda: self.reply(chat))
            taken.answered = not fault.spoils and not await request.is_disconnected()
        # No longer in progress: whoever has the reply may ask for the next one at once.
        if not self.streams(body):
            return JSONResponse(self.whole(body, text, fault))
        stream = self._stream(request, list(self.events(body, text, fault)), fault)
        return StreamingResponse(stream, media_type=self.media_type)

    def other(self, path: str, body: Body) -> Response | None:
        """The response to a request that is none of a chat."""
        return JSONResponse(self.error(Fault(404, "no such address")), 404)

    def failure(self, fault: Fault) -> Response | None:
        """The response of a fault without a reply; None where the connection is dropped."""
        return None if fault.drop else JSONResponse(self.error(fault), fault.status, fault.headers)

    @asynccontextmanager
    async def _taken(self, request: Request, body: Body) -> AsyncIterator[ModelRequest]:
        """Keep a chat request, with what shall happen to it, and count it as in progress."""
        messages = json.dumps(body["messages"])
        prompt = blake2b(messages.encode(), digest_size=12).hexdigest()
        taken = ModelRequest(body, prompt, self._fault(body, self._times[prompt]))
        self._times[prompt] += 1
        self.requests.append(taken)
        self._in_progress.append(request)
        waiting = [one for one in self._in_progress if not await one.is_disconnected()]
        self.most_at_once = max(self.most_at_once, len(waiting))
        try:
            yield taken
        finally:
            self._in_progress.remove(request)

    def _fault(self, body: Body, before: int) -> Fault:
        scripted = self.refused(body) or (self.script and self.script(body, before))
        if not scripted and self.faults:
            scripted = self.faults.popleft()
        return scripted or self.always or Fault()

    async def _stream(
        self, request: Request, events: list[str], fault: Fault
    ) -> AsyncIterator[bytes]:
        parts = [one.encode() for one in events]
        if split := self.split:
            whole = b"".join(parts)
            parts = [whole[start : start + split] for start in range(0, len(whole), split)]
        for number, part in enumerate(parts):
            held = self.hold if number == len(parts) // 2 else None
            if held and not await run_in_threadpool(held.wait, 5):
                await drop(request)
            yield part
        if fault.breaks == "closed":
            await drop(request)
