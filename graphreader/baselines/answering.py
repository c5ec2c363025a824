"""One answer from passages that are shown together."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile
from typing import Any

from graphreader.baselines.passages import Passage
from graphreader.baselines.sitting import NO_TEXT, Sitting
from graphreader.deciding.passages import (
    Excerpt,
    FullTextChoiceTask,
    FullTextTask,
    PassagesChoiceTask,
    PassagesTask,
    TextChoice,
    TextTask,
    shown,
)
from graphreader.reading import Reading
from graphreader.tokens import count


@dataclass(frozen=True, slots=True)
class Source:
    """What is shown, and the passage that it is; None where it is no text of a document."""

    excerpt: Excerpt
    passage: Passage | None

    @property
    def passages(self) -> tuple[Passage, ...]:
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


def sources_of(passages: Sequence[Passage]) -> list[Source]:
    """Passages as they are shown one after the other, in their order here."""
    return [
        Source(Excerpt(passage.label, passage.text, place, passage.document.id), passage)
        for place, passage in enumerate(passages)
    ]


async def answer_from(
    sitting: Sitting,
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
