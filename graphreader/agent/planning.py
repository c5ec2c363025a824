"""Agent initialization (paper, section 3.3.1): the rational plan and the initial nodes."""

from langgraph.runtime import Runtime

from graphreader import tokens
from graphreader.agent.events import NodesChosen, PlanMade
from graphreader.agent.parts import Parts, Update
from graphreader.agent.ranking import fused
from graphreader.agent.state import Run
from graphreader.deciding.decisions import InitialNodes
from graphreader.deciding.tasks import InitialNodesTask, PlanTask
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
        """Break the question down into steps (figure 7)."""
        decision, cost = await self._parts.decide(PlanTask(state["question"]))
        runtime.stream_writer(PlanMade(decision.plan))
        return {"plan": decision.plan, "cost": cost}

    async def initial_nodes(self, state: Run, runtime: Runtime[None]) -> Update:
        """Score candidates from the graph and take the best N that really exist (figure 8)."""
        candidates = await self._candidates(state["question"], state["plan"])
        if not candidates:
            return {"nodes": [], "notes": ["The corpus has nothing to start from."]}
        names = tuple(node.name for node in candidates)
        task = InitialNodesTask(state["question"], state["plan"], names)
        decision, cost = await self._parts.decide(task)
        chosen = _best(decision, candidates, self._parts.limits.initial_nodes)
        runtime.stream_writer(NodesChosen(tuple(node.name for node in chosen)))
        return {"nodes": [{"id": n.id, "name": n.name} for n in chosen], "cost": cost}

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


def _best(decision: InitialNodes, candidates: list[Node], number: int) -> list[Node]:
    """The best scored nodes that were shown, each once; filled up by rank if too few."""
    proposed = sorted(decision.nodes, key=lambda node: -node.score)
    shown = [candidates[n.number - 1] for n in proposed if 1 <= n.number <= len(candidates)]
    unique = {node.id: node for node in [*shown, *candidates]}
    return list(unique.values())[:number]
