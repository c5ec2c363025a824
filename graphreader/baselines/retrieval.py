"""Retrieval-augmented generation: answer from the passages that are ranked best (appendix D)."""

from collections.abc import Callable, Sequence

from graphreader.baselines.answering import RETRIEVED, Source, answer_from, sources_of
from graphreader.baselines.ranking import Ranking
from graphreader.baselines.sitting import Sitting
from graphreader.deciding.budget import Budget
from graphreader.deciding.decider import Decider
from graphreader.deciding.passages import Excerpt
from graphreader.reading import Reading

TOP_1_TOKENS = 3_800
"""A chunk where only one is shown. Appendix D prints 38k, which its window of 4k cannot hold."""

TOP_K_TOKENS = 1_000
"""A chunk where several are shown."""

_ASKED = 200
"""Tokens that a question with its options finds room for beside the largest chunk."""

_LABEL = 60
"""Tokens of a passage's label."""


class Retrieval:
    """Answers from the best `k` passages of a ranking.

    `window` is that of its decider. Passages come with the ranking; where they do not all fit
    into the window, the last ones are left out, and a note says so.
    """

    def __init__(
        self,
        name: str,
        ranking: Ranking,
        decider: Decider,
        *,
        k: int,
        window: int,
        budget: Callable[[], Budget] = Budget,
    ) -> None:
        self.name = name
        self.window = window
        self._ranking = ranking
        self._decider = decider
        self._k = k
        self._budget = budget

    async def aask(self, question: str, *, options: Sequence[str] = ()) -> Reading:
        """Rank, and answer from the best. Raises DecisionError."""
        sitting = Sitting(self.name, question, self._decider, self._budget())
        best = [one for one in await self._ranking.ranked(question) if one.text.strip()][: self._k]
        return await answer_from(sitting, question, options, sources_of(best), window=self.window)


def top_1_tokens(decider: Decider, window: int) -> int:
    """The size of chunks of which one is to fill the window: 3,800 tokens, or what fits.

    In a window of 4,096 tokens a language model's prompt, the schema of its reply and the question
    leave less than 3,800. Without a model there is no prompt. Raises WindowError where the window
    does not even hold the prompt.
    """
    empty = Source(Excerpt("", "", 0), None)
    prompts = [RETRIEVED.task("", options, [empty]) for options in ((), ("",))]
    prompt = max(decider.measure(task) for task in prompts)
    return max(1, min(TOP_1_TOKENS, window - prompt - _ASKED - _LABEL))
