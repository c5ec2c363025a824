"""What a ranking would have read in a reader's place: the best passages, until as much is read.

For each reading: the smallest k whose passages have as many tokens as the reading was shown. So
two ways to find evidence are compared that read equally much, and nothing is asked of a model.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from graphreader.baselines.retrieval import BM25, EmbeddingRanking, Ranking
from graphreader.baselines.session import TextPassage, passages_of
from graphreader.evaluation.datasets.record import Record
from graphreader.evaluation.plan import Group, Plan
from graphreader.evaluation.results import Key, corpus_of, documents_of, placed, places_of
from graphreader.evaluation.runner import Entry
from graphreader.files import Line, LinesFile
from graphreader.llm.protocols import Embedder

RANKINGS = ("bm25", "embedding")
_KEYS = ("dataset", "id", "length", "reader", "against", "model", "repeat")


@dataclass(frozen=True, slots=True)
class Equal:
    """The best `k` passages of a ranking, and how many tokens these have."""

    passages: tuple[TextPassage, ...]
    tokens: int

    @property
    def k(self) -> int:
        """How many passages it takes."""
        return len(self.passages)


def equal(ranked: Sequence[TextPassage], tokens: int) -> Equal:
    """The fewest best passages that have so many tokens together; all where they have fewer."""
    totals = list(accumulate((one.tokens for one in ranked), initial=0))
    k = next((place for place, total in enumerate(totals) if total >= tokens), len(ranked))
    return Equal(tuple(ranked[:k]), totals[k])


class EqualReading(LinesFile):
    """Ranks for what one reader has read; a file that has a line for each ranking and reading.

    What stands in the file already, about the same number of tokens, is not ranked again.
    """

    def __init__(self, path: Path, embedder: Embedder) -> None:
        super().__init__(path, frozenset((*_KEYS, "wanted")))
        self._embedder = embedder
        self._known: dict[tuple[Any, ...], int] = {}

    async def run(
        self,
        plan: Plan,
        entries: Sequence[Entry],
        read: Callable[[Key], int | None],
    ) -> None:
        """Rank for all readings of these; `read` tells the tokens of one, None where it failed."""
        for group in plan.groups:
            left = [
                (place, name, entry, tokens)
                for entry in entries
                for place, record in enumerate(group.records)
                if (tokens := read(entry.key(group, record))) is not None
                for name in RANKINGS
                if self._known.get(_key(name, entry, group, record)) != tokens
            ]
            if left:
                await self._rank(group, left)

    async def _rank(self, group: Group, left: Sequence[tuple[int, str, Entry, int]]) -> None:
        records = group.made()
        documents = documents_of(records[0], corpus_of(records[0]))
        places = places_of(documents)
        rankings: dict[tuple[str, int], Ranking] = {}
        for place, name, entry, tokens in left:
            size = entry.settings.chunk_tokens
            if (name, size) not in rankings:
                passages = passages_of(documents, size)
                made: Mapping[str, Ranking] = {
                    "bm25": BM25(passages),
                    "embedding": EmbeddingRanking(passages, self._embedder),
                }
                rankings.update({(kind, size): ranking for kind, ranking in made.items()})
            record = records[place]
            found = equal(await rankings[name, size].ranked(record.question), tokens)
            about = _key(name, entry, group, record)
            line = dict(zip(_KEYS, about, strict=True)) | {
                "documents_read": placed((one.document.id for one in found.passages), places),
                "tokens_read": found.tokens,
                "k": found.k,
                "wanted": tokens,
                "gold_documents": list(record.gold_documents),
            }
            self.append(line)

    def note(self, line: Line) -> None:
        """Remember what was ranked, and for how many tokens."""
        self._known[tuple(line[name] for name in _KEYS)] = line["wanted"]


def _key(ranking: str, entry: Entry, group: Group, record: Record) -> tuple[Any, ...]:
    about = entry.key(group, record)
    place = (about.dataset, about.id, about.length)
    return (*place, ranking, about.reader, about.model, about.repeat)
