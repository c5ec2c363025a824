"""One answer from passages that are shown together.

Full Text Read: the whole text in one prompt, as far as a large window holds it (appendix D).

Golden: the supporting facts are given, as an upper bound for every way of finding them.

The paper's "Golden" in table 2. What is measured is answering alone.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, takewhile
from typing import Any, Literal

from graphreader import tokens
from graphreader.agent.citations import locate
from graphreader.baselines.session import NO_TEXT, QuestionSession, TextPassage
from graphreader.baselines.tasks import (
    Excerpt,
    FullTextChoiceTask,
    FullTextTask,
    PassagesChoiceTask,
    PassagesTask,
    TextChoice,
    TextTask,
    shown,
)
from graphreader.documents import Document
from graphreader.errors import WindowError
from graphreader.ingestion.chunking import Span, chunk_spans
from graphreader.llm.protocols import Budget, Decider
from graphreader.reading import Reading
from graphreader.text.sentences import line_spans
from graphreader.tokens import count


@dataclass(frozen=True, slots=True)
class Source:
    """What is shown, and the passage that it is; None where it is no text of a document."""

    excerpt: Excerpt
    passage: TextPassage | None

    @property
    def passages(self) -> tuple[TextPassage, ...]:
        """The passage, if there is one."""
        return () if self.passage is None else (self.passage,)


@dataclass(frozen=True, slots=True)
class Answering:
    """How a question about sources is put: out of which tasks, and whether all must be shown."""

    ask: type[PassagesTask] | type[FullTextTask]
    choose: type[PassagesChoiceTask] | type[FullTextChoiceTask]
    whole: bool = False

    def task(
        self, question: str, options: Sequence[str], sources: Sequence[Source]
    ) -> TextTask[Any]:
        """The task for the sources, ranked best first."""
        kind = self.choose if options else self.ask
        return kind(
            question, tuple(source.excerpt for source in sources), tuple(options), self.whole
        )


RETRIEVED = Answering(PassagesTask, PassagesChoiceTask)
FULL_TEXT = Answering(FullTextTask, FullTextChoiceTask)
WHOLE_TEXT = Answering(FullTextTask, FullTextChoiceTask, whole=True)


def sources_of(passages: Sequence[TextPassage]) -> list[Source]:
    """Passages as they are shown one after the other, in their order here."""
    return [
        Source(Excerpt(passage.label, passage.text, place, passage.document.id), passage)
        for place, passage in enumerate(passages)
    ]


async def answer_from(
    sitting: QuestionSession,
    question: str,
    options: Sequence[str],
    sources: Sequence[Source],
    *,
    window: int,
    how: Answering = RETRIEVED,
) -> Reading:
    """The reading of `sources`, ranked best first; without any it is unanswered.

    What the window does not hold is left out, and a note says how much: first what it could not
    hold even without a prompt, then what finds no room beside the prompt, which only the decider
    knows. Raises DecisionError.
    """
    if not sources:
        return sitting.unanswered(NO_TEXT)
    in_window = sources if how.whole else _within(window, sources)
    decided = await sitting.decide(how.task(question, options, in_window))
    kept = sorted(in_window[: decided.task.choices], key=lambda one: one.excerpt.place)
    if len(kept) < len(sources):
        sitting.notes.append(
            f"{len(sources) - len(kept):,} of {len(sources):,} passages did not fit into the "
            "window and were left out."
        )
    passages = [passage for source in kept for passage in source.passages]
    sitting.show(passages)
    decision = decided.decision
    if isinstance(decision, TextChoice):
        answer, answered = options[decision.option - 1], True
    else:
        answer, answered = decision.answer, decision.answered
    return sitting.reading(
        answer,
        answered=answered,
        passages=passages,
        quotes=decision.quotes,
        analysis=decision.analysis,
        evidence=shown(source.excerpt for source in kept),
    )


def _within(window: int, sources: Sequence[Source]) -> Sequence[Source]:
    """As many of the best sources as have no more tokens than the window, one at least."""
    sizes = accumulate(
        source.passage.tokens if source.passage else count(source.excerpt.text)
        for source in sources
    )
    return sources[: max(1, sum(1 for _ in takewhile(lambda size: size <= window, sizes)))]


Policy = Literal["head", "middle", "refuse"]
_PARTS = 8  # of the window, at most: what a paragraph is cut into that does not fit into it


class FullText:
    """Answers from all documents, one after the other in their order.

    What is done with a text larger than the window is the `policy`. "head" shows the longest head
    of whole paragraphs that fits (table 3); "middle" shows head and tail and leaves paragraphs in
    the middle out; "refuse" shows nothing: the reading is unanswered, and its note says why. A
    single paragraph that is larger than the window is cut at the ends of sentences.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        decider: Decider,
        *,
        window: int,
        policy: Policy = "head",
        budget: Callable[[], Budget] = Budget,
    ) -> None:
        self.name = "full-text" if policy == "head" else f"full-text-{policy}"
        self.window = window
        self._paragraphs = [
            passage for document in documents for passage in _paragraphs(document, window)
        ]
        self._decider = decider
        self._policy = policy
        self._budget = budget

    async def aask(self, question: str, *, options: Sequence[str] = ()) -> Reading:
        """Answer from what the policy shows. Raises DecisionError."""
        sitting = QuestionSession(self.name, question, self._decider, self._budget())
        sources = _sources(self._paragraphs)
        if self._policy != "refuse":
            ranked = [sources[at] for at in self._in_order()]
            return await answer_from(
                sitting, question, options, ranked, window=self.window, how=FULL_TEXT
            )
        size = sum(paragraph.tokens for paragraph in self._paragraphs)
        if size <= self.window:
            try:
                return await answer_from(
                    sitting, question, options, sources, window=self.window, how=WHOLE_TEXT
                )
            except WindowError:
                pass  # with the prompt it is too large
        return sitting.unanswered(
            f"The text has {size:,} tokens, which do not fit into the window of {self.window:,}: "
            "nothing was read.",
            passages=self._paragraphs,
        )

    def _in_order(self) -> list[int]:
        """The paragraphs' numbers, in the order in which they are shown while there is room.

        That is by how much stands between them and the beginning; with "middle", or the end.
        """
        ends = list(accumulate(paragraph.tokens for paragraph in self._paragraphs))

        def rank(at: int) -> int:
            start = ends[at] - self._paragraphs[at].tokens
            return min(start, ends[-1] - ends[at]) if self._policy == "middle" else start

        return sorted(range(len(ends)), key=lambda at: (rank(at), at))


def _sources(paragraphs: Sequence[TextPassage]) -> list[Source]:
    """Paragraphs of one document are shown as one text."""
    return [
        Source(Excerpt(one.document.title, one.text, place, one.document.id), one)
        for place, one in enumerate(paragraphs)
    ]


def _paragraphs(document: Document, window: int) -> Iterator[TextPassage]:
    """The document's paragraphs, each with the white space behind it."""
    text = document.text
    starts = [0, *(start for start, _ in line_spans(text)[1:]), len(text)]
    for index, (start, end, size) in enumerate(_spans(starts, text, window)):
        yield TextPassage(document, index, start, text[start:end], size)


def _spans(starts: Sequence[int], text: str, window: int) -> Iterator[Span]:
    for start, end in pairwise(starts):
        part = text[start:end]
        if not part.strip():
            continue
        size = tokens.count(part)
        if size <= window:
            yield start, end, size
        else:
            pieces = chunk_spans(part, max(64, window // _PARTS))
            yield from ((start + a, start + b, size) for a, b, size in pieces)


class Golden:
    """Answers from `supporting`, sentences of `documents`; without any, from the documents.

    So where data name only documents that hold the answer, give just these as `documents`. What
    the window does not hold is left out from the end.
    """

    name = "golden"

    def __init__(
        self,
        supporting: Sequence[str],
        documents: Sequence[Document],
        decider: Decider,
        *,
        window: int,
        budget: Callable[[], Budget] = Budget,
    ) -> None:
        self.window = window
        self._sources = _sentences(supporting, documents) or _texts(documents)
        self._decider = decider
        self._budget = budget

    async def aask(self, question: str, *, options: Sequence[str] = ()) -> Reading:
        """Answer from what is given. Raises DecisionError."""
        sitting = QuestionSession(self.name, question, self._decider, self._budget())
        return await answer_from(sitting, question, options, self._sources, window=self.window)


def _sentences(supporting: Sequence[str], documents: Sequence[Document]) -> list[Source]:
    """The sentences where they stand; one that stands in no document is shown all the same."""
    sources = []
    for place, sentence in enumerate(one for one in supporting if one.strip()):
        passage = next((p for document in documents if (p := _found(sentence, document))), None)
        label = passage.document.title if passage else "Supporting fact"
        text = passage.text if passage else sentence
        document = passage.document.id if passage else ""
        sources.append(Source(Excerpt(label, text.strip() + "\n", place, document), passage))
    return sources


def _found(sentence: str, document: Document) -> TextPassage | None:
    span = locate(sentence, document.text)
    if span is None:
        return None
    text = document.text[slice(*span)]
    return TextPassage(document, 0, span[0], text, count(text))


def _texts(documents: Sequence[Document]) -> list[Source]:
    return [
        Source(
            Excerpt(document.title, document.text, place, document.id),
            TextPassage(document, 0, 0, document.text, count(document.text)),
        )
        for place, document in enumerate(documents)
        if document.text.strip()
    ]
