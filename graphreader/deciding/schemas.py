"""The JSON schema of a decision, in the forms in which providers want to see it.

Strict mode of OpenAI: one flat object, every property required, no further ones, no `oneOf`.
References are written out, titles and docstrings left out: they cost tokens in every prompt.
"""

import json
from functools import cache
from typing import Any

from graphreader.deciding.decisions import Decision

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
