"""Reading chunks one after the other, in the order of the text, until one answers the question."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, TypeVar

from pydantic import Field

from graphreader import tokens
from graphreader.deciding.decisions import Decision
from graphreader.deciding.passages import option_named
from graphreader.deciding.tasks import Task, folded, names
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


class ChunkRead(Decision):
    """Whether one chunk answers the question (GraphReader paper, figure 16)."""

    function: Literal["answerable", "unanswerable"] = Field(
        description="answerable if what is shown answers the question, else unanswerable."
    )
    answer: BareAnswer = ""
    quotes: Quotes = Field(default_factory=list)


class NotesRead(Decision):
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


R = TypeVar("R", ChunkRead, NotesRead)


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
        """A summary that is too long, or what a chunk alone may have."""
        length = tokens.count(decision.summary)
        if length > SUMMARY_TOKENS:
            return f"The summary has {length} tokens: write it anew with at most 200 words."
        return ReadingTask.problem(self, decision)
