"""The JSON schema of a decision, in the forms in which providers want to see it.

Strict mode of OpenAI: one flat object, every property required, no further ones, no `oneOf`.
References are written out, titles and docstrings left out: they cost tokens in every prompt.

From a model's message to a decision, tolerantly: what counts is one JSON object that fits.

It may be the content, a tool call's arguments, or stand in plain text: after reasoning
(`<think>`), inside a code fence, between sentences, or inside one more object. Where there is none,
what the model only thought is read. Keys that the decision does not know are left out. What is
missing or wrong is never made up.

What models think before they reply: told apart from the reply itself.

Thoughts come as marked text (`<think>`), as blocks of their own, or beside the message; every
provider has its own way.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Literal, TypeVar, cast

from langchain_core.messages import AIMessage
from pydantic import ValidationError

from graphreader.errors import ReplyError
from graphreader.llm.protocols import Decision, Task

Schema = dict[str, Any]


@cache
def schema_of(decision: type[Decision]) -> Schema:
    """The decision's JSON schema. Shared: not to be changed."""
    raw = decision.model_json_schema()
    schema = _plain(raw, raw.get("$defs", {}))
    if not isinstance(schema, dict):
        raise TypeError(f"{decision.__name__} has no object schema")
    return schema


def response_format(decision: type[Decision]) -> Schema:
    """For providers with structured output."""
    return {
        "type": "json_schema",
        "json_schema": {
            "name": decision.__name__,
            "strict": True,
            "schema": schema_of(decision),
        },
    }


def tool(decision: type[Decision], *, strict: bool = True) -> Schema:
    """For providers with tools: the decision is the argument of the one tool there is.

    `strict` is OpenAI's word for arguments that are held to the schema; not everybody knows it.
    """
    function = {
        "name": decision.__name__,
        "description": "Hand in your reply.",
        "parameters": schema_of(decision),
    }
    return {"type": "function", "function": function | ({"strict": True} if strict else {})}


def in_words(decision: type[Decision]) -> str:
    """For models with neither: a paragraph for the prompt."""
    schema = json.dumps(schema_of(decision), ensure_ascii=False, separators=(",", ":"))
    return f"Reply with one JSON object and nothing else. It must fit this JSON schema:\n{schema}"


def _plain(part: Any, definitions: Schema) -> Any:
    """`part` without titles, docstrings and references. Decisions do not contain themselves."""
    if isinstance(part, list):
        return [_plain(one, definitions) for one in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        target = _plain(definitions[part["$ref"].rsplit("/", 1)[-1]], definitions)
        return {**target, **{key: part[key] for key in ("description",) if key in part}}
    left_out = {"title", "$defs"} | ({"description"} if "properties" in part else set())
    plain = {key: one for key, one in part.items() if key not in left_out and key != "properties"}
    plain = {key: _plain(one, definitions) for key, one in plain.items()}
    if "properties" in part:
        # Names of properties are not keywords: one may be called "title".
        plain["properties"] = {
            name: _plain(one, definitions) for name, one in part["properties"].items()
        }
        plain["required"] = list(part["properties"])
    return plain


_MARKED = re.compile(
    r"<((?:seed:)?(?:think(?:ing)?|thoughts?|reasoning))>.*?(?:</\1>|\Z)"
    r"|\[THINK\].*?(?:\[/THINK\]|\Z)"
    r"|◁think▷.*?(?:◁/think▷|\Z)"
    r"|<\|channel\|>analysis.*?(?:<\|channel\|>final|\Z)",
    re.DOTALL | re.IGNORECASE,
)

_END = re.compile(
    r"</(?:seed:)?(?:think(?:ing)?|thoughts?|reasoning)>|\[/THINK\]|◁/think▷", re.IGNORECASE
)

_OBJECT = re.compile(r"\s*(?:```\w*\s*)?\{")
_BLOCKS = {"reasoning", "thinking", "redacted_thinking", "reasoning_content"}
_BESIDE = ("reasoning_content", "reasoning")


def thought(message: AIMessage) -> bool:
    """Whether the model spent tokens of its reply on thinking."""
    usage = message.usage_metadata
    counted = (usage.get("output_token_details") or {}).get("reasoning") if usage else 0
    marked = _MARKED.search(message.text) or _END.search(message.text)
    return bool(counted or marked or _blocks(message) or thoughts_of(message))


def without_thoughts(text: str) -> str:
    """The reply itself."""
    text = _MARKED.sub("", text)
    return _END.split(text)[-1]  # some servers swallow the opening mark


def begins_at(text: str) -> int | None:
    """Where the JSON object begins that a reply is, as far as it is written: None: not yet, or not.

    Before it there may be thoughts that have come to an end, or a fence.
    """
    ends = [mark.end() for mark in _END.finditer(text)]
    begin = _OBJECT.match(text, ends[-1] if ends else 0)
    return begin.end() - 1 if begin else None


def thoughts_of(message: AIMessage) -> str:
    """What was thought outside of the message's text, as far as the provider shows it."""
    shown = [
        block.get(key) for block in _blocks(message) for key in ("thinking", "reasoning", "text")
    ]
    shown += [message.additional_kwargs.get(key) for key in _BESIDE]
    return "\n".join(one for one in shown if isinstance(one, str) and one.strip())


def _blocks(message: AIMessage) -> list[dict[str, object]]:
    """The blocks of the content that are thoughts."""
    if not isinstance(message.content, list):
        return []
    blocks = (block for block in message.content if isinstance(block, dict))
    return [block for block in blocks if block.get("type") in _BLOCKS]


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


Form = Literal["schema", "tool", "text"]
