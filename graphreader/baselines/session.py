"""The common parts of readers without a graph: passages of documents, a session for a question."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from graphreader.agent.citations import passages as spans_of
from graphreader.agent.citations import ranked, unsupported_note
from graphreader.documents import Document
from graphreader.errors import DecisionError
from graphreader.ingestion.chunking import split
from graphreader.llm.protocols import Budget, Decider, Decision, DecisionResult, Quota, Task
from graphreader.reading import (
    NOT_IN_THE_TEXTS,
    Citation,
    Claim,
    Coverage,
    Reading,
    check_question,
)
from graphreader.text.sentences import language_of
from graphreader.usage import Phase, Usage

NO_TEXT = "There is no text that could be read."
D = TypeVar("D", bound=Decision)


@dataclass(frozen=True, slots=True)
class TextPassage:
    """A slice of a document: its `index`, counted from 0, and the character where it begins."""

    document: Document
    index: int
    start: int
    text: str
    tokens: int

    @property
    def label(self) -> str:
        """The name of the passage in prompts: document and number of the chunk."""
        return f"{self.document.title}, chunk {self.index}"

    @property
    def titled(self) -> str:
        """The document's title and the text, as they are searched."""
        return f"{self.document.title}\n{self.text}"


def passages_of(documents: Sequence[Document], limit: int) -> list[TextPassage]:
    """Split documents into chunks of at most `limit` tokens, as GraphReader does, in order."""
    return [
        TextPassage(document, chunk.index, chunk.start, chunk.text, chunk.tokens)
        for document in documents
        for chunk in split(document, limit)
        if chunk.text.strip()
    ]


@dataclass(frozen=True, slots=True)
class ReaderModel:
    """The model of a reader: a decider, the tokens of its window, and a budget for each question.

    `may_refuse`: the model may say that the texts do not have the answer. The budgets of all
    questions, and of the reader's index, also take from the `quota`.
    """

    decider: Decider
    window: int
    budget: Callable[[], Budget] = Budget
    may_refuse: bool = False
    quota: Quota | None = None


class QuestionSession:
    """The decisions, cost and shown texts of one question to one reader, and its reading.

    A session without a `question` counts the cost of building pages and gists. `notes` are for
    the user.
    """

    def __init__(
        self, reader: str, model: ReaderModel, question: str = "", options: Sequence[str] = ()
    ) -> None:
        self.question = question
        self.options = tuple(options)
        self.window = model.window
        self.may_refuse = model.may_refuse
        self.budget = replace(model.budget(), quota=model.quota)
        self.coverage = Coverage()
        self.notes: list[str] = []
        self._reader = reader
        self._decider = model.decider
        self._usage: dict[Phase, Usage] = {}
        self._start = time.monotonic()

    @property
    def usage(self) -> Usage:
        """The cost of the question so far."""
        return sum(self._usage.values(), Usage())

    async def decide(self, task: Task[D]) -> DecisionResult[D]:
        """Take a decision and count its cost; a DecisionError has the question's cost so far."""
        try:
            result = await self._decider.decide(task, self.budget)
        except DecisionError as error:
            self.count(error.spent, task.phase)
            error.spent = self.usage
            raise
        self.count(result.usage, task.phase)
        return result

    def count(self, usage: Usage, phase: Phase) -> None:
        """Add a cost to the question, for example the cost of gists that were made for it."""
        if usage != Usage():
            self._usage[phase] = self._usage.get(phase, Usage()) + usage

    def show(self, passages: Iterable[TextPassage]) -> None:
        """Record that passages were shown in full."""
        for passage in passages:
            self.coverage.passage(passage.document.id, passage.start, passage.text)

    def unanswered(
        self, note: str = "", *, passages: Sequence[TextPassage] = (), evidence: str = ""
    ) -> Reading:
        """Make the reading without an answer; `note` gives the reason."""
        self.notes += [note] if note else []
        answer = NOT_IN_THE_TEXTS[language_of(self.question)]
        return self.reading(answer, answered=False, passages=passages, evidence=evidence)

    def reading(
        self,
        answer: str,
        *,
        answered: bool,
        passages: Sequence[TextPassage] = (),
        quotes: Sequence[str] = (),
        analysis: str = "",
        evidence: str = "",
    ) -> Reading:
        """Make the reading; a quote becomes a citation if one of `passages` contains it."""
        citations = _citations(quotes, passages)
        numbers = tuple(range(1, len(citations) + 1))
        notice = [self._decider.notice] if self._decider.notice else []
        notes = unsupported_note([answer], 1) if answered and not citations else []
        reading = Reading(
            question=self.question,
            answer=answer,
            analysis=analysis,
            answered=answered,
            corpus=passages[0].document.corpus if passages else "",
            plan="",
            citations=tuple(citations),
            claims=(Claim(answer, numbers),) if answered else (),
            usage=replace(self.usage, seconds=round(time.monotonic() - self._start, 3)),
            phases=dict(self._usage),
            decider=self._decider.name,
            notes=(*notice, *notes, *self.notes),
            reader=self._reader,
            documents_read=self.coverage.documents,
            passages_read=self.coverage.passages,
            tokens_read=self.coverage.tokens,
            evidence=evidence,
        )
        return ranked(reading)


class BaselineReader(ABC):
    """The base of readers without a graph; each question has a session of its own."""

    def __init__(self, name: str, model: ReaderModel) -> None:
        self.name = name
        self.window = model.window
        self.model = model

    async def aask(self, question: str, *, options: Sequence[str] = ()) -> Reading:
        """Answer a question, or choose one of its options. Raises DecisionError and UsageError."""
        check_question(question)
        return await self.read(QuestionSession(self.name, self.model, question, options))

    @abstractmethod
    async def read(self, session: QuestionSession) -> Reading:
        """Answer the session's question. Raises DecisionError."""


def _citations(quotes: Sequence[str], passages: Sequence[TextPassage]) -> list[Citation]:
    citations: dict[Citation, None] = {}
    for quote in quotes:
        for passage in passages:
            pages = [start - passage.start for start in passage.document.page_starts]
            if spans := spans_of(quote, passage.text, pages):
                citations |= {_citation(passage, *span): None for span in spans}
                break
    return list(citations)


def _citation(passage: TextPassage, start: int, end: int) -> Citation:
    document, at = passage.document, passage.start + start
    headings = [one.title for one in document.headings if one.start <= at]
    place = document.place_at(at)
    return Citation(
        document=document.title,
        document_id=document.id,
        chunk=passage.index,
        start=at,
        end=passage.start + end,
        quote=passage.text[start:end],
        page=place and place.page,
        heading=headings[-1] if headings else None,
        place=place and place.name,
    )
