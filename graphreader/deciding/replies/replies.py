"""From a model's message to a decision, tolerantly: what counts is one JSON object that fits.

It may be the content, a tool call's arguments, or stand in plain text: after reasoning
(`<think>`), inside a code fence, between sentences, or inside one more object. Where there is none,
what the model only thought is read. Keys that the decision does not know are left out. What is
missing or wrong is never made up.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Literal, TypeVar, cast

from langchain_core.messages import AIMessage
from pydantic import ValidationError

from graphreader.deciding.decisions import Decision
from graphreader.deciding.replies.thoughts import thoughts_of, without_thoughts
from graphreader.deciding.tasks import Task
from graphreader.errors import ReplyError

D = TypeVar("D", bound=Decision)
Kind = Literal["cut_off", "refused", "empty", "no_json", "misfit"]

_CUT_OFF = {
    "length",
    "max_tokens",
    "max_output_tokens",
    "incomplete",
    "model_length",
    "model_context_window_exceeded",
}
_REFUSED = {"content_filter", "refusal", "safety", "blocklist", "prohibited_content"}
_SENTENCES: dict[Kind, str] = {
    "cut_off": "it was cut off because it was too long: be much briefer",
    "refused": "the model refuses to reply to this text",
    "empty": "it was empty",
    "no_json": "it holds no JSON object that fits the schema",
}
_BRACKET = re.compile(r"[\[{]")
_MOST_IN_VAIN = 2_000_000
"""Characters of broken JSON to go through, all tries together: a reply may be nothing else."""


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


def read(message: AIMessage, task: Task[D]) -> D:
    """The decision in the message; the last one that fits, where there are several.

    Raises UnusableReply. Whether the decision suits its task is not looked at.
    """
    problem = ""
    for fields in _candidates(message, task.decision):
        try:
            return cast(D, _validated(fields, task.decision))
        except ValidationError as error:
            problem = problem or _sentence(error)
    kind = _kind(message, bool(problem))
    raise UnusableReply(kind, problem if kind == "misfit" else "")


def holds_json(message: AIMessage) -> bool:
    """Whether the reply is in JSON at all, fitting or not, rather than in words."""
    return bool(
        message.tool_calls
        or message.invalid_tool_calls
        or any(isinstance(one, dict) for one in _objects(without_thoughts(message.text)))
    )


def _kind(message: AIMessage, has_object: bool) -> Kind:
    reason = finish_reason(message)
    if reason in _REFUSED or message.additional_kwargs.get("refusal") or _has_refusal(message):
        return "refused"
    if reason in _CUT_OFF:
        return "cut_off"
    if has_object:
        return "misfit"
    return "no_json" if message.text.strip() or message.invalid_tool_calls else "empty"


def finish_reason(message: AIMessage) -> str:
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


def _candidates(message: AIMessage, decision: type[Decision]) -> Iterator[Any]:
    """What might be the decision's fields, the likeliest first.

    Thoughts are searched only where there is no JSON object in the reply: one that does not fit is
    reported to the model rather than guessed at.
    """
    text = without_thoughts(message.text).strip()
    called = [one for call in message.tool_calls for one in _cleaned(call["args"])]
    called += [one for call in message.invalid_tool_calls for one in _objects(call["args"] or "")]
    found = [form for one in [*called, *_objects(text)] for form in _forms(one, decision)]
    if not found and not _is_cut_or_refused(message):
        # A model may also put its reply into its thoughts, or speak of them inside its reply.
        inside = "" if message.text.strip() == text else message.text
        thought = [*_objects(inside), *_objects(thoughts_of(message))]
        found = [form for one in thought for form in _forms(one, decision)]
    yield from found


def _is_cut_or_refused(message: AIMessage) -> bool:
    return _kind(message, False) in ("cut_off", "refused")


def _objects(text: str) -> list[dict[str, Any] | list[Any]]:
    """The outermost JSON objects and lists in a text, the last one first.

    What stands behind brackets nested too deeply, or behind far too many that begin nothing, is
    not looked at.
    """
    decoder = json.JSONDecoder(strict=False)  # raw line breaks inside strings are common
    found: list[dict[str, Any] | list[Any]] = []
    position = in_vain = 0
    while in_vain <= _MOST_IN_VAIN and (bracket := _BRACKET.search(text, position)):
        try:
            value, position = decoder.raw_decode(text, bracket.start())
            found.append(_clean(value))
        except RecursionError:
            break
        except ValueError as error:  # no JSON, or a number of thousands of digits
            position = bracket.end()
            in_vain += getattr(error, "pos", len(text))
    return found[::-1]


def _clean(value: Any) -> Any:
    """Without lone surrogates, which nothing behind us can store."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_clean(one) for one in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(one) for key, one in value.items()}
    return value


def _cleaned(value: Any) -> list[Any]:
    """The clean value alone; nothing where it is nested too deeply."""
    try:
        return [_clean(value)]
    except RecursionError:
        return []


def _forms(value: dict[str, Any] | list[Any], decision: type[Decision]) -> Iterator[Any]:
    """The value as it is, and without the wrapping that models like to put around it."""
    if isinstance(value, list):
        yield from _forms_of_list(value, decision)
        return
    if set(value) & set(decision.model_fields):
        yield value
        return
    for inner in (value.get("arguments"), value.get("parameters"), *value.values()):
        if isinstance(inner, str) and inner.lstrip().startswith("{"):
            yield from _objects(inner)
        elif isinstance(inner, dict):
            yield inner


def _forms_of_list(value: list[Any], decision: type[Decision]) -> Iterator[Any]:
    """The list as the one field of the decision, or the one object in it.

    An empty list may be all that is left of an object with a mistake in it.
    """
    if not value or not all(isinstance(one, dict) for one in value):
        return
    lists = [name for name, f in decision.model_fields.items() if "list" in str(f.annotation)]
    if len(decision.model_fields) == 1 and lists:
        yield {lists[0]: value}
    elif len(value) == 1:
        yield value[0]


def _validated(value: Any, decision: type[D]) -> D:
    """The decision, if need be without the keys that it does not know."""
    try:
        return decision.model_validate(value)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_context=False, include_input=False)
        unknown = [one["loc"] for one in errors if one["type"] == "extra_forbidden"]
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
