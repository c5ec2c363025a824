"""What decisions cost: calls, tokens, money."""

from dataclasses import dataclass
from typing import Literal

Phase = Literal[
    "extract",
    "plan",
    "select",
    "explore",
    "answer",
    "paginate",
    "gist",
    "look_up",
    "read",
    "rate",
]
"""What a decision is taken for; costs are told phase by phase.

`extract`, `paginate` and `gist` build what is asked later; `look_up` and `read` choose and read
pages and chunks of readers that have no graph; `rate` judges answers.
"""

BUILDING: frozenset[Phase] = frozenset({"extract", "paginate", "gist"})


@dataclass(frozen=True, slots=True)
class Usage:
    """What a run, or a part of it, cost.

    `calls` counts replies of a decider, also those that were of no use; `estimated` those of them
    whose tokens are our own count, because the service gives none; `unpriced` those whose price
    is not known, so that `dollars` lacks them. `cached_tokens` are the input tokens that the
    service took from its own prompt cache. `reused` counts decisions out of our cache of replies,
    which cost nothing and are no calls. `seconds` is wall clock, of whole runs only.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    cached_tokens: int = 0
    estimated: int = 0
    reused: int = 0
    dollars: float = 0.0
    unpriced: int = 0

    @property
    def tokens(self) -> int:
        """Tokens in and out."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        """Both together."""
        return Usage(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))
