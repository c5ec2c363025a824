"""What a decider is asked: one class a step, with what the step knows and how it is shown.

The steps of a path stand in `exploring`.

A model never sees a long id: what can be chosen is numbered from 1, and only what was shown can be
chosen (`problem`). What may be too much for a window stands ranked, best first, in `choices`, and
`keeping(n)` shows the best n of it and says how many more there are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Generic, Self, TypeVar

from graphreader.deciding.decisions import (
    Answer,
    Decision,
    Extraction,
    InitialNodes,
    RationalPlan,
)

D = TypeVar("D", bound=Decision)


@dataclass(frozen=True, slots=True)
class Task(Generic[D]):
    """One decision to take. `prompt` names the prompt file, `decision` the class of the answer."""

    prompt: ClassVar[str]
    decision: ClassVar[type[Decision]]

    def values(self) -> Mapping[str, str]:
        """What stands in the prompt's `$name` places."""
        raise NotImplementedError

    def problem(self, decision: D) -> str | None:
        """Why the decision cannot be carried out, as a sentence for who took it; None if it can."""
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
    title: str
    text: str

    def values(self) -> Mapping[str, str]:
        """Title and text."""
        return {"title": self.title, "text": self.text}


@dataclass(frozen=True, slots=True)
class PlanTask(Task[RationalPlan]):
    """Make the rational plan (figure 7)."""

    prompt = "rational_plan"
    decision = RationalPlan
    question: str

    def values(self) -> Mapping[str, str]:
        """The question."""
        return {"question": self.question}


@dataclass(frozen=True, slots=True)
class InitialNodesTask(Task[InitialNodes]):
    """Propose and score initial nodes out of `nodes`, names ranked best first (figure 8)."""

    prompt = "initial_nodes"
    decision = InitialNodes
    question: str
    plan: str
    nodes: tuple[str, ...]

    def values(self) -> Mapping[str, str]:
        """Question, plan and the numbered nodes."""
        return {"question": self.question, "plan": self.plan, "nodes": numbered(self.nodes)}

    def problem(self, decision: InitialNodes) -> str | None:
        """Numbers that were not shown; a list with no usable number."""
        if not any(1 <= node.number <= len(self.nodes) for node in decision.nodes):
            return f"Choose nodes by their numbers, 1 to {len(self.nodes)}."
        return None

    @property
    def choices(self) -> int:
        """The nodes."""
        return len(self.nodes)

    def keeping(self, number: int) -> Self:
        """The best nodes."""
        return replace(self, nodes=self.nodes[:number])


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
    question: str
    plan: str
    notebooks: tuple[str, ...]
    evidence: tuple[Evidence, ...]

    def values(self) -> Mapping[str, str]:
        """Question, plan, the numbered notebooks and the numbered quotes."""
        return {
            "question": self.question,
            "plan": self.plan,
            "notebooks": numbered([notebook or "(empty)" for notebook in self.notebooks]),
            "quotes": "\n".join(
                f"[{number}] {one.label}: {' '.join(one.quote.split())}"
                for number, one in enumerate(self.evidence, 1)
            )
            or "(none)",
        }

    @property
    def choices(self) -> int:
        """The quotes; the notebooks are always shown whole."""
        return len(self.evidence)

    def keeping(self, number: int) -> Self:
        """The first quotes."""
        return replace(self, evidence=self.evidence[:number])


def numbered(items: Sequence[str]) -> str:
    """One item a line, "[1] ..." and so on."""
    return "\n".join(f"[{number}] {item}" for number, item in enumerate(items, 1))


def bulleted(items: Sequence[str]) -> str:
    """One item a line, or "(none)"."""
    return "\n".join(f"- {item}" for item in items) or "(none)"
