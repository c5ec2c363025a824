"""JSON schemas of decisions, and the parser of a model's replies.

Schemas fit OpenAI's strict mode: one flat object, all required, no `oneOf`. A reply is a JSON
object in content, tool call or text. Broken JSON is not repaired: `json-repair` ends truncated
lists and strings as if they were complete.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from pydantic import ValidationError

from graphreader.documents import without_controls
from graphreader.errors import ReplyError
from graphreader.llm.protocols import Decision, PlainReply, Task

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage, AIMessageChunk

D = TypeVar("D", bound=Decision)
Schema = dict[str, Any]
ReplyForm = Literal["schema", "tool", "text"]
"""The way of requesting a reply: as JSON schema, as a tool call, or as JSON in plain text."""

CHARACTERS_A_TOKEN = 20
"""Largest accepted reply, in characters per token of the task's `reply_tokens`."""


@cache
def schema_of(decision: type[Decision]) -> Schema:
    """The decision's JSON schema, in a shared dictionary that callers must not change."""
    raw = decision.model_json_schema()
    return cast(Schema, _simplify(raw, raw.get("$defs", {})))


def response_format(decision: type[Decision]) -> Schema:
    """The parameter `response_format` of OpenAI's protocol for a decision."""
    schema = {"name": decision.__name__, "strict": True, "schema": schema_of(decision)}
    return {"type": "json_schema", "json_schema": schema}


def tool(decision: type[Decision], *, strict: bool = True) -> Schema:
    """The definition of a tool whose arguments are the decision; `strict` is OpenAI's parameter."""
    function = {
        "name": decision.__name__,
        "description": "Hand in your reply.",
        "parameters": schema_of(decision),
    }
    return {"type": "function", "function": function | ({"strict": True} if strict else {})}


def schema_in_words(decision: type[Decision]) -> str:
    """A paragraph for the prompt of a model that knows neither schemas nor tools."""
    schema = json.dumps(schema_of(decision), ensure_ascii=False, separators=(",", ":"))
    return f"Reply with one JSON object and nothing else. It must fit this JSON schema:\n{schema}"


def _simplify(part: Any, definitions: Schema) -> Any:
    """Remove titles, defaults and docstrings from a schema and resolve its references.

    Recursive decisions are not supported.
    """
    if isinstance(part, list):
        return [_simplify(one, definitions) for one in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        target = _simplify(definitions[part["$ref"].rsplit("/", 1)[-1]], definitions)
        return {**target, **{key: part[key] for key in ("description",) if key in part}}
    dropped = {"title", "default", "$defs"} | ({"description"} if "properties" in part else set())
    simple = {key: one for key, one in part.items() if key not in dropped and key != "properties"}
    simple = {key: _simplify(one, definitions) for key, one in simple.items()}
    if "properties" in part:
        # The names of properties are not schema keywords: a property may be called "title".
        simple["properties"] = {
            name: _simplify(one, definitions) for name, one in part["properties"].items()
        }
        simple["required"] = list(part["properties"])
    return simple


_MARKS = r"(?:seed:)?(?:think(?:ing)?|thoughts?|reasoning)"
_REASONING = re.compile(
    rf"<({_MARKS})>.*?(?:</\1>|\Z)|\[THINK\].*?(?:\[/THINK\]|\Z)", re.DOTALL | re.IGNORECASE
)
_REASONING_END = re.compile(rf"</{_MARKS}>|\[/THINK\]", re.IGNORECASE)
_OBJECT_START = re.compile(r"\s*(?:```\w*\s*)?\{")


def has_reasoning(message: "AIMessage") -> bool:
    """Whether the model spent tokens of its reply on reasoning."""
    usage = message.usage_metadata
    counted = (usage.get("output_token_details") or {}).get("reasoning") if usage else 0
    marked = _REASONING.search(message.text) or _REASONING_END.search(message.text)
    blocks = _blocks(message, "reasoning", "thinking", "redacted_thinking", "reasoning_content")
    apart = any(message.additional_kwargs.get(key) for key in ("reasoning_content", "reasoning"))
    return bool(counted or marked or blocks or apart)


def without_reasoning(text: str) -> str:
    """The text of a reply after the model's reasoning."""
    return _REASONING_END.split(_REASONING.sub("", text))[-1]  # some servers drop the start mark


def object_start(text: str) -> int | None:
    """The position of the JSON object in a reply, after reasoning or a code fence; else None."""
    ends = [mark.end() for mark in _REASONING_END.finditer(text)]
    start = _OBJECT_START.match(text, ends[-1] if ends else 0)
    return start.end() - 1 if start else None


def _blocks(message: "AIMessage", *types: str) -> list[dict[str, object]]:
    content = message.content if isinstance(message.content, list) else []
    return [one for one in content if isinstance(one, dict) and one.get("type") in types]


ReplyProblem = Literal["cut_off", "refused", "empty", "no_json", "misfit"]
_CUT_OFF = {
    "length",
    "max_tokens",
    "max_output_tokens",
    "incomplete",
    "model_length",
    "model_context_window_exceeded",
}
_REFUSED = {"content_filter", "refusal", "safety", "blocklist", "prohibited_content"}
_SENTENCES: dict[ReplyProblem, str] = {
    "cut_off": "it was cut off because it was too long: be much briefer",
    "refused": "the model refuses to reply to this text",
    "empty": "it was empty",
    "no_json": "it holds no JSON object that fits the schema",
}
_BRACKET = re.compile(r"[\[{]")


class UnusableReply(ReplyError):
    """A reply that is no valid decision; `problem` is a sentence for the model about it."""

    def __init__(self, kind: ReplyProblem, problem: str = "") -> None:
        self.kind = kind
        self.problem = (problem or _SENTENCES[kind]).rstrip(".")
        super().__init__(
            f"The model gave no usable reply: {self.problem}."
            if kind == "refused"
            else f"The model's reply could not be used, also after asking again: {self.problem}. "
            "Another model may do better: set GRAPHREADER_MODEL."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickling, since workers of a cluster return this error."""
        return type(self), (self.kind, self.problem), vars(self)


def read(message: "AIMessage", task: Task[D]) -> D:
    """Return the last decision in the message that fits its schema. Raises UnusableReply."""
    misfit = ""
    if task.decision is PlainReply and (text := without_reasoning(message.text).strip()):
        _check_length(text, task)
        return cast(D, PlainReply(text=without_controls(text)))
    for fields in _candidates(message, task.decision):
        _check_length(json.dumps(fields, ensure_ascii=False), task)
        try:
            return cast(D, task.decision.model_validate(fields, extra="ignore"))
        except ValidationError as error:
            misfit = misfit or _describe(error)
    kind = _problem(message, has_object=bool(misfit))
    raise UnusableReply(kind, misfit if kind == "misfit" else "")


def holds_json(message: "AIMessage") -> bool:
    """Whether the reply contains JSON, valid for the schema or not, rather than prose."""
    return bool(
        message.tool_calls
        or message.invalid_tool_calls
        or any(isinstance(one, dict) for one in _json_values(without_reasoning(message.text)))
    )


def is_complete(message: "AIMessageChunk") -> bool:
    """Whether a streamed reply without a finish reason, which some services omit, is whole."""
    # LangChain completes the arguments of a tool call that was cut off.
    arguments = "".join(call["args"] or "" for call in message.tool_call_chunks)
    values = _json_values(arguments or without_reasoning(message.text))
    return any(isinstance(one, dict) for one in values)


def finish_reason(message: "AIMessage") -> str:
    """The reason why the model stopped, from the provider's own field."""
    metadata = message.response_metadata
    for key in ("finish_reason", "stop_reason", "stopReason", "done_reason", "status"):
        if isinstance(metadata.get(key), str):
            return str(metadata[key]).lower()
    return ""


def _problem(message: "AIMessage", *, has_object: bool) -> ReplyProblem:
    reason, refusal = finish_reason(message), message.additional_kwargs.get("refusal")
    if reason in _REFUSED or refusal or _blocks(message, "refusal"):
        return "refused"
    if reason in _CUT_OFF:
        return "cut_off"
    if has_object:
        return "misfit"
    return "no_json" if message.text.strip() or message.invalid_tool_calls else "empty"


def _candidates(message: "AIMessage", decision: type[Decision]) -> Iterator[Any]:
    """Yield the JSON values that may be the decision, the likeliest first."""
    # LangChain takes the start of a streamed tool call's arguments for the whole.
    is_cut_off = finish_reason(message) in _CUT_OFF
    values = [] if is_cut_off else [call["args"] for call in message.tool_calls]
    values += [one for call in message.invalid_tool_calls for one in _json_values(call["args"])]
    values += _json_values(without_reasoning(message.text))
    for value in values:
        yield from _unwrap(_clean(value), decision)


def _clean(value: Any) -> Any:
    """Remove control characters, which a terminal may obey, and lone surrogates from JSON."""
    if isinstance(value, str):
        return without_controls(value)
    if isinstance(value, list):
        return [_clean(one) for one in value]
    if isinstance(value, dict):
        return {key: _clean(one) for key, one in value.items()}
    return value


def _check_length(text: str, task: Task[Any]) -> None:
    """Raise UnusableReply for a reply far longer than the task asks for (endless repetition)."""
    if len(text) > CHARACTERS_A_TOKEN * task.reply_tokens:
        raise UnusableReply("cut_off")


def _json_values(text: str | None) -> list[Any]:
    """Return the outermost JSON objects and lists in a text, the last first."""
    decoder = json.JSONDecoder(strict=False)  # raw line breaks inside of strings are common
    text, values, position = text or "", [], 0
    while bracket := _BRACKET.search(text, position):
        try:
            value, position = decoder.raw_decode(text, bracket.start())
            values.append(value)
        except RecursionError:  # endless brackets: the text before them may hold a decision
            break
        except ValueError:
            position = bracket.end()
    return values[::-1]


def _unwrap(value: Any, decision: type[Decision]) -> Iterator[Any]:
    """Yield the value itself, and the value inside of a wrapper that models often add."""
    fields = decision.model_fields
    if isinstance(value, list):
        lists = [name for name, field in fields.items() if "list" in str(field.annotation)]
        required = [name for name, field in fields.items() if field.is_required()]
        is_only = len(lists) == 1 and lists == required
        if value and is_only and all(isinstance(x, dict) for x in value):
            yield {lists[0]: value}
        elif len(value) == 1 and isinstance(value[0], dict):
            yield value[0]
    elif set(value) & set(fields):
        yield value
    else:
        for inner in value.values():
            if isinstance(inner, str):
                yield from _json_values(inner)
            elif isinstance(inner, dict):
                yield inner


def _describe(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(map(str, one['loc']))}: {one['msg']}"
        for one in error.errors(include_input=False, include_url=False)[:3]
    )
