"""Chunk Read and Chunk Read with Notes: one chunk after the other, in the order of the text.

Appendix D: reading ends with the first chunk that answers the question; if none does, it is
unanswered. No chunk crosses documents.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from graphreader.baselines.passages import Passage, passages_of
from graphreader.baselines.sitting import NO_TEXT, Sitting
from graphreader.deciding.budget import Budget
from graphreader.deciding.chunk_reading import ChunkRead as Read
from graphreader.deciding.chunk_reading import ChunkReadTask, NotesRead, NotesReadTask
from graphreader.deciding.decider import Decider
from graphreader.deciding.passages import option_named
from graphreader.documents import Document
from graphreader.errors import BudgetError, DecisionError, ReplyError
from graphreader.reading import Reading

CHUNK_TOKENS = 2_000


@dataclass(slots=True)
class _Progress:
    """What has been read of the chunks so far, and what it brought."""

    question: str
    options: tuple[str, ...]
    summary: str = ""
    read: list[Passage] = field(default_factory=list)
    quotes: list[str] = field(default_factory=list)


class ChunkRead:
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
        sitting = Sitting(self.name, question, self._decider, self._budget())
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
        self, sitting: Sitting, progress: _Progress, chunk: Passage
    ) -> Read | NotesRead:
        """Judge one chunk, and remember what is to be remembered."""
        task = ChunkReadTask(progress.question, chunk.label, chunk.text, progress.options)
        decision = (await sitting.decide(task)).decision
        sitting.show([chunk])
        return decision

    def _answered(
        self, sitting: Sitting, progress: _Progress, decision: Read | NotesRead
    ) -> Reading:
        number = option_named(decision.answer, progress.options)
        return sitting.reading(
            progress.options[number - 1] if number else decision.answer.strip(),
            answered=True,
            passages=self._citable(progress),
            quotes=progress.quotes,
            evidence=_evidence(progress),
        )

    def _unanswered(self, sitting: Sitting, progress: _Progress, note: str) -> Reading:
        return sitting.unanswered(note, passages=progress.read, evidence=_evidence(progress))

    def _citable(self, progress: _Progress) -> list[Passage]:
        """Where an answer's quotes may stand: in the one chunk that it was drawn from."""
        return progress.read[-1:]


class ChunkReadWithNotes(ChunkRead):
    """The same with a brief summary that goes along from chunk to chunk (figure 17).

    So an answer may rest on several chunks.
    """

    name = "chunk-read-notes"

    async def _read(
        self, sitting: Sitting, progress: _Progress, chunk: Passage
    ) -> Read | NotesRead:
        task = NotesReadTask(
            progress.question, chunk.label, chunk.text, progress.options, progress.summary
        )
        decision = (await sitting.decide(task)).decision
        sitting.show([chunk])
        progress.summary = decision.summary.strip() or progress.summary
        return decision

    def _citable(self, progress: _Progress) -> list[Passage]:
        """In all chunks, the latest first."""
        return progress.read[::-1]


def _evidence(progress: _Progress) -> str:
    """Memory and the last chunk (appendix E)."""
    last = [chunk.text for chunk in progress.read[-1:]]
    return "\n\n".join(part for part in [progress.summary, *last] if part)
