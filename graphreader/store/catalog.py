"""The catalog of a database: corpora, documents, sizes and the status of documents."""

import json
import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

from graphreader.documents import (
    AtomicFact,
    Chunk,
    ChunkRef,
    Document,
    Heading,
    Place,
    without_surrogates,
)
from graphreader.errors import UnknownCorpusError, UnknownDocumentError, UsageError
from graphreader.files import file_source, relative_name
from graphreader.scope import Scope
from graphreader.store.connection import Connection, Row
from graphreader.store.records import DocumentsInScope

Status = Literal["complete", "incomplete", "deleting"]


@dataclass(frozen=True, slots=True)
class CorpusRecord:
    """The models and prompts that made a corpus, and whether its chunks have passages.

    `terms` is None before `reindex`, which also makes the passages.
    """

    decider: str
    prompts: str
    embedding: str
    dimension: int
    terms: int | None = None
    passages: bool = False


@dataclass(frozen=True, slots=True)
class CorpusSummary:
    """One line of a list of corpora; `incomplete` counts documents."""

    corpus: str
    documents: int
    chunks: int
    incomplete: int
    decider: str
    embedding: str


@dataclass(frozen=True, slots=True)
class DocumentSummary:
    """One line of a list of documents; `failed` counts chunks that have no facts yet.

    `encoding` is None for UTF-8 and for formats that have none. `date` is an ISO date, month or
    year, empty if none is known.
    """

    id: str
    title: str
    source: str
    sha256: str
    language: str
    chunk_tokens: int
    chunks: int
    tokens: int
    failed: int
    status: Status
    encoding: str | None = None
    tags: tuple[str, ...] = ()
    date: str = ""


@dataclass(frozen=True, slots=True)
class Stats:
    """Sizes of a corpus (paper, table 8) without `merged` elements; `busiest`: (name, facts).

    `joined` counts names that mean another key element within a document, by document.
    """

    corpus: str
    documents: int
    chunks: int
    tokens: int
    facts: int
    key_elements: int
    merged: int
    facts_per_element: float
    most_facts: int
    neighbors_per_element: float
    most_neighbors: int
    busiest: tuple[tuple[str, int], ...]
    joined: int = 0


@dataclass(frozen=True, slots=True)
class Extent:
    """The size of a corpus: documents, titles of unfinished documents, largest chunk limit."""

    documents: int
    unfinished: tuple[str, ...]
    chunk_tokens: int


class Catalog:
    """A reader of the corpora and documents of a whole database."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def corpora(self) -> list[CorpusSummary]:
        """Return every corpus, by name."""
        return [CorpusSummary(**row) for row in await self._connection.read("read/corpora")]

    async def find_corpus(self, name: str) -> CorpusRecord | None:
        """Return the record of a corpus, None if there is none."""
        rows = await self._connection.read("read/corpus", corpus=name)
        return CorpusRecord(**rows[0]) if rows else None

    async def corpus(self, name: str) -> CorpusRecord:
        """Return the record of a corpus. Raises UnknownCorpusError, which names all corpora."""
        if rows := await self._connection.read("read/corpus", corpus=name):
            return CorpusRecord(**rows[0])
        known = ", ".join(one.corpus for one in await self.corpora())
        raise UnknownCorpusError(
            f"There is no corpus {name!r}"
            + (f"; there are: {known}." if known else " and no other one.")
            + " Read texts into it with `graphreader ingest PATH --corpus NAME`."
        )

    async def documents(self, corpus: str) -> list[DocumentSummary]:
        """Return the documents of a corpus, by title."""
        # One list in one row: the driver takes 3,000 rows apart 50 times as slowly.
        rows = await self._connection.read("read/documents", corpus=corpus)
        return [
            DocumentSummary(**{**document, "tags": tuple(document["tags"])})
            for document in rows[0]["documents"]
        ]

    async def in_scope(
        self, corpus: str, scope: Scope, *, may_lack: bool = False
    ) -> DocumentsInScope:
        """Return the documents of a corpus in a scope.

        Raises UsageError if there are none, or none of a name, unless they `may_lack`.
        """
        names = [{"name": one, **_paths(one)} for one in scope.documents]
        [row] = await self._connection.read(
            "read/documents_in_scope",
            corpus=corpus,
            names=names,
            tags=list(scope.tags),
            since=scope.since,
            until=scope.until,
        )
        if may_lack or (row["ids"] and not row["unknown"]):
            return DocumentsInScope(scope, row["ids"], row["chunks"])
        [choices] = await self._connection.read(
            "read/choices_of_scope", corpus=corpus, limit=_MOST_CHOICES
        )
        raise UsageError(_nothing_in_scope(scope, row["documents"], row["unknown"], **choices))

    async def texts(self, corpus: str, documents: DocumentsInScope | None = None) -> list[Document]:
        """Return the completely read documents with their texts, without metadata, by title."""
        scope = documents and documents.ids
        rows = await self._connection.read("read/texts", corpus=corpus, scope=scope)
        return [
            Document(
                corpus=corpus,
                **row["document"],
                text="".join(chunk["text"] for chunk in row["chunks"]),
                places=tuple(_places(row)),
                headings=Heading.of(row),
            )
            for row in rows
        ]

    async def extent(self, corpus: str, documents: DocumentsInScope | None = None) -> Extent:
        """Return the extent of a corpus, or of some documents of it."""
        scope = documents and documents.ids
        row = (await self._connection.read("read/extent", corpus=corpus, scope=scope))[0]
        return Extent(row["documents"], tuple(sorted(row["titles"])), row["chunk_tokens"])

    async def largest_chunk(self, corpus: str) -> int:
        """Return how many tokens the largest chunk of a corpus has; it reads every chunk."""
        return int((await self._connection.read("read/largest_chunk", corpus=corpus))[0]["tokens"])

    async def lacks(self, corpus: str) -> list[str]:
        """Return sentences about what a corpus lacks since an earlier version read its texts."""
        rows = await self._connection.read("read/documents_without_sentences", corpus=corpus)
        if not rows:
            return []
        titles = [row["title"] for row in rows]
        names = ", ".join(map(repr, titles[:3]))
        more = f" and {len(titles) - 3:,} more" if len(titles) > 3 else ""
        command = f"graphreader ingest PATH --corpus {shlex.quote(corpus)} --again"
        return [
            f"The facts of {names}{more} do not know their sentences, speakers and times, since an "
            f"earlier version read these texts: `{command}` reads them anew."
        ]

    async def find(self, corpus: str, name: str) -> str:
        """Return the id of the one document with this id, path or title."""
        path = name.replace("\0", "")
        name = without_surrogates(path)
        paths = _spellings(path)
        rows = await self._connection.read(
            "read/find_document", corpus=corpus, name=name, paths=paths
        )
        exact = [row for row in rows if row["id"] == name or row["source"] in paths]
        if len(exact or rows) == 1:
            return str((exact or rows)[0]["id"])
        if rows:
            matches = "; ".join(f"{row['id']} ({relative_name(row['source'])})" for row in rows)
            raise UnknownDocumentError(
                f"{name!r} means several documents, name one by its id: {matches}."
            )
        raise UnknownDocumentError(
            f"The corpus {corpus!r} has no document {name!r}: `graphreader list --corpus {corpus}` "
            "shows what it has."
        )

    async def stats(self, corpus: str, busiest: int = 10) -> Stats:
        """Return the sizes of a corpus and its busiest key elements."""
        sizes = (await self._connection.read("read/stats", corpus=corpus))[0]
        neighbors = (await self._connection.read("read/neighbor_stats", corpus=corpus))[0]
        top = await self._connection.read(
            "read/key_elements", corpus=corpus, limit=busiest, scope=None
        )
        names = tuple((row["name"], row["facts"]) for row in top)
        return Stats(corpus=corpus, busiest=names, **sizes, **neighbors)


_MOST_CHOICES = 1_000  # titles among which the nearest to an unknown name are looked for
_NAMED = 5  # titles, tags or dates that a message names


def _spellings(path: str) -> list[str]:
    """The forms in which a document may have a path: as given, absolute, without links."""
    name = without_surrogates(path)
    return [name, os.path.abspath(name), file_source(path)]


def _paths(name: str) -> dict[str, list[str]]:
    """The files and the folders that a name in a scope may mean; folders alone if it ends in /."""
    path = name.replace("\0", "")
    own = os.path.normpath(without_surrogates(path))
    folders = [one for one in {own, *_spellings(path.rstrip("/") or "/")} if one not in (".", "/")]
    return {"files": [] if name.endswith("/") else folders, "folders": folders}


def _nothing_in_scope(
    scope: Scope,
    documents: int,
    unknown: Sequence[str],
    titles: Sequence[str],
    tags: Sequence[str],
    dates: Sequence[str],
) -> str:
    """The message about a scope in which there is no document, or a name that no document has."""
    if unknown:
        near = get_close_matches(unknown[0], titles, _NAMED) or titles
        return (
            f"No document has the id, title, path or folder {unknown[0]!r}: there "
            f"{'is' if documents == 1 else 'are'} {_listed(near, documents)}."
        )
    known = [f"the tags {_listed(tags, len(tags))}" if tags else "no tags"]
    known += [f"dates from {dates[0]} to {dates[-1]}" if dates else "no dates"]
    return (
        f"No document is in the scope {', '.join(scope.terms)}: the documents have "
        f"{' and '.join(known)}."
    )


def _listed(names: Sequence[str], total: int) -> str:
    """The first names, and how many there are if these are not all."""
    shown = ", ".join(names[:_NAMED])
    return shown if total <= len(names[:_NAMED]) else f"{shown}, ... ({total:,} in all)"


@dataclass(frozen=True, slots=True)
class DocumentState:
    """A document as the graph has it; `metadata` is JSON, `arranged`: its chunks have an order."""

    id: str
    sha256: str
    title: str
    metadata: str | None
    encoding: str
    chunk_tokens: int
    complete: bool
    arranged: bool
    deleting: bool
    chunks: int
    read_chunks: int


ChunkStatus = Literal["extracted", "failed", "retired"]
"""Whether a chunk has its facts, or an error in place of them, or is being deleted."""


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as the graph has it, with all its `chunks`, of at most `chunk_tokens` tokens."""

    document: Document
    chunk_tokens: int
    chunks: tuple[Chunk, ...]

    @property
    def failed(self) -> tuple[Chunk, ...]:
        """The chunks that have no facts."""
        return tuple(chunk for chunk in self.chunks if chunk.error is not None)


class DocumentStatus:
    """A reader of the state of documents: which of their chunks the graph of a corpus has."""

    def __init__(self, connection: Connection, corpus: str) -> None:
        self._connection = connection
        self._corpus = corpus

    async def of(self, documents: Sequence[str]) -> dict[str, DocumentState]:
        """Return the states of the documents that exist, by their ids."""
        rows = await self._read("document_states", documents=list(documents))
        return {row["id"]: DocumentState(**row) for row in rows}

    async def present(self, documents: Sequence[str]) -> tuple[str, set[str]]:
        """Return the time of the creation of the corpus (empty: it is gone), and the documents."""
        rows = await self._read("present_documents", documents=list(documents))
        return (rows[0]["created"], set(rows[0]["documents"])) if rows else ("", set())

    async def chunks(self, document: str) -> dict[str, ChunkStatus]:
        """Return the status of all chunks of a document by id, also after an interrupted edit."""
        rows = await self._read("document_chunks", document=document)
        return {row["id"]: row["status"] for row in rows}

    async def arranged(self, document: str) -> list[Chunk]:
        """Return the chunks of a document in the order of its last complete text."""
        rows = await self._read("arranged_chunks", document=document)
        return [Chunk.of(row["chunk"]) for row in rows]

    async def failed(self) -> list[str]:
        """Return the ids of the documents with chunks that have no facts, by title."""
        return [row["id"] for row in await self._read("failed_documents")]

    async def stored(self, document: str) -> StoredDocument | None:
        """Return a document with its chunks; None where there is none."""
        rows = await self._read("stored_document", document=document)
        if not rows:
            return None
        row, chunks = rows[0], tuple(map(Chunk.of, rows[0]["chunks"]))
        values = {**row["document"], "metadata": json.loads(row["document"]["metadata"])}
        text = "".join(chunk.text for chunk in chunks)
        whole = Document(corpus=self._corpus, text=text, headings=Heading.of(row), **values)
        return StoredDocument(whole, row["chunk_tokens"], chunks)

    async def facts(self, document: str) -> list[AtomicFact]:
        """Return the facts of a document, without their key elements."""
        rows = await self._read("facts_of_document", document=document)
        groups = [(ChunkRef.of(row["chunk"]), row["facts"]) for row in rows]
        return [AtomicFact.of(fact, chunk) for chunk, facts in groups for fact in facts]

    async def without_headings(self) -> list[str]:
        """Return the ids of complete documents none of whose chunks has a heading above it."""
        return [row["id"] for row in await self._read("documents_without_heading_paths")]

    async def _read(self, name: str, **values: Any) -> list[Row]:
        return await self._connection.read(f"read/{name}", corpus=self._corpus, **values)


def _places(row: Row) -> Iterator[Place]:
    """Yield the places of a document: its chunks', or the pages of an earlier version's text."""
    last = ""
    for chunk in row["chunks"]:
        starts, names = chunk["place_starts"] or (), chunk["place_names"] or ()
        for start, name in zip(starts, names, strict=True):
            if name != last:
                yield Place(chunk["start"] + start, name)
            last = name
    if not last:
        yield from Place.pages(row["page_starts"])
