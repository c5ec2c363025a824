"""One reading becomes one line of figures: what was asked, found and spent, and how good it is.

Without a model everything is measured but what only a rater can say, which stands as null.

A language model as rater: LR-1 and LR-2 of answers, recall of supporting facts in evidence.

As both papers do it (GraphReader appendices B and E, ReadAgent section 4.1). The decider is that of
the raters' model; the papers ask it at temperature 0.1, which is set where its client is made.

At which stage of a path a function was called: atomic facts, chunks or neighbors (figures 9-11).

`next_page` and `termination` are functions of several stages; what stands around them tells which.

What a rater is asked: whether an answer is right, and how much of the evidence was found.

The raters of both papers (figures 13 and 14), and the one that counts supporting facts
(figure 19). Only a language model can tell: nothing here is decided offline.
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
from graphreader.evaluation.results import placed
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
    """What all raters have in common."""

    phase: ClassVar[Phase] = "rate"


@dataclass(frozen=True, slots=True)
class AgreementTask(RatingTask[D]):
    """An answer beside one reference. The question tells what both are about."""

    reply_tokens = 100
    question: str
    answer: str
    reference: str

    def values(self) -> Mapping[str, str]:
        """Question, answer and reference."""
        return {
            "question": self.question,
            "answer": self.answer,
            "reference": self.reference,
        }


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
        """Numbers that cannot be: 0 <= covered <= relevant <= all, and relevant is 1 at least."""
        every = len(self.supporting)
        if not 1 <= decision.relevant <= every:
            return f"relevant is {decision.relevant}: it must be between 1 and {every}."
        if not 0 <= decision.covered <= decision.relevant:
            return f"covered is {decision.covered}: it must be between 0 and {decision.relevant}."
        return None


Verdict = Literal["exact", "partial", "no"]


@dataclass(frozen=True, slots=True)
class Rating:
    """What both raters together say of an answer, and what asking them cost."""

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
    """What the rater counts in a text, and what asking it cost."""

    usage: Usage = field(default_factory=Usage)


class Raters:
    """Rates answers and evidence by asking the decider.

    Raises DecisionError where a rating cannot be had (its `spent` tells all that was paid for this
    answer), UsageError where the decider is no language model.
    """

    def __init__(self, decider: Decider) -> None:
        self._decider = decider

    async def rate(self, question: str, answer: str, references: Sequence[str]) -> Rating:
        """The best rating of the answer with any of the references, one after the other.

        Exact where one of the two raters says yes; partial where the strict one says no and the
        permissive one "partially"; else no. Nobody is asked what can change nothing any more: the
        permissive rater after a strict yes, further references after an exact match, and both about
        an answer without words, which is a no.
        """
        best, usage = Rating("no"), Usage()
        if not answer.strip():
            return best
        for reference in references:
            try:
                rating = await self._with(question, answer, reference)
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

        There must be a fact at least. `fact_wise` and `sample_wise` make the figures of table 6.
        """
        if not supporting:
            raise ValueError("There are no supporting facts to look for")
        task = RecallRatingTask(question, tuple(supporting), text)
        decided = await self._decider.decide(task)
        return RatedRecall(decided.decision.relevant, decided.decision.covered, decided.usage)

    async def _with(self, question: str, answer: str, reference: str) -> Rating:
        """The rating with this one reference."""
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

_AT_A_CHUNK = re.compile(r", chunk \d+$")
_TO_FACTS = (None, "read_neighbor_node")


def stages(functions: Sequence[FunctionCall]) -> list[Stage]:
    """The stage of each call of one path, in their order."""
    found: list[Stage] = []
    before: FunctionCall | None = None
    for call in functions:
        stage = OF_ONE_STAGE.get(call.name)
        if stage is None and call.name == "termination":
            stage = "chunks" if _AT_A_CHUNK.search(call.at) else "neighbors"
        if stage is None:
            stage = _of_page(before, found)
        found.append(stage)
        before = call
    return found


def _of_page(before: FunctionCall | None, found: Sequence[Stage]) -> Stage:
    """Where more was asked for: at the facts of a node just entered, else at its neighbors."""
    if before is not None and before.name == "next_page":
        return found[-1]
    entered = (before.name if before else None) in _TO_FACTS
    return "facts" if entered else "neighbors"


EVIDENCE_KEPT = 20_000
"""Characters of the evidence that a line keeps; all of it is measured."""

RATED_TOKENS = 32_000
"""Tokens of a text in which a rater looks for supporting facts, at most: each costs money."""

_TOO_LONG = "The evidence is too long to be rated: only its words were compared."
_FAILED = "The rater failed: "


@dataclass(frozen=True, slots=True)
class Rated:
    """What raters say of a reading; nothing where none is asked.

    `left` are the texts, by their figures' names, in which a rater that failed did not look; None
    where nothing is left to be rated.
    """

    verdict: str | None = None
    recalls: dict[str, list[int]] = field(default_factory=dict)
    left: Mapping[str, str] | None = None
    usage: Usage = field(default_factory=Usage)
    notes: tuple[str, ...] = ()


class Scorer:
    """Measures readings; with `raters`, a model is asked as well.

    `ended` is why these are of no more use: their service refuses every request, or is gone.
    """

    def __init__(self, raters: Raters | None = None) -> None:
        self._raters = raters
        self.ended: GraphReaderError | None = None
        self._patience = CircuitBreaker()

    @property
    def rates(self) -> bool:
        """Whether a model is asked."""
        return self._raters is not None

    def check(self, records: Sequence[Record]) -> None:
        """Raise UsageError where a package is missing that measuring these needs."""
        rouge("a", ["a"], "en")
        for language in {one.language for one in records if one.keywords is not None}:
            f1_star("a", ["a"], "a", language)

    async def scored(
        self, record: Record, reading: Reading, places: Mapping[str, int]
    ) -> dict[str, Any]:
        """The figures of a reading. `places` says which document of the record an id means.

        A rater that fails leaves its figure null, with a note, and in `unrated` what it was to look
        at.
        """
        answer = reading.answer if reading.answered else ""
        rated = await self._rated(record, answer, _evidence(reading))
        measured = await asyncio.to_thread(_measured, record, reading)
        measured["chunk_recall"] = _chunk_recall(record, reading, places)
        for name, counted in rated.recalls.items():
            measured[name]["rated"] = counted
        cited = (citation.document_id for citation in reading.citations)
        return {
            "answer": reading.answer,
            "answered": reading.answered,
            "documents_read": placed(reading.documents_read, places),
            "documents_cited": placed(cited, places),
            "tokens_read": reading.tokens_read,
            "usage": asdict(reading.usage),
            "seconds": reading.usage.seconds,
            **measured,
            "rating": rated.verdict,
            "unrated": rated.left,
            "phases": {phase: asdict(usage) for phase, usage in reading.phases.items()},
            "paths": [_path(one) for one in reading.paths] or None,
            "pages_looked_up": reading.pages_looked_up,
            "evidence": reading.evidence[:EVIDENCE_KEPT],
            "notes": [*reading.notes, *rated.notes],
            "rating_usage": asdict(rated.usage),
        }

    async def rated_again(self, record: Record, line: Line) -> tuple[dict[str, Any], Usage]:
        """The line of a reading with what raters that failed left open, and what that cost now.

        Nothing is asked of the reader again, and of the raters only what they did not say yet.
        """
        answer = line["answer"] if line["answered"] else ""
        rated = await self._rated(record, answer, line["unrated"], line["rating"])
        recalls = {name: {**line[name], "rated": two} for name, two in rated.recalls.items()}
        told = [note for note in line["notes"] if not note.startswith(_FAILED)]
        figures = {
            "rating": rated.verdict,
            "unrated": rated.left,
            "notes": [*told, *rated.notes],
            "rating_usage": asdict(Usage(**line["rating_usage"]) + rated.usage),
        }
        return {**line, **recalls, **figures}, rated.usage

    async def _rated(
        self, record: Record, answer: str, texts: Mapping[str, str], verdict: str | None = None
    ) -> Rated:
        """The answer rated, unless there is a verdict, and then each text."""
        raters, rated = self._raters, Rated(verdict)
        if raters is None:
            return rated
        facts = [fact for some in supporting_facts(record) for fact in some]
        left = dict(texts) if facts else {}
        try:
            if record.answers and record.answerable and verdict is None:
                found = await raters.rate(record.question, answer, record.answers)
                rated = replace(rated, verdict=found.verdict, usage=found.usage)
            for name, text in list(left.items()):
                if count(text) > RATED_TOKENS:
                    rated = replace(rated, notes=(*rated.notes, _TOO_LONG))
                else:
                    recall = await raters.recall(record.question, facts, text)
                    rated.recalls[name] = [recall.covered, recall.relevant]
                    rated = replace(rated, usage=rated.usage + recall.usage)
                del left[name]
        except DecisionError as error:
            self.ended = self._patience.after(error) or self.ended
            notes = (*rated.notes, f"{_FAILED}{error}")
            return replace(rated, usage=rated.usage + error.spent, notes=notes, left=left)
        self._patience.answered()
        return rated


def supporting_facts(record: Record) -> tuple[list[str], list[str]]:
    """The supporting facts in words: sentences, and whole documents of which none is named."""
    sentences = [place.sentence for place in record.supporting if place.sentence]
    named = {place.document for place in record.supporting if place.sentence}
    documents = [record.documents[n].text for n in record.gold_documents if n not in named]
    return sentences, documents


def _chunk_recall(record: Record, reading: Reading, places: Mapping[str, int]) -> float | None:
    """The share of the supporting sentences that stand in what was shown in full."""
    chunks = [
        record.documents[places[id_]].text[start:end] for id_, start, end in reading.passages_read
    ]
    return chunk_recall(chunks, supporting_facts(record)[0], record.language)


def failed(record: Record, error: str, spent: Usage) -> dict[str, Any]:
    """The figures of a reading that came to nothing: it counts as unanswered."""
    return {
        "answer": "",
        "answered": False,
        **_of_answer(record, None),
        "documents_read": [],
        "documents_cited": [],
        "tokens_read": 0,
        "usage": asdict(spent),
        "seconds": spent.seconds,
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


def _measured(record: Record, reading: Reading) -> dict[str, Any]:
    """What needs no model."""
    return {
        **_of_answer(record, reading.answer if reading.answered else ""),
        "facts_recall": None,
        **{name: _recall(record, text) for name, text in _evidence(reading).items()},
        "error": None,
    }


def _of_answer(record: Record, answer: str | None) -> dict[str, Any]:
    """How good an answer is, empty where none was given, None where the reading failed.

    It is null of a question whose answer is not known. Of one that cannot be answered EM and F1
    are 1 where that was found, else 0. `choice` is null of a question without options, and of no
    other.
    """
    references, language = record.answers, record.language
    if not record.answerable:
        right = float(answer == "")
        return {"em": right, "f1": right, "f1_star": None, "rouge": None, "choice": None}
    given = answer or ""
    keywords = record.keywords
    starred = references and keywords is not None
    return {
        "em": exact_match(given, references, language) if references else None,
        "f1": f1(given, references, language) if references else None,
        "f1_star": f1_star(given, references, keywords, language) if starred else None,
        "rouge": _rouge(given, references, language) if references else None,
        "choice": _choice(record, given),
    }


def _evidence(reading: Reading) -> dict[str, str]:
    """The texts in which supporting facts are looked for (table 6)."""
    facts = {"facts_recall": "\n".join(reading.facts_read)} if reading.facts_read else {}
    return {"recall": reading.evidence, **facts}


def _rouge(answer: str, references: Sequence[str], language: str) -> dict[str, float]:
    found = rouge(answer, references, language)
    return {"1": found.rouge1, "2": found.rouge2, "L": found.rouge_l}


def _choice(record: Record, answer: str) -> bool | None:
    if not record.options or record.gold_option is None:
        return None
    return accuracy(answer, record.options, record.gold_option) == 1


def _recall(record: Record, evidence: str) -> dict[str, Any] | None:
    """Covered facts and all of them, as the text says them; null where none are known."""
    found = fact_recall(evidence, *supporting_facts(record), record.language)
    return None if found is None else {"strings": [found.covered, found.relevant], "rated": None}


def _path(path: Path) -> dict[str, Any]:
    staged = zip(path.functions, stages(path.functions), strict=True)
    functions = [{"name": function.name, "stage": stage} for function, stage in staged]
    return {"calls": path.calls, "stopped": path.stopped, "functions": functions}
