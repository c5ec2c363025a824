"""What can be done with one corpus, inside of the event loop to which its session belongs."""

import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from os import PathLike
from pathlib import Path

from graphreader import notes
from graphreader.agent.asking import explore
from graphreader.agent.events import Event
from graphreader.deciding.budget import Budget
from graphreader.errors import UnknownCorpusError, UsageError
from graphreader.ingestion.embedding import reindex
from graphreader.ingestion.estimating import Estimate, estimate, known_of
from graphreader.ingestion.pipeline import Pipeline
from graphreader.ingestion.report import IngestReport, Progress
from graphreader.session import Session
from graphreader.settings import OFFLINE
from graphreader.store import schema
from graphreader.store.library import CorpusSummary, DocumentSummary, Library, Stats
from graphreader.store.writer import GraphWriter, check_embedding

Paths = Sequence[str | PathLike[str]]


class Operations:
    """What a reader does, as coroutines: reading in, asking, looking, deleting."""

    def __init__(self, session: Session, corpus: str) -> None:
        self.corpus = corpus
        self._session = session

    async def ingest(self, paths: Paths, progress: Progress) -> IngestReport:
        """Read files and folders in."""
        files = _files(paths)
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
        report = await pipeline.run(files, known)
        if decider.notice and decider.name != OFFLINE:  # offline, the report says so already
            told.append(decider.notice)
        return replace(report, notes=tuple(told))

    async def estimate(self, paths: Paths, known: bool) -> Estimate:
        """Count what reading them in will cost; without `known` no graph is opened."""
        files = _files(paths)
        settings, there = self._session.settings, {}
        if known:
            connection = await self._session.connection()
            writer = GraphWriter(connection, self.corpus)
            there = await known_of(Library(connection), writer, settings.chunk_tokens)
        return await estimate(files, self.corpus, self._session.measurer(), settings, there)

    async def explore(self, question: str) -> AsyncGenerator[Event]:
        """Answer a question, and show what happens on the way."""
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

    async def delete(self, document: str | None, everything: bool) -> int:
        """Take out one document or everything."""
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

    async def reindex(self, progress: Progress) -> list[str]:
        """Embed the corpus anew."""
        connection = await self._session.connection()
        return await reindex(connection, self._session.embedder(), self.corpus, progress)

    async def corpora(self) -> list[CorpusSummary]:
        """List all corpora."""
        return await Library(await self._session.connection()).corpora()

    async def documents(self) -> list[DocumentSummary]:
        """List the documents of the corpus."""
        return await (await self._library()).documents(self.corpus)

    async def stats(self) -> Stats:
        """Count what the corpus holds."""
        return await (await self._library()).stats(self.corpus)

    async def _library(self) -> Library:
        """What the database holds, if the corpus is in it."""
        library = Library(await self._session.connection())
        await library.corpus(self.corpus)
        return library


def _files(paths: Paths) -> list[Path]:
    if not paths:
        raise UsageError("Name at least one file or folder to read.")
    return [Path(os.path.expanduser(path)) for path in paths]
