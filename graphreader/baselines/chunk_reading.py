"""Chunk Read and Chunk Read with Notes: one chunk after the other, in the order of the text.

Reading ends with the first chunk that answers the question; if none does, the reading is unanswered
(GraphReader paper, appendix D). No chunk crosses documents.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal, TypeVar

from pydantic import Field

from graphreader import tokens
from graphreader.baselines.session import NO_TEXT, QuestionSession, TextPassage, passages_of
from graphreader.baselines.tasks import option_number
from graphreader.documents import Document
from graphreader.errors import BudgetError, ReplyError
from graphreader.llm.protocols import Budget, Decider, Decision, Task, folded, names
from graphreader.reading import Reading
from graphreader.usage import Phase

CHUNK_TOKENS = 2_000
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


class ChunkRead(Decision):
    """Whether one chunk answers the question (GraphReader paper, figure 16)."""

    function: Literal["answerable", "unanswerable"] = Field(
        description="answerable if what is shown answers the question, else unanswerable."
    )
    answer: BareAnswer = ""
    quotes: Quotes = Field(default_factory=list)


class NotesRead(Decision):
    """What a chunk adds to the summary, and whether both answer the question (figure 17)."""

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


R = TypeVar("R", ChunkRead, NotesRead)


@dataclass(frozen=True, slots=True)
class ReadingTask(Task[R]):
    """One chunk and the question; with `options` the answer must be one of them."""

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
        if self.options and option_number(decision.answer, self.options) is None:
            return f"The answer must be the number of an option, 1 to {len(self.options)}."
        return None


class ChunkReadTask(ReadingTask[ChunkRead]):
    """Read a chunk by itself (figure 16)."""

    __slots__ = ()
    prompt = "chunk_read"
    decision = ChunkRead


@dataclass(frozen=True, slots=True)
class NotesReadTask(ReadingTask[NotesRead]):
    """Read a chunk with the summary of those before it (figure 17)."""

    prompt = "chunk_read_notes"
    decision = NotesRead
    summary: str = ""

    def values(self) -> dict[str, str]:
        """The summary beside the rest."""
        # super() without arguments does not work in a dataclass with slots.
        return ReadingTask.values(self) | {"summary": self.summary or "(empty)"}

    def problem(self, decision: NotesRead) -> str | None:
        """A summary that is too long, or a problem of a single chunk."""
        length = tokens.count(decision.summary)
        if length > SUMMARY_TOKENS:
            return f"The summary has {length} tokens: write it anew with at most 200 words."
        return ReadingTask.problem(self, decision)


@dataclass(slots=True)
class _Progress:
    """The chunks read so far, the quotes of them, and the summary of a reader with notes."""

    options: tuple[str, ...]
    summary: str = ""
    chunks: list[TextPassage] = field(default_factory=list)
    quotes: list[str] = field(default_factory=list)

    def evidence(self) -> str:
        """The summary and the last chunk (appendix E)."""
        last = [chunk.text for chunk in self.chunks[-1:]]
        return "\n\n".join(part for part in [self.summary, *last] if part)


class ChunkReader:
    """Reads each chunk by itself until one answers the question (figure 16).

    A chunk for which the decider gives no usable reply is skipped with a note. Where the budget is
    used up, the reading is unanswered, with a note; it is an error only if no chunk was read. An
    unavailable model is always an error, since its answer is not known.
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
        session = QuestionSession(self.name, question, self._decider, self._budget())
        if not self._chunks:
            return session.unanswered(NO_TEXT)
        progress = _Progress(tuple(options))
        note = "No chunk answers the question."
        for number, chunk in enumerate(self._chunks, 1):
            try:
                decision = await self._read(session, progress, chunk)
            except ReplyError as error:
                if not progress.chunks and number == len(self._chunks):
                    raise
                session.notes.append(f"{chunk.label} was passed over: {error}")
                continue
            except BudgetError as error:
                if not progress.chunks:
                    raise
                left = len(self._chunks) - number + 1
                note = f"{left} of {len(self._chunks)} chunks were not read: {error}"
                break
            progress.chunks.append(chunk)
            progress.quotes += decision.quotes
            if decision.function == "answerable":
                return self._answered(session, progress, decision.answer)
        return session.unanswered(note, passages=progress.chunks, evidence=progress.evidence())

    async def _read(
        self, session: QuestionSession, progress: _Progress, chunk: TextPassage
    ) -> ChunkRead | NotesRead:
        task = ChunkReadTask(session.question, chunk.label, chunk.text, progress.options)
        decision = (await session.decide(task)).decision
        session.show([chunk])
        return decision

    def _answered(self, session: QuestionSession, progress: _Progress, answer: str) -> Reading:
        number = option_number(answer, progress.options)
        return session.reading(
            progress.options[number - 1] if number else answer.strip(),
            answered=True,
            passages=self._citable(progress),
            quotes=progress.quotes,
            evidence=progress.evidence(),
        )

    def _citable(self, progress: _Progress) -> list[TextPassage]:
        """The passages of the answer's quotes: the one chunk that it comes from."""
        return progress.chunks[-1:]


class ChunkReaderWithNotes(ChunkReader):
    """Takes a brief summary along from chunk to chunk, so several can answer (figure 17)."""

    name = "chunk-read-notes"

    async def _read(
        self, session: QuestionSession, progress: _Progress, chunk: TextPassage
    ) -> ChunkRead | NotesRead:
        task = NotesReadTask(
            session.question, chunk.label, chunk.text, progress.options, progress.summary
        )
        decision = (await session.decide(task)).decision
        session.show([chunk])
        progress.summary = decision.summary.strip() or progress.summary
        return decision

    def _citable(self, progress: _Progress) -> list[TextPassage]:
        """All chunks, the latest first."""
        return progress.chunks[::-1]
