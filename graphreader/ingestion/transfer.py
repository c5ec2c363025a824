"""The file of an exported corpus: JSON Lines in UTF-8, which people can read and programs can make.

The first line is the header. Then comes a line a document, followed by a line a chunk of it, then a
line a key element with its vector, and a last line that counts them, so that a file which was cut
off is known for one. But for the header each line is an object of one key, which says what it is:
{"chunk": {...}}. What is missing has its default, what is unknown is passed over. There are no ids
in it: they follow from what they stand for.

Writing a whole corpus into one file, page by page: memory does not grow with the corpus.

It only looks. A document that changes while it is looked at is looked at again: each one in the
file was in the graph like that. What normalization made of it is not written, but by which stages.

Reading an exported corpus into the graph, in batches: memory does not grow with the corpus.

No model and no embedder is asked. Ids come from the content, so an import that broke off is simply
run again. A document counts as complete only when the whole file has been read.

A document that comes out of an export, line by line: its ids are computed anew.
"""

import asyncio
import json
import shlex
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from itertools import groupby, islice
from operator import attrgetter
from os import PathLike
from shutil import copyfileobj
from tempfile import SpooledTemporaryFile
from typing import IO, Annotated, Any, BinaryIO, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from graphreader.documents import AtomicFact, Chunk, Document, KeyElement
from graphreader.errors import EmbeddingMismatchError, UsageError
from graphreader.files import atomic_write
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

VERSION = 1

LONGEST_LINE = 2**26
"""Bytes. The lines of an export are far shorter; what is longer is none."""

_Count = Annotated[int, Field(ge=0, lt=2**53)]
_Words = Annotated[str, Field(min_length=1, max_length=LONGEST)]


class _Record(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, allow_inf_nan=False)

    def line(self, kind: str) -> bytes:
        """The line of this record."""
        body = self.model_dump_json(exclude_defaults=True)
        return f'{{"{kind}":{body}}}\n'.encode()


class _Version(_Record):
    graphreader: int


class Header(_Record):
    """How the corpus was made. `graphreader` is the number of the format.

    `stages` are the stages of normalization which have merged key elements. The merges are not in
    the file: they follow from the rest. An import ignores stages that it does not know.
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

    `read_chunks`: so many of them have their facts.
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
    """A fact; `key_elements` says for each of its wordings under which key it is known."""

    text: Annotated[str, Field(min_length=1)]
    key_elements: dict[_Words, _Words]


class ChunkRecord(_Record):
    """A chunk of the document before it. `pending`: it belongs to an edit that is not finished."""

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

    `likes` are the keys of others that were found alike, with the cosines; `fresh` says that it is
    still to be compared.
    """

    key: _Words
    embedding: tuple[float, ...] | None = None
    fresh: bool = False
    likes: dict[_Words, float] = Field(default_factory=dict)


class Counts(_Record):
    """How much there is of everything."""

    documents: _Count = 0
    chunks: _Count = 0
    facts: _Count = 0
    key_elements: _Count = 0


TransferProgress = Callable[[Counts], None]


def no_transfer_progress(counts: Counts) -> None:
    """Take what is told, and do nothing."""


class Line(_Record):
    """Any line but the header; one of these is there."""

    document: DocumentRecord | None = None
    chunk: ChunkRecord | None = None
    key_element: KeyElementRecord | None = None
    end: Counts | None = None


R = TypeVar("R", bound=_Record)


@dataclass(frozen=True, slots=True)
class TransferReport:
    """What went into a file, or came out of one.

    `incomplete` counts those of the `documents` that are not complete, `unchanged` those that were
    in the corpus already and are not in the other numbers. `refused` has a sentence for each
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


class Export:
    """An exported corpus as it is read: its header at once, its lines as they are asked for.

    Both block, and raise UsageError where it is no export, one of a newer version, or cut off.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._number = 0
        self.header = self._header()

    def lines(self) -> Iterator[tuple[int, Line]]:
        """The lines behind the header with their numbers, up to the one that counts them."""
        while text := self._next():
            line = self._parsed(Line, text)
            if sum(value is not None for _, value in line) != 1:
                raise wrong(self._number, "it is not one of document, chunk, key_element, end")
            yield self._number, line
            if line.end:
                return
        raise self._cut_off()

    def _header(self) -> Header:
        text = self._next()
        try:
            version = _Version.model_validate_json(text).graphreader
        except ValidationError:
            raise UsageError(
                "This is not an exported corpus, its first line is no header: name a file that "
                "`graphreader export` made."
            ) from None
        if version > VERSION:
            raise UsageError(
                f"This export has format {version}, and this version of GraphReader reads format "
                f"{VERSION}: use a newer GraphReader."
            )
        return self._parsed(Header, text)

    def _next(self) -> bytes:
        """The next line that is not empty; nothing at the end."""
        while text := self._file.readline(LONGEST_LINE):
            self._number += 1
            if text.strip():
                return text
        return b""

    def _parsed(self, kind: type[R], text: bytes) -> R:
        try:
            return kind.model_validate_json(text)
        except ValidationError as error:
            if not text.endswith(b"\n"):
                raise self._cut_off() from None
            first = error.errors(include_input=False, include_url=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise wrong(
                self._number, f"{where}: {first['msg']}" if where else first["msg"]
            ) from None

    def _cut_off(self) -> UsageError:
        return UsageError(
            f"The export was cut off at line {self._number}: its last line is missing. Export the "
            "corpus again."
        )


@contextmanager
def opened(path: str | PathLike[str]) -> Iterator[Export]:
    """The export in a file. Raises UsageError, also where there is no such file."""
    try:
        file = open(path, "rb")  # noqa: SIM115  # an error while it is read is not one of opening
    except OSError as error:
        raise UsageError(
            f"{path} cannot be opened ({error.strerror}): check the path and its permissions."
        ) from None
    with file:
        yield Export(file)


def wrong(number: int, why: str) -> UsageError:
    """What to raise for a line that an export does not have."""
    return UsageError(f"Line {number} of the export is wrong ({why}): export the corpus again.")


DOCUMENTS_A_PAGE = 20
CHUNKS_A_PAGE = 40
KEY_ELEMENTS_A_PAGE = 200

LOOKS = 3
"""How often a document is looked at that keeps changing."""

_IN_MEMORY = 2**20


async def export_corpus(
    connection: Connection,
    corpus: str,
    target: str | PathLike[str] | BinaryIO,
    told: TransferProgress = no_transfer_progress,
) -> TransferReport:
    """Write everything that a corpus holds to a file, which stands there only once it is whole.

    A document that another process keeps changing is left out, and the report says so. `told` hears
    from time to time how much is written. Raises UnknownCorpusError.
    """
    record = await Catalog(connection).corpus(corpus)
    stages = (await connection.read("read/stages_in_force", corpus=corpus))[0]["stages"]
    header = Header(graphreader=VERSION, corpus=corpus, **asdict(record), stages=tuple(stages))
    with atomic_write(target) if isinstance(target, str | PathLike) else nullcontext(target) as out:
        return await _Exporter(connection, corpus, out, told).run(header)


@dataclass(slots=True)
class _Copy:
    """A document as the graph had it, and its lines, which wait for being looked at again."""

    row: Row
    lines: IO[bytes]
    chunks: int = 0
    facts: int = 0

    def is_still(self, row: Row | None) -> bool:
        """Whether it is whole, and the document has stayed as it was."""
        read = (self.chunks, self.facts)
        return row == self.row and read == (len(self.row["chunks"]), self.row["facts"])


class _Exporter:
    def __init__(
        self, connection: Connection, corpus: str, out: BinaryIO, told: TransferProgress
    ) -> None:
        self._connection = connection
        self._corpus = corpus
        self._out = out
        self._told = told
        self._documents = self._chunks = self._facts = self._key_elements = 0
        self._incomplete = 0
        self._refused: list[str] = []

    async def run(self, header: Header) -> TransferReport:
        await self._write(f"{header.model_dump_json()}\n".encode())
        after = None
        while page := await self._connection.read(
            "read/documents_after", corpus=self._corpus, after=after, limit=DOCUMENTS_A_PAGE
        ):
            await self._take_documents([row["id"] for row in page])
            after = page[-1]["source"]
        await self._take_key_elements()
        await self._write(self._counts.line("end"))
        return TransferReport(
            self._corpus,
            **self._counts.model_dump(),
            incomplete=self._incomplete,
            refused=tuple(self._refused),
        )

    @property
    def _counts(self) -> Counts:
        return Counts(
            documents=self._documents,
            chunks=self._chunks,
            facts=self._facts,
            key_elements=self._key_elements,
        )

    async def _take_documents(self, ids: Sequence[str]) -> None:
        """Write documents, each as it was at some moment."""
        changed: list[Row] = []
        for _ in range(LOOKS):
            changed = await self._take_unchanged(ids)
            ids = [row["id"] for row in changed]
            if not ids:
                return
        self._refused += [
            f"{row['title']} was being changed and is left out: export the corpus again afterwards."
            for row in changed
        ]

    async def _take_unchanged(self, ids: Sequence[str]) -> list[Row]:
        """Write those documents that stay as they are while they are read; return the others."""
        changed = []
        with ExitStack() as files:
            copies = await self._copies(ids, files)
            now = {row["id"]: row for row in await self._rows(ids)}
            for copy in copies:
                if copy.is_still(now.get(copy.row["id"])):
                    await self._take(copy)
                elif copy.row["id"] in now:
                    changed.append(copy.row)
        self._told(self._counts)
        return changed

    async def _rows(self, ids: Sequence[str]) -> list[Row]:
        return await self._connection.read("read/documents_in_full", ids=ids)

    async def _copies(self, ids: Sequence[str], files: ExitStack) -> list[_Copy]:
        """Read documents, and their chunks a page at a time, whichever document they are of."""
        copies = []
        for row in await self._rows(ids):
            file = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  # closed with the others
            lines = files.enter_context(file)
            lines.write(_document(row).line("document"))
            copies.append(_Copy(row, lines))
        wanted = [(copy, id_) for copy in copies for id_ in copy.row["chunks"]]
        for start in range(0, len(wanted), CHUNKS_A_PAGE):
            part = dict((id_, copy) for copy, id_ in wanted[start : start + CHUNKS_A_PAGE])
            for row in await self._connection.read("read/chunks_in_full", ids=list(part)):
                copy = part[row["id"]]
                copy.lines.write(_chunk(row).line("chunk"))
                copy.chunks += 1
                copy.facts += len(row["facts"])
        return copies

    async def _take(self, copy: _Copy) -> None:
        copy.lines.seek(0)
        await asyncio.to_thread(copyfileobj, copy.lines, self._out)
        self._documents += 1
        self._chunks += copy.chunks
        self._facts += copy.facts
        self._incomplete += not copy.row["complete"]

    async def _take_key_elements(self) -> None:
        after = ""
        while page := await self._connection.read(
            "read/key_elements_after", corpus=self._corpus, after=after, limit=KEY_ELEMENTS_A_PAGE
        ):
            lines = [_key_element(row).line("key_element") for row in page]
            await self._write(b"".join(lines))
            self._key_elements += len(page)
            self._told(self._counts)
            after = page[-1]["id"]

    async def _write(self, data: bytes) -> None:
        """Write it where a reader that is slow stops nobody else."""
        await asyncio.to_thread(self._out.write, data)


def _document(row: Row) -> DocumentRecord:
    return DocumentRecord(
        title=row["title"],
        source=row["source"],
        language=row["language"],
        sha256=row["sha256"],
        chunk_tokens=row["chunk_tokens"],
        complete=row["complete"],
        arranged=row["arranged"],
        read_chunks=row["read_chunks"],
        metadata=json.loads(row["metadata"]),
        page_starts=tuple(row["page_starts"]),
        headings=tuple(zip(row["heading_starts"], row["headings"], strict=True)),
    )


def _chunk(row: Row) -> ChunkRecord:
    return ChunkRecord(
        index=row["index"],
        start=row["start"],
        end=row["end"],
        tokens=row["tokens"],
        text=row["text"],
        error=row["error"],
        pending=row["pending"],
        facts=tuple(
            FactRecord(text=fact["text"], key_elements=dict(fact["names"])) for fact in row["facts"]
        ),
    )


def _key_element(row: Row) -> KeyElementRecord:
    return KeyElementRecord(
        key=row["key"],
        embedding=_short(row["embedding"]) if row["embedding"] else None,
        fresh=row["fresh"],
        likes=dict(row["likes"]),
    )


def _short(vector: list[float]) -> tuple[float, ...]:
    """The numbers with no more digits than it takes to get each one back exactly.

    Neo4j keeps 32 bits of each, for which nine digits are enough.
    """
    if array("f", vector).tolist() != vector:
        return tuple(vector)
    return tuple(float(f"{number:.9g}") for number in vector)


_KNOWN = {"title", "source", "sha256", "language", "metadata", "page_starts", "headings"}


def document_id(corpus: str, record: DocumentRecord) -> str:
    """The id that a document has in a corpus."""
    return identity(corpus, record.source)


class IncomingDocument:
    """A document, and its chunks so far. No text is kept.

    `arranged` are the chunks in their order, `pending` the ids of those of an edit that is not
    finished; `is_known` says whether parts of it are in the graph already.
    """

    def __init__(self, corpus: str, line: int, record: DocumentRecord, is_known: bool) -> None:
        self.document = Document(
            corpus=corpus,
            id=document_id(corpus, record),
            text="",
            **record.model_dump(include=_KNOWN),
        )
        self.record = record
        self.is_known = is_known
        self.arranged: list[Chunk] = []
        self.pending: set[str] = set()
        self._line = line
        self._text = sha256()
        self._end = 0
        self._seen: Counter[str] = Counter()

    @property
    def version(self) -> DocumentVersion:
        """What stands in order of it."""
        return DocumentVersion(self.document.id, self.record.arranged or "", len(self.arranged))

    def chunk(self, line: int, record: ChunkRecord) -> ReadChunk:
        """The next chunk with its facts. Raises UsageError where it is not the next one."""
        follows = (record.index, record.start) == (len(self.arranged), self._end)
        if self.record.arranged and not record.pending and not follows:
            raise wrong(line, "the chunk does not follow the one before it")
        if record.end - record.start != len(record.text):
            raise wrong(line, "the chunk's text is not as long as it says")
        chunk = self._chunk(record)
        if record.pending:
            self.pending.add(chunk.id)
        else:
            self.arranged.append(replace(chunk, text=""))
            self._text.update(record.text.encode())
            self._end = record.end
        texts = {fact.text for fact in record.facts}
        if len(texts) < len(record.facts):
            raise wrong(line, "a fact stands there twice")
        facts = (self._fact(chunk, index, fact) for index, fact in enumerate(record.facts))
        return ReadChunk(chunk, tuple(facts), record.error, record.pending)

    def check(self) -> None:
        """Raise UsageError where a complete document's chunks do not give its text."""
        if self.record.complete and self._text.hexdigest() != self.record.sha256:
            raise wrong(self._line, "the chunks behind it are not the document's text")

    def _chunk(self, record: ChunkRecord) -> Chunk:
        text = identity(record.text)
        times = self._seen[text]
        self._seen[text] += 1
        return Chunk(
            id=identity(self.document.id, record.text, str(times)),
            document=self.document.id,
            index=record.index,
            start=record.start,
            end=record.end,
            text=record.text,
            tokens=record.tokens,
        )

    def _fact(self, chunk: Chunk, index: int, record: FactRecord) -> AtomicFact:
        surfaces = {key: surface for surface, key in record.key_elements.items()}
        elements = (
            KeyElement(identity(self.document.corpus, key), key, surface)
            for key, surface in surfaces.items()
        )
        return AtomicFact(
            identity(chunk.id, record.text), chunk.id, index, record.text, tuple(elements)
        )


LINES_AT_ONCE = 100


async def import_corpus(
    connection: Connection,
    corpus: str,
    source: str | PathLike[str] | Export,
    told: TransferProgress = no_transfer_progress,
) -> TransferReport:
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

    def __init__(
        self, connection: Connection, corpus: str, header: Header, told: TransferProgress
    ) -> None:
        self._connection = connection
        self._corpus = corpus
        self._header = header
        self._told = told
        self._writer = GraphWriter(connection, corpus)
        self._deleter = Deleter(connection, corpus)
        self._states = DocumentStatus(connection, corpus)
        self._read: Counter[str] = Counter()
        self._taken: Counter[str] = Counter()
        self._unchanged = 0
        self._refused: list[str] = []
        self._complete: list[DocumentVersion] = []
        self._incoming: IncomingDocument | None = None
        self._alone = self._settled = False

    async def run(self, export: Export) -> TransferReport:
        await self._deleter.finish_deletes()
        extent = await Catalog(self._connection).extent(self._corpus)
        self._alone = len(extent.unfinished) == extent.documents
        made = {"decider", "prompts", "embedding", "dimension"}
        await self._writer.begin_corpus(**self._header.model_dump(include=made))
        lines = export.lines()
        while some := await asyncio.to_thread(lambda: list(islice(lines, LINES_AT_ONCE))):
            await self._write(await self._part(some))
            self._told(Counts(**self._taken))
        done = await self._finish()
        return TransferReport(
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
            await run("write/similar_pairs", pairs=pairs)

        await self._connection.transact(work, lock=self._corpus)

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
