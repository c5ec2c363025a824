"""Answers without a model: the few quotes that together cover the question.

Quotes count together only if they are connected: by a word in both quotes (or in a document's
title), or by a name that leads from one quote to the next. A question is not taken for answered
because each of its words occurs somewhere. The same rules answer from notebooks, from passages,
from single chunks and from what a search agent read.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from graphreader import tokens
from graphreader.agent.decisions import Answer, CitedClaim
from graphreader.agent.tasks import AnswerTask, Evidence
from graphreader.baselines.chunk_reading import (
    SUMMARY_TOKENS,
    ChunkRead,
    ChunkReadTask,
    NotesRead,
    NotesReadTask,
)
from graphreader.baselines.search_agent import NOTES_TOKENS, SearchStep, SearchStepTask
from graphreader.baselines.tasks import Excerpt, TextAnswer, TextChoice
from graphreader.llm.protocols import folded
from graphreader.offline.exploration import covers, keep_best
from graphreader.offline.question import ParsedQuestion, QuestionTerm, parse_question
from graphreader.text.names import names_of
from graphreader.text.sentences import sentence_spans
from graphreader.text.words import fold, terms_of, title_terms

# Which quotes are cited together.
MOST_CITED = 3
MOST_COMPARED = 14  # quotes whose combinations are compared: 469 of them
ANOTHER_QUOTE = 0.6  # weight that one more quote must add
LENGTH = 0.001  # cost of a character: of two quotes with the same content, the shorter is closer
EVERYWHERE = 4  # quotes in which a name may occur and still connect them
CONNECTION = 0.7  # score of a name that leads from one document to another
BY_TITLE = 0.9  # how well a document's title supports a term that the quote itself lacks
CONNECTED = 0.9  # how well a quote supports a term if only a name connects it to another quote
UNCONNECTED = 0.6  # ... if nothing does
OF_KIND = 1.0  # score of a date, number or new name where the question asks for one
AS_GOOD = 0.85  # share of the best quote's score at which another quote is cited too
# Shares that make an answer.
ENOUGH_OF_NAME = 0.5  # of each name
ENOUGH = 0.6  # of the weight of required terms
ENOUGH_NAMES = 0.6  # of the names' weight
ENOUGH_ATTRIBUTES = 0.5  # of the attributes' weight
# Which sentences of a text are looked at.
MOST_SENTENCES = 40
MOST_LEADING = 5  # sentences whose names can lead to others
MOST_NOTED = 3  # sentences noted of one chunk
IN_TITLE = 0.6  # weight of a term that only the document's title has
LEAD = 1.0  # score of a name that leads on, added to the weights of the terms
LEAST_NOTE = 0.1  # of the question's weight, for a sentence to be noted
OPTION = 1.5  # weight of all terms of an option relative to all terms of the question
# The steps of a search agent.
MOST_CHUNKS_READ = 8  # before it answers in any case
CHUNKS_AT_ONCE = 2
MOST_SEARCH_WORDS = 5
_PRONOUNS = frozenset({"he", "she", "it", "they", "his", "her", "its", "their", "this", "these"})
_HAN_PRONOUNS = frozenset("他她它")
_NO_ANSWER = {"en": "The texts do not tell.", "zh": "文中没有说明。"}
_ANALYSES = {  # with an answer, without one, the word for nothing, the separator
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
    """A quote with how well it supports each term of the question by itself.

    `own_terms` are the question's terms in it, `terms` with those in its title; the names are new
    to the question. `is_anchored`: it is about a name, or else a rare word, of the question.
    """

    number: int
    text: str
    label: str
    support: tuple[float, ...]
    own_terms: frozenset[str]
    terms: frozenset[str]
    names: frozenset[str]
    title_names: frozenset[str]
    is_anchored: bool
    is_of_kind: bool


@dataclass(frozen=True, slots=True)
class ScoredSentence:
    """A sentence with its document's label, its terms, and how much it shares with a question."""

    label: str
    text: str
    terms: frozenset[str]
    score: float


def answer_from_notebooks(task: AnswerTask) -> Answer:
    """The best combination of at most three quotes, if it supports enough of the question."""
    question = parse_question(task.question)
    quotes = [_parse_quote(number, one, question) for number, one in enumerate(task.evidence, 1)]
    attribute = question.only_attribute
    useful = [q for q in quotes if any(q.support) and (not attribute or attribute in q.terms)]
    candidates = _most_promising(_without_frequent_names(useful), question)
    best = _best_combination(candidates, question)
    is_answered = bool(best) and _is_enough(_support(best, question), question)
    if len(best) == 1:
        best = _with_equals(best[0], candidates, question)
    cited = sorted(best, key=lambda quote: -_weight(quote.support, question)) if is_answered else []
    claims = [CitedClaim(claim=folded(quote.text), citations=[quote.number]) for quote in cited]
    return Answer(
        analysis=_analysis(cited, quotes, question),
        answer=" ".join(one.claim for one in claims) or _NO_ANSWER[question.language],
        confidence="stated" if is_answered else "not in the texts",
        claims=claims,
        contradictions=[],
    )


def answer_from_texts(question: str, excerpts: Iterable[Excerpt]) -> TextAnswer:
    """The few sentences that together cover the question, chosen by the rules for quotes."""
    parsed = parse_question(question)
    texts = [one for one in excerpts if one.place >= 0]  # a reader's notes only repeat the texts
    sentences = scored_sentences(texts, parsed)
    leading = sentences[:MOST_LEADING]
    leads = parsed.new_name_terms(folded(one.text) for one in leading)
    sentences.sort(key=lambda s: -(s.score + LEAD * (s not in leading and bool(s.terms & leads))))
    evidence = tuple(Evidence(one.label, one.text) for one in sentences[:MOST_SENTENCES])
    answer = answer_from_notebooks(AnswerTask(question, "", (), evidence))
    cited = dict.fromkeys(number for claim in answer.claims for number in claim.citations)
    return TextAnswer(
        analysis=answer.analysis,
        answer=answer.answer,
        answered=answer.answered,
        quotes=[evidence[number - 1].quote for number in cited],
    )


def choose_from_texts(
    question: str, options: Sequence[str], excerpts: Iterable[Excerpt]
) -> TextChoice:
    """The option that one sentence, together with terms of the question, supports best."""
    parsed = parse_question(question)
    sentences = scored_sentences(excerpts, parsed)
    option_terms = [terms_of(option) for option in options]
    best: tuple[float, int, str] = (-1.0, 1, "")
    for number, terms in enumerate(option_terms, 1):
        others = frozenset[str]().union(*(o for o in option_terms if o is not terms))
        distinctive = (terms - others or terms) - parsed.vocabulary
        for sentence in sentences:
            share = len(distinctive & sentence.terms) / len(distinctive) if distinctive else 0.0
            score = OPTION * share + sentence.score / max(1.0, parsed.weight)
            if share and score > best[0]:
                best = score, number, sentence.text
    _, number, quote = best
    return TextChoice(
        analysis="By word overlap alone: one sentence shares most with this option.",
        option=number,
        quotes=[quote] if quote else [],
    )


def read_chunk_alone(task: ChunkReadTask) -> ChunkRead:
    """Answerable if sentences of the chunk make an answer."""
    excerpts = [Excerpt(task.label, task.text, 0)]
    answer = answer_from_texts(task.question, excerpts)
    if not answer.answered:
        return ChunkRead(function="unanswerable", answer="", quotes=[])
    option = _option_number(task.question, task.options, excerpts)
    return ChunkRead(function="answerable", answer=option or answer.answer, quotes=answer.quotes)


def read_chunk_with_notes(task: NotesReadTask) -> NotesRead:
    """The same with the summary's sentences; the best sentences of both are the new summary."""
    question = parse_question(task.question)
    chunk = [Excerpt(task.label, task.text, 0)]
    new = _worth_noting(scored_sentences(chunk, question), question)
    if not new:  # an answer from the summary alone was found at an earlier chunk
        return NotesRead(summary=task.summary, function="unanswerable", answer="", quotes=[])
    summary = _add_notes(task.summary, new, question, SUMMARY_TOKENS)
    excerpts = [Excerpt(label, text, 0) for text, label in _parse_notes(task.summary)] + chunk
    answer = answer_from_texts(task.question, excerpts)
    option = _option_number(task.question, task.options, excerpts)
    answer_quotes = [quote for quote in answer.quotes if quote in task.text]
    note_quotes = [one.text for one in new if folded(one.text) in summary]
    return NotesRead(
        summary=summary,
        function="answerable" if answer.answered else "unanswerable",
        answer=(option or answer.answer) if answer.answered else "",
        quotes=answer_quotes if answer.answered else note_quotes,
    )


def choose_search_step(task: SearchStepTask) -> SearchStep:
    """Read the results of the latest search, then search for leads of the notes; then answer."""
    question = parse_question(task.question)
    notes = _add_notes(task.notes, _sentences_of_hits(task, question), question, NOTES_TOKENS)
    texts = [text for text, _ in _parse_notes(notes)]
    read = sum(len(one.numbers) for one in task.actions if one.function == "read_chunk")
    is_done = covers("\n".join(texts), question) or read >= MOST_CHUNKS_READ or not task.steps
    if read and is_done:
        return _answer_step(notes)
    names = _new_names(texts, question)
    if chunks := _chunks_to_read(task, names, question):
        return SearchStep(notes=notes, function="read_chunk", chunks=chunks)
    for search in _searches(task.question, names, question):
        if search.argument and not task.was_searched(search.function, search.argument):
            return search.model_copy(update={"notes": notes})
    if not read and task.unread:
        return SearchStep(notes=notes, function="read_chunk", chunks=[min(task.unread)])
    return _answer_step(notes)


def scored_sentences(excerpts: Iterable[Excerpt], question: ParsedQuestion) -> list[ScoredSentence]:
    """All sentences that share a term with the question or whose title does, the best first."""
    sentences = []
    for excerpt in excerpts:
        title = title_terms(excerpt.label)
        title_score = IN_TITLE * question.overlap(title)
        previous = 0
        for start, end in sentence_spans(excerpt.text):
            text = excerpt.text[start:end]
            if _begins_with_pronoun(text) and question.overlap(terms_of(text)):
                text = excerpt.text[previous:end]
            previous = start
            terms = terms_of(text)
            score = question.overlap(terms | title, title) + title_score
            sentences.append(ScoredSentence(excerpt.label, text, terms, score))
    return sorted((one for one in sentences if one.score > 0), key=lambda one: -one.score)


def _parse_quote(number: int, evidence: Evidence, question: ParsedQuestion) -> _Quote:
    terms, title = terms_of(evidence.quote), title_terms(evidence.label)

    def new_names(text: str) -> frozenset[str]:
        names = (name for name in names_of(text) if not terms_of(name) <= question.vocabulary)
        return frozenset(map(fold, names))

    return _Quote(
        number,
        evidence.quote,
        evidence.label,
        tuple(max(n.support(terms), BY_TITLE * n.support(title)) for n in question.terms),
        frozenset(n.term for n in question.terms if n.support(terms)),
        frozenset(n.term for n in question.terms if n.support(terms | title)),
        new_names(folded(evidence.quote)),
        new_names(evidence.label),
        any(n.is_anchor and (n.support(terms) or n.support(title)) for n in question.terms),
        question.has_answer_kind(evidence.quote),
    )


def _without_frequent_names(quotes: Sequence[_Quote]) -> list[_Quote]:
    """The quotes without the names of so many quotes that they connect nothing."""
    times = Counter(name for quote in quotes for name in quote.names)
    most = max(EVERYWHERE, len(quotes) // 5)
    return [
        replace(quote, names=frozenset(name for name in quote.names if times[name] <= most))
        for quote in quotes
    ]


def _weight(support: Sequence[float], question: ParsedQuestion) -> float:
    return sum(s * term.weight for s, term in zip(support, question.terms, strict=True))


def _most_promising(quotes: Sequence[_Quote], question: ParsedQuestion) -> list[_Quote]:
    """The quotes that share most with the question, or that the best of those lead to."""
    weights = {quote: _weight(quote.support, question) for quote in quotes}
    leading = sorted(quotes, key=lambda quote: -weights[quote])[:3]

    def promise(quote: _Quote) -> float:
        has_lead = any(_share_name(other, quote) for other in leading if other is not quote)
        return weights[quote] + has_lead + OF_KIND / 2 * quote.is_of_kind

    return sorted(quotes, key=lambda quote: -promise(quote))[:MOST_COMPARED]


def _share_name(one: _Quote, other: _Quote) -> bool:
    """Whether a name that the question lacks is in both, or in one and the other's title."""
    in_quotes = one.names & (other.names | other.title_names)
    return bool(in_quotes or one.title_names & other.names)


def _best_combination(quotes: Sequence[_Quote], question: ParsedQuestion) -> tuple[_Quote, ...]:
    complete = [(quote,) for quote in quotes if all(quote.support)]
    sets = complete or (s for n in range(1, MOST_CITED + 1) for s in combinations(quotes, n))
    return max(sets, key=lambda chosen: _score(chosen, question), default=())


def _with_equals(
    best: _Quote, quotes: Sequence[_Quote], question: ParsedQuestion
) -> tuple[_Quote, ...]:
    """With other quotes that do nearly as well alone: a question can have several answers."""
    least = AS_GOOD * _score((best,), question)

    def supports_as_much(quote: _Quote) -> bool:
        pairs = zip(quote.support, best.support, strict=True)
        return all(bool(own) >= bool(of_best) for own, of_best in pairs)

    others = (
        quote
        for quote in quotes
        if quote is not best and _score((quote,), question) >= least and supports_as_much(quote)
    )
    return (best, *others)[:MOST_CITED]


def _score(chosen: tuple[_Quote, ...], question: ParsedQuestion) -> float:
    kind = OF_KIND * any(quote.is_of_kind for quote in chosen)
    steps = sum(a.label != b.label and _share_name(a, b) for a, b in combinations(chosen, 2))
    cost = ANOTHER_QUOTE * (len(chosen) - 1) + LENGTH * sum(len(quote.text) for quote in chosen)
    return _weight(_support(chosen, question), question) + kind + CONNECTION * steps - cost


def _support(chosen: Sequence[_Quote], question: ParsedQuestion) -> tuple[float, ...]:
    if not chosen:
        return (0.0,) * len(question.terms)
    factors = [_connection(quote, chosen) for quote in chosen]
    return tuple(
        max(quote.support[n] * factor for quote, factor in zip(chosen, factors, strict=True))
        for n in range(len(question.terms))
    )


def _connection(quote: _Quote, chosen: Sequence[_Quote]) -> float:
    """The weight of a quote among the others, from 0 to 1, by its connections to them."""
    others = [other for other in chosen if other is not quote]
    by_name = any(_share_name(quote, other) for other in others)
    if quote.is_anchored and (
        not others or by_name or any(quote.own_terms & other.own_terms for other in others)
    ):
        return 1.0
    return CONNECTED if by_name else UNCONNECTED


def _is_enough(support: Sequence[float], question: ParsedQuestion) -> bool:
    supported = list(zip(support, question.terms, strict=True))

    def share(counts: Callable[[QuestionTerm], bool]) -> float:
        weights = [(s * one.weight, one.weight) for s, one in supported if counts(one)]
        whole = sum(weight for _, weight in weights)
        return sum(part for part, _ in weights) / whole if whole else 1.0

    def share_of_name(name: str) -> float:
        terms = terms_of(name)
        return share(lambda one: one.term in terms)

    return (
        any(one.is_required for one in question.terms)
        and (not question.head or any(s and one.term == question.head for s, one in supported))
        and share(lambda one: one.is_required) >= ENOUGH
        and share(lambda one: one.in_name) >= ENOUGH_NAMES
        and all(share_of_name(name) >= ENOUGH_OF_NAME for name in question.names)
        and share(lambda one: one.is_required and not one.in_name) >= ENOUGH_ATTRIBUTES
    )


def _analysis(cited: Sequence[_Quote], quotes: Sequence[_Quote], question: ParsedQuestion) -> str:
    """The terms of the question that the cited quotes lack; without any, that all quotes lack."""
    missing = [
        one.word
        for n, one in enumerate(question.terms)
        if not any(quote.support[n] for quote in cited or quotes)
    ]
    with_answer, without_answer, none, comma = _ANALYSES[question.language]
    numbers = comma.join(str(quote.number) for quote in cited)
    template = with_answer if cited else without_answer
    return template.format(numbers, comma.join(missing) or none)


def _begins_with_pronoun(sentence: str) -> bool:
    bare = sentence.lstrip("\"“'")
    return bare[:1] in _HAN_PRONOUNS or fold(bare.split(None, 1)[0] if bare else "") in _PRONOUNS


def _option_number(question: str, options: Sequence[str], excerpts: Iterable[Excerpt]) -> str:
    return str(choose_from_texts(question, options, excerpts).option) if options else ""


def _worth_noting(
    sentences: Sequence[ScoredSentence], question: ParsedQuestion
) -> list[ScoredSentence]:
    """The best few, if they share enough with the question themselves."""
    least = max(1.0, LEAST_NOTE * question.weight)
    return [one for one in sentences if question.overlap(one.terms) >= least][:MOST_NOTED]


def _add_notes(
    notes: str, sentences: Iterable[ScoredSentence], question: ParsedQuestion, limit: int
) -> str:
    """The notes with the sentences, "sentence [label]" a line; the best within `limit` tokens."""
    new = (f"{folded(one.text)} [{folded(one.label)}]" for one in sentences)
    lines = dict.fromkeys([*notes.splitlines(), *new])
    kept = keep_best(
        lines,
        lambda line: question.overlap(terms_of(line)),
        lambda line: tokens.count(line) + 1,
        limit,
    )
    return "\n".join(kept)


def _parse_notes(notes: str) -> list[tuple[str, str]]:
    parts = (line.rpartition(" [") for line in notes.splitlines())
    return [(text, label.rstrip("]")) for text, _, label in parts if text]


def _sentences_of_hits(task: SearchStepTask, question: ParsedQuestion) -> Iterator[ScoredSentence]:
    """The sentences worth noting of the chunks that are shown in full, labelled with numbers."""
    for hit in task.result:
        if hit.in_full:
            sentences = scored_sentences([Excerpt(hit.label, hit.text, 0)], question)
            for one in _worth_noting(sentences, question):
                yield replace(one, label=f"{hit.number}: {hit.label}")


def _answer_step(notes: str) -> SearchStep:
    numbers = (label.partition(":")[0] for _, label in _parse_notes(notes))
    chunks = dict.fromkeys(int(number) for number in numbers if number.isdecimal())
    return SearchStep(notes=notes, function="answer", chunks=list(chunks))


def _chunks_to_read(
    task: SearchStepTask, names: Sequence[str], question: ParsedQuestion
) -> list[int]:
    """Of the latest search, the chunks whose snippets and titles promise most."""
    leads = frozenset(term for name in names for term in terms_of(name))
    scores = {}
    for hit in task.result:
        if hit.number in task.unread and not hit.in_full:
            terms = terms_of(hit.text) | title_terms(hit.label)
            scores[hit.number] = question.overlap(terms) + LEAD * bool(terms & leads)
    promising = sorted((n for n in scores if scores[n] > 0), key=lambda n: -scores[n])
    return promising[:CHUNKS_AT_ONCE]


def _searches(question: str, names: Sequence[str], parsed: ParsedQuestion) -> Iterator[SearchStep]:
    """The question's names, the question itself, where the notes lead, then each word alone."""
    words = list(parsed.names or parsed.attributes)[:MOST_SEARCH_WORDS]
    yield SearchStep(function="keyword_search", words=words)
    yield SearchStep(function="semantic_search", query=question)
    for word in [*names, *parsed.names, *parsed.attributes]:
        yield SearchStep(function="keyword_search", words=[word])


def _new_names(texts: Sequence[str], question: ParsedQuestion) -> list[str]:
    in_order = sorted(texts, key=lambda text: -question.overlap(terms_of(text)))
    names = dict.fromkeys(name for text in in_order for name in names_of(text))
    return [name for name in names if not terms_of(name) <= question.vocabulary]
