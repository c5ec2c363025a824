"""The decider that needs no model, no network and no key."""

from functools import singledispatchmethod
from typing import Any, TypeVar, cast

from graphreader.deciding.budget import Budget
from graphreader.deciding.chunk_reading import ChunkRead, ChunkReadTask, NotesRead, NotesReadTask
from graphreader.deciding.decider import Decided, Heard
from graphreader.deciding.decisions import (
    Answer,
    ChunkDecision,
    Condensed,
    Decision,
    Extraction,
    FactsDecision,
    InitialNodes,
    NeighborDecision,
    RationalPlan,
)
from graphreader.deciding.episodes import (
    Gist,
    GistTask,
    LookUp,
    LookUpTask,
    MemoryAnswerTask,
    MemoryChoiceTask,
    NextPage,
    NextPageTask,
    PausePoint,
    PauseTask,
)
from graphreader.deciding.exploring import ChunkTask, FactsTask, NeighborTask
from graphreader.deciding.offline import answering, choosing, episodes, passages, searching
from graphreader.deciding.offline.condensing import condense
from graphreader.deciding.offline.facts import facts_of
from graphreader.deciding.offline.planning import plan
from graphreader.deciding.passages import TextAnswer, TextAnswerTask, TextChoice, TextChoiceTask
from graphreader.deciding.searching import SearchStep, SearchStepTask
from graphreader.deciding.tasks import (
    AnswerTask,
    CondenseTask,
    ExtractionTask,
    InitialNodesTask,
    PlanTask,
    Task,
)
from graphreader.errors import UsageError
from graphreader.usage import Usage

D = TypeVar("D", bound=Decision)


class OfflineDecider:
    """Decides by weighted word overlap and by following names; answers by quoting.

    A real reader of modest means: it finds and quotes sentences, and says so when they do not
    hold what is asked. It does not draw conclusions, calculate, or understand a paraphrase beyond
    a short list of near synonyms. The same task always gets the same decision.
    """

    name = "offline"
    prompts = "offline-1"
    notice = (
        "No language model is in use: answers are sentences picked by word overlap "
        "(set OPENAI_API_KEY or GRAPHREADER_MODEL for a real reader)."
    )
    concurrency = 2  # it computes and never waits, so more would gain nothing

    async def decide(
        self, task: Task[D], budget: Budget | None = None, heard: Heard | None = None
    ) -> Decided[D]:
        """Take one decision; it is always valid for the task. Costs a call and no tokens."""
        if budget:
            budget.take(0, task.phase)
        if isinstance(task, FactsTask):
            task = cast(Task[D], choosing.promising(task))
        return Decided(cast(D, self._decision(task)), task, Usage(calls=1))

    def measure(self, task: Task[Any]) -> int:
        """No prompt, no tokens."""
        return 0

    async def aclose(self) -> None:
        """There is nothing to let go of."""

    @singledispatchmethod
    def _decision(self, task: Any) -> Decision:
        if task.phase == "rate":
            raise UsageError(
                "Only a language model can rate answers: set GRAPHREADER_RATER_MODEL, or rate by "
                "exact match and F1 alone."
            )
        raise TypeError(f"{type(task).__name__} is no task that can be decided")

    @_decision.register
    def _(self, task: ExtractionTask) -> Extraction:
        return Extraction(facts=facts_of(task.text))

    @_decision.register
    def _(self, task: PlanTask) -> RationalPlan:
        return plan(task.question)

    @_decision.register
    def _(self, task: InitialNodesTask) -> InitialNodes:
        return choosing.choose_initial_nodes(task)

    @_decision.register
    def _(self, task: FactsTask) -> FactsDecision:
        return choosing.choose_chunks(task)

    @_decision.register
    def _(self, task: ChunkTask) -> ChunkDecision:
        return choosing.read_chunk(task)

    @_decision.register
    def _(self, task: NeighborTask) -> NeighborDecision:
        return choosing.choose_neighbor(task)

    @_decision.register
    def _(self, task: CondenseTask) -> Condensed:
        return condense(task)

    @_decision.register
    def _(self, task: AnswerTask) -> Answer:
        return answering.answer(task)

    @_decision.register
    def _(self, task: TextAnswerTask) -> TextAnswer:
        return passages.answer_from(task.question, task.excerpts)

    @_decision.register
    def _(self, task: TextChoiceTask) -> TextChoice:
        return passages.choose_from(task.question, task.options, task.excerpts)

    @_decision.register
    def _(self, task: ChunkReadTask) -> ChunkRead:
        return passages.read_alone(task)

    @_decision.register
    def _(self, task: NotesReadTask) -> NotesRead:
        return passages.read_with_notes(task)

    @_decision.register
    def _(self, task: SearchStepTask) -> SearchStep:
        return searching.next_step(task)

    @_decision.register
    def _(self, task: PauseTask) -> PausePoint:
        return episodes.pause(task)

    @_decision.register
    def _(self, task: GistTask) -> Gist:
        return episodes.gist(task)

    @_decision.register
    def _(self, task: LookUpTask) -> LookUp:
        return episodes.look_up(task)

    @_decision.register
    def _(self, task: NextPageTask) -> NextPage:
        return episodes.next_page(task)

    @_decision.register
    def _(self, task: MemoryAnswerTask) -> TextAnswer:
        return episodes.answer(task)

    @_decision.register
    def _(self, task: MemoryChoiceTask) -> TextChoice:
        return episodes.choose(task)
