"""A language model as rater: LR-1 and LR-2 of answers, recall of supporting facts in evidence.

As both papers do it (GraphReader appendices B and E, ReadAgent section 4.1). The decider is that of
the raters' model; the papers ask it at temperature 0.1, which is set where its client is made.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from graphreader.deciding.decider import Decider
from graphreader.deciding.rating import (
    PermissiveRatingTask,
    RecallRatingTask,
    StrictRatingTask,
)
from graphreader.errors import DecisionError
from graphreader.evaluation.metrics.evidence import FactRecall
from graphreader.usage import Usage

Verdict = Literal["exact", "partial", "no"]


@dataclass(frozen=True, slots=True)
class Rating:
    """What both raters together say of an answer, and what asking them cost."""

    verdict: Verdict
    usage: Usage = field(default_factory=Usage)

    @property
    def lr1(self) -> float:
        """1 where the answer agrees exactly. Its mean over the questions is LLM-Rating-1."""
        return float(self.verdict == "exact")

    @property
    def lr2(self) -> float:
        """1 where it agrees exactly or in part. Its mean over the questions is LLM-Rating-2."""
        return float(self.verdict != "no")


@dataclass(frozen=True, slots=True)
class RatedRecall(FactRecall):
    """What the rater counts in a text, and what asking it cost."""

    usage: Usage = field(default_factory=Usage)


class Raters:
    """Rates answers and evidence by asking the decider.

    Raises DecisionError where a rating cannot be had (its `spent` tells all that was paid for this
    answer), UsageError where the decider is no language model.
    """

    def __init__(self, decider: Decider) -> None:
        self._decider = decider

    async def rate(self, question: str, answer: str, references: Sequence[str]) -> Rating:
        """The best rating of the answer with any of the references, one after the other.

        Exact where one of the two raters says yes; partial where the strict one says no and the
        permissive one "partially"; else no. Nobody is asked what can change nothing any more: the
        permissive rater after a strict yes, further references after an exact match, and both about
        an answer without words, which is a no.
        """
        best, usage = Rating("no"), Usage()
        if not answer.strip():
            return best
        for reference in references:
            try:
                rating = await self._with(question, answer, reference)
            except DecisionError as error:
                error.spent += usage
                raise
            usage += rating.usage
            best = max(best, rating, key=lambda one: one.lr1 + one.lr2)
            if best.verdict == "exact":
                break
        return Rating(best.verdict, usage)

    async def recall(self, question: str, supporting: Sequence[str], text: str) -> RatedRecall:
        """How many of the supporting facts the question needs, and how many the text covers.

        There must be a fact at least. `fact_wise` and `sample_wise` make the figures of table 6.
        """
        if not supporting:
            raise ValueError("There are no supporting facts to look for")
        task = RecallRatingTask(question, tuple(supporting), text)
        decided = await self._decider.decide(task)
        return RatedRecall(decided.decision.relevant, decided.decision.covered, decided.usage)

    async def _with(self, question: str, answer: str, reference: str) -> Rating:
        """The rating with this one reference."""
        strict = await self._decider.decide(StrictRatingTask(question, answer, reference))
        if strict.decision.agrees == "yes":
            return Rating("exact", strict.usage)
        try:
            permissive = await self._decider.decide(
                PermissiveRatingTask(question, answer, reference)
            )
        except DecisionError as error:
            error.spent += strict.usage
            raise
        verdicts: dict[str, Verdict] = {"yes": "exact", "partially": "partial", "no": "no"}
        usage = strict.usage + permissive.usage
        return Rating(verdicts[permissive.decision.agrees], usage)
