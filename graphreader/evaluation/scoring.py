"""One reading becomes one line of figures: what was asked, found and spent, and how good it is.

Without a model everything is measured but what only a rater can say, which stands as null.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from graphreader.errors import DecisionError, ModelClosedError
from graphreader.evaluation.datasets import Record
from graphreader.evaluation.metrics.answers import exact_match, f1
from graphreader.evaluation.metrics.choices import accuracy
from graphreader.evaluation.metrics.evidence import chunk_recall, fact_recall
from graphreader.evaluation.metrics.lveval import f1_star
from graphreader.evaluation.metrics.rouge import rouge
from graphreader.evaluation.raters import Raters
from graphreader.evaluation.record_documents import placed
from graphreader.evaluation.stages import stages
from graphreader.reading import Path, Reading
from graphreader.tokens import count
from graphreader.usage import Usage

EVIDENCE_KEPT = 20_000
"""Characters of the evidence that a line keeps; all of it is measured."""


RATED_TOKENS = 32_000
"""Tokens of a text in which a rater looks for supporting facts, at most: each costs money."""

_TOO_LONG = "The evidence is too long to be rated: only its words were compared."


@dataclass(frozen=True, slots=True)
class Rated:
    """What raters say of a reading; nothing where none is asked."""

    verdict: str | None = None
    recalls: dict[str, list[int]] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    notes: tuple[str, ...] = ()


class Scorer:
    """Measures readings; with `raters`, a model is asked as well."""

    def __init__(self, raters: Raters | None = None) -> None:
        self._raters = raters

    def check(self, records: Sequence[Record]) -> None:
        """Raise UsageError where a package is missing that measuring these needs."""
        rouge("a", ["a"], "en")
        for language in {one.language for one in records if one.keywords}:
            f1_star("a", ["a"], "a", language)

    async def scored(
        self, record: Record, reading: Reading, places: Mapping[str, int]
    ) -> dict[str, Any]:
        """The figures of a reading. `places` says which document of the record an id means.

        A rater that fails leaves its figure null, with a note. Raises ModelClosedError where its
        service refuses every request.
        """
        rated = await self._rated(record, reading)
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
            "phases": {phase: asdict(usage) for phase, usage in reading.phases.items()},
            "paths": [_path(one) for one in reading.paths] or None,
            "pages_looked_up": reading.pages_looked_up,
            "evidence": reading.evidence[:EVIDENCE_KEPT],
            "notes": [*reading.notes, *rated.notes],
            "rating_usage": asdict(rated.usage),
        }

    async def _rated(self, record: Record, reading: Reading) -> Rated:
        raters = self._raters
        if raters is None:
            return Rated()
        rated = Rated()
        try:
            if record.answers:
                answer = reading.answer if reading.answered else ""
                found = await raters.rate(record.question, answer, record.answers)
                rated = replace(rated, verdict=found.verdict, usage=found.usage)
            facts = [fact for some in supporting_facts(record) for fact in some]
            for name, text in _evidence(reading).items() if facts else ():
                if count(text) > RATED_TOKENS:
                    rated = replace(rated, notes=(*rated.notes, _TOO_LONG))
                    continue
                recall = await raters.recall(record.question, facts, text)
                rated.recalls[name] = [recall.covered, recall.relevant]
                rated = replace(rated, usage=rated.usage + recall.usage)
        except ModelClosedError:
            raise
        except DecisionError as error:
            notes = (*rated.notes, f"The rater failed: {error}")
            return replace(rated, usage=rated.usage + error.spent, notes=notes)
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


def failed(error: str, spent: Usage) -> dict[str, Any]:
    """The figures of a reading that came to nothing: it counts as unanswered."""
    return {
        "answer": "",
        "answered": False,
        "em": 0.0,
        "f1": 0.0,
        "documents_read": [],
        "documents_cited": [],
        "tokens_read": 0,
        "usage": asdict(spent),
        "seconds": spent.seconds,
        "f1_star": None,
        "rouge": None,
        "choice": None,
        "rating": None,
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
    """What needs no model. Of a question without a known answer no answer is measured."""
    answer = reading.answer if reading.answered else ""
    references, language = record.answers, record.language
    return {
        "em": exact_match(answer, references, language) if references else None,
        "f1": f1(answer, references, language) if references else None,
        "f1_star": f1_star(answer, references, record.keywords, language)
        if record.keywords
        else None,
        "rouge": _rouge(answer, references, language) if references else None,
        "choice": _choice(record, answer),
        "facts_recall": None,
        **{name: _recall(record, text) for name, text in _evidence(reading).items()},
        "error": None,
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
