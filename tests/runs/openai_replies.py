"""Replies in OpenAI's wire format: a completion in one piece or as events, a vector."""

import json
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

from tests.runs.openai_faults import Body, Fault

_HEAD = {"id": "c", "created": 0, "model": "fake"}
_USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


def completion(body: Body, text: str, fault: Fault, usage: bool) -> Body:
    """The whole reply: content, or arguments of the one tool that was offered."""
    message: Body = {"role": "assistant", "content": text, "refusal": fault.refusal}
    if body.get("tools"):
        message["content"] = None
        message["tool_calls"] = [{"id": "call_1", "type": "function", **_call(body, text)}]
    choice = {"index": 0, "message": message, "finish_reason": fault.finish_reason}
    whole = {**_HEAD, "object": "chat.completion", "choices": [choice]}
    return {**whole, "usage": fault.usage or _USAGE} if usage else whole


def events(body: Body, text: str, fault: Fault, usage: bool, piece: int) -> Iterator[str]:
    """The same in pieces of so many characters, as the events of a stream, with their end mark.

    The usage comes last, where the client asks for it.
    """
    yield _event({"role": "assistant", "content": ""})
    if fault.refusal is not None:
        yield _event({"refusal": fault.refusal})
    whole = text[: len(text) // 3] if fault.breaks else text
    for start in range(0, len(whole), piece):
        part = whole[start : start + piece]
        if not body.get("tools"):
            yield _event({"content": part})
        else:
            first = {"id": "call_1", "type": "function"} if start == 0 else {}
            call = _call(body, part) if start == 0 else {"function": {"arguments": part}}
            yield _event({"tool_calls": [{"index": 0, **first, **call}]})
    if fault.breaks:
        return
    yield _event({}, fault.finish_reason)
    if usage and (body.get("stream_options") or {}).get("include_usage"):
        end = {
            **_HEAD,
            "object": "chat.completion.chunk",
            "choices": [],
            "usage": fault.usage or _USAGE,
        }
        yield json.dumps(end)
    yield "[DONE]"


def vector(text: str, size: int) -> list[float]:
    """Some vector that depends on the text alone."""
    digest = blake2b(text.encode()).digest()
    return [1.0 + digest[place % len(digest)] / 255 for place in range(size)]


def _call(body: Body, arguments: str) -> dict[str, Any]:
    return {"function": {"name": body["tools"][0]["function"]["name"], "arguments": arguments}}


def _event(delta: Body, finish_reason: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    event = {**_HEAD, "object": "chat.completion.chunk", "choices": [choice]}
    return json.dumps(event, ensure_ascii=False)
