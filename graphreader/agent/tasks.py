"""The tasks of mode `paper`: the inputs and prompt of each decision (paper, figures 7-12).

Only shown items can be chosen, by numbers from 1. If a list may exceed a window, `keeping(n)` shows
its best n items. Names are folded to one line, so that no name can write a line of the prompt.
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
    numbered,
)
from graphreader.text.lines import one_line
from graphreader.usage import Phase

PLAN_TOKENS = 250  # largest rational plan in tokens: every later prompt contains it
NOTEBOOK_TOKENS = 480  # largest notebook in tokens: five and their quotes fit a window of 4,096
QUOTES_AT_LEAST = 3  # smallest number of quotes; notebooks that leave less room are joined
FACTS_AT_FIRST = 3  # facts per chunk that are shown before any chunk gets more
NODES_WANTED = 10  # smallest number of proposed initial nodes (paper, figure 8)


@dataclass(frozen=True, slots=True)
class PlanTask(Task[decisions.RationalPlan]):
    """The task to make the rational plan (figure 7); `earlier` is the exchange to follow up."""

    prompt = "rational_plan"
    decision = decisions.RationalPlan
    phase = "plan"
    reply_tokens = 600
    question: str
    earlier: str = ""

    def values(self) -> Mapping[str, str]:
        """The question; a follow-up must be restated, since later prompts lack the exchange."""
        if not self.earlier:
            return {"question": self.question}
        restate = "Begin the plan with the question restated so that it can be understood alone."
        return {"question": f"{self.question}\n\n{self.earlier}\n\n{restate}"}

    def problem(self, decision: decisions.RationalPlan) -> str | None:
        """Reject a plan that is too long for a prompt with a chunk and a notebook."""
        length = tokens.count(decision.plan)
        if length > PLAN_TOKENS:
            return f"The plan has {length} tokens: shorten it to at most five sentences."
        return None


@dataclass(frozen=True, slots=True)
class InitialNodesTask(Task[decisions.InitialNodes]):
    """The task to propose and score initial nodes from `nodes`, ranked names (figure 8).

    `details` are shown next to the names, `aliases` are not; `paths` is the number of nodes that
    will be used.
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
        """Question, plan, the numbered nodes with their details, and the number of paths."""
        return {
            "question": self.question,
            "plan": self.plan,
            "nodes": _described(self.nodes, self.details),
            "paths": str(self.paths),
        }

    def problem(self, decision: decisions.InitialNodes) -> str | None:
        """Reject a list in which no number belongs to a shown node."""
        if not self._chosen(decision):
            return f"Choose nodes by their numbers, 1 to {len(self.nodes)}."
        return None

    def shortcoming(self, decision: decisions.InitialNodes) -> str | None:
        """Object to fewer different nodes than the paper asks for."""
        wanted = min(NODES_WANTED, len(self.nodes))
        chosen = len(self._chosen(decision))
        if chosen < wanted:
            return f"It names {chosen} of the listed nodes: name at least {wanted} different ones."
        return None

    def _chosen(self, decision: decisions.InitialNodes) -> set[int]:
        return {node.number for node in decision.nodes if 1 <= node.number <= len(self.nodes)}


def _described(items: Sequence[str], details: Sequence[str]) -> str:
    """Format names as a numbered list, each with its detail, if it has one, in brackets."""
    pairs = zip_longest(items, details[: len(items)], fillvalue="")
    return numbered([folded(f"{item} ({detail})" if detail else item) for item, detail in pairs])


@dataclass(frozen=True, slots=True)
class CondenseTask(Task[decisions.Condensed]):
    """The task to make one short notebook from long notebooks; relevant notes must stay."""

    prompt = "condense"
    decision = decisions.Condensed
    phase: ClassVar[Phase] = "explore"
    reply_tokens = 900
    question: str
    plan: str
    notebooks: tuple[str, ...]

    def values(self) -> Mapping[str, str]:
        """Question, plan and notebooks."""
        return {
            "question": self.question,
            "plan": self.plan,
            "notebooks": labelled("Notebook", self.notebooks),
        }

    def problem(self, decision: decisions.Condensed) -> str | None:
        """Reject a notebook that is still too long, or empty."""
        length = tokens.count(decision.notebook)
        if length > NOTEBOOK_TOKENS:
            return f"The notebook has {length} tokens: write it anew with at most 300 words."
        return None if decision.notebook.strip() else "The notebook is empty."


@dataclass(frozen=True, slots=True)
class JoinTask(CondenseTask):
    """The task to condense notebooks of several paths that do not fit one answer prompt."""

    phase = "answer"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A quote of a path, with the label of its chunk."""

    label: str
    quote: str


@dataclass(frozen=True, slots=True)
class AnswerTask(Task[decisions.Answer]):
    """The task to answer from all notebooks and from quotes, its choices (figure 12)."""

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
        """Question, plan, notebooks and numbered quotes; only quotes can be cited."""
        follow_up = f"\n\n{self.earlier}" if self.earlier else ""
        return {
            "question": self.question,
            "plan": f"{self.plan}{follow_up}",
            "notebooks": labelled("Notebook", self.notebooks),
            "quotes": quotes_text(self.evidence),
        }

    def problem(self, decision: decisions.Answer) -> str | None:
        """Reject an empty answer."""
        return empty_answer_problem(decision, "set confidence to 'not in the texts'")

    def shortcoming(self, decision: decisions.Answer) -> str | None:
        """Object to an answer that cites no quote, although quotes are shown."""
        cited = any(self.shown(claim.citations) for claim in decision.claims)
        if cited or not decision.answered or not self.evidence:
            return None
        return (
            "Its claims cite none of the quotes: name each thing that the answer states as a "
            f"claim, with the numbers, 1 to {len(self.evidence)}, of the quotes that bear it out."
        )

    def shown(self, citations: Iterable[int]) -> list[int]:
        """Filter the numbers that name a shown quote, each once."""
        return [n for n in dict.fromkeys(citations) if 1 <= n <= len(self.evidence)]

    @property
    def fewest(self) -> int:
        """The smallest number of quotes; 0 unless joining notebooks can make room for quotes."""
        return min(QUOTES_AT_LEAST, len(self.evidence)) if len(self.notebooks) > 1 else 0


def quotes_text(evidence: Sequence[Evidence]) -> str:
    """Format the quotes as a numbered list with their chunks' labels."""
    return numbered([f"{folded(one.label)}: {one_line(one.quote)}" for one in evidence]) or "(none)"


@dataclass(frozen=True, slots=True)
class ClaimCheckTask(Task[decisions.ClaimCheck]):
    """The task to find quotes for an answer's claims without quotes; the choices are quotes."""

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
        """The answer, its claims without quotes, and the quotes."""
        return {
            "question": self.question,
            "answer": f"{folded(self.answer)}\nExplanation: {folded(self.explanation) or '(none)'}",
            "claims": labelled("Claim", self.claims),
            "quotes": quotes_text(self.evidence),
        }


D = TypeVar("D", bound=Decision)


@dataclass(frozen=True, slots=True)
class ExploringTask(Task[D]):
    """The common fields of a path's tasks; `actions` are descriptions of earlier functions.

    With `calls_left` below 0 a chunk of the last call is only noted. The `choices` are
    actions and the task's items in turn; `forgotten` actions and `remaining` items are not shown.
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
        """The number of ranked items of the task, without the actions."""
        return len(getattr(self, self.ranked))

    def keeping_own(self, number: int) -> Self:
        """A copy of the task with only the best `number` of its own choices."""
        items = getattr(self, self.ranked)
        remaining = self.remaining + len(items) - number
        return replace(self, **{self.ranked: items[:number], "remaining": remaining})

    @property
    def choices(self) -> int:
        """The number of actions and the task's own choices."""
        return len(self.actions) + self.own_choices

    def keeping(self, number: int) -> Self:
        """A copy with the latest actions and the best own choices, half of each if possible."""
        kept = max(min(number // 2, len(self.actions)), number - self.own_choices)
        forgotten = self.forgotten + len(self.actions) - kept
        latest = self.actions[len(self.actions) - kept :]
        task = replace(self, actions=latest, forgotten=forgotten)
        return task.keeping_own(number - kept)

    def path_values(self) -> dict[str, str]:
        """The values of the places that every prompt of a path has."""
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
        """A sentence on the calls that are left, and on the effect of the last one."""
        if self.calls_left > 0:
            return f"Calls left after this one: {self.calls_left}."
        if self.calls_left == 0:
            return f"This is the last call: {self.last_call}."
        return "No call is left: the search ends with your notes, whatever you choose."


BULLET = "- "  # before each fact in a list


def fact_lines(facts: Iterable[tuple[str, str]]) -> list[str]:
    """Format facts as a list; each is given with the heading above it, which stands there once."""
    lines: list[str] = []
    last = ""
    for heading, fact in facts:
        lines += [f"“{folded(heading)}”:"] if heading != last else []
        last = heading
        lines.append(f"{BULLET}{fact}")
    return lines


@dataclass(frozen=True, slots=True)
class FactGroup:
    """The facts of one node in one chunk, best first; `indexes` are their positions in it.

    `more` counts further facts; `heading` has the headings over the chunk, `under` the last heading
    within it above each fact; `before` has, for each fact that may be unclear alone, the previous
    fact, else "".
    """

    label: str
    facts: tuple[str, ...]
    read: bool = False
    more: int = 0
    heading: str = ""
    before: tuple[str, ...] = ()
    under: tuple[str, ...] = ()
    indexes: tuple[int, ...] = ()

    def shown(self) -> str:
        """The text for a prompt: one line for the chunk and one for each fact."""
        heading = f", “{folded(self.heading)}”" if self.heading else ""
        read = " (already read)" if self.read else ""
        lines = [f"{folded(self.label)}{heading}{read}"]
        places = self.indexes or range(len(self.facts))
        facts = zip_longest(places, self.facts, self.before, self.under, fillvalue="")
        shown = [
            (under, folded(fact) + (f" (right before it: {folded(before)})" if before else ""))
            for _, fact, before, under in sorted(facts)
        ]
        lines += fact_lines(shown)
        if self.more:
            lines.append(f"({self.more} more facts of this node in this chunk)")
        return "\n".join(lines)

    def keeping(self, number: int) -> "FactGroup":
        """A copy with only the first `number` facts."""
        more = self.more + len(self.facts) - number
        return replace(
            self,
            facts=self.facts[:number],
            before=self.before[:number],
            under=self.under[:number],
            indexes=self.indexes[:number],
            more=more,
        )


@dataclass(frozen=True, slots=True)
class FactsTask(ExploringTask[decisions.FactsDecision]):
    """The task to read a page of a node's facts (figure 9); `unlisted` facts are on no page."""

    prompt = "atomic_facts"
    last_call = "read_chunk still reads the first of your chunks, anything else ends the search"
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
        """Reject read_chunk without an unread chunk of the page, and a missing next page."""
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
        """The number of facts in all groups."""
        return sum(len(group.facts) for group in self.groups)

    def keeping_own(self, number: int) -> Self:
        """A copy with `number` facts of the best groups, a few of each group first."""
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
    """The task to read one chunk in full (figure 10), or a short document with others `together`.

    `queued` are the labels of waiting chunks, the choices.
    """

    prompt = "chunk"
    decision = decisions.ChunkDecision
    last_call = "one more chunk, the one that you choose or the first that waits, is still read"
    reply_tokens = 1600
    ranked = "queued"
    label: str
    text: str
    queued: tuple[str, ...] = ()
    has_previous: bool = True
    has_subsequent: bool = True
    together: tuple[tuple[str, str], ...] = ()

    def values(self) -> Mapping[str, str]:
        """Question, plan, actions, notebook, chunk, and its neighbors in the text."""
        waiting = [folded(label) for label in self.queued]
        if self.remaining:
            more = "more chunks" if waiting else "chunks"
            waiting.append(f"{self.remaining} {more}")
        around = []
        if self.together:
            around.append("Each of these chunks is a whole document.")
        elif not self.has_previous and not self.has_subsequent:
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

    @property
    def texts(self) -> tuple[tuple[str, str], ...]:
        """The labels and texts of all chunks of the task."""
        return ((self.label, self.text), *self.together)

    @property
    def labels_together(self) -> tuple[str, ...]:
        """The labels of the chunks that are read together with the first."""
        return tuple(label for label, _ in self.together)


ALL_READ, DEAD_END = "all read", "dead end"
"""Marks of a neighbor without unread chunks: nodes behind it have some, or none has."""


@dataclass(frozen=True, slots=True)
class NeighborTask(ExploringTask[decisions.NeighborDecision]):
    """The task to choose one of the node's neighbors, ranked names, or end (figure 11).

    `marks` are shown next to the names: ALL_READ, DEAD_END or "".
    """

    prompt = "neighbors"
    decision = decisions.NeighborDecision
    reply_tokens = 400
    ranked = "neighbors"
    fewest = 1
    neighbors: tuple[str, ...]
    page: int = 1
    marks: tuple[str, ...] = ()

    def values(self) -> Mapping[str, str]:
        """Question, plan, actions, notebook, node and the numbered neighbors."""
        neighbors = _described(self.neighbors, self.marks)
        return self.path_values() | {
            "node": folded(self.node),
            "neighbors": neighbors + page_line("neighbors", self.page, self.remaining),
        }

    def problem(self, decision: decisions.NeighborDecision) -> str | None:
        """Reject a neighbor that was not shown, and a missing next page."""
        if decision.function == "next_page" and not (self.remaining and self.calls_left > 1):
            return "There is no next page: choose read_neighbor_node or termination."
        if decision.function == "read_neighbor_node" and not (
            1 <= decision.neighbor <= len(self.neighbors)
        ):
            return f"read_neighbor_node needs the number of a node, 1 to {len(self.neighbors)}."
        return None


def page_line(items: str, page: int, remaining: int) -> str:
    """Format a line about the current page, if there are several pages."""
    if remaining:
        return (
            f"\n(Page {page}. {remaining} further {items}, less promising, are on the next page.)"
        )
    return f"\n(Page {page}, the last one.)" if page > 1 else ""
