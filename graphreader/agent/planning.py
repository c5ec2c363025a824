"""Agent initialization (paper, section 3.3.1): the rational plan and the initial nodes.

The key elements that may become initial nodes: all of a small graph, the best of a large one.

The paper shows all of them (section 3.3.1); in a graph of thousands most are noise to whoever has
to choose, and they fit no window.

Initial nodes that lead to different places (paper, figure 8: non-repetitive and diverse).
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from langgraph.runtime import Runtime

from graphreader import tokens
from graphreader.agent.decisions import InitialNodes, RationalPlan
from graphreader.agent.dependencies import AgentDependencies, Update, wasted_costs
from graphreader.agent.events import CandidatesFound, NodesChosen, PlanMade
from graphreader.agent.ranking import fused
from graphreader.agent.state import RunState
from graphreader.agent.tasks import PLAN_TOKENS, InitialNodesTask, PlanTask
from graphreader.errors import BudgetError, DecisionError, ReplyError, WindowError
from graphreader.store.records import Node, Profile
from graphreader.text.sentences import language_of, sentence_spans

CANDIDATES = 100
"""Key elements that may become initial nodes."""

SMALL = 2_000
"""Key elements of a graph in which those with the most facts are looked for quickly."""

SEARCHED = 50
"""Key elements that one search brings."""

RELATED = 15
"""Key elements that are taken to have to do with the question, wherever a path is."""


@dataclass(frozen=True, slots=True)
class Found:
    """Candidates, best first; `related` are the ids of the best of those that searches found."""

    nodes: list[Node]
    related: tuple[str, ...]
    notes: tuple[str, ...] = ()


class Candidates:
    """Finds candidates, by meaning and by words, for the question, the plan and each need."""

    def __init__(self, parts: AgentDependencies) -> None:
        self._parts = parts

    async def of(self, state: RunState) -> Found:
        """The best of all searches together, and behind them what else a small graph has."""
        texts = list(dict.fromkeys([state["question"], state["plan"], *state["needs"]]))
        ranked, notes = await self._searched(texts)
        related = tuple(node.id for node in ranked[:RELATED])
        nodes = ranked[:CANDIDATES]
        if len(nodes) < CANDIDATES and await self._parts.explorer.has_at_most(SMALL):
            nodes = list(dict.fromkeys([*nodes, *await self._parts.explorer.nodes(CANDIDATES)]))
        return Found(nodes[:CANDIDATES], related, notes)

    async def _searched(self, texts: list[str]) -> tuple[list[Node], tuple[str, ...]]:
        """What the searches find. Where no vectors can be had, words must do."""
        by_words, (by_meaning, notes) = await asyncio.gather(
            self._parts.explorer.matching(texts, SEARCHED), self._by_meaning(texts)
        )
        return fused([*by_words, *by_meaning], lambda node: node.id), notes

    async def _by_meaning(self, texts: list[str]) -> tuple[list[list[Node]], tuple[str, ...]]:
        try:
            vectors = await self._parts.vectors.vectors(texts)
        except DecisionError as error:
            return [], (f"Initial nodes were searched for by words alone: {error}",)
        return await self._parts.explorer.nearest(vectors, SEARCHED), ()


def diverse(ranked: Iterable[Node], profiles: Mapping[str, Profile], number: int) -> list[Node]:
    """The first nodes of which no two are aliases of each other or have the same facts.

    Nodes without a profile, or without any fact, are passed over. There may be fewer than `number`:
    two paths that set out from the same facts would be one path, paid for twice.
    """
    chosen: list[Node] = []
    called: set[str] = set()
    told: set[frozenset[str]] = set()
    for node in ranked:
        profile = profiles.get(node.id)
        if len(chosen) == number:
            break
        if profile is None or profile.facts == frozenset():
            continue
        if profile.aliases & called or profile.facts in told:
            continue
        chosen.append(node)
        called |= profile.aliases
        if profile.facts is not None:
            told.add(profile.facts)
    return chosen


NEEDS = 8
"""Information needs that are searched for on their own, at most."""


class Planning:
    """The two steps that come before the exploration."""

    def __init__(self, parts: AgentDependencies) -> None:
        self._parts = parts

    async def rational_plan(self, state: RunState, runtime: Runtime[None]) -> Update:
        """Break the question down into steps (figure 7). Without a usable plan: the question."""
        decision: RationalPlan
        notes: list[str] = []
        try:
            decision, _, costs = await self._parts.decide(PlanTask(state["question"]))
            plan, needs = decision.plan, needs_of(decision)
        except (ReplyError, WindowError, BudgetError) as error:
            plan, needs, costs = _planless(state["question"]), [], wasted_costs(error, "plan")
            notes.append(f"There is no plan, the question served as one: {error}")
        runtime.stream_writer(PlanMade(plan, tuple(needs)))
        return {"plan": plan, "needs": needs, "costs": costs, "notes": notes}

    async def initial_nodes(self, state: RunState, runtime: Runtime[None]) -> Update:
        """Score candidates from the graph and take the best N that really exist (figure 8).

        Where the scores cannot be used, and where they name too few, the order of the searches
        counts.
        """
        found = await Candidates(self._parts).of(state)
        if not found.nodes:
            return {"nodes": [], "notes": ["The corpus has nothing to start from."]}
        runtime.stream_writer(CandidatesFound(tuple(node.name for node in found.nodes)))
        profiles = await self._parts.explorer.profiles([node.id for node in found.nodes])
        aliases = tuple(tuple(sorted(_aliases(node, profiles))) for node in found.nodes)
        names = tuple(node.name for node in found.nodes)
        task = InitialNodesTask(state["question"], state["plan"], names, aliases)
        notes, proposed = list(found.notes), list[Node]()
        try:
            decision, shown, costs = await self._parts.decide(task)
            proposed, dropped = _proposed(decision, found.nodes[: len(shown.nodes)])
            notes += _on_dropped(dropped)
        except (ReplyError, WindowError, BudgetError) as error:
            costs = wasted_costs(error, task.phase)
            notes.append(f"The initial nodes were taken in the order of the searches: {error}")
        ranked = list(dict.fromkeys([*proposed, *found.nodes]))
        chosen = diverse(ranked, profiles, self._parts.limits.initial_nodes)
        runtime.stream_writer(NodesChosen(tuple(node.name for node in chosen)))
        return {
            "nodes": [{"id": node.id, "name": node.name} for node in chosen],
            "related": list(found.related),
            "costs": costs,
            "notes": notes,
        }


def needs_of(decision: RationalPlan) -> list[str]:
    """What can be searched for on its own: what the plan names, else its sentences."""
    plan = decision.plan
    told = decision.needs or [plan[start:end] for start, end in sentence_spans(plan)]
    folded = (" ".join(need.split()) for need in told)
    return list(dict.fromkeys(need for need in folded if need))[:NEEDS]


def _aliases(node: Node, profiles: Mapping[str, Profile]) -> frozenset[str]:
    profile = profiles.get(node.id)
    return profile.aliases if profile else frozenset()


def _planless(question: str) -> str:
    """What stands for a plan: the question, unless it is too long to be shown twice."""
    if tokens.count(question) <= PLAN_TOKENS:
        return question
    return {"en": "Find what the question asks for.", "zh": "找出问题所问的内容。"}[
        language_of(question)
    ]


def _proposed(decision: InitialNodes, shown: list[Node]) -> tuple[list[Node], int]:
    """The chosen nodes, best score first, and how many are none of those that were shown.

    A score above 100 counts as 100.
    """
    best_first = sorted(decision.nodes, key=lambda node: -min(node.score, 100))
    real = [node for node in best_first if 1 <= node.number <= len(shown)]
    return [shown[node.number - 1] for node in real], len(best_first) - len(real)


def _on_dropped(dropped: int) -> list[str]:
    are, were = ("is", "was") if dropped == 1 else ("are", "were")
    told = f"{dropped} of the proposed initial nodes {are} not in the graph and {were} left out."
    return [told] if dropped else []
