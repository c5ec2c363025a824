"""The answer: the few quotes that together hold what is asked for, or that the texts do not tell.

Quotes count together only where something ties them: a word in the same quote (or its document's
title), or a name that leads from one quote to the next. So a question is not taken for answered
because each of its words stands somewhere.

Answering from passages and chunks without a model: by the sentences that overlap most.

The steps of an agent that searches, without a model: names first, then where they lead.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from graphreader import tokens
from graphreader.agent.decisions import Answer, Claim
from graphreader.agent.tasks import AnswerTask, Evidence
from graphreader.baselines.chunk_reading import (
    SUMMARY_TOKENS,
    ChunkReadDecision,
    ChunkReadTask,
    NotesReadDecision,
    NotesReadTask,
)
from graphreader.baselines.search_agent import NOTES_TOKENS, SearchStep, SearchStepTask
from graphreader.baselines.tasks import Excerpt, TextAnswer, TextChoice
from graphreader.llm.protocols import folded
from graphreader.offline.question import Need, Question, understand
from graphreader.offline.scoring import covers
from graphreader.text.names import names_of
from graphreader.text.sentences import sentence_spans
from graphreader.text.words import fold, terms_of, title_terms

MOST_CITED = 3
MOST_COMPARED = 14  # quotes whose combinations are looked at: 469 of them
ANOTHER = 0.6  # what one more quote must add in weight
LENGTH = 0.001  # cost of a character: of two quotes that hold the same, the shorter is closer
EVERYWHERE = 4  # quotes in which a name may stand and still lead from one to another
STEP = 0.7  # worth of a name that leads from one place to another
BY_TITLE = 0.9  # how well a document's title supports a word that the quote itself lacks
LED_TO = 0.9  # how well a quote supports a word if only a name from another quote leads to it
LOOSE = 0.6  # ... if nothing does
OF_KIND = 1.0  # worth of a date, number or new name where one is asked for
AS_GOOD = 0.85  # of the best quote's worth makes another quote worth citing beside it
HALF = 0.5  # share of each name
ENOUGH = 0.6  # share of the weight of what the question requires
ENOUGH_NAMES = 0.6  # share of the names' weight
ENOUGH_ASKED = 0.5  # share of the weight of what is asked about the names
NOT_TOLD = {"en": "The texts do not tell.", "zh": "文中没有说明。"}

_ANALYSES = {  # with an answer, without, what stands for nothing, what joins
    "en": (
        "By word overlap alone: quotes {0} hold the question's words; missing: {1}.",
        "By word overlap alone: no few quotes hold enough of the question; missing in all: {1}.",
        "none",
        ", ",
    ),
    "zh": (
        "仅凭词语重合：引文{0}含有问题的词语；缺少：{1}。",
        "仅凭词语重合：没有引文足以回答问题；全部引文都缺少：{1}。",
        "无",
        "、",
    ),
}


@dataclass(frozen=True, slots=True, eq=False)
class _Quote:
    """A quote with how well it supports each need, by itself."""

    number: int
    text: str
    label: str
    support: tuple[float, ...]
    shared: frozenset[str]  # the question's terms in the quote's own words
    holds: frozenset[str]  # ... or in its document's title
    names: frozenset[str]  # its names that the question lacks
    title: frozenset[str]
    anchored: bool  # whether it is about a name of the question, or a rare word if there is none
    of_kind: bool


def answer_from_notebooks(task: AnswerTask) -> Answer:
    """The best combination of at most three quotes, if it supports enough of the question."""
    question = understand(task.question)
    quotes = [_quote(number, one, question) for number, one in enumerate(task.evidence, 1)]
    step = question.only_step
    useful = [quote for quote in quotes if any(quote.support) and (not step or step in quote.holds)]
    candidates = _promising(_without_names_everywhere(useful), question)
    best = _best_together(candidates, question)
    support = _support(best, question)
    answered = bool(best) and _is_enough(support, question)
    if len(best) == 1:
        best = _with_as_good(best[0], candidates, question)
    cited = sorted(best, key=lambda quote: -_weigh(quote.support, question)) if answered else []
    claims = [Claim(claim=folded(quote.text), citations=[quote.number]) for quote in cited]
    return Answer(
        analysis=_analysis(cited, quotes, question),
        answer=" ".join(one.claim for one in claims) or NOT_TOLD[question.language],
        answered=answered,
        claims=claims,
        contradictions=[],
    )


def _quote(number: int, one: Evidence, question: Question) -> _Quote:
    terms, title = terms_of(one.quote), title_terms(one.label)
    support = tuple(
        max(need.support(terms), BY_TITLE * need.support(title)) for need in question.needs
    )
    names = names_of(" ".join(one.quote.split()))
    return _Quote(
        number,
        one.quote,
        one.label,
        support,
        frozenset(n.term for n in question.needs if n.support(terms)),
        frozenset(n.term for n in question.needs if n.support(terms | title)),
        frozenset(fold(name) for name in names if not terms_of(name) <= question.terms),
        frozenset(
            fold(name) for name in names_of(one.label) if not terms_of(name) <= question.terms
        ),
        any(
            strength
            for strength, need in zip(support, question.needs, strict=True)
            if need.is_anchor
        ),
        question.fits_kind(one.quote),
    )


def _without_names_everywhere(quotes: Sequence[_Quote]) -> list[_Quote]:
    """The quotes without the names that stand in so many of them that they lead nowhere."""
    times = Counter(name for quote in quotes for name in quote.names)
    most = max(EVERYWHERE, len(quotes) // 5)
    return [
        replace(quote, names=frozenset(name for name in quote.names if times[name] <= most))
        for quote in quotes
    ]


def _weigh(support: Sequence[float], question: Question) -> float:
    return sum(s * need.weight for s, need in zip(support, question.needs, strict=True))


def _promising(quotes: Sequence[_Quote], question: Question) -> list[_Quote]:
    """The quotes that share most with the question, or that the best of those lead to."""
    weights = {quote: _weigh(quote.support, question) for quote in quotes}
    leading = sorted(quotes, key=lambda quote: -weights[quote])[:3]

    def promise(quote: _Quote) -> float:
        led_to = any(_leads(other, quote) for other in leading if other is not quote)
        return weights[quote] + led_to + OF_KIND / 2 * quote.of_kind

    return sorted(quotes, key=lambda quote: -promise(quote))[:MOST_COMPARED]


def _leads(one: _Quote, other: _Quote) -> bool:
    """Whether a name that the question lacks stands in both, or in one and the other's title."""
    return bool(one.names & (other.names | other.title) or one.title & other.names)


def _best_together(quotes: Sequence[_Quote], question: Question) -> tuple[_Quote, ...]:
    whole = [(quote,) for quote in quotes if all(quote.support)]
    sets = whole or (s for size in range(1, MOST_CITED + 1) for s in combinations(quotes, size))
    return max(sets, key=lambda chosen: _worth(chosen, question), default=())


def _with_as_good(best: _Quote, quotes: Sequence[_Quote], question: Question) -> tuple[_Quote, ...]:
    """A question may have several answers: other quotes that do nearly as well by themselves."""
    least = AS_GOOD * _worth((best,), question)
    others = (
        quote
        for quote in quotes
        if quote is not best
        and _worth((quote,), question) >= least
        and all(
            bool(own) >= bool(its) for own, its in zip(quote.support, best.support, strict=True)
        )
    )
    return (best, *others)[:MOST_CITED]


def _worth(chosen: tuple[_Quote, ...], question: Question) -> float:
    kind = OF_KIND * any(quote.of_kind for quote in chosen)
    steps = sum(a.label != b.label and _leads(a, b) for a, b in combinations(chosen, 2))
    cost = ANOTHER * (len(chosen) - 1) + LENGTH * sum(len(quote.text) for quote in chosen)
    return _weigh(_support(chosen, question), question) + kind + STEP * steps - cost


def _support(chosen: Sequence[_Quote], question: Question) -> tuple[float, ...]:
    """How well the quotes together support each need, from 0 to 1."""
    if not chosen:
        return (0.0,) * len(question.needs)
    ties = [_tie(quote, chosen) for quote in chosen]
    return tuple(
        max(quote.support[n] * tie for quote, tie in zip(chosen, ties, strict=True))
        for n in range(len(question.needs))
    )


def _tie(quote: _Quote, chosen: Sequence[_Quote]) -> float:
    """How much a quote counts beside the others, by what ties it to them."""
    others = [other for other in chosen if other is not quote]
    led_to = any(_leads(quote, other) for other in others)
    if quote.anchored and (not others or led_to or any(quote.shared & o.shared for o in others)):
        return 1.0
    return LED_TO if led_to else LOOSE


def _is_enough(support: Sequence[float], question: Question) -> bool:
    def share(of: Callable[[Need], bool]) -> float:
        needs = [(s, n.weight) for s, n in zip(support, question.needs, strict=True) if of(n)]
        weight = sum(weight for _, weight in needs)
        return sum(s * weight for s, weight in needs) / weight if weight else 1.0

    def of_name(name: str) -> Callable[[Need], bool]:
        terms = terms_of(name)
        return lambda need: need.term in terms

    held = {need.term for s, need in zip(support, question.needs, strict=True) if s}
    return (
        any(need.is_required for need in question.needs)
        and (not question.head or question.head in held)
        and share(lambda need: need.is_required) >= ENOUGH
        and share(lambda need: need.in_name) >= ENOUGH_NAMES
        and all(share(of_name(name)) >= HALF for name in question.names)
        and share(lambda need: need.is_required and not need.in_name) >= ENOUGH_ASKED
    )


def _analysis(cited: Sequence[_Quote], quotes: Sequence[_Quote], question: Question) -> str:
    """What the cited quotes hold of the question; without any, what stands in none of all."""
    missing = [
        need.word
        for n, need in enumerate(question.needs)
        if not any(quote.support[n] for quote in cited or quotes)
    ]
    found, not_found, none, comma = _ANALYSES[question.language]
    numbers = comma.join(str(quote.number) for quote in cited)
    return (found if cited else not_found).format(numbers, comma.join(missing) or none)


MOST_SENTENCES = 40  # out of which an answer is put together
MOST_LEADING = 5  # sentences whose names may lead to others
MOST_NOTED = 3  # sentences of one chunk
BY_TITLE_ANSWER = 0.6  # what a word counts that only the document's title has
_LED_TO_TEXTS = 1.0  # what a name is worth that leads on, beside the words' own weights
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


def read_alone(task: ChunkReadTask) -> ChunkReadDecision:
    """Answerable where an answer can be put together of the chunk's sentences."""
    excerpts = [Excerpt(task.label, task.text, 0)]
    answer = answer_from(task.question, excerpts)
    if not answer.answered:
        return ChunkReadDecision(function="unanswerable", answer="", quotes=[])
    chosen = _option(task.question, task.options, excerpts)
    return ChunkReadDecision(
        function="answerable", answer=chosen or answer.answer, quotes=answer.quotes
    )


def read_with_notes(task: NotesReadTask) -> NotesReadDecision:
    """The same of the summary's sentences and the chunk's; the best of both go on.

    A chunk without a sentence that is worth noting changes nothing.
    """
    asked = understand(task.question)
    here = [Excerpt(task.label, task.text, 0)]
    before = [Excerpt(label, text, 0) for text, label in noted_in(task.summary)]
    new = worth_noting(sentences_of(here, asked), asked)
    if not new:  # what the summary alone does not answer, was found before
        return NotesReadDecision(
            summary=task.summary, function="unanswerable", answer="", quotes=[]
        )
    summary = notes_with(task.summary, new, asked, SUMMARY_TOKENS)
    answer = answer_from(task.question, [*before, *here])
    chosen = _option(task.question, task.options, [*before, *here])
    stands_here = [quote for quote in answer.quotes if quote in task.text]
    noted = [one.text for one in new if folded(one.text) in summary]
    return NotesReadDecision(
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
            score = question.overlap(terms | title, title) + BY_TITLE_ANSWER * question.overlap(
                title
            )
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
        key=lambda one: (
            -(one.score + _LED_TO_TEXTS * (one not in leading and bool(one.terms & led_to)))
        ),
    )


def _answer(question: str, evidence: Sequence[Evidence]) -> TextAnswer:
    """By the same rules as an answer from notebooks and quotes."""
    answer = answer_from_notebooks(AnswerTask(question, "", (), tuple(evidence)))
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


MOST_CHUNKS = 8  # to read before it answers in any case
AT_ONCE = 2
MOST_WORDS = 5  # of one search
_LED_TO_SEARCH = 1.0  # what a name is worth that leads on, beside the words' own weights


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
        return _search_answer(notes)
    led_to = frozenset(term for name in _names(texts, question) for term in terms_of(name))
    if chunks := _worth_reading(task, question, led_to):
        return SearchStep(notes=notes, function="read_chunk", chunks=chunks)
    for search in _searches(task.question, texts, question):
        if search.argument and not task.was_searched(search.function, search.argument):
            return search.model_copy(update={"notes": notes})
    if not read and task.unread:
        return SearchStep(notes=notes, function="read_chunk", chunks=[min(task.unread)])
    return _search_answer(notes)


def _new(task: SearchStepTask, question: Question) -> Iterator[Sentence]:
    """What the chunks that are shown in full tell about the question."""
    for hit in task.result:
        if hit.in_full:
            label = f"{hit.number}: {hit.label}"
            sentences = sentences_of([Excerpt(hit.label, hit.text, 0)], question)
            for one in worth_noting(sentences, question):
                yield Sentence(label, one.text, one.terms, one.score)


def _search_answer(notes: str) -> SearchStep:
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
            scores[hit.number] = question.overlap(terms) + _LED_TO_SEARCH * bool(terms & led_to)
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
