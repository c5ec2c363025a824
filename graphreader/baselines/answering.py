"""Readers that answer with one prompt: the whole text, or the supporting facts.

Golden shows the facts, as an upper bound for all retrieval: it measures answering alone (table 2).
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise, takewhile
from typing import Any

from graphreader import tokens
from graphreader.agent.citations import locate
from graphreader.baselines.session import (
    NO_TEXT,
    BaselineReader,
    QuestionSession,
    ReaderModel,
    TextPassage,
)
from graphreader.baselines.tasks import (
    Excerpt,
    FullTextChoiceTask,
    FullTextTask,
    PassagesChoiceTask,
    PassagesTask,
    TextChoice,
    TextTask,
    show_excerpts,
)
from graphreader.documents import Document
from graphreader.ingestion.chunking import chunk_spans
from graphreader.reading import Reading
from graphreader.text.sentences import line_spans

_PIECES = 8  # a paragraph larger than the window is cut into pieces of this part of it


def excerpts_of(passages: Iterable[TextPassage], *, by_title: bool = False) -> list[Excerpt]:
    """The passages as excerpts, in order; `by_title`: those of one document are one text."""
    return [
        Excerpt(one.document.title if by_title else one.label, one.text, place, passage=one)
        for place, one in enumerate(passages)
    ]


async def answer_from(
    session: QuestionSession, excerpts: Sequence[Excerpt], *, full_text: bool = False
) -> Reading:
    """The reading of `excerpts`, ranked best first; without any it is unanswered.

    Those that do not fit the window are left out, with a note. `full_text` uses that prompt
    instead of the one for retrieved passages. Raises DecisionError.
    """
    if not excerpts:
        return session.unanswered(NO_TEXT)
    shown = tuple(_within(session.window, excerpts))
    kind: type[TextTask[Any]] = FullTextTask if full_text else PassagesTask
    if session.options:
        kind = FullTextChoiceTask if full_text else PassagesChoiceTask
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
        answered=chosen or decision.answered,
        passages=passages,
        quotes=decision.quotes,
        analysis=decision.analysis,
        evidence=show_excerpts(kept),
    )


def _within(window: int, excerpts: Sequence[Excerpt]) -> Sequence[Excerpt]:
    """As many of the best excerpts as have no more tokens than the window, one at least."""
    sizes = accumulate(
        one.passage.tokens if one.passage else tokens.count(one.text) for one in excerpts
    )
    return excerpts[: max(1, sum(1 for _ in takewhile(lambda size: size <= window, sizes)))]


class FullText(BaselineReader):
    """Answers from the longest head of all documents that fits (appendix D, table 3)."""

    name = "full-text"

    def __init__(self, documents: Sequence[Document], model: ReaderModel) -> None:
        super().__init__(self.name, model)
        paragraphs = (part for one in documents for part in _paragraphs(one, self.window))
        self._excerpts = excerpts_of(paragraphs, by_title=True)

    async def read(self, session: QuestionSession) -> Reading:
        """Answer from what fits. Raises DecisionError."""
        return await answer_from(session, self._excerpts, full_text=True)


def _paragraphs(document: Document, window: int) -> Iterator[TextPassage]:
    """The document's paragraphs, or their pieces, each with the white space behind it."""
    text = document.text
    starts = [0, *(start for start, _ in line_spans(text)[1:]), len(text)]
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
    """Answers from `supporting`, sentences of `documents`; without any, from the documents."""

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
    """The sentences as slices of documents; one that no document contains is shown as it is."""
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
