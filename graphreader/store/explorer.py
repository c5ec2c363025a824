"""The read access of the agent to one corpus: nothing is written, every answer is bounded."""

import shlex
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from graphreader.documents import (
    AtomicFact,
    Chunk,
    ChunkFacts,
    ChunkInDocument,
    ChunkRef,
    Heading,
    KeyElement,
    KeyElementRef,
)
from graphreader.outline import LONGEST_SUMMARY, OutlineEntry, shortened
from graphreader.scope import EVERYTHING
from graphreader.store.connection import Connection, Row
from graphreader.store.full_text import (
    MANY,
    SAMPLE,
    TERMS_VERSION,
    FrequentWords,
    all_terms_query,
    key_element_queries,
    rank_by_words,
)
from graphreader.store.names import NamedElements, find_named
from graphreader.store.records import (
    ChunkPlace,
    CorpusPart,
    DocumentsInScope,
    Neighbor,
    NodeFacts,
    Profile,
)
from graphreader.store.search import (
    EARLIER_TERMS,
    NOT_INDEXED,
    WITHOUT_PASSAGES,
    SearchResult,
    as_in_scope,
    has_at_most,
    nearest_rows,
    search_chunks,
    within,
)
from graphreader.text.words import terms_of

WORDINGS_OF_A_NODE = 2
"""Key elements that a search reads for each result: some are merged into the same node."""

FACTS_OF_A_NODE = 250
"""Facts that are read of one node; a hub has more, and costs no more than that."""

FACTS_AHEAD = 200
"""Facts of a neighbor, and of each of its neighbors, among which an unread chunk is sought."""

FACTS_OF_A_RELATED_NODE = 50
"""The number of facts of a related node that are searched for facts that also name a hub."""

OUTLINE_CHUNKS = 10_000  # chunks of an outline: 20 million tokens of the longest chunks

TITLES = 2  # documents that the profile of a node names
_WHOLE = CorpusPart()
COMPARED = 50  # facts up to which the profile of a node lists them


class GraphExplorer:
    """A reader of the key elements, facts and chunks of one corpus, or of some `documents` of it.

    Nothing of any other document is returned: names, wordings and counts of key elements are as
    these documents have them.
    """

    def __init__(
        self, connection: Connection, corpus: str, documents: DocumentsInScope | None = None
    ) -> None:
        self.connection = connection
        self.corpus = corpus
        self.documents = documents
        self.scope = documents.scope if documents else EVERYTHING
        self._frequent: FrequentWords | None = None

    async def has_at_most(self, number: int) -> bool:
        """Whether there are at most `number` key elements; a large corpus is not counted."""
        return await has_at_most(self.connection, self.corpus, number, self.documents)

    async def busiest_nodes(self, limit: int) -> list[KeyElementRef]:
        """Return the key elements with the most facts. It reads every one: for small corpora."""
        return _nodes(await self._in_scope(await self._read("key_elements", limit=limit)))

    async def sample(self, shares: Sequence[float]) -> list[KeyElementRef]:
        """Return for each number (0 to 1) the key element at that share of all; reads every one."""
        rows = await self._rows("sample_key_elements", shares=list(shares))
        return _nodes(await self._in_scope(rows))

    async def nearest(
        self, vectors: Sequence[Sequence[float]], limit: int, least: float = -1
    ) -> list[list[KeyElementRef]]:
        """Return for each vector the key elements with the nearest embeddings, nearest first.

        An embedding with a smaller cosine than `least` is left out.
        """
        values: dict[str, Any] = {
            "vectors": [self.connection.vector(vector) for vector in vectors],
            "corpus": self.corpus,
        }
        wide = limit * WORDINGS_OF_A_NODE
        rows = await nearest_rows(
            *(self.connection, "by_vector", limit, wide, self.documents),
            scan_small=True,
            limit=limit,
            **values,
        )
        near = [[one for one in row["rows"] if one["cosine"] >= least] for row in rows]
        groups = await as_in_scope(self.connection, self.corpus, near, self.documents)
        return [_nodes(group) for group in groups]

    async def matching(self, texts: Sequence[str], limit: int) -> list[list[KeyElementRef]]:
        """Return for each text that has words the key elements whose names share some."""
        frequent = (await self._frequent_words()).names
        queries = [
            (text, own)
            for text in texts
            if (own := key_element_queries(text, self.corpus, frequent))
        ]
        if not queries:
            return []
        every_query = list(chain(*(own for _, own in queries)))
        rows = await self._read(
            "search_by_words", queries=every_query, limit=limit * 10, **within(self.documents)
        )
        groups = [row["rows"] for row in rows]
        found = iter(await as_in_scope(self.connection, self.corpus, groups, self.documents))
        matches = []
        for text, own in queries:
            matching = list(chain(*islice(found, len(own))))
            nodes = {one["id"]: KeyElementRef(one["id"], one["name"]) for one in matching}
            wordings = {one["id"]: sorted(one["aliases"]) for one in matching}
            # Other wordings than those in the scope may have matched.
            ranked = rank_by_words(text, wordings, matching=self.documents is not None)
            matches.append([nodes[id_] for id_ in ranked[:limit]])
        return matches

    async def search(
        self,
        queries: Sequence[str],
        limit: int,
        vectors: Sequence[Sequence[float]] | None = None,
        part: CorpusPart = _WHOLE,
    ) -> list[SearchResult]:
        """Return for each query (with its vector) at most `limit` chunks, best first, or none.

        Only a part of the corpus is searched, if one is given.
        """
        frequent = (await self._frequent_words()).facts
        return await search_chunks(
            *(self.connection, self.corpus, queries, limit, vectors, frequent),
            *(self.documents, part),
        )

    async def search_note(self) -> str | None:
        """Return a sentence if the corpus lacks what `search` needs."""
        rows = await self._read("corpus")
        version = rows[0]["terms"] if rows else None
        if version is None:
            return NOT_INDEXED.format(corpus=shlex.quote(self.corpus))
        if version < TERMS_VERSION:
            return EARLIER_TERMS
        if not rows[0]["passages"]:
            return WITHOUT_PASSAGES.format(corpus=shlex.quote(self.corpus))
        return None

    async def named(self, names: Sequence[str]) -> list[NamedElements]:
        """Return for each name the key element that it means, or all of which it is made up."""
        frequent = (await self._frequent_words()).names
        return await find_named(self.connection, self.corpus, names, frequent, self.documents)

    async def elements(self, ids: Sequence[str]) -> list[KeyElement]:
        """Return key elements by id, each once; for a merged one the element it is merged into."""
        rows = await self._in_scope(await self._rows("elements", ids=list(ids)))
        return [KeyElement.of(row) for row in rows]

    async def profiles(self, ids: Sequence[str]) -> dict[str, Profile]:
        """Return the profiles of nodes by id; deleted nodes are left out."""
        name = self._by_documents("profiles")
        rows = await self._rows(name, ids=list(ids), compared=COMPARED, titles=TITLES)
        return {
            row["id"]: Profile(
                frozenset(name.casefold() for name in (row["name"], *row["aliases"])),
                frozenset(row["fact_ids"]) if row["total"] <= COMPARED else None,
                row["total"],
                tuple(row["titles"]),
            )
            for row in await self._in_scope(rows)
        }

    async def facts(self, node: str, related: Sequence[str] = ()) -> NodeFacts:
        """Return the facts of a node by chunk; of a hub, facts with a `related` node come first."""
        rows = await self._read("atomic_facts", id=node, **_bounds(related))
        if not rows:
            return NodeFacts((), 0)
        groups = []
        for row in rows[0]["rows"]:
            chunk = ChunkRef.of(row["chunk"])
            facts = tuple(AtomicFact.of(fact, chunk) for fact in row["facts"])
            groups.append(ChunkFacts(chunk, facts))
        return NodeFacts(tuple(groups), rows[0]["total"])

    async def neighbors(
        self,
        node: str,
        visited: Sequence[str],
        read: Sequence[str],
        related: Sequence[str],
        vector: Sequence[float] | None,
        limit: int,
    ) -> list[Neighbor]:
        """Return the nodes that share a fact with a node, except `visited` nodes.

        First come neighbors in facts that name a `related` node; the rest follows by the number of
        shared facts over the square root of the neighbor's facts. `vector` is compared with each
        neighbor; `read` are ids of chunks.
        """
        rows = await self._rows(
            self._by_documents("neighbors"),
            id=node,
            visited=list(visited),
            read=list(read),
            vector=self.connection.vector(vector) if vector and any(vector) else None,
            limit=limit,
            ahead=FACTS_AHEAD,
            **_bounds(related),
        )
        names = ("id", "name", "unread", "leads_on", "shared", "facts", "similarity")
        return [Neighbor(*(row[name] for name in names)) for row in await self._in_scope(rows)]

    async def preceding_facts(
        self, chunks: Mapping[str, Sequence[int]]
    ) -> dict[str, dict[int, str]]:
        """Return the fact before each of some facts (by index) of each chunk, by the chunk's id."""
        values = [{"id": id_, "facts": list(indexes)} for id_, indexes in chunks.items()]
        rows = await self._rows("preceding_facts", chunks=values)
        return {row["id"]: dict(row["before"]) for row in rows}

    async def chunk(self, id_: str) -> ChunkInDocument | None:
        """Return a chunk by its id, None if it is deleted."""
        rows = await self._read("chunk", id=id_)
        if not rows:
            return None
        row = rows[0]["chunk"]
        for name in ("previous", "subsequent"):
            row[name] = ChunkRef.of(row[name]) if row[name] else None
        row["page_starts"] = tuple(row["page_starts"])
        row["headings"] = tuple(map(Heading, row["heading_starts"], row["headings"]))
        return ChunkInDocument.of(row)

    async def only_document(self) -> str | None:
        """Return the id of the corpus's document if it has only one."""
        rows = await self._read("only_document")
        return str(rows[0]["id"]) if rows else None

    async def shown_texts(
        self, read: Collection[str], seen: Mapping[str, Sequence[int]]
    ) -> list[ChunkFacts[ChunkRef]]:
        """Return the chunks and facts that a run was shown; deleted chunks are left out.

        `read` are the ids of chunks that were read in full, which are given with their text;
        `seen` has the indexes of facts by the ids of their chunks.
        """
        ids = dict.fromkeys((*read, *seen))
        if not ids:
            return []
        values = [{"id": id_, "read": id_ in read, "facts": list(seen.get(id_, ()))} for id_ in ids]
        rows = {row["chunk"]["id"]: row for row in await self._rows("shown_texts", chunks=values)}
        shown = []
        for row in (rows[id_] for id_ in ids if id_ in rows):
            chunk = Chunk.of(row["chunk"]) if row["read"] else ChunkRef.of(row["chunk"])
            facts = tuple(AtomicFact.of(fact, chunk) for fact in row["facts"])
            shown.append(ChunkFacts(chunk, facts))
        return shown

    async def chunks(self, places: Sequence[tuple[str, int]]) -> list[Chunk]:
        """Return chunks by (document id, index), each once; deleted chunks are left out."""
        indexes: dict[str, list[int]] = {}
        for document, index in places:
            indexes.setdefault(document, []).append(index)
        documents = [{"document": id_, "chunks": own} for id_, own in indexes.items()]
        rows = map(Chunk.of, await self._rows("chunks", documents=documents))
        chunks = {(chunk.document_id, chunk.index): chunk for chunk in rows}
        return [chunks[place] for place in dict.fromkeys(places) if place in chunks]

    async def size(self, limit: int) -> tuple[int, int, int]:
        """Return the numbers of documents, chunks and tokens, counting at most `limit` chunks."""
        row = (await self._read("size_of_texts", limit=limit))[0]
        return row["documents"], row["chunks"], row["tokens"]

    async def places(self, limit: int, part: CorpusPart = _WHOLE) -> list[ChunkPlace]:
        """Return the places of the first chunks of a part, document by document, without text."""
        rows: list[Any] = await self._rows("places", limit=limit, **within(self.documents, part))
        return [ChunkPlace(*row) for row in rows]

    async def chunks_with(self, names: Sequence[str], limit: int) -> set[str]:
        """Return the ids of the chunks that have one of some names or words in text or facts.

        At most `limit` facts and passages are found for the words of each.
        """
        found = await self.named(names)
        elements = [one.elements[0].id for one in found if len(one.elements) == 1]
        queries = [all_terms_query(one, self.corpus) for one in map(terms_of, names) if one]
        values = {"elements": elements, "queries": queries, "limit": limit}
        values |= within(self.documents)
        rows: list[Any] = await self._rows("chunks_with", **values)
        return set(rows)

    async def outline(self, document: str) -> list[OutlineEntry]:
        """Return the outline of a document by its id, a chunk an entry; at most OUTLINE_CHUNKS."""
        rows = await self._read(
            "outline", document=document, limit=OUTLINE_CHUNKS, characters=LONGEST_SUMMARY
        )
        if not rows:
            return []
        headings, starts = rows[0]["headings"], rows[0]["starts"]
        entries = []
        for row in rows[0]["chunks"]:
            start, end = row.pop("start"), row.pop("end")
            own = headings[max(0, bisect_right(starts, start) - 1) : bisect_left(starts, end)]
            row["summary"] = shortened(row["summary"], LONGEST_SUMMARY)
            entries.append(OutlineEntry(headings=tuple(own), **row))
        return entries

    async def _frequent_words(self) -> FrequentWords:
        """Return the words that a search in a large corpus must not start from, estimated once."""
        if self._frequent is None:
            rows = await self._read("sample_of_words", many=MANY, sample=SAMPLE)
            self._frequent = FrequentWords.of(**rows[0]) if rows else FrequentWords()
        return self._frequent

    def _by_documents(self, name: str) -> str:
        """The name of a statement; of few documents, one that goes through all of their facts."""
        is_small = self.documents is not None and self.documents.is_small
        return f"{name}_in_documents" if is_small else name

    async def _in_scope(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Return key elements with the names and counts of the scope, if there is one."""
        return (await as_in_scope(self.connection, self.corpus, [rows], self.documents))[0]

    async def _read(self, name: str, **values: Any) -> list[Row]:
        values = {"scope": self.documents and self.documents.ids, **values}
        return await self.connection.read(f"read/{name}", corpus=self.corpus, **values)

    async def _rows(self, name: str, **values: Any) -> list[Row]:
        """Return the one list of a statement: the driver takes many records apart more slowly."""
        rows: list[Row] = (await self._read(name, **values))[0]["rows"]
        return rows


def _nodes(rows: Sequence[Row]) -> list[KeyElementRef]:
    return [KeyElementRef(row["id"], row["name"]) for row in rows]


def _bounds(related: Sequence[str]) -> dict[str, Any]:
    return {"related": list(related), "most": FACTS_OF_A_NODE, "each": FACTS_OF_A_RELATED_NODE}
