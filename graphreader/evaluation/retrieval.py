"""The evaluation of retrieval alone: one corpus of all texts, and no model is asked.

Each question is searched as mode `adaptive` does first. Recall at k is the share of the evidence in
the first k chunks; all-gold at k is the share of questions with all of it there. HippoRAG (arXiv
2405.14831) and GRASP (arXiv 2605.16598) report these.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar, cast

from graphreader.documents import Chunk, Document, identity
from graphreader.errors import DatasetError, EmbeddingMismatchError
from graphreader.evaluation.datasets.load import load, read_rows
from graphreader.evaluation.datasets.record import Record, SourceText
from graphreader.evaluation.plan import Pool
from graphreader.evaluation.readers import SourceDocument
from graphreader.graph_reader import GraphReader
from graphreader.ingestion.extraction import ExtractedFact, Extraction, ExtractionTask
from graphreader.ingestion.loading.content import from_text, is_blank
from graphreader.ingestion.report import Progress, no_progress
from graphreader.llm.protocols import Budget, Decision, DecisionResult, Task, TokenCallback, folded
from graphreader.offline.decider import OfflineDecider
from graphreader.settings import OFFLINE, Settings
from graphreader.store.catalog import Catalog
from graphreader.usage import Usage

D = TypeVar("D", bound=Decision)
RANKS = (2, 5, 7, 20)
"""The numbers of first chunks in which the evidence is counted."""


class StoredFacts(OfflineDecider):
    """The offline decider with the facts of a file for the passages of that file.

    A line is {"title": "...", "text": "...", "facts": [{"fact": "...", "key_elements": [...]}]}, or
    has "triples" instead, as HippoRAG stores them: subject and object are the key elements.
    """

    def __init__(self, path: Path | None = None) -> None:
        super().__init__()
        self.passages: list[SourceText] = []
        self._extractions: dict[str, Extraction] = {}
        for row in read_rows(path) if path else ():
            facts = [
                (one.text("fact"), one.get("key_elements", list[str])) for one in row.rows("facts")
            ]
            facts += [
                (" ".join(triple), [triple[0], triple[2]])
                for triple in row.get("triples", list[list[str]], [])
                if len(triple) == 3
            ]
            extracted = [ExtractedFact(fact=text, key_elements=names) for text, names in facts]
            self.passages.append(SourceText(row.optional_text("title"), row.text("text")))
            self._extractions[folded(row.text("text"))] = Extraction(facts=extracted, summary="")

    @property
    def digest(self) -> str:
        """A hash of all facts."""
        return sha256(repr(self._extractions).encode("utf-8", "replace")).hexdigest()[:8]

    async def decide(
        self, task: Task[D], budget: Budget | None = None, on_token: TokenCallback | None = None
    ) -> DecisionResult[D]:
        """Return the facts of the file for a text of it; decide all else by rule."""
        if isinstance(task, ExtractionTask) and folded(task.text) in self._extractions:
            stored = cast(D, self._extractions[folded(task.text)])
            return DecisionResult(stored, cast(Task[D], task), Usage(calls=1))
        return await super().decide(task, budget, on_token)


@dataclass(frozen=True, slots=True)
class RetrievalFigures:
    """The means over the questions of a dataset that name evidence, by numbers of chunks."""

    dataset: str
    questions: int
    recall: Mapping[int, float]
    all_gold: Mapping[int, float]

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class EvidenceSpan:
    """A piece of evidence: characters `start` to `end` of the document with this source."""

    source: str
    start: int
    end: int

    def is_in(self, chunk: Chunk) -> bool:
        """Whether a chunk has a part of it."""
        overlaps = chunk.start < self.end and self.start < chunk.end
        return overlaps and chunk.source == self.source


class Library:
    """The documents of records and passages; equal texts with one title are one document."""

    def __init__(self) -> None:
        self.documents: dict[str, Document] = {}

    def add(self, text: SourceText) -> Document | None:
        """Add a text unless it is blank, and return its document."""
        if is_blank(text.text):
            return None
        source = identity(text.title, text.text)
        document = from_text(text.text, text.title or source, "evaluation", source)
        return self.documents.setdefault(source, document)

    def evidence(self, record: Record) -> set[EvidenceSpan]:
        """Add a record's documents, and return its evidence, as far as it is found verbatim."""
        documents = [self.add(one) for one in record.documents]
        places = set()
        for one in record.supporting:
            document = documents[one.document]
            start = document.text.find(one.sentence) if document else -1
            if document and start >= 0:
                length = len(one.sentence) or len(document.text)
                places.add(EvidenceSpan(document.source, start, start + length))
        return places


class RetrievalEvaluation:
    """The retrieval of the evidence of questions from one corpus of all their texts.

    The corpus also has the passages of a `pool` and of `facts`, whose facts it gets; the facts of
    other texts are their sentences. Raises DatasetError for questions without evidence.
    """

    def __init__(
        self,
        settings: Settings,
        sources: Sequence[str],
        *,
        limit: int | None = None,
        pool: str | None = None,
        facts: str | None = None,
    ) -> None:
        self._settings = settings
        self._decider = StoredFacts(Path(facts).expanduser() if facts else None)
        library = Library()
        records = [record for source in sources for record in load(source, limit=limit)]
        self._evidence = [(one, library.evidence(one)) for one in records if one.answerable]
        pooled = Pool.read(Path(pool).expanduser()).texts if pool else ()
        for passage in (*self._decider.passages, *pooled):
            library.add(passage)
        if not any(places for _, places in self._evidence):
            raise DatasetError("No question of the data names evidence that is in its texts.")
        self._documents = library.documents

    @property
    def corpus(self) -> str:
        """The name of the corpus, which follows from the texts, their facts and the vectors."""
        made = self._decider.digest, self._settings.chosen_embeddings, self._settings.chunk_tokens
        return f"evaluation-{identity(*map(str, made), *sorted(self._documents))}"

    async def run(self, progress: Progress = no_progress) -> list[RetrievalFigures]:
        """Read the texts in, unless the graph has them, and search for each question.

        The corpus is deleted afterwards, unless it has vectors of a model, which cost.
        """
        reader = GraphReader(self.corpus, settings=self._settings, decider=self._decider)
        try:
            await reader.aingest(
                *(
                    SourceDocument(one.text, {"title": one.title}, one.source)
                    for one in self._documents.values()
                ),
                progress=progress,
            )
            ranks = [
                (record.dataset, await _ranks(reader, record.question, places))
                for record, places in self._evidence
                if places
            ]
            if self._settings.chosen_embeddings == OFFLINE:
                await reader.adelete(everything=True)
        finally:
            await reader.aclose()
        names = dict.fromkeys(name for name, _ in ranks)
        return [_figures(name, [own for one, own in ranks if one == name]) for name in names]


async def _ranks(reader: GraphReader, question: str, places: Iterable[EvidenceSpan]) -> list[int]:
    """Search for a question; return for each place the rank of the first chunk with a part of it.

    The rank of a place that is in none is larger than all others.
    """
    resources = reader.resources
    explorer = await resources.explorer(reader.corpus)
    record = await Catalog(explorer.connection).corpus(reader.corpus)
    vectors = None
    with suppress(EmbeddingMismatchError):
        vectors = await resources.query_vectors(reader.corpus, record).vectors([question])
    [found] = await explorer.search([question], max(RANKS), vectors)
    chunks = [hit.item.chunk for hit in found.hits]
    return [
        next((rank for rank, one in enumerate(chunks, 1) if place.is_in(one)), max(RANKS) + 1)
        for place in places
    ]


def _figures(dataset: str, ranks: Sequence[Sequence[int]]) -> RetrievalFigures:
    def mean(k: int, score: Callable[[Sequence[bool]], float]) -> float:
        return sum(score([rank <= k for rank in own]) for own in ranks) / len(ranks)

    recall = {k: mean(k, lambda found: sum(found) / len(found)) for k in RANKS}
    return RetrievalFigures(dataset, len(ranks), recall, {k: mean(k, all) for k in RANKS})
