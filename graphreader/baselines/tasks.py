"""Answering from passages that are shown together: retrieved ones, or the whole text.

`TextAnswer` and `TextChoice` serve every reader that answers from text. Passages are ranked, best
first: where a window cannot hold them all, the last ones are left out, none is cut.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import ClassVar, Self, TypeVar

from pydantic import Field

from graphreader.llm.protocols import Decision, Task, empty_answer_problem, folded, names
from graphreader.usage import Phase

_GAP = "\n[...]\n"
_AROUND = " .:,[]()\"'“”‘’。：、，（）［］【】「」"
_NUMBERED = re.compile(r"(?P<number>\d{1,3})(?P<rest>.*)")


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


D = TypeVar("D", bound=Decision)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some text with the label of where it stands; `place` tells the order in which it is shown.

    Excerpts of one label and `document` (its id) that follow each other are shown as one text:
    documents may have the same title. `number` is the one by which a reader knows it already; else
    they are counted. A place below 0 is that of a reader's own notes, which have no number.
    """

    label: str
    text: str
    place: int
    document: str = ""
    number: int | None = None


@dataclass(frozen=True, slots=True)
class TextTask(Task[D]):
    """A question about excerpts, ranked best first; they are its choices.

    `options` are those out of which one is to be chosen. A task that must be shown `whole` leaves
    nothing out.
    """

    phase: ClassVar[Phase] = "answer"
    reply_tokens: ClassVar[int] = 1000
    question: str
    excerpts: tuple[Excerpt, ...]
    options: tuple[str, ...] = ()
    whole: bool = False

    def values(self) -> dict[str, str]:
        """The texts, the question, and the options if there are any."""
        options = {"options": names(self.options)} if self.options else {}
        return {"texts": shown(self.excerpts), "question": self.question} | options

    @property
    def fewest(self) -> int:
        """One, or all where it must be whole."""
        return len(self.excerpts) if self.whole else min(1, len(self.excerpts))

    @property
    def choices(self) -> int:
        """The excerpts."""
        return len(self.excerpts)

    def keeping(self, number: int) -> Self:
        """The best excerpts."""
        return replace(self, excerpts=self.excerpts[:number])


class TextAnswerTask(TextTask[TextAnswer]):
    """Answer in free words."""

    __slots__ = ()
    decision = TextAnswer

    def problem(self, decision: TextAnswer) -> str | None:
        """An answer without words."""
        return empty_answer_problem(decision)


class TextChoiceTask(TextTask[TextChoice]):
    """Choose one of the options."""

    __slots__ = ()
    decision = TextChoice

    def problem(self, decision: TextChoice) -> str | None:
        """A number that no option has."""
        return no_option(decision, self.options)


class PassagesTask(TextAnswerTask):
    """Answer from the passages that were retrieved (figure 18), or that are given as golden."""

    __slots__ = ()
    prompt = "retrieved"


class PassagesChoiceTask(TextChoiceTask):
    """The same with options."""

    __slots__ = ()
    prompt = "retrieved_choice"


class FullTextTask(TextAnswerTask):
    """Answer from the whole text, or as much of it as the window holds (figure 15)."""

    __slots__ = ()
    prompt = "full_text"


class FullTextChoiceTask(TextChoiceTask):
    """The same with options."""

    __slots__ = ()
    prompt = "full_text_choice"


def shown(excerpts: Iterable[Excerpt]) -> str:
    """The excerpts in the order of their places, numbered, with a mark where one is missing."""
    in_order = sorted(excerpts, key=lambda one: one.place)
    same = groupby(in_order, key=lambda one: (one.label, one.document))
    runs = [list(run) for _, run in same]
    first = 0 if runs and runs[0][0].place < 0 else 1  # notes go before
    texts = [f"{_head(run[0], n)}\n{_joined(run)}" for n, run in enumerate(runs, first)]
    return "\n\n".join(texts)


def no_option(decision: TextChoice, options: Sequence[str]) -> str | None:
    """Why a choice cannot be taken that is none of the options."""
    if 1 <= decision.option <= len(options):
        return None
    return f"Choose an option by its number, 1 to {len(options)}."


def option_named(words: str, options: Sequence[str]) -> int | None:
    """The number, from 1, of the option whose words or number these are, or both together."""
    named = _bare(words)
    wanted = [_bare(option) for option in options]
    if named in wanted:
        return wanted.index(named) + 1
    found = _NUMBERED.fullmatch(named)
    number = int(found["number"]) if found else 0
    if found is None or not 1 <= number <= len(options):
        return None
    return number if _bare(found["rest"]) in ("", wanted[number - 1]) else None


def _bare(words: str) -> str:
    """The words in one line and in small letters, without the marks around them."""
    return folded(words).strip(_AROUND).casefold()


def _head(excerpt: Excerpt, counted: int) -> str:
    """Its label, with its number unless it is a reader's own notes."""
    number = counted if excerpt.number is None else excerpt.number
    label = folded(excerpt.label)
    return label if excerpt.place < 0 else f"[{number}] {label}"


def _joined(run: Sequence[Excerpt]) -> str:
    """Excerpts of one text: as it stands there, with a mark where something is left out."""
    parts = [run[0].text]
    for before, after in pairwise(run):
        parts += [_GAP] if after.place > before.place + 1 else []
        parts.append(after.text)
    return "".join(parts).strip()
