"""Export of a corpus to a file, and import of such a file, in bounded memory.

See `export_file` for the file. An export only reads the graph. Ids come from the content, so an
import that was interrupted is simply run again.
"""

import asyncio
import json
import shlex
from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from itertools import groupby, islice
from operator import attrgetter
from os import PathLike
from shutil import copyfileobj
from tempfile import SpooledTemporaryFile
from typing import IO, Any, BinaryIO

from graphreader.documents import AtomicFact, Chunk, Document, KeyElement
from graphreader.errors import EmbeddingMismatchError
from graphreader.files import atomic_write
from graphreader.ingestion.export_file import (
    FORMAT,
    ChunkRecord,
    Counts,
    DocumentRecord,
    Export,
    FactRecord,
    Header,
    KeyElementRecord,
    Line,
    open_export,
    wrong_line,
)
from graphreader.ingestion.extraction import identity
from graphreader.ingestion.normalization.normalizer import Normalizer
from graphreader.store import schema
from graphreader.store.catalog import Catalog, DocumentState, DocumentStatus
from graphreader.store.connection import Connection, Row, Run
from graphreader.store.writer import (
    Deleter,
    DocumentVersion,
    GraphWriter,
    ReadChunk,
    check_embedding,
)

TransferProgress = Callable[[Counts], None]


def no_transfer_progress(counts: Counts) -> None:
    """Ignore the progress."""


@dataclass(frozen=True, slots=True)
class TransferReport:
    """The outcome of an export or import.

    `incomplete` counts those of the `documents` that are not complete, `unchanged` those that the
    corpus had already; they are not in the other numbers. `refused` has a sentence for each
    document that was left out.
    """

    corpus: str
    documents: int
    chunks: int
    facts: int
    key_elements: int
    incomplete: int = 0
    unchanged: int = 0
    refused: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self) | {"refused": list(self.refused)}


# Export.

DOCUMENTS_PER_PAGE = 20
CHUNKS_PER_PAGE = 40
KEY_ELEMENTS_PER_PAGE = 200

ATTEMPTS = 3
"""How often a document is read that other processes change meanwhile."""

_IN_MEMORY = 2**20


async def export_corpus(
    connection: Connection,
    corpus: str,
    target: str | PathLike[str] | BinaryIO,
    progress: TransferProgress = no_transfer_progress,
) -> TransferReport:
    """Write a whole corpus to a file, which appears only once it is complete.

    Each document is exported as it was at one moment. One that other processes keep changing is
    left out, and the report says so. Raises UnknownCorpusError.
    """
    record = await Catalog(connection).corpus(corpus)
    stages = (await connection.read("read/stages_in_force", corpus=corpus))[0]["stages"]
    header = Header(graphreader=FORMAT, corpus=corpus, **asdict(record), stages=tuple(stages))
    with atomic_write(target) if isinstance(target, str | PathLike) else nullcontext(target) as out:
        return await _Exporter(connection, corpus, out, progress).run(header)


@dataclass(slots=True)
class _Copy:
    """A document as the graph had it, and its lines, kept until it is read again to compare."""

    row: Row
    lines: IO[bytes]
    chunks: int = 0
    facts: int = 0

    def is_same(self, row: Row | None) -> bool:
        """Whether the copy is whole and the document unchanged."""
        return row == self.row and (self.chunks, self.facts) == (
            len(self.row["chunks"]),
            self.row["facts"],
        )


class _Exporter:
    def __init__(
        self, connection: Connection, corpus: str, out: BinaryIO, progress: TransferProgress
    ) -> None:
        self._connection = connection
        self._corpus = corpus
        self._out = out
        self._progress = progress
        self._counts: Counter[str] = Counter()
        self._incomplete = 0
        self._refused: list[str] = []

    async def run(self, header: Header) -> TransferReport:
        await self._write(f"{header.model_dump_json()}\n".encode())
        last = None
        while rows := await self._connection.read(
            "read/documents_after", corpus=self._corpus, after=last, limit=DOCUMENTS_PER_PAGE
        ):
            await self._export_documents([row["id"] for row in rows])
            last = rows[-1]["source"]
        last = ""
        while rows := await self._connection.read(
            "read/key_elements_after", corpus=self._corpus, after=last, limit=KEY_ELEMENTS_PER_PAGE
        ):
            await self._write(b"".join(_key_element(row).line("key_element") for row in rows))
            self._counts["key_elements"] += len(rows)
            self._progress(Counts(**self._counts))
            last = rows[-1]["id"]
        counts = Counts(**self._counts)
        await self._write(counts.line("end"))
        return TransferReport(
            self._corpus,
            **counts.model_dump(),
            incomplete=self._incomplete,
            refused=tuple(self._refused),
        )

    async def _write(self, data: bytes) -> None:
        """Write in a thread: the file may be a pipe with a slow reader."""
        await asyncio.to_thread(self._out.write, data)

    async def _export_documents(self, ids: Sequence[str]) -> None:
        """Write documents, those that change meanwhile once more."""
        for _ in range(ATTEMPTS):
            changed = []
            with ExitStack() as files:
                copies = await self._copy(ids, files)
                rows = {row["id"]: row for row in await self._rows(ids)}
                for copy in copies:
                    if copy.is_same(rows.get(copy.row["id"])):
                        await self._write_copy(copy)
                    elif copy.row["id"] in rows:
                        changed.append(copy.row)
            self._progress(Counts(**self._counts))
            ids = [row["id"] for row in changed]
            if not ids:
                return
        self._refused += [
            f"{row['title']} was being changed and is left out: export the corpus again afterwards."
            for row in changed
        ]

    async def _rows(self, ids: Sequence[str]) -> list[Row]:
        return await self._connection.read("read/documents_in_full", ids=ids)

    async def _copy(self, ids: Sequence[str], files: ExitStack) -> list[_Copy]:
        """Copy documents into temporary files; chunks are read in pages across documents."""
        copies = []
        for row in await self._rows(ids):
            file = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  # closed with the others
            lines = files.enter_context(file)
            lines.write(_document(row).line("document"))
            copies.append(_Copy(row, lines))
        chunks = [(id_, copy) for copy in copies for id_ in copy.row["chunks"]]
        for start in range(0, len(chunks), CHUNKS_PER_PAGE):
            page = dict(chunks[start : start + CHUNKS_PER_PAGE])
            for row in await self._connection.read("read/chunks_in_full", ids=list(page)):
                copy = page[row["id"]]
                copy.lines.write(_chunk(row).line("chunk"))
                copy.chunks += 1
                copy.facts += len(row["facts"])
        return copies

    async def _write_copy(self, copy: _Copy) -> None:
        copy.lines.seek(0)
        await asyncio.to_thread(copyfileobj, copy.lines, self._out)
        self._counts.update(documents=1, chunks=copy.chunks, facts=copy.facts)
        self._incomplete += not copy.row["complete"]


def _document(row: Row) -> DocumentRecord:
    own = {"metadata", "page_starts", "headings"}
    return DocumentRecord(
        **{name: row[name] for name in DocumentRecord.model_fields if name not in own},
        metadata=json.loads(row["metadata"]),
        page_starts=tuple(row["page_starts"]),
        headings=tuple(zip(row["heading_starts"], row["headings"], strict=True)),
    )


def _chunk(row: Row) -> ChunkRecord:
    facts = (FactRecord(text=one["text"], key_elements=dict(one["names"])) for one in row["facts"])
    return ChunkRecord(
        **{name: row[name] for name in ChunkRecord.model_fields if name != "facts"},
        facts=tuple(facts),
    )


def _key_element(row: Row) -> KeyElementRecord:
    return KeyElementRecord(
        key=row["key"],
        embedding=_short_numbers(row["embedding"]) if row["embedding"] else None,
        fresh=row["fresh"],
        likes=dict(row["likes"]),
    )


def _short_numbers(vector: list[float]) -> tuple[float, ...]:
    """The numbers with as few digits as give them back exactly.

    Neo4j keeps 32 bits of each, for which nine digits are enough.
    """
    if array("f", vector).tolist() != vector:
        return tuple(vector)
    return tuple(float(f"{number:.9g}") for number in vector)


# Import.

LINES_PER_BATCH = 100


async def import_corpus(
    connection: Connection,
    corpus: str,
    source: str | PathLike[str] | Export,
    progress: TransferProgress = no_transfer_progress,
) -> TransferReport:
    """Read an exported corpus into the corpus of this name; no model or embedder is asked.

    Documents that the corpus has already stay, also where they are further than in the file. A
    document that it has with another text is left out, and the report says so. Documents are
    complete only once the whole file is read. Raises EmbeddingMismatchError, and UsageError for a
    file that is no whole export.
    """
    with nullcontext(source) if isinstance(source, Export) else open_export(source) as export:
        header = export.header
        for row in await connection.read("read/corpus", corpus=corpus):
            check_embedding(corpus, row["embedding"], header.embedding)
        dimension = await schema.dimension(connection)
        if dimension not in (None, header.dimension):
            raise EmbeddingMismatchError(
                f"The vector index of this database has {dimension} dimensions, the vectors of the "
                f"export have {header.dimension}: import it into another database, or first embed "
                f"this one anew with {header.embedding!r} (`graphreader reindex`)."
            )
        await schema.prepare(connection, header.dimension)
        return await _Importer(connection, corpus, header, progress).run(export)


class _DocumentImport:
    """A document of an export and its chunks so far, without their texts.

    `arranged` are the chunks in order, `pending` the ids of those of an unfinished edit;
    `is_known` says whether the graph has parts of the document already.
    """

    def __init__(self, corpus: str, line: int, record: DocumentRecord, is_known: bool) -> None:
        fields = {"title", "source", "sha256", "language", "metadata", "page_starts", "headings"}
        self.document = Document(
            corpus=corpus,
            id=_document_id(corpus, record),
            text="",
            **record.model_dump(include=fields),
        )
        self.record = record
        self.is_known = is_known
        self.arranged: list[Chunk] = []
        self.pending: set[str] = set()
        self._line = line
        self._text_hash = sha256()
        self._end = 0
        self._texts: Counter[str] = Counter()

    @property
    def version(self) -> DocumentVersion:
        """The version whose chunks are in order."""
        return DocumentVersion(self.document.id, self.record.arranged or "", len(self.arranged))

    def add(self, line: int, record: ChunkRecord) -> ReadChunk:
        """Take the next chunk. Raises UsageError where it does not follow the one before."""
        follows = (record.index, record.start) == (len(self.arranged), self._end)
        if self.record.arranged and not record.pending and not follows:
            raise wrong_line(line, "the chunk does not follow the one before it")
        if record.end - record.start != len(record.text):
            raise wrong_line(line, "the chunk's text is not as long as it says")
        if len({fact.text for fact in record.facts}) < len(record.facts):
            raise wrong_line(line, "a fact stands there twice")
        text_id = identity(record.text)
        chunk = Chunk(
            id=identity(self.document.id, record.text, str(self._texts[text_id])),
            document=self.document.id,
            **record.model_dump(include={"index", "start", "end", "text", "tokens"}),
        )
        self._texts[text_id] += 1
        if record.pending:
            self.pending.add(chunk.id)
        else:
            self.arranged.append(replace(chunk, text=""))
            self._text_hash.update(record.text.encode())
            self._end = record.end
        facts = (self._fact(chunk.id, index, fact) for index, fact in enumerate(record.facts))
        return ReadChunk(chunk, tuple(facts), record.error, record.pending)

    def check(self) -> None:
        """Raise UsageError where a complete document's chunks do not give its text."""
        if self.record.complete and self._text_hash.hexdigest() != self.record.sha256:
            raise wrong_line(self._line, "the chunks behind it are not the document's text")

    def _fact(self, chunk: str, index: int, record: FactRecord) -> AtomicFact:
        # One wording for each key: the last one.
        surfaces = {key: surface for surface, key in record.key_elements.items()}
        elements = (
            KeyElement(identity(self.document.corpus, key), key, surface)
            for key, surface in surfaces.items()
        )
        return AtomicFact(identity(chunk, record.text), chunk, index, record.text, tuple(elements))


def _document_id(corpus: str, record: DocumentRecord) -> str:
    return identity(corpus, record.source)


@dataclass(slots=True)
class _Batch:
    """What some lines hold, to be written together."""

    started: list[_DocumentImport] = field(default_factory=list)
    chunks: list[ReadChunk] = field(default_factory=list)
    ended: list[_DocumentImport] = field(default_factory=list)
    key_elements: list[KeyElementRecord] = field(default_factory=list)


class _Importer:
    """Reads the lines of one export in batches."""

    def __init__(
        self, connection: Connection, corpus: str, header: Header, progress: TransferProgress
    ) -> None:
        self._connection = connection
        self._corpus = corpus
        self._header = header
        self._progress = progress
        self._writer = GraphWriter(connection, corpus)
        self._deleter = Deleter(connection, corpus)
        self._status = DocumentStatus(connection, corpus)
        self._read: Counter[str] = Counter()  # lines of the file
        self._imported: Counter[str] = Counter()
        self._unchanged = 0
        self._refused: list[str] = []
        self._to_complete: list[DocumentVersion] = []
        self._current: _DocumentImport | None = None
        self._is_only_source = False  # the corpus has no other complete documents
        self._is_settled = False

    async def run(self, export: Export) -> TransferReport:
        await self._deleter.finish_deletes()
        extent = await Catalog(self._connection).extent(self._corpus)
        self._is_only_source = len(extent.unfinished) == extent.documents
        fields = {"decider", "prompts", "embedding", "dimension"}
        await self._writer.begin_corpus(**self._header.model_dump(include=fields))
        lines = export.lines()
        while some := await asyncio.to_thread(lambda: list(islice(lines, LINES_PER_BATCH))):
            await self._write(await self._batch(some))
            self._progress(Counts(**self._imported))
        complete = await self._normalize_and_complete()
        return TransferReport(
            self._corpus,
            **Counts(**self._imported).model_dump(),
            incomplete=self._imported["documents"] - len(complete),
            unchanged=self._unchanged,
            refused=tuple(self._refused),
        )

    async def _batch(self, lines: Sequence[tuple[int, Line]]) -> _Batch:
        """Sort lines by kind and check their order: documents, key elements, end."""
        ids = [_document_id(self._corpus, line.document) for _, line in lines if line.document]
        states = await self._status.of(ids) if ids else {}
        read_chunks = {id_: await self._read_chunks(one) for id_, one in states.items()}
        batch = _Batch()
        for number, line in lines:
            if line.chunk:
                self._take_chunk(number, line.chunk, batch)
                continue
            if self._current:
                self._current.check()
                batch.ended.append(self._current)
                self._current = None
            if line.document:
                self._start_document(number, line.document, states, read_chunks, batch)
            elif line.key_element:
                self._take_key_element(number, line.key_element, batch)
            elif line.end != Counts(**self._read):
                raise wrong_line(number, "it does not count what stands before it")
        return batch

    async def _read_chunks(self, state: DocumentState) -> int:
        """How many chunks of an incomplete document have their facts."""
        chunks = [] if state.complete else await self._status.chunks(state.id)
        return sum(one.error is None and not one.retired for one in chunks)

    def _start_document(
        self,
        number: int,
        record: DocumentRecord,
        states: Mapping[str, DocumentState],
        read_chunks: Mapping[str, int],
        batch: _Batch,
    ) -> None:
        self._read["documents"] += 1
        state = states.get(_document_id(self._corpus, record))
        if state and state.sha256 != record.sha256:
            self._refused.append(
                f"{record.title} is in the corpus {self._corpus!r} with another text: take that "
                f"out with `graphreader delete {state.id} --corpus {shlex.quote(self._corpus)}` "
                "and import again."
            )
        elif state and (
            state.complete or (not record.complete and read_chunks[state.id] > record.read_chunks)
        ):
            self._unchanged += 1
        else:
            self._current = _DocumentImport(self._corpus, number, record, state is not None)
            self._imported["documents"] += 1
            batch.started.append(self._current)

    def _take_chunk(self, number: int, record: ChunkRecord, batch: _Batch) -> None:
        if not self._read["documents"] or self._read["key_elements"]:
            raise wrong_line(number, "a chunk stands behind its document")
        counts = {"chunks": 1, "facts": len(record.facts)}
        self._read.update(counts)
        if self._current:
            self._imported.update(counts)
            batch.chunks.append(self._current.add(number, record))

    def _take_key_element(self, number: int, record: KeyElementRecord, batch: _Batch) -> None:
        if record.embedding and len(record.embedding) != self._header.dimension:
            raise wrong_line(number, f"the vector has not {self._header.dimension} numbers")
        self._read["key_elements"] += 1
        batch.key_elements.append(record)

    async def _write(self, batch: _Batch) -> None:
        """Write a batch; everything comes after what it refers to."""
        by_limit = attrgetter("record.chunk_tokens")
        for limit, started in groupby(sorted(batch.started, key=by_limit), by_limit):
            await self._writer.begin_documents([one.document for one in started], limit)
        await self._writer.write_chunks(batch.chunks)
        await self._arrange([one for one in batch.ended if one.record.arranged])
        await self._write_key_elements(batch.key_elements)

    async def _arrange(self, documents: Sequence[_DocumentImport]) -> None:
        """Put chunks in order and delete those of an earlier attempt that are not in the file."""
        await self._writer.chain([one.version for one in documents if not one.is_known])
        for one in documents:
            if one.is_known:
                others = await self._writer.arrange(one.version, one.arranged)
                await self._deleter.delete_chunks([id_ for id_ in others if id_ not in one.pending])
            if one.record.complete:
                self._to_complete.append(one.version)

    async def _write_key_elements(self, records: Sequence[KeyElementRecord]) -> None:
        """Write vectors where there are none yet, and the similar pairs."""
        if not records:
            return
        if not self._is_settled:  # settling makes renamed key elements fresh: it comes first
            await self._writer.settle()
            self._is_settled = True
        by_id = {identity(self._corpus, one.key): one for one in records}
        lacking = sorted(await self._writer.unembedded_among(sorted(by_id)))
        self._imported["key_elements"] += len(lacking)
        vectors = {id_: list(vector) for id_ in lacking if (vector := by_id[id_].embedding)}
        await self._writer.write_embeddings(vectors.items())
        fresh = {id_: one.fresh for id_, one in by_id.items()}
        if not self._is_only_source:  # new vectors were never compared with the other documents'
            fresh = dict.fromkeys(vectors, True)
        flags = [{"id": id_, "fresh": fresh[id_]} for id_ in sorted(fresh)]
        # The smaller id comes first: ids have another order in another corpus.
        pairs = sorted(
            (*sorted([id_, identity(self._corpus, other)]), score)
            for id_, one in by_id.items()
            for other, score in one.likes.items()
        )
        pair_rows = [{"a": a, "b": b, "score": score} for a, b, score in pairs]

        async def work(run: Run) -> None:
            await run("write/mark_fresh", elements=flags)
            await run("write/similar_pairs", pairs=pair_rows)

        await self._connection.transact(work, lock=self._corpus)

    async def _normalize_and_complete(self) -> set[str]:
        """Normalize, and complete the documents whose key elements all have vectors."""
        rows = await self._connection.read("read/stages_in_force", corpus=self._corpus)
        stages = {*self._header.stages, *rows[0]["stages"]}
        await Normalizer(self._connection, self._corpus, stages).run()
        lacking = await self._writer.unembedded()
        complete: set[str] = set()
        for version in self._to_complete:
            if not lacking or not await self._writer.unembedded(version.id):
                complete |= await self._writer.complete([version])
        return complete
