"""Reading one corpus as the agent explores it. Read-only transactions; every answer is bounded.

Full-text queries out of any words, without Lucene's syntax ever being triggered.

Lucene weighs a word by how rare it is in its whole index, which has the names of all corpora. So
what it finds is weighed here anew, by the names that were found in one corpus. Only which of very
many names are looked at at all is left to it.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import chain
from typing import Any

from graphreader.store.connection import Connection, Row
from graphreader.store.records import (
    ChunkFacts,
    Context,
    Element,
    Neighbor,
    Node,
    NodeFacts,
    Passage,
    Profile,
    ShownChunk,
    ShownTexts,
    StoredChunk,
    StoredFact,
)

MOST_TERMS = 200
"""Lucene refuses queries of more than 1,024 clauses; each term makes two."""

RARE = 1_000
"""A word of one name in so many weighs ten times as much as one of every name, or nearly so."""

# BM25's, as Lucene has them.
_SATURATION = 1.2
_LENGTH = 0.75

_ENGLISH = """
a an and are as at be been but by can could did do does for from had has have he her him his how i
if in into is it its me my of on or our she should so that the their them then there these they this
those to was we were what when where which who whom whose why will with would you your
"""

_FUNCTION_WORDS = frozenset(_ENGLISH.split())
_WORD = re.compile(r"\w+")
_CHINESE = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]+")


def lucene(text: str, corpus: str) -> str | None:
    """Return a query for key elements of `corpus` that hold any word of `text`, None without words.

    Every word is quoted, so AND, brackets and stars mean themselves. Chinese has no spaces: its
    runs are asked for by pairs of characters. English function words count only where there is
    nothing else: a large part of all names holds them, and each of these would be weighed.
    """
    terms = _asked(text)
    if not terms:
        return None
    either = " ".join(f'name:"{term}" aliases:"{term}"' for term in terms)
    return f"+corpus_word:{corpus_word(corpus)} +({either})"


def by_words(text: str, wordings: Mapping[str, Sequence[str]]) -> list[str]:
    """Ids by how well their wordings match `text`, best first: BM25 over all words of each.

    Those that share no word with it come last; equal ones are in the order of their wordings.
    """
    asked = _asked(text)
    held = {id_: Counter(_terms(" ".join(words))) for id_, words in wordings.items()}
    often = Counter(term for terms in held.values() for term in asked if term in terms)
    weights = {term: math.log(1 + RARE / often[term]) for term in often}
    average = sum(map(Counter.total, held.values())) / len(held) if held else 1

    def score(id_: str) -> float:
        terms = held[id_]
        longer = _SATURATION * (1 - _LENGTH + _LENGTH * terms.total() / average)
        return sum(weights[term] * terms[term] / (terms[term] + longer) for term in weights)

    return sorted(held, key=lambda id_: (-score(id_), wordings[id_]))


def corpus_word(corpus: str) -> str:
    """A word for a corpus that no other one has, whatever an analyzer makes of the name."""
    return "c" + sha256(corpus.encode()).hexdigest()[:16]


def _asked(text: str) -> list[str]:
    """The words to look for: each once, function words only where there are no others."""
    terms = list(dict.fromkeys(_terms(text)))
    return ([term for term in terms if term not in _FUNCTION_WORDS] or terms)[:MOST_TERMS]


def _terms(text: str) -> list[str]:
    terms: list[str] = []
    for word in _WORD.findall(text.lower()):
        for part in _CHINESE.findall(word):
            terms += [part[i : i + 2] for i in range(len(part) - 1)] or [part]
        rest = _CHINESE.sub(" ", word).split()
        terms += rest
    return terms


EXACT_UP_TO = 10_000
"""Key elements that a scan compares with a vector faster than an over-fetching index finds them."""

WORDINGS_OF_A_NODE = 2
"""Key elements that are looked at for each one wanted: some are merged into the same node."""

FACTS_OF_A_NODE = 250
"""Facts that are looked at for one node: a hub has more, and costs no more than that."""

FACTS_OF_A_RELATED_NODE = 50
"""Facts of each related node among which those are found that name a hub, too."""

OPENING = 2
"""First facts of a document that is called like a node: they count as the node's own."""

RECENT = 3
"""Chunks read last of which what was noted leads on."""

COMPARED = 50
"""Facts up to which a node is told apart by them."""


class GraphExplorer:
    """Looks into one corpus, never out of it."""

    def __init__(self, connection: Connection, corpus: str) -> None:
        self.connection = connection
        self.corpus = corpus

    async def has_at_most(self, number: int) -> bool:
        """Whether there are no more key elements than that; a large corpus is not counted."""
        rows = await self._read("count_up_to", limit=number + 1)
        return bool(rows[0]["number"] <= number)

    async def nodes(self, limit: int) -> list[Node]:
        """Key elements, those with the most facts first. It looks at each: for small corpora."""
        return _nodes(await self._read("key_elements", limit=limit))

    async def drawn(self, shares: Sequence[float]) -> list[Node]:
        """For each number from 0 to 1 the key element at that share of all of them.

        They are in the order of their keys, so the same numbers give the same ones wherever these
        texts are read in. It looks at each: for small corpora.
        """
        return _nodes(await self._rows("drawn", shares=list(shares)))

    async def nearest(self, vectors: Sequence[Sequence[float]], limit: int) -> list[list[Node]]:
        """For each vector the key elements whose embeddings are nearest to it, nearest first."""
        values: dict[str, Any] = {
            "vectors": [self.connection.vector(vector) for vector in vectors],
            "limit": limit,
        }
        wide = limit * WORDINGS_OF_A_NODE
        if self.connection.dialect == "2026":
            return _lists(await self._read("search_by_vector", wide=wide, **values))
        small = await self.has_at_most(EXACT_UP_TO)
        further = limit * 4
        while not small and further <= EXACT_UP_TO:
            found = _lists(await self._read("search_by_vector", wide=further, **values))
            if all(len(nodes) == limit for nodes in found):
                return found
            further *= 4
        return _lists(await self._read("scan_by_vector", wide=wide, **values))

    async def matching(self, texts: Sequence[str], limit: int) -> list[list[Node]]:
        """For each text the key elements whose names hold words of it, best first.

        Any text is fine; those that hold no words are left out.
        """
        asked = [(text, query) for text in texts if (query := lucene(text, self.corpus))]
        if not asked:
            return []
        queries = [query for _, query in asked]
        found = await self._read("search_by_words", queries=queries, wide=limit * 10)
        return [
            _by_words(text, row["rows"])[:limit]
            for (text, _), row in zip(asked, found, strict=True)
        ]

    async def elements(self, ids: Sequence[str]) -> list[Element]:
        """Key elements by their ids, each once; one that was merged gives what it went into."""
        rows = await self._rows("elements", ids=list(ids))
        return [Element(**{**row, "aliases": tuple(row["aliases"])}) for row in rows]

    async def profiles(self, ids: Sequence[str]) -> dict[str, Profile]:
        """By what some nodes are told apart, by their ids; those that are gone are left out."""
        rows = await self._rows("profiles", ids=list(ids), compared=COMPARED)
        return {
            row["id"]: Profile(
                frozenset(name.casefold() for name in (row["name"], *row["aliases"])),
                frozenset(row["facts"]) if row["total"] <= COMPARED else None,
            )
            for row in rows
        }

    async def facts(
        self,
        node: str,
        related: Sequence[str] = (),
        words: Sequence[str] = (),
        opening: int = 0,
    ) -> NodeFacts:
        """The facts of a node by its id, grouped by chunk in the order of the texts.

        Of a hub, which has more than FACTS_OF_A_NODE, so many: those that also name a `related`
        node, as far as these are found among its first facts, and then any others. So many first
        facts of a document that is called like the node count as its `opening`. Which of some
        `words` (lower case, or their beginnings) each chunk holds is looked for in its whole text.
        """
        found = await self._read(
            "atomic_facts", id=node, words=list(words), opening=opening, **_bounds(related)
        )
        if not found:
            return NodeFacts((), 0)
        groups = tuple(
            ChunkFacts(
                row["id"],
                row["index"],
                row["document"],
                row["document_id"],
                tuple(StoredFact(fact["index"], fact["text"]) for fact in row["facts"]),
                row["headed"],
                tuple(row["holds"]),
            )
            for row in found[0]["rows"]
        )
        return NodeFacts(groups, found[0]["total"])

    async def neighbors(
        self,
        node: str,
        visited: Sequence[str],
        read: Sequence[str],
        related: Sequence[str],
        vector: Sequence[float] | None,
        limit: int,
        noted: str = "",
    ) -> list[Neighbor]:
        """The nodes that share a fact with a node, but for the visited ones.

        And those that are `noted` by name and stand in any fact of the chunks read last. The facts
        are those of `facts`. At a hub those come first that are reached through a fact
        which names a related node; then those that share the most facts, divided by the square
        root of all they have: a rare name says more than one that is everywhere.
        """
        rows = await self._rows(
            "neighbors",
            id=node,
            visited=list(visited),
            read=list(read),
            vector=self.connection.vector(vector) if vector and any(vector) else None,
            limit=limit,
            opening=OPENING,
            recent=list(read[-RECENT:]) if noted else [],
            noted=noted,
            **_bounds(related),
        )
        return [
            Neighbor(
                Node(row["id"], row["name"]),
                row["unread"],
                row["shared"],
                row["facts"],
                row["likeness"],
            )
            for row in rows
        ]

    async def contexts(self, chunks: Mapping[str, Sequence[int]]) -> dict[str, Context]:
        """What stands before some facts of each chunk, by the chunk's id and the facts' indexes."""
        asked = [{"id": id_, "facts": list(indexes)} for id_, indexes in chunks.items()]
        rows = await self._rows("contexts", chunks=asked)
        return {row["id"]: Context(row["heading"], dict(row["before"])) for row in rows}

    async def chunk(self, id_: str) -> StoredChunk | None:
        """Return a chunk by its id, or None if it is gone."""
        rows = await self._read("chunk", id=id_)
        if not rows:
            return None
        row = rows[0]
        return StoredChunk(
            row["id"],
            row["index"],
            row["document"],
            row["document_id"],
            row["start"],
            row["text"],
            _beside(row["previous"]),
            _beside(row["subsequent"]),
            row["first_page"],
            tuple(row["page_starts"]),
            tuple(zip(row["heading_starts"], row["headings"], strict=True)),
        )

    async def shown(self, chunks: Mapping[str, ShownChunk]) -> list[ShownTexts]:
        """The texts of what was shown, by the ids of the chunks; those that are gone left out."""
        asked = [
            {"id": id_, "read": one.read, "facts": list(one.facts)} for id_, one in chunks.items()
        ]
        rows = await self._rows("shown", chunks=asked)
        found = {
            row["id"]: ShownTexts(
                row["document_id"], row["start"], row["text"], tuple(row["facts"])
            )
            for row in rows
        }
        return [found[id_] for id_ in chunks if id_ in found]

    async def passages(self, places: Sequence[tuple[str, int]]) -> list[Passage]:
        """Chunks by (id of the document, index), in that order; those that are gone left out."""
        asked: dict[str, list[int]] = {}
        for document, chunk in places:
            asked.setdefault(document, []).append(chunk)
        documents = [{"document": id_, "chunks": chunks} for id_, chunks in asked.items()]
        rows = await self._rows("passages", documents=documents)
        found = {(row["document_id"], row["chunk"]): Passage(**row) for row in rows}
        return [found[place] for place in dict.fromkeys(places) if place in found]

    async def _read(self, name: str, **values: Any) -> list[Row]:
        return await self.connection.read(f"read/{name}", corpus=self.corpus, **values)

    async def _rows(self, name: str, **values: Any) -> list[Row]:
        """What a statement gives as one list: the driver takes a record apart far more slowly."""
        found = await self._read(name, **values)
        rows: list[Row] = found[0]["rows"]
        return rows


def _lists(rows: Sequence[Row]) -> list[list[Node]]:
    """The nodes of each of some searches."""
    return [_nodes(row["rows"]) for row in rows]


def _nodes(rows: Sequence[Row]) -> list[Node]:
    return [Node(row["id"], row["name"]) for row in rows]


def _by_words(text: str, rows: Sequence[Row]) -> list[Node]:
    """The nodes by how well their wordings match a text."""
    wordings = {row["id"]: sorted(chain.from_iterable(row["wordings"])) for row in rows}
    names = {row["id"]: row["name"] for row in rows}
    return [Node(id_, names[id_]) for id_ in by_words(text, wordings)]


def _bounds(related: Sequence[str]) -> dict[str, Any]:
    """How much of a node is looked at, and what is looked for first."""
    return {"related": list(related), "most": FACTS_OF_A_NODE, "each": FACTS_OF_A_RELATED_NODE}


def _beside(row: Row | None) -> tuple[str, int] | None:
    return None if row is None else (row["id"], row["index"])
