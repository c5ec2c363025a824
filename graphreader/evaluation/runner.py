"""The runner of an evaluation: every question to every reader, and rankings with equal tokens."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import accumulate, product
from pathlib import Path
from typing import Any

from graphreader.baselines.answering import Golden
from graphreader.baselines.retrieval import BM25, EmbeddingRanking, Ranking
from graphreader.baselines.session import TextPassage, passages_of
from graphreader.errors import GraphReaderError
from graphreader.evaluation.datasets.record import Record
from graphreader.evaluation.plan import EvaluationPlan, QuestionGroup
from graphreader.evaluation.readers import EvaluatedReader, PreparedReader
from graphreader.evaluation.results import (
    BuildingFile,
    QuestionContext,
    ReadingKey,
    ReadingsFile,
    corpus_of,
    record_digest,
)
from graphreader.evaluation.scoring import Scorer, failed_figures
from graphreader.files import Line, LinesFile
from graphreader.llm.protocols import Embedder
from graphreader.llm.retry import CircuitBreaker
from graphreader.settings import Settings
from graphreader.sync import bounded_gather
from graphreader.tokens import DEFAULT, count, encoding_for
from graphreader.usage import Usage


@dataclass(frozen=True, slots=True)
class Condition:
    """An experimental condition: a reader with its settings, in its n-th repetition (from 0)."""

    reader: EvaluatedReader
    settings: Settings
    repeat: int = 0

    @property
    def model(self) -> str:
        """The name of the model that explores and answers; two names if these are two models."""
        models = dict.fromkeys(self.settings.model_for(one) for one in ("explore", "answer"))
        return ", ".join(models)

    def records(self, group: QuestionGroup) -> list[Record]:
        """The records of a group to ask about; for golden only records that name evidence."""
        is_golden = self.reader.name == Golden.name
        return [one for one in group.records if one.supporting or not is_golden]

    def missing(self, group: QuestionGroup, file: ReadingsFile) -> list[Record]:
        """The records of a group without a reading in the file. Raises UsageError."""
        return [
            record
            for record in self.records(group)
            if not file.is_done(self.key(group, record), record_digest(record))
        ]

    def unrated(self, group: QuestionGroup, file: ReadingsFile) -> list[tuple[Record, Line]]:
        """The readings of a group that still need a rating, because a rater failed."""
        keys = ((record, self.key(group, record)) for record in self.records(group))
        return [(record, file.unrated[key]) for record, key in keys if key in file.unrated]

    def key(self, group: QuestionGroup, record: Record) -> ReadingKey:
        """The key of the reading of a record under this condition."""
        name = self.reader.name
        return ReadingKey(group.dataset, record.id, group.length, name, self.model, self.repeat)


class PreparedGroup:
    """A group of questions with its shared context, which takes about a second to build."""

    def __init__(self, group: QuestionGroup) -> None:
        self.group = group
        self.records = {record.id: record for record in group.build_contexts()}
        first = next(iter(self.records.values()))
        self.corpus = corpus_of(first)
        self.context = QuestionContext(first, group.contexts)

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """The tokens of the context, also in GPT-4's encoding, which the papers use."""
        encodings = {"record_tokens": DEFAULT, "gpt4_tokens": encoding_for("gpt-4")}
        documents = self.context.documents
        return {
            name: sum(count(one.text, encoding) for one in documents)
            for name, encoding in encodings.items()
        }


def line_of(
    condition: Condition,
    prepared: PreparedGroup,
    record: Record,
    reader: PreparedReader | None,
    built: Iterable[str],
    figures: Mapping[str, Any],
) -> dict[str, Any]:
    """Make a line of `readings.jsonl`; `reader` is None if it could not be prepared.

    `built` names the lines of `building.jsonl` that belong to the reading.
    """
    # The digest is of the record in its dataset: a longer context depends on the pool.
    original = next(one for one in prepared.group.records if one.id == record.id)
    return {
        **asdict(condition.key(prepared.group, record)),
        "window": condition.reader.window,
        "language": record.language,
        "kind": record.kind,
        "subset": record.subset,
        "question": record.question,
        "answerable": record.answerable,
        "digest": record_digest(original),
        "gold_documents": list(record.gold_documents),
        **prepared.sizes,
        "documents": len(record.documents),
        "contexts": prepared.group.contexts,
        "corpus": prepared.corpus,
        "built": list(built),
        "graph": reader.graph if reader else None,
        "compression": reader.compression if reader else None,
        **figures,
    }


class EvaluationRunner:
    """The runner of all questions that have no reading yet.

    Readers of one text run in turn, so that only one index is in memory.
    """

    def __init__(
        self,
        plan: EvaluationPlan,
        conditions: Sequence[Condition],
        file: ReadingsFile,
        building: BuildingFile,
        scorer: Scorer,
        *,
        concurrency: int,
        max_dollars: float | None = None,
    ) -> None:
        self.usage = Usage()
        self._plan = plan
        self._conditions = conditions
        self._file = file
        self._building = building
        self._scorer = scorer
        self._concurrency = concurrency
        self._max_dollars = max_dollars
        self._question_slots = asyncio.Semaphore(concurrency)
        # Datasets about the same documents share a graph: the first must not delete it.
        self._corpus_locks: dict[str, asyncio.Lock] = {}
        self._breaker = CircuitBreaker()
        self._stop: GraphReaderError | None = None

    async def run(self) -> None:
        """Ask the missing questions; a failure becomes a line. Raises an error that ends all."""
        await bounded_gather(self._plan.groups, self._run_group, self._concurrency)

    async def _run_group(self, group: QuestionGroup) -> None:
        missing = [
            (condition, condition.missing(group, self._file)) for condition in self._conditions
        ]
        missing = [(condition, records) for condition, records in missing if records]
        for condition in self._conditions if self._scorer.rater else ():
            unrated = condition.unrated(group, self._file)
            await bounded_gather(unrated, self._rate, self._concurrency)
        if not missing:
            return
        prepared = await asyncio.to_thread(PreparedGroup, group)
        async with self._corpus_locks.setdefault(prepared.corpus, asyncio.Lock()):
            for condition, records in missing:
                contexts = [prepared.records[record.id] for record in records]
                is_golden = (
                    condition.reader.name == Golden.name
                )  # it gets the evidence of one record
                for batch in [[one] for one in contexts] if is_golden else [contexts]:
                    await self._run_batch(condition, prepared, batch)
            for condition, _ in missing:
                await condition.reader.discard(prepared.context.documents)

    async def _rate(self, reading: tuple[Record, Line]) -> None:
        async with self._question_slots:
            self._raise_if_stopped()
            line, usage = await self._scorer.rate(*reading)
        self._keep(line, usage)

    async def _run_batch(
        self, condition: Condition, prepared: PreparedGroup, records: Sequence[Record]
    ) -> None:
        self._raise_if_stopped()
        built: dict[str, Usage] = {}
        async with AsyncExitStack() as stack:
            try:
                preparing = condition.reader.prepare(records[0], prepared.context.documents, built)
                reader = await stack.enter_async_context(preparing)
            except GraphReaderError as error:
                self._building.add(built, complete=False)
                self._stop_if_final(error)
                for record in records:
                    figures = failed_figures(record, error, prepared.context)
                    self._file.append(line_of(condition, prepared, record, None, built, figures))
                self._add_usage(sum(built.values(), Usage()))
                return
            except BaseException:  # the finished parts stay, so their cost is recorded
                self._building.add(built, complete=False)
                raise
            self._building.add(built, complete=True)
            self._add_usage(sum(built.values(), Usage()))

            async def ask(record: Record) -> None:
                figures, usage = await self._ask(record, prepared, reader)
                self._keep(line_of(condition, prepared, record, reader, built, figures), usage)

            await bounded_gather(records, ask, self._concurrency)

    async def _ask(
        self, record: Record, prepared: PreparedGroup, reader: PreparedReader
    ) -> tuple[dict[str, Any], Usage]:
        """Ask one question; return the figures of its reading, and the cost with its rating."""
        async with self._question_slots:
            self._raise_if_stopped()
            try:
                reading = await reader.reader.aask(record.question, options=record.options)
                if reading.failure:
                    raise reading.failure
                figures = await self._scorer.score(record, reading, prepared.context)
            except GraphReaderError as error:
                self._stop_if_final(error)
                figures = failed_figures(record, error, prepared.context)
            else:
                self._breaker.record_answer()
                if reading.compression is not None:
                    rate = {"final_query": reading.compression}
                    figures["compression"] = {**(reader.compression or {}), **rate}
        return figures, Usage(**figures["usage"]) + Usage(**figures["rating_usage"])

    def _keep(self, line: Line, usage: Usage) -> None:
        """Append a line before an error can end the evaluation, as its reading is paid for."""
        self._file.append(line)
        self._stop = self._scorer.rater_failure or self._stop
        self._add_usage(usage)

    def _add_usage(self, usage: Usage) -> None:
        self.usage += usage
        if self._max_dollars is not None and self.usage.dollars >= self._max_dollars:
            self._stop = GraphReaderError(
                f"${self.usage.dollars:,.2f} are spent, as much as --max-cost allows: for the "
                "rest, give the command again with more."
            )
        self._raise_if_stopped()

    def _stop_if_final(self, error: GraphReaderError) -> None:
        self._stop = self._breaker.record_error(error) or self._stop
        self._raise_if_stopped()

    def _raise_if_stopped(self) -> None:
        if self._stop:
            raise self._stop


_RANKINGS = ("bm25", "embedding")
_EQUAL_KEYS = ("dataset", "id", "length", "reader", "against", "model", "repeat")


def within_budget(ranked: Sequence[TextPassage], tokens: int) -> tuple[Sequence[TextPassage], int]:
    """Return the fewest best passages with at least `tokens` tokens, or all, and their tokens."""
    totals = list(accumulate((one.tokens for one in ranked), initial=0))
    k = next((k for k, total in enumerate(totals) if total >= tokens), len(ranked))
    return ranked[:k], totals[k]


class EqualBudgetFile(LinesFile):
    """The file `equal_reading.jsonl`: for each reading, rankings cut to its number of tokens."""

    def __init__(self, path: Path, embedder: Embedder) -> None:
        super().__init__(path, frozenset(_EQUAL_KEYS))
        self._embedder = embedder
        self._ranked: set[tuple[Any, ...]] = set()

    def note(self, line: Line) -> None:
        """Register a ranking, so that it is not made again."""
        self._ranked.add(tuple(line[name] for name in _EQUAL_KEYS))

    async def rank(
        self,
        plan: EvaluationPlan,
        conditions: Sequence[Condition],
        tokens_read: Mapping[ReadingKey, int],
    ) -> None:
        """Rank passages for all readings of the conditions; `tokens_read` lacks failed readings."""
        for group in plan.groups:
            keys = [
                condition.key(group, record)
                for condition, record in product(conditions, group.records)
            ]
            missing = [
                (key, equal_key)
                for key, ranking in product(keys, _RANKINGS)
                if key in tokens_read
                and tuple((equal_key := _equal_key(key, ranking)).values()) not in self._ranked
            ]
            if not missing:
                continue
            prepared = PreparedGroup(group)
            passages = passages_of(prepared.context.documents, conditions[0].settings.chunk_tokens)
            home = conditions[0].settings.home / "vectors"
            rankings: dict[str, Ranking] = {
                "bm25": BM25(passages),
                "embedding": EmbeddingRanking(passages, self._embedder, home),
            }
            for key, equal_key in missing:
                record = prepared.records[key.id]
                ranked = await rankings[equal_key["reader"]].ranked(record.question)
                best, total = within_budget(ranked, tokens_read[key])
                pieces = [(one.document.id, one.start, one.start + len(one.text)) for one in best]
                figures = {
                    "documents_read": prepared.context.passages(pieces),
                    "tokens_read": total,
                    "k": len(best),
                    "wanted": tokens_read[key],
                    "gold_documents": list(record.gold_documents),
                }
                self.append(equal_key | figures)


def _equal_key(key: ReadingKey, ranking: str) -> dict[str, Any]:
    values = {**asdict(key), "reader": ranking, "against": key.reader}
    return {name: values[name] for name in _EQUAL_KEYS}
