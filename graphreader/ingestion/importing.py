"""Reading an exported corpus into the graph, in batches: memory does not grow with the corpus.

No model and no embedder is asked. Ids come from the content, so an import that broke off is simply
run again. A document counts as complete only when the whole file has been read.
"""

import asyncio
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import groupby, islice
from operator import attrgetter
from os import PathLike
from typing import Any

from graphreader.errors import EmbeddingMismatchError
from graphreader.ingestion.exchange import (
    ChunkRecord,
    Counts,
    DocumentRecord,
    ExchangeReport,
    Export,
    Header,
    KeyElementRecord,
    Line,
    Told,
    opened,
    quiet,
    wrong,
)
from graphreader.ingestion.extraction import identity
from graphreader.ingestion.incoming import IncomingDocument, document_id
from graphreader.ingestion.normalization.normalizer import Normalizer
from graphreader.store import schema
from graphreader.store.connection import Connection, Run
from graphreader.store.deleter import Deleter
from graphreader.store.library import Library
from graphreader.store.locking import alone
from graphreader.store.states import DocumentState, States
from graphreader.store.writer import GraphWriter, ReadChunk, Version, check_embedding

LINES_AT_ONCE = 100


async def import_corpus(
    connection: Connection, corpus: str, source: str | PathLike[str] | Export, told: Told = quiet
) -> ExchangeReport:
    """Read an exported corpus from a file, under this name, whatever it was called.

    What the corpus has already is left alone, also where it is further than the file; a document
    that it has with another text is left out, and the report says so. `told` hears from time to
    time how much is there. Raises EmbeddingMismatchError, and UsageError for what is no whole
    export.
    """
    with nullcontext(source) if isinstance(source, Export) else opened(source) as export:
        header = export.header
        for row in await connection.read("read/corpus", corpus=corpus):
            check_embedding(corpus, row["embedding"], header.embedding)
        await _check_dimension(connection, header)
        await schema.prepare(connection, header.dimension)
        return await _Importer(connection, corpus, header, told).run(export)


async def _check_dimension(connection: Connection, header: Header) -> None:
    real = await schema.dimension(connection)
    if real not in (None, header.dimension):
        raise EmbeddingMismatchError(
            f"The vector index of this database has {real} dimensions, the vectors of the export "
            f"have {header.dimension}: import it into another database, or first embed this one "
            f"anew with {header.embedding!r} (`graphreader reindex`)."
        )


@dataclass(slots=True)
class _Part:
    """What some lines give, to be written together."""

    begun: list[IncomingDocument] = field(default_factory=list)
    chunks: list[ReadChunk] = field(default_factory=list)
    ended: list[IncomingDocument] = field(default_factory=list)
    key_elements: list[KeyElementRecord] = field(default_factory=list)


class _Importer:
    """Takes the lines of one export, some at a time."""

    def __init__(self, connection: Connection, corpus: str, header: Header, told: Told) -> None:
        self._connection = connection
        self._corpus = corpus
        self._header = header
        self._told = told
        self._writer = GraphWriter(connection, corpus)
        self._deleter = Deleter(connection, corpus)
        self._states = States(connection, corpus)
        self._read: Counter[str] = Counter()
        self._taken: Counter[str] = Counter()
        self._unchanged = 0
        self._refused: list[str] = []
        self._complete: list[Version] = []
        self._incoming: IncomingDocument | None = None
        self._alone = self._settled = False

    async def run(self, export: Export) -> ExchangeReport:
        await self._deleter.finish_deletes()
        extent = await Library(self._connection).extent(self._corpus)
        self._alone = len(extent.unfinished) == extent.documents
        made = {"decider", "prompts", "embedding", "dimension"}
        await self._writer.begin_corpus(**self._header.model_dump(include=made))
        lines = export.lines()
        while some := await asyncio.to_thread(lambda: list(islice(lines, LINES_AT_ONCE))):
            await self._write(await self._part(some))
            self._told(Counts(**self._taken))
        done = await self._finish()
        return ExchangeReport(
            self._corpus,
            **Counts(**self._taken).model_dump(),
            incomplete=self._taken["documents"] - len(done),
            unchanged=self._unchanged,
            refused=tuple(self._refused),
        )

    async def _part(self, lines: Sequence[tuple[int, Line]]) -> _Part:
        """What the lines give. Each kind has its place: documents, key elements, the end."""
        ids = [document_id(self._corpus, line.document) for _, line in lines if line.document]
        states = await self._states.of(ids) if ids else {}
        read = {id_: await self._read_chunks(one) for id_, one in states.items()}
        part = _Part()
        for number, line in lines:
            if line.chunk:
                self._take_chunk(number, line.chunk, part)
                continue
            self._end_document(part)
            if line.document:
                self._begin_document(number, line.document, states, read, part)
            elif line.key_element:
                self._take_key_element(number, line.key_element, part)
            elif line.end != Counts(**self._read):
                raise wrong(number, "it does not count what stands before it")
        return part

    def _begin_document(
        self,
        number: int,
        record: DocumentRecord,
        states: Mapping[str, DocumentState],
        read: Mapping[str, int],
        part: _Part,
    ) -> None:
        self._read["documents"] += 1
        state = states.get(document_id(self._corpus, record))
        if state and state.sha256 != record.sha256:
            self._refused.append(
                f"{record.title} is in the corpus {self._corpus!r} with another text: take that "
                f"out with `graphreader delete {state.id} --corpus {shlex.quote(self._corpus)}` "
                "and import again."
            )
        elif state and (
            state.complete or (not record.complete and read[state.id] > record.read_chunks)
        ):
            self._unchanged += 1
        else:
            self._incoming = IncomingDocument(self._corpus, number, record, state is not None)
            self._taken["documents"] += 1
            part.begun.append(self._incoming)

    async def _read_chunks(self, state: DocumentState) -> int:
        """How many chunks of a document have their facts, if it is not complete."""
        chunks = [] if state.complete else await self._states.chunks(state.id)
        return sum(one.error is None and not one.retired for one in chunks)

    def _take_chunk(self, number: int, record: ChunkRecord, part: _Part) -> None:
        if not self._read["documents"] or self._read["key_elements"]:
            raise wrong(number, "a chunk stands behind its document")
        counted = {"chunks": 1, "facts": len(record.facts)}
        self._read.update(counted)
        if self._incoming:
            self._taken.update(counted)
            part.chunks.append(self._incoming.chunk(number, record))

    def _take_key_element(self, number: int, record: KeyElementRecord, part: _Part) -> None:
        if record.embedding and len(record.embedding) != self._header.dimension:
            raise wrong(number, f"the vector has not {self._header.dimension} numbers")
        self._read["key_elements"] += 1
        part.key_elements.append(record)

    def _end_document(self, part: _Part) -> None:
        if self._incoming:
            self._incoming.check()
            part.ended.append(self._incoming)
            self._incoming = None

    async def _write(self, part: _Part) -> None:
        """Write everything in an order in which each thing finds what it needs."""
        by_limit = attrgetter("record.chunk_tokens")
        for limit, begun in groupby(sorted(part.begun, key=by_limit), by_limit):
            await self._writer.begin_documents([one.document for one in begun], limit)
        await self._writer.write_chunks(part.chunks)
        await self._arrange([one for one in part.ended if one.record.arranged])
        await self._write_key_elements(part.key_elements)

    async def _arrange(self, documents: Sequence[IncomingDocument]) -> None:
        """Put the chunks in their order; those of a former attempt may have to go."""
        await self._writer.chain([one.version for one in documents if not one.is_known])
        for one in documents:
            if one.is_known:
                others = await self._writer.arrange(one.version, one.arranged)
                await self._deleter.delete_chunks([id_ for id_ in others if id_ not in one.pending])
            if one.record.complete:
                self._complete.append(one.version)

    async def _write_key_elements(self, records: Sequence[KeyElementRecord]) -> None:
        """Write vectors where there are none yet, and what was found alike."""
        if not records:
            return
        if not self._settled:  # new names make key elements fresh: from now on there are none
            await self._writer.settle()
            self._settled = True
        by_id = {identity(self._corpus, one.key): one for one in records}
        lacking = await self._writer.unembedded_among(sorted(by_id))
        self._taken["key_elements"] += len(lacking)
        vectors = [(id_, by_id[id_].embedding) for id_ in sorted(lacking)]
        await self._writer.write_embeddings((i, list(vector)) for i, vector in vectors if vector)
        fresh = {id_: one.fresh for id_, one in by_id.items()}
        if not self._alone:  # what is new was never compared with what other documents name
            fresh = dict.fromkeys([id_ for id_, vector in vectors if vector], True)
        flags = [{"id": id_, "fresh": fresh[id_]} for id_ in sorted(fresh)]
        pairs = self._pairs(by_id)

        async def work(run: Run) -> None:
            await run("write/mark_fresh", elements=flags)
            await run("write/likenesses", pairs=pairs)

        await alone(self._connection, self._corpus, work)

    def _pairs(self, elements: Mapping[str, KeyElementRecord]) -> list[dict[str, Any]]:
        """What is alike, the smaller id first: ids have another order in another corpus."""
        pairs = [
            (*sorted([id_, identity(self._corpus, other)]), score)
            for id_, one in elements.items()
            for other, score in one.likes.items()
        ]
        return [{"a": a, "b": b, "score": score} for a, b, score in sorted(pairs)]

    async def _finish(self) -> set[str]:
        """Normalize, and complete the documents whose key elements all have their vectors."""
        there = await self._connection.read("read/stages_in_force", corpus=self._corpus)
        stages = {*self._header.stages, *there[0]["stages"]}
        await Normalizer(self._connection, self._corpus, stages).run()
        lacking = await self._writer.unembedded()
        done: set[str] = set()
        for version in self._complete:
            if not lacking or not await self._writer.unembedded(version.id):
                done |= await self._writer.complete([version])
        return done
