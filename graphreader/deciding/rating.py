"""What a rater is asked: whether an answer is right, and how much of the evidence was found.

The raters of both papers (figures 13 and 14), and the one that counts supporting facts
(figure 19). Only a language model can tell: nothing here is decided offline.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import Field

from graphreader.deciding.decisions import Decision
from graphreader.deciding.tasks import D, Task, names
from graphreader.usage import Phase


class StrictRating(Decision):
    """Whether an answer agrees with the reference (figure 13)."""

    agrees: Literal["yes", "no"] = Field(description="Whether the answers agree.")


class PermissiveRating(Decision):
    """Whether an answer agrees with the reference, if only in part (figure 14)."""

    agrees: Literal["yes", "partially", "no"] = Field(
        description="yes, partially (as soon as they overlap at all), or no."
    )


class RecallRating(Decision):
    """How many of the supporting facts that matter a text covers (figure 19)."""

    analysis: str = Field(
        description="Fact by fact: whether the question needs it, and whether the text covers it."
    )
    relevant: int = Field(
        description="How many of the listed facts are needed to answer: 1 at least."
    )
    covered: int = Field(description="How many of the needed facts the text covers.")


@dataclass(frozen=True, slots=True)
class RatingTask(Task[D]):
    """What all raters have in common."""

    phase: ClassVar[Phase] = "rate"


@dataclass(frozen=True, slots=True)
class AgreementTask(RatingTask[D]):
    """An answer beside one reference. The question tells what both are about."""

    reply_tokens = 100
    question: str
    answer: str
    reference: str

    def values(self) -> Mapping[str, str]:
        """Question, answer and reference."""
        return {
            "question": self.question,
            "answer": self.answer,
            "reference": self.reference,
        }


@dataclass(frozen=True, slots=True)
class StrictRatingTask(AgreementTask[StrictRating]):
    """Say whether the answer agrees with the reference (figure 13)."""

    prompt = "rate_strictly"
    decision = StrictRating


@dataclass(frozen=True, slots=True)
class PermissiveRatingTask(AgreementTask[PermissiveRating]):
    """Say whether it agrees in full, in part or not at all (figure 14)."""

    prompt = "rate_permissively"
    decision = PermissiveRating


@dataclass(frozen=True, slots=True)
class RecallRatingTask(RatingTask[RecallRating]):
    """Count the supporting facts that matter, and those that the text covers (figure 19)."""

    prompt = "rate_recall"
    decision = RecallRating
    reply_tokens = 1000
    question: str
    supporting: tuple[str, ...]
    text: str

    def values(self) -> Mapping[str, str]:
        """Question, numbered supporting facts and the text."""
        return {
            "question": self.question,
            "facts": names(self.supporting),
            "text": self.text or "(empty)",
        }

    def problem(self, decision: RecallRating) -> str | None:
        """Numbers that cannot be: 0 <= covered <= relevant <= all, and relevant is 1 at least."""
        every = len(self.supporting)
        if not 1 <= decision.relevant <= every:
            return f"relevant is {decision.relevant}: it must be between 1 and {every}."
        if not 0 <= decision.covered <= decision.relevant:
            return f"covered is {decision.covered}: it must be between 0 and {decision.relevant}."
        return None
