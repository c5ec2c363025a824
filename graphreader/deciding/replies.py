"""From a model's message to a decision, tolerantly: what counts is one JSON object that fits.

It may be the content, a tool call's arguments, or stand in plain text: after reasoning
(`<think>`), inside a code fence, between sentences, or inside one more object. Keys that the
decision does not know are left out. What is missing or wrong is never made up.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Literal, TypeVar

from langchain_core.messages import AIMessage
from pydantic import ValidationError

from graphreader.deciding.decisions import Decision
from graphreader.errors import ReplyError

D = TypeVar("D", bound=Decision)
Kind = Literal["cut_off", "refused", "empty", "no_json", "misfit"]

_THOUGHT = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_THOUGHT_END = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)
_CUT_OFF = {"length", "max_tokens", "max_output_tokens", "incomplete", "model_length"}
_REFUSED = {"content_filter", "refusal", "safety", "blocklist", "prohibited_content"}
_SENTENCES: dict[Kind, str] = {
    "cut_off": "it was cut off because it was too long: be much briefer",
    "refused": "the model refuses to reply to this text",
    "empty": "it was empty",
    "no_json": "it holds no JSON object that fits the schema",
}


class UnusableReply(ReplyError):
    """A reply that is no decision, and which kind of failure that is."""

    def __init__(self, kind: Kind, problem: str = "") -> None:
        self.kind = kind
        self.problem = (problem or _SENTENCES[kind]).rstrip(".")
        super().__init__(
            f"The model gave no usable reply: {self.problem}."
            if kind == "refused"
            else f"The model's reply could not be used, also after asking again: {self.problem}. "
            "Another model may do better: set GRAPHREADER_MODEL."
        )


def read(message: AIMessage, decision: type[D]) -> D:
    """The decision in the message; the last one that fits, where there are several.

    Raises UnusableReply. Whether the decision suits its task is not looked at.
    """
    problem = ""
    for candidate in _candidates(message):
        for form in _forms(candidate, decision):
            try:
                return _validated(form, decision)
            except ValidationError as error:
                problem = problem or _sentence(error)
    raise UnusableReply(_kind(message, bool(problem)), problem if problem else "")


def _kind(message: AIMessage, has_object: bool) -> Kind:
    reason = _finish_reason(message)
    if reason in _REFUSED or message.additional_kwargs.get("refusal") or _has_refusal(message):
        return "refused"
    if reason in _CUT_OFF:
        return "cut_off"
    if has_object:
        return "misfit"
    return "no_json" if message.text.strip() or message.invalid_tool_calls else "empty"


def _finish_reason(message: AIMessage) -> str:
    """Why the model stopped; every provider has its own name for it."""
    about = message.response_metadata
    for key in ("finish_reason", "stop_reason", "done_reason", "status"):
        if isinstance(about.get(key), str):
            return str(about[key]).lower()
    return ""


def _has_refusal(message: AIMessage) -> bool:
    return isinstance(message.content, list) and any(
        isinstance(block, dict) and block.get("type") == "refusal" for block in message.content
    )


def _candidates(message: AIMessage) -> Iterator[dict[str, Any] | list[Any]]:
    """Everything in the message that might be the decision, the likeliest first."""
    for call in message.tool_calls:
        yield _clean(call["args"])
    for broken in message.invalid_tool_calls:
        yield from _objects(broken["args"] or "")
    text = _without_thoughts(message.text)
    yield from _objects(text)
    if text != message.text:  # a model may also put its reply into its thoughts
        yield from _objects(message.text)


def _without_thoughts(text: str) -> str:
    text = _THOUGHT.sub("", text)
    return _THOUGHT_END.split(text)[-1]  # some servers swallow the opening mark


def _objects(text: str) -> list[dict[str, Any] | list[Any]]:
    """The outermost JSON objects and lists in a text, the last one first."""
    decoder = json.JSONDecoder(strict=False)  # raw line breaks inside strings are common
    found: list[dict[str, Any] | list[Any]] = []
    position = 0
    while (start := _next_bracket(text, position)) is not None:
        try:
            value, position = decoder.raw_decode(text, start)
        except (json.JSONDecodeError, RecursionError):
            position = start + 1
        else:
            found.append(_clean(value))
    return found[::-1]


def _next_bracket(text: str, position: int) -> int | None:
    match = re.compile(r"[\[{]").search(text, position)
    return match.start() if match else None


def _clean(value: Any) -> Any:
    """Without lone surrogates, which nothing behind us can store."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_clean(one) for one in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(one) for key, one in value.items()}
    return value


def _forms(value: dict[str, Any] | list[Any], decision: type[Decision]) -> Iterator[Any]:
    """The value as it is, and without the wrapping that models like to put around it."""
    if isinstance(value, list):
        lists = [n for n, f in decision.model_fields.items() if "list" in str(f.annotation)]
        if len(decision.model_fields) == 1 and lists:
            yield {lists[0]: value}
        elif len(value) == 1 and isinstance(value[0], dict):
            yield value[0]
        return
    if set(value) & set(decision.model_fields):
        yield value
        return
    for inner in (value.get("arguments"), value.get("parameters"), *value.values()):
        if isinstance(inner, str) and inner.lstrip().startswith("{"):
            yield from _objects(inner)
        elif isinstance(inner, dict):
            yield inner


def _validated(value: Any, decision: type[D]) -> D:
    """The decision, if need be without the keys that it does not know."""
    try:
        return decision.model_validate(value)
    except ValidationError as error:
        unknown = [one["loc"] for one in error.errors() if one["type"] == "extra_forbidden"]
        if not unknown:
            raise
    for *way, key in unknown:
        inside = value
        for step in way:
            inside = inside[step]
        del inside[key]
    return decision.model_validate(value)


def _sentence(error: ValidationError) -> str:
    """What is wrong, for the model; without the values."""
    lines = [
        f"{'.'.join(map(str, one['loc']))}: {one['msg']}"
        for one in error.errors(include_input=False, include_url=False)[:3]
    ]
    return "; ".join(lines)
