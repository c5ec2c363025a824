"""The tasks of the agent: the question and the prompt of each decision (paper, figures 7-12).

Only what was shown can be chosen, by numbers from 1. Of what may exceed a window, `keeping(n)`
shows the best n. Names are folded to one line, so that none can write a line of the prompt.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import ClassVar, Self, TypeVar

from graphreader import tokens
from graphreader.agent import decisions
from graphreader.llm.protocols import (
    Decision,
    Task,
    bulleted,
    empty_answer_problem,
    folded,
    labelled,
    names,
    numbered,
)
from graphreader.usage import Phase

PLAN_TOKENS = 250  # the largest rational plan in tokens: every later prompt contains it
NOTEBOOK_TOKENS = 480  # of a notebook at most: five and their quotes fit a window of 4,096
QUOTES_AT_LEAST = 3  # quotes for which notebooks are joined if they would leave no room for them
FACTS_AT_FIRST = 3  # facts of each chunk for which there is room before any chunk has more
NODES_WANTED = 10  # initial nodes that are to be proposed at least (paper, figure 8)


@dataclass(frozen=True, slots=True)
class PlanTask(Task[decisions.RationalPlan]):
    """Make the rational plan (figure 7); `earlier` is the exchange of a follow-up question."""

    prompt = "rational_plan"
    decision = decisions.RationalPlan
    phase = "plan"
    reply_tokens = 600
    question: str
    earlier: str = ""

    def values(self) -> Mapping[str, str]:
        """The question; a follow-up is to be restated, since later prompts lack the exchange."""
        if not self.earlier:
            return {"question": self.question}
        restate = "Begin the plan with the question restated so that it can be understood alone."
        return {"question": f"{self.question}\n\n{self.earlier}\n\n{restate}"}

    def problem(self, decision: decisions.RationalPlan) -> str | None:
        """A plan too long to fit into a prompt with a chunk and a notebook."""
        length = tokens.count(decision.plan)
        if length > PLAN_TOKENS:
            return f"The plan has {length} tokens: shorten it to at most five sentences."
        return None


@dataclass(frozen=True, slots=True)
class InitialNodesTask(Task[decisions.InitialNodes]):
    """Propose and score initial nodes out of `nodes`, names ranked best first (figure 8).

    `details` are shown beside them, `aliases` are not; `paths` is the number of nodes that are
    used.
    """

    prompt = "initial_nodes"
    decision = decisions.InitialNodes
    phase = "select"
    reply_tokens = 1000
    ranked = "nodes"
    fewest = 1
    question: str
    plan: str
    nodes: tuple[str, ...]
    aliases: tuple[tuple[str, ...], ...] = ()
    details: tuple[str, ...] = ()
    paths: int = 5

    def values(self) -> Mapping[str, str]:
        """Question, plan, the numbered nodes with their details, and how many are used."""
        details = self.details[: len(self.nodes)]
        lines = [
            f"{folded(node)} ({folded(detail)})" if detail else folded(node)
            for node, detail in zip_longest(self.nodes, details, fillvalue="")
        ]
        return {
            "question": self.question,
            "plan": self.plan,
            "nodes": numbered(lines),
            "paths": str(self.paths),
        }

    def problem(self, decision: decisions.InitialNodes) -> str | None:
        """A list with no number that was shown."""
        if not self._chosen(decision):
            return f"Choose nodes by their numbers, 1 to {len(self.nodes)}."
        return None

    def shortcoming(self, decision: decisions.InitialNodes) -> str | None:
        """Fewer different nodes than the paper asks for."""
        wanted = min(NODES_WANTED, len(self.nodes))
        chosen = len(self._chosen(decision))
        if chosen < wanted:
            return f"It names {chosen} of the listed nodes: name at least {wanted} different ones."
        return None

    def _chosen(self, decision: decisions.InitialNodes) -> set[int]:
        return {node.number for node in decision.nodes if 1 <= node.number <= len(self.nodes)}


@dataclass(frozen=True, slots=True)
class CondenseTask(Task[decisions.Condensed]):
    """Make one short notebook out of long ones; relevant notes must stay."""

    prompt = "condense"
    decision = decisions.Condensed
    phase: ClassVar[Phase] = "explore"
    reply_tokens = 900
    question: str
    plan: str
    notebooks: tuple[str, ...]

    def values(self) -> Mapping[str, str]:
        """Question, plan and the notebooks."""
        return {
            "question": self.question,
            "plan": self.plan,
            "notebooks": labelled("Notebook", self.notebooks),
        }

    def problem(self, decision: decisions.Condensed) -> str | None:
        """A notebook that is still too long, or empty."""
        length = tokens.count(decision.notebook)
        if length > NOTEBOOK_TOKENS:
            return f"The notebook has {length} tokens: write it anew with at most 300 words."
        return None if decision.notebook.strip() else "The notebook is empty."


@dataclass(frozen=True, slots=True)
class JoinTask(CondenseTask):
    """Condense notebooks of several paths that are too many for one answer prompt."""

    phase = "answer"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A quote of a path, and the label of its chunk."""

    label: str
    quote: str


@dataclass(frozen=True, slots=True)
class AnswerTask(Task[decisions.Answer]):
    """Answer from all notebooks, shown whole, and quotes, which are the choices (figure 12)."""

    prompt = "answer_reasoning"
    decision = decisions.Answer
    phase = "answer"
    reply_tokens = 1500
    streamed = True
    ranked = "evidence"
    question: str
    plan: str
    notebooks: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    earlier: str = ""

    def values(self) -> Mapping[str, str]:
        """Question, plan, the notebooks and the quotes; only quotes can be cited by number."""
        follow_up = f"\n\n{self.earlier}" if self.earlier else ""
        return {
            "question": self.question,
            "plan": f"{self.plan}{follow_up}",
            "notebooks": labelled("Notebook", self.notebooks),
            "quotes": quotes_text(self.evidence),
        }

    def problem(self, decision: decisions.Answer) -> str | None:
        """An answer without words."""
        return empty_answer_problem(decision, "set confidence to 'not in the texts'")

    def shortcoming(self, decision: decisions.Answer) -> str | None:
        """An answer that rests on none of the quotes, though there are some."""
        cited = any(self.shown(claim.citations) for claim in decision.claims)
        if cited or not decision.answered or not self.evidence:
            return None
        return (
            "Its claims cite none of the quotes: name each thing that the answer states as a "
            f"claim, with the numbers, 1 to {len(self.evidence)}, of the quotes that bear it out."
        )

    def shown(self, citations: Iterable[int]) -> list[int]:
        """Those of the numbers that name a quote, each once."""
        return [n for n in dict.fromkeys(citations) if 1 <= n <= len(self.evidence)]

    @property
    def fewest(self) -> int:
        """Some quotes, as long as notebooks can be joined to make room for them."""
        return min(QUOTES_AT_LEAST, len(self.evidence)) if len(self.notebooks) > 1 else 0


def quotes_text(evidence: Sequence[Evidence]) -> str:
    """The numbered quotes with their places."""
    return numbered([f"{folded(one.label)}: {folded(one.quote)}" for one in evidence]) or "(none)"


@dataclass(frozen=True, slots=True)
class ClaimCheckTask(Task[decisions.ClaimCheck]):
    """Find quotes for claims of an answer that cite none; the quotes are the choices."""

    prompt = "claim_check"
    decision = decisions.ClaimCheck
    phase = "answer"
    reply_tokens = 800
    ranked = "evidence"
    fewest = 1
    question: str
    answer: str
    explanation: str
    claims: tuple[str, ...]
    evidence: tuple[Evidence, ...]

    def values(self) -> Mapping[str, str]:
        """The answer, its claims without a quote, and the quotes."""
        return {
            "question": self.question,
            "answer": f"{folded(self.answer)}\nExplanation: {folded(self.explanation) or '(none)'}",
            "claims": labelled("Claim", self.claims),
            "quotes": quotes_text(self.evidence),
        }


D = TypeVar("D", bound=Decision)


@dataclass(frozen=True, slots=True)
class ExploringTask(Task[D]):
    """The common fields of a path's tasks; `actions` are the functions chosen before, in words.

    With `calls_left` below 0 the chunks of the last call are only noted. Its `choices` are
    actions and own items in turn; `forgotten` and `remaining` count those not shown.
    """

    phase = "explore"
    last_call: ClassVar[str] = ""
    question: str
    plan: str
    actions: tuple[str, ...]
    notebook: str
    node: str
    calls_left: int = field(default=9, kw_only=True)
    forgotten: int = field(default=0, kw_only=True)
    remaining: int = field(default=0, kw_only=True)

    @property
    def own_choices(self) -> int:
        """The number of ranked items that the task shows besides the actions."""
        return len(getattr(self, self.ranked))

    def keeping_own(self, number: int) -> Self:
        """The same task with only the best `number` of its own choices."""
        items = getattr(self, self.ranked)
        remaining = self.remaining + len(items) - number
        return replace(self, **{self.ranked: items[:number], "remaining": remaining})

    @property
    def choices(self) -> int:
        """The actions and the task's own choices."""
        return len(self.actions) + self.own_choices

    def keeping(self, number: int) -> Self:
        """The latest actions and the best of the task's own choices, half of each if possible."""
        kept = max(min(number // 2, len(self.actions)), number - self.own_choices)
        forgotten = self.forgotten + len(self.actions) - kept
        latest = self.actions[len(self.actions) - kept :]
        task = replace(self, actions=latest, forgotten=forgotten)
        return task.keeping_own(number - kept)

    def path_values(self) -> dict[str, str]:
        """The values that every prompt of a path has."""
        forgotten = f"({self.forgotten} earlier actions are not shown.)\n" if self.forgotten else ""
        actions = bulleted(self.actions) if self.actions or not forgotten else ""
        return {
            "question": self.question,
            "plan": self.plan,
            "actions": f"{forgotten}{actions}".rstrip(),
            "notebook": self.notebook or "(empty)",
            "calls": self._calls(),
        }

    def _calls(self) -> str:
        """How many calls are left, and what can still be carried out."""
        if self.calls_left > 0:
            return f"Calls left after this one: {self.calls_left}."
        if self.calls_left == 0:
            return f"This is the last call: {self.last_call}."
        return "No call is left: choose search_more, which reads what waits, or termination."


@dataclass(frozen=True, slots=True)
class FactGroup:
    """The facts of one node in one chunk, best first; `indexes` are their places in it.

    `more` counts those not shown; `heading` is the one under which the chunk begins; `before`
    what the chunk says right before a fact that may not be understood alone, else "".
    """

    label: str
    facts: tuple[str, ...]
    read: bool = False
    more: int = 0
    heading: str = ""
    before: tuple[str, ...] = ()
    indexes: tuple[int, ...] = ()

    def shown(self) -> str:
        """One line for the chunk and one for each fact."""
        heading = f", “{folded(self.heading)}”" if self.heading else ""
        read = " (already read)" if self.read else ""
        lines = [f"{folded(self.label)}{heading}{read}"]
        places = self.indexes or range(len(self.facts))
        facts = zip_longest(places, self.facts, self.before, fillvalue="")
        for _, fact, before in sorted(facts):
            context = f" (right before it: {folded(before)})" if before else ""
            lines.append(f"- {folded(fact)}{context}")
        if self.more:
            lines.append(f"({self.more} more facts of this node in this chunk)")
        return "\n".join(lines)

    def keeping(self, number: int) -> "FactGroup":
        """The first facts."""
        more = self.more + len(self.facts) - number
        return replace(
            self,
            facts=self.facts[:number],
            before=self.before[:number],
            indexes=self.indexes[:number],
            more=more,
        )


@dataclass(frozen=True, slots=True)
class FactsTask(ExploringTask[decisions.FactsDecision]):
    """Look at a page of a node's facts by chunk (figure 9); `unlisted` facts are on no page."""

    prompt = "atomic_facts"
    last_call = "read_chunk is still carried out, anything else ends the search"
    decision = decisions.FactsDecision
    reply_tokens = 1200
    fewest = 1
    groups: tuple[FactGroup, ...]
    page: int = 1
    unlisted: int = 0

    def values(self) -> Mapping[str, str]:
        """Question, plan, actions, notebook, node and the numbered groups of facts."""
        shown = numbered([group.shown() for group in self.groups])
        unlisted = f"\n({self.unlisted:,} more facts of this node are not listed.)"
        unlisted = unlisted if self.unlisted else ""
        return self.path_values() | {
            "node": folded(self.node),
            "facts": shown + page_line("chunks", self.page, self.remaining) + unlisted,
        }

    def problem(self, decision: decisions.FactsDecision) -> str | None:
        """read_chunk without a chunk that was shown and is not read yet; a page that is not."""
        if decision.function == "next_page" and not (self.remaining and self.calls_left > 0):
            return "There is no next page: choose read_chunk or stop_and_read_neighbor."
        if decision.function != "read_chunk":
            return None
        unread = [n for n, group in enumerate(self.groups, 1) if not group.read]
        if set(decision.chunks) & set(unread):
            return None
        if not unread:
            return "All of these chunks are read already: choose stop_and_read_neighbor."
        return f"read_chunk needs the numbers of chunks that are not read yet, out of {unread}."

    @property
    def own_choices(self) -> int:
        """The facts of all groups."""
        return sum(len(group.facts) for group in self.groups)

    def keeping_own(self, number: int) -> Self:
        """The best groups, with so many facts in all, a few of each group first."""
        shares: list[int] = []
        for group in self.groups:
            shares.append(max(0, min(FACTS_AT_FIRST, len(group.facts), number)))
            number -= shares[-1]
        for at, group in enumerate(self.groups):
            more = max(0, min(len(group.facts) - shares[at], number))
            shares[at] += more
            number -= more
        pairs = zip(self.groups, shares, strict=True)
        groups = [group.keeping(share) for group, share in pairs if share]
        remaining = self.remaining + len(self.groups) - len(groups)
        return replace(self, groups=tuple(groups), remaining=remaining)


@dataclass(frozen=True, slots=True)
class ChunkTask(ExploringTask[decisions.ChunkDecision]):
    """Read one chunk in full, and short ones `together` with it (figure 10).

    `queued` are the labels of those that wait: its choices. `has_...` is said of the last
    chunk.
    """

    prompt = "chunk"
    decision = decisions.ChunkDecision
    last_call = "a chunk that you choose, and those that wait, are still read"
    reply_tokens = 1600
    ranked = "queued"
    label: str
    text: str
    queued: tuple[str, ...] = ()
    has_previous: bool = True
    has_subsequent: bool = True
    together: tuple[tuple[str, str], ...] = ()

    def values(self) -> Mapping[str, str]:
        """Question, plan, actions, notebook, the chunk, and its surroundings."""
        waiting = [folded(label) for label in self.queued]
        if self.remaining:
            more = "more chunks" if waiting else "chunks"
            waiting.append(f"{self.remaining} {more}")
        around = []
        if self.together:
            around.append("Previous and subsequent are those of the last chunk.")
        if not self.has_previous and not self.has_subsequent:
            around.append("This chunk is the whole document.")
        elif not self.has_previous:
            around.append("This is the document's first chunk.")
        elif not self.has_subsequent:
            around.append("This is the document's last chunk.")
        around.append(f"Waiting to be read: {'; '.join(waiting) or 'nothing'}.")
        texts = [f"[{folded(label)}]\n{text}" for label, text in self.together]
        return self.path_values() | {
            "label": "; ".join(folded(one) for one in (self.label, *self.labels_together)),
            "around": " ".join(around),
            "text": "\n\n".join([self.text, *texts]),
        }

    def problem(self, decision: decisions.ChunkDecision) -> str | None:
        """A further chunk where no call is left."""
        if self.calls_left < 0 and decision.function not in ("search_more", "termination"):
            return "No call is left: choose search_more or termination."
        return None

    @property
    def texts(self) -> tuple[tuple[str, str], ...]:
        """The labels and texts of all its chunks."""
        return ((self.label, self.text), *self.together)

    @property
    def labels_together(self) -> tuple[str, ...]:
        """The labels of the chunks that are read with the first one."""
        return tuple(label for label, _ in self.together)


@dataclass(frozen=True, slots=True)
class NeighborTask(ExploringTask[decisions.NeighborDecision]):
    """Choose one of the node's neighbors, names ranked best first, or end the path (figure 11)."""

    prompt = "neighbors"
    decision = decisions.NeighborDecision
    reply_tokens = 400
    ranked = "neighbors"
    fewest = 1
    neighbors: tuple[str, ...]
    page: int = 1

    def values(self) -> Mapping[str, str]:
        """Question, plan, actions, notebook, node and the numbered neighbors."""
        return self.path_values() | {
            "node": folded(self.node),
            "neighbors": names(self.neighbors) + page_line("neighbors", self.page, self.remaining),
        }

    def problem(self, decision: decisions.NeighborDecision) -> str | None:
        """A neighbor that was not shown, or a page that is not there."""
        if decision.function == "next_page" and not (self.remaining and self.calls_left > 1):
            return "There is no next page: choose read_neighbor_node or termination."
        if decision.function == "read_neighbor_node" and not (
            1 <= decision.neighbor <= len(self.neighbors)
        ):
            return f"read_neighbor_node needs the number of a node, 1 to {len(self.neighbors)}."
        return None


def page_line(items: str, page: int, remaining: int) -> str:
    """A line on the page that is shown, if it is not the only one."""
    if remaining:
        return (
            f"\n(Page {page}. {remaining} further {items}, less promising, are on the next page.)"
        )
    return f"\n(Page {page}, the last one.)" if page > 1 else ""
