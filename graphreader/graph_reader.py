"""GraphReader: read texts into a graph once, then ask questions about them."""

import asyncio
import os
from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, suppress
from dataclasses import replace
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from graphreader import notes
from graphreader.agent.asking import explore
from graphreader.agent.events import Event, QuestionAnswered
from graphreader.background import Background
from graphreader.deciding.budget import Budget
from graphreader.deciding.decider import Decider
from graphreader.deciding.embedder import Embedder
from graphreader.errors import UnknownCorpusError, UsageError
from graphreader.ingestion.embedding import reindex
from graphreader.ingestion.estimating import Estimate, estimate, known_of
from graphreader.ingestion.pipeline import Pipeline
from graphreader.ingestion.report import IngestReport, Progress, quiet
from graphreader.reading import Reading
from graphreader.session import Session, checked_name
from graphreader.settings import OFFLINE, Settings
from graphreader.store import schema
from graphreader.store.embedded.progress import Progress as ServerProgress
from graphreader.store.library import CorpusSummary, DocumentSummary, Library, Stats
from graphreader.store.writer import GraphWriter, check_embedding

T = TypeVar("T")


class GraphReader:
    """Reads texts into one corpus and answers questions about it.

        with GraphReader(corpus="books") as reader:
            reader.ingest("books/")
            print(reader.ask("Who was the teacher of the founder of the school?").answer)

    Neo4j and the model are those of the environment (see `Settings`): without NEO4J_URI an embedded
    server is started, without a model decisions are taken by word overlap, and `Reading.notes` says
    so. `decider` and `embedder` put others in their place.

    Nothing is opened before the first call. Each method has an asynchronous twin, which may be
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
    ) -> None:
        self.corpus = checked_name(corpus)
        self._session = Session(settings or Settings.read(), decider, embedder, server_progress)
        self._background = Background()

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
        self, *paths: str | PathLike[str], progress: Progress = quiet
    ) -> IngestReport:
        """Read files and folders of .txt and .md into the corpus.

        What is there already is not asked for again; a file that changed is read anew where it
        changed. A file that cannot be read stands in the report, the others are read all the same.
        """
        return await self._background.arun(self._ingest(paths, progress))

    def ingest(self, *paths: str | PathLike[str], progress: Progress = quiet) -> IngestReport:
        """Do the same as `aingest`."""
        return self._background.run(self._ingest(paths, progress))

    async def aestimate(self, *paths: str | PathLike[str], known: bool = True) -> Estimate:
        """Count what reading the same files and folders in will cost, and then a question.

        Nothing is sent or written. What the corpus has already is not counted; without `known`
        everything is, and no graph is opened.
        """
        return await self._background.arun(self._estimate(paths, known))

    def estimate(self, *paths: str | PathLike[str], known: bool = True) -> Estimate:
        """Do the same as `aestimate`."""
        return self._background.run(self._estimate(paths, known))

    async def aask(self, question: str) -> Reading:
        """Explore the corpus and answer. It never changes what was read in."""
        return await self._background.arun(_last(self._explore(question)))

    def ask(self, question: str) -> Reading:
        """Do the same as `aask`."""
        return self._background.run(_last(self._explore(question)))

    def astream(self, question: str) -> AsyncGenerator[Event]:
        """Answer and show what happens on the way; the last event is QuestionAnswered."""
        return self._background.aiterate(self._explore(question))

    def stream(self, question: str) -> Generator[Event]:
        """Do the same as `astream`."""
        return self._background.iterate(self._explore(question))

    async def adelete(self, document: str | None = None, *, everything: bool = False) -> int:
        """Take out the document of that id, path or title, or the whole corpus.

        Returns how many documents are gone. Key elements that other facts name stay.
        """
        return await self._background.arun(self._delete(document, everything))

    def delete(self, document: str | None = None, *, everything: bool = False) -> int:
        """Do the same as `adelete`."""
        return self._background.run(self._delete(document, everything))

    async def areindex(self, *, progress: Progress = quiet) -> list[str]:
        """Embed the corpus anew after GRAPHREADER_EMBEDDINGS changed; no text is read again.

        Returns the corpora that were embedded: all, where the length of the vectors changed.
        """
        return await self._background.arun(self._reindex(progress))

    def reindex(self, *, progress: Progress = quiet) -> list[str]:
        """Do the same as `areindex`."""
        return self._background.run(self._reindex(progress))

    def corpora(self) -> list[CorpusSummary]:
        """List all corpora of the database, not only the reader's own."""
        return self._background.run(self._corpora())

    def documents(self) -> list[DocumentSummary]:
        """List the documents of the corpus."""
        return self._background.run(self._documents())

    def stats(self) -> Stats:
        """Count what the corpus holds."""
        return self._background.run(self._stats())

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

    async def _ingest(
        self, paths: tuple[str | PathLike[str], ...], progress: Progress
    ) -> IngestReport:
        if not paths:
            raise UsageError("Name at least one file or folder to read.")
        decider, embedder = self._session.builder(), self._session.embedder()
        await self._session.prepare()
        connection = await self._session.connection()
        settings = self._session.settings
        pipeline = Pipeline(
            GraphWriter(connection, self.corpus),
            decider,
            embedder,
            chunk_tokens=settings.chunk_tokens,
            budget=Budget(settings.max_calls, settings.max_tokens),
            progress=progress,
        )
        library = Library(connection)
        told: list[str] = []
        with suppress(UnknownCorpusError):  # a new one fits every embedding
            record = await library.corpus(self.corpus)
            check_embedding(self.corpus, record.embedding, embedder.name)
            told = notes.another_decider(self.corpus, record.decider, decider.name)
        known = await library.documents(self.corpus)
        files = [Path(os.path.expanduser(path)) for path in paths]
        report = await pipeline.run(files, known)
        if decider.notice and decider.name != OFFLINE:  # offline, the report says so already
            told.append(decider.notice)
        return replace(report, notes=tuple(told))

    async def _estimate(self, paths: tuple[str | PathLike[str], ...], known: bool) -> Estimate:
        if not paths:
            raise UsageError("Name at least one file or folder to read.")
        settings, there = self._session.settings, {}
        if known:
            connection = await self._session.connection()
            writer = GraphWriter(connection, self.corpus)
            there = await known_of(Library(connection), writer, settings.chunk_tokens)
        files = [Path(os.path.expanduser(path)) for path in paths]
        return await estimate(files, self.corpus, self._session.builder(), settings, there)

    async def _explore(self, question: str) -> AsyncGenerator[Event]:
        if not question.strip():
            raise UsageError("The question is empty: ask something.")
        library = Library(await self._session.connection())
        record = await library.corpus(self.corpus)
        parts = await self._session.parts(self.corpus)
        check_embedding(self.corpus, record.embedding, parts.embedder.name)
        await schema.check_dimension(parts.explorer.connection, parts.embedder.dimension)
        extent = await library.extent(self.corpus)
        if not extent.documents:
            raise UsageError(notes.empty(self.corpus))
        # A command line that is not UTF-8 arrives with lone surrogates, which nobody takes.
        asked = question.strip().encode("utf-8", "replace").decode()
        self._session.check_question(asked, extent.largest_chunk)
        told = [parts.decider.notice] if parts.decider.notice else []
        told += notes.another_decider(self.corpus, record.decider, self._session.builder_name)
        told += notes.unfinished(extent.documents, extent.unfinished)
        async with aclosing(explore(asked, parts, told)) as events:
            async for event in events:
                yield event

    async def _delete(self, document: str | None, everything: bool) -> int:
        if (document is None) == (not everything):
            raise UsageError("Name one document to delete, or say that everything shall go.")
        library = await self._library()
        writer = GraphWriter(await self._session.connection(), self.corpus)
        if document is None:
            ids = [one.id for one in await library.documents(self.corpus)]
        else:
            ids = [await library.find(self.corpus, document)]
        await writer.delete(ids)
        if everything:
            await writer.delete_corpus()
        return len(ids)

    async def _reindex(self, progress: Progress) -> list[str]:
        connection = await self._session.connection()
        return await reindex(connection, self._session.embedder(), self.corpus, progress)

    async def _corpora(self) -> list[CorpusSummary]:
        return await Library(await self._session.connection()).corpora()

    async def _documents(self) -> list[DocumentSummary]:
        return await (await self._library()).documents(self.corpus)

    async def _stats(self) -> Stats:
        return await (await self._library()).stats(self.corpus)

    async def _library(self) -> Library:
        """What the database holds, if the corpus is in it."""
        library = Library(await self._session.connection())
        await library.corpus(self.corpus)
        return library


async def _last(events: AsyncGenerator[Event]) -> Reading:
    """Follow a run to its end."""
    async with aclosing(events):
        async for event in events:
            if isinstance(event, QuestionAnswered):
                return event.reading
    raise AssertionError("a run ends with its answer")
