from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from graphreader.agent.tasks import (
    ChunkTask,
    FactGroup,
    FactsTask,
    InitialNodesTask,
    NeighborTask,
    PlanTask,
)
from graphreader.errors import BudgetError, DecisionError, ReplyError, WindowError
from graphreader.ingestion.extraction import ExtractionTask
from graphreader.llm.chat_model import LanguageModelDecider
from graphreader.llm.protocols import ROOM_TO_THINK, Budget, Decider
from graphreader.llm.providers import adapter_for
from graphreader.llm.redaction import display_url, redact
from graphreader.llm.retry import ModelService
from graphreader.llm.structured_output import UnusableReply
from graphreader.llm.window import message_tokens
from graphreader.testing import ChatRequest, FunctionChatModel, RequestRefused

PLAN = PlanTask("Who was born first?")
GOOD = {"plan": "Compare the dates."}


def decider_of(
    function: Callable[[ChatRequest], Any], *, window: int = 4096, **options: Any
) -> tuple[LanguageModelDecider, FunctionChatModel]:
    model = FunctionChatModel(function=function, **options)
    decider = LanguageModelDecider(
        lambda: model,
        ModelService("fake:model"),
        window=window,
        adapter=adapter_for("openai", model),
    )
    return decider, model


class Failing:
    """Fails in the given ways one after the other, then replies."""

    def __init__(self, *failures: Any) -> None:
        self.failures = list(failures)

    def __call__(self, request: ChatRequest) -> Any:
        return self.failures.pop(0) if self.failures else GOOD


# A decision comes back with its cost; fixed text stands first, the question last.
async def test_decides() -> None:
    decider, model = decider_of(lambda request: GOOD)
    as_decider: Decider = decider

    decided = await as_decider.decide(PLAN)

    assert decided.decision.plan == "Compare the dates."
    assert decided.usage.calls == 1
    assert 250 < decided.usage.input_tokens < 600
    assert 5 < decided.usage.output_tokens < 20
    assert decider.name == "fake:model"
    assert decider.notice == ""
    assert model.requests[0].decision == "RationalPlan"
    assert model.requests[0].options["response_format"]["type"] == "json_schema"
    assert "Who was born first?" not in model.requests[0].system
    assert "Who was born first?" in model.requests[0].user


# The provider's own count of tokens goes before ours.
async def test_usage_of_the_provider() -> None:
    usage = {"input_tokens": 70, "output_tokens": 7, "total_tokens": 77}
    decider, _ = decider_of(lambda _: AIMessage('{"plan": "p"}', usage_metadata=usage))

    decided = await decider.decide(PLAN)

    assert (decided.usage.input_tokens, decided.usage.output_tokens) == (70, 7)


# JSON schema, then a tool, then plain text: what is refused is not asked for again.
@pytest.mark.parametrize(
    ("refuses", "asked", "forms"),
    [
        ({"response_format"}, 3, ["response_format", "tools", "tools"]),
        ({"response_format", "tools"}, 4, ["response_format", "tools", None, None]),
    ],
)
async def test_ladder_of_forms(refuses: set[str], asked: int, forms: list[str | None]) -> None:
    decider, model = decider_of(lambda request: GOOD, refuses=frozenset(refuses))

    first, second = await decider.decide(PLAN), await decider.decide(PLAN)

    assert first.decision == second.decision
    assert first.usage.calls == 1
    assert len(model.requests) == asked
    for request, form in zip(model.requests, forms, strict=True):
        bound = [one for one in ("response_format", "tools") if one in request.options]
        assert bound == ([form] if form else [])
    assert ("JSON schema" in model.requests[-1].system) is (forms[-1] is None)


# A temperature that the model refuses is dropped for good.
async def test_refused_temperature() -> None:
    decider, model = decider_of(
        lambda request: GOOD, refuses=frozenset({"temperature"}), temperature=0.2
    )

    await decider.decide(PLAN)
    await decider.decide(PLAN)

    temperatures = [request.options["temperature"] for request in model.requests]
    assert temperatures == [0.2, None, None]


# A server that ignores the schema without a word is told the schema in words, once and for all.
async def test_ignored_schema() -> None:
    def function(request: ChatRequest) -> Any:
        return '{"plan": "p"}' if "JSON schema" in request.system else "Gladly."

    decider, model = decider_of(function)

    first = await decider.decide(PLAN)
    await decider.decide(PLAN)

    assert first.usage.calls == 3
    assert len(model.requests) == 4


# A model that begins with mere words, and then does as it is told, is asked with the schema still.
async def test_a_slip_at_first() -> None:
    decider, model = decider_of(Failing("Hm."))

    for _ in range(3):
        await decider.decide(PLAN)

    assert len(model.requests) == 4
    assert all("response_format" in request.options for request in model.requests)


# A reply that does not fit is sent back once, with what is wrong; both replies are paid.
async def test_sent_back_once() -> None:
    replies = iter(['{"plan": 7}', GOOD])
    decider, model = decider_of(lambda request: next(replies))

    decided = await decider.decide(PLAN)

    assert decided.usage.calls == 2
    assert decided.usage.input_tokens > 500
    again = model.requests[1].messages
    assert [message.type for message in again] == ["system", "human", "ai", "human"]
    assert again[2].content == '{"plan": 7}'
    assert "plan: Input should be a valid string" in str(again[3].content)


# A decision that cannot be carried out is sent back with the task's own words.
async def test_impossible_choice_is_sent_back() -> None:
    task = NeighborTask("Who?", "Look.", (), "", "Danny", ("Alice", "Bob"))

    def function(request: ChatRequest) -> Any:
        corrected = "number of a node, 1 to 2" in request.user
        return {
            "rationale": "",
            "function": "read_neighbor_node",
            "neighbor": 2 if corrected else 9,
        }

    decider, _ = decider_of(function)

    assert (await decider.decide(task)).decision.neighbor == 2


# The second unusable reply is an error, with its kind and with what was spent.
async def test_unusable_twice() -> None:
    decider, model = decider_of(lambda request: "")

    with pytest.raises(ReplyError, match="also after asking again: it was empty") as caught:
        await decider.decide(PLAN)

    assert isinstance(caught.value, UnusableReply)
    assert caught.value.kind == "empty"
    assert caught.value.spent.calls == len(model.requests) == 2
    assert caught.value.spent.input_tokens > 500


# A model that thinks first may think as long as the budget allows, and replies with what is left.
async def test_thinking_on_a_budget() -> None:
    limits: list[int] = []

    def function(request: ChatRequest) -> Any:
        limits.append(request.options["max_tokens"])
        if len(limits) == 1:
            return AIMessage("", response_metadata={"finish_reason": "length"})
        return GOOD

    decider, _ = decider_of(function)
    await decider.decide(PLAN, Budget(max_tokens=3000))
    await decider.decide(PLAN, Budget())
    prompt = decider.measure(PLAN)
    await decider.decide(PLAN, Budget(max_tokens=prompt + PLAN.reply_tokens))

    assert limits[0] == limits[3] == PLAN.reply_tokens
    assert PLAN.reply_tokens < limits[1] < 3000
    assert limits[2] == PLAN.reply_tokens + ROOM_TO_THINK
    with pytest.raises(BudgetError):
        await decider.decide(PLAN, Budget(max_tokens=prompt + PLAN.reply_tokens - 1))


# A model that thinks without end does not spend the whole budget on one task.
async def test_thinking_without_end() -> None:
    endless = AIMessage("", response_metadata={"finish_reason": "length"})
    decider, model = decider_of(lambda request: endless)

    with pytest.raises(ReplyError):
        await decider.decide(PLAN, Budget(max_tokens=100_000))

    assert len(model.requests) == 3


# A refusal is not argued with.
async def test_refusal() -> None:
    refusal = AIMessage("", additional_kwargs={"refusal": "I cannot help with that."})
    decider, model = decider_of(lambda request: refusal)

    with pytest.raises(ReplyError, match="refuses to reply") as caught:
        await decider.decide(PLAN)

    assert len(model.requests) == caught.value.spent.calls == 1


# Only what was really shown can be chosen, and the decision says what that was.
async def test_left_out_choices_cannot_be_chosen() -> None:
    def function(request: ChatRequest) -> Any:
        number = 1 if "cannot be used" in request.user else 2900
        return {"nodes": [{"number": number, "score": 50}]}

    decider, model = decider_of(function)
    task = InitialNodesTask("Who?", "Look.", tuple(f"node number {n}" for n in range(3000)))

    decided = await decider.decide(task)

    assert decided.usage.calls == 2
    assert decided.decision.nodes[0].number == 1
    assert isinstance(decided.task, InitialNodesTask)
    names = task.nodes[: decided.task.choices]
    assert decided.task.nodes == names
    assert f"[{len(names)}] {names[-1]}\n</nodes>" in model.requests[1].user


# A number beyond what was shown may stand beside a valid one: the task tells them apart.
async def test_shown_task_tells_what_was_left_out() -> None:
    reply = {"notebook": "", "rationale": "", "function": "read_chunk", "chunks": [1, 300]}
    decider, _ = decider_of(lambda request: reply)
    groups = tuple(FactGroup(f"chunk {n}", ("Danny won a match.",) * 5) for n in range(300))

    decided = await decider.decide(FactsTask("Who?", "Look.", (), "", "D", groups))

    assert decided.decision.chunks == [1, 300]
    assert isinstance(decided.task, FactsTask)
    assert 1 < len(decided.task.groups) < 300
    assert decided.task.remaining == 1500 - decided.task.own_choices


# Fewer nodes than asked for are sent back once; then a shorter list will do.
@pytest.mark.parametrize("second", [[1, 2], list(range(1, 11)), [99], "useless"])
async def test_few_initial_nodes(second: Any) -> None:
    def nodes(numbers: list[int]) -> Any:
        return {"nodes": [{"number": number, "score": 50} for number in numbers]}

    replies = iter([nodes([1, 1, 99]), second if second == "useless" else nodes(second)])
    decider, model = decider_of(lambda request: next(replies))
    task = InitialNodesTask("Who?", "Look.", tuple(f"node {n}" for n in range(20)))

    decided = await decider.decide(task)

    taken = [1, 1, 99] if second in ([99], "useless") else second
    assert [node.number for node in decided.decision.nodes] == taken
    assert decided.usage.calls == len(model.requests) == 2
    assert "names 1 of the listed nodes: name at least 10" in model.requests[1].user


# A plan so long that later prompts could not hold it is sent back.
async def test_long_plan() -> None:
    decider, model = decider_of(Failing({"plan": "First look for the year. " * 60}))

    decided = await decider.decide(PLAN)

    assert decided.decision.plan == "Compare the dates."
    assert "shorten it to at most five sentences" in model.requests[1].user


# A prompt that cannot be shortened is refused with the numbers, and nothing is sent.
async def test_too_large() -> None:
    decider, model = decider_of(lambda request: GOOD)

    with pytest.raises(WindowError, match=r"has [56],\d{3} tokens, .* only 4,096"):
        await decider.decide(ExtractionTask("A title", "word " * 5000))
    with pytest.raises(WindowError):
        await decider.decide(
            FactsTask("Who?", "", (), "", "D", (FactGroup("one", ("It is so. " * 2000,)),) * 2)
        )

    assert model.requests == []


# A correction never makes a prompt exceed the window: the wrong reply goes first.
async def test_correction_keeps_to_the_window() -> None:
    text = "word " * 3200
    task = ChunkTask("Who?", "Look.", (), "", "D", "label", text)
    decider, model = decider_of(lambda request: '{"notebook": "' + "note " * 400 + '"}')

    with pytest.raises(ReplyError):
        await decider.decide(task)

    assert len(model.requests) == 2
    assert [message.type for message in model.requests[1].messages] == ["system", "human"]
    assert "cannot be used" in model.requests[1].user
    for request in model.requests:
        assert message_tokens(request.messages) < 4096


# A path's prompts carry no history: the tenth is two messages as the first is, and hardly longer.
async def test_no_growing_history() -> None:
    decider, model = decider_of(
        lambda request: {
            "notebook": "The war ended in 1453.",
            "quotes": [],
            "rationale": f"thought number {len(model.requests)}",
            "function": "search_more",
        }
    )
    notebook, actions = "", ()
    for number in range(10):
        text = f"passage {number} " * 50
        task = ChunkTask("Who?", "Look.", actions, notebook, "D", f"chunk {number}", text)
        notebook = (await decider.decide(task)).decision.notebook
        actions = (*actions, f"at chunk {number}: search_more()")

    last = model.requests[9]
    assert [[one.type for one in request.messages] for request in model.requests] == [
        ["system", "human"]
    ] * 10
    assert "passage 9" in last.user
    assert "passage 8" not in last.user
    assert "thought number" not in last.user
    assert message_tokens(last.messages) - message_tokens(model.requests[0].messages) < 150


# The model's own window, and content that a provider does not take, have their own errors.
@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (
            "This model's maximum context length is 2048 tokens, with the response_format",
            WindowError,
        ),
        ("The response was filtered due to the content management policy", ReplyError),
    ],
)
async def test_other_refusals(message: str, kind: type[DecisionError]) -> None:
    decider, model = decider_of(lambda request: RequestRefused(400, message))

    with pytest.raises(kind):
        await decider.decide(PLAN)

    assert len(model.requests) == 1


# Keys are blotted out of a service's words, the configured one whatever it looks like.
def test_redact() -> None:
    words = redact("No own-server-key, gsk_abcdefgh or http://me:pw@host/v1.", {"own-server-key"})

    assert words == "No ..., ... or http://host/v1."
    assert redact("unknown", {"k"}) == "unknown"
    assert display_url("http://me:p@w@host:8000/v1?key=secret") == "http://host:8000/v1"
    assert display_url("me:pw@host/v1") == "host/v1"
    assert display_url("http://host/v1") == "http://host/v1"
