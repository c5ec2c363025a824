"""Chunk Read and Chunk Read with Notes: one chunk after the other, in the order of the text.

Appendix D: reading ends with the first chunk that answers the question; if none does, it is
unanswered. No chunk crosses documents.

Reading chunks one after the other, in the order of the text, until one answers the question.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal, TypeVar

from pydantic import Field

from graphreader import tokens
from graphreader.baselines.session import NO_TEXT, QuestionSession, TextPassage, passages_of
from graphreader.baselines.tasks import option_named
from graphreader.documents import Document
from graphreader.errors import BudgetError, DecisionError, ReplyError
from graphreader.llm.protocols import Budget, Decider, Decision, Task, folded, names
from graphreader.reading import Reading
from graphreader.usage import Phase

SUMMARY_TOKENS = 400
"""A summary at most: it stands beside every later chunk."""

BareAnswer = Annotated[
    str, Field(description="The answer alone if it is answerable, otherwise empty.")
]

Quotes = Annotated[
    list[str],
    Field(
        description="Sentences of this chunk that bear on the question, copied word for word. "
        "Empty if none does."
    ),
]


class ChunkReadDecision(Decision):
    """Whether one chunk answers the question (GraphReader paper, figure 16)."""

    function: Literal["answerable", "unanswerable"] = Field(
        description="answerable if what is shown answers the question, else unanswerable."
    )
    answer: BareAnswer = ""
    quotes: Quotes = Field(default_factory=list)


class NotesReadDecision(Decision):
    """What a chunk adds to the summary, and whether that answers the question (figure 17)."""

    summary: str = Field(
        default="",
        description="The summary anew: what it held and what this chunk adds that helps to "
        "answer, brief. As it was, if the chunk adds nothing.",
    )
    function: Literal["answerable", "unanswerable"] = Field(
        description="answerable if summary and chunk answer the question, else unanswerable."
    )
    answer: BareAnswer = ""
    quotes: Quotes = Field(default_factory=list)


R = TypeVar("R", ChunkReadDecision, NotesReadDecision)


@dataclass(frozen=True, slots=True)
class ReadingTask(Task[R]):
    """One chunk, and the question; with `options` the answer is to be one of them."""

    phase: ClassVar[Phase] = "read"
    reply_tokens: ClassVar[int] = 800
    question: str
    label: str
    text: str
    options: tuple[str, ...] = ()

    def values(self) -> dict[str, str]:
        """Label, text, question and options."""
        options = f"Answer with the number of an option:\n{names(self.options)}"
        return {
            "label": folded(self.label),
            "text": self.text,
            "question": self.question,
            "options": options if self.options else "",
        }

    def problem(self, decision: R) -> str | None:
        """Answerable without an answer, or with one that is none of the options."""
        if decision.function == "unanswerable":
            return None
        if not decision.answer.strip():
            return "The answer is empty: give it, or choose unanswerable."
        if self.options and option_named(decision.answer, self.options) is None:
            return f"The answer must be the number of an option, 1 to {len(self.options)}."
        return None


class ChunkReadTask(ReadingTask[ChunkReadDecision]):
    """Read a chunk by itself (figure 16)."""

    __slots__ = ()
    prompt = "chunk_read"
    decision = ChunkReadDecision


@dataclass(frozen=True, slots=True)
class NotesReadTask(ReadingTask[NotesReadDecision]):
    """Read a chunk with the summary of those before it (figure 17)."""

    prompt = "chunk_read_notes"
    decision = NotesReadDecision
    summary: str = ""

    def values(self) -> dict[str, str]:
        """The summary beside the rest."""
        # super() without arguments does not work in a dataclass with slots.
        return ReadingTask.values(self) | {"summary": self.summary or "(empty)"}

    def problem(self, decision: NotesReadDecision) -> str | None:
        """A summary that is too long, or what a chunk alone may have."""
        length = tokens.count(decision.summary)
        if length > SUMMARY_TOKENS:
            return f"The summary has {length} tokens: write it anew with at most 200 words."
        return ReadingTask.problem(self, decision)


CHUNK_TOKENS = 2_000


@dataclass(slots=True)
class _Progress:
    """What has been read of the chunks so far, and what it brought."""

    question: str
    options: tuple[str, ...]
    summary: str = ""
    read: list[TextPassage] = field(default_factory=list)
    quotes: list[str] = field(default_factory=list)


class ChunkReader:
    """Reads each chunk by itself until one answers the question (figure 16).

    A chunk for which the decider gives no usable reply is passed over with a note. Where the budget
    is used up, the reading is unanswered, with a note; that is an error only where not a single
    chunk was read. A model that is gone always is: what it would have said nobody knows.
    """

    name = "chunk-read"

    def __init__(
        self,
        documents: Sequence[Document],
        decider: Decider,
        *,
        chunk_tokens: int = CHUNK_TOKENS,
        window: int,
        budget: Callable[[], Budget] = Budget,
    ) -> None:
        self.window = window
        self._chunks = [one for one in passages_of(documents, chunk_tokens) if one.text.strip()]
        self._decider = decider
        self._budget = budget

    async def aask(self, question: str, *, options: Sequence[str] = ()) -> Reading:
        """Read until a chunk answers. Raises DecisionError (see the class)."""
        sitting = QuestionSession(self.name, question, self._decider, self._budget())
        if not self._chunks:
            return sitting.unanswered(NO_TEXT)
        progress = _Progress(question, tuple(options))
        for number, chunk in enumerate(self._chunks, 1):
            try:
                decision = await self._read(sitting, progress, chunk)
            except DecisionError as error:
                if isinstance(error, ReplyError) and (progress.read or number < len(self._chunks)):
                    sitting.notes.append(f"{chunk.label} was passed over: {error}")
                    continue
                if not isinstance(error, BudgetError) or not progress.read:
                    raise
                left = len(self._chunks) - number + 1
                note = f"{left} of {len(self._chunks)} chunks were not read: {error}"
                return self._unanswered(sitting, progress, note)
            progress.read.append(chunk)
            progress.quotes += decision.quotes
            if decision.function == "answerable":
                return self._answered(sitting, progress, decision)
        return self._unanswered(sitting, progress, "No chunk answers the question.")

    async def _read(
        self, sitting: QuestionSession, progress: _Progress, chunk: TextPassage
    ) -> ChunkReadDecision | NotesReadDecision:
        """Judge one chunk, and remember what is to be remembered."""
        task = ChunkReadTask(progress.question, chunk.label, chunk.text, progress.options)
        decision = (await sitting.decide(task)).decision
        sitting.show([chunk])
        return decision

    def _answered(
        self,
        sitting: QuestionSession,
        progress: _Progress,
        decision: ChunkReadDecision | NotesReadDecision,
    ) -> Reading:
        number = option_named(decision.answer, progress.options)
        return sitting.reading(
            progress.options[number - 1] if number else decision.answer.strip(),
            answered=True,
            passages=self._citable(progress),
            quotes=progress.quotes,
            evidence=_evidence(progress),
        )

    def _unanswered(self, sitting: QuestionSession, progress: _Progress, note: str) -> Reading:
        return sitting.unanswered(note, passages=progress.read, evidence=_evidence(progress))

    def _citable(self, progress: _Progress) -> list[TextPassage]:
        """Where an answer's quotes may stand: in the one chunk that it was drawn from."""
        return progress.read[-1:]


class ChunkReaderWithNotes(ChunkReader):
    """The same with a brief summary that goes along from chunk to chunk (figure 17).

    So an answer may rest on several chunks.
    """

    name = "chunk-read-notes"

    async def _read(
        self, sitting: QuestionSession, progress: _Progress, chunk: TextPassage
    ) -> ChunkReadDecision | NotesReadDecision:
        task = NotesReadTask(
            progress.question, chunk.label, chunk.text, progress.options, progress.summary
        )
        decision = (await sitting.decide(task)).decision
        sitting.show([chunk])
        progress.summary = decision.summary.strip() or progress.summary
        return decision

    def _citable(self, progress: _Progress) -> list[TextPassage]:
        """In all chunks, the latest first."""
        return progress.read[::-1]


def _evidence(progress: _Progress) -> str:
    """Memory and the last chunk (appendix E)."""
    last = [chunk.text for chunk in progress.read[-1:]]
    return "\n\n".join(part for part in [progress.summary, *last] if part)
