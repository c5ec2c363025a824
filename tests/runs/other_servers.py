"""Servers on loopback that speak Anthropic's and Ollama's protocols.

They are as narrow as the real ones: Anthropic's wants `max_tokens` and knows no seed, Ollama's
knows its models, and streams unless told not to. They never sleep.
"""

import json
from collections.abc import Iterator

from tests.runs.model_server import ModelServer
from tests.runs.openai_faults import Body, Fault

_THINKING_TOKENS = 900


class AnthropicServer(ModelServer):
    """Speaks /v1/messages as api.anthropic.com does, streamed where that is asked for."""

    path = "/v1/messages"

    def refused(self, body: Body) -> Fault | None:
        for name in ("model", "max_tokens", "messages"):
            if name not in body:
                return Fault(400, f"{name}: Field required")
        for name in ("seed", "response_format", "num_predict"):
            if name in body:
                return Fault(400, f"{name}: Extra inputs are not permitted")
        return None

    def chat(self, body: Body) -> Body:
        return chat_of(body)

    def error(self, fault: Fault) -> Body:
        error = {"type": "api_error", "message": fault.message}
        return {"type": "error", "error": error, "request_id": "req_1"}

    def whole(self, body: Body, text: str, fault: Fault) -> Body:
        return message(body, text, fault)

    def events(self, body: Body, text: str, fault: Fault) -> Iterator[str]:
        """Each block begins empty and grows by deltas."""
        for one in self._events(message(body, text, fault)):
            yield f"event: {one['type']}\ndata: {json.dumps(one)}\n\n"

    def _events(self, message: Body) -> Iterator[Body]:
        usage = {**message["usage"], "output_tokens": 1}
        begun = {**message, "content": [], "stop_reason": None, "usage": usage}
        yield {"type": "message_start", "message": begun}
        for index, block in enumerate(message["content"]):
            at, kind = {"index": index}, block["type"]
            yield {"type": "content_block_start", **at, "content_block": {**block, kind: ""}}
            for start in range(0, len(block[kind]), self.piece):
                delta = {"type": f"{kind}_delta", kind: block[kind][start : start + self.piece]}
                yield {"type": "content_block_delta", **at, "delta": delta}
            yield {"type": "content_block_stop", **at}
        ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        yield {"type": "message_delta", "delta": ended, "usage": message["usage"]}  # of the whole
        yield {"type": "message_stop"}


def chat_of(body: Body) -> Body:
    """OpenAI's messages of a request to either provider."""
    system = [{"role": "system", "content": body["system"]}] if "system" in body else []
    return {"messages": [*system, *body["messages"]]}


def message(body: Body, text: str, fault: Fault) -> Body:
    """A reply in Anthropic's format."""
    thinking = {"type": "thinking", "thinking": fault.thinking, "signature": "s"}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [
            *([thinking] if fault.thinking else []),
            *([{"type": "text", "text": text}] if text else []),
        ],
        "stop_reason": {"stop": "end_turn", "length": "max_tokens"}[fault.finish_reason],
        "stop_sequence": None,
        "usage": {
            "input_tokens": 30,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 70,
            "output_tokens": 10 + (_THINKING_TOKENS if fault.thinking else 0),
        },
    }


class OllamaServer(ModelServer):
    """Speaks /api/chat as Ollama does, with streams; `models` are those that are pulled."""

    path = "/api/chat"
    media_type = "application/x-ndjson"
    models = ("qwen3:8b", "llama3.1")

    def refused(self, body: Body) -> Fault | None:
        known = body["model"] in self.models
        return None if known else Fault(404, f"model '{body['model']}' not found")

    def error(self, fault: Fault) -> Body:
        return {"error": fault.message}

    def streams(self, body: Body) -> bool:
        return bool(body.get("stream", True))

    def whole(self, body: Body, text: str, fault: Fault) -> Body:
        said = {"content": text, **({"thinking": fault.thinking} if fault.thinking else {})}
        return {**self._line(body, said), **self._end(fault)}

    def events(self, body: Body, text: str, fault: Fault) -> Iterator[str]:
        """A line for each piece, and one for the end."""
        thinking, piece = fault.thinking, self.piece
        for start in range(0, len(thinking), piece):
            said = {"content": "", "thinking": thinking[start : start + piece]}
            yield json.dumps(self._line(body, said)) + "\n"
        for start in range(0, len(text), piece):
            yield json.dumps(self._line(body, {"content": text[start : start + piece]})) + "\n"
        yield json.dumps({**self._line(body, {"content": ""}), **self._end(fault)}) + "\n"

    def _line(self, body: Body, said: Body) -> Body:
        created, whole = "2026-11-21T00:00:00Z", {"role": "assistant", **said}
        return {"model": body["model"], "created_at": created, "message": whole, "done": False}

    def _end(self, fault: Fault) -> Body:
        tokens = 10 + (_THINKING_TOKENS if fault.thinking else 0)
        end = {"done": True, "done_reason": fault.finish_reason}
        return {**end, "prompt_eval_count": 100, "eval_count": tokens}
