"""Writing a whole corpus into one file, page by page: memory does not grow with the corpus.

It only looks. A document that changes while it is looked at is looked at again: each one in the
file was in the graph like that. What normalization made of it is not written, but by which stages.
"""

import asyncio
import json
from array import array
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import asdict, dataclass
from os import PathLike
from shutil import copyfileobj
from tempfile import SpooledTemporaryFile
from typing import IO, BinaryIO

from graphreader.ingestion.exchange import (
    VERSION,
    ChunkRecord,
    Counts,
    DocumentRecord,
    ExchangeReport,
    FactRecord,
    Header,
    KeyElementRecord,
    Told,
    quiet,
)
from graphreader.store.connection import Connection, Row
from graphreader.store.library import Library
from graphreader.whole_file import whole

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
    told: Told = quiet,
) -> ExchangeReport:
    """Write everything that a corpus holds to a file, which stands there only once it is whole.

    A document that another process keeps changing is left out, and the report says so. `told` hears
    from time to time how much is written. Raises UnknownCorpusError.
    """
    record = await Library(connection).corpus(corpus)
    stages = (await connection.read("read/stages_in_force", corpus=corpus))[0]["stages"]
    header = Header(graphreader=VERSION, corpus=corpus, **asdict(record), stages=tuple(stages))
    with whole(target) if isinstance(target, str | PathLike) else nullcontext(target) as out:
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
    def __init__(self, connection: Connection, corpus: str, out: BinaryIO, told: Told) -> None:
        self._connection = connection
        self._corpus = corpus
        self._out = out
        self._told = told
        self._documents = self._chunks = self._facts = self._key_elements = 0
        self._incomplete = 0
        self._refused: list[str] = []

    async def run(self, header: Header) -> ExchangeReport:
        await self._write(f"{header.model_dump_json()}\n".encode())
        after = None
        while page := await self._connection.read(
            "read/documents_after", corpus=self._corpus, after=after, limit=DOCUMENTS_A_PAGE
        ):
            await self._take_documents([row["id"] for row in page])
            after = page[-1]["source"]
        await self._take_key_elements()
        await self._write(self._counts.line("end"))
        return ExchangeReport(
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
