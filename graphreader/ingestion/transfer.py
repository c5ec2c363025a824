"""Export of a corpus to a file, and import of such a file.

The file is JSON Lines in UTF-8: a header, then for each document a line followed by one line per
chunk, then a line per key element with its vector, and a last line with counts, by which a file
that was cut off is recognized. Except for the header each line is an object with one key that names
its kind, {"chunk": {...}}. Fields with default values are left out, unknown fields are ignored. The
file has no ids: they follow from the content, so an import that was interrupted is simply run
again. It has no merges of key elements, only the stages of normalization.
"""

import asyncio
import json
import shlex
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from itertools import accumulate, groupby, islice
from operator import attrgetter
from os import PathLike
from typing import Annotated, Any, BinaryIO, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from graphreader.documents import AtomicFact, Chunk, Document, KeyElement
from graphreader.errors import EmbeddingMismatchError, UsageError
from graphreader.files import atomic_write, bounded_lines
from graphreader.ingestion.extraction import identity
from graphreader.ingestion.normalization.normalizer import Normalizer
from graphreader.ingestion.normalization.rules import LONGEST
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

FORMAT = 1
"""The number of the file format."""

DOCUMENTS_PER_PAGE = 20
CHUNKS_IN_MEMORY = 2_000
CHUNKS_PER_PAGE = 40
KEY_ELEMENTS_PER_PAGE = 200
LINES_PER_BATCH = 100

_MAX_LINE = 2**26  # bytes; the lines of an export are far shorter

_Count = Annotated[int, Field(ge=0, lt=2**53)]
_Name = Annotated[str, Field(min_length=1, max_length=LONGEST)]


class _Record(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, allow_inf_nan=False)

    def line(self, kind: str) -> bytes:
        """The record as a line of that kind."""
        body = self.model_dump_json(exclude_defaults=True)
        return f'{{"{kind}":{body}}}\n'.encode()


class _Format(_Record):
    graphreader: int


class Header(_Record):
    """How the corpus was made; `graphreader` is the number of the file format.

    `stages` are the stages of normalization that merged key elements. An import ignores stages
    that it does not know.
    """

    graphreader: int
    corpus: str
    decider: str
    prompts: str
    embedding: str
    dimension: Annotated[int, Field(ge=1, le=4096)]
    stages: tuple[str, ...] = ()


class DocumentRecord(_Record):
    """A document without its text, which its chunks give; `headings` are (start, text).

    `arranged` is the version of the text whose chunks are in order, `read_chunks` the number of
    chunks that have their facts.
    """

    title: str
    source: str
    language: str
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    chunk_tokens: _Count
    complete: bool
    arranged: str | None
    read_chunks: _Count = 0
    metadata: dict[str, Any] = Field(default_factory=dict)
    page_starts: tuple[_Count, ...] = ()
    headings: tuple[tuple[_Count, str], ...] = ()


class FactRecord(_Record):
    """A fact; `key_elements` maps each wording to the key of its key element."""

    text: Annotated[str, Field(min_length=1)]
    key_elements: dict[_Name, _Name]


class ChunkRecord(_Record):
    """A chunk of the document before it; `pending` ones belong to an unfinished edit."""

    index: _Count
    start: _Count
    end: _Count
    tokens: _Count
    text: str
    error: str | None = None
    pending: bool = False
    facts: tuple[FactRecord, ...] = ()


class KeyElementRecord(_Record):
    """A key element with its vector.

    `likes` maps the keys of similar key elements to the cosine similarity; a `fresh` one is still
    to be compared with the others.
    """

    key: _Name
    embedding: tuple[float, ...] | None = None
    fresh: bool = False
    likes: dict[_Name, float] = Field(default_factory=dict)


class Counts(_Record):
    """The numbers of exported or imported records."""

    documents: _Count = 0
    chunks: _Count = 0
    facts: _Count = 0
    key_elements: _Count = 0


class Line(_Record):
    """Any line but the header; exactly one field is set."""

    document: DocumentRecord | None = None
    chunk: ChunkRecord | None = None
    key_element: KeyElementRecord | None = None
    end: Counts | None = None


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


TransferProgress = Callable[[Counts], None]


def no_transfer_progress(counts: Counts) -> None:
    """Ignore the progress."""


async def export_corpus(
    connection: Connection,
    corpus: str,
    target: str | PathLike[str] | BinaryIO,
    progress: TransferProgress = no_transfer_progress,
) -> TransferReport:
    """Write a whole corpus to a file, which appears only once it is complete.

    Each document is exported as it was at one moment. One that changes meanwhile is left out, and
    the report says so. Raises UnknownCorpusError.
    """
    record = await Catalog(connection).corpus(corpus)
    stages = (await connection.read("read/stages_in_force", corpus=corpus))[0]["stages"]
    header = Header(graphreader=FORMAT, corpus=corpus, **asdict(record), stages=tuple(stages))
    with atomic_write(target) if isinstance(target, str | PathLike) else nullcontext(target) as out:
        return await _Exporter(connection, corpus, out, progress).run(header)


class _Exporter:
    """Writes documents and key elements in pages.

    Memory holds a document, or several of at most CHUNKS_IN_MEMORY in all.
    """

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
            documents = await self._rows([row["id"] for row in rows])
            while documents:
                ends = accumulate(len(row["chunks"]) for row in documents)
                page = sum(end <= CHUNKS_IN_MEMORY for end in ends) or 1
                await self._export_documents(documents[:page])
                documents = documents[page:]
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

    async def _export_documents(self, rows: Sequence[Row]) -> None:
        """Write documents, without those that change while they are read."""
        chunks = await self._chunks(rows)
        now = {row["id"]: row for row in await self._rows([row["id"] for row in rows])}
        for row in rows:
            own = chunks[row["id"]]
            facts = sum(len(chunk.facts) for chunk in own)
            is_whole = (len(own), facts) == (len(row["chunks"]), row["facts"])
            if is_whole and row == now.get(row["id"]):
                lines = [_document(row).line("document"), *(one.line("chunk") for one in own)]
                await self._write(b"".join(lines))
                self._counts.update(documents=1, chunks=len(own), facts=facts)
                self._incomplete += not row["complete"]
            elif row["id"] in now:
                self._refused.append(
                    f"{row['title']} was being changed and is left out: export the corpus again "
                    "afterwards."
                )
        self._progress(Counts(**self._counts))

    async def _rows(self, ids: Sequence[str]) -> list[Row]:
        return await self._connection.read("read/documents_in_full", ids=ids)

    async def _chunks(self, documents: Sequence[Row]) -> dict[str, list[ChunkRecord]]:
        """The chunks of each document, read in pages across documents."""
        chunks: dict[str, list[ChunkRecord]] = {row["id"]: [] for row in documents}
        places = [(id_, row["id"]) for row in documents for id_ in row["chunks"]]
        for start in range(0, len(places), CHUNKS_PER_PAGE):
            page = dict(places[start : start + CHUNKS_PER_PAGE])
            for row in await self._connection.read("read/chunks_in_full", ids=list(page)):
                chunks[page[row["id"]]].append(_chunk(row))
        return chunks


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


R = TypeVar("R", bound=_Record)


class Export:
    """Reads an exported corpus: the header at once, the other lines on demand.

    Blocks. Raises UsageError for a file that is no export, of a newer format, or cut off.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._numbered = bounded_lines(file, _MAX_LINE)
        self._number = 0
        line = self._next_line()
        try:
            number = _Format.model_validate_json(line).graphreader
        except ValidationError:
            raise UsageError(
                "This is not an exported corpus, its first line is no header: name a file that "
                "`graphreader export` made."
            ) from None
        if number > FORMAT:
            raise UsageError(
                f"This export has format {number}, and this version of GraphReader reads format "
                f"{FORMAT}: use a newer GraphReader."
            )
        self.header = self._parse(Header, line)

    def lines(self) -> Iterator[tuple[int, Line]]:
        """The lines after the header with their numbers, up to the one with the counts."""
        while text := self._next_line():
            line = self._parse(Line, text)
            if sum(value is not None for _, value in line) != 1:
                raise _wrong_line(
                    self._number, "it is not one of document, chunk, key_element, end"
                )
            yield self._number, line
            if line.end:
                return
        raise self._cut_off()

    def _next_line(self) -> bytes:
        """The next line that is not blank; empty at the end."""
        self._number, line = next(self._numbered, (self._number, b""))
        return line

    def _parse(self, kind: type[R], text: bytes) -> R:
        try:
            return kind.model_validate_json(text)
        except ValidationError as error:
            if not text.endswith(b"\n"):
                raise self._cut_off() from None
            first = error.errors(include_input=False, include_url=False)[0]
            where = ".".join(map(str, first["loc"]))
            reason = f"{where}: {first['msg']}" if where else first["msg"]
            raise _wrong_line(self._number, reason) from None

    def _cut_off(self) -> UsageError:
        return UsageError(
            f"The export was cut off at line {self._number}: its last line is missing. Export the "
            "corpus again."
        )


@contextmanager
def open_export(path: str | PathLike[str]) -> Iterator[Export]:
    """Open an exported corpus. Raises UsageError, also where the file cannot be opened."""
    try:
        file = open(path, "rb")  # noqa: SIM115  # only opening it is inside the try
    except OSError as error:
        raise UsageError(
            f"{path} cannot be opened ({error.strerror}): check the path and its permissions."
        ) from None
    with file:
        yield Export(file)


def _wrong_line(number: int, reason: str) -> UsageError:
    return UsageError(f"Line {number} of the export is wrong ({reason}): export the corpus again.")


async def import_corpus(
    connection: Connection,
    corpus: str,
    source: str | PathLike[str] | Export,
    progress: TransferProgress = no_transfer_progress,
) -> TransferReport:
    """Read an exported corpus into the corpus of this name; no model or embedder is asked.

    Documents that are complete in the corpus already stay. A document that it has with another text
    is left out, and the report says so. Documents are complete only once the whole file is read.
    Raises EmbeddingMismatchError, and UsageError for a file that is no whole export.
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


def _is_further(record: DocumentRecord, state: DocumentState) -> bool:
    """Whether a document is taken from the file, not left as the corpus has it."""
    if record.complete or state.complete:
        return not state.complete
    # Chunks that are not in order do not replace others.
    if not record.arranged and (state.arranged or state.chunk_tokens != record.chunk_tokens):
        return False
    return record.read_chunks >= state.read_chunks


class _DocumentImport:
    """A document of an export and its chunks so far, without their texts.

    `arranged` are the chunks in order, `pending` the ids of those of an unfinished edit;
    `is_known` says whether the graph has parts of the document already.
    """

    def __init__(self, corpus: str, line: int, record: DocumentRecord, is_known: bool) -> None:
        fields = {"title", "source", "sha256", "language", "metadata", "page_starts", "headings"}
        id_ = identity(corpus, record.source)
        values = record.model_dump(include=fields)
        self.document = Document(corpus=corpus, id=id_, text="", **values)
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
        in_order = self.record.arranged and not record.pending
        if in_order and (record.index, record.start) != (len(self.arranged), self._end):
            raise _wrong_line(line, "the chunk does not follow the one before it")
        if record.end - record.start != len(record.text):
            raise _wrong_line(line, "the chunk's text is not as long as it says")
        if len({fact.text for fact in record.facts}) < len(record.facts):
            raise _wrong_line(line, "a fact stands there twice")
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
            raise _wrong_line(self._line, "the chunks behind it are not the document's text")

    def _fact(self, chunk: str, index: int, record: FactRecord) -> AtomicFact:
        # One wording for each key: the last one.
        surfaces = {key: surface for surface, key in record.key_elements.items()}
        elements = (
            KeyElement(identity(self.document.corpus, key), key, surface)
            for key, surface in surfaces.items()
        )
        return AtomicFact(identity(chunk, record.text), chunk, index, record.text, tuple(elements))


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
        self._current: _DocumentImport | None = None
        # What the lines of a batch hold, to be written together.
        self._started: list[_DocumentImport] = []
        self._chunks: list[ReadChunk] = []
        self._ended: list[_DocumentImport] = []
        self._key_elements: list[KeyElementRecord] = []
        self._to_complete: list[DocumentVersion] = []
        self._is_only_source = False  # the corpus has no other complete documents
        self._is_settled = False

    async def run(self, export: Export) -> TransferReport:
        await self._deleter.finish_deletes()
        extent = await Catalog(self._connection).extent(self._corpus)
        self._is_only_source = len(extent.unfinished) == extent.documents
        fields = {"decider", "prompts", "embedding", "dimension"}
        await self._writer.begin_corpus(**self._header.model_dump(include=fields))
        lines = export.lines()
        while batch := await asyncio.to_thread(lambda: list(islice(lines, LINES_PER_BATCH))):
            sources = [line.document.source for _, line in batch if line.document]
            ids = [identity(self._corpus, source) for source in sources]
            states = await self._status.of(ids) if ids else {}
            for number, line in batch:
                self._take(number, line, states)
            await self._write()
            self._progress(Counts(**self._imported))
        complete = await self._normalize_and_complete()
        return TransferReport(
            self._corpus,
            **Counts(**self._imported).model_dump(),
            incomplete=self._imported["documents"] - len(complete),
            unchanged=self._unchanged,
            refused=tuple(self._refused),
        )

    def _take(self, number: int, line: Line, states: Mapping[str, DocumentState]) -> None:
        """Take a line. Raises UsageError where it does not fit those before it."""
        if chunk := line.chunk:
            if not self._read["documents"] or self._read["key_elements"]:
                raise _wrong_line(number, "a chunk stands behind its document")
            counts = {"chunks": 1, "facts": len(chunk.facts)}
            self._read.update(counts)
            if self._current:
                self._imported.update(counts)
                self._chunks.append(self._current.add(number, chunk))
            return
        if self._current:
            self._current.check()
            self._ended.append(self._current)
            self._current = None
        if line.document:
            self._read["documents"] += 1
            self._start_document(number, line.document, states)
        elif element := line.key_element:
            if element.embedding and len(element.embedding) != self._header.dimension:
                raise _wrong_line(number, f"the vector has not {self._header.dimension} numbers")
            self._read["key_elements"] += 1
            self._key_elements.append(element)
        elif line.end != Counts(**self._read):
            raise _wrong_line(number, "it does not count what stands before it")

    def _start_document(
        self, number: int, record: DocumentRecord, states: Mapping[str, DocumentState]
    ) -> None:
        state = states.get(identity(self._corpus, record.source))
        if state and state.sha256 != record.sha256:
            self._refused.append(
                f"{record.title} is in the corpus {self._corpus!r} with another text: take that "
                f"out with `graphreader delete {state.id} --corpus {shlex.quote(self._corpus)}` "
                "and import again."
            )
        elif state and not _is_further(record, state):
            self._unchanged += 1
        else:
            self._current = _DocumentImport(self._corpus, number, record, state is not None)
            self._imported["documents"] += 1
            self._started.append(self._current)

    async def _write(self) -> None:
        """Write a batch; everything comes after what it refers to."""
        by_limit = attrgetter("record.chunk_tokens")
        for limit, started in groupby(sorted(self._started, key=by_limit), by_limit):
            await self._writer.begin_documents([one.document for one in started], limit)
        await self._writer.write_chunks(self._chunks)
        await self._arrange([one for one in self._ended if one.record.arranged])
        if self._key_elements:
            await self._write_key_elements()
        for batch in (self._started, self._chunks, self._ended, self._key_elements):
            batch.clear()

    async def _arrange(self, documents: Sequence[_DocumentImport]) -> None:
        """Put chunks in order and delete those of an earlier attempt that are not in the file."""
        await self._writer.chain([one.version for one in documents if not one.is_known])
        for one in documents:
            if one.is_known:
                others = await self._writer.arrange(one.version, one.arranged)
                await self._deleter.delete_chunks([id_ for id_ in others if id_ not in one.pending])
            if one.record.complete:
                self._to_complete.append(one.version)

    async def _write_key_elements(self) -> None:
        """Write vectors where there are none yet, and the similar pairs."""
        if not self._is_settled:  # settling makes renamed key elements fresh: it comes first
            await self._writer.settle()
            self._is_settled = True
        by_id = {identity(self._corpus, one.key): one for one in self._key_elements}
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
