"""The steps of an agent that searches, without a model: names first, then where they lead."""

from collections.abc import Iterator

from graphreader.deciding.offline.names import names_of
from graphreader.deciding.offline.notes import covers
from graphreader.deciding.offline.passages import (
    Sentence,
    noted_in,
    notes_with,
    sentences_of,
    worth_noting,
)
from graphreader.deciding.offline.question import Question, understand
from graphreader.deciding.offline.words import terms_of, title_terms
from graphreader.deciding.passages import Excerpt
from graphreader.deciding.searching import NOTES_TOKENS, SearchStep, SearchStepTask

MOST_CHUNKS = 8  # to read before it answers in any case
AT_ONCE = 2
MOST_WORDS = 5  # of one search
LED_TO = 1.0  # what a name is worth that leads on, beside the words' own weights


def next_step(task: SearchStepTask) -> SearchStep:
    """Read what the latest search found, then search for what the notes lead to; then answer.

    It ends when the notes cover the question, when nothing is left to search for, or after eight
    chunks.
    """
    question = understand(task.question)
    notes = notes_with(task.notes, _new(task, question), question, NOTES_TOKENS)
    texts = [text for text, _ in noted_in(notes)]
    read = sum(len(one.numbers) for one in task.actions if one.function == "read_chunk")
    is_done = covers("\n".join(texts), question) or read >= MOST_CHUNKS or not task.steps
    if read and is_done:
        return _answer(notes)
    led_to = frozenset(term for name in _names(texts, question) for term in terms_of(name))
    if chunks := _worth_reading(task, question, led_to):
        return SearchStep(notes=notes, function="read_chunk", chunks=chunks)
    for search in _searches(task.question, texts, question):
        if search.argument and not task.was_searched(search.function, search.argument):
            return search.model_copy(update={"notes": notes})
    if not read and task.unread:
        return SearchStep(notes=notes, function="read_chunk", chunks=[min(task.unread)])
    return _answer(notes)


def _new(task: SearchStepTask, question: Question) -> Iterator[Sentence]:
    """What the chunks that are shown in full tell about the question."""
    for hit in task.result:
        if hit.in_full:
            label = f"{hit.number}: {hit.label}"
            sentences = sentences_of([Excerpt(hit.label, hit.text, 0)], question)
            for one in worth_noting(sentences, question):
                yield Sentence(label, one.text, one.terms, one.score)


def _answer(notes: str) -> SearchStep:
    """Answer from the chunks that stand in the notes."""
    numbers = (label.partition(":")[0] for _, label in noted_in(notes))
    chunks = dict.fromkeys(int(number) for number in numbers if number.isdecimal())
    return SearchStep(notes=notes, function="answer", chunks=list(chunks))


def _worth_reading(task: SearchStepTask, question: Question, led_to: frozenset[str]) -> list[int]:
    """Of the latest search, the chunks whose snippets and titles promise most."""
    scores = {}
    for hit in task.result:
        if hit.number in task.unread and not hit.in_full:
            terms = terms_of(hit.text) | title_terms(hit.label)
            scores[hit.number] = question.overlap(terms) + LED_TO * bool(terms & led_to)
    promising = sorted((n for n in scores if scores[n] > 0), key=lambda n: -scores[n])
    return promising[:AT_ONCE]


def _searches(asked: str, notes: list[str], question: Question) -> Iterator[SearchStep]:
    """The question's names, the question itself, where the notes lead, then each word by itself."""
    words = list(question.names or question.asked)[:MOST_WORDS]
    yield SearchStep(function="keyword_search", words=words)
    yield SearchStep(function="semantic_search", query=asked)
    for word in [*_names(notes, question), *question.names, *question.asked]:
        yield SearchStep(function="keyword_search", words=[word])


def _names(notes: list[str], question: Question) -> list[str]:
    """Names that the notes add to the question, those of the best sentences first."""
    in_order = sorted(notes, key=lambda text: -question.overlap(terms_of(text)))
    names = dict.fromkeys(name for text in in_order for name in names_of(text))
    return [name for name in names if not terms_of(name) <= question.terms]
