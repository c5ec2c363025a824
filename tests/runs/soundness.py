"""What must hold of a corpus at rest, whatever was done to it before.

The expected facts are computed here, from the texts alone and by a function; the graph is looked at
with statements of our own, so nothing of the program decides what is right.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from graphreader.ingestion.normalization.rules import normalize
from graphreader.settings import Settings
from tests.runs.digest import rows

FactsOf = Callable[[str], Mapping[str, list[str]]]
"""The facts of a chunk's text, each with its key elements as worded there."""

_DOCUMENTS = """
MATCH (d:Document {corpus: $corpus})
RETURN d.title AS title, d.complete AS complete, d.deleting AS deleting,
  COLLECT { MATCH (d)-[:HAS_CHUNK]->(c:Chunk) RETURN c {.*} ORDER BY c.index } AS chunks,
  COLLECT {
    MATCH (d)-[:HAS_CHUNK]->(a:Chunk)-[:NEXT]->(b) RETURN [a.id, b.id] ORDER BY a.index
  } AS links
"""
_FACTS = """
MATCH (d:Document {corpus: $corpus})-[:HAS_CHUNK]->(c)-[:HAS_ATOMIC_FACT]->(f:AtomicFact)
RETURN c.id AS chunk, f.text AS text,
  coalesce(d.joined, []) AS joined, coalesce(d.joined_into, []) AS joined_into,
  COLLECT {
    MATCH (f)-[r:HAS_KEY_ELEMENT|MERGED_KEY_ELEMENT]->(k:KeyElement)
    RETURN {key: k.key, id: k.id, type: type(r), surface: r.surface, from: r.from}
  } AS elements
"""
_ELEMENTS = """
MATCH (k:KeyElement {corpus: $corpus})
RETURN k {.*, embedding: null} AS element, size(k.embedding) AS dimension
"""
_ORPHANS = """
MATCH (n) WHERE n.corpus = $corpus AND (
  n:Chunk AND COUNT { (:Document)-[:HAS_CHUNK]->(n) } <> 1
  OR n:AtomicFact AND COUNT { (:Chunk)-[:HAS_ATOMIC_FACT]->(n) } <> 1
  OR n:KeyElement AND NOT EXISTS { (:AtomicFact)-[:HAS_KEY_ELEMENT|MERGED_KEY_ELEMENT]->(n) })
RETURN labels(n)[0] AS label, n.id AS id
"""


def check(
    settings: Settings,
    corpus: str,
    texts: Mapping[str, str],
    facts_of: FactsOf,
    failed: Mapping[str, Counter[str]] = MappingProxyType({}),
) -> None:
    """The graph holds exactly these texts (by title) and their facts, and nothing else.

    `failed` are the texts of the chunks that could not be extracted, by title.
    """
    documents = rows(settings, _DOCUMENTS, corpus=corpus)

    assert rows(settings, _ORPHANS, corpus=corpus) == []
    assert sorted(one["title"] for one in documents) == sorted(texts)
    chunks = {}
    for document in documents:
        title = document["title"]
        _check_document(document, texts[title], failed.get(title, Counter()))
        chunks |= {chunk["id"]: chunk for chunk in document["chunks"]}
    facts = rows(settings, _FACTS, corpus=corpus)
    _check_facts(facts, chunks, facts_of)
    _check_elements(facts, settings, corpus)


def _check_document(document: dict[str, Any], text: str, failed: Counter[str]) -> None:
    """Spans give the text back, NEXT is one chain, flags are right."""
    chunks = document["chunks"]

    assert "".join(chunk["text"] for chunk in chunks) == text
    assert [chunk["index"] for chunk in chunks] == list(range(len(chunks)))
    assert all(chunk["text"] == text[chunk["start"] : chunk["end"]] for chunk in chunks)
    assert chunks[0]["start"] == 0
    assert all(a["end"] == b["start"] for a, b in pairwise(chunks))
    assert document["links"] == [[a["id"], b["id"]] for a, b in pairwise(chunks)]
    assert not any(chunk.get("pending") for chunk in chunks)
    assert Counter(chunk["text"] for chunk in chunks if chunk.get("error")) == failed
    assert document["deleting"] is None
    assert document["complete"] is not bool(failed)


def _check_facts(facts: list[dict[str, Any]], chunks: Mapping[str, Any], facts_of: FactsOf) -> None:
    """Each chunk has the facts of its text, and these the key elements that extraction gave."""
    found: dict[str, dict[str, dict[str, str]]] = {id_: {} for id_ in chunks}
    for fact in facts:
        assert fact["text"] not in found[fact["chunk"]], "a fact stands twice in a chunk"
        found[fact["chunk"]][fact["text"]] = {
            one["key"]: one["surface"] for one in fact["elements"] if is_base(one)
        }
    expected = {
        id_: {} if chunk.get("error") else _with_keys(facts_of(chunk["text"]))
        for id_, chunk in chunks.items()
    }

    assert found == expected


def _with_keys(facts: Mapping[str, list[str]]) -> dict[str, dict[str, str]]:
    return {
        fact: {normalize(surface): surface for surface in reversed(surfaces)}
        for fact, surfaces in facts.items()
    }


def is_base(link: Mapping[str, Any]) -> bool:
    """Whether extraction gave this relationship, and not a merge."""
    return link["type"] == "MERGED_KEY_ELEMENT" or not link["from"]


def _check_elements(facts: list[dict[str, Any]], settings: Settings, corpus: str) -> None:
    """Names and aliases are counted right; each fact leads to what its names mean."""
    found = rows(settings, _ELEMENTS, corpus=corpus)
    elements = {one["element"]["id"]: one["element"] for one in found}
    worded: dict[str, Counter[str]] = {id_: Counter() for id_ in elements}
    named: dict[str, Counter[str]] = {id_: Counter() for id_ in elements}
    for fact in facts:
        _check_meanings(fact, elements)
        for one in fact["elements"]:
            worded[one["id"]][one["surface"]] += 1
            named[one["id"]][one["surface"]] += is_base(one)
            merged_into = elements[one["id"]].get("merged_into")
            assert not merged_into or elements[merged_into].get("merged_into") is None

    assert all(one["dimension"] for one in found)
    for id_, element in elements.items():
        assert not element.get("stale")
        assert element["name"] == _by_frequency(+named[id_])[0]
        own, counts = named[id_], worded[id_]  # the element's own wordings come first
        assert element["aliases"] == sorted(counts, key=lambda s: (-own[s], -counts[s], s))


def _check_meanings(fact: Mapping[str, Any], elements: Mapping[str, Any]) -> None:
    """By the joins of its document, then by the merges, a fact leads to what each name means."""
    joined = dict(zip(fact["joined"], fact["joined_into"], strict=True))

    def meaning(id_: str) -> str:
        merged = elements[id_].get("merged_into")
        meant = joined.get(id_) or joined.get(merged) or merged or id_
        return str(elements[meant].get("merged_into") or meant)

    names = {one["id"]: one["type"] for one in fact["elements"] if is_base(one)}
    kept = {id_ for id_, type_ in names.items() if type_ == "HAS_KEY_ELEMENT"}
    moved = {meaning(id_): id_ for id_ in sorted(names, reverse=True) if id_ not in kept}

    assert kept == {id_ for id_ in names if meaning(id_) == id_}
    assert {one["id"]: one["from"] for one in fact["elements"] if not is_base(one)} == {
        into: id_ for into, id_ in moved.items() if into not in kept
    }


def _by_frequency(counted: Counter[str]) -> list[str]:
    return sorted(counted, key=lambda one: (-counted[one], one))
