"""Search for chunks by facts, passages and titles, and for key elements by names.

Facts vote for their chunks, like propositions for passages in GRASP (arXiv 2605.16598); each term
counts by the best fact of a chunk, and by the document's title. A passage brings its chunk by its
words and by its vector. The rankings by facts, by passages, by vectors and by each name in the
query are fused by reciprocal rank, so that both subjects of a comparison are found. The constants
were chosen on half of the development questions (docs/evaluation.md).
"""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any

from graphreader.documents import AtomicFact, Chunk, ChunkFacts, Scored
from graphreader.store.connection import Connection, Row
from graphreader.store.full_text import (
    all_terms_query,
    indexed_terms,
    key_element_queries,
    term_scores,
    terms_in,
    terms_queries,
)
from graphreader.store.records import CorpusPart, DocumentsInScope
from graphreader.store.snippets import best_facts, term_weights
from graphreader.text.question import asked_names
from graphreader.text.words import (
    alphanumeric_words,
    is_common,
    is_question_word,
    letter_terms,
    terms_of,
    unspaced_words,
)

NOT_INDEXED = (
    "The facts of this corpus are being indexed for search, until then only its key elements are "
    "searched: ask again later, or run `graphreader reindex --corpus {corpus}` first."
)

EARLIER_TERMS = (
    "The facts of this corpus are being indexed anew: until then words with signs (C++, .NET) and "
    "words of some scripts may not be found."
)

WITHOUT_PASSAGES = (
    "This corpus is of an earlier version and is searched by the words of its facts alone: "
    "`graphreader reindex --corpus {corpus}` makes its passages, and their vectors."
)

FACTS_PER_QUERY = 100  # rows of the full-text index
PASSAGES_PER_QUERY = 40  # by words, and as many by vector
TITLES_PER_QUERY = 20  # documents; or key elements if the corpus has no indexed facts
OPENING = 30  # first facts of a document with a matching title
EXACT_UP_TO = 10_000
"""Largest number of key elements at which a scan of vectors is as fast as an index query."""

ALL_ROWS = 10_000_000
"""The number of rows of a full-text index among which the texts of a scope are looked for.

The index yields them one by one, so the search ends where enough are found."""

NEAR = 0.45  # smallest cosine of a hit without a distinctive term of the query
MOST_NAMES = 4  # of a query that are also searched one by one
MOST_COUNTED = 1_000  # facts with a name whose chunks are counted
EXPLAINED = 3  # best facts by words of which the facts before and after them are read, too
CHUNKS_PER_NAME = 10
CHUNKS_BY_PASSAGES = 3  # facts find more by words, so only the best passages count
_FUSION = 10  # the constant of reciprocal rank; the usual 60 is for longer rankings
_NAMES = 0.5  # the weight of the ranking by a name; the ranking by the whole query has weight 1
_PASSAGES = 0.25  # the weight of the ranking by the words of passages
_VECTORS = 1.0

Span = tuple[int, int]
_WHOLE = CorpusPart()


@dataclass(frozen=True, slots=True)
class _Query:
    """A parsed query: all terms, the terms of each name, and its distinctive terms.

    A hit must have a distinctive term, or a vector near to the query's. The chunks with each
    `counted` name are counted; of a query without names, which has few words, the chunks with all.
    """

    terms: frozenset[str]
    names: tuple[frozenset[str], ...]
    distinctive: frozenset[str]
    counted: Mapping[frozenset[str], str]

    @classmethod
    def of(cls, text: str) -> "_Query":
        terms = terms_of(text)
        wordings = {terms_of(name): name for name in asked_names(text)}
        distinctive = _distinctive(text, terms) | frozenset().union(*wordings)
        counted = {one: name for one, name in list(wordings.items())[:MOST_NAMES] if one}
        names = tuple(counted)
        if not names:
            words = {terms_of(one): one for one in reversed(alphanumeric_words(text))}
            own = {one: word for one, word in reversed(words.items()) if one and one <= distinctive}
            is_all = distinctive == frozenset().union(*own)
            counted = own if is_all and len(own) <= MOST_NAMES else {}
        return cls(terms, names, distinctive, counted)

    @property
    def searches(self) -> tuple[frozenset[str], ...]:
        """The terms of the whole query, then of each name that is only a part of it."""
        return (self.terms, *(name for name in self.names if name != self.terms))

    def mentions(self, rows: Sequence[Row]) -> tuple["Mentions", ...]:
        """Make the numbers of chunks with each `counted` name, in order, and with all of them."""
        names = list(self.counted.values())
        chunks = [set(row["chunks"]) for row in rows]
        least = [row["facts"] >= MOST_COUNTED for row in rows]
        each = list(zip(names, chunks, least, strict=True)) if self.names else []
        together = [(" and ".join(names), set.intersection(*chunks), any(least))] if rows else []
        every = [*each, *together] if len(each) != 1 else each
        return tuple(Mentions(name, len(own), some) for name, own, some in every if own)


def _distinctive(text: str, terms: frozenset[str]) -> frozenset[str]:
    """The terms without question words and common words, if other terms are left."""
    han = frozenset(letter_terms(text))
    asked = frozenset(chain.from_iterable(map(letter_terms, unspaced_words(text))))
    specific = {t for t in terms - han if not is_question_word(t)} | (terms & asked)
    return frozenset({t for t in specific if not is_common(t)} or specific or terms)


@dataclass(slots=True)
class _Candidate:
    """A chunk that may be a hit: terms of its title, of fetched facts and of fetched passages.

    `near` are the cosines of the passages that were fetched by their vectors.
    """

    title: frozenset[str]
    facts: dict[int, frozenset[str]] = field(default_factory=dict)
    passages: dict[Span, frozenset[str]] = field(default_factory=dict)
    near: dict[Span, float] = field(default_factory=dict)

    @property
    def terms(self) -> frozenset[str]:
        """All terms that are known of the chunk."""
        return self.title.union(*self.facts.values(), *self.passages.values())


@dataclass(frozen=True, slots=True)
class Mentions:
    """The number of chunks of a corpus with a name or word in their facts, perhaps `at_least`."""

    name: str
    chunks: int
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The best chunks for a query, and how many chunks mention each of its names, and all."""

    hits: list[Scored[ChunkFacts[Chunk]]]
    mentions: tuple[Mentions, ...] = ()


_Candidates = dict[str, _Candidate]  # the chunks fetched for one query, by id


async def search_chunks(
    connection: Connection,
    corpus: str,
    queries: Sequence[str],
    limit: int,
    vectors: Sequence[Sequence[float]] | None,
    frequent: Collection[str] = (),
    documents: DocumentsInScope | None = None,
    part: CorpusPart = _WHOLE,
) -> list[SearchResult]:
    """Return for each query the chunks whose facts and titles match it, with these facts.

    The best chunk comes first, and its best fact. Terms that are `frequent` in the facts are
    searched only together with others. With `documents` only these are searched, and of them only
    a `part`; the hits of days come in the order of their times.
    """
    found: list[_Candidates] = [{} for _ in queries]
    parsed = [_Query.of(text) for text in queries]
    mentions, _ = await asyncio.gather(
        _match_terms(connection, corpus, queries, parsed, found, frequent, documents, part),
        _match_vectors(connection, corpus, vectors or (), found, documents, part),
    )
    rankings = [
        _rank(one, chunks, frequent)[:limit] for one, chunks in zip(parsed, found, strict=True)
    ]
    weights = [
        term_weights(query.terms, [chunks[one.id].terms for one in ranking])
        for query, ranking, chunks in zip(parsed, rankings, found, strict=True)
    ]
    hits = [
        {
            "id": one.id,
            "facts": [*one.facts, *(n + step for n in one.facts[:EXPLAINED] for step in (-1, 1))],
            "start": one.passage[0],
            "end": one.passage[1],
        }
        for one in chain(*rankings)
    ]
    rows = []
    if hits:
        scope = documents and documents.ids
        rows = await connection.read("read/chunk_hits", corpus=corpus, hits=hits, scope=scope)
    read = {row["place"]: row for row in rows[0]["rows"]} if rows else {}
    places = count()
    results = []
    for ranking, own, counts in zip(rankings, weights, mentions, strict=True):
        numbered = [(n, one) for one in ranking if (n := next(places)) in read]
        if part.has_days:
            numbered.sort(key=lambda one: _time(read[one[0]], part))
        results.append(SearchResult([_hit(read[n], one, own) for n, one in numbered], counts))
    return results


def _time(row: Row, part: CorpusPart) -> tuple[str, str, int]:
    """The first time of the facts of a hit within the days, else of its document; its place."""
    times = [fact["when"] for fact in row["facts"] if part.has_time(fact["when"] or "")]
    chunk = row["chunk"]
    return min(times, default=row["date"] or ""), chunk["document_id"], chunk["index"]


def _hit(row: Row, ranked: "_Ranked", weights: Mapping[str, float]) -> Scored[ChunkFacts[Chunk]]:
    """Make a hit with the facts that answer the query, best first."""
    chunk = Chunk.of(row["chunk"])
    facts = [AtomicFact.of(fact, chunk) for fact in row["facts"]]
    near = {fact["index"] for fact in row["facts"] if fact["near"]}
    best = best_facts(facts, weights, near, ranked.is_near)
    return Scored(ChunkFacts(chunk, tuple(best)), ranked.score)


async def _match_terms(
    connection: Connection,
    corpus: str,
    texts: Sequence[str],
    parsed: Sequence[_Query],
    found: Sequence[_Candidates],
    frequent: Collection[str],
    documents: DocumentsInScope | None,
    part: CorpusPart,
) -> list[tuple[Mentions, ...]]:
    """Fetch chunks by the full-text indexes, in one statement for all queries and names.

    Returns how many chunks mention the names of each query.
    """
    searches = [
        (place, terms) for place, one in enumerate(parsed) for terms in one.searches if terms
    ]
    mentions: list[tuple[Mentions, ...]] = [() for _ in parsed]
    if not searches:
        return mentions
    wholes = [terms == parsed[place].terms for place, terms in searches]
    values: dict[str, Any] = {"corpus": corpus, "titles": TITLES_PER_QUERY, "opening": OPENING}
    values |= within(documents, part)
    rows = await connection.read(
        "read/search_facts",
        queries=[terms_queries(terms, corpus, frequent) for _, terms in searches],
        title_queries=[terms_queries(terms, corpus)[0] for _, terms in searches],
        passage_queries=[
            terms_queries(terms, corpus, frequent) if is_whole else []
            for is_whole, (_, terms) in zip(wholes, searches, strict=True)
        ],
        passages=PASSAGES_PER_QUERY,
        counted=[
            [all_terms_query(one, corpus) for one in parsed[place].counted] if is_whole else []
            for is_whole, (place, _) in zip(wholes, searches, strict=True)
        ],
        most=MOST_COUNTED,
        facts=FACTS_PER_QUERY,
        **values,
    )
    places = [place for place, _ in searches]
    for place, row in zip(places, rows, strict=bool(rows)):
        if row["mentions"]:
            mentions[place] = parsed[place].mentions(row["mentions"])
    if not rows:
        asked = [
            (place, query)
            for place, text in enumerate(texts)
            for query in key_element_queries(text, corpus)
        ]
        places = [place for place, _ in asked]
        words = [query for _, query in asked]
        rows = await connection.read("read/search_facts_by_names", queries=words, **values)
        for row in rows:
            row["rows"] = [[*one[:3], indexed_terms(one[3], corpus)] for one in row["rows"]]
    for place, row in zip(places, rows, strict=True):
        _add(found[place], row["rows"])
        for id_, title, start, end, terms in row.get("passages", ()):
            chunk = found[place].setdefault(id_, _Candidate(terms_of(title)))
            chunk.passages[start, end] = terms_in(terms)
    return mentions


async def _match_vectors(
    connection: Connection,
    corpus: str,
    vectors: Sequence[Sequence[float]],
    found: Sequence[_Candidates],
    documents: DocumentsInScope | None,
    part: CorpusPart,
) -> None:
    """Fetch the passages nearest to the queries' vectors, if passages have vectors."""
    if not vectors:
        return
    rows = await nearest_rows(
        connection,
        "passages_by_vector",
        PASSAGES_PER_QUERY,
        PASSAGES_PER_QUERY,
        documents,
        part,
        scan_small=False,
        corpus=corpus,
        vectors=[connection.vector(vector) for vector in vectors],
        passages=PASSAGES_PER_QUERY,
    )
    for place, row in enumerate(rows):
        for id_, title, start, end, cosine in row["rows"]:
            chunk = found[place].setdefault(id_, _Candidate(terms_of(title)))
            chunk.near[start, end] = cosine


def within(documents: DocumentsInScope | None, part: CorpusPart = _WHOLE) -> dict[str, Any]:
    """The values of a statement about a part of a corpus or of some documents, or about all.

    `wide` is the number of rows of a full-text index that it looks through, None where any row will
    do.
    """
    scope = documents.ids if documents else None
    if part.documents:
        scope = [id_ for id_ in part.documents if scope is None or id_ in scope]
    is_limited = documents or part != _WHOLE
    return {
        "scope": scope,
        "ranges": [list(one) for one in part.ranges],
        "since": part.since,
        "until": part.until,
        "wide": ALL_ROWS if is_limited else None,
    }


async def nearest_rows(
    connection: Connection,
    what: str,
    wanted: int,
    wide: int,
    documents: DocumentsInScope | None = None,
    part: CorpusPart = _WHOLE,
    *,
    scan_small: bool,
    **values: Any,
) -> list[Row]:
    """Return a row for each vector with the `wanted` nearest items of the kind `what`.

    It runs the statement `search_{what}`, which reads `wide` items of the index, or `scan_{what}`.
    The index of Neo4j 5 holds all corpora, and no index can choose documents or days: more and more
    items are read, and at last the corpus, or its `documents`, are scanned. With `scan_small` a
    corpus of few key elements is scanned at once; few documents, or the documents of a `part`,
    always are.
    """
    values |= within(documents, part) | {"wide": wide}
    if part.documents:
        is_small = True
    elif documents:
        is_small = documents.is_small
    elif part == _WHOLE and connection.dialect == "2026":
        return await connection.read(f"read/search_{what}", **values)
    else:
        is_small = scan_small and await has_at_most(connection, values["corpus"], EXACT_UP_TO)
    fetched = wide
    while not is_small and fetched <= EXACT_UP_TO:
        rows = await connection.read(f"read/search_{what}", **(values | {"wide": fetched}))
        if all(len(row["rows"]) == wanted for row in rows):
            return rows
        fetched *= 10
    return await connection.read(f"read/scan_{what}", **values)


async def has_at_most(
    connection: Connection, corpus: str, number: int, documents: DocumentsInScope | None = None
) -> bool:
    """Whether a corpus, or some documents, have at most `number` key elements; no more are read."""
    scope = documents and documents.ids
    rows = await connection.read("read/count_up_to", corpus=corpus, limit=number + 1, scope=scope)
    return bool(rows[0]["number"] <= number)


async def as_in_scope(
    connection: Connection,
    corpus: str,
    groups: Sequence[Sequence[Row]],
    documents: DocumentsInScope | None,
) -> Sequence[Sequence[Row]]:
    """Return groups of key elements with the name, wordings and facts that some documents have.

    Key elements that these do not name are left out.
    """
    if documents is None:
        return groups
    ids = list({row["id"]: None for row in chain(*groups)})
    name = "read/elements_in_documents" if documents.is_small else "read/elements_in_scope"
    rows = await connection.read(name, corpus=corpus, ids=ids, scope=documents.ids)
    known = {row["id"]: row for row in rows[0]["rows"]}
    return [[row | known[row["id"]] for row in group if row["id"] in known] for group in groups]


def _add(chunks: _Candidates, rows: Iterable[Sequence[Any]]) -> None:
    for id_, title, index, terms in rows:
        chunk = chunks.setdefault(id_, _Candidate(terms_of(title)))
        chunk.facts[index] = terms_in(terms)


@dataclass(frozen=True, slots=True)
class _Ranked:
    """The id of a chunk, its best passage, and the indexes of its matching facts, best first.

    The passage `is_near` if it was found by its vector.
    """

    id: str
    passage: Span
    is_near: bool
    facts: tuple[int, ...]
    score: float


def _rank(
    query: _Query, candidates: Mapping[str, _Candidate], frequent: Collection[str] = ()
) -> list[_Ranked]:
    """Rank the candidates that share a distinctive term with the query or are near to it."""
    places = [(id_, index) for id_, one in candidates.items() for index in one.facts]
    texts = [(candidates[id_].title, candidates[id_].facts[index]) for id_, index in places]

    def votes_for(search: frozenset[str], title_counts: int) -> dict[str, _Votes]:
        counts = [
            {
                t: title_counts * (t in title) + (t in fact)
                for t in search
                if t in title or t in fact
            }
            for title, fact in texts
        ]
        lengths = [title_counts * len(title) + len(fact) for title, fact in texts]
        return _vote(places, term_scores(search, counts, lengths, frequent))

    # A document's title is often the name it is about, so a title counts twice for a name.
    whole, *by_name = (
        votes_for(search, 2 if number else 1) for number, search in enumerate(query.searches)
    )
    passages = _passage_scores(query.terms, candidates, frequent)
    nearest = {id_: max(one.near.values()) for id_, one in candidates.items() if one.near}
    words = {id_: one.score for id_, one in whole.items()}
    points: defaultdict[str, float] = defaultdict(float)
    _fuse(points, words, 1.0)
    by_passages = {id_: max(own.values()) for id_, own in passages.items() if own}
    _fuse(points, by_passages, _PASSAGES, CHUNKS_BY_PASSAGES)
    _fuse(points, nearest, _VECTORS)
    for ranking in by_name:
        _fuse(points, {id_: one.score for id_, one in ranking.items()}, _NAMES, CHUNKS_PER_NAME)
    hits = []
    for id_, chunk in candidates.items():
        votes = whole.get(id_, _NO_VOTES)
        best = _best_passage(chunk, passages.get(id_, {}))
        terms = votes.terms | chunk.passages.get(best, frozenset())
        if not (terms & query.distinctive or nearest.get(id_, 0) >= NEAR):
            continue
        names = sum(name <= votes.terms | chunk.title for name in query.names)
        ranked = _Ranked(id_, best, bool(chunk.near), _best_facts(votes), points[id_])
        hits.append((max(names, 1), ranked.score, votes.score, ranked))
    hits.sort(key=lambda hit: (*(-number for number in hit[:3]), hit[3].id))
    return [hit[3] for hit in hits]


def _passage_scores(
    query: frozenset[str], candidates: Mapping[str, _Candidate], frequent: Collection[str]
) -> dict[str, dict[Span, float]]:
    """Return the BM25 scores of the fetched passages, by the chunk's id and the passage's ends."""
    places = [(id_, span) for id_, one in candidates.items() for span in one.passages]
    texts = [candidates[id_].passages[span] for id_, span in places]
    counts = [dict.fromkeys(query & terms, 1) for terms in texts]
    scores: dict[str, dict[Span, float]] = {id_: {} for id_ in candidates}
    shares = term_scores(query, counts, list(map(len, texts)), frequent)
    for (id_, span), own in zip(places, shares, strict=True):
        scores[id_][span] = sum(own.values())
    return scores


def _best_passage(chunk: _Candidate, scores: Mapping[Span, float]) -> Span:
    """Return the ends of the passage that is nearest, or has the best words; (0, 0) for none.

    Of equal passages it is the first of the text, whatever their order in the index.
    """
    known = chunk.near or scores
    return max(known, key=lambda span: (known[span], -span[0]), default=(0, 0))


def _fuse(
    points: defaultdict[str, float],
    scores: Mapping[str, float],
    weight: float,
    most: int | None = None,
) -> None:
    """Add the reciprocal rank of each chunk by these scores to its points."""
    for rank, id_ in enumerate(sorted(scores, key=lambda id_: (-scores[id_], id_))[:most], 1):
        points[id_] += weight / (_FUSION + rank)


@dataclass(frozen=True, slots=True)
class _Votes:
    """The score that a chunk gets from its facts; `facts` are scores by the facts' indexes."""

    score: float
    terms: frozenset[str]
    facts: Mapping[int, float]


_NO_VOTES = _Votes(0.0, frozenset(), {})


def _vote(
    places: Sequence[tuple[str, int]], scores: Sequence[Mapping[str, float]]
) -> dict[str, _Votes]:
    """Return the scores, by chunk id, of all chunks with a fact that has any term."""
    facts: defaultdict[str, dict[int, float]] = defaultdict(dict)
    terms: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for (id_, index), shares in zip(places, scores, strict=True):
        if shares:
            facts[id_][index] = sum(shares.values())
            best = terms[id_]
            for term, share in shares.items():
                best[term] = max(share, best.get(term, 0.0))
    return {
        id_: _Votes(sum(terms[id_].values()), frozenset(terms[id_]), own)
        for id_, own in facts.items()
    }


def _best_facts(votes: _Votes) -> tuple[int, ...]:
    """Return the indexes of the facts of a chunk that match by words, best first."""
    return tuple(sorted(votes.facts, key=lambda index: (-votes.facts[index], index)))
