"""The readers Chunk Read and Chunk Read with Notes, which show chunk by chunk (appendix D)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, TypeVar

from pydantic import Field

from graphreader import tokens
from graphreader.baselines.answering import (
    Excerpt,
    answer_by_rule,
    choose_by_rule,
    option_number,
)
from graphreader.baselines.session import (
    NO_TEXT,
    BaselineReader,
    QuestionSession,
    ReaderModel,
    TextPassage,
    passages_of,
)
from graphreader.documents import Document
from graphreader.errors import BudgetError, ReplyError
from graphreader.llm.protocols import Decision, Task, folded, names
from graphreader.offline.evidence import (
    LabelledText,
    add_notes,
    parse_notes,
    ranked_sentences,
    worth_noting,
)
from graphreader.reading import Reading
from graphreader.text.question import parse_question
from graphreader.usage import Phase

CHUNK_TOKENS = 2_000
SUMMARY_TOKENS = 400  # at most, as every later prompt contains the summary

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


class ChunkAnswer(Decision):
    """The answer from one chunk, if the chunk has one (GraphReader paper, figure 16)."""

    function: Literal["answerable", "unanswerable"] = Field(
        description="answerable if what is shown answers the question, else unanswerable."
    )
    answer: BareAnswer = ""
    quotes: Quotes = Field(default_factory=list)


class NotesRead(Decision):
    """The new summary, and the answer from it and a chunk, if they have one (figure 17)."""

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


R = TypeVar("R", ChunkAnswer, NotesRead)


@dataclass(frozen=True, slots=True)
class ReadingTask(Task[R]):
    """A question about one chunk; with `options` the answer must be one of them."""

    phase: ClassVar[Phase] = "read"
    reply_tokens: ClassVar[int] = 800
    question: str
    label: str
    text: str
    options: tuple[str, ...] = ()

    def values(self) -> dict[str, str]:
        """The prompt's values: label, text, question and options."""
        options = f"Answer with the number of an option:\n{names(self.options)}"
        return {
            "label": folded(self.label),
            "text": self.text,
            "question": self.question,
            "options": options if self.options else "",
        }

    def problem(self, decision: R) -> str | None:
        """Say why a decision is invalid: no answer, or an answer that is not an option."""
        if decision.function == "unanswerable":
            return None
        if not decision.answer.strip():
            return "The answer is empty: give it, or choose unanswerable."
        if self.options and option_number(decision.answer, self.options) is None:
            return f"The answer must be the number of an option, 1 to {len(self.options)}."
        return None

    @property
    def excerpt(self) -> Excerpt:
        """The chunk with its label."""
        return Excerpt(self.label, self.text, 0)

    def short_answer(self, excerpts: Sequence[Excerpt]) -> tuple[str, list[str]]:
        """Return (answer or number of the option, quotes) by a rule; ("", []) without an answer."""
        answer = answer_by_rule(self.question, excerpts)
        if not answer.answered:
            return "", []
        if self.options:
            option = choose_by_rule(self.question, self.options, excerpts).option
            return str(option), answer.quotes
        return answer.answer, answer.quotes


class ChunkReadTask(ReadingTask[ChunkAnswer]):
    """Answer from one chunk alone (figure 16)."""

    __slots__ = ()
    prompt = "chunk_read"
    decision = ChunkAnswer

    def by_rule(self) -> ChunkAnswer:
        """Answer from the sentences of the chunk, if they are enough."""
        answer, quotes = self.short_answer([self.excerpt])
        return ChunkAnswer(
            function="answerable" if answer else "unanswerable", answer=answer, quotes=quotes
        )


@dataclass(frozen=True, slots=True)
class NotesReadTask(ReadingTask[NotesRead]):
    """Answer from a chunk and a summary of the chunks before it (figure 17)."""

    prompt = "chunk_read_notes"
    decision = NotesRead
    summary: str = ""

    def values(self) -> dict[str, str]:
        """The prompt's values: summary, label, text, question and options."""
        # super() without arguments does not work in a dataclass with slots.
        return ReadingTask.values(self) | {"summary": self.summary or "(empty)"}

    def problem(self, decision: NotesRead) -> str | None:
        """Say why a decision is invalid: also a summary that is too long."""
        length = tokens.count(decision.summary)
        if length > SUMMARY_TOKENS:
            return f"The summary has {length} tokens: write it anew with at most 200 words."
        return ReadingTask.problem(self, decision)

    def by_rule(self) -> NotesRead:
        """Answer from chunk and summary; the best sentences of both are the new summary."""
        question = parse_question(self.question)
        sentences = ranked_sentences([LabelledText(self.label, self.text)], question)
        new = worth_noting(sentences, question)
        if not new:  # an answer from the summary alone was found at an earlier chunk
            return NotesRead(summary=self.summary, function="unanswerable", answer="", quotes=[])
        summary = add_notes(self.summary, new, question, SUMMARY_TOKENS)
        notes = [Excerpt(*note, 0) for note in parse_notes(self.summary)]
        answer, quotes = self.short_answer([*notes, self.excerpt])
        if not answer:
            quotes = [one.text for one in new if folded(one.text) in summary]
        return NotesRead(
            summary=summary,
            function="answerable" if answer else "unanswerable",
            answer=answer,
            quotes=[quote for quote in quotes if quote in self.text],
        )


class ChunkReader(BaselineReader):
    """A reader that shows one chunk after the other until one answers the question.

    Each chunk is shown alone (figure 16) or `with_notes`, a short summary (figure 17). A chunk
    without a valid reply is skipped with a note; if the budget ends, the reading is unanswered.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        model: ReaderModel,
        *,
        chunk_tokens: int = CHUNK_TOKENS,
        with_notes: bool = False,
    ) -> None:
        super().__init__("chunk-read-notes" if with_notes else "chunk-read", model)
        self._chunks = passages_of(documents, chunk_tokens)
        self._with_notes = with_notes

    async def read(self, session: QuestionSession) -> Reading:
        """Show chunks until one answers. Raises DecisionError."""
        summary, evidence, quotes = "", "", list[str]()
        read: list[TextPassage] = []
        note = "No chunk answers the question." if self._chunks else NO_TEXT
        for number, chunk in enumerate(self._chunks):
            try:
                decision = await self._decide(session, chunk, summary)
            except ReplyError as error:
                if not read and chunk is self._chunks[-1]:
                    raise
                session.notes.append(f"{chunk.label} was passed over: {error}")
                continue
            except BudgetError as error:
                if not read:
                    raise
                left = len(self._chunks) - number
                note = f"{left} of {len(self._chunks)} chunks were not read: {error}"
                break
            session.show([chunk])
            read.insert(0, chunk)
            quotes += decision.quotes
            if isinstance(decision, NotesRead):
                summary = decision.summary.strip() or summary
            evidence = f"{summary}\n\n{chunk.text}" if summary else chunk.text  # appendix E
            if decision.function == "answerable":
                option = option_number(decision.answer, session.options)
                return session.reading(
                    session.options[option - 1] if option else decision.answer.strip(),
                    answered=True,
                    passages=read if self._with_notes else [chunk],
                    quotes=quotes,
                    evidence=evidence,
                )
        return session.unanswered(note, passages=read, evidence=evidence)

    async def _decide(
        self, session: QuestionSession, chunk: TextPassage, summary: str
    ) -> ChunkAnswer | NotesRead:
        values = session.question, chunk.label, chunk.text, session.options
        if self._with_notes:
            return (await session.decide(NotesReadTask(*values, summary))).decision
        return (await session.decide(ChunkReadTask(*values))).decision
