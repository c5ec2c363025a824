"""The agent with a part taken away (paper, section 4.3 and table 4; ours), as steps of its own.

Chance is seeded: with the same seed the same question takes the same way again.
"""

from functools import cache, partial
from random import Random

from langgraph.runtime import Runtime

from graphreader.agent.events import NodesChosen, PlanMade
from graphreader.agent.exploration import Exploration
from graphreader.agent.graph import Steps
from graphreader.agent.neighborhood import neighbors_of
from graphreader.agent.parts import Parts, Update
from graphreader.agent.path import FIRST_PAGE, called
from graphreader.agent.planning import Planning
from graphreader.agent.state import Exploring, Run
from graphreader.deciding.decisions import NeighborDecision


class WithoutPlan(Planning):
    """No rational plan: the question stands in its place, which asks nothing of a model."""

    async def rational_plan(self, state: Run, runtime: Runtime[None]) -> Update:
        """Take the question for the plan."""
        runtime.stream_writer(PlanMade(state["question"]))
        return {"plan": state["question"], "needs": [], "costs": {}, "notes": []}


class RandomInitialNodes(Planning):
    """Any N key elements of the graph as initial nodes."""

    def __init__(self, parts: Parts, seed: int) -> None:
        super().__init__(parts)
        self._seed = seed

    async def initial_nodes(self, state: Run, runtime: Runtime[None]) -> Update:
        """Take N nodes by chance; none twice."""
        chance = Random(f"{self._seed} {state['question']}")
        wanted = self._parts.limits.initial_nodes
        shares = [chance.random() for _ in range(4 * wanted)]
        found = dict.fromkeys(await self._parts.explorer.drawn(shares))
        nodes = list(found)[:wanted]
        runtime.stream_writer(NodesChosen(tuple(node.name for node in nodes)))
        chosen = [{"id": node.id, "name": node.name} for node in nodes]
        return {"nodes": chosen, "related": [], "costs": {}, "notes": []}


class WithoutSharing(Planning):
    """Paths are not told what the searches found for all of them: each ranks by its own node alone.

    It is the only thing beside question and plan that they share on their way; ours, not the
    paper's.
    """

    async def initial_nodes(self, state: Run, runtime: Runtime[None]) -> Update:
        """Choose them as ever, and keep what was found."""
        return {**await super().initial_nodes(state, runtime), "related": []}


class RandomNeighbors(Exploration):
    """Any unvisited neighbor next, as long as there is one."""

    def __init__(self, parts: Parts, seed: int) -> None:
        super().__init__(parts)
        self._seed = seed

    async def explore_neighbors(self, state: Exploring, runtime: Runtime[None]) -> Update:
        """Go on at a neighbor by chance; it counts as a call, as a chosen one does."""
        found = await neighbors_of(self._parts, state)
        if not found:
            return {"stopped": "nothing_left"}
        place = f"{state['path']} {len(state['functions'])}"
        chance = Random(f"{self._seed} {state['question']} {place}")
        node = chance.choice(sorted(found, key=lambda one: one.name))
        decision = NeighborDecision(
            rationale="Chosen by chance.", function="read_neighbor_node", neighbor=1
        )
        return {
            **self._called(state, called(state, decision, node.name), runtime),
            **FIRST_PAGE,
            "node": {"id": node.id, "name": node.name},
            "visited": [*state["visited"], node.id],
        }


WITHOUT_PLAN = Steps(planning=WithoutPlan)
WITHOUT_SHARING = Steps(planning=WithoutSharing)


@cache
def without_node_selection(seed: int) -> Steps:
    """Initial nodes and neighbors by chance; another seed, other nodes."""
    planning = partial(RandomInitialNodes, seed=seed)
    return Steps(planning=planning, exploration=partial(RandomNeighbors, seed=seed))
