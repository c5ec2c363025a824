"""Answers without a model: sentences that together support enough of the question, quoted.

The same rules answer from notebooks, from passages, from single chunks and from what a search agent
read.
"""

from collections.abc import Iterable, Iterator, Sequence

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
from graphreader.baselines.search_agent import MOST_READ, NOTES_TOKENS, SearchStep, SearchStepTask
from graphreader.baselines.tasks import Excerpt, TextAnswer, TextChoice
from graphreader.llm.protocols import folded
from graphreader.offline.evidence import (
    Sentence,
    as_evidence,
    best_together,
    covers,
    keep_best,
    ranked_sentences,
    worth_noting,
)
from graphreader.offline.question import ParsedQuestion, parse_question
from graphreader.text.words import terms_of

MOST_CHUNKS_READ = 8  # by a search agent, before it answers in any case
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


def answer_from_notebooks(task: AnswerTask) -> Answer:
    """The few quotes that together support enough of the question."""
    question = parse_question(task.question)
    quotes = [as_evidence(one.quote, one.label, question) for one in task.evidence]
    cited = best_together([one for one in quotes if any(one.supports)], question)
    numbers = [quotes.index(one) + 1 for one in cited]
    claims = [
        CitedClaim(claim=folded(one.text), citations=[number])
        for one, number in zip(cited, numbers, strict=True)
    ]
    return Answer(
        analysis=_analysis(numbers, cited or quotes, question),
        answer=" ".join(one.claim for one in claims) or _NO_ANSWER[question.language],
        confidence="stated" if claims else "not in the texts",
        claims=claims,
        contradictions=[],
    )


def answer_from_texts(question: str, excerpts: Iterable[Excerpt]) -> TextAnswer:
    """The few sentences that together support enough of the question."""
    parsed = parse_question(question)
    texts = [one for one in excerpts if one.place >= 0]  # a reader's notes only repeat the texts
    evidence = tuple(Evidence(one.label, one.text) for one in ranked_sentences(texts, parsed))
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
    """The option whose own words one sentence has, of several the most relevant sentence."""
    parsed = parse_question(question)
    sentences = ranked_sentences(excerpts, parsed)
    option_terms = [terms_of(option) for option in options]
    best: tuple[float, int, str] = (-1.0, 1, "")
    for number, terms in enumerate(option_terms, 1):
        others = frozenset[str]().union(*(o for o in option_terms if o is not terms))
        distinctive = (terms - others or terms) - parsed.vocabulary
        for sentence in sentences:
            shared = len(distinctive & terms_of(sentence.text))
            if shared and shared / len(distinctive) + sentence.score > best[0]:
                best = shared / len(distinctive) + sentence.score, number, sentence.text
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
    new = worth_noting(ranked_sentences(chunk, question), question)
    if not new:  # an answer from the summary alone was found at an earlier chunk
        return NotesRead(summary=task.summary, function="unanswerable", answer="", quotes=[])
    summary = _add_notes(task.summary, map(_note, new), question, SUMMARY_TOKENS)
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
    new = [
        _note(one, f"{hit.number}: ")
        for hit in task.result
        if hit.in_full
        for one in worth_noting(
            ranked_sentences([Excerpt(hit.label, hit.text, 0)], question), question
        )
    ]
    notes = _add_notes(task.notes, new, question, NOTES_TOKENS)
    texts = sorted((text for text, _ in _parse_notes(notes)), key=lambda t: -question.relevance(t))
    read = sum(len(one.numbers) for one in task.actions if one.function == "read_chunk")
    is_done = covers(texts, question) or read >= MOST_CHUNKS_READ or not task.steps
    if read and is_done:
        return _answer_step(notes)
    names = question.new_names(texts)
    if chunks := _chunks_to_read(task, question.new_name_terms(texts), question):
        return SearchStep(notes=notes, function="read_chunk", chunks=chunks)
    for search in _searches(task.question, names, question):
        if search.argument and not task.was_searched(search.function, search.argument):
            return search.model_copy(update={"notes": notes})
    if not read and task.unread:
        return SearchStep(notes=notes, function="read_chunk", chunks=[min(task.unread)])
    return _answer_step(notes)


def _analysis(
    numbers: Sequence[int], sentences: Sequence[Sentence], question: ParsedQuestion
) -> str:
    """The words of the question that the sentences lack; they are cited if they have numbers."""
    missing = [
        one.word
        for n, one in enumerate(question.terms)
        if not any(sentence.supports[n] for sentence in sentences)
    ]
    with_answer, without_answer, none, comma = _ANALYSES[question.language]
    template = with_answer if numbers else without_answer
    return template.format(comma.join(map(str, numbers)), comma.join(missing) or none)


def _option_number(question: str, options: Sequence[str], excerpts: Iterable[Excerpt]) -> str:
    return str(choose_from_texts(question, options, excerpts).option) if options else ""


def _note(sentence: Sentence, number: str = "") -> str:
    return f"{folded(sentence.text)} [{number}{folded(sentence.label)}]"


def _add_notes(notes: str, new: Iterable[str], question: ParsedQuestion, limit: int) -> str:
    """The notes with new ones, "sentence [label]" a line; the best within `limit` tokens."""
    lines = [*notes.splitlines(), *new]
    return "\n".join(keep_best(lines, question, lambda line: tokens.count(line) + 1, limit))


def _parse_notes(notes: str) -> list[tuple[str, str]]:
    parts = (line.rpartition(" [") for line in notes.splitlines())
    return [(text, label.rstrip("]")) for text, _, label in parts if text]


def _answer_step(notes: str) -> SearchStep:
    numbers = (label.partition(":")[0] for _, label in _parse_notes(notes))
    chunks = dict.fromkeys(int(number) for number in numbers if number.isdecimal())
    return SearchStep(notes=notes, function="answer", chunks=list(chunks))


def _chunks_to_read(
    task: SearchStepTask, leads: frozenset[str], question: ParsedQuestion
) -> list[int]:
    """Of the latest search, the chunks whose snippets and titles promise most."""
    scores = {
        hit.number: question.relevance(hit.text, hit.label, leads)
        for hit in task.result
        if hit.number in task.unread and not hit.in_full
    }
    promising = sorted((n for n in scores if scores[n] > 0), key=lambda n: -scores[n])
    return promising[:MOST_READ]


def _searches(question: str, names: Sequence[str], parsed: ParsedQuestion) -> Iterator[SearchStep]:
    """The question's names, the question itself, where the notes lead, then each word alone."""
    words = list(parsed.names or parsed.attributes)
    yield SearchStep(function="keyword_search", words=words)
    yield SearchStep(function="semantic_search", query=question)
    for word in [*names, *parsed.names, *parsed.attributes]:
        yield SearchStep(function="keyword_search", words=[word])
