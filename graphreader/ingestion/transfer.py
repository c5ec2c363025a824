"""Export of a corpus to a file of JSON Lines (`export_file`), and import of such a file.

An import can be repeated, since ids follow from the content; it normalizes the corpus.
"""

import asyncio
import json
import shlex
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from itertools import accumulate
from os import PathLike
from typing import Any, BinaryIO

import numpy as np
from pydantic import BaseModel

from graphreader.documents import (
    AtomicFact,
    Chunk,
    ChunkFacts,
    Document,
    Heading,
    KeyElement,
    Place,
    check_corpus_name,
    identity,
)
from graphreader.files import atomic_write
from graphreader.ingestion.chunking import with_heading_paths
from graphreader.ingestion.export_file import (
    ChunkRecord,
    DocumentRecord,
    Export,
    FactRecord,
    Header,
    Item,
    KeyElementRecord,
    Line,
    PassageRecord,
    open_export,
    packed,
    unpacked,
)
from graphreader.ingestion.normalization.normalizer import Normalizer
from graphreader.store import schema
from graphreader.store.catalog import Catalog, DocumentState, DocumentStatus
from graphreader.store.connection import Connection, Row
from graphreader.store.joins import DocumentJoins, Join, NameJoins
from graphreader.store.writer import Deleter, DocumentVersion, GraphWriter
from graphreader.text.passages import passages_of

CHUNKS_IN_MEMORY = 500
ROWS_PER_PAGE = 50
KEY_ELEMENTS_PER_PAGE = 200
LINES_PER_BATCH = 100

# The powers that a float represents exactly.
_POWERS = np.array([10.0**digits for digits in range(23)])

_NOT_OF_DOCUMENTS = {
    *("chunk_tokens", "chunks", "page_starts", "headings", "joins", "asked_names", "tagged")
}


@dataclass(slots=True)
class TransferReport:
    """The counts of an export or import, so far or at its end.

    `incomplete` documents lack facts, `unchanged` documents were in the corpus already; `refused`
    has a sentence for each document that was left out.
    """

    corpus: str
    documents: int = 0
    chunks: int = 0
    facts: int = 0
    key_elements: int = 0
    incomplete: int = 0
    unchanged: int = 0
    refused: list[str] = field(default_factory=list)

    def add(self, document: DocumentRecord) -> None:
        """Count a document."""
        self.documents += 1
        self.chunks += len(document.chunks)
        self.facts += sum(len(chunk.facts) for chunk in document.chunks)

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self)


async def export_corpus(
    connection: Connection,
    corpus: str,
    target: str | PathLike[str] | BinaryIO,
) -> TransferReport:
    """Write a whole corpus as JSON Lines to a file (atomically) or a stream.

    It contains settings, documents with chunks and facts, key elements, and vectors; no merges and
    no runs. Incomplete documents, and documents that change meanwhile, are left out, with a
    sentence in `refused`. Raises UnknownCorpusError.
    """
    record = await Catalog(connection).corpus(corpus)
    header = Header(graphreader=2, corpus=corpus, **asdict(record))
    report = TransferReport(corpus)
    with atomic_write(target) if isinstance(target, str | PathLike) else nullcontext(target) as out:
        out.write(_line(header))
        async for lines in _exported_pages(connection, report):
            page = b"".join(map(_line, lines))
            await asyncio.to_thread(out.write, page)  # may be a pipe with a slow reader
    return report


def _line(record: BaseModel) -> bytes:
    return record.model_dump_json(exclude_defaults=True).encode() + b"\n"


async def _exported_pages(
    connection: Connection, report: TransferReport
) -> AsyncIterator[list[Line]]:
    """Yield pages of lines after the header, each with one large or several small documents."""
    corpus, last = report.corpus, None
    while rows := await connection.read(
        "read/documents_after", corpus=corpus, after=last, limit=ROWS_PER_PAGE
    ):
        ids = [row["id"] for row in rows]
        documents = await connection.read("read/documents_in_full", corpus=corpus, ids=ids)
        while documents:
            ends = accumulate(len(row["chunks"]) for row in documents)
            number = sum(end <= CHUNKS_IN_MEMORY for end in ends) or 1
            page = await _exported_documents(connection, documents[:number], report)
            yield [Line(document=document) for document in page]
            documents = documents[number:]
        last = rows[-1]["source"]
    last = ""
    while rows := await connection.read(
        "read/key_elements_after", corpus=corpus, after=last, limit=KEY_ELEMENTS_PER_PAGE
    ):
        report.key_elements += len(rows)
        yield [Line(key_element=_key_element(row)) for row in rows]
        last = rows[-1]["id"]
    yield [Line(end=report.documents + report.key_elements)]


def _key_element(row: Row) -> KeyElementRecord:
    vector = _short_numbers(row["embedding"]) if row["embedding"] else None
    return KeyElementRecord(key=row["key"], embedding=vector)


async def _exported_documents(
    connection: Connection, rows: Sequence[Row], report: TransferReport
) -> list[DocumentRecord]:
    """Read the documents whose chunks are complete; a running edit leaves other chunks."""
    chunks: dict[str, list[ChunkRecord]] = {row["id"]: [] for row in rows}
    places = [(id_, row["id"]) for row in rows for id_ in row["chunks"]]
    for start in range(0, len(places), ROWS_PER_PAGE):
        page = dict(places[start : start + ROWS_PER_PAGE])
        for row in await connection.read(
            "read/chunks_in_full", corpus=report.corpus, ids=list(page)
        ):
            chunks[page[row["chunk"]["id"]]].append(_chunk(row))
    documents = []
    for row in rows:
        document = _document(row, chunks[row["id"]])
        if document.is_whole:
            documents.append(document)
            report.add(document)
            report.incomplete += not row["complete"]
        else:
            report.refused.append(
                f"{document.title} is not read to its end, or was being changed, and is left out: "
                "run `graphreader ingest` for it, and export the corpus again."
            )
    return documents


def _document(row: Row, chunks: Sequence[ChunkRecord]) -> DocumentRecord:
    return DocumentRecord(
        **{name: row[name] for name in ("title", "source", "language", "sha256", "chunk_tokens")},
        metadata=json.loads(row["metadata"]),
        encoding=row["encoding"],
        tags=tuple(row["tags"]),
        date=row["date"],
        tagged=row["tagged"],
        page_starts=tuple(row["page_starts"]),
        headings=Heading.of(row),
        joins=tuple(map(tuple, row["joins"])),
        asked_names=row["asked_names"],
        chunks=tuple(chunks),
    )


def _chunk(row: Row) -> ChunkRecord:
    facts = (
        FactRecord(
            text=one["text"],
            key_elements=dict(one["names"]),
            **{name: value for name, value in one["place"].items() if value is not None},
        )
        for one in row["facts"]
    )
    passages = (
        PassageRecord(**{**one, "embedding": packed(one["embedding"])}) for one in row["passages"]
    )
    chunk = row["chunk"]
    places = {name: tuple(chunk.get(name) or ()) for name in ("place_starts", "place_names")}
    return ChunkRecord(**{**chunk, **places}, facts=tuple(facts), passages=tuple(passages))


def _short_numbers(vector: list[float]) -> tuple[float, ...]:
    """Round numbers to the fewest digits that restore them exactly: nine for 32-bit floats."""
    numbers = np.asarray(vector)
    digits = 9 - np.ceil(np.log10(np.maximum(np.abs(numbers), 1e-13)))
    scale = _POWERS[np.clip(digits, 0, 22).astype(int)]
    short = np.round(numbers * scale) / scale
    gives_back = (short.astype(np.float32) == numbers).all()
    return tuple(short.tolist() if gives_back else vector)


async def import_corpus(
    connection: Connection,
    corpus: str,
    source: str | PathLike[str] | Export,
    stages: Collection[str],
) -> TransferReport:
    """Import an exported corpus into `corpus`, without a model; normalize it by `stages`.

    Complete documents stay; a document with another text is left out, with a sentence in
    `refused`. Raises EmbeddingMismatchError if the corpus has other embeddings, and UsageError if
    the file is no complete export, or the name is none for a new corpus, before anything is
    written. A repeated import completes an interrupted one.
    """
    with nullcontext(source) if isinstance(source, Export) else open_export(source) as export:
        await asyncio.to_thread(export.check)
        await schema.prepare(connection)
        is_new = await Catalog(connection).find_corpus(corpus) is None
        check_corpus_name(corpus, is_new=is_new)
        return await _Importer(connection, corpus).run(export, stages)


class _Importer:
    """A writer of the items of one export, in batches."""

    def __init__(self, connection: Connection, corpus: str) -> None:
        self._connection = connection
        self._corpus = corpus
        self._writer = GraphWriter(connection, corpus)
        self._deleter = Deleter(connection, corpus)
        self._joins = NameJoins(connection, corpus)
        self._report = TransferReport(corpus)
        self._versions: list[DocumentVersion] = []

    async def run(self, export: Export, stages: Collection[str]) -> TransferReport:
        await self._deleter.finish_deletes()
        fields = {"decider", "prompts", "embedding", "dimension"}
        await self._writer.begin_corpus(**export.header.model_dump(include=fields))
        items = export.items()
        while batch := await asyncio.to_thread(_next_batch, items):
            await self._import_documents([one for one in batch if isinstance(one, DocumentRecord)])
            await self._import_key_elements(
                [one for one in batch if isinstance(one, KeyElementRecord)]
            )
        await Normalizer(self._connection, self._corpus, stages).run()
        versions = self._versions
        if await self._writer.unembedded():
            versions = [one for one in versions if not await self._writer.unembedded(one.id)]
        complete = await self._writer.complete(versions)
        self._report.incomplete = len(self._versions) - len(complete)
        return self._report

    async def _import_documents(self, records: Sequence[DocumentRecord]) -> None:
        by_id = {identity(self._corpus, one.source): one for one in records}
        states = await DocumentStatus(self._connection, self._corpus).of(list(by_id))
        wanted = {id_: one for id_, one in by_id.items() if self._is_wanted(one, states.get(id_))}
        for limit in {one.chunk_tokens for one in wanted.values()}:
            documents = [
                self._document(id_, one) for id_, one in wanted.items() if one.chunk_tokens == limit
            ]
            await self._writer.write_chunks([], documents, limit)
        chunks = {id_: self._chunks(id_, one) for id_, one in wanted.items()}
        every_chunk = [chunk for own in chunks.values() for chunk in own]
        for start in range(0, len(every_chunk), LINES_PER_BATCH):
            await self._writer.write_chunks(every_chunk[start : start + LINES_PER_BATCH])
        for id_, one in wanted.items():
            await self._writer.write_passage_embeddings(_passage_vectors(one, chunks[id_]))
        versions = {
            id_: DocumentVersion.of(id_, one.sha256, one.chunk_tokens, len(one.chunks))
            for id_, one in wanted.items()
        }
        new = [one for id_, one in versions.items() if id_ not in states]
        await self._writer.write_chunks([], whole=new)
        for id_ in versions.keys() & states.keys():  # the graph may have chunks of other boundaries
            own = [one.chunk for one in chunks[id_]]
            await self._deleter.delete_chunks(await self._writer.arrange(versions[id_], own))
        for id_, one in wanted.items():
            if one.joins or one.asked_names:
                await self._joins.record(self._joins_of(id_, one))
        if tagged := [id_ for id_, one in wanted.items() if one.tagged]:
            await self._writer.tag(tagged)
        self._versions += versions.values()

    def _is_wanted(self, record: DocumentRecord, state: DocumentState | None) -> bool:
        """Whether to import a document: not if the corpus has it complete, further or changed."""
        if state and state.sha256 != record.sha256:
            self._report.refused.append(
                f"{record.title} is in the corpus {self._corpus!r} with another text: take that "
                f"out with `graphreader delete {state.id} --corpus {shlex.quote(self._corpus)}` "
                "and import again."
            )
        elif state and (state.complete or _is_further(state, record)):
            self._report.unchanged += 1
        else:
            self._report.add(record)
            return True
        return False

    def _joins_of(self, id_: str, record: DocumentRecord) -> DocumentJoins:
        joins = (
            Join(identity(self._corpus, key), identity(self._corpus, into), by)
            for key, into, by in record.joins
        )
        return DocumentJoins(id_, joins=tuple(joins), asked=record.asked_names)

    def _document(self, id_: str, record: DocumentRecord) -> Document:
        values = record.model_dump(exclude=_NOT_OF_DOCUMENTS)
        headings = tuple(Heading(*one) for one in record.headings)
        places = Place.pages(record.page_starts)
        return Document(
            corpus=self._corpus, id=id_, text="", headings=headings, places=places, **values
        )

    def _chunks(self, document: str, record: DocumentRecord) -> list[ChunkFacts[Chunk]]:
        times: Counter[str] = Counter()
        chunks = []
        for one in record.chunks:
            id_ = identity(document, one.text, str(times[one.text]))
            times[one.text] += 1
            values = one.model_dump(exclude={"facts", "passages"}, exclude_none=True)
            place = {"document": record.title, "document_id": document, "source": record.source}
            chunk = Chunk.of({"id": id_, **place, **values})
            chunks.append(chunk)
        headings = (Heading(*one) for one in record.headings)
        return [
            ChunkFacts(chunk, tuple(self._fact(chunk, n, fact) for n, fact in enumerate(one.facts)))
            for chunk, one in zip(with_heading_paths(chunks, headings), record.chunks, strict=True)
        ]

    def _fact(self, chunk: Chunk, index: int, record: FactRecord) -> AtomicFact:
        elements = tuple(
            KeyElement(identity(self._corpus, key), surface, key)
            for surface, key in record.key_elements.items()
        )
        place = record.model_dump(include={"start", "end", "heading", "speaker", "when"})
        id_ = identity(chunk.id, record.text)
        return AtomicFact(id_, chunk, index, record.text, elements, **place)

    async def _import_key_elements(self, records: Sequence[KeyElementRecord]) -> None:
        """Write missing vectors of key elements; normalization compares them."""
        by_id = {identity(self._corpus, one.key): one for one in records}
        lacking = sorted(await self._writer.unembedded_among(list(by_id)))
        self._report.key_elements += len(lacking)
        vectors = {id_: list(vector) for id_ in lacking if (vector := by_id[id_].embedding)}
        await self._writer.write_embeddings(vectors.items(), fresh=vectors)


def _is_further(state: DocumentState, record: DocumentRecord) -> bool:
    """Whether the corpus has more chunks with facts than the file, which would replace them."""
    read = sum(one.error is None for one in record.chunks)
    is_other_cut = state.chunk_tokens != record.chunk_tokens
    return is_other_cut and read < len(record.chunks) and read < state.read_chunks


def _passage_vectors(
    record: DocumentRecord, chunks: Sequence[ChunkFacts[Chunk]]
) -> Iterator[tuple[str, list[float]]]:
    """Yield (id of the passage, vector) for the passages of a document that the file has, too."""
    for one, chunk in zip(record.chunks, chunks, strict=True):
        vectors = {(passage.start, passage.end): passage.embedding for passage in one.passages}
        for passage in passages_of(chunk.chunk) if vectors else ():
            if vector := vectors.get((passage.start, passage.end)):
                yield passage.id, unpacked(vector)


def _next_batch(items: Iterator[Item]) -> list[Item]:
    """Return the next items: about LINES_PER_BATCH documents and chunks, or key elements."""
    batch: list[Item] = []
    size = 0
    for item in items:
        batch.append(item)
        size += 1 + (len(item.chunks) if isinstance(item, DocumentRecord) else 0)
        if size >= LINES_PER_BATCH:
            break
    return batch
