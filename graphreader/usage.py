"""The cost of decisions: calls, tokens, money."""

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
"""The purpose of a decision; costs are reported by phase.

`extract`, `paginate` and `gist` prepare texts for questions; `look_up` and `read` choose and read
pages and chunks, in readers without a graph; `rate` judges answers.
"""

BUILDING: frozenset[Phase] = frozenset({"extract", "paginate", "gist"})
"""The phases that prepare texts before a question is asked."""


_MOST_TOKENS = 10**9
"""A number of tokens of one reply that no service counts; many replies still fit into 64 bits."""


def is_token_count(value: object) -> bool:
    """Whether a number of tokens that a service reports can be true."""
    return isinstance(value, int) and 0 <= value <= _MOST_TOKENS


@dataclass(frozen=True, slots=True)
class Usage:
    """The cost of a run or of a part of it.

    `calls` counts replies: `estimated` replies have tokens counted by us, not by the service,
    `unpriced` replies have no known price and are missing in `dollars`. `cached_tokens` are input
    from the service's prompt cache, `reused` counts decisions from our reply cache, `seconds` is
    wall clock time of whole runs.
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
        """The number of input and output tokens."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        """Add two costs."""
        return Usage(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))

    def __sub__(self, other: "Usage") -> "Usage":
        """Subtract a cost."""
        return Usage(*(getattr(self, name) - getattr(other, name) for name in self.__slots__))
