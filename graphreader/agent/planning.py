"""Agent initialization (paper, section 3.3.1): the rational plan and the initial nodes.

The paper shows all key elements as candidates; here the best results of several searches are shown.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence

from langgraph.runtime import Runtime

from graphreader.agent.context import QueryVectors, RunContext, Update, wasted_costs
from graphreader.agent.decisions import RationalPlan
from graphreader.agent.events import CandidatesFound, NodesChosen, PlanMade
from graphreader.agent.ranking import fuse_rankings
from graphreader.agent.state import RunState
from graphreader.agent.tasks import PLAN_TOKENS, InitialNodesTask, PlanTask
from graphreader.documents import KeyElementRef
from graphreader.errors import BudgetError, DecisionError, ReplyError, WindowError
from graphreader.store.explorer import GraphExplorer
from graphreader.store.records import Profile
from graphreader.text.sentences import language_of, sentence_spans
from graphreader.tokens import count

MAX_CANDIDATES = 100  # key elements shown as candidates for initial nodes
SMALL_GRAPH = 2_000  # key elements up to which the most frequent of a graph are found quickly
SEARCH_LIMIT = 50  # results of one search
MAX_RELATED = 15  # key elements that count as related to the question on every path
MAX_NEEDS = 8  # information needs that are searched one by one


class Planning:
    """The two nodes of the graph before the exploration."""

    def __init__(self, context: RunContext) -> None:
        self._context = context

    async def rational_plan(self, state: RunState, runtime: Runtime[None]) -> Update:
        """Request the rational plan (figure 7); without a usable plan, use the question."""
        decision: RationalPlan
        notes: list[str] = []
        try:
            task = PlanTask(state["question"], state.get("earlier", ""))
            decision, _, costs = await self._context.decide(task)
            plan, needs = decision.plan, information_needs(decision)
        except (ReplyError, WindowError, BudgetError) as error:
            plan, needs, costs = _default_plan(state["question"]), [], wasted_costs(error, "plan")
            notes.append(f"There is no plan, the question served as one: {error}")
        runtime.stream_writer(PlanMade(plan, tuple(needs)))
        return {"plan": plan, "needs": needs, "costs": costs, "notes": notes}

    async def initial_nodes(self, state: RunState, runtime: Runtime[None]) -> Update:
        """Choose the N initial nodes by the model's scores (figure 8), or by the searches."""
        candidates, related, notes = await self._candidates(state)
        if not candidates:
            return {"nodes": [], "notes": ["The corpus has nothing to start from."]}
        names = tuple(node.name for node in candidates)
        runtime.stream_writer(CandidatesFound(names))
        profiles = await self._context.explorer.profiles([node.id for node in candidates])
        aliases = tuple(
            tuple(sorted(profiles[node.id].aliases)) if node.id in profiles else ()
            for node in candidates
        )
        task = InitialNodesTask(
            state["question"],
            state["plan"],
            names,
            aliases,
            tuple(_detail(profiles.get(node.id)) for node in candidates),
            self._context.limits.initial_nodes,
        )
        proposed: list[KeyElementRef] = []
        try:
            decision, shown, costs = await self._context.decide(task)
            # A score above 100 counts as 100.
            best_first = sorted(decision.nodes, key=lambda node: -min(node.score, 100))
            numbers = [node.number for node in best_first]
            valid = [number for number in numbers if 1 <= number <= len(shown.nodes)]
            proposed = [candidates[number - 1] for number in valid]
            notes += _unknown_nodes_note(len(numbers) - len(valid))
        except (ReplyError, WindowError, BudgetError) as error:
            costs = wasted_costs(error, task.phase)
            notes.append(f"The initial nodes were taken in the order of the searches: {error}")
        nodes = distinct_nodes([*proposed, *candidates], profiles, task.paths)
        runtime.stream_writer(NodesChosen(tuple(node.name for node in nodes)))
        return {
            "nodes": [{"id": node.id, "name": node.name} for node in nodes],
            "related": related,
            "costs": costs,
            "notes": notes,
        }

    async def _candidates(
        self, state: RunState
    ) -> tuple[list[KeyElementRef], list[str], list[str]]:
        """Search candidates for question, plan and needs; return them, related ids, and notes."""
        texts = list(dict.fromkeys([state["question"], state["plan"], *state["needs"]]))
        vectors, explorer = self._context.vectors, self._context.explorer
        rankings, notes = await search_nodes(explorer, vectors, texts, SEARCH_LIMIT)
        ranked = fuse_rankings(rankings, lambda node: node.id)
        nodes = ranked[:MAX_CANDIDATES]
        if len(nodes) < MAX_CANDIDATES and await explorer.has_at_most(SMALL_GRAPH):
            others = await explorer.busiest_nodes(MAX_CANDIDATES)
            nodes = list(dict.fromkeys([*nodes, *others]))[:MAX_CANDIDATES]
        return nodes, [node.id for node in ranked[:MAX_RELATED]], notes


async def search_nodes(
    explorer: GraphExplorer,
    vectors: QueryVectors | None,
    texts: Sequence[str],
    limit: int,
    near: float = -1,
) -> tuple[list[list[KeyElementRef]], list[str]]:
    """Search key elements by words and, with `vectors`, by meaning; return rankings and notes.

    Where words match, vectors with a smaller cosine than `near` are left out.
    """
    notes: list[str] = []

    async def embedded() -> Sequence[Sequence[float]]:
        try:
            return await vectors.vectors(texts) if vectors else ()
        except DecisionError as error:
            notes.append(f"Initial nodes were searched for by words alone: {error}")
            return ()

    by_words, queries = await asyncio.gather(explorer.matching(texts, limit), embedded())
    least = near if any(by_words) else -1
    nearest = await explorer.nearest(queries, limit, least) if queries else []
    return [*by_words, *nearest], notes


def distinct_nodes(
    ranked: Iterable[KeyElementRef], profiles: Mapping[str, Profile], number: int
) -> list[KeyElementRef]:
    """Select the best nodes that have facts.

    No two are aliases of each other or have the same facts: two such paths would be one, paid
    twice.
    """
    nodes: list[KeyElementRef] = []
    names: set[str] = set()
    fact_sets: set[frozenset[str]] = set()
    for node in ranked:
        profile = profiles.get(node.id)
        if profile is None or profile.facts == frozenset():
            continue
        if profile.aliases & names or profile.facts in fact_sets:
            continue
        nodes.append(node)
        names |= profile.aliases
        if profile.facts is not None:
            fact_sets.add(profile.facts)
    return nodes[:number]


def _detail(profile: Profile | None) -> str:
    if profile is None:
        return ""
    facts = f"{profile.total} fact{'' if profile.total == 1 else 's'}"
    return f"{facts}; {'; '.join(profile.titles)}" if profile.titles else facts


def information_needs(decision: RationalPlan) -> list[str]:
    """Return the separate search queries of a plan: its needs, else its sentences."""
    plan = decision.plan
    needs = decision.needs or [plan[start:end] for start, end in sentence_spans(plan)]
    folded = (" ".join(need.split()) for need in needs)
    return list(dict.fromkeys(need for need in folded if need))[:MAX_NEEDS]


def _default_plan(question: str) -> str:
    """Return the substitute for a plan: the question, or "" if it is too long to show twice."""
    if count(question) <= PLAN_TOKENS:
        return question
    plans = {"en": "Find what the question asks for.", "zh": "找出问题所问的内容。"}
    return plans[language_of(question)]


def _unknown_nodes_note(number: int) -> list[str]:
    are, were = ("is", "was") if number == 1 else ("are", "were")
    note = f"{number} of the proposed initial nodes {are} not in the graph and {were} left out."
    return [note] if number else []
