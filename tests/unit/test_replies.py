import json

import pytest
from langchain_core.messages import AIMessage

from graphreader.deciding.decisions import Extraction, FactsDecision, RationalPlan
from graphreader.deciding.replies import UnusableReply, read

PLAN = {"plan": "Find the year."}
TEXT = json.dumps(PLAN)


# The decision is found wherever models put it.
@pytest.mark.parametrize(
    "content",
    [
        TEXT,
        f"  {TEXT}\n",
        f"```json\n{TEXT}\n```",
        f"Here is my plan:\n```\n{TEXT}\n```\nI hope it helps.",
        f"Sure! {TEXT} Anything else?",
        f'<think>Perhaps {{"plan": "Find the place."}}? No.</think>{TEXT}',
        f"Perhaps some {{braces}} first. No.</think>\n{TEXT}",
        f'First {{"plan": "Find the place."}}, but better: {TEXT}',
        f"<think>I should answer {TEXT}",
        json.dumps({"RationalPlan": PLAN}),
        json.dumps({"name": "RationalPlan", "arguments": PLAN}),
        json.dumps({"name": "RationalPlan", "arguments": TEXT}),
        f"[{TEXT}]",
        json.dumps({**PLAN, "confidence": 0.9}),
        f"[1] The question names a year. {TEXT}",
        [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": TEXT}],
    ],
)
def test_finds_the_decision(content: str | list[str | dict[str, str]]) -> None:
    assert read(AIMessage(content), RationalPlan).plan == "Find the year."


# A tool call's arguments are the decision, also where they are not quite JSON.
def test_tool_calls() -> None:
    called = {"name": "RationalPlan", "args": PLAN, "id": "1", "type": "tool_call"}
    broken = {
        "name": "RationalPlan", "args": '{"plan": "Find\nthe year."}', "id": "1",
        "error": None, "type": "invalid_tool_call",
    }  # fmt: skip

    assert read(AIMessage("", tool_calls=[called]), RationalPlan).plan == "Find the year."
    assert read(AIMessage("", invalid_tool_calls=[broken]), RationalPlan).plan == "Find\nthe year."


# A bare list is the one list of a decision; unknown keys deep inside are left out.
def test_bare_list() -> None:
    facts = [{"fact": "贞德生于1412年。", "key_elements": ["贞德"], "number": 1}]

    extraction = read(AIMessage(json.dumps(facts)), Extraction)

    assert extraction.facts[0].fact == "贞德生于1412年。"


# Half a surrogate pair, which no database stores, does not get through.
def test_lone_surrogates() -> None:
    plan = read(AIMessage('{"plan": "a \\ud83d b 😀"}'), RationalPlan).plan

    assert plan == "a � b 😀"
    plan.encode()


# Each way of not being a decision has its name.
@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (AIMessage(""), "empty"),
        (AIMessage(" \n"), "empty"),
        (AIMessage("I would look for the year."), "no_json"),
        (AIMessage('{"weather": 1}'), "no_json"),
        (AIMessage('{"plan": 1}'), "misfit"),
        (AIMessage('{"plan": "Fin', response_metadata={"finish_reason": "length"}), "cut_off"),
        (AIMessage('{"plan": "Fin', response_metadata={"stop_reason": "max_tokens"}), "cut_off"),
        (AIMessage("", response_metadata={"finish_reason": "content_filter"}), "refused"),
        (AIMessage("", additional_kwargs={"refusal": "I cannot."}), "refused"),
        (AIMessage([{"type": "refusal", "refusal": "I cannot."}]), "refused"),
    ],
)
def test_kinds_of_unusable_replies(message: AIMessage, kind: str) -> None:
    with pytest.raises(UnusableReply) as caught:
        read(message, RationalPlan)

    assert caught.value.kind == kind


# What is missing is not made up: the model is told which field it is.
def test_problem_names_the_field() -> None:
    reply = '{"notebook": "n", "rationale": "r", "function": "read_page"}'

    with pytest.raises(UnusableReply) as caught:
        read(AIMessage(reply), FactsDecision)

    assert "function: Input should be 'read_chunk'" in caught.value.problem
    assert "chunks: Field required" in caught.value.problem
