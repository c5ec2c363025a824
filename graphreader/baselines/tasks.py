"""Answering from text that is shown in one prompt: retrieved passages, or the whole text."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import ClassVar, TypeVar

from pydantic import Field

from graphreader.baselines.session import TextPassage
from graphreader.llm.protocols import Decision, Task, empty_answer_problem, folded, names
from graphreader.usage import Phase

_GAP = "\n[...]\n"
_MARKS = " .:,[]()\"'“”‘’。：、，（）［］【】「」"
_NUMBERED = re.compile(rf"(\d{{1,4}})[{re.escape(_MARKS)}]*(.*)")  # "2. Lyon"


class TextAnswer(Decision):
    """An answer from text that is shown (GraphReader paper, figures 15 and 18)."""

    analysis: str = Field(
        default="", description="What in the text bears on the question, and what follows from it."
    )
    answer: str = Field(
        description="The answer alone, or a sentence that says that the text does not tell."
    )
    answered: bool = Field(description="Whether the text really answers the question.")
    quotes: list[str] = Field(
        default_factory=list,
        description="The passages on which the answer rests, copied word for word, each one or "
        "two whole sentences long. Empty if it is not answered.",
    )


class TextChoice(Decision):
    """One of the options that are shown with a text."""

    analysis: str = Field(
        default="", description="What in the text speaks for one option and against the others."
    )
    option: int = Field(description="The number of the option that is right, or likeliest to be.")
    quotes: list[str] = Field(
        default_factory=list,
        description="The passages on which the choice rests, copied word for word, each one or "
        "two whole sentences long.",
    )


A = TypeVar("A", TextAnswer, TextChoice)


def answer_problem(decision: TextAnswer | TextChoice, options: Sequence[str]) -> str | None:
    """Why an answer is empty, or a choice is none of the options; None if it can be taken."""
    if isinstance(decision, TextAnswer):
        return empty_answer_problem(decision)
    if 1 <= decision.option <= len(options):
        return None
    return f"Choose an option by its number, 1 to {len(options)}."


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some text with the label of its source; excerpts are shown in the order of `place`.

    Adjacent ones of one source are one text. `number` is the one that the reader knows, if any;
    a place below 0 is that of notes. `passage` is the slice of a document to cite.
    """

    label: str
    text: str
    place: int
    number: int | None = None
    passage: TextPassage | None = field(default=None, compare=False)

    @property
    def source(self) -> tuple[str, str]:
        """Label and document's id: documents can have the same title."""
        return self.label, self.passage.document.id if self.passage else ""


@dataclass(frozen=True, slots=True)
class TextTask(Task[A]):
    """A question about excerpts, ranked best first; with `options` one of them is to be chosen."""

    phase: ClassVar[Phase] = "answer"
    reply_tokens: ClassVar[int] = 1000
    ranked: ClassVar[str] = "excerpts"
    question: str
    excerpts: tuple[Excerpt, ...]
    options: tuple[str, ...] = ()

    def values(self) -> dict[str, str]:
        """The texts, the question, and the options if there are any."""
        options = {"options": names(self.options)} if self.options else {}
        return {"texts": show_excerpts(self.excerpts), "question": self.question} | options

    @property
    def fewest(self) -> int:
        """At least one excerpt is shown."""
        return min(1, len(self.excerpts))

    def problem(self, decision: A) -> str | None:
        """See `answer_problem`."""
        return answer_problem(decision, self.options)


class TextAnswerTask(TextTask[TextAnswer]):
    """Answer in free words."""

    __slots__ = ()
    decision = TextAnswer


class TextChoiceTask(TextTask[TextChoice]):
    """Choose one of the options."""

    __slots__ = ()
    decision = TextChoice


class PassagesTask(TextAnswerTask):
    """Answer from passages that are retrieved (figure 18) or golden."""

    __slots__ = ()
    prompt = "retrieved"


class PassagesChoiceTask(TextChoiceTask):
    """Choose an option by such passages."""

    __slots__ = ()
    prompt = "retrieved_choice"


class FullTextTask(TextAnswerTask):
    """Answer from the whole text, or as much of it as the window holds (figure 15)."""

    __slots__ = ()
    prompt = "full_text"


class FullTextChoiceTask(TextChoiceTask):
    """Choose an option by the whole text."""

    __slots__ = ()
    prompt = "full_text_choice"


def show_excerpts(excerpts: Iterable[Excerpt]) -> str:
    """The excerpts as prompts show them: in order, numbered, with a mark where one is missing."""
    in_order = sorted(excerpts, key=lambda one: one.place)
    runs = [list(run) for _, run in groupby(in_order, lambda one: one.source)]
    first = 0 if runs and runs[0][0].place < 0 else 1  # notes come first, without a number
    return "\n\n".join(_show_run(run, number) for number, run in enumerate(runs, first))


def option_number(answer: str, options: Sequence[str]) -> int | None:
    """The number, from 1, of the option that an answer names by its number, its words, or both."""
    bare, *choices = (folded(one).strip(_MARKS).casefold() for one in (answer, *options))
    if bare in choices:
        return choices.index(bare) + 1
    match = _NUMBERED.fullmatch(bare)
    number = int(match[1]) if match else 0
    if match is None or not 1 <= number <= len(options):
        return None
    return number if match[2] in ("", choices[number - 1]) else None


def _show_run(run: Sequence[Excerpt], number: int) -> str:
    """Excerpts of one text under its label, with a mark where something is left out."""
    first = run[0]
    label = folded(first.label)
    if first.place >= 0:
        label = f"[{number if first.number is None else first.number}] {label}"
    parts = [first.text]
    for before, after in pairwise(run):
        parts += [_GAP] if after.place > before.place + 1 else []
        parts.append(after.text)
    return f"{label}\n{''.join(parts).strip()}"
