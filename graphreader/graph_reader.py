"""GraphReader: read texts into a graph once, then ask questions about them."""

import asyncio
from collections.abc import Sequence
from copy import copy
from os import PathLike
from types import TracebackType
from typing import BinaryIO, Self

from graphreader.agent.graph import Steps
from graphreader.agent.resuming import Saver
from graphreader.asker import Asker
from graphreader.background import Background
from graphreader.deciding.decider import Decider
from graphreader.deciding.embedder import Embedder
from graphreader.ingestion.estimating import Estimate
from graphreader.ingestion.exchange import ExchangeReport, Export, Told
from graphreader.ingestion.exchange import quiet as nobody
from graphreader.ingestion.loading.sources import Thing
from graphreader.ingestion.normalization.normalization_report import NormalizationReport
from graphreader.ingestion.report import IngestReport, Progress, quiet
from graphreader.looker import Looker
from graphreader.looking import Looking
from graphreader.operations import Operations
from graphreader.session import Session, checked_name
from graphreader.settings import Settings
from graphreader.store.embedded.progress import Progress as ServerProgress


class GraphReader(Asker, Looker):
    """Reads texts into one corpus and answers questions about it.

        with GraphReader(corpus="books") as reader:
            reader.ingest("books/")
            print(reader.ask("Who was the teacher of the founder of the school?").answer)

    Neo4j and the model are those of the environment (see `Settings`): without NEO4J_URI an embedded
    server is started, without a model decisions are taken by word overlap, and `Reading.notes` says
    so. `decider` and `embedder` put others in their place. `checkpointer` is a saver of LangGraph
    that keeps the steps of runs in place of the file in GRAPHREADER_HOME; that file goes on to list
    the runs and to keep their decisions. It must be set up and asynchronous (`AsyncNeo4jSaver`, not
    `Neo4jSaver`; `InMemorySaver` is both). Like its driver it belongs to the loop that uses it
    first, and that must be this reader's own: make another saver for another reader, and after
    `close`. To close it is yours; what it raises ends the run. `steps` are those of another mode
    of reading (`agent.graph.Steps`).

    Nothing is opened before the first call. What takes time has an asynchronous twin, which may be
    awaited in any loop; the synchronous ones also work inside Jupyter. Failures are
    GraphReaderErrors, whose message says what to do.
    """

    def __init__(
        self,
        corpus: str = "default",
        *,
        settings: Settings | None = None,
        decider: Decider | None = None,
        embedder: Embedder | None = None,
        server_progress: ServerProgress | None = None,
        checkpointer: Saver | None = None,
        steps: Steps | None = None,
    ) -> None:
        name = checked_name(corpus)
        given = settings or Settings.read()
        session = Session(given, decider, embedder, server_progress, checkpointer, steps)
        self._stand(session, Background(), name)

    def _stand(self, session: Session, background: Background, corpus: str) -> None:
        self._operations = Operations(session, corpus)
        self._looking = Looking(session, corpus)
        super().__init__(session, background, corpus)

    def at(self, corpus: str) -> Self:
        """Another reader, at that corpus, that shares all connections with this one.

        To close either closes both.
        """
        name = checked_name(corpus)
        reader = copy(self)
        reader._stand(self._session, self._background, name)
        return reader

    @property
    def corpus(self) -> str:
        """The corpus that is read into and asked; another name takes it to another corpus."""
        return self._operations.corpus

    @corpus.setter
    def corpus(self, name: str) -> None:
        name = checked_name(name)
        self._operations.corpus = self._questions.corpus = self._looking.corpus = name

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def aingest(
        self,
        *things: Thing,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        id: str | None = None,
        normalize: bool | None = None,
        progress: Progress = quiet,
    ) -> IngestReport:
        """Read files, folders of them, or LangChain documents into the corpus.

        Of folders, `include` and `exclude` are patterns of the paths in them; "-" is standard
        input, which `id` names. What is there already is not asked for again; a text that changed
        is read anew where it changed. What cannot be read stands in the report, the others are read
        all the same. At the end key elements are compared and merged as GRAPHREADER_NORMALIZE says,
        or not at all where `normalize` is false.
        """
        return await self._background.arun(
            self._operations.ingest(things, progress, include, exclude, id, normalize)
        )

    def ingest(
        self,
        *things: Thing,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        id: str | None = None,
        normalize: bool | None = None,
        progress: Progress = quiet,
    ) -> IngestReport:
        """Do the same as `aingest`."""
        return self._background.run(
            self._operations.ingest(things, progress, include, exclude, id, normalize)
        )

    async def aretry_failed(self, *, progress: Progress = quiet) -> IngestReport:
        """Ask again for the chunks that have no facts, and for nothing else."""
        return await self._background.arun(self._operations.retry_failed(progress))

    def retry_failed(self, *, progress: Progress = quiet) -> IngestReport:
        """Do the same as `aretry_failed`."""
        return self._background.run(self._operations.retry_failed(progress))

    async def aestimate(
        self,
        *things: Thing,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        id: str | None = None,
        known: bool = True,
    ) -> Estimate:
        """Count what reading the same things in will cost, and then a question.

        Nothing is sent or written. What the corpus has already is not counted; without `known`
        everything is, and no graph is opened.
        """
        return await self._background.arun(
            self._operations.estimate(things, known, include, exclude, id)
        )

    def estimate(
        self,
        *things: Thing,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        id: str | None = None,
        known: bool = True,
    ) -> Estimate:
        """Do the same as `aestimate`."""
        return self._background.run(self._operations.estimate(things, known, include, exclude, id))

    async def adelete(self, document: str | None = None, *, everything: bool = False) -> int:
        """Take out the document of that id, path or title, or the whole corpus.

        Returns how many documents are gone. Key elements that other facts name stay.
        """
        return await self._background.arun(self._operations.delete(document, everything))

    def delete(self, document: str | None = None, *, everything: bool = False) -> int:
        """Do the same as `adelete`."""
        return self._background.run(self._operations.delete(document, everything))

    async def anormalize(
        self, *, dry_run: bool = False, undo: bool = False, progress: Progress = quiet
    ) -> NormalizationReport:
        """Compare and merge key elements as GRAPHREADER_NORMALIZE says, or take all of that back.

        An ingest does so at its end. A dry run only says what would change.
        """
        return await self._background.arun(self._operations.normalize(dry_run, undo, progress))

    def normalize(
        self, *, dry_run: bool = False, undo: bool = False, progress: Progress = quiet
    ) -> NormalizationReport:
        """Do the same as `anormalize`."""
        return self._background.run(self._operations.normalize(dry_run, undo, progress))

    async def areindex(self, *, progress: Progress = quiet) -> list[str]:
        """Embed the corpus anew after GRAPHREADER_EMBEDDINGS changed; no text is read again.

        Returns the corpora that were embedded: all, where the length of the vectors changed.
        """
        return await self._background.arun(self._operations.reindex(progress))

    def reindex(self, *, progress: Progress = quiet) -> list[str]:
        """Do the same as `areindex`."""
        return self._background.run(self._operations.reindex(progress))

    async def aexport(
        self, target: str | PathLike[str] | BinaryIO, *, progress: Told = nobody
    ) -> ExchangeReport:
        """Write the whole corpus, vectors and all, into one file of JSON Lines.

        The file stands there only once it is whole. `progress` hears how much is written.
        """
        return await self._background.arun(self._operations.export(target, progress))

    def export(
        self, target: str | PathLike[str] | BinaryIO, *, progress: Told = nobody
    ) -> ExchangeReport:
        """Do the same as `aexport`."""
        return self._background.run(self._operations.export(target, progress))

    async def aimport_corpus(
        self, source: str | PathLike[str] | Export, *, progress: Told = nobody
    ) -> ExchangeReport:
        """Read an exported corpus into this one, whatever it was called. No model is asked.

        What is there already is left alone, a document with another text than the one there is left
        out. An import that broke off can be run again.
        """
        return await self._background.arun(self._operations.import_corpus(source, progress))

    def import_corpus(
        self, source: str | PathLike[str] | Export, *, progress: Told = nobody
    ) -> ExchangeReport:
        """Do the same as `aimport_corpus`."""
        return self._background.run(self._operations.import_corpus(source, progress))

    async def aclose(self) -> None:
        """Close the connections; an embedded server goes on running.

        It may be called again, and a reader that is used again opens what it needs anew.
        """
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """Do the same as `aclose`."""
        if self._background.runs:
            self._background.run(self._session.aclose())
            self._background.close()
