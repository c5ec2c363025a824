"""Golden: the supporting facts are given, as an upper bound for every way of finding them.

The paper's "Golden" in table 2. What is measured is answering alone.
"""

from collections.abc import Callable, Sequence

from graphreader.agent.quoting import locate
from graphreader.baselines.answering import Source, answer_from
from graphreader.baselines.passages import Passage
from graphreader.baselines.sitting import Sitting
from graphreader.deciding.budget import Budget
from graphreader.deciding.decider import Decider
from graphreader.deciding.passages import Excerpt
from graphreader.documents import Document
from graphreader.reading import Reading
from graphreader.tokens import count


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
        sitting = Sitting(self.name, question, self._decider, self._budget())
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


def _found(sentence: str, document: Document) -> Passage | None:
    span = locate(sentence, document.text)
    if span is None:
        return None
    text = document.text[slice(*span)]
    return Passage(document, 0, span[0], text, count(text))


def _texts(documents: Sequence[Document]) -> list[Source]:
    return [
        Source(
            Excerpt(document.title, document.text, place, document.id),
            Passage(document, 0, 0, document.text, count(document.text)),
        )
        for place, document in enumerate(documents)
        if document.text.strip()
    ]
