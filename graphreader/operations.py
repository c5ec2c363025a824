"""What can be done with one corpus, inside of the event loop to which its session belongs."""

import asyncio
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from os import PathLike
from typing import BinaryIO

from graphreader import notes
from graphreader.deciding.budget import Budget
from graphreader.errors import UnknownCorpusError, UsageError
from graphreader.ingestion.estimating import (
    Estimate,
    LookUp,
    estimate,
    known_in,
    nothing_known,
)
from graphreader.ingestion.exchange import ExchangeReport, Export, Told
from graphreader.ingestion.exporting import export_corpus
from graphreader.ingestion.importing import import_corpus
from graphreader.ingestion.loading.langchain import LangChainDocument
from graphreader.ingestion.loading.sources import Thing, sources_of
from graphreader.ingestion.normalization.normalization_report import NormalizationReport
from graphreader.ingestion.normalization.normalizer import Normalizer
from graphreader.ingestion.pipeline import Pipeline
from graphreader.ingestion.reindexing import reindex
from graphreader.ingestion.report import IngestReport, Progress, quiet
from graphreader.session import Session
from graphreader.settings import OFFLINE
from graphreader.store.deleter import Deleter
from graphreader.store.library import Library
from graphreader.store.states import States
from graphreader.store.writer import GraphWriter, check_embedding

Things = Sequence[Thing]


class Operations:
    """What a reader does beside answering, as coroutines: reading in, deleting."""

    def __init__(self, session: Session, corpus: str) -> None:
        self.corpus = corpus
        self._session = session

    async def ingest(
        self,
        things: Things,
        progress: Progress,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        id: str | None = None,
        normalize: bool | None = None,
    ) -> IngestReport:
        """Read files, folders, standard input or LangChain documents in."""
        sources = await asyncio.to_thread(sources_of, _expanded(things), include, exclude, id=id)
        pipeline, told = await self._pipeline(progress)
        return await self._finished(await pipeline.run(sources), told, progress, normalize)

    async def retry_failed(self, progress: Progress) -> IngestReport:
        """Ask again for the chunks that have no facts."""
        await self._session.library(self.corpus)
        pipeline, told = await self._pipeline(progress)
        return await self._finished(await pipeline.retry(), told, progress, None)

    async def _pipeline(self, progress: Progress) -> tuple[Pipeline, list[str]]:
        """What reads into the corpus, and what a person should know before."""
        decider, embedder = self._session.builder(), self._session.embedder()
        await self._session.prepare()
        connection = await self._session.connection()
        settings = self._session.settings
        told: list[str] = []
        with suppress(UnknownCorpusError):  # a new one fits every embedding
            record = await Library(connection).corpus(self.corpus)
            check_embedding(self.corpus, record.embedding, embedder.name)
            told = notes.another_decider(self.corpus, record.decider, decider.name)
        pipeline = Pipeline(
            GraphWriter(connection, self.corpus),
            decider,
            embedder,
            chunk_tokens=settings.chunk_tokens,
            budget=Budget(settings.max_calls, settings.max_tokens),
            progress=progress,
        )
        return pipeline, told

    async def _finished(
        self, report: IngestReport, told: list[str], progress: Progress, normalize: bool | None
    ) -> IngestReport:
        """The report of a run, after names are settled and key elements compared."""
        normalization = await self._normalized(normalize, progress)
        decider = self._session.builder()
        if decider.notice and decider.name != OFFLINE:  # offline, the report says so already
            told.append(decider.notice)
        return replace(report, notes=tuple(told), normalization=normalization)

    async def normalize(self, dry_run: bool, undo: bool, progress: Progress) -> NormalizationReport:
        """Compare and merge key elements, or take that back."""
        await self._session.library(self.corpus)
        await self._session.prepare()
        connection = await self._session.connection()
        stages = () if undo else self._session.settings.stages
        normalizer = Normalizer(connection, self.corpus, stages)
        return await normalizer.run(dry_run=dry_run, progress=progress)

    async def _normalized(
        self, wanted: bool | None = None, progress: Progress = quiet
    ) -> NormalizationReport | None:
        """What became of the key elements of a graph that changed; at least names are settled."""
        connection = await self._session.connection()
        if wanted is False:
            await GraphWriter(connection, self.corpus).settle()
            return None
        normalizer = Normalizer(connection, self.corpus, self._session.settings.stages)
        return await normalizer.run(progress=progress)

    async def estimate(
        self,
        things: Things,
        known: bool,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        id: str | None = None,
    ) -> Estimate:
        """Count what reading them in will cost; without `known` no graph is opened."""
        sources = await asyncio.to_thread(sources_of, _expanded(things), include, exclude, id=id)
        settings = self._session.settings
        look_up: LookUp = nothing_known
        if known:
            states = States(await self._session.connection(), self.corpus)
            look_up = known_in(states, settings.chunk_tokens)
        return await estimate(sources, self.corpus, self._session.measurer(), settings, look_up)

    async def delete(self, document: str | None, everything: bool) -> int:
        """Take out one document or everything."""
        if (document is None) == (not everything):
            raise UsageError("Name one document to delete, or say that everything shall go.")
        library = await self._session.library(self.corpus)
        connection = await self._session.connection()
        deleter = Deleter(connection, self.corpus)
        if document is None:
            ids = [one.id for one in await library.documents(self.corpus)]
        else:
            ids = [await library.find(self.corpus, document)]
        await deleter.delete(ids)
        if everything:
            await deleter.delete_corpus()
        else:
            await self._normalized()
        return len(ids)

    async def reindex(self, progress: Progress) -> list[str]:
        """Embed the corpus anew, and compare its key elements by their new vectors."""
        connection = await self._session.connection()
        done = await reindex(connection, self._session.embedder(), self.corpus, progress)
        for corpus in done:
            normalizer = Normalizer(connection, corpus, self._session.settings.stages)
            await normalizer.run(progress=progress)
        return done

    async def export(self, target: str | PathLike[str] | BinaryIO, told: Told) -> ExchangeReport:
        """Write the whole corpus into a file."""
        return await export_corpus(await self._session.connection(), self.corpus, target, told)

    async def import_corpus(
        self, source: str | PathLike[str] | Export, told: Told
    ) -> ExchangeReport:
        """Read an exported corpus in."""
        return await import_corpus(await self._session.connection(), self.corpus, source, told)


def _expanded(things: Things) -> list[Thing]:
    """The same, with the person's home for `~`. Raises UsageError."""
    if not things:
        raise UsageError("Name at least one file or folder to read.")
    if any(isinstance(one, list | tuple) for one in things):
        raise UsageError("Give documents one by one: `reader.ingest(*documents)`.")
    for one in things:
        if not isinstance(one, str | PathLike | LangChainDocument):
            raise UsageError(f"{one!r:.80} is neither a path nor a document: give one of them.")
        if isinstance(one, str) and not one.strip():  # it would be taken for the working folder
            raise UsageError("A path is empty: name a file or a folder, or leave it out.")
    return [
        # Not Path.expanduser, which takes the file `~backup.txt` for the home of an unknown user.
        os.path.expanduser(one) if isinstance(one, str | PathLike) else one
        for one in things
    ]
