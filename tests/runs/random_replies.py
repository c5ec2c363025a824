"""Replies of a model by chance: they fit the schema of the request, or go past its bounds."""

import json
import random
import re
from hashlib import blake2b
from typing import Any

from tests.runs.openai_faults import Body

_SCHEMA_IN_WORDS = re.compile(r"It must fit this JSON schema:\n(\{.*\})")
_TEXTS = [
    *(
        "",
        " ",
        "\n",
        "None",
        "yes",
        "1",
        "0",
        "3.12",
        "1.1",
        "-1",
        "[1]",
        "*",
        "?",
        ".*",
        "\\",
        '"',
    ),
    *("\u0000", "\ud800", "a\ud83d", "\u202eabc", "e\u0301", "😀", "陈静", "</facts>", "{}", "```"),
    *("{'answer': 1}", "<think>", "$name", "{question}", "x" * 2_000, "word " * 400),
]
_INTEGERS = [0, -1, 100, 101, 2**31, 2**53, 2**63 - 1, 2**63, -(2**63) - 1, 2**64, 10**30, 10**400]
_WRONG: list[Any] = [
    *(None, True, 1.5, -1e308, "", "text", "1, 2", [], ["a", None], {}, {"a": 1}, [[]], [1, "2"]),
]
_MOST = 60  # items of a list without an upper bound
_MOST_ITEMS = 2_000  # of all lists of a reply


class RandomReplies:
    """Makes the reply to a request from the request and a `seed`, so runs can be repeated.

    Of its values a share of `broken` does not fit the schema. Most numbers and texts are such as
    the prompt has, else a run would soon end.
    """

    def __init__(self, seed: int, broken: float) -> None:
        self._seed = seed
        self._broken = broken

    def __call__(self, body: Body) -> str:
        """The reply as JSON, with escapes for what UTF-8 does not have."""
        text = json.dumps(body["messages"])
        dice = random.Random(blake2b(f"{self._seed} {text}".encode(), digest_size=8).hexdigest())
        prompt = str(body["messages"][-1]["content"])
        return json.dumps(_Value(dice, self._broken, prompt).of(_schema(body)))


def _schema(body: Body) -> Body:
    if form := body.get("response_format"):
        return dict(form["json_schema"]["schema"])
    if tools := body.get("tools"):
        return dict(tools[0]["function"]["parameters"])
    texts = "\n".join(str(message["content"]) for message in body["messages"])
    found = _SCHEMA_IN_WORDS.search(texts)
    return dict(json.loads(found[1])) if found else {"type": "string"}


class _Value:
    """The values of one reply."""

    def __init__(self, dice: random.Random, broken: float, prompt: str) -> None:
        self._dice = dice
        self._broken = broken
        self._prompt = prompt
        self._left = _MOST_ITEMS

    def of(self, schema: Body) -> Any:
        """A value of the schema, or one that does not fit."""
        dice = self._dice
        if dice.random() < self._broken:
            return dice.choice(_WRONG)
        if "enum" in schema or "const" in schema:
            return dice.choice(schema.get("enum") or [schema["const"]])
        if choices := schema.get("anyOf"):
            return self.of(dice.choice(choices))
        match schema.get("type"):
            case "object":
                return self._object(schema)
            case "array":
                return [self.of(schema["items"]) for _ in range(self._size(schema))]
            case "integer":
                return self._integer(schema)
            case "number":
                return dice.choice([0.5, -1.0, 1e308, *_INTEGERS[:-1]])
            case "boolean":
                return dice.random() < 0.5
            case "null":
                return None
        return self._text()

    def _object(self, schema: Body) -> Body:
        fields = {name: self.of(one) for name, one in schema.get("properties", {}).items()}
        if fields and self._dice.random() < self._broken:
            fields.pop(self._dice.choice(list(fields)))
            fields["another field"] = 1
        return fields

    def _size(self, schema: Body) -> int:
        most = schema.get("maxItems", _MOST)
        common = self._dice.randint(0, min(4, most))
        past = [most + 1, 20 * most] if self._broken else []
        size = min(self._left, self._dice.choice([common] * 12 + [0, most, *past]))
        self._left -= size
        return size

    def _integer(self, schema: Body) -> int:
        low, high = schema.get("minimum", 0), schema.get("maximum", 100)
        common = [self._dice.randint(low, min(high, low + 5)) for _ in range(12)]
        return self._dice.choice([*common, low, high, self._dice.choice(_INTEGERS)])

    def _text(self) -> str:
        if self._dice.random() < 0.2:
            return self._dice.choice(_TEXTS)
        start = self._dice.randrange(max(1, len(self._prompt)))
        return self._prompt[start : start + self._dice.choice([5, 20, 60, 300])]
