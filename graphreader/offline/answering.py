"""Answers without a model: quoted sentences that together support enough of the question."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from graphreader.agent.decisions import Answer, CitedClaim
from graphreader.agent.tasks import AnswerTask
from graphreader.offline import evidence
from graphreader.reading import NO_PASSAGE
from graphreader.text.lines import one_line
from graphreader.text.question import ParsedQuestion, parse_question
from graphreader.text.words import terms_of

_ANALYSES = {  # text, separator of the words, word for an empty list
    "en": ("By word overlap alone; words that no quote has: {}.", ", ", "none"),
    "zh": ("仅凭词语重合；引文中缺少：{}。", "、", "无"),
}


@dataclass(frozen=True, slots=True)
class QuotedAnswer:
    """An answer of quoted sentences; `passages` are these sentences and similar sentences."""

    analysis: str
    answer: str
    answered: bool
    passages: list[evidence.Sentence]


def answer_from_notebooks(task: AnswerTask) -> Answer:
    """Answer with the few quotes of the notebooks that together support enough of the question."""
    question = parse_question(task.question)
    quotes = [evidence.as_evidence(one.quote, one.label, question) for one in task.evidence]
    answer = quoted_answer(question, [one for one in quotes if any(one.supports)])
    return Answer(
        analysis=answer.analysis,
        answer=answer.answer,
        confidence="stated" if answer.answered else "not in the texts",
        claims=[
            CitedClaim(claim=one_line(one.text), citations=[quotes.index(one) + 1])
            for one in answer.passages
        ],
        contradictions=[],
    )


def quoted_answer(question: ParsedQuestion, sentences: Sequence[evidence.Sentence]) -> QuotedAnswer:
    """Answer with the few sentences that together support enough of the question."""
    best = evidence.best_together(sentences, question)
    text, comma, none = _ANALYSES[question.language]
    missing = comma.join(evidence.missing(best or sentences, question)) or none
    return QuotedAnswer(
        analysis=text.format(missing),
        answer=" ".join(one_line(one.text) for one in best) or NO_PASSAGE[question.language],
        answered=bool(best),
        passages=evidence.passages(sentences, best, question),
    )


def best_option(
    question: str, options: Sequence[str], texts: Iterable[evidence.LabelledText]
) -> tuple[int, str]:
    """Return the number of the option of whose distinctive words a sentence has most, and it.

    Of equal options the one with the better sentence is chosen; without any, it is 1 and "".
    """
    parsed = parse_question(question)
    sentences = evidence.ranked_sentences(texts, parsed)
    option_terms = [terms_of(option) for option in options]
    best: tuple[float, int, str] = (0.0, 1, "")
    for number, terms in enumerate(option_terms, 1):
        others = frozenset[str]().union(*(one for one in option_terms if one is not terms))
        distinctive = (terms - others or terms) - parsed.vocabulary
        for sentence in sentences:
            shared = len(distinctive & terms_of(sentence.text))
            if shared:
                score = shared / len(distinctive) + sentence.score
                best = max(best, (score, number, sentence.text), key=lambda one: one[0])
    return best[1:]
