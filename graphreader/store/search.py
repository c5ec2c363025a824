"""Search for chunks by their facts and titles, and for key elements by their names.

Facts vote for their chunks: the best fact of a chunk counts, and a little what its other facts and
its title add (propositions vote for passages in GRASP, arXiv 2605.16598). Each name in a query is
also searched on its own, and the rankings are fused by reciprocal rank, so that both subjects of a
comparison come.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from graphreader.store.connection import Connection, Row
from graphreader.store.full_text import (
    TERMS_VERSION,
    key_element_query,
    term_scores,
    terms_query,
)
from graphreader.store.records import ChunkHit, Element, StoredFact
from graphreader.text.names import names_of
from graphreader.text.words import (
    chinese_pieces,
    fold,
    han_pairs,
    is_common,
    is_question_word,
    terms_of,
)

NOT_INDEXED = (
    "The facts of this corpus are not indexed for search, only its key elements are searched: run "
    "`graphreader reindex --corpus {corpus}`; no text is read again."
)

FACTS_PER_QUERY = 100  # read of the full-text index
TITLES_PER_QUERY = 20  # documents, or key elements of a corpus without indexed facts
OPENING = 30  # first facts of a document with a matching title
MOST_NAMES = 4  # of a query, each searched on its own
CHUNKS_PER_NAME = 10
_FUSION = 10  # the constant of reciprocal rank; the usual 60 is for longer rankings
_NAMES = 0.5  # the weight of the ranking by a name; that by the whole query has 1
_OTHERS = 0.25  # the weight of the terms that only other facts of the chunk have


@dataclass(frozen=True, slots=True)
class _Query:
    """The terms of a query, of each name in it, and those that a hit must share one of."""

    terms: frozenset[str]
    names: tuple[frozenset[str], ...]
    telling: frozenset[str]

    @classmethod
    def of(cls, text: str) -> "_Query":
        terms = terms_of(text)
        names = dict.fromkeys(terms_of(name) for name in names_of(" ".join(text.split())))
        return cls(terms, tuple(name for name in names if name)[:MOST_NAMES], _telling(text, terms))

    @property
    def searches(self) -> tuple[frozenset[str], ...]:
        """The whole query, then each name unless it is all of it."""
        return (self.terms, *(name for name in self.names if name != self.terms))


def _telling(text: str, terms: frozenset[str]) -> frozenset[str]:
    """The terms without those of any question and any text, if others are left."""
    han = frozenset(han_pairs(text))
    asked = frozenset(chain.from_iterable(map(han_pairs, chinese_pieces(text))))
    specific = {t for t in terms - han if not is_question_word(t)} | (terms & asked)
    return frozenset({t for t in specific if not is_common(t)} or specific or terms)


@dataclass(slots=True)
class _Candidate:
    """A chunk, its title's terms, and those of its facts that were fetched."""

    title: frozenset[str]
    facts: dict[int, str]


async def search_chunks(
    connection: Connection, corpus: str, queries: Sequence[str], limit: int
) -> list[list[ChunkHit]]:
    """Return for each query the chunks whose facts and titles match it, best first."""
    parsed = [_Query.of(text) for text in queries]
    rows = await _candidates(connection, corpus, [one.searches for one in parsed])
    rankings = [_rank(one, found)[:limit] for one, found in zip(parsed, rows, strict=True)]
    ids = list(dict.fromkeys(one.id for ranking in rankings for one in ranking))
    chunks = await connection.read("read/chunk_hits", corpus=corpus, ids=ids) if ids else []
    by_id = {row["id"]: row for row in chunks[0]["rows"]} if chunks else {}
    return [
        [
            ChunkHit(**by_id[one.id], facts=one.facts, score=one.score)
            for one in ranking
            if one.id in by_id
        ]
        for ranking in rankings
    ]


async def _candidates(
    connection: Connection, corpus: str, searches: Sequence[Sequence[frozenset[str]]]
) -> list[dict[str, _Candidate]]:
    """The chunks for each query, by id, of one statement for all queries and names."""
    places = [
        (place, query)
        for place, parts in enumerate(searches)
        for part in parts
        if (query := terms_query(part, corpus))
    ]
    found: list[dict[str, _Candidate]] = [{} for _ in searches]
    if not places:
        return found
    values: dict[str, Any] = {"corpus": corpus, "titles": TITLES_PER_QUERY, "opening": OPENING}
    rows = await connection.read(
        "read/search_facts",
        queries=[query for _, query in places],
        version=TERMS_VERSION,
        facts=FACTS_PER_QUERY,
        **values,
    )
    if not rows:
        words = (key_element_query(" ".join(part), corpus) for one in searches for part in one)
        rows = await connection.read("read/search_facts_by_names", queries=list(words), **values)
    for (place, _), row in zip(places, rows, strict=True):
        for chunk, title, index, text in row["rows"]:
            candidate = found[place].setdefault(chunk, _Candidate(terms_of(title), {}))
            candidate.facts[index] = text
    return found


@dataclass(frozen=True, slots=True)
class _Ranked:
    id: str
    facts: tuple[StoredFact, ...]
    score: float


def _rank(query: _Query, candidates: Mapping[str, _Candidate]) -> list[_Ranked]:
    """The candidates that share a telling term with the query, best first."""
    places = [(id_, index) for id_, one in candidates.items() for index in one.facts]
    texts = [
        (candidates[id_].title, terms_of(candidates[id_].facts[index])) for id_, index in places
    ]
    # A document about a name often has it as its title, so a title counts twice for a name.
    once, twice = (
        [Counter([*title, *fact] + [*title] * n) for title, fact in texts] for n in (0, 1)
    )
    rankings = [
        _vote(places, term_scores(search, twice if number else once))
        for number, search in enumerate(query.searches)
    ]
    whole = rankings[0]
    weights = [1.0, *(_NAMES for _ in rankings[1:])]
    points: defaultdict[str, float] = defaultdict(float)
    for weight, ranking in zip(weights, rankings, strict=True):
        best = sorted(ranking, key=lambda id_: (-ranking[id_].score, id_))
        for rank, id_ in enumerate(best if ranking is whole else best[:CHUNKS_PER_NAME], 1):
            points[id_] += weight / (_FUSION + rank)
    hits = []
    for id_, one in whole.items():
        if not one.terms & query.telling:
            continue
        both = sum(name <= one.terms | candidates[id_].title for name in query.names)
        facts = tuple(StoredFact(i, candidates[id_].facts[i]) for i in one.facts)
        hits.append((max(both, 1), one.score, _Ranked(id_, facts, points[id_])))
    hits.sort(key=lambda hit: (-hit[0], -hit[2].score, -hit[1], hit[2].id))
    return [hit for _, _, hit in hits]


@dataclass(slots=True)
class _Votes:
    """What the facts of one chunk give it: `facts` are indexes, best first."""

    score: float
    terms: frozenset[str]
    facts: list[int]


def _vote(
    places: Sequence[tuple[str, int]], scores: Sequence[Mapping[str, float]]
) -> dict[str, _Votes]:
    """The chunks whose facts have any term, each with the score that its facts give it."""
    facts: defaultdict[str, list[tuple[float, int]]] = defaultdict(list)
    best: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for (id_, index), terms in zip(places, scores, strict=True):
        if terms:
            facts[id_].append((-sum(terms.values()), index))
            best[id_] |= {t: max(x, best[id_].get(t, 0.0)) for t, x in terms.items()}
    votes = {}
    for id_, own in facts.items():
        own.sort()
        first = -own[0][0]
        others = sum(best[id_].values()) - first
        order = [index for _, index in own]
        votes[id_] = _Votes(first + _OTHERS * others, frozenset(best[id_]), order)
    return votes


# Names.

_NAME_WORD = re.compile(r"[^\W_]+")
_PARENTHESIS = re.compile(r"\s*[(（][^()（）]*[)）]$")
_ELEMENTS_PER_NAME = 50
_LONG_WORD = 7  # letters; a shorter word that differs in one is another word


async def find_named(
    connection: Connection, corpus: str, names: Sequence[str]
) -> list[Element | None]:
    """Return for each name the key element that it means, None where none is near."""
    queries = [_name_query(name, corpus) for name in names]
    asked = [query for query in queries if query]
    if not asked:
        return [None for _ in names]
    rows = await connection.read(
        "read/named_key_elements", corpus=corpus, queries=asked, limit=_ELEMENTS_PER_NAME
    )
    lists = iter(rows)
    return [
        _nearest(name, next(lists)["rows"]) if query else None
        for name, query in zip(names, queries, strict=True)
    ]


def _name_query(name: str, corpus: str) -> str | None:
    """A query for the words of a name, longer ones also misspelt or without an accent."""
    query = key_element_query(name, corpus)
    if query is None:
        return None
    words = dict.fromkeys(w.lower() for w in _NAME_WORD.findall(name) if len(w) > 3)
    near = "".join(f" name:{word}~1 aliases:{word}~1" for word in list(words)[:20])
    return f"{query[:-1]}{near})"


def _nearest(name: str, rows: Sequence[Row]) -> Element | None:
    """The key element with the nearest wording; of several the one with the most facts."""
    matches = []
    for row in rows:
        element = Element(row["id"], row["name"], tuple(row["aliases"]), row["facts"])
        levels = [_distance(name, wording) for wording in {element.name, *element.aliases}]
        known = [level for level in levels if level is not None]
        if known:
            matches.append((min(known), -element.facts, element.name, element))
    return min(matches, key=lambda match: match[:3])[3] if matches else None


def _distance(name: str, wording: str) -> int | None:
    """How far a wording is from a name, 0 for the same; None where it is another name."""
    if name == wording:
        return 0
    one, other = _name_words(name), _name_words(wording)
    if not one or not other:
        return None
    if one == other:
        return 1
    if _joined(one) == _joined(other):
        return 2
    one, other = _name_words(_PARENTHESIS.sub("", name)), _name_words(_PARENTHESIS.sub("", wording))
    if _joined(one) == _joined(other):
        return 3
    if _same_with_initials(one, other):
        return 4
    if len(one) == len(other) and all(map(_same_spelling, one, other)):
        return 5
    return None


def _name_words(name: str) -> list[str]:
    """The folded words of a name, without a possessive s and the article before it."""
    text = unicodedata.normalize("NFKC", name).replace("’", "'")
    words = [fold(word) for word in _NAME_WORD.findall(re.sub(r"'s\b", "", text))]
    return words[1:] if len(words) > 1 and words[0] == "the" else words


def _joined(words: Iterable[str]) -> str:
    """The words in one, without a plural s."""
    joined = "".join(words)
    return joined.removesuffix("s") if len(joined) > 3 else joined


def _same_with_initials(one: list[str], other: list[str]) -> bool:
    """Whether two names are equal but for first and middle names that are initials or missing."""
    if not one or not other or one[-1] != other[-1] or len(one[-1]) == 1:
        return False
    shorter, longer = sorted((one[:-1], other[:-1]), key=len)
    if not shorter or shorter[0][0] != longer[0][0]:
        return False
    places = iter(longer)
    return all(any(_same_initial(word, place) for place in places) for word in shorter) and all(
        len(word) == 1 for word in longer[len(shorter) :]
    )


def _same_initial(one: str, other: str) -> bool:
    return one == other or (1 in (len(one), len(other)) and one[0] == other[0])


def _same_spelling(one: str, other: str) -> bool:
    """Whether two words are equal but for one letter of a long word."""
    if one == other:
        return True
    if min(len(one), len(other)) < _LONG_WORD or not (one + other).isalpha():
        return False
    shorter, longer = sorted((one, other), key=len)
    at = next(
        (n for n, pair in enumerate(zip(shorter, longer, strict=False)) if pair[0] != pair[1]),
        len(shorter),
    )
    if len(shorter) == len(longer):
        return shorter[at + 1 :] == longer[at + 1 :]
    return len(longer) - len(shorter) == 1 and shorter[at:] == longer[at + 1 :]
