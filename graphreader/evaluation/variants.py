"""The variants of GraphReader that an evaluation compares: modes, ablations and sweeps.

An ablation leaves out a part (paper, section 4.3 and table 4), a sweep changes one number (figures
3 and 4). Random choices depend only on seed and question.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from random import Random
from typing import Any

from langgraph.runtime import Runtime

from graphreader.agent.context import RunContext, Update
from graphreader.agent.decisions import NeighborDecision
from graphreader.agent.events import NodesChosen, PlanMade
from graphreader.agent.exploration import FIRST_PAGE, Exploration, chosen_function, ranked_neighbors
from graphreader.agent.graph import NodeSet
from graphreader.agent.modes import MODES
from graphreader.agent.planning import Planning
from graphreader.agent.state import PathState, RunState
from graphreader.errors import UsageError
from graphreader.settings import Settings

GRAPHREADER = "graphreader"
ALL_NEIGHBORS = 100_000  # of which one is drawn, each with the same chance


class WithoutPlan(Planning):
    """Planning without a rational plan: the question is the plan, and no model is asked."""

    async def rational_plan(self, state: RunState, runtime: Runtime[None]) -> Update:
        """Return the question as the plan."""
        runtime.stream_writer(PlanMade(state["question"]))
        return {"plan": state["question"], "needs": [], "costs": {}, "notes": []}


class RandomInitialNodes(Planning):
    """Planning with random initial nodes, drawn among all key elements."""

    def __init__(self, context: RunContext, seed: int) -> None:
        super().__init__(context)
        self._seed = seed

    async def initial_nodes(self, state: RunState, runtime: Runtime[None]) -> Update:
        """Draw one key element for each path, all different."""
        random = Random(f"{self._seed} {state['question']}")
        number = self._context.limits.initial_nodes
        shares = [random.random() for _ in range(4 * number)]
        drawn = dict.fromkeys(await self._context.explorer.sample(shares))
        nodes = list(drawn)[:number]
        runtime.stream_writer(NodesChosen(tuple(node.name for node in nodes)))
        chosen = [{"id": node.id, "name": node.name} for node in nodes]
        return {"nodes": chosen, "related": [], "costs": {}, "notes": []}


class RandomNeighbors(Exploration):
    """Exploration of random neighbors: always move on to an unvisited neighbor."""

    def __init__(self, context: RunContext, seed: int) -> None:
        super().__init__(context)
        self._seed = seed

    async def explore_neighbors(self, state: PathState, runtime: Runtime[None]) -> Update:
        """Move to a random neighbor; the move counts as a function call."""
        neighbors = await ranked_neighbors(self._context, state, ALL_NEIGHBORS)
        if not neighbors:
            return {"stopped": "nothing_left"}
        position = f"{state['path']} {len(state['functions'])}"
        random = Random(f"{self._seed} {state['question']} {position}")
        node = random.choice(sorted(neighbors, key=lambda node: node.name))
        decision = NeighborDecision(
            rationale="Chosen by chance.", function="read_neighbor_node", neighbor=1
        )
        return {
            **self.count_call(state, chosen_function(state, decision, node.name), runtime),
            **FIRST_PAGE,
            "node": {"id": node.id, "name": node.name},
            "visited": [*state["visited"], node.id],
        }


WITHOUT_PLAN = NodeSet(planning=WithoutPlan)


@cache
def without_node_selection(seed: int) -> NodeSet:
    """Make the node functions of an agent with random initial nodes and neighbors."""
    planning = partial(RandomInitialNodes, seed=seed)
    return NodeSet(planning=planning, exploration=partial(RandomNeighbors, seed=seed))


@dataclass(frozen=True, slots=True)
class Variant:
    """A variant of GraphReader with other settings or node functions.

    `is_study`: the variant is an ablation or a sweep, not a mode.
    """

    name: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    nodes: Callable[[int], NodeSet | None] = lambda seed: None
    is_study: bool = True

    def settings(self, settings: Settings) -> Settings:
        """Apply the changes of the variant to settings. Raises SettingsError."""
        # Ablations and sweeps change the paper's mode.
        mode = {"mode": "paper"} if self.is_study else {}
        return Settings.read(**{**settings.model_dump(exclude_unset=True), **mode, **self.changes})


# A mode's own limits replace those that are configured.
_OWN_LIMITS: Mapping[str, Any] = {"initial_nodes": None, "calls": None}

_VARIANTS = {
    variant.name: variant
    for variant in (
        Variant(GRAPHREADER, is_study=False),
        *(
            Variant(f"{GRAPHREADER}-{mode}", {**_OWN_LIMITS, "mode": mode}, is_study=False)
            for mode in MODES
        ),
        Variant(f"{GRAPHREADER}-no-plan", nodes=lambda seed: WITHOUT_PLAN),
        Variant(f"{GRAPHREADER}-random-nodes", nodes=without_node_selection),
        Variant(f"{GRAPHREADER}-no-normalization", {"normalize": "none"}),
        Variant(f"{GRAPHREADER}-one-path", {"initial_nodes": 1}),
    )
}

_SWEEPS: Mapping[str, str] = {"nodes": "initial_nodes", "chunk": "chunk_tokens"}
SWEEP_NAME = rf"^{GRAPHREADER}-({'|'.join(_SWEEPS)})-(\d{{1,9}})\Z"
"""The pattern of a sweep's name; its groups are the changed setting and the number."""


def is_graphreader(name: str) -> bool:
    """Whether a reader's name is of GraphReader or a variant of it."""
    return name == GRAPHREADER or name.startswith(f"{GRAPHREADER}-")


def variant(name: str) -> Variant:
    """Find a variant by its name. Raises UsageError, which lists all names."""
    if name in _VARIANTS:
        return _VARIANTS[name]
    if sweep := re.match(SWEEP_NAME, name):
        return Variant(name, {_SWEEPS[sweep[1]]: int(sweep[2])})
    names = (*_VARIANTS, *(f"{GRAPHREADER}-{sweep}-N" for sweep in _SWEEPS))
    raise UsageError(f"There is no reader {name!r}: of GraphReader there are {', '.join(names)}.")


def is_study(name: str) -> bool:
    """Whether a reader's name is of an ablation or a sweep of GraphReader."""
    known = name in _VARIANTS or re.match(SWEEP_NAME, name)
    return bool(known) and variant(name).is_study
