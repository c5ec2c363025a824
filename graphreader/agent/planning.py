"""Agent initialization (paper, section 3.3.1): the rational plan and the initial nodes."""

from langgraph.runtime import Runtime

from graphreader import tokens
from graphreader.agent.events import NodesChosen, PlanMade
from graphreader.agent.parts import Parts, Update, spent
from graphreader.agent.ranking import fused
from graphreader.agent.state import Run
from graphreader.deciding.decisions import InitialNodes, RationalPlan
from graphreader.deciding.tasks import PLAN_TOKENS, InitialNodesTask, PlanTask
from graphreader.errors import BudgetError, ReplyError, WindowError
from graphreader.sentences import language_of
from graphreader.store.explorer import Node

FEW = 400
"""Key elements up to which all of them may be candidates, if their names fit the window."""

SEARCHED = 50
"""Key elements that one search for candidates brings."""


class Planning:
    """The two steps that come before the exploration."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def rational_plan(self, state: Run, runtime: Runtime[None]) -> Update:
        """Break the question down into steps (figure 7). Without a usable plan: the question."""
        try:
            plan: RationalPlan
            plan, _, costs = await self._parts.decide(PlanTask(state["question"]))
        except (ReplyError, WindowError, BudgetError) as error:
            plan = RationalPlan(plan=_planless(state["question"]))
            runtime.stream_writer(PlanMade(plan.plan))
            note = f"There is no plan, the question served as one: {error}"
            return {"plan": plan.plan, "costs": spent(error, "plan"), "notes": [note]}
        runtime.stream_writer(PlanMade(plan.plan))
        return {"plan": plan.plan, "costs": costs}

    async def initial_nodes(self, state: Run, runtime: Runtime[None]) -> Update:
        """Score candidates from the graph and take the best N that really exist (figure 8).

        Where the scores cannot be used, the order of the searches counts.
        """
        candidates = await self._candidates(state["question"], state["plan"])
        if not candidates:
            return {"nodes": [], "notes": ["The corpus has nothing to start from."]}
        names = tuple(node.name for node in candidates)
        task = InitialNodesTask(state["question"], state["plan"], names)
        proposed: list[Node] = []
        notes = []
        try:
            decision, shown, costs = await self._parts.decide(task)
            proposed = _proposed(decision, candidates[: len(shown.nodes)])
        except (ReplyError, WindowError, BudgetError) as error:
            costs = spent(error, task.phase)
            notes.append(f"The initial nodes were taken in the order of the searches: {error}")
        unique = {node.id: node for node in [*proposed, *candidates]}
        chosen = list(unique.values())[: self._parts.limits.initial_nodes]
        runtime.stream_writer(NodesChosen(tuple(node.name for node in chosen)))
        nodes = [{"id": node.id, "name": node.name} for node in chosen]
        return {"nodes": nodes, "costs": costs, "notes": notes}

    async def _candidates(self, question: str, plan: str) -> list[Node]:
        """Every key element if their names fit half the window, else what searches find."""
        explorer = self._parts.explorer
        if await explorer.count() <= FEW:
            nodes = await explorer.nodes(FEW)
            if tokens.count("\n".join(n.name for n in nodes)) < self._parts.limits.window // 2:
                return nodes
        vectors = await self._parts.embedder.embed([question, plan])
        rankings = [await explorer.nearest(vector, SEARCHED) for vector in vectors]
        rankings += [await explorer.matching(text, SEARCHED) for text in (question, plan)]
        return fused(rankings, lambda node: node.id)


def _planless(question: str) -> str:
    """What stands for a plan: the question, unless it is too long to be shown twice."""
    if tokens.count(question) <= PLAN_TOKENS:
        return question
    return {"en": "Find what the question asks for.", "zh": "找出问题所问的内容。"}[
        language_of(question)
    ]


def _proposed(decision: InitialNodes, shown: list[Node]) -> list[Node]:
    """The chosen nodes, best score first; numbers that name none of the shown are dropped."""
    best_first = sorted(decision.nodes, key=lambda node: -node.score)
    return [shown[node.number - 1] for node in best_first if 1 <= node.number <= len(shown)]
