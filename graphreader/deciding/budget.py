"""What one run may spend, so that it ends in good order with what it has.

Whoever decides takes what a request may cost at most before it is sent, and settles afterwards
what it really cost. So neither limit is ever passed, also where several paths ask at once. A part
is kept back for the answer: a run that may explore no further can still answer from its notebooks.
"""

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
        keeps = self.answer_tokens > 0 and phase != "answer"
        if self.max_calls is not None and self._calls + 1 + keeps > self.max_calls:
            raise BudgetError(
                f"The budget of this run is used up: max_calls is {self.max_calls:,}."
            )
        kept = self.answer_tokens if keeps else 0
        if self.max_tokens is not None and self._tokens + tokens + kept > self.max_tokens:
            raise BudgetError(
                f"The budget of this run is used up: max_tokens is {self.max_tokens:,}."
            )
        self._calls += 1
        self._tokens += tokens

    def settle(self, taken: int, spent: Usage) -> None:
        """Put back what was set aside for one call and count what it really cost."""
        self._calls += spent.calls - 1
        self._tokens += spent.tokens - taken


def _used_up(limit: str, value: int) -> BudgetError:
    return BudgetError(f"The budget of this run is used up: {limit} is {value:,}.")
