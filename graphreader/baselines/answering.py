"""Answers from texts that fit one prompt: the whole text, retrieved passages or supporting facts.

The reader "golden" shows the supporting facts of a dataset. Its score is an upper bound for all
retrieval, since it measures answering alone (table 2).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, groupby, islice, pairwise, takewhile
from typing import Any, ClassVar, TypeVar

from pydantic import Field

from graphreader import tokens
from graphreader.baselines.session import (
    NO_TEXT,
    BaselineReader,
    QuestionSession,
    ReaderModel,
    TextPassage,
)
from graphreader.documents import Document
from graphreader.ingestion.chunking import chunk_spans
from graphreader.llm.protocols import Decision, Task, empty_answer_problem, folded, names
from graphreader.offline.answering import best_option, quoted_answer
from graphreader.offline.evidence import LabelledText, ranked_sentences
from graphreader.reading import Reading
from graphreader.text.lines import line_spans
from graphreader.text.matching import locate
from graphreader.text.question import parse_question
from graphreader.usage import Phase

_GAP = "\n[...]\n"
_MARKS = " .:,[]()\"'“”‘’。：、，（）［］【】「」"
_NUMBERED = re.compile(rf"(\d{{1,4}})[{re.escape(_MARKS)}]*(.*)")  # "2. Lyon"


class TextAnswer(Decision):
    """An answer from shown text, which the model must always give (GraphReader, figures 15, 18)."""

    analysis: str = Field(
        default="", description="What in the text bears on the question, and what follows from it."
    )
    answer: str = Field(description="The answer alone.")
    quotes: list[str] = Field(
        default_factory=list,
        description="The passages on which the answer rests, copied word for word, each one or "
        "two whole sentences long.",
    )


class RefusableAnswer(TextAnswer):
    """An answer from shown text, or the statement that the text does not have the answer."""

    answer: str = Field(
        description="The answer alone, or a sentence that says that the text does not tell."
    )
    answered: bool = Field(
        description="Whether the text really answers the question. Do not guess: set it to false "
        "and leave the quotes empty if the text does not hold the answer."
    )


class TextChoice(Decision):
    """The choice of one of the options of a question, from shown text."""

    analysis: str = Field(
        default="", description="What in the text speaks for one option and against the others."
    )
    option: int = Field(description="The number of the option that is right, or likeliest to be.")
    quotes: list[str] = Field(
        default_factory=list,
        description="The passages on which the choice rests, copied word for word, each one or "
        "two whole sentences long.",
    )


A = TypeVar("A", TextAnswer, RefusableAnswer, TextChoice)


def answer_problem(decision: TextAnswer | TextChoice, options: Sequence[str]) -> str | None:
    """Say why an answer (empty) or a choice (not an option) is invalid; None if it is valid."""
    if isinstance(decision, TextAnswer):
        may_refuse = isinstance(decision, RefusableAnswer)
        return empty_answer_problem(decision, "set answered to false" if may_refuse else "")
    if 1 <= decision.option <= len(options):
        return None
    return f"Choose an option by its number, 1 to {len(options)}."


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A text with the label of its source; prompts show excerpts in the order of `place`.

    Adjacent excerpts of one source are shown as one text. Notes have a place below 0. `number` is
    the number by which the reader knows the text, if any; `passage` is the slice of a document to
    cite.
    """

    label: str
    text: str
    place: int
    number: int | None = None
    passage: TextPassage | None = field(default=None, compare=False)

    @property
    def source(self) -> tuple[str, str]:
        """The label and the document's id, since documents can have equal titles."""
        return self.label, self.passage.document.id if self.passage else ""


@dataclass(frozen=True, slots=True)
class TextTask(Task[A]):
    """A question about excerpts, ranked best first; with `options` the model chooses one."""

    phase: ClassVar[Phase] = "answer"
    reply_tokens: ClassVar[int] = 1000
    ranked: ClassVar[str] = "excerpts"
    question: str
    excerpts: tuple[Excerpt, ...]
    options: tuple[str, ...] = ()

    def values(self) -> dict[str, str]:
        """The prompt's values: texts, question, and options if there are any."""
        options = {"options": names(self.options)} if self.options else {}
        return {"texts": show_excerpts(self.excerpts), "question": self.question} | options

    @property
    def fewest(self) -> int:
        """The number of excerpts that a prompt must show: 1, or 0 if there are none."""
        return min(1, len(self.excerpts))

    def problem(self, decision: A) -> str | None:
        """Say why the answer is invalid, as `answer_problem` does."""
        return answer_problem(decision, self.options)


class TextAnswerTask(TextTask[TextAnswer]):
    """Answer a question about excerpts in free words."""

    __slots__ = ()
    decision: ClassVar[type[TextAnswer]] = TextAnswer

    def by_rule(self) -> RefusableAnswer:
        """Answer with the few sentences that together support enough of the question."""
        return answer_by_rule(self.question, self.excerpts)


class TextChoiceTask(TextTask[TextChoice]):
    """Choose one of the options of a question about excerpts."""

    __slots__ = ()
    decision = TextChoice

    def by_rule(self) -> TextChoice:
        """Choose the option of whose distinctive words a sentence has most."""
        return choose_by_rule(self.question, self.options, self.excerpts)


class PassagesTask(TextAnswerTask):
    """Answer from retrieved passages (figure 18) or from supporting facts."""

    __slots__ = ()
    prompt = "retrieved"


class PassagesChoiceTask(TextChoiceTask):
    """Choose an option by retrieved passages or supporting facts."""

    __slots__ = ()
    prompt = "retrieved_choice"


class RefusablePassagesTask(PassagesTask):
    """Answer from retrieved passages, or say that they do not have the answer."""

    __slots__ = ()
    decision = RefusableAnswer


class FullTextTask(TextAnswerTask):
    """Answer from the whole text, or as much of it as the window holds (figure 15)."""

    __slots__ = ()
    prompt = "full_text"


class RefusableFullTextTask(FullTextTask):
    """Answer from the whole text, or say that it does not have the answer."""

    __slots__ = ()
    decision = RefusableAnswer


class FullTextChoiceTask(TextChoiceTask):
    """Choose an option by the whole text."""

    __slots__ = ()
    prompt = "full_text_choice"


def answer_by_rule(question: str, excerpts: Iterable[Excerpt]) -> RefusableAnswer:
    """Answer without a model, with the few sentences that support enough of the question."""
    parsed = parse_question(question)
    texts = [one for one in excerpts if one.place >= 0]  # a reader's notes only repeat the texts
    found = quoted_answer(parsed, ranked_sentences(_labelled(texts), parsed))
    return RefusableAnswer(
        analysis=found.analysis,
        answer=found.answer,
        answered=found.answered,
        quotes=[one.text for one in found.passages],
    )


def choose_by_rule(
    question: str, options: Sequence[str], excerpts: Iterable[Excerpt]
) -> TextChoice:
    """Choose without a model the option of whose distinctive words a sentence has most."""
    option, sentence = best_option(question, options, _labelled(excerpts))
    return TextChoice(
        analysis="By word overlap alone: one sentence shares most with this option.",
        option=option,
        quotes=[sentence] if sentence else [],
    )


def _labelled(excerpts: Iterable[Excerpt]) -> Iterator[LabelledText]:
    return (LabelledText(one.label, one.text) for one in excerpts)


def show_excerpts(excerpts: Iterable[Excerpt]) -> str:
    """Join excerpts for a prompt: in order, numbered, with a mark where text is left out."""
    in_order = sorted(excerpts, key=lambda one: one.place)
    runs = [list(run) for _, run in groupby(in_order, lambda one: one.source)]
    first = 0 if runs and runs[0][0].place < 0 else 1  # notes come first, without a number
    return "\n\n".join(_show_run(run, number) for number, run in enumerate(runs, first))


def option_number(answer: str, options: Sequence[str]) -> int | None:
    """The number, from 1, of the option that an answer names by number or words; else None."""
    bare, *choices = (folded(one).strip(_MARKS).casefold() for one in (answer, *options))
    if bare in choices:
        return choices.index(bare) + 1
    match = _NUMBERED.fullmatch(bare)
    number = int(match[1]) if match else 0
    if match is None or not 1 <= number <= len(options):
        return None
    return number if match[2] in ("", choices[number - 1]) else None


def _show_run(run: Sequence[Excerpt], number: int) -> str:
    first = run[0]
    label = folded(first.label)
    if first.place >= 0:
        label = f"[{number if first.number is None else first.number}] {label}"
    parts = [first.text]
    for before, after in pairwise(run):
        parts += [_GAP] if after.place > before.place + 1 else []
        parts.append(after.text)
    return f"{label}\n{''.join(parts).strip()}"


_PIECES = 8  # a paragraph larger than the window is cut into pieces of 1/8 window


def excerpts_of(passages: Iterable[TextPassage], *, by_title: bool = False) -> list[Excerpt]:
    """Turn passages into excerpts, in order; `by_title` joins the passages of a document."""
    return [
        Excerpt(one.document.title if by_title else one.label, one.text, place, passage=one)
        for place, one in enumerate(passages)
    ]


async def answer_from(
    session: QuestionSession, excerpts: Sequence[Excerpt], *, full_text: bool = False
) -> Reading:
    """Answer from excerpts, ranked best first; without excerpts the reading is unanswered.

    Excerpts that do not fit the window are left out, with a note. `full_text` uses the prompt for
    a whole text, not for retrieved passages. Raises DecisionError.
    """
    if not excerpts:
        return session.unanswered(NO_TEXT)
    shown = tuple(_within(session.window, excerpts))
    kind: type[TextTask[Any]] = FullTextTask if full_text else PassagesTask
    if session.options:
        kind = FullTextChoiceTask if full_text else PassagesChoiceTask
    elif session.may_refuse:
        kind = RefusableFullTextTask if full_text else RefusablePassagesTask
    result = await session.decide(kind(session.question, shown, session.options))
    kept = sorted(shown[: result.task.choices], key=lambda one: one.place)
    if len(kept) < len(excerpts):
        session.notes.append(
            f"{len(excerpts) - len(kept):,} of {len(excerpts):,} passages did not fit into the "
            "window and were left out."
        )
    passages = [one.passage for one in kept if one.passage]
    session.show(passages)
    decision = result.decision
    chosen = isinstance(decision, TextChoice)
    return session.reading(
        session.options[decision.option - 1] if chosen else decision.answer,
        answered=not isinstance(decision, RefusableAnswer) or decision.answered,
        passages=passages,
        quotes=decision.quotes,
        analysis=decision.analysis,
        evidence=show_excerpts(kept),
    )


def _within(window: int, excerpts: Sequence[Excerpt]) -> Sequence[Excerpt]:
    """The best excerpts that together have no more tokens than the window; at least one."""
    sizes = accumulate(
        one.passage.tokens if one.passage else tokens.count(one.text) for one in excerpts
    )
    return excerpts[: max(1, sum(1 for _ in takewhile(lambda size: size <= window, sizes)))]


class FullText(BaselineReader):
    """A reader that answers from the beginning of the texts, as far as it fits (appendix D)."""

    def __init__(
        self, documents: Sequence[Document], model: ReaderModel, name: str = "full-text"
    ) -> None:
        super().__init__(name, model)
        paragraphs = (part for one in documents for part in _paragraphs(one, self.window))
        self._excerpts = excerpts_of(paragraphs, by_title=True)

    async def read(self, session: QuestionSession) -> Reading:
        """Answer from the paragraphs that fit the window. Raises DecisionError."""
        return await answer_from(session, self._excerpts, full_text=True)


def _paragraphs(document: Document, window: int) -> Iterator[TextPassage]:
    """Yield the paragraphs of a document, or their pieces, with the white space behind them."""
    text = document.text
    starts = [0, *(start for start, _ in islice(line_spans(text), 1, None)), len(text)]
    index = 0
    for start, end in pairwise(starts):
        part = text[start:end]
        spans = [(0, len(part), tokens.count(part))]
        if spans[0][2] > window:
            spans = list(chunk_spans(part, max(64, window // _PIECES)))
        for begin, behind, size in spans if part.strip() else ():
            yield TextPassage(document, index, start + begin, part[begin:behind], size)
            index += 1


class Golden(BaselineReader):
    """A reader that gets the supporting sentences of a question, or all its documents."""

    name = "golden"

    def __init__(
        self, supporting: Sequence[str], documents: Sequence[Document], model: ReaderModel
    ) -> None:
        super().__init__(self.name, model)
        self._excerpts = _supporting_facts(supporting, documents) or excerpts_of(
            (_slice(one, 0, len(one.text)) for one in documents if one.text.strip()), by_title=True
        )

    async def read(self, session: QuestionSession) -> Reading:
        """Answer from the supporting facts. Raises DecisionError."""
        return await answer_from(session, self._excerpts)


def _supporting_facts(supporting: Sequence[str], documents: Sequence[Document]) -> list[Excerpt]:
    excerpts = []
    for place, sentence in enumerate(one for one in supporting if one.strip()):
        spans = ((document, locate(sentence, document.text)) for document in documents)
        passage = next((_slice(document, *span) for document, span in spans if span), None)
        label = passage.document.title if passage else "Supporting fact"
        text = passage.text if passage else sentence
        excerpts.append(Excerpt(label, f"{text.strip()}\n", place, passage=passage))
    return excerpts


def _slice(document: Document, start: int, end: int) -> TextPassage:
    text = document.text[start:end]
    return TextPassage(document, 0, start, text, tokens.count(text))
