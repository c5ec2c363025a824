"""An agent that searches chunks step by step, in the manner of A-RAG (Du et al. 2026)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from graphreader.baselines.answering import Source, answer_from, sources_of
from graphreader.baselines.passages import Passage, passages_of
from graphreader.baselines.searching import BETWEEN, Chunks, Tracker
from graphreader.baselines.sitting import Sitting
from graphreader.deciding.budget import Budget
from graphreader.deciding.decider import Decider
from graphreader.deciding.embedder import Embedder
from graphreader.deciding.passages import Excerpt
from graphreader.deciding.searching import MOST_READ, Hit, Search, SearchStep, SearchStepTask
from graphreader.deciding.tasks import Task
from graphreader.documents import Document
from graphreader.errors import BudgetError, ReplyError, WindowError
from graphreader.reading import Reading

CHUNK_TOKENS = 1_000
MOST_CALLS = 15
MOST_WAITING = 10


@dataclass(slots=True)
class _Search:
    """Where the search for one answer stands."""

    question: str
    options: tuple[str, ...]
    notes: str = ""
    actions: list[Search] = field(default_factory=list)
    result: list[Hit] = field(default_factory=list)
    tracker: Tracker = field(default_factory=Tracker)
    best: list[int] = field(default_factory=list)


class SearchAgent:
    """Chooses at each step to search by words, to search by meaning, to read chunks or to answer.

    At most `max_calls` steps; then, or when the budget is used up or a step gives no usable reply,
    it answers from what it has read: the chunks that it named for it first, then the latest ones,
    as many as the window holds, with its notes. A chunk is shown in full once.
    """

    name = "search-agent"

    def __init__(
        self,
        documents: Sequence[Document],
        decider: Decider,
        embedder: Embedder,
        *,
        chunk_tokens: int = CHUNK_TOKENS,
        max_calls: int = MOST_CALLS,
        window: int,
        budget: Callable[[], Budget] = Budget,
    ) -> None:
        self.window = window
        chunks = [one for one in passages_of(documents, chunk_tokens) if one.text.strip()]
        self._chunks = Chunks(chunks, embedder)
        self._decider = decider
        self._max_calls = max_calls
        self._budget = budget

    async def aask(self, question: str, *, options: Sequence[str] = ()) -> Reading:
        """Search, and answer. Raises DecisionError where nothing was read, or no answer is had.

        A service that is gone is an error as well: a search that it cut short is none.
        """
        sitting = Sitting(self.name, question, self._decider, self._budget())
        search = _Search(question, tuple(options))
        try:
            await self._search(sitting, search)
        except (BudgetError, ReplyError, WindowError) as error:
            if not self._sources(search):
                raise
            sitting.notes.append(f"The search ended early: {error}")
        return await answer_from(
            sitting, question, options, self._sources(search), window=self.window
        )

    async def _search(self, sitting: Sitting, search: _Search) -> None:
        """Take steps until one says to answer, or there are no more."""
        if not self._chunks.passages:
            return
        for step in range(1, self._max_calls + 1):
            decided = await sitting.decide(self._task(search, self._max_calls - step))
            decision = decided.decision
            self._saw(sitting, search, decided.task)
            search.notes = decision.notes.strip() or search.notes
            if decision.function == "answer":
                search.best = search.tracker.chunks(decision.chunks)
                return
            if decision.function == "read_chunk":
                self._read(search, decision)
            else:
                await self._find(search, decision)
        sitting.notes.append(f"The search ended after {self._max_calls} steps.")

    def _task(self, search: _Search, steps: int) -> SearchStepTask:
        tracker = search.tracker
        shown = {hit.number: hit.in_full for hit in search.result}
        unread = {n: at for at in tracker.unread() if not shown.get(n := tracker.number(at))}
        waiting = [self._hit(tracker, at, "") for n, at in unread.items() if n not in shown]
        return SearchStepTask(
            question=search.question,
            notes=search.notes,
            actions=tuple(search.actions),
            result=tuple(search.result),
            waiting=tuple(waiting[:MOST_WAITING]),
            unread=frozenset(unread),
            steps=steps,
            options=search.options,
        )

    def _saw(self, sitting: Sitting, search: _Search, task: Task[SearchStep]) -> None:
        """Count what the step was really shown: what found no room was not read."""
        hits = task.result if isinstance(task, SearchStepTask) else ()
        search.result = list(hits)
        full = search.tracker.chunks(hit.number for hit in hits if hit.in_full)
        search.tracker.read += full
        sitting.show(self._chunks.passages[at] for at in full)
        for hit in hits:
            for sentence in () if hit.in_full else hit.text.split(BETWEEN):
                sitting.shown.derived(sentence)
        if search.actions:
            numbers = tuple(hit.number for hit in hits)
            search.actions[-1] = replace(search.actions[-1], numbers=numbers)

    async def _find(self, search: _Search, decision: SearchStep) -> None:
        """Carry a search out."""
        if decision.function == "keyword_search":
            found = self._chunks.by_keywords(decision.words)
        else:
            found = await self._chunks.by_meaning(decision.argument)
        search.result = [self._hit(search.tracker, one.at, one.snippet) for one in found]
        self._note(search, decision)

    def _read(self, search: _Search, decision: SearchStep) -> None:
        """Show chunks in full that were not read before, and list those beside them."""
        tracker = search.tracker
        wanted = tracker.chunks(decision.chunks)
        chosen = [at for at in wanted if at not in tracker.read][:MOST_READ]
        texts = ((at, self._chunks.passages[at].text) for at in chosen)
        search.result = [self._hit(tracker, at, text, in_full=True) for at, text in texts]
        self._note(search, decision)
        for at in chosen:
            for near in self._chunks.beside(at):
                tracker.number(near)

    def _note(self, search: _Search, decision: SearchStep) -> None:
        numbers = tuple(hit.number for hit in search.result)
        search.actions.append(Search(decision.function, decision.argument, numbers))

    def _hit(self, tracker: Tracker, at: int, text: str, in_full: bool = False) -> Hit:
        return Hit(
            tracker.number(at), self._chunks.passages[at].label, text, in_full, at in tracker.read
        )

    def _sources(self, search: _Search) -> list[Source]:
        """The notes, and what was read: what the agent named first, then the latest.

        Chunks keep the numbers by which the notes tell of them.
        """
        tracker = search.tracker
        waiting = tracker.chunks(hit.number for hit in search.result if hit.in_full)
        read = [*tracker.read, *(at for at in waiting if at not in tracker.read)]
        named = [at for at in search.best if at in read]
        in_order = [*named, *(at for at in reversed(read) if at not in named)]
        passages: list[Passage] = [self._chunks.passages[at] for at in in_order]
        numbered = [
            replace(source, excerpt=replace(source.excerpt, number=tracker.number(at)))
            for at, source in zip(in_order, sources_of(passages), strict=True)
        ]
        notes = Source(Excerpt("Notes of the search", search.notes, -1), None)
        return [*([notes] if search.notes and passages else []), *numbered]
