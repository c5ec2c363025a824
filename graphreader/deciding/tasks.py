"""What a decider is asked: one class a step, with what the step knows and how it is shown.

The steps of a path stand in `exploring`.

A model never sees a long id: what can be chosen is numbered from 1, and only what was shown can be
chosen (`problem`). What may be too much for a window stands ranked, best first, in `choices`, and
`keeping(n)` shows the best n of it and says how many more there are.

Names and labels come from texts and file names: they are folded to one line, so that none of them
can write a line of the prompt.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Generic, Self, TypeVar

from graphreader import tokens
from graphreader.deciding.decisions import (
    Answer,
    Condensed,
    Decision,
    Extraction,
    InitialNodes,
    RationalPlan,
    wordless,
)
from graphreader.usage import Phase

D = TypeVar("D", bound=Decision)

PLAN_TOKENS = 250
"""A rational plan at most: it stands in every later prompt."""

NOTEBOOK_TOKENS = 480
"""A path's notebook at most: five of them fit into a window of 4,096 tokens with the quotes."""

ROOM_TO_THINK = 4096
"""Tokens of output that a model which thinks first gets beside its reply."""

LONGEST_REPLY = 1500
"""Tokens of the longest reply that a task asks for."""

QUOTES_AT_LEAST = 3
"""Quotes for which notebooks are joined where they would leave no room."""

NODES_WANTED = 10
"""Initial nodes that a decider is to propose at least (paper, figure 8)."""


@dataclass(frozen=True, slots=True)
class Task(Generic[D]):
    """One decision to take. `prompt` names the prompt file, `decision` the class of the answer.

    `phase` is what it is taken for; `reply_tokens` is how long the reply may be, without what a
    model thinks first. A `divisible` task whose reply is cut off is not asked again: whoever asks
    makes two of it. The `answer` of a `streamed` task can be followed while it is written.
    """

    prompt: ClassVar[str]
    decision: ClassVar[type[Decision]]
    phase: ClassVar[Phase]
    reply_tokens: ClassVar[int]
    divisible: ClassVar[bool] = False
    streamed: ClassVar[bool] = False

    def values(self) -> Mapping[str, str]:
        """What stands in the prompt's `$name` places."""
        raise NotImplementedError

    @property
    def fewest(self) -> int:
        """How few of its choices may be shown."""
        return 0

    def problem(self, decision: D) -> str | None:
        """Why the decision cannot be carried out, as a sentence for who took it; None if it can."""
        return None

    def shortcoming(self, decision: D) -> str | None:
        """What a decision that can be carried out lacks. It is sent back once, then taken as is."""
        return None

    @property
    def choices(self) -> int:
        """How many ranked things are shown; fewer can be shown with `keeping`."""
        return 0

    def keeping(self, number: int) -> Self:
        """The same task with only the best `number` of its choices."""
        raise ValueError(f"{type(self).__name__} has nothing to leave out")


@dataclass(frozen=True, slots=True)
class ExtractionTask(Task[Extraction]):
    """Take atomic facts with their key elements from one chunk (figure 6)."""

    prompt = "extraction"
    decision = Extraction
    phase = "extract"
    reply_tokens = 1024
    divisible = True
    title: str
    text: str

    def values(self) -> Mapping[str, str]:
        """Title and text."""
        return {"title": folded(self.title), "text": self.text}


@dataclass(frozen=True, slots=True)
class PlanTask(Task[RationalPlan]):
    """Make the rational plan (figure 7)."""

    prompt = "rational_plan"
    decision = RationalPlan
    phase = "plan"
    reply_tokens = 600
    question: str

    def values(self) -> Mapping[str, str]:
        """The question."""
        return {"question": self.question}

    def problem(self, decision: RationalPlan) -> str | None:
        """A plan so long that a chunk and a notebook would not fit beside it."""
        length = tokens.count(decision.plan)
        if length > PLAN_TOKENS:
            return f"The plan has {length} tokens: shorten it to at most five sentences."
        return None


@dataclass(frozen=True, slots=True)
class InitialNodesTask(Task[InitialNodes]):
    """Propose and score initial nodes out of `nodes`, names ranked best first (figure 8).

    `aliases` are other names of the nodes, in their order; they may be fewer. They are not shown.
    """

    prompt = "initial_nodes"
    decision = InitialNodes
    phase = "select"
    reply_tokens = 1000
    question: str
    plan: str
    nodes: tuple[str, ...]
    aliases: tuple[tuple[str, ...], ...] = ()

    def values(self) -> Mapping[str, str]:
        """Question, plan and the numbered nodes."""
        return {"question": self.question, "plan": self.plan, "nodes": names(self.nodes)}

    def problem(self, decision: InitialNodes) -> str | None:
        """A list with no number that was shown."""
        if not self._chosen(decision):
            return f"Choose nodes by their numbers, 1 to {len(self.nodes)}."
        return None

    def shortcoming(self, decision: InitialNodes) -> str | None:
        """Fewer different nodes than the paper asks for."""
        wanted = min(NODES_WANTED, len(self.nodes))
        chosen = len(self._chosen(decision))
        if chosen < wanted:
            return f"It names {chosen} of the listed nodes: name at least {wanted} different ones."
        return None

    def _chosen(self, decision: InitialNodes) -> set[int]:
        return {node.number for node in decision.nodes if 1 <= node.number <= len(self.nodes)}

    @property
    def fewest(self) -> int:
        """One at least."""
        return 1

    @property
    def choices(self) -> int:
        """The nodes."""
        return len(self.nodes)

    def keeping(self, number: int) -> Self:
        """The best nodes."""
        return replace(self, nodes=self.nodes[:number])


@dataclass(frozen=True, slots=True)
class CondenseTask(Task[Condensed]):
    """Make one short notebook out of long ones; what helps to answer must stay."""

    prompt = "condense"
    decision = Condensed
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
            "notebooks": counted("Notebook", self.notebooks),
        }

    def problem(self, decision: Condensed) -> str | None:
        """A notebook that is still too long, or empty."""
        length = tokens.count(decision.notebook)
        if length > NOTEBOOK_TOKENS:
            return f"The notebook has {length} tokens: write it anew with at most 300 words."
        return None if decision.notebook.strip() else "The notebook is empty."


@dataclass(frozen=True, slots=True)
class JoinTask(CondenseTask):
    """The same for notebooks of several paths that are too many for one answer prompt."""

    phase = "answer"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A quote that some path found, and the label of the chunk in which it stands."""

    label: str
    quote: str


@dataclass(frozen=True, slots=True)
class AnswerTask(Task[Answer]):
    """Answer from the notebooks of all paths and the quotes that they found (figure 12)."""

    prompt = "answer_reasoning"
    decision = Answer
    phase = "answer"
    reply_tokens = LONGEST_REPLY
    streamed = True
    question: str
    plan: str
    notebooks: tuple[str, ...]
    evidence: tuple[Evidence, ...]

    def values(self) -> Mapping[str, str]:
        """Question, plan, the notebooks and the numbered quotes.

        Only quotes can be cited, so only they have a number in brackets.
        """
        quotes = [f"{folded(one.label)}: {folded(one.quote)}" for one in self.evidence]
        return {
            "question": self.question,
            "plan": self.plan,
            "notebooks": counted("Notebook", self.notebooks),
            "quotes": numbered(quotes) or "(none)",
        }

    def problem(self, decision: Answer) -> str | None:
        """An answer without words."""
        return wordless(decision)

    def shortcoming(self, decision: Answer) -> str | None:
        """An answer that rests on none of the quotes, though there are some.

        A single claim without a quote is not sent back: it is marked as unsupported.
        """
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

    @property
    def choices(self) -> int:
        """The quotes; the notebooks are always shown whole."""
        return len(self.evidence)

    def keeping(self, number: int) -> Self:
        """The first quotes."""
        return replace(self, evidence=self.evidence[:number])


def folded(text: str) -> str:
    """In one line, with single spaces."""
    return " ".join(text.split())


def names(items: Sequence[str]) -> str:
    """Numbered names, each in one line."""
    return numbered([folded(item) for item in items])


def counted(word: str, items: Sequence[str]) -> str:
    """The items, each after its name, "Notebook 1: ..." and so on.

    Further lines of an item are indented, so that none can pass for another item.
    """
    shown = [item.replace("\n", "\n  ") or "(empty)" for item in items]
    return "\n".join(f"{word} {number}: {item}" for number, item in enumerate(shown, 1))


def numbered(items: Sequence[str]) -> str:
    """The items, each on a new line, "[1] ..." and so on."""
    return "\n".join(f"[{number}] {item}" for number, item in enumerate(items, 1))


def bulleted(items: Sequence[str]) -> str:
    """One item a line, or "(none)"."""
    return "\n".join(f"- {folded(item)}" for item in items) or "(none)"
