"""Servers on loopback that speak Anthropic's and Ollama's protocols; replies are a function of the
request.

They are as narrow as the real ones: Anthropic's wants `max_tokens` and knows no seed, Ollama's
knows its models, and streams unless told not to. They never sleep.
"""

import json
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.runs.loopback import Handler, Loopback

Body = dict[str, Any]

_PIECE = 40  # characters of one event
_THINKING_TOKENS = 900


@dataclass(frozen=True, slots=True)
class Turn:
    """What happens to one request: a status with `message`, or a reply.

    `text` stands instead of the reply, `thinking` goes before it, `stop` is why it ends in the
    words of the protocol.
    """

    status: int = 200
    message: str = "a scripted failure"
    text: str | None = None
    thinking: str = ""
    stop: str = ""


class Server(Loopback):
    """`reply` gets what was asked as OpenAI's messages, and gives the content.

    `turns` are used up one a request. `requests` keeps the bodies, `keys` the keys that came along.
    """

    def __init__(
        self,
        reply: Callable[[Body], Any] = lambda body: {},
        *,
        turns: Iterable[Turn] = (),
        always: Turn | None = None,
    ) -> None:
        super().__init__(_Handler)
        self.reply = reply
        self.turns = deque(turns)
        self.always = always
        self.requests: list[Body] = []
        self.keys: set[str] = set()
        self._lock = threading.Lock()

    def handle(self, path: str, headers: Mapping[str, str], body: Body) -> "_Answer":
        raise NotImplementedError

    def _next(self, body: Body) -> Turn:
        with self._lock:
            self.requests.append(body)
            return self.turns.popleft() if self.turns else self.always or Turn()

    def _text(self, turn: Turn, messages: list[Body]) -> str:
        if turn.text is not None:
            return turn.text
        good = self.reply({"messages": messages})
        return good if isinstance(good, str) else json.dumps(good, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class _Answer:
    """A status and one object, or several as the lines of a stream."""

    status: int
    content: Body | list[Body]


class AnthropicServer(Server):
    """Speaks /v1/messages as api.anthropic.com does, streamed where that is asked for."""

    def handle(self, path: str, headers: Mapping[str, str], body: Body) -> _Answer:
        if path != "/v1/messages":
            return self._failed(Turn(404, "Not Found"))
        self.keys.add(_key(headers))
        turn = self._next(body)
        for name in ("model", "max_tokens", "messages"):
            if name not in body:
                return self._failed(Turn(400, f"{name}: Field required"))
        for name in ("seed", "response_format", "num_predict"):
            if name in body:
                return self._failed(Turn(400, f"{name}: Extra inputs are not permitted"))
        if turn.status != 200:
            return self._failed(turn)
        message = self._message(body, turn)
        return _Answer(200, list(_events(message)) if body.get("stream") else message)

    def _failed(self, turn: Turn) -> _Answer:
        error = {"type": "api_error", "message": turn.message}
        content = {"type": "error", "error": error, "request_id": "req_1"}
        return _Answer(turn.status, content)

    def _message(self, body: Body, turn: Turn) -> Body:
        system = {"role": "system", "content": body.get("system", "")}
        text = self._text(turn, [system, *body["messages"]])
        content: list[Body] = []
        if turn.thinking:
            content.append({"type": "thinking", "thinking": turn.thinking, "signature": "s"})
        if text:
            content.append({"type": "text", "text": text})
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": content,
            "stop_reason": turn.stop or "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": 30,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 70,
                "output_tokens": 10 + (_THINKING_TOKENS if turn.thinking else 0),
            },
        }


def _events(message: Body) -> Iterator[Body]:
    """Anthropic's stream of a message: each block begins empty and grows by deltas."""
    usage = {**message["usage"], "output_tokens": 1}
    begun = {**message, "content": [], "stop_reason": None, "usage": usage}
    yield {"type": "message_start", "message": begun}
    for index, block in enumerate(message["content"]):
        at, kind = {"index": index}, block["type"]
        yield {"type": "content_block_start", **at, "content_block": {**block, kind: ""}}
        for start in range(0, len(block[kind]), _PIECE):
            delta = {"type": f"{kind}_delta", kind: block[kind][start : start + _PIECE]}
            yield {"type": "content_block_delta", **at, "delta": delta}
        yield {"type": "content_block_stop", **at}
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": message["usage"]}  # of the whole
    yield {"type": "message_stop"}


class OllamaServer(Server):
    """Speaks /api/chat as Ollama does, with streams; `models` are those that are pulled."""

    models = ("qwen3:8b", "llama3.1")

    def handle(self, path: str, headers: Mapping[str, str], body: Body) -> _Answer:
        if path != "/api/chat":
            return _Answer(404, {"error": "404 page not found"})
        self.keys.add(_key(headers))
        turn = self._next(body)
        if body["model"] not in self.models:
            return _Answer(404, {"error": f"model '{body['model']}' not found"})
        if turn.status != 200:
            return _Answer(turn.status, {"error": turn.message})
        lines = list(self._lines(body, turn))
        return _Answer(200, lines if body.get("stream", True) else _joined(lines))

    def _lines(self, body: Body, turn: Turn) -> Iterator[Body]:
        text = self._text(turn, body["messages"])
        for start in range(0, len(turn.thinking), _PIECE):
            yield self._line(body, "", thinking=turn.thinking[start : start + _PIECE])
        for start in range(0, len(text), _PIECE):
            yield self._line(body, text[start : start + _PIECE])
        yield {
            **self._line(body, ""),
            "done": True,
            "done_reason": turn.stop or "stop",
            "prompt_eval_count": 100,
            "eval_count": 10 + (_THINKING_TOKENS if turn.thinking else 0),
        }

    def _line(self, body: Body, content: str, **more: Any) -> Body:
        message = {"role": "assistant", "content": content, **more}
        created = "2026-11-21T00:00:00Z"
        return {"model": body["model"], "created_at": created, "message": message, "done": False}


def _key(headers: Mapping[str, str]) -> str:
    """The key that came along, in either of the headers in which clients put it."""
    return headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")


def _joined(lines: list[Body]) -> Body:
    """What a stream says, in one piece."""
    messages = [line["message"] for line in lines]
    whole = {"role": "assistant", "content": "".join(one["content"] for one in messages)}
    if thinking := "".join(one.get("thinking", "") for one in messages):
        whole["thinking"] = thinking
    return {**lines[-1], "message": whole}


class _Handler(Handler):
    def do_GET(self) -> None:
        self.send(404, {"error": "not found"})

    def do_POST(self) -> None:
        server: Server = self.server.fake
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = server.handle(self.path, headers, json.loads(self.body()))
        if isinstance(answer.content, list):
            self._stream(answer.status, answer.content)
        else:
            self.send(answer.status, answer.content)

    def _stream(self, status: int, lines: list[Body]) -> None:
        is_events = isinstance(self.server.fake, AnthropicServer)
        self.send_response(status)
        self.begin_stream("text/event-stream" if is_events else "application/x-ndjson")
        for line in lines:
            text = json.dumps(line)
            shown = f"event: {line['type']}\ndata: {text}\n\n" if is_events else f"{text}\n"
            self.send_part(shown.encode())
        self.send_part(b"")
