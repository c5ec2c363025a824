"""Readers that answer with one prompt: the whole text, or the supporting facts.

Full Text Read shows as much of the text as a large window holds (GraphReader paper, appendix D).
Golden shows the supporting facts, as an upper bound for every way of finding them ("Golden" in the
paper's table 2): it measures answering alone.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
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
    show_excerpts,
)
from graphreader.documents import Document
from graphreader.errors import WindowError
from graphreader.ingestion.chunking import Span, chunk_spans
from graphreader.llm.protocols import Budget, Decider
from graphreader.reading import Reading
from graphreader.text.sentences import line_spans

Policy = Literal["head", "middle", "refuse"]
_PIECES = 8  # a paragraph larger than the window is cut into pieces of this part of it


def excerpts_of(passages: Iterable[TextPassage]) -> list[Excerpt]:
    """The passages as excerpts that are shown one after the other, in this order."""
    return [
        Excerpt(passage.label, passage.text, place, passage.document.id, passage=passage)
        for place, passage in enumerate(passages)
    ]


async def answer_from(
    session: QuestionSession,
    options: Sequence[str],
    excerpts: Sequence[Excerpt],
    *,
    window: int,
    full_text: bool = False,
    whole: bool = False,
) -> Reading:
    """The reading of `excerpts`, ranked best first; without any it is unanswered.

    `full_text` takes that prompt instead of the one for retrieved passages. What the window does
    not hold is left out, and a note says how much: first what it cannot hold even without a prompt,
    then what finds no room beside the prompt, which only the decider knows. With `whole` nothing
    is left out. Raises DecisionError.
    """
    if not excerpts:
        return session.unanswered(NO_TEXT)
    shown = tuple(excerpts if whole else _within(window, excerpts))
    task = _task(session.question, options, shown, full_text, whole)
    result = await session.decide(task)
    kept = sorted(shown[: result.task.choices], key=lambda one: one.place)
    if len(kept) < len(excerpts):
        session.notes.append(
            f"{len(excerpts) - len(kept):,} of {len(excerpts):,} passages did not fit into the "
            "window and were left out."
        )
    passages = [one.passage for one in kept if one.passage]
    session.show(passages)
    decision = result.decision
    if isinstance(decision, TextChoice):
        answer, answered = options[decision.option - 1], True
    else:
        answer, answered = decision.answer, decision.answered
    return session.reading(
        answer,
        answered=answered,
        passages=passages,
        quotes=decision.quotes,
        analysis=decision.analysis,
        evidence=show_excerpts(kept),
    )


def _task(
    question: str,
    options: Sequence[str],
    excerpts: tuple[Excerpt, ...],
    full_text: bool,
    whole: bool,
) -> TextTask[Any]:
    if options:
        choice = FullTextChoiceTask if full_text else PassagesChoiceTask
        return choice(question, excerpts, tuple(options), whole)
    return (FullTextTask if full_text else PassagesTask)(question, excerpts, whole=whole)


def _within(window: int, excerpts: Sequence[Excerpt]) -> Sequence[Excerpt]:
    """As many of the best excerpts as have no more tokens than the window, one at least."""
    sizes = accumulate(
        one.passage.tokens if one.passage else tokens.count(one.text) for one in excerpts
    )
    return excerpts[: max(1, sum(1 for _ in takewhile(lambda size: size <= window, sizes)))]


class FullText:
    """Answers from all documents, one after the other in their order.

    The `policy` says what is done with a text larger than the window. "head" shows the longest head
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
            paragraph for document in documents for paragraph in _paragraphs(document, window)
        ]
        self._decider = decider
        self._policy = policy
        self._budget = budget

    async def aask(self, question: str, *, options: Sequence[str] = ()) -> Reading:
        """Answer from what the policy shows. Raises DecisionError."""
        session = QuestionSession(self.name, question, self._decider, self._budget())
        # Paragraphs of one document are shown as one text.
        excerpts = [
            Excerpt(one.document.title, one.text, place, one.document.id, passage=one)
            for place, one in enumerate(self._paragraphs)
        ]
        if self._policy != "refuse":
            ranked = [excerpts[at] for at in self._ranking()]
            return await answer_from(session, options, ranked, window=self.window, full_text=True)
        size = sum(paragraph.tokens for paragraph in self._paragraphs)
        if size <= self.window:
            try:
                return await answer_from(
                    session, options, excerpts, window=self.window, full_text=True, whole=True
                )
            except WindowError:
                pass  # with the prompt it is too large
        return session.unanswered(
            f"The text has {size:,} tokens, which do not fit into the window of {self.window:,}: "
            "nothing was read.",
            passages=self._paragraphs,
        )

    def _ranking(self) -> list[int]:
        """The paragraphs' indexes in the order in which they are shown while there is room.

        The rank is the tokens between a paragraph and the beginning; with "middle", or the end.
        """
        ends = list(accumulate(paragraph.tokens for paragraph in self._paragraphs))

        def rank(at: int) -> int:
            start = ends[at] - self._paragraphs[at].tokens
            return min(start, ends[-1] - ends[at]) if self._policy == "middle" else start

        return sorted(range(len(ends)), key=rank)


def _paragraphs(document: Document, window: int) -> Iterator[TextPassage]:
    """The document's paragraphs, each with the white space behind it."""
    text = document.text
    starts = [0, *(start for start, _ in line_spans(text)[1:]), len(text)]
    for index, (start, end, size) in enumerate(_paragraph_spans(starts, text, window)):
        yield TextPassage(document, index, start, text[start:end], size)


def _paragraph_spans(starts: Sequence[int], text: str, window: int) -> Iterator[Span]:
    """Start, end and tokens of each paragraph, or of its pieces."""
    for start, end in pairwise(starts):
        part = text[start:end]
        if not part.strip():
            continue
        size = tokens.count(part)
        if size <= window:
            yield start, end, size
        else:
            pieces = chunk_spans(part, max(64, window // _PIECES))
            yield from ((start + a, start + b, size) for a, b, size in pieces)


class Golden:
    """Answers from `supporting`, sentences of `documents`; without any, from the documents.

    For data that name only the documents with the answer, give just these as `documents`. What the
    window does not hold is left out from the end.
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
        self._excerpts = _supporting_facts(supporting, documents) or _whole_texts(documents)
        self._decider = decider
        self._budget = budget

    async def aask(self, question: str, *, options: Sequence[str] = ()) -> Reading:
        """Answer from the supporting facts. Raises DecisionError."""
        session = QuestionSession(self.name, question, self._decider, self._budget())
        return await answer_from(session, options, self._excerpts, window=self.window)


def _supporting_facts(supporting: Sequence[str], documents: Sequence[Document]) -> list[Excerpt]:
    """The sentences where they stand; one that stands in no document is shown all the same."""
    excerpts = []
    for place, sentence in enumerate(one for one in supporting if one.strip()):
        passages = (_locate_passage(sentence, document) for document in documents)
        passage = next((one for one in passages if one), None)
        label, document, text = "Supporting fact", "", sentence
        if passage:
            label, document, text = passage.document.title, passage.document.id, passage.text
        excerpts.append(Excerpt(label, f"{text.strip()}\n", place, document, passage=passage))
    return excerpts


def _locate_passage(sentence: str, document: Document) -> TextPassage | None:
    span = locate(sentence, document.text)
    if span is None:
        return None
    text = document.text[slice(*span)]
    return TextPassage(document, 0, span[0], text, tokens.count(text))


def _whole_texts(documents: Sequence[Document]) -> list[Excerpt]:
    return [
        Excerpt(
            document.title,
            document.text,
            place,
            document.id,
            passage=TextPassage(document, 0, 0, document.text, tokens.count(document.text)),
        )
        for place, document in enumerate(documents)
        if document.text.strip()
    ]
