"""What one run may spend, so that it ends in good order with what it has.

Whoever decides takes what a request may cost at most before it is sent, and settles afterwards
what it really cost. So neither limit is passed, also where several paths ask at once. A part is
kept back for the answer: a run that may explore no further can still answer from its notebooks.

`max_tokens` is kept as well as a request's cost can be told before: a service that takes no limit
for its replies, or whose tokenizer counts more than ours, may pass it by what the requests under
way cost beyond that. What they really cost counts for every later one.
"""

import math
from dataclasses import dataclass, field

from graphreader.errors import BudgetError
from graphreader.usage import Phase, Usage


@dataclass(slots=True)
class Budget:
    """At most `max_calls` replies and `max_tokens` tokens in and out; None: as many as it takes.

    `answer_tokens` is what is kept back for the answer, with one call; 0: nothing is.
    """

    max_calls: int | None = None
    max_tokens: int | None = None
    answer_tokens: int = 0
    _calls: int = field(default=0, init=False)
    _tokens: int = field(default=0, init=False)

    def take(self, tokens: int, phase: Phase) -> None:
        """Set aside one call and so many tokens. Raises BudgetError where they are not there."""
        keeps = self._keeps_back(phase)
        if self.max_calls is not None and self._calls + 1 + keeps > self.max_calls:
            raise self._refusal("max_calls", self.max_calls, 1, 1 if keeps else 0)
        if self.max_tokens is not None and tokens > self.left(phase):
            kept = self.answer_tokens if keeps else 0
            raise self._refusal("max_tokens", self.max_tokens, tokens, kept)
        self._calls += 1
        self._tokens += tokens

    def settle(self, taken: int, spent: Usage) -> None:
        """Put back what was set aside for one call and count what it really cost."""
        self._calls += spent.calls - 1
        self._tokens += spent.tokens - taken

    def count(self, spent: Usage) -> None:
        """Count what an earlier part of the run has cost."""
        self._calls += spent.calls
        self._tokens += spent.tokens

    def left(self, phase: Phase) -> float:
        """Tokens that a request may still take; infinitely many without a limit."""
        if self.max_tokens is None:
            return math.inf
        kept = self.answer_tokens if self._keeps_back(phase) else 0
        return self.max_tokens - self._tokens - kept

    def _keeps_back(self, phase: Phase) -> bool:
        return self.answer_tokens > 0 and phase != "answer"

    def _refusal(self, limit: str, value: int, asked: int, kept: int) -> BudgetError:
        option = f"--{limit.replace('_', '-')}"
        if self._calls:
            return BudgetError(
                f"The budget of this run is used up: {limit} is {value:,}. For more, set {option} "
                "higher."
            )
        # Nothing was asked yet, nor is anything under way.
        back = f", with the {kept:,} that are kept back for the answer" if kept else ""
        return BudgetError(
            f"The budget of this run is too small: {limit} is {value:,}, but the first request may "
            f"need {asked + kept:,}{back}: set {option} to that at least, better to far more."
        )
