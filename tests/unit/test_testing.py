import pytest
from langchain_core.messages import AIMessage

from graphreader.agent.decisions import FactsDecision, RationalPlan
from graphreader.agent.tasks import FactGroup, FactsTask, PlanTask
from graphreader.errors import ReplyError
from graphreader.llm import structured_output
from graphreader.llm.protocols import Decider
from graphreader.testing import ChatRequest, FunctionChatModel, RequestRefused, ScriptedDecider

FACTS = FactsTask("Who?", "Look.", (), "", "Danny", (FactGroup("chunk 1", ("Danny won.",)),))


# Functions may be coroutine functions, and give strings, messages, decisions or exceptions.
async def test_kinds_of_replies() -> None:
    async def function(request: ChatRequest) -> object:
        replies = {
            "s": "text",
            "m": AIMessage("message"),
            "d": RationalPlan(plan="p"),
            "e": OSError(),
        }
        return replies[request.user]

    model = FunctionChatModel(function=function)

    assert (await model.ainvoke("s")).content == "text"
    assert (await model.ainvoke("m")).content == "message"
    assert (await model.ainvoke("d")).content == '{"plan": "p", "needs": []}'
    with pytest.raises(OSError):  # noqa: PT011  # any
        await model.ainvoke("e")


# What a model refuses is answered as a server would, with status 400 and the parameter's name.
async def test_refusals() -> None:
    model = FunctionChatModel(function=lambda request: "yes", refuses=frozenset({"tools"}))

    with pytest.raises(RequestRefused, match="'tools'") as caught:
        await model.bind_tools([structured_output.tool(RationalPlan)]).ainvoke("a")

    assert caught.value.status_code == 400
    assert (await model.ainvoke("a")).content == "yes"


# A scripted decider answers each class of task by its function and keeps the tasks. Its decisions
# are checked as a model's are: only what was shown can be chosen.
async def test_scripted_decider() -> None:
    async def plan(task: PlanTask) -> RationalPlan:
        return RationalPlan(plan=f"Find out: {task.question}")

    def chunks(*numbers: int) -> ScriptedDecider:
        decision = FactsDecision(
            notebook="", rationale="", function="read_chunk", chunks=list(numbers)
        )
        return ScriptedDecider({FactsTask: lambda task: decision})

    decider: Decider = (scripted := ScriptedDecider({PlanTask: plan}))
    plan_result = await decider.decide(PlanTask("Who?"))
    facts_result = await chunks(1).decide(FACTS)

    assert plan_result.decision.plan == "Find out: Who?"
    assert plan_result.usage.calls == 1
    assert scripted.asked == [PlanTask("Who?")]
    assert (facts_result.decision.chunks, facts_result.task) == ([1], FACTS)
    with pytest.raises(ReplyError, match="not read yet"):
        await chunks(2).decide(FACTS)
    with pytest.raises(LookupError, match="PlanTask"):
        await chunks(1).decide(PlanTask("Who?"))
    with pytest.raises(TypeError, match="needs a RationalPlan"):
        await ScriptedDecider({PlanTask: lambda task: FACTS}).decide(PlanTask("Who?"))
