"""The readers of an evaluation: GraphReader's variants and the baselines behind one protocol."""

import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import Any

from graphreader.baselines import registry
from graphreader.baselines.answering import Excerpt, Golden, PassagesChoiceTask
from graphreader.baselines.lightrag import LightRAG
from graphreader.baselines.read_agent.gists import preset_for
from graphreader.baselines.read_agent.reader import PageReader
from graphreader.baselines.registry import Material
from graphreader.documents import Document
from graphreader.errors import DecisionError, ReplyError, UnknownCorpusError, WindowError
from graphreader.evaluation.datasets.record import Record
from graphreader.evaluation.metrics.answers import chosen_option
from graphreader.evaluation.plan import parse_length
from graphreader.evaluation.results import document_places, documents_of
from graphreader.evaluation.variants import Variant, is_graphreader, variant
from graphreader.graph_reader import GraphReader
from graphreader.llm.prompts import Prompts
from graphreader.llm.protocols import Decider
from graphreader.models import ModelRegistry, Purpose, open_decider
from graphreader.offline.decider import OfflineDecider
from graphreader.reading import Reader, Reading
from graphreader.settings import OFFLINE, Settings
from graphreader.usage import Phase, Usage

MODEL_PHASES: tuple[Phase, ...] = ("extract", "explore", "answer")
"""The phases of readers that may have a model of their own; rating is no phase of a reader."""


@dataclass(frozen=True, slots=True)
class PreparedReader:
    """A reader that has its documents, with the sizes of its graph or gists."""

    reader: Reader
    graph: Mapping[str, Any] | None = None
    compression: Mapping[str, Any] | None = None


class EvaluatedReader(ABC):
    """The base of a reader in an evaluation: it is prepared for documents, then asked."""

    name: str
    window: int

    @abstractmethod
    def prepare(
        self, record: Record, documents: Sequence[Document], built: dict[str, Usage]
    ) -> AbstractAsyncContextManager[PreparedReader]:
        """Prepare the reader for questions about the documents of a record.

        `built` gets the names of the graph, pages or gists that the reader needs, with the cost of
        building each now, even after a failure. Readers that share a graph give it one name.
        """

    async def discard(self, documents: Sequence[Document]) -> None:  # noqa: B027
        """Delete the graph of documents, unless graphs are kept."""

    async def discard_leftovers(self) -> None:  # noqa: B027
        """Delete the graphs that an interrupted evaluation left."""

    @abstractmethod
    async def aclose(self) -> None:
        """Close connections and models."""


def evaluated_readers(
    names: Sequence[str], settings: Settings, folder_id: str = "", seed: int = 0
) -> list[EvaluatedReader]:
    """Make readers by their names, without opening connections or models. Raises UsageError.

    Graphs that a model builds are shared by all evaluations; other graphs belong to `folder_id`.
    """
    models = ModelRegistry(settings, opened_by=_counting_decider)
    return [
        EvaluatedGraphReader(variant(name), settings, folder_id, seed)
        if is_graphreader(name)
        else EvaluatedBaseline(name, models)
        for name in names
    ]


def _counting_decider(settings: Settings, purpose: Purpose) -> Decider:
    """Open the decider of the settings; the offline decider counts tokens of prompts as well."""
    decider = open_decider(settings, purpose)
    if not isinstance(decider, OfflineDecider):
        return decider
    return OfflineDecider(settings.window, Prompts(settings.prompts))


@dataclass(slots=True)
class SourceDocument:
    """A document as a source for `GraphReader.ingest`; its id identifies it in the graph."""

    page_content: str
    metadata: Any
    id: str


class EvaluatedGraphReader(EvaluatedReader):
    """A variant of GraphReader in an evaluation; variants with equal graphs share a corpus."""

    def __init__(self, variant: Variant, settings: Settings, folder_id: str, seed: int) -> None:
        # The results folder has all readings, so runs are not stored.
        self.settings = variant.settings(settings).model_copy(update={"kept_runs": 0})
        self.node_set = variant.nodes(seed)
        self.name = variant.name
        self.window = self.settings.window
        is_offline = all(self.settings.model_for(phase) == OFFLINE for phase in MODEL_PHASES)
        prompts = Prompts(self.settings.prompts)
        decider = OfflineDecider(self.window, prompts) if is_offline else None
        self._reader = GraphReader(settings=self.settings, nodes=self.node_set, decider=decider)
        self._models = ModelRegistry(self.settings, decider)
        self._keep = self.settings.model_for("extract") != OFFLINE
        self._mark = sha256(folder_id.encode("utf-8", "surrogatepass")).hexdigest()[:8]

    @asynccontextmanager
    async def prepare(
        self, record: Record, documents: Sequence[Document], built: dict[str, Usage]
    ) -> AsyncIterator[PreparedReader]:
        """Read the documents into their corpus, unless it has them."""
        reader = self._reader.at(self.corpus(documents))
        sources = [SourceDocument(one.text, {"title": one.title}, one.id) for one in documents]
        try:
            report = await reader.aingest(*sources)
        except DecisionError as error:
            built[reader.corpus] = error.spent
            raise
        built[reader.corpus] = report.usage
        ids = {one.id: one.source for one in report.documents if one.id}
        adapter = _GraphReaderAdapter(self.name, self.window, self._models, reader, ids)
        yield PreparedReader(adapter, graph=asdict(await reader.astats()))

    async def discard(self, documents: Sequence[Document]) -> None:
        """Delete the corpus of documents, unless graphs are kept."""
        if not self._keep:
            await self._delete(self.corpus(documents))

    async def discard_leftovers(self) -> None:
        """Delete the corpora with the mark of this results folder."""
        ours = re.compile(rf"evaluation-[0-9a-f]{{16}}-[0-9a-f]{{8}}-{self._mark}")
        for one in () if self._keep else await self._reader.acorpora():
            if ours.fullmatch(one.corpus):
                await self._delete(one.corpus)

    async def _delete(self, corpus: str) -> None:
        with suppress(UnknownCorpusError):  # another variant deleted it
            await self._reader.at(corpus).adelete(everything=True)

    async def aclose(self) -> None:
        """Close the connections and models."""
        await self._reader.aclose()
        await self._models.aclose()

    def corpus(self, documents: Sequence[Document]) -> str:
        """Name the corpus; variants that build an equal graph have one name."""
        built_with = (
            self.settings.model_for("extract"),
            self.settings.chosen_embeddings,
            self.settings.chunk_tokens,
            self.settings.stages,
            *(one.id for one in documents),
        )
        digest = sha256(repr(built_with).encode()).hexdigest()[:8]
        name = f"{documents[0].corpus}-{digest}"
        return name if self._keep else f"{name}-{self._mark}"


@dataclass(slots=True)
class _GraphReaderAdapter:
    """GraphReader as a reader that can choose options; documents have the evaluation's `ids`."""

    name: str
    window: int
    models: ModelRegistry
    reader: GraphReader
    ids: Mapping[str, str]

    async def aask(self, question: str, *, options: Sequence[str] = ()) -> Reading:
        """Answer a question, or choose one of its options. Raises DecisionError."""
        reading = await self.reader.aask(question, options=options)
        if options and chosen_option(reading.answer, options) is None:
            reading = await self._choose_option(reading, question, options)
        ids, cited = self.ids, reading.citations
        return replace(
            reading,
            reader=self.name,
            documents_read=tuple(ids[id_] for id_ in reading.documents_read),
            passages_read=tuple((ids[id_], one, end) for id_, one, end in reading.passages_read),
            citations=tuple(replace(one, document_id=ids[one.document_id]) for one in cited),
        )

    async def _choose_option(
        self, reading: Reading, question: str, options: Sequence[str]
    ) -> Reading:
        """Let the model choose an option by the notebooks; a note says if it cannot."""
        if not reading.evidence:
            return reading
        notebooks = (Excerpt("Notebooks", reading.evidence, 0),)
        task = PassagesChoiceTask(question, notebooks, tuple(options))
        try:
            choice = await self.models.asker(self.window).decide(task)
        except (ReplyError, WindowError) as error:
            notes = (*reading.notes, f"No option could be chosen: {error}")
            return replace(reading, usage=reading.usage + error.spent, notes=notes)
        except DecisionError as error:
            error.spent += reading.usage
            raise
        phases = dict(reading.phases)
        phases["answer"] = phases.get("answer", Usage()) + choice.usage
        return replace(
            reading,
            answer=options[choice.decision.option - 1],
            answered=True,
            usage=reading.usage + choice.usage,
            phases=phases,
        )


def _golden(record: Record) -> tuple[Sequence[str], Sequence[Document]]:
    """Return (supporting sentences, passages with them); no sentences unless all are quoted."""
    passages = documents_of(record)
    places = document_places(passages)
    sentences = [place.sentence for place in record.supporting]
    gold = [one for one in passages if places[one.id] in record.gold_documents]
    return sentences if all(sentences) else [], gold


class EvaluatedBaseline(EvaluatedReader):
    """A reader without a graph in an evaluation; all share their deciders, and gists are stored."""

    def __init__(self, name: str, models: ModelRegistry) -> None:
        self.name = name
        self.window = registry.window_of(name, models)
        registry.check_models(name, models.settings)
        self._models = models

    @asynccontextmanager
    async def prepare(
        self, record: Record, documents: Sequence[Document], built: dict[str, Usage]
    ) -> AsyncIterator[PreparedReader]:
        """Prepare the reader for documents, and make its pages and gists, if it has any."""
        material = Material(documents, preset_for(parse_length(record.length), record.subset))
        if self.name == Golden.name:
            material = replace(material, golden=_golden(record))
        reader = registry.make(self.name, material, self._models)
        sizes = None
        if isinstance(reader, LightRAG):
            name = f"lightrag {documents[0].corpus} {self._models.settings.model_for('extract')}"
            try:
                built[name] = await reader.build()
            except DecisionError as error:
                built[name] = error.spent
                raise
        elif isinstance(reader, PageReader):
            phases: list[Phase] = ["paginate", "gist"] if reader.needs_gists else ["paginate"]
            place = documents[0].corpus, self._models.settings.model_for("gist")
            try:
                sizes = await reader.prepare()
            finally:
                spent = reader.builder.built
                built |= {" ".join((one, *place)): spent.get(one, Usage()) for one in phases}
        yield PreparedReader(reader, compression=sizes)

    async def aclose(self) -> None:
        """Close the deciders."""
        await self._models.aclose()
