from typing import Any

import pytest

from graphreader.agent.decisions import Answer, RationalPlan
from graphreader.agent.tasks import AnswerTask, PlanTask
from graphreader.llm.chat_model import RoutingDecider
from graphreader.llm.protocols import Decider
from graphreader.offline.decider import OfflineDecider
from graphreader.testing import ScriptedDecider

PLAN = PlanTask("Who?")
ANSWER = AnswerTask("Who?", "Look.", ("Danny won.",), ())


class Closing(ScriptedDecider):
    """A decider that remembers that it was closed, and then may fail."""

    def __init__(self, name: str, *, fails: bool = False) -> None:
        reply = Answer(analysis="", answer=name, answered=True)
        script = {PlanTask: lambda _: RationalPlan(plan=name), AnswerTask: lambda _: reply}
        super().__init__(script, name=name, notice=f"{name} says hello.")
        self.prompts = f"prompts of {name}"
        self.closed = False
        self._fails = fails

    async def aclose(self) -> None:
        self.closed = True
        if self._fails:
            raise OSError("cannot be closed")

    async def decide(self, task: Any, budget: Any = None, heard: Any = None) -> Any:
        if heard:
            heard(self.name, True)
        return await super().decide(task, budget, heard)

    def measure(self, task: object) -> int:
        return len(self.name)


# The answer is the answerer's, and everything else the explorer's.
async def test_who_decides() -> None:
    explorer, answerer = Closing("small"), Closing("largest")
    decider: Decider = RoutingDecider(explorer, answerer)

    plan, answer = await decider.decide(PLAN), await decider.decide(ANSWER)

    assert (plan.decision.plan, answer.decision.answer) == ("small", "largest")
    assert (decider.measure(PLAN), decider.measure(ANSWER)) == (5, 7)
    assert (explorer.asked, answerer.asked) == ([PLAN], [ANSWER])


# Who wants to hear the answer hears the answerer.
async def test_who_is_heard() -> None:
    heard: list[tuple[str, bool]] = []
    decider = RoutingDecider(Closing("small"), Closing("largest"))

    await decider.decide(ANSWER, None, lambda *piece: heard.append(piece))

    assert heard == [("largest", True)]


# Both are named, with their prompts; what either has to say is said, but nothing twice.
def test_what_it_says() -> None:
    both = RoutingDecider(Closing("small"), Closing("large"))
    same = RoutingDecider(OfflineDecider(), OfflineDecider())

    assert both.name == "small, answers by large"
    assert both.prompts == "prompts of small, prompts of large"
    assert both.notice == "small says hello. large says hello."
    assert same.notice == OfflineDecider.notice
    assert same.prompts == OfflineDecider.prompts
    assert both.concurrency == 8


# Both are closed, also where the one fails at it.
@pytest.mark.parametrize("fails", [(True, False), (False, True)])
async def test_closing(fails: tuple[bool, bool]) -> None:
    first, second = Closing("a", fails=fails[0]), Closing("b", fails=fails[1])

    with pytest.raises(OSError, match="cannot be closed"):
        await RoutingDecider(first, second).aclose()

    assert first.closed
    assert second.closed
