"""Decisions read from replies of models: JSON, tool calls, text."""

import json

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import tool_call_chunk

from graphreader.agent.tasks import (
    FactsTask,
    PlanTask,
)
from graphreader.ingestion.extraction import ExtractionTask
from graphreader.llm.structured_output import (
    UnusableReply,
    has_reasoning,
    holds_json,
    is_complete,
    read,
)

PLAN_TASK = PlanTask("When?")
PLAN = {"plan": "Find the year."}
TEXT = json.dumps(PLAN)
EXTRACTION = ExtractionTask("A title", "A text.")


# The decision is read from wherever models put it.
@pytest.mark.parametrize(
    "content",
    [
        f"  {TEXT}\n",
        f"Here is my plan:\n```json\n{TEXT}\n```\nI hope it helps.",
        f'<think>Perhaps {{"plan": "Find the place."}}? No.</think>{TEXT}',
        f"Perhaps some {{braces}} first. No.</think>\n{TEXT}",
        f'First {{"plan": "Find the place."}}, but better: {TEXT}',
        f'[THINK]Perhaps {{"plan": "No."}}?[/THINK]{TEXT}',
        f"<thinking>One.</thinking><thinking>Two.</thinking>\n```json\n{TEXT}\n```",
        json.dumps({"RationalPlan": PLAN}),
        json.dumps({"name": "RationalPlan", "arguments": TEXT}),
        f"[{TEXT}]",
        json.dumps({**PLAN, "confidence": 0.9}),
        "[Danny] was {here} [1]. " * 100 + TEXT,
        [{"type": "thinking", "thinking": '{"plan": "No."}'}, {"type": "text", "text": TEXT}],
    ],
)
def test_finds_the_decision(content: str | list[str | dict[str, str]]) -> None:
    assert read(AIMessage(content), PLAN_TASK).plan == "Find the year."


# A tool call's arguments are the decision, also where they are not quite JSON.
def test_tool_calls() -> None:
    called = {"name": "RationalPlan", "args": PLAN, "id": "1", "type": "tool_call"}
    broken = {
        "name": "RationalPlan", "args": '{"plan": "Find\nthe year."}', "id": "1",
        "error": None, "type": "invalid_tool_call",
    }  # fmt: skip

    assert read(AIMessage("", tool_calls=[called]), PLAN_TASK).plan == "Find the year."
    assert read(AIMessage("", invalid_tool_calls=[broken]), PLAN_TASK).plan == "Find\nthe year."


# A bare list is the one list of a decision; unknown keys deep inside are left out.
def test_bare_list() -> None:
    facts = [{"fact": "贞德生于1412年。", "key_elements": ["贞德"], "number": 1}]

    extraction = read(AIMessage(json.dumps(facts)), EXTRACTION)

    assert extraction.facts[0].fact == "贞德生于1412年。"


# Half a surrogate pair, which no database stores, and control characters, which a terminal obeys,
# do not get through, in content or in the arguments of a tool.
def test_control_characters() -> None:
    plan = read(AIMessage('{"plan": "a\\ud83d b😀\\u001b[31m\\u202e\\n"}'), PLAN_TASK).plan
    call = {"name": "RationalPlan", "args": {"plan": "b\x1b", "needs": ["c\x07"]}, "id": "1"}
    called = read(AIMessage("", tool_calls=[call]), PLAN_TASK)

    assert plan == "a b😀[31m\n"
    assert (called.plan, called.needs) == ("b", ["c"])


# A reply that is far longer than its task asks for counts as cut off, so it is asked for again.
def test_endless_reply() -> None:
    fits = json.dumps({"plan": "a" * 10 * PLAN_TASK.reply_tokens})

    assert read(AIMessage(fits), PLAN_TASK)
    with pytest.raises(UnusableReply) as raised:
        read(AIMessage(json.dumps({"plan": "a" * 400_000})), PLAN_TASK)
    assert raised.value.kind == "cut_off"


def ended(text: str, **metadata: str) -> AIMessage:
    return AIMessage(text, response_metadata=metadata)


# Each way of not being a decision has its name.
@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (AIMessage(" \n"), "empty"),
        (AIMessage("I'm sorry, I can't help with that."), "no_json"),
        (AIMessage('{"plan": "Find the year. '), "no_json"),
        (AIMessage("```json\n{'plan': Find the year.}\n```"), "no_json"),
        (AIMessage('{"weather": 1}'), "no_json"),
        (AIMessage('{"plan": {}}'), "misfit"),
        (ended('{"plan": "Fin', finish_reason="length"), "cut_off"),
        (ended('{"plan": "Fin', stopReason="max_tokens"), "cut_off"),
        (ended('<think>Say {"plan": "Find it."}', stop_reason="max_tokens"), "cut_off"),
        (ended("", finish_reason="content_filter"), "refused"),
        (AIMessage("", additional_kwargs={"refusal": "I cannot."}), "refused"),
        (AIMessage([{"type": "refusal", "refusal": "I cannot."}]), "refused"),
    ],
)
def test_kinds_of_unusable_replies(message: AIMessage, kind: str) -> None:
    with pytest.raises(UnusableReply) as caught:
        read(message, PLAN_TASK)

    assert caught.value.kind == kind


# What is missing is not made up: the model is told which field it is.
def test_problem_names_the_field() -> None:
    reply = '{"notebook": "n", "rationale": "r", "function": "read_page"}'

    with pytest.raises(UnusableReply) as caught:
        read(AIMessage(reply), FactsTask("Who?", "", (), "", "D", ()))

    assert "function: Input should be 'read_chunk'" in caught.value.problem
    assert "chunks: Field required" in caught.value.problem


# A mistake inside an object never leaves a smaller decision than the one that was written.
@pytest.mark.parametrize(
    "reply",
    [
        '{"facts": [{"fact": "He said "no".", "key_elements": []}]}',
        '{"facts": [{"fact": "a", "key_elements": ["a"]}, {"fact": "b, "key_elements": ["b"]}]}',
        '{"facts": [{"fact": "a", "key_elements": ["a"]}, {"fact": "He"',
    ],
)
def test_broken_lists_are_not_read_in_part(reply: str) -> None:
    with pytest.raises(UnusableReply):
        read(AIMessage(reply), EXTRACTION)


# Whether a reply is in JSON is known even where it does not fit.
@pytest.mark.parametrize(
    ("message", "is_json"),
    [
        (AIMessage('{"weather": 1}'), True),
        (AIMessage("Find [1] the year."), False),
        (AIMessage("", tool_calls=[{"name": "x", "args": {}, "id": "1"}]), True),
    ],
)
def test_holds_json(message: AIMessage, is_json: bool) -> None:
    assert holds_json(message) is is_json


def counted(reasoning: int) -> AIMessage:
    details = {"reasoning": reasoning}
    usage = {"input_tokens": 9, "output_tokens": 9, "total_tokens": 18}
    return AIMessage(TEXT, usage_metadata={**usage, "output_token_details": details})  # type: ignore[typeddict-item]


# Reasoning is noticed wherever it shows: in marks, blocks, further fields, in the bill.
@pytest.mark.parametrize(
    ("message", "reasons"),
    [
        (AIMessage("<think>Hm, and"), True),
        (AIMessage(f"Hm.</think>{TEXT}"), True),
        (AIMessage(f"[THINK]Hm.[/THINK]{TEXT}"), True),
        (AIMessage([{"type": "redacted_thinking", "data": "x"}]), True),
        (AIMessage(TEXT, additional_kwargs={"reasoning_content": "Hm."}), True),
        (counted(reasoning=5), True),
        (counted(reasoning=0), False),
        (AIMessage([{"type": "text", "text": TEXT}]), False),
        (AIMessage(TEXT, additional_kwargs={"reasoning_content": ""}), False),
    ],
)
def test_reasoning_is_noticed(message: AIMessage, reasons: bool) -> None:
    assert has_reasoning(message) is reasons


# A reply that is one endless run is recognized in good time; what stands before it counts.
@pytest.mark.parametrize("unit", ["{", "[", '["', "[x\n", "<think>", "7", "```", '{"a":'])
def test_endless_runs(unit: str) -> None:
    run = unit * (20_000 // len(unit))

    with pytest.raises(UnusableReply) as caught:
        read(AIMessage(run), EXTRACTION)
    assert caught.value.kind == "no_json"
    assert read(AIMessage(f"{TEXT}\n{run}".replace("<", "")), PLAN_TASK).plan == "Find the year."


# Some services give no reason for the end of a stream: JSON that is whole tells that it is one.
@pytest.mark.parametrize("tool", [False, True])
@pytest.mark.parametrize(("text", "whole"), [('{"plan": "Go."}', True), ('{"plan": "Go', False)])
def test_streams_without_an_end(tool: bool, text: str, whole: bool) -> None:
    call = tool_call_chunk(name="Plan", args=text, id="1", index=0)
    chunk = AIMessageChunk("", tool_call_chunks=[call]) if tool else AIMessageChunk(text)

    assert is_complete(chunk) is whole
