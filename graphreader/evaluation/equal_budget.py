"""Rankings that read as many tokens as a reader did: retrieval within an equal token budget.

For each reading the smallest k is taken whose k best passages have as many tokens as the reading
was shown. This compares two ways to find evidence at the same amount of text, and asks no model.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from graphreader.baselines.retrieval import BM25, EmbeddingRanking, Ranking
from graphreader.baselines.session import TextPassage, passages_of
from graphreader.evaluation.datasets.record import Record
from graphreader.evaluation.plan import Plan, QuestionGroup
from graphreader.evaluation.results import (
    ReadingKey,
    corpus_of,
    document_places,
    documents_of,
    record_places,
)
from graphreader.evaluation.runner import Arm
from graphreader.files import Line, LinesFile
from graphreader.llm.protocols import Embedder

RANKINGS = ("bm25", "embedding")
_KEYS = ("dataset", "id", "length", "reader", "against", "model", "repeat")


def within_budget(ranked: Sequence[TextPassage], tokens: int) -> tuple[Sequence[TextPassage], int]:
    """The fewest best passages that have so many tokens, or all, and the tokens they have."""
    totals = list(accumulate((one.tokens for one in ranked), initial=0))
    k = next((k for k, total in enumerate(totals) if total >= tokens), len(ranked))
    return ranked[:k], totals[k]


class EqualBudgetFile(LinesFile):
    """The file `equal_reading.jsonl`: a line for each ranking and each reading of one reader.

    A reading is ranked again only if it read another number of tokens since.
    """

    def __init__(self, path: Path, embedder: Embedder) -> None:
        super().__init__(path, frozenset((*_KEYS, "wanted")))
        self._embedder = embedder
        self._ranked: dict[tuple[Any, ...], int] = {}

    async def rank(
        self,
        plan: Plan,
        arms: Sequence[Arm],
        tokens_read: Callable[[ReadingKey], int | None],
    ) -> None:
        """Rank for all readings of these arms; `tokens_read` is None for a failed reading."""
        for group in plan.groups:
            missing = [
                (index, ranking, arm, tokens)
                for arm in arms
                for index, record in enumerate(group.records)
                if (tokens := tokens_read(arm.key(group, record))) is not None
                for ranking in RANKINGS
                if self._ranked.get(_key(ranking, arm, group, record)) != tokens
            ]
            if missing:
                await self._rank_group(group, missing)

    async def _rank_group(
        self, group: QuestionGroup, missing: Sequence[tuple[int, str, Arm, int]]
    ) -> None:
        records = group.build_contexts()
        documents = documents_of(records[0], corpus_of(records[0]))
        places = document_places(documents)
        rankings: dict[tuple[str, int], Ranking] = {}
        for index, name, arm, tokens in missing:
            size = arm.settings.chunk_tokens
            if (name, size) not in rankings:
                passages = passages_of(documents, size)
                rankings["bm25", size] = BM25(passages)
                rankings["embedding", size] = EmbeddingRanking(passages, self._embedder)
            record = records[index]
            ranked = await rankings[name, size].ranked(record.question)
            best, total = within_budget(ranked, tokens)
            line = dict(zip(_KEYS, _key(name, arm, group, record), strict=True)) | {
                "documents_read": record_places((one.document.id for one in best), places),
                "tokens_read": total,
                "k": len(best),
                "wanted": tokens,
                "gold_documents": list(record.gold_documents),
            }
            self.append(line)

    def note(self, line: Line) -> None:
        """Register the token budget of a line."""
        self._ranked[tuple(line[name] for name in _KEYS)] = line["wanted"]


def _key(ranking: str, arm: Arm, group: QuestionGroup, record: Record) -> tuple[Any, ...]:
    key = arm.key(group, record)
    return (key.dataset, key.id, key.length, ranking, key.reader, key.model, key.repeat)
