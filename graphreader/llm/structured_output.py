"""JSON schemas of decisions, and the parser of a model's replies.

Schemas fit OpenAI's strict mode: one flat object, all required, no `oneOf`. A reply is a JSON
object in content, tool call or text. Broken JSON is not repaired, but for trailing commas:
`json-repair` ends truncated lists and strings as if they were complete.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, cast, get_args, get_origin

from pydantic import ValidationError

from graphreader.documents import without_controls, without_numbers
from graphreader.errors import ReplyError
from graphreader.llm.protocols import Decision, PlainReply, Task, folded

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage, AIMessageChunk

D = TypeVar("D", bound=Decision)
Schema = dict[str, Any]
ReplyForm = Literal["schema", "tool", "text"]
"""The way of requesting a reply: as JSON schema, as a tool call, or as JSON in plain text."""

CHARACTERS_A_TOKEN = 20
"""Largest accepted reply, in characters per token of the task's `reply_tokens`."""


MOST_ITEMS = 500
"""Largest number of items of a list in a reply, unless its field has a bound of its own."""


@cache
def schema_of(decision: type[Decision], *, bounded: bool = False) -> Schema:
    """The decision's JSON schema, in a shared dictionary that callers must not change.

    `bounded`: with the largest numbers of items (`maxItems`), which not every service accepts.
    """
    raw = decision.model_json_schema()
    return cast(Schema, _simplify(raw, raw.get("$defs", {}), bounded))


def response_format(decision: type[Decision], *, bounded: bool = False) -> Schema:
    """The parameter `response_format` of OpenAI's protocol for a decision."""
    schema = schema_of(decision, bounded=bounded)
    named = {"name": decision.__name__, "strict": True, "schema": schema}
    return {"type": "json_schema", "json_schema": named}


def tool(decision: type[Decision], *, strict: bool = True, bounded: bool = False) -> Schema:
    """The definition of a tool whose arguments are the decision; `strict` is OpenAI's parameter."""
    function = {
        "name": decision.__name__,
        "description": "Hand in your reply.",
        "parameters": schema_of(decision, bounded=bounded),
    }
    return {"type": "function", "function": function | ({"strict": True} if strict else {})}


def schema_in_words(decision: type[Decision]) -> str:
    """A paragraph for the prompt of a model that knows neither schemas nor tools."""
    schema = json.dumps(schema_of(decision), ensure_ascii=False, separators=(",", ":"))
    return f"Reply with one JSON object and nothing else. It must fit this JSON schema:\n{schema}"


def _simplify(part: Any, definitions: Schema, bounded: bool) -> Any:
    """Remove titles, defaults and docstrings from a schema and resolve its references.

    Recursive decisions are not supported.
    """
    if isinstance(part, list):
        return [_simplify(one, definitions, bounded) for one in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        target = _simplify(definitions[part["$ref"].rsplit("/", 1)[-1]], definitions, bounded)
        return {**target, **{key: part[key] for key in ("description",) if key in part}}
    if bounded and part.get("type") == "array":
        part = {"maxItems": MOST_ITEMS, **part}
    dropped = {"title", "default", "$defs", *(() if bounded else ("maxItems",))}
    dropped |= {"description"} if "properties" in part else set()
    simple = {key: one for key, one in part.items() if key not in dropped and key != "properties"}
    simple = {key: _simplify(one, definitions, bounded) for key, one in simple.items()}
    if "properties" in part:
        # The names of properties are not schema keywords: a property may be called "title".
        simple["properties"] = {
            name: _simplify(one, definitions, bounded) for name, one in part["properties"].items()
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


ReplyProblem = Literal["cut_off", "repetitive", "refused", "empty", "no_json", "misfit"]
REPETITION = "repetition"
"""Our finish reason of a reply that was stopped because it repeated itself."""

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
    "repetitive": "it repeated itself without end: name each thing once, and come to an end",
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
        try:
            mended = _mended(fields, task.decision)
            decision = cast(D, task.decision.model_validate(mended, extra="ignore"))
        except ValidationError as error:
            misfit = misfit or _describe(error)
        except RecursionError:
            misfit = misfit or "it is nested too deeply"
        else:
            _check_length(decision.model_dump_json(), task)
            return decision
    kind = _problem(message, task, has_object=bool(misfit))
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


def _problem(message: "AIMessage", task: Task[Any], *, has_object: bool) -> ReplyProblem:
    reason, refusal = finish_reason(message), message.additional_kwargs.get("refusal")
    if reason in _REFUSED or refusal or _blocks(message, "refusal"):
        return "refused"
    if reason == REPETITION or (
        reason in _CUT_OFF
        and is_repetitive(_written(message))
        and not any(map(has_repetition, task.values().values()))
    ):
        return "repetitive"
    if reason in _CUT_OFF:
        return "cut_off"
    if has_object:
        return "misfit"
    return "no_json" if message.text.strip() or message.invalid_tool_calls else "empty"


_LONGEST_BLOCK = 1_000  # characters that are repeated
_REPETITIONS = 4  # of one block, until a reply counts as repetitive
_SHORTEST_REPETITION = 800  # characters of all repetitions together
_CHECKED = 250  # characters between the places of a text at which a repetition is looked for
_PROBE = 40  # characters at the end of a text whose earlier places show how long the block is


def is_repetitive(text: str) -> bool:
    """Whether a text ends with one block of characters over and over, as failing models write."""
    end = text[-_REPETITIONS * _LONGEST_BLOCK :]
    probe = end[-_PROBE:]
    place = end.rfind(probe, 0, -1)
    while place >= 0:
        period = len(end) - len(probe) - place
        length = max(_SHORTEST_REPETITION, _REPETITIONS * period)
        if length > len(end):
            return False
        if end[-length:-period] == end[period - length :]:
            return True
        place = end.rfind(probe, 0, place + len(probe) - 1)
    return False


def has_repetition(text: str) -> bool:
    """Whether a text has such a passage anywhere: a reply about it may repeat itself, too."""
    text = without_numbers(text)
    ends = range(_SHORTEST_REPETITION, len(text) + _CHECKED, _CHECKED)
    return any(is_repetitive(text[:end]) for end in ends)


def _written(message: "AIMessage") -> str:
    """The text and the arguments of tools of a reply, as the model wrote them, where known."""
    calls = getattr(message, "tool_call_chunks", None) or message.invalid_tool_calls
    return message.text + "".join(call["args"] or "" for call in calls)


def _candidates(message: "AIMessage", decision: type[Decision]) -> Iterator[Any]:
    """Yield the JSON values that may be the decision, the likeliest first."""
    # LangChain takes the start of a streamed tool call's arguments for the whole.
    is_cut_off = finish_reason(message) in {*_CUT_OFF, REPETITION}
    values = [] if is_cut_off else [call["args"] for call in message.tool_calls]
    values += [one for call in message.invalid_tool_calls for one in _json_values(call["args"])]
    values += _json_values(without_reasoning(message.text))
    for value in values:
        yield from _unwrap(value, decision)


LARGEST_NUMBER = 2**53 - 1
"""Largest whole number of a decision: every JSON parser, database and checkpoint can hold it."""

_NUMBER_IN_TEXT = re.compile(r"-?\d+")
_LINE_OR_SEMICOLON = re.compile(r"[\n;；]")
_BULLET = re.compile(r"^\s*[-*•]\s+", re.MULTILINE)
_COMMA = re.compile(r",(?!\d{3}(?!\d))|[，、]")  # not between the digits of 2,000
_WORDS_OF_NAME = 4  # of the longest part of a text that counts as names between commas


def _mended(value: Any, kind: Any) -> Any:
    """Return a JSON value in the form of a field's type, where its meaning is clear.

    Null is an empty text or list, or 0; a number is a text; one item, or a text of several, is a
    list. Lists have no equal items. Texts lose control characters, which a terminal may obey, and
    lone surrogates.
    """
    if get_origin(kind) is Annotated:
        return _mended(value, get_args(kind)[0])
    if get_origin(kind) is list:
        return _mended_list(value, get_args(kind)[0])
    if isinstance(value, str):
        return without_controls(value)
    if kind is str and value is None:
        return ""
    if kind is str and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if kind is str and isinstance(value, list) and all(isinstance(one, str) for one in value):
        return without_controls("\n".join(value))
    if kind is int and value is None:
        return 0
    if kind is int and isinstance(value, int | float) and value == value // 1:
        return max(-LARGEST_NUMBER, min(int(value), LARGEST_NUMBER))
    if isinstance(value, dict) and isinstance(kind, type) and issubclass(kind, Decision):
        fields = {name: kind.model_fields[name] for name in value if name in kind.model_fields}
        mended = {name: _mended(value[name], field.annotation) for name, field in fields.items()}
        for name, one in mended.items():
            bounds = fields[name].json_schema_extra
            most = bounds.get("maxItems") if isinstance(bounds, dict) else MOST_ITEMS
            if isinstance(one, list) and isinstance(most, int) and len(one) > most:
                raise UnusableReply("misfit", f"{name} has {len(one)} items, at most {most} fit")
        return mended
    return value


def _mended_list(value: Any, kind: Any) -> list[Any]:
    """Return the items of a list, mended, each once; blank texts and null are left out."""
    items = value if isinstance(value, list) else [value]
    if isinstance(value, str):
        items = _parts(value, kind)
    mended = [_mended(one, kind) for one in items if one is not None]
    kept = [one for one in mended if not isinstance(one, str) or one.strip()]
    unique: dict[str, Any] = {}
    for one in kept:
        unique.setdefault(_identity(one), one)
    return list(unique.values())


def _identity(item: Any) -> str:
    """Return a text that is equal for equal items of a list, up to white space."""
    return folded(item) if isinstance(item, str) else json.dumps(item, sort_keys=True)


def _parts(text: str, kind: Any) -> list[Any]:
    """Divide a text that stands for a list: JSON, numbers, lines, or short names with commas."""
    if kind is int:
        return [_whole_number(digits) for digits in _NUMBER_IN_TEXT.findall(text)]
    if (listed := _json_values(text)) and isinstance(listed[0], list):
        return listed[0]
    parts = _LINE_OR_SEMICOLON.split(_BULLET.sub("", text))
    names = _COMMA.split(text)
    if len(parts) == 1 and all(len(one.split()) <= _WORDS_OF_NAME for one in names):
        parts = names
    return [one.strip() for one in parts]


def _check_length(text: str, task: Task[Any]) -> None:
    """Raise UnusableReply for a reply far longer than the task asks for (endless repetition)."""
    if len(text) > CHARACTERS_A_TOKEN * task.reply_tokens:
        raise UnusableReply("cut_off")


def _whole_number(digits: str) -> int:
    """The number of a JSON text; one of endless digits, which Python refuses, is cut short."""
    return int(digits[:_MOST_DIGITS])


_MOST_DIGITS = 400  # more than a float has
_DECODER = json.JSONDecoder(
    strict=False,  # raw line breaks inside of strings are common
    parse_int=_whole_number,
    parse_constant=lambda name: None,  # NaN and Infinity are no JSON
)
_STRING_OR_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*(?:"|\Z))|,(?=\s*[\]}])', re.DOTALL)
_END_AFTER_COMMA = re.compile(r",?\s*[\]}]")
_MOST_BRACKETS = 10_000  # of a reply, at which JSON is looked for
_MOST_MENDINGS = 10  # places of a reply from which its trailing commas are removed


def _json_values(text: str | None) -> list[Any]:
    """Return the outermost JSON objects and lists in a text, the last first."""
    text, values, position, mendings = text or "", [], 0, 0
    for _ in range(_MOST_BRACKETS):
        bracket = _BRACKET.search(text, position)
        if bracket is None:
            break
        text = text[bracket.start() :]  # else each error would count all lines before it
        try:
            value, position = _DECODER.raw_decode(text)
            values.append(value)
        except RecursionError:  # endless brackets: the text before them may hold a decision
            break
        except json.JSONDecodeError as error:
            end = _END_AFTER_COMMA.match(text, error.pos)
            before = text[: error.pos].rstrip()[-1:] if end else ""
            if end and "," in (before, text[error.pos]) and mendings < _MOST_MENDINGS:
                text = _STRING_OR_TRAILING_COMMA.sub(r"\1", text)
                position, mendings = 0, mendings + 1
            else:
                position = 1
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
