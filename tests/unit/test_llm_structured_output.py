import json

import pytest
from langchain_core.messages import AIMessage

from graphreader.agent.tasks import (
    FactsTask,
    PlanTask,
)
from graphreader.ingestion.extraction import ExtractionTask
from graphreader.llm.structured_output import (
    UnusableReply,
    has_reasoning,
    holds_json,
    read,
)

ASKED = PlanTask("When?")
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
        "[Danny] was {here}. " * 100 + TEXT,
        [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": TEXT}],
        [{"type": "thinking", "thinking": '{"plan": "No."}'}, {"type": "text", "text": TEXT}],
        f'[THINK]Perhaps {{"plan": "No."}}?[/THINK]{TEXT}',
        f'◁think▷Perhaps {{"plan": "No."}}?◁/think▷{TEXT}',
        f'<|channel|>analysis<|message|>{{"plan": "No."}}<|end|><|channel|>final<|message|>{TEXT}',
        f"<thinking>One.</thinking><thinking>Two.</thinking>\n```json\n{TEXT}\n```",
    ],
)
def test_finds_the_decision(content: str | list[str | dict[str, str]]) -> None:
    assert read(AIMessage(content), ASKED).plan == "Find the year."


# A tool call's arguments are the decision, also where they are not quite JSON.
def test_tool_calls() -> None:
    called = {"name": "RationalPlan", "args": PLAN, "id": "1", "type": "tool_call"}
    broken = {
        "name": "RationalPlan", "args": '{"plan": "Find\nthe year."}', "id": "1",
        "error": None, "type": "invalid_tool_call",
    }  # fmt: skip

    assert read(AIMessage("", tool_calls=[called]), ASKED).plan == "Find the year."
    assert read(AIMessage("", invalid_tool_calls=[broken]), ASKED).plan == "Find\nthe year."


# A bare list is the one list of a decision; unknown keys deep inside are left out.
def test_bare_list() -> None:
    facts = [{"fact": "贞德生于1412年。", "key_elements": ["贞德"], "number": 1}]

    extraction = read(AIMessage(json.dumps(facts)), ExtractionTask("A title", "A text."))

    assert extraction.facts[0].fact == "贞德生于1412年。"


# Half a surrogate pair, which no database stores, does not get through.
def test_lone_surrogates() -> None:
    plan = read(AIMessage('{"plan": "a \\ud83d b 😀"}'), ASKED).plan

    assert plan == "a � b 😀"
    plan.encode()


# Each way of not being a decision has its name.
@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (AIMessage(""), "empty"),
        (AIMessage(" \n"), "empty"),
        (AIMessage("I'm sorry, I can't help with that."), "no_json"),
        (AIMessage("Which text do you mean?"), "no_json"),
        (AIMessage('{"plan": "Find the year. '), "no_json"),
        (AIMessage("```json\n{'plan': Find the year.}\n```"), "no_json"),
        (AIMessage('The "plan": find the year.'), "no_json"),
        (AIMessage("Find the", response_metadata={"finish_reason": "length"}), "cut_off"),
        (AIMessage("Find the", response_metadata={"finish_reason": "refusal"}), "refused"),
        (
            AIMessage(
                '<think>Say {"plan": "Find it."}',
                response_metadata={"finish_reason": "length"},
            ),
            "cut_off",
        ),
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
        read(message, ASKED)

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
        read(AIMessage(reply), ExtractionTask("A title", "A text."))


# What a model only thought counts as its reply where it says nothing else.
@pytest.mark.parametrize(
    "message",
    [
        AIMessage("", additional_kwargs={"reasoning_content": f"So: {TEXT}"}),
        AIMessage([{"type": "thinking", "thinking": TEXT}]),
        AIMessage(f"<think>{TEXT}</think>"),
    ],
)
def test_replies_among_thoughts(message: AIMessage) -> None:
    assert read(message, ASKED).plan == "Find the year."


# Whether a reply is in JSON is known even where it does not fit.
@pytest.mark.parametrize(
    ("message", "is_json"),
    [
        (AIMessage(TEXT), True),
        (AIMessage('{"weather": 1}'), True),
        (AIMessage("Find [1] the year."), False),
        (AIMessage(""), False),
        (AIMessage("", tool_calls=[{"name": "x", "args": {}, "id": "1"}]), True),
    ],
)
def test_holds_json(message: AIMessage, is_json: bool) -> None:
    assert holds_json(message) is is_json


def counted(reasoning: int) -> AIMessage:
    details = {"reasoning": reasoning}
    usage = {"input_tokens": 9, "output_tokens": 9, "total_tokens": 18}
    return AIMessage(TEXT, usage_metadata={**usage, "output_token_details": details})  # type: ignore[typeddict-item]


# Thinking is noticed wherever it shows: in marks, blocks, beside the message, in the bill.
@pytest.mark.parametrize(
    ("message", "thinks"),
    [
        (AIMessage(f"<think>Hm.</think>{TEXT}"), True),
        (AIMessage("<think>Hm, and"), True),
        (AIMessage(f"Hm.</think>{TEXT}"), True),
        (AIMessage(f"[THINK]Hm.[/THINK]{TEXT}"), True),
        (AIMessage([{"type": "thinking", "thinking": "Hm."}]), True),
        (AIMessage([{"type": "redacted_thinking", "data": "x"}]), True),
        (AIMessage([{"type": "reasoning", "summary": []}, {"type": "text", "text": TEXT}]), True),
        (AIMessage(TEXT, additional_kwargs={"reasoning_content": "Hm."}), True),
        (counted(reasoning=5), True),
        (counted(reasoning=0), False),
        (AIMessage(TEXT), False),
        (AIMessage([{"type": "text", "text": TEXT}]), False),
        (AIMessage(TEXT, additional_kwargs={"reasoning_content": ""}), False),
    ],
)
def test_thinking_is_noticed(message: AIMessage, thinks: bool) -> None:
    assert has_reasoning(message) is thinks


RUNS = ["{", "[", "[]", '["', "[x\n", "[1] ", "<think>", "[THINK]", "7", " ", "```", "Plan:"]
TASKS = (ASKED, ExtractionTask("A title", "A text."), FactsTask("Who?", "", (), "", "D", ()))


# A reply that is one endless run is told as such, in good time.
@pytest.mark.parametrize("unit", RUNS)
def test_endless_runs(unit: str) -> None:
    reply = AIMessage(unit * (20_000 // len(unit)))

    for task in TASKS:
        with pytest.raises(UnusableReply) as caught:
            read(reply, task)
        assert caught.value.kind == ("empty" if not unit.strip() else "no_json")
    assert not holds_json(reply)


# Brackets nested too deeply, and numbers too long, are no JSON; what stands before them counts.
@pytest.mark.parametrize(
    "broken",
    ["[" * 600 + "]" * 600, '{"a":' * 600 + "1" + "}" * 600, "[" * 90_000, f"[{'7' * 5000}]"],
)
def test_json_that_is_too_deep_or_too_long(broken: str) -> None:
    with pytest.raises(UnusableReply) as caught:
        read(AIMessage(broken), ExtractionTask("A title", "A text."))

    assert caught.value.kind == "no_json"
    assert read(AIMessage(f"{TEXT}\n{broken}"), ASKED).plan == "Find the year."
