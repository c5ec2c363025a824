"""From sources to documents with their chunks, and what of each is missing in the graph.

Sources are read in a thread, a few documents ahead of those that are worked on, so that memory does
not grow with the corpus.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence

from graphreader.documents import Chunk, Document
from graphreader.ingestion.chunking import split
from graphreader.ingestion.loading.sources import Refused, Source
from graphreader.ingestion.recutting import recut
from graphreader.ingestion.report import (
    DocumentReport,
    Progress,
    SourceEnded,
    SourcesFound,
)
from graphreader.ingestion.work import Work
from graphreader.store.deleter import Deleter
from graphreader.store.states import DocumentState, States
from graphreader.store.writer import metadata_of

AHEAD = 8
"""Documents that are loaded before they are worked on, and looked up at once."""

Loaded = tuple[Document | Refused | None, int | None]
"""A document, if there is one, and the size of its source, if nothing more comes of that."""


class Intake:
    """Takes up the documents of sources, one after the other."""

    def __init__(
        self,
        states: States,
        deleter: Deleter,
        corpus: str,
        chunk_tokens: int,
        progress: Progress,
    ) -> None:
        self._states = states
        self._deleter = deleter
        self._corpus = corpus
        self._chunk_tokens = chunk_tokens
        self._progress = progress
        self._taken: dict[str, Work] = {}

    async def works(self, sources: Sequence[Source]) -> AsyncGenerator[Work | DocumentReport]:
        """What is to be done for each document; a report where there is nothing to do."""
        self._progress(SourcesFound(len(sources), sum(source.size for source in sources)))
        ahead: asyncio.Queue[Loaded | None] = asyncio.Queue(AHEAD)
        loading = asyncio.create_task(self._load(sources, ahead))
        try:
            while items := await _next(ahead, loading):
                ids = [one.id for one, _ in items if isinstance(one, Document)]
                states = await self._states.of(ids)
                for one, size in items:
                    taken = await self._take(one, states) if one else None
                    if isinstance(taken, Work):
                        self._progress(taken.begun_event())
                    if size is not None:
                        self._progress(SourceEnded(size))
                    if taken:
                        yield taken
        finally:
            loading.cancel()

    async def _load(self, sources: Sequence[Source], ahead: "asyncio.Queue[Loaded | None]") -> None:
        for source in sources:
            documents = source.documents(self._corpus)
            last = await asyncio.to_thread(next, documents, None)
            while last and (one := await asyncio.to_thread(next, documents, None)):
                await ahead.put((last, None))
                last = one
            await ahead.put((last, source.size))
        await ahead.put(None)

    async def _take(
        self, document: Document | Refused, states: Mapping[str, DocumentState]
    ) -> Work | DocumentReport:
        """What is to be done for one document."""
        if isinstance(document, Refused):
            return DocumentReport(document.title, document.source, "refused", error=document.reason)
        state = states.get(document.id)
        before = self._taken.get(document.id)
        if before:  # the same document once more: it begins when the first one is through
            await before.ended.wait()  # also where it failed: see give_up
            state = (await self._states.of([document.id])).get(document.id)
        if state and state.deleting:
            await self._deleter.finish_deletes()
            state = None
        if state and self._is_unchanged(document, state):
            return DocumentReport(
                document.title,
                document.source,
                "unchanged",
                id=document.id,
                chunks=state.chunks,
                skipped=document.skipped,
            )
        work = await self._work(document, state)
        self._taken = {id_: one for id_, one in self._taken.items() if not one.ended.is_set()}
        self._taken[document.id] = work
        return work

    def _is_unchanged(self, document: Document, state: DocumentState) -> bool:
        return (
            state.complete
            and state.sha256 == document.sha256
            and state.chunk_tokens == self._chunk_tokens
            and state.title == document.title
            and state.metadata == metadata_of(document)
        )

    async def _work(self, document: Document, state: DocumentState | None) -> Work:
        if state is None or not state.chunks:
            chunks = await asyncio.to_thread(split, document, self._chunk_tokens)
            return Work(document, self._chunk_tokens, len(chunks), chunks)
        chunks = await self._cut(document, state)
        known = await self._states.chunks(document.id)
        # What an edit left that was cut off: half of its facts may be gone.
        await self._deleter.delete_chunks([chunk.id for chunk in known if chunk.retired])
        extracted = {c.id for c in known if c.error is None and not c.retired}
        missing = [chunk for chunk in chunks if chunk.id not in extracted]
        return Work(document, self._chunk_tokens, len(chunks), missing, chunks)

    def give_up(self) -> None:
        """Say that what was taken up comes to no end any more: nobody shall wait for it."""
        for work in self._taken.values():
            work.ended.set()

    async def _cut(self, document: Document, state: DocumentState) -> list[Chunk]:
        """Its chunks: those of its former text stay where nothing changed."""
        old = []
        if state.arranged and state.chunk_tokens == self._chunk_tokens:
            old = await self._states.arranged(document.id)
        return await asyncio.to_thread(recut, document, self._chunk_tokens, old)


async def _next(
    ahead: "asyncio.Queue[Loaded | None]", loading: "asyncio.Task[None]"
) -> list[Loaded]:
    """All that is loaded by now, at least one; nothing at the end. Raises what loading raised."""
    getting = asyncio.ensure_future(ahead.get())
    try:
        await asyncio.wait({getting, loading}, return_when=asyncio.FIRST_COMPLETED)
        if not getting.done() and not loading.cancelled() and loading.exception():
            await loading
        items = [await getting]
    finally:
        getting.cancel()
    while not ahead.empty() and items[-1] is not None:
        items.append(ahead.get_nowait())
    if items[-1] is None and len(items) > 1:
        ahead.put_nowait(None)
    return [one for one in items if one is not None]
