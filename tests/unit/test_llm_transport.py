"""The text of one field of a reply, read while the reply is streamed."""

import json
import random
from collections.abc import Iterator

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import tool_call_chunk

from graphreader.llm.structured_output import object_start
from graphreader.llm.transport import GrowingField

TEXT = 'Danny "the Drum" \\ 林雨桐 😀\n\t{"answer": "no"} é'
REPLY = {"analysis": 'An "answer": {"answer": "x"}', "answer": TEXT, "claims": [{"answer": "y"}]}
WRITTEN = [
    json.dumps(REPLY),
    json.dumps(REPLY, ensure_ascii=False),
    json.dumps(REPLY, indent=2).replace("\\u00e9", "\\u00E9"),
]


def pieces_of(text: str, sizes: Iterator[int]) -> Iterator[str]:
    while text:
        size = next(sizes)
        yield text[:size]
        text = text[size:]


def heard(text: str, seed: int, *, tool: bool = False) -> list[str]:
    """What is heard of a reply that comes in pieces of one to six characters."""
    dice = random.Random(seed)
    field = GrowingField("answer")
    pieces = []
    for piece in pieces_of(text, iter(lambda: dice.randint(1, 6), None)):
        call = tool_call_chunk(name="Answer", args=piece, id="1", index=0)
        chunk = AIMessageChunk("", tool_call_chunks=[call]) if tool else AIMessageChunk(piece)
        pieces.append(field.add(chunk))
    return [piece for piece in pieces if piece]


# The text of the field alone is heard, piece by piece, wherever the reply is cut: inside escapes,
# pairs of surrogates, names and brackets; as content or as a tool's arguments.
@pytest.mark.parametrize("tool", [True, False])
@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("seed", range(8))
def test_cut_anywhere(written: str, seed: int, tool: bool) -> None:
    pieces = heard(written, seed, tool=tool)

    assert "".join(pieces) == TEXT
    assert len(pieces) > 8
    assert all(sign < "\ud800" or sign > "\udfff" for piece in pieces for sign in piece)


# Thoughts and a fence before the object, and words behind it, are not heard.
@pytest.mark.parametrize(
    "around",
    [
        '<think>Is it {{"answer": "no"}}? No.</think>\n{0}',
        "```json\n{0}\n```\nI hope it helps.",
        "Hm.[/THINK] {0}",
        " \n{0} {0}",
    ],
)
def test_around_the_object(around: str) -> None:
    pieces = heard(around.format(WRITTEN[0]), 1)

    assert "".join(pieces) == TEXT


# Of a reply that is no JSON object, or has no such field in words, nothing is heard.
@pytest.mark.parametrize(
    "text",
    [
        "Analyze: it is so. Final answer: Danny.",
        'The answer is {"answer": "Danny"}',
        '[{"answer": "Danny"}]',
        '{"Answer": {"answer": "Danny"}}',
        '{"answer": ["Danny"]}',
        '{"answer": 1972}',
        "{answer: Danny}",
        "",
    ],
)
def test_nothing_to_hear(text: str) -> None:
    assert heard(text, 2) == []


# A message in one piece, of a client that does not stream, is heard at once.
def test_whole_message() -> None:
    assert GrowingField("answer").add(AIMessage(WRITTEN[1])) == TEXT


# Where an object begins can be told as soon as it does.
def test_where_it_begins() -> None:
    assert object_start(' {"a') == 1
    assert object_start("<think>{}</think>{") == 17
    assert object_start("") is object_start("Gladly: {") is object_start("<think>{") is None
