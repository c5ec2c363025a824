"""Scoring a reading: metrics without a model, and a language model as rater.

The raters are those of both papers: LR-1 and LR-2 of answers (GraphReader figures 13 and 14,
ReadAgent section 4.1) and the recall of supporting facts in the evidence (figure 19, table 6).
Only a language model can rate; without raters their figures are null. Each function call of a path
is assigned to its stage: atomic facts, chunks or neighbors (figures 9-11).
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, Literal

from pydantic import Field

from graphreader.errors import DecisionError, GraphReaderError
from graphreader.evaluation.datasets.record import Record
from graphreader.evaluation.metrics.answers import accuracy, exact_match, f1, f1_star, rouge
from graphreader.evaluation.metrics.evidence import FactRecall, chunk_recall, fact_recall
from graphreader.evaluation.results import record_places
from graphreader.files import Line
from graphreader.llm.protocols import D, Decider, Decision, Task, names
from graphreader.llm.retry import CircuitBreaker
from graphreader.reading import FunctionCall, Path, Reading
from graphreader.tokens import count
from graphreader.usage import Phase, Usage


class StrictRating(Decision):
    """Whether an answer agrees with the reference (figure 13)."""

    agrees: Literal["yes", "no"] = Field(description="Whether the answers agree.")


class PermissiveRating(Decision):
    """Whether an answer agrees with the reference, if only in part (figure 14)."""

    agrees: Literal["yes", "partially", "no"] = Field(
        description="yes, partially (as soon as they overlap at all), or no."
    )


class RecallRating(Decision):
    """How many of the supporting facts that matter a text covers (figure 19)."""

    analysis: str = Field(
        description="Fact by fact: whether the question needs it, and whether the text covers it."
    )
    relevant: int = Field(
        description="How many of the listed facts are needed to answer: 1 at least."
    )
    covered: int = Field(description="How many of the needed facts the text covers.")


@dataclass(frozen=True, slots=True)
class RatingTask(Task[D]):
    """A decision of the raters."""

    phase: ClassVar[Phase] = "rate"


@dataclass(frozen=True, slots=True)
class AgreementTask(RatingTask[D]):
    """Compare an answer with one reference answer to the question."""

    reply_tokens = 100
    question: str
    answer: str
    reference: str

    def values(self) -> Mapping[str, str]:
        """Question, answer and reference."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class StrictRatingTask(AgreementTask[StrictRating]):
    """Say whether the answer agrees with the reference (figure 13)."""

    prompt = "rate_strictly"
    decision = StrictRating


@dataclass(frozen=True, slots=True)
class PermissiveRatingTask(AgreementTask[PermissiveRating]):
    """Say whether it agrees in full, in part or not at all (figure 14)."""

    prompt = "rate_permissively"
    decision = PermissiveRating


@dataclass(frozen=True, slots=True)
class RecallRatingTask(RatingTask[RecallRating]):
    """Count the supporting facts that matter, and those that the text covers (figure 19)."""

    prompt = "rate_recall"
    decision = RecallRating
    reply_tokens = 1000
    question: str
    supporting: tuple[str, ...]
    text: str

    def values(self) -> Mapping[str, str]:
        """Question, numbered supporting facts and the text."""
        return {
            "question": self.question,
            "facts": names(self.supporting),
            "text": self.text or "(empty)",
        }

    def problem(self, decision: RecallRating) -> str | None:
        """What contradicts 0 <= covered <= relevant <= all facts, and relevant >= 1; else None."""
        every = len(self.supporting)
        if not 1 <= decision.relevant <= every:
            return f"relevant is {decision.relevant}: it must be between 1 and {every}."
        if not 0 <= decision.covered <= decision.relevant:
            return f"covered is {decision.covered}: it must be between 0 and {decision.relevant}."
        return None


Verdict = Literal["exact", "partial", "no"]


@dataclass(frozen=True, slots=True)
class Rating:
    """The verdict of both raters together, and the cost of asking them."""

    verdict: Verdict
    usage: Usage = field(default_factory=Usage)

    @property
    def lr1(self) -> float:
        """1 where the answer agrees exactly. Its mean over the questions is LLM-Rating-1."""
        return float(self.verdict == "exact")

    @property
    def lr2(self) -> float:
        """1 where it agrees exactly or in part. Its mean over the questions is LLM-Rating-2."""
        return float(self.verdict != "no")


@dataclass(frozen=True, slots=True)
class RatedRecall(FactRecall):
    """The supporting facts that a rater counts in a text, and the cost of asking it."""

    usage: Usage = field(default_factory=Usage)


class Raters:
    """Rates answers and evidence by asking the decider of the raters' model.

    Raises DecisionError if a rating fails (its `spent` is the cost of all ratings of this answer)
    and UsageError if the decider is no language model.
    """

    def __init__(self, decider: Decider) -> None:
        self._decider = decider

    async def rate(self, question: str, answer: str, references: Sequence[str]) -> Rating:
        """The best rating of the answer against any of the references.

        It is exact if one of the two raters says yes, partial if the strict one says no and the
        permissive one "partially", else no. A rater is not asked if its reply could change nothing:
        after a strict yes, after an exact match, and about an empty answer, which is a no.
        """
        best, usage = Rating("no"), Usage()
        if not answer.strip():
            return best
        for reference in references:
            try:
                rating = await self._rate_against(question, answer, reference)
            except DecisionError as error:
                error.spent += usage
                raise
            usage += rating.usage
            best = max(best, rating, key=lambda one: one.lr1 + one.lr2)
            if best.verdict == "exact":
                break
        return Rating(best.verdict, usage)

    async def recall(self, question: str, supporting: Sequence[str], text: str) -> RatedRecall:
        """How many of the supporting facts the question needs, and how many the text covers.

        Raises ValueError without any supporting fact.
        """
        if not supporting:
            raise ValueError("There are no supporting facts to look for")
        task = RecallRatingTask(question, tuple(supporting), text)
        result = await self._decider.decide(task)
        return RatedRecall(result.decision.relevant, result.decision.covered, result.usage)

    async def _rate_against(self, question: str, answer: str, reference: str) -> Rating:
        """The rating of the answer against one reference."""
        strict = await self._decider.decide(StrictRatingTask(question, answer, reference))
        if strict.decision.agrees == "yes":
            return Rating("exact", strict.usage)
        try:
            permissive = await self._decider.decide(
                PermissiveRatingTask(question, answer, reference)
            )
        except DecisionError as error:
            error.spent += strict.usage
            raise
        verdicts: dict[str, Verdict] = {"yes": "exact", "partially": "partial", "no": "no"}
        usage = strict.usage + permissive.usage
        return Rating(verdicts[permissive.decision.agrees], usage)


Stage = Literal["facts", "chunks", "neighbors"]
STAGES: tuple[Stage, ...] = ("facts", "chunks", "neighbors")

OF_ONE_STAGE: dict[str, Stage] = {
    "read_chunk": "facts",
    "stop_and_read_neighbor": "facts",
    "search_more": "chunks",
    "read_previous_chunk": "chunks",
    "read_subsequent_chunk": "chunks",
    "read_neighbor_node": "neighbors",
}
"""The functions that belong to one stage; `next_page` and `termination` belong to several."""

_CHUNK = re.compile(r", chunk \d+$")


def stages(functions: Sequence[FunctionCall]) -> list[Stage]:
    """The stage of each call of one path, in their order.

    A `termination` at a chunk belongs to the chunks, another one to the neighbors. A `next_page`
    belongs to the facts of a node that the path has just entered, else to its neighbors.
    """
    assigned: list[Stage] = []
    previous: str | None = None
    for call in functions:
        if call.name in OF_ONE_STAGE:
            stage = OF_ONE_STAGE[call.name]
        elif call.name == "termination":
            stage = "chunks" if _CHUNK.search(call.at) else "neighbors"
        elif previous == "next_page":
            stage = assigned[-1]
        else:
            stage = "facts" if previous in (None, "read_neighbor_node") else "neighbors"
        assigned.append(stage)
        previous = call.name
    return assigned


EVIDENCE_KEPT = 20_000
"""Characters of the evidence that a line keeps; all of it is measured."""

RATED_TOKENS = 32_000
"""The most tokens of a text in which a rater looks for supporting facts, as each costs money."""

_TOO_LONG = "The evidence is too long to be rated: only its words were compared."
_RATER_FAILED = "The rater failed: "


@dataclass(frozen=True, slots=True)
class RaterFigures:
    """The raters' figures of a reading; empty without raters.

    `recalls` are covered and relevant facts by the name of the figure. `unrated` are the texts, by
    the same names, in which a rater that failed did not look; None if nothing is left to be rated.
    """

    verdict: str | None = None
    recalls: dict[str, list[int]] = field(default_factory=dict)
    unrated: Mapping[str, str] | None = None
    usage: Usage = field(default_factory=Usage)
    notes: tuple[str, ...] = ()


class Scorer:
    """Measures readings; with `raters`, a model rates them as well.

    `rater_failure` is the error that makes further ratings useless: the raters' service refuses
    every request or stays unavailable.
    """

    def __init__(self, raters: Raters | None = None) -> None:
        self._raters = raters
        self.rater_failure: GraphReaderError | None = None
        self._breaker = CircuitBreaker()

    @property
    def has_raters(self) -> bool:
        """Whether a model rates readings."""
        return self._raters is not None

    def check(self, records: Sequence[Record]) -> None:
        """Raise UsageError if a package is missing that measuring these records needs."""
        rouge("a", ["a"], "en")
        for language in {one.language for one in records if one.keywords is not None}:
            f1_star("a", ["a"], "a", language)

    async def score(
        self, record: Record, reading: Reading, places: Mapping[str, int]
    ) -> dict[str, Any]:
        """The figures of a reading; `places` are the documents' indexes in the record by their ids.

        A rater that fails leaves its figure null, with a note and the text in `unrated`.
        """
        answer = reading.answer if reading.answered else ""
        rated = await self._rate(record, answer, _evidence(reading))
        measured = await asyncio.to_thread(_measured_figures, record, reading)
        for name, counts in rated.recalls.items():
            measured[name]["rated"] = counts
        cited = (citation.document_id for citation in reading.citations)
        return {
            "answer": reading.answer,
            "answered": reading.answered,
            "documents_read": record_places(reading.documents_read, places),
            "documents_cited": record_places(cited, places),
            "tokens_read": reading.tokens_read,
            "usage": asdict(reading.usage),
            "seconds": reading.usage.seconds,
            **measured,
            "chunk_recall": _chunk_recall(record, reading, places),
            "rating": rated.verdict,
            "unrated": rated.unrated,
            "phases": {phase: asdict(usage) for phase, usage in reading.phases.items()},
            "paths": [_path_figures(one) for one in reading.paths] or None,
            "pages_looked_up": reading.pages_looked_up,
            "evidence": reading.evidence[:EVIDENCE_KEPT],
            "notes": [*reading.notes, *rated.notes],
            "rating_usage": asdict(rated.usage),
        }

    async def rate_again(self, record: Record, line: Line) -> tuple[dict[str, Any], Usage]:
        """The line of a reading with the ratings that it lacked, and the cost of these now.

        The reader is not asked again, and the raters only what they have not rated yet.
        """
        answer = line["answer"] if line["answered"] else ""
        rated = await self._rate(record, answer, line["unrated"], line["rating"])
        recalls = {name: {**line[name], "rated": two} for name, two in rated.recalls.items()}
        notes = [note for note in line["notes"] if not note.startswith(_RATER_FAILED)]
        figures = {
            "rating": rated.verdict,
            "unrated": rated.unrated,
            "notes": [*notes, *rated.notes],
            "rating_usage": asdict(Usage(**line["rating_usage"]) + rated.usage),
        }
        return {**line, **recalls, **figures}, rated.usage

    async def _rate(
        self, record: Record, answer: str, texts: Mapping[str, str], verdict: str | None = None
    ) -> RaterFigures:
        """Rate the answer, unless there is a verdict, and then each text."""
        raters, rated = self._raters, RaterFigures(verdict)
        if raters is None:
            return rated
        facts = [fact for some in supporting_facts(record) for fact in some]
        unrated = dict(texts) if facts else {}
        try:
            if record.answers and record.answerable and verdict is None:
                rating = await raters.rate(record.question, answer, record.answers)
                rated = replace(rated, verdict=rating.verdict, usage=rating.usage)
            for name, text in list(unrated.items()):
                if count(text) > RATED_TOKENS:
                    rated = replace(rated, notes=(*rated.notes, _TOO_LONG))
                else:
                    recall = await raters.recall(record.question, facts, text)
                    rated.recalls[name] = [recall.covered, recall.relevant]
                    rated = replace(rated, usage=rated.usage + recall.usage)
                del unrated[name]
        except DecisionError as error:
            self.rater_failure = self._breaker.record_error(error) or self.rater_failure
            notes = (*rated.notes, f"{_RATER_FAILED}{error}")
            return replace(rated, usage=rated.usage + error.spent, notes=notes, unrated=unrated)
        self._breaker.record_answer()
        return rated


def failed_figures(record: Record, error: str, usage: Usage) -> dict[str, Any]:
    """The figures of a reading that failed: it counts as unanswered."""
    return {
        "answer": "",
        "answered": False,
        **_answer_figures(record, None),
        "documents_read": [],
        "documents_cited": [],
        "tokens_read": 0,
        "usage": asdict(usage),
        "seconds": usage.seconds,
        "rating": None,
        "unrated": None,
        "recall": None,
        "facts_recall": None,
        "chunk_recall": None,
        "phases": {},
        "paths": None,
        "pages_looked_up": None,
        "evidence": "",
        "error": error,
        "notes": [],
        "rating_usage": asdict(Usage()),
    }


def supporting_facts(record: Record) -> tuple[list[str], list[str]]:
    """The supporting sentences, and the gold documents of which no sentence is named."""
    sentences = [place.sentence for place in record.supporting if place.sentence]
    named = {place.document for place in record.supporting if place.sentence}
    documents = [record.documents[n].text for n in record.gold_documents if n not in named]
    return sentences, documents


def _measured_figures(record: Record, reading: Reading) -> dict[str, Any]:
    """The figures that need no model."""
    return {
        **_answer_figures(record, reading.answer if reading.answered else ""),
        "facts_recall": None,
        **{name: _fact_recall(record, text) for name, text in _evidence(reading).items()},
        "error": None,
    }


def _answer_figures(record: Record, answer: str | None) -> dict[str, Any]:
    """How good an answer is: an empty text if none was given, None if the reading failed.

    All is null for a question without a known answer. For a question that cannot be answered, EM
    and F1 are 1 for an empty answer, else 0. `choice` is null for a question without options.
    """
    references, language = record.answers, record.language
    if not record.answerable:
        right = float(answer == "")
        return {"em": right, "f1": right, "f1_star": None, "rouge": None, "choice": None}
    text, keywords = answer or "", record.keywords
    figures: dict[str, Any] = dict.fromkeys(("em", "f1", "f1_star", "rouge", "choice"))
    if references:
        scores = rouge(text, references, language)
        figures["em"] = exact_match(text, references, language)
        figures["f1"] = f1(text, references, language)
        figures["rouge"] = {"1": scores.rouge1, "2": scores.rouge2, "L": scores.rouge_l}
        if keywords is not None:
            figures["f1_star"] = f1_star(text, references, keywords, language)
    if record.options and record.gold_option is not None:
        figures["choice"] = accuracy(text, record.options, record.gold_option) == 1
    return figures


def _evidence(reading: Reading) -> dict[str, str]:
    """The texts in which supporting facts are looked for, by the figure's name (table 6)."""
    facts = {"facts_recall": "\n".join(reading.facts_read)} if reading.facts_read else {}
    return {"recall": reading.evidence, **facts}


def _fact_recall(record: Record, evidence: str) -> dict[str, Any] | None:
    """The supporting facts that a text contains, and all of them; None if none are known."""
    recall = fact_recall(evidence, *supporting_facts(record), record.language)
    if recall is None:
        return None
    return {"strings": [recall.covered, recall.relevant], "rated": None}


def _chunk_recall(record: Record, reading: Reading, places: Mapping[str, int]) -> float | None:
    """The share of the supporting sentences within the passages that were shown in full."""
    chunks = [
        record.documents[places[id_]].text[start:end] for id_, start, end in reading.passages_read
    ]
    return chunk_recall(chunks, supporting_facts(record)[0], record.language)


def _path_figures(path: Path) -> dict[str, Any]:
    staged = zip(path.functions, stages(path.functions), strict=True)
    functions = [{"name": function.name, "stage": stage} for function, stage in staged]
    return {"calls": path.calls, "stopped": path.stopped, "functions": functions}
