"""Retrieval over ReadAgent's pages, the paper's own baselines (section 4): no gists are made."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from graphreader.agent.state import in_all
from graphreader.baselines.passages import Passage
from graphreader.baselines.read_agent.gisting import Gisting
from graphreader.baselines.read_agent.look_up import RankingOf
from graphreader.baselines.read_agent.pagination import Pagination
from graphreader.baselines.retrieval import Retrieval
from graphreader.deciding.budget import Budget
from graphreader.deciding.decider import Decider
from graphreader.documents import Document
from graphreader.reading import Reading
from graphreader.usage import Usage


class PagesRetrieval:
    """Answers from the `k` pages that a ranking puts first.

    Pages are made once, at the first question or by `pages`, and kept as ReadAgent keeps them:
    `builder` paginates, `decider` answers.
    """

    def __init__(
        self,
        name: str,
        documents: Sequence[Document],
        *,
        builder: Decider,
        decider: Decider,
        ranking_of: RankingOf,
        k: int,
        pages: Pagination,
        window: int,
        gists_home: Path | None = None,
        budget: Callable[[], Budget] = Budget,
    ) -> None:
        self.name = name
        self.window = window
        self._gisting = Gisting(documents, builder, pages, gists_home)
        self._decider = decider
        self._ranking_of = ranking_of
        self._k = k
        self._budget = budget
        self._retrieval: Retrieval | None = None

    async def pages(self) -> tuple[Passage, ...]:
        """The pages of the documents. Raises DecisionError."""
        pages, _ = await self._gisting.pages()
        return pages

    @property
    def building(self) -> Usage:
        """What making the pages has cost so far, by `pages` or by a question."""
        return in_all(self._gisting.building)

    async def aask(self, question: str, *, options: Sequence[str] = ()) -> Reading:
        """Rank, and answer from the best. Raises DecisionError.

        What it had to make of the pages stands in the reading's phase `paginate`, too.
        """
        pages, making = await self._gisting.pages()
        if self._retrieval is None:
            self._retrieval = Retrieval(
                self.name,
                self._ranking_of(pages),
                self._decider,
                k=self._k,
                window=self.window,
                budget=self._budget,
            )
        reading = await self._retrieval.aask(question, options=options)
        made = {phase: Usage(**cost) for phase, cost in making.costs.items()}
        return replace(
            reading,
            usage=reading.usage + sum(made.values(), Usage()),
            phases={**made, **reading.phases},
            notes=(*reading.notes, *making.notes()),
        )
