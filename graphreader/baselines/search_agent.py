"""An agent that searches chunks step by step, after A-RAG (Du et al. 2026, arXiv 2602.03442).

Unlike in A-RAG, a prompt for the small window has only the latest result in full. Earlier results
are left as actions, as numbers and labels of chunks, and in the agent's notes.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Literal, Self, cast

import numpy as np
from pydantic import Field

from graphreader import tokens
from graphreader.baselines.answering import Excerpt, answer_from, excerpts_of
from graphreader.baselines.retrieval import VectorIndex
from graphreader.baselines.session import (
    BaselineReader,
    QuestionSession,
    ReaderModel,
    TextPassage,
    passages_of,
)
from graphreader.documents import Document
from graphreader.errors import BudgetError, ReplyError, WindowError
from graphreader.llm.protocols import Decision, Embedder, Task, folded, names
from graphreader.offline.evidence import (
    LabelledText,
    add_notes,
    covers,
    parse_notes,
    ranked_sentences,
    worth_noting,
)
from graphreader.reading import Reading
from graphreader.text.question import ParsedQuestion, parse_question
from graphreader.text.sentences import sentence_spans
from graphreader.usage import Phase

CHUNK_TOKENS = 1_000
MOST_CALLS = 15
MOST_HITS = 5  # in one search
MOST_READ = 3  # chunks read in one step
MOST_WAITING = 10  # unread chunks that a step lists
SNIPPET = 300  # characters
MOST_CHUNKS_READ = 8  # without a model: after these it answers in any case
NOTES_TOKENS = 400  # at most, as every later prompt contains the notes
_ELLIPSIS = " … "  # between the sentences of a snippet


class SearchStep(Decision):
    """The next step of an agent: a search, chunks to read, or the end."""

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
class SearchHit:
    """A chunk in a result, with its whole text (`in_full`) or a snippet; `read`: seen before."""

    number: int
    label: str
    text: str
    in_full: bool = False
    read: bool = False

    def shown(self) -> str:
        """Format number, label and text; a snippet takes one line."""
        if self.in_full:
            return f"[{self.number}] {folded(self.label)}, in full:\n{self.text.strip()}"
        read = " (read before)" if self.read else ""
        return f"[{self.number}] {folded(self.label)}{read}: {folded(self.text)}"


@dataclass(frozen=True, slots=True)
class SearchAction:
    """A finished action with the numbers of the chunks that it showed."""

    function: str
    argument: str
    numbers: tuple[int, ...]

    def shown(self) -> str:
        """Format the action in one line."""
        numbers = " ".join(f"[{number}]" for number in self.numbers) or "nothing"
        return f"- {self.function}({folded(self.argument)}): {numbers}"


@dataclass(frozen=True, slots=True)
class SearchStepTask(Task[SearchStep]):
    """Choose the next step; shown are the latest result and unread `waiting` chunks.

    `unread` are the numbers of chunks that can be read, `steps` the number of later steps.
    """

    prompt = "search_step"
    decision = SearchStep
    phase: ClassVar[Phase] = "read"
    reply_tokens: ClassVar[int] = 900
    question: str
    notes: str
    actions: tuple[SearchAction, ...]
    result: tuple[SearchHit, ...]
    waiting: tuple[SearchHit, ...]
    unread: frozenset[int]
    steps: int
    options: tuple[str, ...] = ()
    left_out: int = 0

    def values(self) -> dict[str, str]:
        """The prompt's values: question, notes, actions, result, waiting chunks, steps left."""
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
        """Say why a step is invalid: an empty or repeated search, nothing to read, nothing read."""
        length = tokens.count(decision.notes)
        if length > NOTES_TOKENS:
            return f"The notes have {length} tokens: write them anew with at most 200 words."
        if decision.function == "read_chunk":
            unread = sorted(self.unread)
            return (
                None
                if self.unread.intersection(decision.chunks)
                else f"read_chunk needs numbers of chunks that are not read yet, out of {unread}."
            )
        if decision.function == "answer":
            has_read = any(action.function == "read_chunk" for action in self.actions)
            return "Read a chunk before you answer." if self.unread and not has_read else None
        if not decision.argument:
            return f"{decision.function} needs what is to be searched for."
        if self.was_searched(decision.function, decision.argument):
            return "That was searched for already: search for something else, read, or answer."
        return None

    def was_searched(self, function: str, argument: str) -> bool:
        """Whether a search with this function and argument was made before."""
        return any(
            action.function == function and action.argument.casefold() == argument.casefold()
            for action in self.actions
        )

    def by_rule(self) -> SearchStep:
        """Read the results of the last search, then search for names of the notes, then answer."""
        question = parse_question(self.question)
        hits = (
            LabelledText(f"{hit.number}: {hit.label}", hit.text)
            for hit in self.result
            if hit.in_full
        )
        new = worth_noting(ranked_sentences(hits, question), question)
        notes = add_notes(self.notes, new, question, NOTES_TOKENS)
        parsed = parse_notes(notes)
        texts = sorted((one.text for one in parsed), key=lambda text: -question.relevance(text))
        read = sum(len(one.numbers) for one in self.actions if one.function == "read_chunk")
        if not read or not (covers(texts, question) or read >= MOST_CHUNKS_READ or not self.steps):
            for step in self._steps(question, texts):
                if step.chunks or not self.was_searched(step.function, step.argument):
                    return step.model_copy(update={"notes": notes})
        numbers = (one.label.partition(":")[0] for one in parsed)
        chunks = list(dict.fromkeys(int(number) for number in numbers if number.isdecimal()))
        return SearchStep(notes=notes, function="answer", chunks=chunks)

    def _steps(self, question: ParsedQuestion, texts: Sequence[str]) -> Iterator[SearchStep]:
        """Yield steps, best first: read hits; search names, question, each word; read any."""
        leads = question.new_name_terms(texts)
        scores = {
            hit.number: question.relevance(hit.text, hit.label, leads)
            for hit in self.result
            if hit.number in self.unread and not hit.in_full
        }
        if chunks := sorted((n for n in scores if scores[n] > 0), key=lambda n: -scores[n]):
            yield SearchStep(function="read_chunk", chunks=chunks[:MOST_READ])
        if words := list(question.names or question.attributes):
            yield SearchStep(function="keyword_search", words=words)
        yield SearchStep(function="semantic_search", query=self.question)
        for word in (*question.new_names(texts), *question.names, *question.attributes):
            yield SearchStep(function="keyword_search", words=[word])
        if self.unread and not any(one.function == "read_chunk" for one in self.actions):
            yield SearchStep(function="read_chunk", chunks=[min(self.unread)])

    @property
    def choices(self) -> int:
        """The number of chunks of the latest result and of waiting chunks."""
        return len(self.result) + len(self.waiting)

    def keeping(self, number: int) -> Self:
        """Copy the task with `number` chunks: the best of the result, then waiting chunks."""
        kept = min(number, len(self.result))
        return replace(
            self,
            result=self.result[:kept],
            waiting=self.waiting[: number - kept],
            left_out=self.left_out + self.choices - number,
        )


class ChunkIndex:
    """An index of chunks; a search returns at most five pairs (index, snippet), best first."""

    def __init__(
        self, passages: Sequence[TextPassage], embedder: Embedder, home: Path | None = None
    ) -> None:
        self.passages = passages
        self._texts = [one.titled.casefold() for one in passages]
        self._sentences = [
            (at, passage.text[start:end])
            for at, passage in enumerate(passages)
            for start, end in sentence_spans(passage.text)
        ]
        self._vectors = VectorIndex([text for _, text in self._sentences], embedder, home)

    def by_keywords(self, words: Sequence[str]) -> list[tuple[int, str]]:
        """Search chunks that contain the words, in upper or lower case."""
        keywords = [keyword for word in words if (keyword := folded(word.casefold()))]
        scores = [sum(text.count(word) * len(word) for word in keywords) for text in self._texts]
        best = sorted((at for at, score in enumerate(scores) if score), key=lambda at: -scores[at])
        return [(at, _snippet(self.passages[at].text, keywords)) for at in best[:MOST_HITS]]

    async def by_meaning(self, query: str) -> list[tuple[int, str]]:
        """Search chunks with the sentences most similar to the query. Raises DecisionError."""
        best: dict[int, str] = {}
        for number in np.argsort(-await self._vectors.similarities(query), kind="stable"):
            if len(best) == MOST_HITS:
                break
            at, sentence = self._sentences[number]
            best.setdefault(at, sentence[:SNIPPET])
        return list(best.items())

    def adjacent(self, at: int) -> list[int]:
        """The indexes of the chunks before and after a chunk in its document."""
        document = self.passages[at].document.id
        return [
            near
            for near in (at - 1, at + 1)
            if 0 <= near < len(self.passages) and self.passages[near].document.id == document
        ]


def _snippet(text: str, keywords: Sequence[str]) -> str:
    """Join the sentences with a keyword up to the size of a snippet; else the first sentence."""
    pattern = re.compile("|".join(map(re.escape, keywords)))
    sentences = [folded(text[start:end]) for start, end in sentence_spans(text)]
    matching = [one for one in sentences if pattern.search(one.casefold())]
    return _ELLIPSIS.join(matching or sentences[:1])[:SNIPPET]


@dataclass(slots=True)
class _Search:
    """The state of the search for one question; `numbers` maps the index of a chunk to its number.

    A chunk gets its number when it is first shown.
    """

    index: ChunkIndex
    notes: str = ""
    actions: list[SearchAction] = field(default_factory=list)
    result: list[SearchHit] = field(default_factory=list)
    numbers: dict[int, int] = field(default_factory=dict)
    read: list[int] = field(default_factory=list)
    best: list[int] = field(default_factory=list)

    def task(self, session: QuestionSession, steps_left: int) -> SearchStepTask:
        """Make the task that chooses the next step."""
        in_result = {hit.number: hit.in_full for hit in self.result}
        unread = [
            (number, at)
            for at, number in reversed(self.numbers.items())
            if at not in self.read and not in_result.get(number)
        ]
        waiting = [self._hit(at, "") for number, at in unread if number not in in_result]
        return SearchStepTask(
            question=session.question,
            notes=self.notes,
            actions=tuple(self.actions),
            result=tuple(self.result),
            waiting=tuple(waiting[:MOST_WAITING]),
            unread=frozenset(number for number, _ in unread),
            steps=steps_left,
            options=session.options,
        )

    def count_shown(self, session: QuestionSession, task: SearchStepTask) -> None:
        """Record the chunks that a prompt really showed: a chunk that did not fit is unread."""
        self.result = list(task.result)
        in_full = self.chunks(hit.number for hit in task.result if hit.in_full)
        self.read += in_full
        session.show(self.index.passages[at] for at in in_full)
        for hit in task.result:
            for sentence in () if hit.in_full else hit.text.split(_ELLIPSIS):
                session.coverage.derived(sentence)
        if self.actions:
            shown = tuple(hit.number for hit in task.result)
            self.actions[-1] = replace(self.actions[-1], numbers=shown)

    async def act(self, step: SearchStep) -> None:
        """Search or read for the next step. Reading also lists the adjacent chunks."""
        chosen: list[int] = []
        if step.function == "keyword_search":
            matches = self.index.by_keywords(step.words)
        elif step.function == "semantic_search":
            matches = await self.index.by_meaning(step.argument)
        else:
            chosen = [at for at in self.chunks(step.chunks) if at not in self.read][:MOST_READ]
            matches = [(at, self.index.passages[at].text) for at in chosen]
        self.result = [self._hit(at, text, at in chosen) for at, text in matches]
        shown = tuple(hit.number for hit in self.result)
        self.actions.append(SearchAction(step.function, step.argument, shown))
        for at in chosen:
            for near in self.index.adjacent(at):
                self._number(near)

    def chunks(self, numbers: Iterable[int]) -> list[int]:
        """The indexes of the chunks with these numbers, each once."""
        by_number = {number: at for at, number in self.numbers.items()}
        return [by_number[n] for n in dict.fromkeys(numbers) if n in by_number]

    def excerpts(self) -> list[Excerpt]:
        """The texts to answer from: notes, chunks named for the answer, then other read chunks."""
        last_result = self.chunks(hit.number for hit in self.result if hit.in_full)
        read = list(dict.fromkeys([*self.read, *last_result]))
        named = [at for at in self.best if at in read]
        in_order = list(dict.fromkeys([*named, *reversed(read)]))
        excerpts = excerpts_of(self.index.passages[at] for at in in_order)
        notes = [Excerpt("Notes of the search", self.notes, -1)] if self.notes and read else []
        return notes + [
            replace(excerpt, number=self.numbers[at])
            for at, excerpt in zip(in_order, excerpts, strict=True)
        ]

    def _number(self, at: int) -> int:
        """The number of a chunk, from 1; a new chunk gets the next number."""
        return self.numbers.setdefault(at, len(self.numbers) + 1)

    def _hit(self, at: int, text: str, in_full: bool = False) -> SearchHit:
        label = self.index.passages[at].label
        return SearchHit(self._number(at), label, text, in_full, at in self.read)


class SearchAgent(BaselineReader):
    """A reader that searches and reads chunks step by step, and answers from what it has read."""

    def __init__(
        self,
        documents: Sequence[Document],
        model: ReaderModel,
        embedder: Embedder,
        home: Path | None = None,
        *,
        chunk_tokens: int = CHUNK_TOKENS,
        max_calls: int = MOST_CALLS,
    ) -> None:
        super().__init__("search-agent", replace(model, may_refuse=True))
        self._index = ChunkIndex(passages_of(documents, chunk_tokens), embedder, home)
        self._max_calls = max_calls

    async def read(self, session: QuestionSession) -> Reading:
        """Search, and answer. Raises DecisionError if nothing was read or answered."""
        search = _Search(self._index)
        try:
            if self._index.passages:
                await self._take_steps(session, search)
        except (BudgetError, ReplyError, WindowError) as error:
            if not search.excerpts():
                raise
            session.notes.append(f"The search ended early: {error}")
        return await answer_from(session, search.excerpts())

    async def _take_steps(self, session: QuestionSession, search: _Search) -> None:
        """Take steps until one chooses to answer, or no step is left."""
        for steps_left in reversed(range(self._max_calls)):
            result = await session.decide(search.task(session, steps_left))
            step = result.decision
            search.count_shown(session, cast(SearchStepTask, result.task))
            search.notes = step.notes.strip() or search.notes
            if step.function == "answer":
                search.best = search.chunks(step.chunks)
                return
            await search.act(step)
        session.notes.append(f"The search ended after {self._max_calls} steps.")
