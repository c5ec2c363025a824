"""An OpenAI-compatible HTTP server on loopback whose replies are a function of the request.

It speaks /v1/models, /v1/chat/completions (JSON schema, tools, plain) and /v1/embeddings, and it
fails as it is told to. It does not stream.
"""

import json
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to one request instead of, or (`finish_reason`, `content`) along with, a reply.

    `status` with `message`, `code` and `headers`; `hang`: no reply at all; `drop`: the connection
    is closed; `content`: this text instead of the reply; `refusal`: OpenAI's refusal.
    """

    status: int = 200
    message: str = "a scripted fault"
    code: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    hang: bool = False
    drop: bool = False
    content: str | None = None
    finish_reason: str = "stop"
    refusal: str | None = None


class OpenAIServer:
    """`reply` gets a chat request's body and gives the content, as text or as an object.

    `faults` are used up one a chat request; `always` happens to every one. `refuses` names parts
    of a request that get status 400. `silent`: nothing is ever answered, at no address.
    `models_status` is that of /v1/models, `embeddings_status` that of embeddings. `chats` and
    `embeddings` keep the requests' bodies, `most_at_once` the highest number of chat requests in
    progress.
    """

    def __init__(
        self,
        reply: Callable[[Body], Any] = lambda body: {},
        *,
        faults: Iterable[Fault] = (),
        always: Fault | None = None,
        refuses: Iterable[str] = (),
        silent: bool = False,
        models_status: int = 200,
        embeddings_status: int = 200,
        dimension: int = 12,
        usage: bool = True,
    ) -> None:
        self.reply = reply
        self.faults = deque(faults)
        self.always = always
        self.refuses = frozenset(refuses)
        self.silent = silent
        self.models_status = models_status
        self.embeddings_status = embeddings_status
        self.dimension = dimension
        self.usage = usage
        self.chats: list[Body] = []
        self.embeddings: list[Body] = []
        self.keys: set[str] = set()
        self.most_at_once = 0
        self.closing = threading.Event()
        self.lock = threading.Lock()
        self.at_once = 0
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.fake = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """The base URL of a client."""
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def fault(self, body: Body) -> Fault:
        """What happens to this chat request."""
        for part in sorted(self.refuses):
            if body.get(part) is not None:
                return Fault(400, f"Unsupported parameter: '{part}'.", "unsupported_parameter")
        with self.lock:
            return self.faults.popleft() if self.faults else self.always or Fault()

    @contextmanager
    def one_more(self) -> Iterator[None]:
        """Counts the chat requests in progress."""
        with self.lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            yield
        finally:
            with self.lock:
                self.at_once -= 1


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = True
    fake: OpenAIServer

    def handle_error(self, request: object, client_address: object) -> None:
        """Quiet: clients may hang up."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 5
    server: _Server

    def log_message(self, *_: object) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        if self.server.fake.silent:
            return self._hang()
        return self._send(self.server.fake.models_status, {"object": "list", "data": []})

    def do_POST(self) -> None:
        fake = self.server.fake
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        fake.keys.add(self.headers.get("authorization", ""))
        if fake.silent:
            return self._hang()
        if self.path == "/v1/embeddings":
            return self._embeddings(body)
        if self.path != "/v1/chat/completions":
            return self._send(404, {"error": {"message": "no such address"}})
        with fake.one_more():
            fake.chats.append(body)
            return self._chat(body, fake.fault(body))

    def _chat(self, body: Body, fault: Fault) -> None:
        if fault.hang:
            self._hang()
        elif fault.drop:
            self.close_connection = True
        elif fault.status != 200:
            error = {"message": fault.message, "code": fault.code, "type": "error"}
            self._send(fault.status, {"error": error}, fault.headers)
        else:
            content = self.server.fake.reply(body) if fault.content is None else fault.content
            self._send(200, _completion(body, content, fault, self.server.fake.usage))

    def _embeddings(self, body: Body) -> None:
        self.server.fake.embeddings.append(body)
        if self.server.fake.embeddings_status != 200:
            return self._send(self.server.fake.embeddings_status, {"error": {"message": "no"}})
        size = body.get("dimensions") or self.server.fake.dimension
        data = [
            {"object": "embedding", "index": index, "embedding": _vector(text, size)}
            for index, text in enumerate(body["input"])
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return self._send(200, {"object": "list", "model": "fake", "data": data, "usage": usage})

    def _hang(self) -> None:
        self.server.fake.closing.wait()
        self.close_connection = True

    def _send(self, status: int, body: Body, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _completion(body: Body, content: Any, fault: Fault, usage: bool) -> Body:
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    message: Body = {"role": "assistant", "content": text, "refusal": fault.refusal}
    if body.get("tools"):
        function = {"name": body["tools"][0]["function"]["name"], "arguments": text}
        message["content"] = None
        message["tool_calls"] = [{"id": "call_1", "type": "function", "function": function}]
    choice = {"index": 0, "message": message, "finish_reason": fault.finish_reason}
    completion = {"id": "c", "object": "chat.completion", "created": 0, "model": "fake"}
    counted = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return {**completion, "choices": [choice], **({"usage": counted} if usage else {})}


def _vector(text: str, size: int) -> list[float]:
    """Some vector that depends on the text alone."""
    digest = blake2b(text.encode()).digest()
    return [1.0 + digest[place % len(digest)] / 255 for place in range(size)]
