"""Counts and lists of a corpus or a part of it: facts, names, documents, speakers, times, words.

A search shows the best few passages; these statements count all, and page through them to the end.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from graphreader.documents import AtomicFact, ChunkFacts, ChunkRef
from graphreader.outline import LONGEST_SUMMARY, main_headings
from graphreader.store.connection import Connection, Row
from graphreader.store.full_text import all_terms_query, all_words_query
from graphreader.store.records import (
    CorpusPart,
    DocumentCount,
    DocumentsInScope,
    FactList,
    ListedDocument,
    ValueList,
    WordCount,
)
from graphreader.store.search import as_in_scope, within
from graphreader.text.words import occurrences, terms_of

MOST_FACTS = 100_000  # facts that are counted and put in order; a list of more is "at least"
MOST_NAMES = 10_000  # names with the most facts that are listed
MOST_TEXTS = 4_000  # chunks in which words are counted

_WHOLE = CorpusPart()


class Inventory:
    """A reader of counts and lists of one corpus, or of some `documents` of it."""

    def __init__(
        self, connection: Connection, corpus: str, documents: DocumentsInScope | None = None
    ) -> None:
        self._connection = connection
        self._corpus = corpus
        self._documents = documents

    async def facts(
        self,
        ids: Sequence[str] = (),
        words: str = "",
        part: CorpusPart = _WHOLE,
        *,
        skip: int = 0,
        limit: int = 0,
        documents: int = 0,
    ) -> FactList:
        """Return the facts that name all of some key elements, or have all of some words, or all.

        They are in the order of the texts, or of their times where `part` has days. `limit` is the
        number of facts of the page, `documents` of documents that are counted one by one.
        """
        terms = terms_of(words)
        if words and not terms:  # stop words alone: every text has them
            return FactList((), 0, 0, 0, ())
        values = {
            "ids": list(ids),
            "query": all_terms_query(terms, self._corpus) if terms else "",
            "most": MOST_FACTS,
        }
        (counted,), rows = await asyncio.gather(
            self._read("count_facts", part, documents=documents, **values),
            self._page(part, limit, skip=skip, by_time=part.has_days, **values),
        )
        groups = []
        for _, same in groupby(rows, lambda one: one["chunk"]["id"]):
            own = list(same)
            chunk = ChunkRef.of(own[0]["chunk"])
            facts = tuple(AtomicFact.of(one["fact"], chunk) for one in own)
            groups.append(ChunkFacts(chunk, facts))
        by_document = tuple(DocumentCount(*one) for one in counted["rows"])
        totals = counted["facts"], counted["chunks"], counted["documents"]
        return FactList(tuple(groups), *totals, by_document)

    async def _page(self, part: CorpusPart, limit: int, **values: Any) -> list[Row]:
        """Return a page of facts with their chunks; none if none is wanted."""
        if not limit:
            return []
        rows: list[Row] = (await self._read("list_facts", part, limit=limit, **values))[0]["rows"]
        return rows

    async def names(
        self, words: str, part: CorpusPart, skip: int, limit: int
    ) -> tuple[int, list[tuple[str, int]]]:
        """Return the number of key elements with the words, and a page: name, number of facts."""
        query = all_words_query(words, self._corpus)
        if words and not query:
            return 0, []
        (row,) = await self._read(
            "list_names", part, query=query, most=MOST_NAMES, skip=skip, limit=limit
        )
        groups = [row["rows"]]
        (rows,) = await as_in_scope(self._connection, self._corpus, groups, self._documents)
        return row["total"], [(one["name"], one["facts"]) for one in rows]

    async def values(self, kind: str, part: CorpusPart, skip: int, limit: int) -> ValueList:
        """Return a page of the values of a property of facts, "speaker" or "when"."""
        (row,) = await self._read("list_values", part, property=kind, skip=skip, limit=limit)
        rows = tuple((value, facts, chunks) for value, facts, chunks in row["rows"])
        ends = row["first"] or "", row["last"] or ""
        return ValueList(rows, row["total"], row["facts"], row["of"], *ends)

    async def documents(
        self, words: str, part: CorpusPart, skip: int, limit: int
    ) -> tuple[int, list[ListedDocument]]:
        """Return the number of documents with the words in their titles, and a page of them."""
        values = {"words": words.lower().split(), "characters": LONGEST_SUMMARY}
        (row,) = await self._read("list_documents", part, skip=skip, limit=limit, **values)
        return row["total"], [
            ListedDocument(id_, title, chunks, tokens, tuple(main_headings(*headings)), summary)
            for id_, title, chunks, tokens, headings, summary in row["rows"]
        ]

    async def words(self, words: str, part: CorpusPart) -> WordCount:
        """Count the occurrences of words, side by side and in any regular form, in the texts."""
        terms = terms_of(words)
        is_indexed = all(len(term) > 1 or term.isascii() for term in terms)  # not one Han character
        query = all_terms_query(terms, self._corpus) if terms and is_indexed else ""
        texts = await self._read("texts_with_words", part, query=query, most=MOST_TEXTS)
        forms: Counter[str] = Counter()
        titles: dict[str, str] = {}
        numbers: defaultdict[str, dict[int, int]] = defaultdict(dict)  # by document and index
        for row in texts:
            if own := occurrences(words, row["text"]):
                forms.update(own)
                titles[row["id"]] = row["title"]
                numbers[row["id"]][row["index"]] = len(own)
        counts = [
            DocumentCount(id_, titles[id_], sum(n.values()), len(n), tuple(n))
            for id_, n in numbers.items()
        ]
        counts.sort(key=lambda one: (-one.number, one.title, one.id))
        found = sum(map(len, numbers.values()))
        return WordCount(tuple(forms.most_common()), tuple(counts), found, len(texts) == MOST_TEXTS)

    async def _read(self, name: str, part: CorpusPart, **values: Any) -> list[Row]:
        values |= within(self._documents, part)
        return await self._connection.read(f"read/{name}", corpus=self._corpus, **values)
