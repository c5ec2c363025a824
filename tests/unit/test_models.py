"""Two deciders as one: the model that answers may be another one than the one that explores."""

from typing import Any

from graphreader.agent.decisions import Answer, RationalPlan
from graphreader.agent.tasks import AnswerTask, PlanTask
from graphreader.llm.protocols import Decider
from graphreader.models import RoutingDecider
from graphreader.offline.decider import OfflineDecider
from graphreader.testing import ScriptedDecider

PLAN = PlanTask("Who?")
ANSWER = AnswerTask("Who?", "Look.", ("Danny won.",), ())


class Named(ScriptedDecider):
    """A decider that decides by its name."""

    def __init__(self, name: str) -> None:
        reply = Answer(analysis="", answer=name, answered=True)
        script = {PlanTask: lambda _: RationalPlan(plan=name), AnswerTask: lambda _: reply}
        super().__init__(script, name=name, notice=f"{name} says hello.")
        self.prompts = f"prompts of {name}"

    async def decide(self, task: Any, budget: Any = None, on_token: Any = None) -> Any:
        if on_token:
            on_token(self.name, True)
        return await super().decide(task, budget)

    def measure(self, task: object) -> int:
        return len(self.name)


# Tasks of the answer, with their tokens, go to the answerer, all others to the explorer.
async def test_routing() -> None:
    pieces: list[tuple[str, bool]] = []
    explorer, answerer = Named("small"), Named("largest")
    decider: Decider = RoutingDecider(explorer, answerer)

    plan = await decider.decide(PLAN)
    answer = await decider.decide(ANSWER, None, lambda *piece: pieces.append(piece))

    assert (plan.decision.plan, answer.decision.answer) == ("small", "largest")
    assert (decider.measure(PLAN), decider.measure(ANSWER)) == (5, 7)
    assert (explorer.asked, answerer.asked) == ([PLAN], [ANSWER])
    assert pieces == [("largest", True)]


# Both are named with their prompts and notices; what is the same appears once.
def test_description() -> None:
    both = RoutingDecider(Named("small"), Named("large"))
    same = RoutingDecider(OfflineDecider(), OfflineDecider())

    assert both.name == "small, answers by large"
    assert both.prompts == "prompts of small, prompts of large"
    assert both.notice == "small says hello. large says hello."
    assert (same.notice, same.prompts) == (OfflineDecider.notice, OfflineDecider.prompts)
