"""The decider of a language model, streamed answers, and the budget and tasks that it is given."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import tool_call_chunk

from graphreader.agent.answering import AnswerStream
from graphreader.agent.events import AnswerToken
from graphreader.agent.tasks import (
    InitialNodesTask,
    PlanTask,
)
from graphreader.errors import BudgetError, ReplyError
from graphreader.ingestion.extraction import ExtractionTask
from graphreader.llm.chat_model import GrowingAnswer, LanguageModelDecider
from graphreader.llm.protocols import ROOM_TO_THINK, Budget
from graphreader.llm.rate_limit import RateLimiter, RateLimits, set_rate_limiter
from graphreader.llm.retry import ModelService
from graphreader.testing import ChatRequest, FunctionChatModel, RequestRefused
from graphreader.usage import Usage

PLAN = PlanTask("Who was born first?")
GOOD = {"plan": "Compare the dates."}


def decider_of(
    function: Callable[[ChatRequest], Any], *, window: int = 4096, **options: Any
) -> tuple[LanguageModelDecider, FunctionChatModel]:
    model = FunctionChatModel(function=function, **options)
    decider = LanguageModelDecider(
        model,
        ModelService("fake:model"),
        window=window,
    )
    return decider, model


class Failing:
    """Fails in the given ways one after the other, then replies."""

    def __init__(self, *failures: Any) -> None:
        self.failures = list(failures)

    def __call__(self, request: ChatRequest) -> Any:
        return self.failures.pop(0) if self.failures else GOOD


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
    replies = iter(['{"plan": {}}', GOOD])
    decider, model = decider_of(lambda request: next(replies))

    decided = await decider.decide(PLAN)

    assert decided.usage.calls == 2
    assert decided.usage.input_tokens > 500
    again = model.requests[1].messages
    assert [message.type for message in again] == ["system", "human", "ai", "human"]
    assert again[2].content == '{"plan": {}}'
    assert "plan: Input should be a valid string" in str(again[3].content)


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


# A limit of the reply that is too large for the service is halved until it is accepted; a small one
# is left out: the service knows none.
@pytest.mark.parametrize(
    ("most", "sent"), [(3000, [4096, 2048, 2048]), (0, [4096, 2048, 1024, None, None])]
)
async def test_limits_that_are_refused(most: int, sent: list[int | None]) -> None:
    def function(request: ChatRequest) -> Any:
        limit = request.options.get("max_tokens")
        if limit and limit > most:
            return RequestRefused(400, f"max_tokens is too large: {limit}")
        return {"facts": []}

    decider, model = decider_of(function)
    for _ in range(2):
        await decider.decide(ExtractionTask("A title", "Ada ran. " * 200))

    assert [request.options.get("max_tokens") for request in model.requests] == sent


# A model that thinks without end does not spend the whole budget on one task.
async def test_thinking_without_end() -> None:
    endless = AIMessage("", response_metadata={"finish_reason": "length"})
    decider, model = decider_of(lambda request: endless)

    with pytest.raises(ReplyError):
        await decider.decide(PLAN, Budget(max_tokens=100_000))

    assert len(model.requests) == 3


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


# Fewer different nodes than asked for are sent back once; then a shorter list will do.
@pytest.mark.parametrize("second", [[1, 2], [99], "useless"])
async def test_few_initial_nodes(second: Any) -> None:
    def nodes(numbers: list[int]) -> Any:
        return {"nodes": [{"number": number, "score": 50} for number in numbers]}

    replies = iter([nodes([1, 1, 99]), second if second == "useless" else nodes(second)])
    decider, model = decider_of(lambda request: next(replies))
    task = InitialNodesTask("Who?", "Look.", tuple(f"node {n}" for n in range(20)))

    decided = await decider.decide(task)

    taken = [1, 99] if second in ([99], "useless") else second
    assert [node.number for node in decided.decision.nodes] == taken
    assert decided.usage.calls == len(model.requests) == 2
    assert "names 1 of the listed nodes: name at least 10" in model.requests[1].user


# Content that a provider filters is refused, and not sent again.
async def test_filtered_content() -> None:
    message = "The response was filtered due to the content management policy"
    decider, model = decider_of(lambda request: RequestRefused(400, message))

    with pytest.raises(ReplyError, match="refuses to reply"):
        await decider.decide(PLAN)

    assert len(model.requests) == 1


TEXT = 'Danny "the Drum" \\ 林雨桐 😀\n\t{"answer": "no"} é'
REPLY = {"analysis": 'An "answer": {"answer": "x"}', "answer": TEXT, "claims": [{"answer": "y"}]}
WRITTEN = [json.dumps(REPLY), json.dumps(REPLY, ensure_ascii=False, indent=2)]


def answer_pieces(text: str, seed: int, *, tool: bool = False) -> list[str]:
    """The pieces of the answer in a reply that comes in pieces of one to six characters."""
    dice, answer, pieces = random.Random(seed), GrowingAnswer(), []
    while text:
        size = dice.randint(1, 6)
        part, text = text[:size], text[size:]
        call = tool_call_chunk(name="Answer", args=part, id="1", index=0)
        chunk = AIMessageChunk("", tool_call_chunks=[call]) if tool else AIMessageChunk(part)
        pieces.append(answer.add(chunk))
    return [piece for piece in pieces if piece]


# The text of the answer alone comes, piece by piece, wherever the reply is cut: inside escapes,
# pairs of surrogates, names and brackets; as content or as a tool's arguments.
@pytest.mark.parametrize("tool", [True, False])
@pytest.mark.parametrize("written", WRITTEN)
def test_growing_answer(written: str, tool: bool) -> None:
    for seed in range(3):
        pieces = answer_pieces(written, seed, tool=tool)

        assert "".join(pieces) == TEXT
        assert len(pieces) > 8
        assert all(sign < "\ud800" or sign > "\udfff" for piece in pieces for sign in piece)


# Reasoning and a fence before the object, and words behind it, are left out. A reply that is no
# JSON object, or has no answer in words, gives no pieces.
@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        (f'<think>Is it {{"answer": "no"}}? No.</think>\n{WRITTEN[0]}', TEXT),
        (f"```json\n{WRITTEN[0]}\n```\nI hope it helps.", TEXT),
        (f"Hm.[/THINK] {WRITTEN[0]}", TEXT),
        (f" \n{WRITTEN[0]} {WRITTEN[0]}", TEXT),
        ('The answer is {"answer": "Danny"}', ""),
        ('{"answer": ["Danny"]}', ""),
    ],
)
def test_around_the_object(reply: str, answer: str) -> None:
    assert "".join(answer_pieces(reply, 1)) == answer


# A message in one piece, of a client that does not stream, comes at once.
def test_whole_message() -> None:
    assert GrowingAnswer().add(AIMessage(WRITTEN[1])) == TEXT


# Whatever was streamed, in the end it is the answer, and nothing is sent twice without need.
@pytest.mark.parametrize(
    ("pieces", "tokens"),
    [
        ([], [("Danny won.", True)]),
        ([("Danny ", True), ("won.", False)], [("Danny ", True), ("won.", False)]),
        ([("Danny ", True)], [("Danny ", True), ("won.", False)]),
        ([("Alice", True), ("Danny", True)], [("Alice", True), ("Danny", True), (" won.", False)]),
        ([("Alice", True)], [("Alice", True), ("Danny won.", True)]),
        ([("Danny won. Or", True)], [("Danny won. Or", True), ("Danny won.", True)]),
    ],
)
def test_answer_stream(pieces: list[tuple[str, bool]], tokens: list[tuple[str, bool]]) -> None:
    sent: list[AnswerToken] = []
    stream = AnswerStream(sent.append)
    for piece, begins in pieces:
        stream(piece, begins)
    stream.finish("Danny won.")

    assert [(token.text, token.begins) for token in sent] == tokens


# A reservation counts at once; what a request did not need is given back, all of it if it failed.
async def test_reservations() -> None:
    budget = Budget(max_calls=3, max_tokens=1000)
    await budget.take(600, "explore")
    with pytest.raises(BudgetError, match="max_tokens is 1,000"):
        await budget.take(600, "explore")
    await budget.settle(600, Usage())
    await budget.take(900, "explore")
    await budget.settle(900, Usage(calls=1, input_tokens=300, output_tokens=100))

    assert budget.left("explore") == 600
    await budget.take(600, "explore")
    with pytest.raises(BudgetError):
        await budget.take(1, "explore")


# Paths divide the calls that are left; the first paths get the remainder, whatever number they
# begin with.
@pytest.mark.parametrize("first", [1, 2])
def test_divided_calls(first: int) -> None:
    budgets = [Budget(max_calls=10) for _ in range(4)]
    for number, budget in enumerate(budgets, first):
        budget.divide(number, 4)

    assert sorted(budget.calls_left for budget in budgets) == [2, 2, 3, 3]


# What cost more than could be told before counts for all that come later.
async def test_what_cost_more() -> None:
    budget = Budget(max_tokens=1000)
    await budget.take(300, "explore")
    await budget.settle(300, Usage(calls=1, input_tokens=200, output_tokens=900))

    assert budget.left("explore") == -100
    with pytest.raises(BudgetError, match=r"max_tokens is 1,000\. For more, set --max-tokens"):
        await budget.take(1, "answer")


# Where not even the first request may be made, the sentence says how much that would need.
async def test_too_small_from_the_start() -> None:
    with pytest.raises(BudgetError, match=r"max_tokens is 500, .* need 1,100, .* --max-tokens"):
        await Budget(max_tokens=500, answer_tokens=400).take(700, "plan")
    with pytest.raises(BudgetError, match=r"max_calls is 1, .* need 2, .* --max-calls"):
        await Budget(max_calls=1, answer_tokens=400).take(700, "plan")
    with pytest.raises(BudgetError, match=r"need 700: set --max-tokens"):
        await Budget(max_tokens=500).take(700, "extract")


# One call and its tokens are kept back for the answer, which may use them.
async def test_the_answer_has_its_part() -> None:
    budget = Budget(max_calls=3, max_tokens=1000, answer_tokens=400)
    await budget.take(300, "plan")
    with pytest.raises(BudgetError):
        await budget.take(301, "explore")
    await budget.take(300, "explore")
    with pytest.raises(BudgetError):
        await budget.take(0, "explore")

    await budget.take(400, "answer")


class Spent:
    """A quota that counts what is taken from it."""

    def __init__(self) -> None:
        self.calls = self.tokens = 0

    async def check(self) -> None:
        """Nothing is ever used up."""

    async def check_holder(self) -> None:
        """Anybody may use it."""

    async def take(self, tokens: int) -> None:
        self.calls, self.tokens = self.calls + 1, self.tokens + tokens

    async def settle(self, calls: int, tokens: int) -> None:
        self.calls, self.tokens = self.calls + calls, self.tokens + tokens


# A request of an ingest waits in the background, and the budgets of two runs share one quota.
@pytest.mark.parametrize("background", [True, False])
async def test_quota_and_background(background: bool) -> None:
    seen: list[bool] = []

    class Limiter(RateLimiter):
        def slot(self, tokens: int = 0, *, background: bool = False) -> Any:
            seen.append(background)
            return super().slot(tokens, background=background)

    set_rate_limiter(Limiter(RateLimits()))
    decider, _ = decider_of(lambda request: {"plan": "Compare the dates.", "needs": ["date"]})
    quota, spent = Spent(), Usage()
    for _ in range(2):
        budget = Budget(quota=quota, background=background)
        spent += (await decider.decide(PLAN, budget)).usage

    assert seen == [background] * 2
    assert (quota.calls, quota.tokens) == (2, spent.tokens)
