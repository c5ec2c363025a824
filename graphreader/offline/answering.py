"""Answers without a model: quoted sentences that together support enough of the question.

The rules are shared by answers from notebooks, from passages, from single chunks and from the texts
that a search agent read.
"""

from collections.abc import Iterable, Iterator, Sequence

from graphreader.agent.decisions import Answer, CitedClaim
from graphreader.agent.tasks import AnswerTask
from graphreader.baselines import chunk_reading, search_agent
from graphreader.baselines.answering import Excerpt, RefusableAnswer, TextChoice
from graphreader.baselines.search_agent import SearchStep, SearchStepTask
from graphreader.llm.protocols import folded
from graphreader.offline import evidence
from graphreader.reading import NO_PASSAGE
from graphreader.text.question import ParsedQuestion, parse_question
from graphreader.text.words import terms_of

MOST_CHUNKS_READ = 8  # after these a search agent answers in any case
_ANALYSES = {  # text, separator of the words, word for an empty list
    "en": ("By word overlap alone; words that no quote has: {}.", ", ", "none"),
    "zh": ("仅凭词语重合；引文中缺少：{}。", "、", "无"),
}


def answer_from_notebooks(task: AnswerTask) -> Answer:
    """Answer with the few quotes of the notebooks that together support enough of the question."""
    question = parse_question(task.question)
    quotes = [evidence.as_evidence(one.quote, one.label, question) for one in task.evidence]
    answer, passages = _answer(question, [one for one in quotes if any(one.supports)])
    return Answer(
        analysis=answer.analysis,
        answer=answer.answer,
        confidence="stated" if answer.answered else "not in the texts",
        claims=[
            CitedClaim(claim=folded(one.text), citations=[quotes.index(one) + 1])
            for one in passages
        ],
        contradictions=[],
    )


def answer_from_texts(question: str, excerpts: Iterable[Excerpt]) -> RefusableAnswer:
    """Answer with the few sentences that together support enough of the question."""
    parsed = parse_question(question)
    texts = [one for one in excerpts if one.place >= 0]  # a reader's notes only repeat the texts
    return _answer(parsed, evidence.ranked_sentences(texts, parsed))[0]


def _answer(
    question: ParsedQuestion, sentences: Sequence[evidence.Sentence]
) -> tuple[RefusableAnswer, list[evidence.Sentence]]:
    """Join the sentences that answer; return the answer, and these and similar sentences."""
    best = evidence.best_together(sentences, question)
    passages = evidence.passages(sentences, best, question)
    text, comma, none = _ANALYSES[question.language]
    missing = comma.join(evidence.missing(best or sentences, question)) or none
    answer = RefusableAnswer(
        analysis=text.format(missing),
        answer=" ".join(folded(one.text) for one in best) or NO_PASSAGE[question.language],
        answered=bool(best),
        quotes=[one.text for one in passages],
    )
    return answer, passages


def choose_from_texts(
    question: str, options: Sequence[str], excerpts: Iterable[Excerpt]
) -> TextChoice:
    """Choose the option whose own words one sentence has; of equal options, the better sentence."""
    parsed = parse_question(question)
    sentences = evidence.ranked_sentences(excerpts, parsed)
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
    return TextChoice(
        analysis="By word overlap alone: one sentence shares most with this option.",
        option=best[1],
        quotes=[best[2]] if best[2] else [],
    )


def read_chunk_alone(task: chunk_reading.ChunkReadTask) -> chunk_reading.ChunkAnswer:
    """Answer from the sentences of one chunk, if they are enough."""
    answer, quotes = _answer_in_short(task, [Excerpt(task.label, task.text, 0)])
    function = "answerable" if answer else "unanswerable"
    return chunk_reading.ChunkAnswer(function=function, answer=answer, quotes=quotes)


def read_chunk_with_notes(task: chunk_reading.NotesReadTask) -> chunk_reading.NotesRead:
    """Answer from a chunk and the summary; the best sentences of both are the new summary."""
    question = parse_question(task.question)
    chunk = Excerpt(task.label, task.text, 0)
    new = evidence.worth_noting(evidence.ranked_sentences([chunk], question), question)
    if not new:  # an answer from the summary alone was found at an earlier chunk
        return chunk_reading.NotesRead(
            summary=task.summary, function="unanswerable", answer="", quotes=[]
        )
    summary = _add_notes(task.summary, new, question, chunk_reading.SUMMARY_TOKENS)
    notes = [Excerpt(label, text, 0) for text, label in _parse_notes(task.summary)]
    answer, quotes = _answer_in_short(task, [*notes, chunk])
    if not answer:
        quotes = [one.text for one in new if folded(one.text) in summary]
    return chunk_reading.NotesRead(
        summary=summary,
        function="answerable" if answer else "unanswerable",
        answer=answer,
        quotes=[quote for quote in quotes if quote in task.text],
    )


def choose_search_step(task: SearchStepTask) -> SearchStep:
    """Read the results of the latest search, then search for names in the notes; then answer."""
    question = parse_question(task.question)
    hits = (
        Excerpt(f"{hit.number}: {hit.label}", hit.text, 0) for hit in task.result if hit.in_full
    )
    new = evidence.worth_noting(evidence.ranked_sentences(hits, question), question)
    notes = _add_notes(task.notes, new, question, search_agent.NOTES_TOKENS)
    parsed = _parse_notes(notes)
    texts = sorted((text for text, _ in parsed), key=lambda text: -question.relevance(text))
    read = sum(len(one.numbers) for one in task.actions if one.function == "read_chunk")
    if not read or not (
        evidence.covers(texts, question) or read >= MOST_CHUNKS_READ or not task.steps
    ):
        for step in _steps(task, question, texts):
            if step.chunks or not task.was_searched(step.function, step.argument):
                return step.model_copy(update={"notes": notes})
    numbers = (label.partition(":")[0] for _, label in parsed)
    chunks = list(dict.fromkeys(int(number) for number in numbers if number.isdecimal()))
    return SearchStep(notes=notes, function="answer", chunks=chunks)


def _steps(
    task: SearchStepTask, question: ParsedQuestion, texts: Sequence[str]
) -> Iterator[SearchStep]:
    """Yield possible steps, best first: read hits; search names, question, each word; read any."""
    leads = question.new_name_terms(texts)
    scores = {
        hit.number: question.relevance(hit.text, hit.label, leads)
        for hit in task.result
        if hit.number in task.unread and not hit.in_full
    }
    if chunks := sorted((n for n in scores if scores[n] > 0), key=lambda n: -scores[n]):
        yield SearchStep(function="read_chunk", chunks=chunks[: search_agent.MOST_READ])
    if words := list(question.names or question.attributes):
        yield SearchStep(function="keyword_search", words=words)
    yield SearchStep(function="semantic_search", query=task.question)
    for word in (*question.new_names(texts), *question.names, *question.attributes):
        yield SearchStep(function="keyword_search", words=[word])
    if task.unread and not any(one.function == "read_chunk" for one in task.actions):
        yield SearchStep(function="read_chunk", chunks=[min(task.unread)])


def _answer_in_short(
    task: chunk_reading.ChunkReadTask | chunk_reading.NotesReadTask, excerpts: Sequence[Excerpt]
) -> tuple[str, list[str]]:
    """Return (answer or number of the option, quotes); ("", []) without an answer."""
    answer = answer_from_texts(task.question, excerpts)
    if not answer.answered:
        return "", []
    if task.options:
        option = choose_from_texts(task.question, task.options, excerpts).option
        return str(option), answer.quotes
    return answer.answer, answer.quotes


def _add_notes(
    notes: str, new: Iterable[evidence.Sentence], question: ParsedQuestion, limit: int
) -> str:
    """Add sentences to notes, each a line "sentence [label]"; keep the best in `limit` tokens."""
    lines = [f"{folded(one.text)} [{folded(one.label)}]" for one in new]
    return "\n".join(evidence.keep_best([*notes.splitlines(), *lines], question, limit))


def _parse_notes(notes: str) -> list[tuple[str, str]]:
    parts = (line.rpartition(" [") for line in notes.splitlines())
    return [(text, label.rstrip("]")) for text, _, label in parts if text]
