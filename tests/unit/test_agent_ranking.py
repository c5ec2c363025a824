"""What is shown first: words that are shared, rankings that are fused, pages of facts."""

from dataclasses import replace
from math import log

import pytest

from graphreader.agent import ranking
from graphreader.agent.ranking import (
    FACTS_PER_PAGE,
    FactPart,
    fuse_rankings,
    needs_context,
    open_needs,
    page_of_facts,
    rank_by_words,
    rank_shared,
)
from graphreader.store.records import ChunkFacts, StoredFact


def chunk(index: int, *facts: str, document: str = "book") -> ChunkFacts:
    stored = tuple(StoredFact(number, fact) for number, fact in enumerate(facts))
    return ChunkFacts(f"c{index}", index, document, "d", stored)


def hub(chunks: int, facts: int) -> list[ChunkFacts]:
    texts = [[f"Fact {n} of chunk {index}." for n in range(facts)] for index in range(chunks)]
    return [chunk(index, *facts) for index, facts in enumerate(texts)]


def order(parts: list[FactPart]) -> list[int]:
    return [part.source.index for part in parts]


# What shares more and rarer words with the query comes first; equal items keep their order, in
# whatever order words are added up, since a resumed run must show the same.
def test_rank_by_words() -> None:
    facts = ["The castle is old.", "The castle is in Toronto.", "A castle.", "Nothing of it."]
    sizes = (2, 3, 4, 5, 6, 8)
    equal = [" ".join(f"of{size}kinds{n % size}" for size in sizes) for n in range(120)]

    assert rank_by_words(facts, str, "Which castle is in Toronto?")[0] == facts[1]
    assert rank_by_words(facts, str, "castles")[-1] == facts[3]
    assert rank_by_words(facts, str, "zzz") == facts
    assert rank_by_words(equal, str, " ".join(equal)) == equal
    assert rank_shared(facts[1:], str, "Which castle is in Toronto?") == facts[1:3]
    assert ranking.scores(["Ann sang.", "Ann."], str, "Ann sang", "Ann") == [log(3), 0.0]


# Inflected forms are one word, stop words say nothing, Chinese is compared by pairs of characters.
def test_words() -> None:
    assert ranking.words("Canadian bands of the 1972") == {"canadi", "bands", "1972"}
    assert ranking.words("丹科琼斯ab琼") == {"丹科", "科琼", "琼斯"}
    assert ranking.word_stems("Who was the Founder of Ulm?") == {"founde": "founder", "ulm": "ulm"}


# What two rankings agree on is first; every item is there once.
def test_rankings_are_fused() -> None:
    assert fuse_rankings([["a", "b", "c"], ["b", "d"], ["b"]], str) == ["b", "a", "d", "c"]


# A need is open until the notebook has most of its words; if none is open, all count.
def test_open_needs() -> None:
    needs = ["birthplace of Anna Weber", "founding year of the town"]
    notebook = "Anna Weber's birthplace is Ulm."

    assert open_needs(needs, "") == needs
    assert open_needs(needs, notebook) == needs[1:]
    assert open_needs(needs[:1], notebook) == needs[:1]


# The chunk whose facts share the rarest words stands first, chunks that were read stand last.
def test_best_chunk_first() -> None:
    chunks = [chunk(0, "Ann was a baker."), chunk(1, "Ann sang."), chunk(2, "Ann, baker of Rome.")]

    assert order(page_of_facts(chunks, "Which baker lived in Rome?", 0)[0]) == [2, 0, 1]
    assert order(page_of_facts(chunks, "Which baker lived in Rome?", 0, ["c2"])[0]) == [0, 1, 2]


# Every chunk has its turn before any has its second one; facts of a part stand in the text's order.
def test_no_chunk_crowds_out_the_others() -> None:
    chunks = [chunk(0, *(f"Filler {n}." for n in range(5)), "The baker came."), chunk(1, "Ann.")]

    parts, remaining = page_of_facts(chunks, "baker", 0)

    assert order(parts) == [0, 1, 0]
    assert [fact.index for fact in parts[0].facts] == [0, 1, 5]
    assert [part.more for part in parts] == [3, 0, 0]
    assert remaining == 0


# A chunk ranks by all that it holds, not only by the node's facts in it, nor by the node's name.
def test_the_whole_chunk_counts() -> None:
    chunks = [chunk(0, "Ann, a baker, sang."), chunk(1, "Ann sang."), chunk(2, "Ann slept.")]
    chunks[2] = replace(chunks[2], holds=("ulm", "born"))

    parts, _ = page_of_facts(chunks, "Was Ann the baker born in Ulm?", 0, node="Ann Baker")

    assert order(parts) == [2, 0, 1]
    assert parts[0].holds == ("ulm", "born")
    assert [part.promise for part in parts] == [1.0, 0.0, 0.0]


# A document called like the node comes first, also with a word in brackets behind its name.
def test_document_of_the_node() -> None:
    chunks = [chunk(0, "Ann Yule was born in Ulm."), chunk(1, "Ann.", document="Ann Yule (poet)")]

    assert order(page_of_facts(chunks, "Was Ann Yule born in Ulm?", 0, node="Ann Yule")[0]) == [
        1,
        0,
    ]


# So does a document whose whole title of several words stands in the query, however it is written.
def test_document_that_is_asked_for() -> None:
    chunks = [
        chunk(0, "A film released in Ulm: Farewell, Darling.", document="Darling"),
        chunk(1, "A film released in Ulm.", document="Farewell in Ulm, Dear Ann"),
        chunk(2, "It is old.", document="Farewell in Ulm, My Darling (film)"),
    ]
    query = 'When was the film "Farewell In Ulm, my Darling" released?'

    assert order(page_of_facts(chunks, query, 0, node="Ulm")[0]) == [2, 0, 1]


# Page after page, by as many facts as were shown, every fact comes exactly once.
def test_all_pages_together_are_all_facts() -> None:
    chunks, seen = hub(chunks=30, facts=20), list[tuple[int, int]]()
    while len(seen) < 600:
        parts, remaining = page_of_facts(chunks, "fact 7 of chunk 3", len(seen))
        facts = [(part.source.index, fact.index) for part in parts for fact in part.facts]
        assert len(facts) <= FACTS_PER_PAGE
        assert remaining == 600 - len(seen) - len(facts)
        seen += facts[:47]  # as many as a window happens to hold

    assert sorted(seen) == [(chunk, fact) for chunk in range(30) for fact in range(20)]


# A fact that points at something, or names nothing, needs the fact before it to be understood.
@pytest.mark.parametrize(
    ("fact", "unclear"),
    [
        ("The original score was rejected.", True),
        ("He moved to Paris in 1920.", True),
        ("This city was besieged.", True),
        ("The king died.", True),
        ("他于1920年移居巴黎。", True),
        ("国王去世了。", True),
        ("Jerry Fielding wrote the original score of The Getaway.", False),
        ("The album was released in 2008.", False),
        ("The band \u201cred house\u201d played there.", False),
        ("the castle was built of large grey stones from the quarries of the north", False),
        ("杰里·菲尔丁为电影《赌命鸳鸯》创作了最初的配乐。", False),
    ],
)
def test_facts_that_need_context(fact: str, unclear: bool) -> None:
    assert needs_context(fact) is unclear
