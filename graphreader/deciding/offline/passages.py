"""Answering from passages and chunks without a model: by the sentences that overlap most."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from graphreader import tokens
from graphreader.deciding.chunk_reading import (
    SUMMARY_TOKENS,
    ChunkRead,
    ChunkReadTask,
    NotesRead,
    NotesReadTask,
)
from graphreader.deciding.offline import answering
from graphreader.deciding.offline.names import names_of
from graphreader.deciding.offline.question import Question, understand
from graphreader.deciding.offline.words import fold, terms_of, title_terms
from graphreader.deciding.passages import Excerpt, TextAnswer, TextChoice
from graphreader.deciding.tasks import AnswerTask, Evidence, folded
from graphreader.sentences import sentence_spans

MOST_SENTENCES = 40  # out of which an answer is put together
MOST_LEADING = 5  # sentences whose names may lead to others
MOST_NOTED = 3  # sentences of one chunk
BY_TITLE = 0.6  # what a word counts that only the document's title has
LED_TO = 1.0  # what a name is worth that leads on, beside the words' own weights
LEAST_SHARE = 0.1  # of the question's weight, for a sentence to be worth a note
BY_OPTION = 1.5  # what all words of an option are worth beside all words of the question
_PRONOUNS = frozenset({"he", "she", "it", "they", "his", "her", "its", "their", "this", "these"})
_HAN_PRONOUNS = frozenset("他她它")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence with its document's label, its terms, and how much it shares with a question."""

    label: str
    text: str
    terms: frozenset[str]
    score: float


def answer_from(question: str, excerpts: Iterable[Excerpt]) -> TextAnswer:
    """The few sentences that together hold what is asked, quoted; or that the texts do not tell."""
    asked = understand(question)
    texts = [one for one in excerpts if one.place >= 0]  # notes only repeat what stands there
    best = _with_led_to(sentences_of(texts, asked), asked)[:MOST_SENTENCES]
    return _answer(question, [Evidence(one.label, one.text) for one in best])


def choose_from(question: str, options: Sequence[str], excerpts: Iterable[Excerpt]) -> TextChoice:
    """The option that one sentence, together with words of the question, supports best."""
    asked = understand(question)
    sentences = sentences_of(excerpts, asked)
    of_options = [terms_of(option) for option in options]
    best: tuple[float, int, str] = (-1.0, 1, "")
    for number, terms in enumerate(of_options, 1):
        others = frozenset[str]().union(*(o for o in of_options if o is not terms))
        telling = (terms - others or terms) - asked.terms
        for sentence in sentences:
            share = len(telling & sentence.terms) / len(telling) if telling else 0.0
            score = BY_OPTION * share + sentence.score / max(1.0, asked.weight)
            if share and score > best[0]:
                best = score, number, sentence.text
    _, number, quote = best
    return TextChoice(
        analysis="By word overlap alone: one sentence shares most with this option.",
        option=number,
        quotes=[quote] if quote else [],
    )


def read_alone(task: ChunkReadTask) -> ChunkRead:
    """Answerable where an answer can be put together of the chunk's sentences."""
    excerpts = [Excerpt(task.label, task.text, 0)]
    answer = answer_from(task.question, excerpts)
    if not answer.answered:
        return ChunkRead(function="unanswerable", answer="", quotes=[])
    chosen = _option(task.question, task.options, excerpts)
    return ChunkRead(function="answerable", answer=chosen or answer.answer, quotes=answer.quotes)


def read_with_notes(task: NotesReadTask) -> NotesRead:
    """The same of the summary's sentences and the chunk's; the best of both go on.

    A chunk without a sentence that is worth noting changes nothing.
    """
    asked = understand(task.question)
    here = [Excerpt(task.label, task.text, 0)]
    before = [Excerpt(label, text, 0) for text, label in noted_in(task.summary)]
    new = worth_noting(sentences_of(here, asked), asked)
    if not new:  # what the summary alone does not answer, was found before
        return NotesRead(summary=task.summary, function="unanswerable", answer="", quotes=[])
    summary = notes_with(task.summary, new, asked, SUMMARY_TOKENS)
    answer = answer_from(task.question, [*before, *here])
    chosen = _option(task.question, task.options, [*before, *here])
    stands_here = [quote for quote in answer.quotes if quote in task.text]
    noted = [one.text for one in new if folded(one.text) in summary]
    return NotesRead(
        summary=summary,
        function="answerable" if answer.answered else "unanswerable",
        answer=(chosen or answer.answer) if answer.answered else "",
        quotes=stands_here if answer.answered else noted,
    )


def sentences_of(excerpts: Iterable[Excerpt], question: Question) -> list[Sentence]:
    """All sentences that share a word with the question or its title does, the best first.

    A sentence that begins with a pronoun goes along with the one before it, if it adds something.
    """
    found = []
    for excerpt in excerpts:
        title = title_terms(excerpt.label)
        before = 0
        for start, end in sentence_spans(excerpt.text):
            text = excerpt.text[start:end]
            if _begins_with_pronoun(text) and question.overlap(terms_of(text)):
                text = excerpt.text[before:end]
            before = start
            terms = terms_of(text)
            score = question.overlap(terms | title, title) + BY_TITLE * question.overlap(title)
            found.append(Sentence(excerpt.label, text, terms, score))
    return sorted((one for one in found if one.score > 0), key=lambda one: -one.score)


def _begins_with_pronoun(sentence: str) -> bool:
    bare = sentence.lstrip("\"“'")
    return bare[:1] in _HAN_PRONOUNS or fold(bare.split(None, 1)[0] if bare else "") in _PRONOUNS


def worth_noting(sentences: Sequence[Sentence], question: Question) -> list[Sentence]:
    """The best few, if they share enough with the question themselves."""
    least = max(1.0, LEAST_SHARE * question.weight)
    return [one for one in sentences if question.overlap(one.terms) >= least][:MOST_NOTED]


def notes_with(notes: str, sentences: Iterable[Sentence], question: Question, limit: int) -> str:
    """The notes with the sentences, one a line with its label behind; the best within `limit`."""
    new = (f"{folded(one.text)} [{folded(one.label)}]" for one in sentences)
    lines = list(dict.fromkeys([*notes.splitlines(), *new]))
    kept: set[str] = set()
    left = limit
    for line in sorted(lines, key=lambda one: -question.overlap(terms_of(one))):
        length = tokens.count(line) + 1
        if length <= left:
            kept.add(line)
            left -= length
    return "\n".join(line for line in lines if line in kept)


def noted_in(notes: str) -> list[tuple[str, str]]:
    """The sentences of such notes, each with its label."""
    parts = (line.rpartition(" [") for line in notes.splitlines())
    return [(text, label.rstrip("]")) for text, _, label in parts if text]


def _with_led_to(sentences: list[Sentence], question: Question) -> list[Sentence]:
    """Ranked anew: a name that the best sentences add to the question leads to others."""
    leading = sentences[:MOST_LEADING]
    names = (terms_of(name) for one in leading for name in names_of(folded(one.text)))
    led_to = frozenset(term for terms in names for term in terms) - question.terms
    return sorted(
        sentences,
        key=lambda one: -(one.score + LED_TO * (one not in leading and bool(one.terms & led_to))),
    )


def _answer(question: str, evidence: Sequence[Evidence]) -> TextAnswer:
    """By the same rules as an answer from notebooks and quotes."""
    answer = answering.answer(AnswerTask(question, "", (), tuple(evidence)))
    cited = dict.fromkeys(number for claim in answer.claims for number in claim.citations)
    return TextAnswer(
        analysis=answer.analysis,
        answer=answer.answer,
        answered=answer.answered,
        quotes=[evidence[number - 1].quote for number in cited],
    )


def _option(question: str, options: Sequence[str], excerpts: Iterable[Excerpt]) -> str:
    """The number of the best option in words; empty where there are none."""
    return str(choose_from(question, options, excerpts).option) if options else ""
