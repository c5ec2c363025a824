"""An agent that searches chunks step by step, in the manner of A-RAG (Du et al. 2026).

As in A-RAG (arXiv 2602.03442), a search shows only numbers and snippets of chunks, and reading a
chunk shows it whole, once. Keywords count by how often a chunk has them, times their length; a
question in words counts by the most similar sentence of a chunk. A-RAG keeps all results in a
window of 128,000 tokens. Here they must fit a small one: the latest result is shown as it came; of
earlier ones the actions with the chunks' numbers, the labels of unread chunks, and the agent's
notes.
"""

import asyncio
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, Self, cast

import numpy as np
from pydantic import Field

from graphreader import tokens
from graphreader.baselines.answering import answer_from, excerpts_of
from graphreader.baselines.retrieval import Vectors, unit_vectors
from graphreader.baselines.session import QuestionSession, TextPassage, passages_of
from graphreader.baselines.tasks import Excerpt
from graphreader.documents import Document
from graphreader.errors import BudgetError, ReplyError, WindowError
from graphreader.llm.protocols import Budget, Decider, Decision, Embedder, Task, folded, names
from graphreader.reading import Reading
from graphreader.text.sentences import sentence_spans
from graphreader.usage import Phase

CHUNK_TOKENS = 1_000
MOST_CALLS = 15
MOST_HITS = 5  # of one search
MOST_READ = 3  # chunks read in one step
MOST_WAITING = 10  # unread chunks that a step lists
SNIPPET = 300  # characters
NOTES_TOKENS = 400
"""The agent's notes at most: they stand in every later prompt."""
_ELLIPSIS = " … "  # between the sentences of a snippet


class SearchStep(Decision):
    """What an agent that searches and reads chunks does next."""

    notes: str = Field(
        default="",
        description="The notes anew: what they held and what the latest result adds that helps "
        "to answer, and in one sentence what is still missing.",
    )
    function: Literal["keyword_search", "semantic_search", "read_chunk", "answer"] = Field(
        description="keyword_search for names and exact words; semantic_search for what may be "
        "worded otherwise; read_chunk to read listed chunks in full; answer when what was read "
        "is enough, or when nothing more can be found."
    )
    words: list[str] = Field(
        default_factory=list, description="For keyword_search: one to five words or names."
    )
    query: str = Field(default="", description="For semantic_search: a sentence or a phrase.")
    chunks: list[int] = Field(
        default_factory=list,
        description="For read_chunk: the numbers of at most three chunks that are not read yet. "
        "For answer: the numbers of the chunks on which the answer rests, the best first.",
    )

    @property
    def argument(self) -> str:
        """The words of a search in one line; empty for the other functions."""
        if self.function == "keyword_search":
            return ", ".join(word for one in self.words if (word := folded(one)))
        return folded(self.query) if self.function == "semantic_search" else ""


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk under its number, with its whole text (`in_full`) or a snippet.

    `read`: it was read before, so it is not shown in full again.
    """

    number: int
    label: str
    text: str
    in_full: bool = False
    read: bool = False

    def shown(self) -> str:
        """Number, label and text; a snippet is in one line."""
        if self.in_full:
            return f"[{self.number}] {folded(self.label)}, in full:\n{self.text.strip()}"
        read = " (read before)" if self.read else ""
        return f"[{self.number}] {folded(self.label)}{read}: {folded(self.text)}"


@dataclass(frozen=True, slots=True)
class SearchAction:
    """An action that was taken, and the numbers of the chunks that it showed."""

    function: str
    argument: str
    numbers: tuple[int, ...]

    def shown(self) -> str:
        """The action in one line."""
        numbers = " ".join(f"[{number}]" for number in self.numbers) or "nothing"
        return f"- {self.function}({folded(self.argument)}): {numbers}"


@dataclass(frozen=True, slots=True)
class SearchStepTask(Task[SearchStep]):
    """Choose the next step. Its choices are the latest result, best first, then `waiting` chunks.

    `waiting` are unread chunks of earlier results, without text, the latest first; `unread` are the
    numbers that can be read, `steps` how many more steps there can be after this one.
    """

    prompt = "search_step"
    decision = SearchStep
    phase: ClassVar[Phase] = "read"
    reply_tokens: ClassVar[int] = 900
    question: str
    notes: str
    actions: tuple[SearchAction, ...]
    result: tuple[Hit, ...]
    waiting: tuple[Hit, ...]
    unread: frozenset[int]
    steps: int
    options: tuple[str, ...] = ()
    left_out: int = 0

    def values(self) -> dict[str, str]:
        """Question with options, notes, actions, latest result, waiting chunks, steps left."""
        options = f"Options:\n{names(self.options)}" if self.options else ""
        left_out = [f"({self.left_out} more are not shown.)"] if self.left_out else []
        waiting = [f"[{hit.number}] {folded(hit.label)}" for hit in self.waiting]
        return {
            "question": self.question,
            "options": options,
            "notes": self.notes or "(empty)",
            "actions": "\n".join(action.shown() for action in self.actions) or "(none yet)",
            "result": "\n\n".join(hit.shown() for hit in self.result) or "(nothing)",
            "waiting": "\n".join([*waiting, *left_out]) or "(none)",
            "steps": str(self.steps),
        }

    def problem(self, decision: SearchStep) -> str | None:
        """A search for nothing or for the same again; no chunk to read; an answer from nothing."""
        length = tokens.count(decision.notes)
        if length > NOTES_TOKENS:
            return f"The notes have {length} tokens: write them anew with at most 200 words."
        if decision.function == "read_chunk":
            return self._reading_problem(decision.chunks)
        if decision.function == "answer":
            has_read = any(action.function == "read_chunk" for action in self.actions)
            return "Read a chunk before you answer." if self.unread and not has_read else None
        if not decision.argument:
            return f"{decision.function} needs what is to be searched for."
        if self.was_searched(decision.function, decision.argument):
            return "That was searched for already: search for something else, read, or answer."
        return None

    def _reading_problem(self, chunks: Sequence[int]) -> str | None:
        if self.unread.intersection(chunks):
            return None
        unread = sorted(self.unread)
        return (
            f"read_chunk needs numbers of chunks that are not read yet, out of {unread}."
            if unread
            else "There is no chunk that is not read yet: search for something else, or answer."
        )

    def was_searched(self, function: str, argument: str) -> bool:
        """Whether the same search was made before."""
        return any(
            action.function == function and action.argument.casefold() == argument.casefold()
            for action in self.actions
        )

    @property
    def choices(self) -> int:
        """The latest result and the waiting chunks."""
        return len(self.result) + len(self.waiting)

    def keeping(self, number: int) -> Self:
        """The best of the latest result, then the waiting chunks."""
        kept = min(number, len(self.result))
        return replace(
            self,
            result=self.result[:kept],
            waiting=self.waiting[: number - kept],
            left_out=self.left_out + self.choices - number,
        )


class ChunkIndex:
    """Keyword and semantic search over all chunks; sentences are embedded once, at first use.

    Both searches return indexes of chunks with a snippet each, the best first, at most five.
    """

    def __init__(self, passages: Sequence[TextPassage], embedder: Embedder) -> None:
        self.passages = passages
        self._embedder = embedder
        self._texts = [f"{one.document.title}\n{one.text}".casefold() for one in passages]
        self._sentences: list[tuple[int, str]] = []
        self._vectors: Vectors | None = None
        self._lock = asyncio.Lock()

    def by_keywords(self, words: Sequence[str]) -> list[tuple[int, str]]:
        """The chunks that contain the words, in upper or lower case."""
        keywords = [keyword for word in words if (keyword := folded(word.casefold()))]
        scores = [sum(text.count(word) * len(word) for word in keywords) for text in self._texts]
        best = sorted((at for at, score in enumerate(scores) if score), key=lambda at: -scores[at])
        return [(at, _snippet(self.passages[at].text, keywords)) for at in best[:MOST_HITS]]

    async def by_meaning(self, query: str) -> list[tuple[int, str]]:
        """The chunks with the sentences most similar to the query. Raises DecisionError."""
        async with self._lock:
            if self._vectors is None:
                self._sentences = [
                    (at, passage.text[start:end])
                    for at, passage in enumerate(self.passages)
                    for start, end in sentence_spans(passage.text)
                ]
                sentences = [sentence for _, sentence in self._sentences] or [""]
                self._vectors = await unit_vectors(sentences, self._embedder)
        similarity = self._vectors @ (await unit_vectors([query], self._embedder))[0]
        best: dict[int, str] = {}
        for number in np.argsort(-similarity, kind="stable"):
            if len(best) == MOST_HITS or not self._sentences:
                break
            at, sentence = self._sentences[number]
            best.setdefault(at, sentence[:SNIPPET])
        return list(best.items())

    def adjacent(self, at: int) -> list[int]:
        """The chunks right before and after, of the same document."""
        document = self.passages[at].document.id
        return [
            near
            for near in (at - 1, at + 1)
            if 0 <= near < len(self.passages) and self.passages[near].document.id == document
        ]


def _snippet(text: str, keywords: Sequence[str]) -> str:
    """The sentences with a keyword, as many as a snippet holds; else the first sentence."""
    pattern = re.compile("|".join(map(re.escape, keywords)))
    sentences = [folded(text[start:end]) for start, end in sentence_spans(text)]
    matching = [one for one in sentences if pattern.search(one.casefold())]
    return _ELLIPSIS.join(matching or sentences[:1])[:SNIPPET]


class ChunkNumbers:
    """Numbers chunks in the order in which they turn up; `read` are those shown in full."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self.read: list[int] = []

    def number(self, at: int) -> int:
        """The number of a chunk, from 1; a new one where the chunk turns up first."""
        return self._numbers.setdefault(at, len(self._numbers) + 1)

    def unread(self) -> list[int]:
        """The chunks that turned up and were not read, the latest first."""
        return [at for at in reversed(self._numbers) if at not in self.read]

    def chunks(self, numbers: Iterable[int]) -> list[int]:
        """The chunks that have these numbers, each once."""
        by_number = {number: at for at, number in self._numbers.items()}
        return [by_number[n] for n in dict.fromkeys(numbers) if n in by_number]


@dataclass(slots=True)
class _SearchState:
    """The notes, actions and latest result of one search; `best` are chunks for the answer."""

    options: tuple[str, ...]
    notes: str = ""
    actions: list[SearchAction] = field(default_factory=list)
    result: list[Hit] = field(default_factory=list)
    numbers: ChunkNumbers = field(default_factory=ChunkNumbers)
    best: list[int] = field(default_factory=list)


class SearchAgent:
    """Chooses at each step to search by words, to search by meaning, to read chunks or to answer.

    It takes at most `max_calls` steps. Then, or where the budget is used up or a step gives no
    usable reply, it answers from what it has read, with its notes: first the chunks that it named
    for the answer, then the latest ones, as many as the window holds. A chunk is shown in full
    once.
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
        self._index = ChunkIndex(chunks, embedder)
        self._decider = decider
        self._max_calls = max_calls
        self._budget = budget

    async def aask(self, question: str, *, options: Sequence[str] = ()) -> Reading:
        """Search, and answer. Raises DecisionError where nothing was read, or there is no answer.

        An unavailable service is an error as well, since it cuts the search short.
        """
        session = QuestionSession(self.name, question, self._decider, self._budget())
        state = _SearchState(tuple(options))
        try:
            await self._search(session, state)
        except (BudgetError, ReplyError, WindowError) as error:
            if not self._excerpts(state):
                raise
            session.notes.append(f"The search ended early: {error}")
        return await answer_from(session, options, self._excerpts(state), window=self.window)

    async def _search(self, session: QuestionSession, state: _SearchState) -> None:
        """Take steps until one says to answer, or there are no more."""
        if not self._index.passages:
            return
        for steps_left in reversed(range(self._max_calls)):
            result = await session.decide(self._task(session.question, state, steps_left))
            decision = result.decision
            self._count_shown(session, state, cast(SearchStepTask, result.task))
            state.notes = decision.notes.strip() or state.notes
            if decision.function == "answer":
                state.best = state.numbers.chunks(decision.chunks)
                return
            await self._act(state, decision)
        session.notes.append(f"The search ended after {self._max_calls} steps.")

    def _task(self, question: str, state: _SearchState, steps_left: int) -> SearchStepTask:
        numbers = state.numbers
        in_full = {hit.number: hit.in_full for hit in state.result}
        unread = {n: at for at in numbers.unread() if not in_full.get(n := numbers.number(at))}
        waiting = [self._hit(numbers, at, "") for n, at in unread.items() if n not in in_full]
        return SearchStepTask(
            question=question,
            notes=state.notes,
            actions=tuple(state.actions),
            result=tuple(state.result),
            waiting=tuple(waiting[:MOST_WAITING]),
            unread=frozenset(unread),
            steps=steps_left,
            options=state.options,
        )

    def _count_shown(
        self, session: QuestionSession, state: _SearchState, task: SearchStepTask
    ) -> None:
        """Count what the step really showed: a chunk that did not fit was not read."""
        state.result = list(task.result)
        in_full = state.numbers.chunks(hit.number for hit in task.result if hit.in_full)
        state.numbers.read += in_full
        session.show(self._index.passages[at] for at in in_full)
        for hit in task.result:
            for sentence in () if hit.in_full else hit.text.split(_ELLIPSIS):
                session.coverage.derived(sentence)
        if state.actions:
            numbers = tuple(hit.number for hit in task.result)
            state.actions[-1] = replace(state.actions[-1], numbers=numbers)

    async def _act(self, state: _SearchState, decision: SearchStep) -> None:
        """Search or read: the result is for the next step. Reading lists the adjacent chunks."""
        numbers, chosen = state.numbers, list[int]()
        if decision.function == "keyword_search":
            matches = self._index.by_keywords(decision.words)
        elif decision.function == "semantic_search":
            matches = await self._index.by_meaning(decision.argument)
        else:
            unread = (at for at in numbers.chunks(decision.chunks) if at not in numbers.read)
            chosen = list(unread)[:MOST_READ]
            matches = [(at, self._index.passages[at].text) for at in chosen]
        in_full = decision.function == "read_chunk"
        state.result = [self._hit(numbers, at, text, in_full) for at, text in matches]
        shown = tuple(hit.number for hit in state.result)
        state.actions.append(SearchAction(decision.function, decision.argument, shown))
        for at in chosen:
            for near in self._index.adjacent(at):
                numbers.number(near)

    def _hit(self, numbers: ChunkNumbers, at: int, text: str, in_full: bool = False) -> Hit:
        label = self._index.passages[at].label
        return Hit(numbers.number(at), label, text, in_full, at in numbers.read)

    def _excerpts(self, state: _SearchState) -> list[Excerpt]:
        """The notes and what was read: first what the agent named, then the latest.

        Chunks keep the numbers that the notes use.
        """
        numbers = state.numbers
        last_result = numbers.chunks(hit.number for hit in state.result if hit.in_full)
        read = [*numbers.read, *(at for at in last_result if at not in numbers.read)]
        named = [at for at in state.best if at in read]
        in_order = [*named, *(at for at in reversed(read) if at not in named)]
        excerpts = excerpts_of(self._index.passages[at] for at in in_order)
        numbered = [
            replace(excerpt, number=numbers.number(at))
            for at, excerpt in zip(in_order, excerpts, strict=True)
        ]
        notes = [Excerpt("Notes of the search", state.notes, -1)] if state.notes else []
        return [*notes, *numbered] if numbered else []
