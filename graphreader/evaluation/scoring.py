"""The scores of a reading: metrics without a model, and ratings by a language model.

The ratings are as in both papers: LR-1 and LR-2 (GraphReader figures 13 and 14, ReadAgent section
4.1), and the recall of supporting facts in the evidence (figure 19, table 6).
"""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

from pydantic import Field

from graphreader.agent.functions import FUNCTIONS, Stage
from graphreader.errors import DecisionError, GraphReaderError
from graphreader.evaluation.datasets.record import Record
from graphreader.evaluation.metrics.answers import chosen_option, exact_match, f1, f1_star, rouge
from graphreader.evaluation.metrics.evidence import chunk_recall, fact_recall
from graphreader.evaluation.metrics.lists import item_counts, states_count
from graphreader.evaluation.results import QuestionContext
from graphreader.files import Line
from graphreader.ingestion.chunking import chunk_spans
from graphreader.llm.protocols import D, Decider, Decision, Task, names
from graphreader.llm.retry import CircuitBreaker
from graphreader.reading import FunctionCall, Path, Reading
from graphreader.usage import Phase, Usage


class StrictRating(Decision):
    """The strict rating of an answer: agrees with the reference or not (figure 13)."""

    agrees: Literal["yes", "no"] = Field(description="Whether the answers agree.")


class PermissiveRating(Decision):
    """The permissive rating of an answer: agrees in full, in part or not (figure 14)."""

    agrees: Literal["yes", "partially", "no"] = Field(
        description="yes, partially (as soon as they overlap at all), or no."
    )


class RecallRating(Decision):
    """The numbers of the relevant supporting facts, and of facts that a text covers (figure 19).

    The paper asks for their counts; with their numbers a long text can be rated in pieces.
    """

    analysis: str = Field(
        description="Fact by fact: whether the question needs it, and whether the text covers it."
    )
    relevant: list[int] = Field(
        description="Numbers of the listed facts that are needed to answer: 1 at least."
    )
    covered: list[int] = Field(description="Numbers of the needed facts that the text covers.")


@dataclass(frozen=True, slots=True)
class AgreementTask(Task[D]):
    """Compare an answer with one reference answer to the question."""

    phase: ClassVar[Phase] = "rate"
    reply_tokens = 100
    question: str
    answer: str
    reference: str

    def values(self) -> Mapping[str, str]:
        """The prompt's values: question, answer and reference."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class StrictRatingTask(AgreementTask[StrictRating]):
    """Say whether the answer agrees with the reference (figure 13)."""

    prompt = "rate_strictly"
    decision = StrictRating


@dataclass(frozen=True, slots=True)
class PermissiveRatingTask(AgreementTask[PermissiveRating]):
    """Say whether the answer agrees in full, in part or not at all (figure 14)."""

    prompt = "rate_permissively"
    decision = PermissiveRating


@dataclass(frozen=True, slots=True)
class RecallRatingTask(Task[RecallRating]):
    """Name the relevant supporting facts, and the facts that the text covers (figure 19)."""

    phase: ClassVar[Phase] = "rate"
    prompt = "rate_recall"
    decision = RecallRating
    reply_tokens = 1000
    question: str
    supporting: tuple[str, ...]
    text: str

    def values(self) -> Mapping[str, str]:
        """The prompt's values: question, numbered supporting facts and the text."""
        return {
            "question": self.question,
            "facts": names(self.supporting),
            "text": self.text or "(empty)",
        }

    def problem(self, decision: RecallRating) -> str | None:
        """Say why a rating is invalid: no relevant fact, or a covered fact that is not relevant."""
        every = set(range(1, len(self.supporting) + 1))
        relevant = set(decision.relevant)
        if not relevant or relevant - every:
            return f"relevant must be numbers from 1 to {len(every)}, one at least."
        if set(decision.covered) - relevant:
            return "covered must be some of the numbers of relevant, or none."
        return None


Verdict = Literal["no", "partial", "exact"]
_AGREEMENT_TASKS: tuple[type[AgreementTask[Any]], ...] = (StrictRatingTask, PermissiveRatingTask)
_VERDICTS: dict[str, Verdict] = {"no": "no", "partially": "partial", "yes": "exact"}
"""Verdicts by replies of the permissive rater, from the worst to the best."""


async def rate_answer(
    decider: Decider, question: str, answer: str, references: Sequence[str]
) -> tuple[Verdict, Usage]:
    """Rate an answer against each reference; return the best verdict and the cost.

    The verdict is exact if one of the two raters says yes, partial if the permissive rater says
    "partially". A request is skipped if its reply could not change the verdict. Raises
    DecisionError with the whole cost as `spent`.
    """
    replies, usage = ["no"], Usage()
    try:
        for reference in references if answer.strip() else ():
            for kind in _AGREEMENT_TASKS:
                rating = await decider.decide(kind(question, answer, reference))
                replies.append(rating.decision.agrees)
                usage += rating.usage
                if rating.decision.agrees == "yes":
                    return "exact", usage
    except DecisionError as error:
        error.spent += usage
        raise
    return _VERDICTS[max(replies, key=list(_VERDICTS).index)], usage


_CHUNK = re.compile(r", chunk \d+$")


def stages(functions: Sequence[FunctionCall]) -> list[Stage]:
    """List the stage of each call of a path (figures 9-11): facts, chunks or neighbors."""
    assigned: list[Stage] = []
    previous: str | None = None
    for call in functions:
        function = FUNCTIONS.get(call.name)
        if function and len(function.stages) == 1:
            (stage,) = function.stages
        elif call.name == "termination":
            stage = "chunks" if _CHUNK.search(call.at) else "neighbors"
        elif previous == "next_page":
            stage = assigned[-1]
        else:
            stage = "facts" if previous in (None, "read_neighbor_node") else "neighbors"
        assigned.append(stage)
        previous = call.name
    return assigned


EVIDENCE_KEPT = 20_000  # characters of evidence in a line; the scores use all of it

RATED_TOKENS = 32_000
"""The most tokens of a text for one rating of recall; a longer text is rated in pieces."""

_RATER_FAILED = "The rater failed: "


class Scorer:
    """The metrics of readings, and ratings if there is a `rater`, a decider.

    `rater_failure` is the error after which the evaluation must end, because ratings fail.
    """

    def __init__(self, rater: Decider | None = None) -> None:
        self.rater_failure: GraphReaderError | None = None
        self.rater = rater
        self._breaker = CircuitBreaker()

    async def score(
        self, record: Record, reading: Reading, context: QuestionContext
    ) -> dict[str, Any]:
        """Compute the figures of a reading of a record.

        If a rating fails its figure is null, with a note, and the text is kept in `unrated`.
        """
        figures = await asyncio.to_thread(_measure, record, reading, context)
        if self.rater is None:
            return figures | {"unrated": None}
        return (await self.rate(record, figures))[0]

    async def rate(self, record: Record, line: Line) -> tuple[dict[str, Any], Usage]:
        """Add the missing ratings to the line of a reading; return it with their cost."""
        assert self.rater is not None
        rated, usage = dict(line), Usage()
        answer = line["answer"] if line["answered"] else ""
        notes = [note for note in line["notes"] if not note.startswith(_RATER_FAILED)]
        sentences, documents = supporting_facts(record)
        facts = (*sentences, *documents)
        rated["unrated"] = dict(line["unrated"]) if facts else {}
        try:
            if record.answers and line["rating"] is None:
                rated["rating"], usage = await rate_answer(
                    self.rater, record.question, answer, record.answers
                )
            for name in list(rated["unrated"]):
                while name in rated["unrated"]:
                    usage += await self._rate_piece(record.question, facts, rated, name)
        except GraphReaderError as error:
            self.rater_failure = self._breaker.record_error(error) or self.rater_failure
            usage += error.spent if isinstance(error, DecisionError) else Usage()
            notes.append(f"{_RATER_FAILED}{error}")
        else:
            self._breaker.record_answer()
            rated["unrated"] = None
        rating_usage = asdict(Usage(**line["rating_usage"]) + usage)
        return rated | {"notes": notes, "rating_usage": rating_usage}, usage

    async def _rate_piece(
        self, question: str, facts: Sequence[str], rated: dict[str, Any], name: str
    ) -> Usage:
        """Rate the first piece of an unrated text, and remove the piece from the text.

        The first rating decides which facts are relevant; later pieces and texts are searched only
        for these.
        """
        assert self.rater is not None
        text, numbers = rated["unrated"][name], rated.get("relevant") or range(1, len(facts) + 1)
        end = next((end for _, end, _ in chunk_spans(text, RATED_TOKENS)), 0)
        shown = tuple(facts[number - 1] for number in numbers)
        rating = await self.rater.decide(RecallRatingTask(question, shown, text[:end]))
        relevant, covered = (
            {numbers[at - 1] for at in chosen}
            for chosen in (rating.decision.relevant, rating.decision.covered)
        )
        rated["relevant"] = rated.get("relevant") or sorted(relevant)
        covered |= set(rated[name].get("covered", ()))
        rated["unrated"][name] = text[end:]
        rated[name] = {**rated[name], "covered": sorted(covered)}
        if not text[end:].strip():
            del rated["unrated"][name], rated[name]["covered"]
            rated[name]["rated"] = [len(covered), len(rated["relevant"])]
        return rating.usage


def check_packages(records: Iterable[Record]) -> None:
    """Raise UsageError if a package is missing that the metrics of these records need."""
    rouge("a", ["a"], "en")
    for language in {one.language for one in records if one.keywords is not None}:
        f1_star("a", ["a"], "a", language)


def failed_figures(
    record: Record, error: GraphReaderError, context: QuestionContext
) -> dict[str, Any]:
    """Make the figures of a failed reading, which counts as unanswered."""
    usage = error.spent if isinstance(error, DecisionError) else Usage()
    reading = Reading(record.question, "", "", answered=False, corpus="", plan="", usage=usage)
    nothing = dict.fromkeys(("recall", "facts_recall", "chunk_recall", "unrated"))
    return _measure(record, reading, context) | nothing | {"error": str(error)}


def supporting_facts(record: Record) -> tuple[list[str], list[str]]:
    """Return (supporting sentences, texts of gold documents without a named sentence)."""
    sentences = [place.sentence for place in record.supporting if place.sentence]
    named = {place.document for place in record.supporting if place.sentence}
    documents = [record.documents[n].text for n in record.gold_documents if n not in named]
    return sentences, documents


def _measure(record: Record, reading: Reading, context: QuestionContext) -> dict[str, Any]:
    """Compute the figures of a reading that need no model; ratings are null."""
    evidence = {"recall": reading.evidence}
    if reading.facts_read:
        evidence["facts_recall"] = "\n".join(reading.facts_read)
    sentences, documents = supporting_facts(record)
    recalls: dict[str, Any] = {"recall": None, "facts_recall": None}
    for name, text in evidence.items():
        if recall := fact_recall(text, sentences, documents, record.language):
            recalls[name] = {"strings": [recall.covered, recall.relevant], "rated": None}
    cited = ((one.document_id, one.start, one.end) for one in reading.citations)
    chunks = context.texts(reading.passages_read)
    return {
        "answer": reading.answer,
        "answered": reading.answered,
        "documents_read": context.passages(reading.passages_read),
        "documents_cited": context.passages(cited),
        "tokens_read": reading.tokens_read,
        "usage": asdict(reading.usage),
        "seconds": reading.usage.seconds,
        **_answer_figures(record, reading.answer if reading.answered else ""),
        **recalls,
        "error": None,
        "chunk_recall": chunk_recall(chunks, sentences, record.language),
        "rating": None,
        "relevant": None,
        "unrated": evidence,
        "phases": {phase: asdict(usage) for phase, usage in reading.phases.items()},
        "paths": [_path_figures(one) for one in reading.paths] or None,
        "pages_looked_up": reading.pages_looked_up,
        "evidence": reading.evidence[:EVIDENCE_KEPT],
        "notes": list(reading.notes),
        "rating_usage": asdict(Usage()),
    }


def _answer_figures(record: Record, answer: str) -> dict[str, Any]:
    """Score an answer ("" if there is none); scores that do not apply are null."""
    references, language = record.answers, record.language
    names = ("em", "f1", "f1_star", "rouge", "choice", "items", "count")
    figures: dict[str, Any] = dict.fromkeys(names)
    if references:
        figures["em"] = exact_match(answer, references, language)
        figures["f1"] = f1(answer, references, language)
        figures["rouge"] = rouge(answer, references, language)
        if record.keywords is not None:
            figures["f1_star"] = f1_star(answer, references, record.keywords, language)
    if record.gold_option is not None:
        figures["choice"] = chosen_option(answer, record.options) == record.gold_option
    if record.items:
        figures["items"] = asdict(
            item_counts(answer, record.items, language, ordered=record.ordered)
        )
    if record.count is not None:
        figures["count"] = states_count(answer, record.count, record.question)
    return figures


def _path_figures(path: Path) -> dict[str, Any]:
    staged = zip(path.functions, stages(path.functions), strict=True)
    functions = [{"name": call.name, "stage": stage} for call, stage in staged]
    return {"calls": path.calls, "stopped": path.stopped, "functions": functions}
