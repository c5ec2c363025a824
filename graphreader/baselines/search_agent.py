"""An agent that searches chunks step by step, in the manner of A-RAG (Du et al. 2026).

The tools of an agent that searches: keyword search, semantic search, and which chunks were read.

As in A-RAG (Du et al. 2026): keywords count by how often a chunk has them, times their length; a
question in words counts by the most alike sentence of a chunk. A search shows snippets only.

The next step of an agent that searches: keywords, meaning, reading chunks, answering.

In the manner of A-RAG (Du et al. 2026, arXiv 2602.03442): search shows only numbers and snippets of
chunks, and reading one shows it whole, once. A-RAG keeps all results in a window of 128,000 tokens.
Here they must fit a small one: the latest result is shown as it came, of earlier ones the actions
remain with the chunks' numbers, the labels of chunks that are not read yet, and the agent's notes.
"""

import asyncio
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from graphreader import tokens
from graphreader.baselines.answering import Source, answer_from, sources_of
from graphreader.baselines.retrieval import Vectors, embedded
from graphreader.baselines.session import QuestionSession, TextPassage, passages_of
from graphreader.baselines.tasks import Excerpt
from graphreader.documents import Document
from graphreader.errors import BudgetError, ReplyError, WindowError
from graphreader.llm.protocols import Budget, Decider, Decision, Embedder, Task, folded, names
from graphreader.reading import Reading
from graphreader.text.sentences import sentence_spans
from graphreader.usage import Phase

MOST_HITS = 5
SNIPPET = 300  # characters
BETWEEN = " … "  # sentences of a snippet


@dataclass(frozen=True, slots=True)
class Found:
    """A chunk, by its place among all of them, and the words by which it was found."""

    at: int
    snippet: str


class Chunks:
    """All chunks, and how to find some of them. What is embedded is embedded once, at first use."""

    def __init__(self, passages: Sequence[TextPassage], embedder: Embedder) -> None:
        self.passages = passages
        self._embedder = embedder
        self._folded = [f"{one.document.title}\n{one.text}".casefold() for one in passages]
        self._sentences: list[tuple[int, str]] = []
        self._vectors: Vectors | None = None
        self._making = asyncio.Lock()

    def by_keywords(self, words: Sequence[str]) -> list[Found]:
        """The chunks that have the words, in any letters, the best first; at most five."""
        wanted = [folded for word in words if (folded := " ".join(word.casefold().split()))]
        scores = [sum(text.count(word) * len(word) for word in wanted) for text in self._folded]
        best = sorted((at for at, score in enumerate(scores) if score), key=lambda at: -scores[at])
        return [Found(at, _with_words(self.passages[at].text, wanted)) for at in best[:MOST_HITS]]

    async def by_meaning(self, query: str) -> list[Found]:
        """The chunks with the sentences most like the query; at most five. Raises DecisionError."""
        async with self._making:
            if self._vectors is None:
                self._sentences = list(_sentences(self.passages))
                self._vectors = await embedded(
                    [sentence for _, sentence in self._sentences] or [""], self._embedder
                )
        likeness = self._vectors @ (await embedded([query], self._embedder))[0]
        best: dict[int, str] = {}
        for number in np.argsort(-likeness, kind="stable"):
            if len(best) == MOST_HITS or not self._sentences:
                break
            at, sentence = self._sentences[number]
            best.setdefault(at, sentence[:SNIPPET])
        return [Found(at, snippet) for at, snippet in best.items()]

    def beside(self, at: int) -> list[int]:
        """The chunks right before and after, of the same document."""
        document = self.passages[at].document.id
        return [
            near
            for near in (at - 1, at + 1)
            if 0 <= near < len(self.passages) and self.passages[near].document.id == document
        ]


class Tracker:
    """Numbers chunks as they turn up, and knows which ones were shown in full."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self.read: list[int] = []

    def number(self, at: int) -> int:
        """The number of a chunk, from 1 in the order in which chunks turn up."""
        return self._numbers.setdefault(at, len(self._numbers) + 1)

    def unread(self) -> list[int]:
        """The chunks that turned up and were not read, the latest first."""
        return [at for at in reversed(self._numbers) if at not in self.read]

    def chunks(self, numbers: Iterable[int]) -> list[int]:
        """The chunks that have these numbers, each once."""
        by_number = {number: at for at, number in self._numbers.items()}
        return [by_number[n] for n in dict.fromkeys(numbers) if n in by_number]


def _sentences(passages: Sequence[TextPassage]) -> Iterable[tuple[int, str]]:
    """Every sentence with the place of its chunk."""
    for at, passage in enumerate(passages):
        for start, end in sentence_spans(passage.text):
            yield at, passage.text[start:end]


def _with_words(text: str, words: Sequence[str]) -> str:
    """The sentences that have a word, as many as a snippet holds; else the beginning."""
    any_word = re.compile("|".join(map(re.escape, words)))
    sentences = [" ".join(text[start:end].split()) for start, end in sentence_spans(text)]
    having = [one for one in sentences if any_word.search(one.casefold())]
    return BETWEEN.join(having or sentences[:1])[:SNIPPET]


NOTES_TOKENS = 400
"""The agent's notes at most: they stand in every later prompt."""

MOST_READ = 3
"""Chunks that may be read in one step."""


class SearchStep(Decision):
    """What an agent does next that searches chunks and reads them."""

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
        """What is searched for, in one line; empty for the other functions."""
        if self.function == "keyword_search":
            return ", ".join(word for one in self.words if (word := folded(one)))
        return folded(self.query) if self.function == "semantic_search" else ""


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk under its number: in full where it is read now, else with what was found in it.

    `read` where it was read before: it is not shown in full again.
    """

    number: int
    label: str
    text: str
    in_full: bool = False
    read: bool = False

    def shown(self) -> str:
        """With its text, in one line unless it is in full."""
        if self.in_full:
            return f"[{self.number}] {folded(self.label)}, in full:\n{self.text.strip()}"
        read = " (read before)" if self.read else ""
        return f"[{self.number}] {folded(self.label)}{read}: {folded(self.text)}"


@dataclass(frozen=True, slots=True)
class Search:
    """An action that was taken, and the chunks that it showed."""

    function: str
    argument: str
    numbers: tuple[int, ...]

    def shown(self) -> str:
        """One line."""
        numbers = " ".join(f"[{number}]" for number in self.numbers) or "nothing"
        return f"- {self.function}({folded(self.argument)}): {numbers}"


@dataclass(frozen=True, slots=True)
class SearchStepTask(Task[SearchStep]):
    """Choose the next step. Its choices are the latest result, best first, then `waiting` chunks.

    `waiting` are chunks that were found and are not read yet, without text, the latest first;
    `unread` the numbers that may be read, `steps` how many more there may be after this one.
    """

    prompt = "search_step"
    decision = SearchStep
    phase: ClassVar[Phase] = "read"
    reply_tokens: ClassVar[int] = 900
    question: str
    notes: str
    actions: tuple[Search, ...]
    result: tuple[Hit, ...]
    waiting: tuple[Hit, ...]
    unread: frozenset[int]
    steps: int
    options: tuple[str, ...] = ()
    left_out: int = 0

    def values(self) -> dict[str, str]:
        """Question with options, notes, actions, the latest result, what waits, steps left."""
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
            return self._problem_of_reading(decision.chunks)
        if decision.function == "answer":
            has_read = any(action.function == "read_chunk" for action in self.actions)
            return "Read a chunk before you answer." if self.unread and not has_read else None
        if not decision.argument:
            return f"{decision.function} needs what is to be searched for."
        if self.was_searched(decision.function, decision.argument):
            return "That was searched for already: search for something else, read, or answer."
        return None

    def _problem_of_reading(self, chunks: Sequence[int]) -> str | None:
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
        """What was found last, and what waits."""
        return len(self.result) + len(self.waiting)

    def keeping(self, number: int) -> Self:
        """The best of the latest result, then the chunks that wait."""
        kept = min(number, len(self.result))
        return replace(
            self,
            result=self.result[:kept],
            waiting=self.waiting[: number - kept],
            left_out=self.left_out + self.choices - number,
        )


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
        sitting = QuestionSession(self.name, question, self._decider, self._budget())
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

    async def _search(self, sitting: QuestionSession, search: _Search) -> None:
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

    def _saw(self, sitting: QuestionSession, search: _Search, task: Task[SearchStep]) -> None:
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
        passages: list[TextPassage] = [self._chunks.passages[at] for at in in_order]
        numbered = [
            replace(source, excerpt=replace(source.excerpt, number=tracker.number(at)))
            for at, source in zip(in_order, sources_of(passages), strict=True)
        ]
        notes = Source(Excerpt("Notes of the search", search.notes, -1), None)
        return [*([notes] if search.notes and passages else []), *numbered]
