"""One question put to a reader without a graph: what it asks, what it is shown, what it costs.

The documents in passages: chunks of whole paragraphs, as GraphReader cuts them.

A passage never crosses documents.
"""

import time
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from graphreader.agent.answering import NOT_IN_THE_TEXTS
from graphreader.agent.citations import passages as spans_of
from graphreader.documents import Document
from graphreader.errors import DecisionError
from graphreader.ingestion.chunking import split
from graphreader.llm.protocols import Budget, Decider, Decision, DecisionResult, Task
from graphreader.reading import Citation, Claim, Coverage, Reading
from graphreader.text.sentences import language_of
from graphreader.usage import Phase, Usage


@dataclass(frozen=True, slots=True)
class TextPassage:
    """A slice of a document: a chunk, or a page of ReadAgent.

    `index` counts from 0 within the document; `start` is a character of its text.
    """

    document: Document
    index: int
    start: int
    text: str
    tokens: int

    @property
    def label(self) -> str:
        """How it is called in prompts."""
        return f"{self.document.title}, chunk {self.index}"


def passages_of(documents: Sequence[Document], limit: int) -> list[TextPassage]:
    """All passages of at most `limit` tokens, in the order of the documents."""
    return [
        TextPassage(document, chunk.index, chunk.start, chunk.text, chunk.tokens)
        for document in documents
        for chunk in split(document, limit)
    ]


D = TypeVar("D", bound=Decision)
NO_TEXT = "There is no text that could be read."


class QuestionSession:
    """Keeps count for one question of one reader, and makes the reading in the end.

    A BudgetError, or another DecisionError, is passed on; its `spent` tells what the question has
    cost so far.
    """

    def __init__(
        self, reader: str, question: str, decider: Decider, budget: Budget | None = None
    ) -> None:
        self.shown = Coverage()
        self.notes: list[str] = []
        self._reader = reader
        self._question = question
        self._decider = decider
        self._budget = budget or Budget()
        self._phases: dict[Phase, Usage] = {}
        self._began = time.monotonic()

    async def decide(self, task: Task[D]) -> DecisionResult[D]:
        """Take a decision, and count what it costs."""
        try:
            decided = await self._decider.decide(task, self._budget)
        except DecisionError as error:
            self.count(error.spent, task.phase)
            error.spent = sum(self._phases.values(), Usage())
            raise
        self.count(decided.usage, task.phase)
        return decided

    def count(self, usage: Usage, phase: Phase) -> None:
        """Count what was spent beside `decide`, such as on gists that this question needed."""
        self._phases[phase] = self._phases.get(phase, Usage()) + usage

    def show(self, passages: Iterable[TextPassage]) -> None:
        """These passages were shown in full."""
        for passage in passages:
            self.shown.passage(passage.document.id, passage.start, passage.text)

    def unanswered(
        self, note: str = "", *, passages: Sequence[TextPassage] = (), evidence: str = ""
    ) -> Reading:
        """The reading that says that the texts do not tell; the note says why."""
        self.notes += [note] if note else []
        words = NOT_IN_THE_TEXTS[language_of(self._question)]
        return self.reading(words, answered=False, passages=passages, evidence=evidence)

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
        """The reading. `quotes` become citations where they really stand in one of `passages`."""
        citations = _citations(quotes, passages) if answered else []
        numbers = tuple(range(1, len(citations) + 1))
        usage = sum(self._phases.values(), Usage())
        notice = [self._decider.notice] if self._decider.notice else []
        return Reading(
            question=self._question,
            answer=answer,
            analysis=analysis,
            answered=answered,
            corpus=passages[0].document.corpus if passages else "",
            plan="",
            citations=tuple(citations),
            claims=(Claim(answer, numbers),) if answered else (),
            usage=replace(usage, seconds=round(time.monotonic() - self._began, 3)),
            phases=dict(self._phases),
            decider=self._decider.name,
            notes=(*notice, *self.notes),
            reader=self._reader,
            documents_read=self.shown.documents,
            passages_read=self.shown.passages,
            tokens_read=self.shown.tokens,
            evidence=evidence,
        )


def _citations(quotes: Sequence[str], passages: Sequence[TextPassage]) -> list[Citation]:
    """Where the quotes stand, each once and in the first passage that has it."""
    found: dict[Citation, None] = {}
    for quote in quotes:
        for passage in passages:
            spans = spans_of(quote, passage.text)
            if spans:
                found.update((_citation(passage, *span), None) for span in spans)
                break
    return list(found)


def _citation(passage: TextPassage, start: int, end: int) -> Citation:
    document, at = passage.document, passage.start + start
    headings = [title for begin, title in document.headings if begin <= at]
    return Citation(
        document=document.title,
        document_id=document.id,
        chunk=passage.index,
        start=at,
        end=passage.start + end,
        quote=passage.text[start:end],
        page=bisect_right(document.page_starts, at) or None,
        heading=headings[-1] if headings else None,
    )
