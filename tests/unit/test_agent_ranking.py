"""What is shown first: words that are shared, rankings that are fused, pages of facts."""

from math import log
from typing import Any

import pytest

from graphreader.agent import ranking
from graphreader.agent.ranking import (
    CHUNKS_PER_PAGE,
    distinct_titles,
    fact_groups,
    fuse_rankings,
    needs_context,
    open_needs,
    page_of_facts,
    rank_by_words,
    rank_shared,
)
from graphreader.documents import AtomicFact, ChunkFacts, ChunkRef


class NoContexts:
    async def preceding_facts(self, chunks: object) -> dict[str, object]:
        return {}


def chunk(index: int, *facts: str, document: str = "book") -> ChunkFacts[ChunkRef]:
    ref = ChunkRef(f"c{index}", index, document, "d", 0)
    return ChunkFacts(ref, tuple(AtomicFact("", ref, n, fact) for n, fact in enumerate(facts)))


def order(page: list[ChunkFacts[ChunkRef]]) -> list[int]:
    return [one.chunk.index for one in page]


# What shares more and rarer words with the query comes first; equal items keep their order, in
# whatever order words are added up, since a resumed run must show the same.
def test_rank_by_words() -> None:
    facts = ["The castle is old.", "The castle is in Toronto.", "A castle.", "Nothing of it."]
    sizes = (2, 3, 4, 5, 6, 8)
    equal = [" ".join(f"{size}{n % size:03}" for size in sizes) for n in range(120)]

    assert rank_by_words(facts, str, "Which castle is in Toronto?")[0] == facts[1]
    assert rank_by_words(facts, str, "castles")[-1] == facts[3]
    assert rank_by_words(facts, str, "zzz") == facts
    assert rank_by_words(equal, str, " ".join(equal)) == equal
    assert rank_shared(facts[1:], str, "Which castle is in Toronto?") == facts[1:3]
    assert ranking.scores(["Ann sang.", "Ann."], str, "Ann sang", "Ann") == [log(3), 0.0]


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


# A chunk has one group, so that it has one number. Of its facts the best ones stay where there is
# little room, and are shown in the order of the text.
async def test_one_group_a_chunk() -> None:
    long = chunk(0, *(f"Filler number {n} of the text." for n in range(20)), "The baker came here.")
    groups = await fact_groups(NoContexts(), [long, chunk(1, "Ann sang.")], "baker", ["c1"])  # type: ignore[arg-type]
    short = groups[0].keeping(2)

    assert [(group.label, group.read) for group in groups] == [
        ("book, chunk 0", False),
        ("book, chunk 1", True),
    ]
    assert short.shown().splitlines()[1:] == [
        "- Filler number 0 of the text.",
        "- The baker came here.",
        "(19 more facts of this node in this chunk)",
    ]


# Documents with one title are told apart by the beginning of their ids; others keep their title.
def test_equal_titles() -> None:
    chunks = [ChunkRef("c0", 0, "book", id_, 0) for id_ in ("1234567", "7654321")]

    assert distinct_titles([*chunks, ChunkRef("c1", 1, "tale", "t", 0)]) == {
        "1234567": "book (123456)",
        "7654321": "book (765432)",
        "t": "tale",
    }


BAKERS = ["Ann was a baker.", "Ann sang.", "Ann, baker of Rome."]
BORN = ["Ann, a baker, sang.", "Ann was born.", "Ann slept."]
POETS = [("Ann Yule was born in Ulm.", "book"), ("Ann.", "Ann Yule (poet)")]
FILMS = [
    ("A film released in Ulm: Farewell, Darling.", "Darling"),
    ("A film released in Ulm.", "Farewell in Ulm, Dear Ann"),
    ("It is old.", "Farewell in Ulm, My Darling (film)"),
]


# The chunk whose facts share the rarest words stands first, chunks that were read stand last; the
# node's name does not count, as all of its chunks share it. A document called like the node comes
# first, also with a word in brackets behind its name; so does one whose whole title of several
# words stands in the query, however it is written.
@pytest.mark.parametrize(
    ("facts", "query", "node", "expected"),
    [
        (BAKERS, "Which baker lived in Rome?", "", [2, 0, 1]),
        (BORN, "Was Ann the baker born in Ulm?", "Ann Baker", [1, 0, 2]),
        (POETS, "Was Ann Yule born in Ulm?", "Ann Yule", [1, 0]),
        (FILMS, 'When was the film "Farewell In Ulm, my Darling" released?', "Ulm", [2, 0, 1]),
    ],
    ids=["words", "name of the node", "document of the node", "document that is asked for"],
)
def test_order_of_a_page(facts: list[Any], query: str, node: str, expected: list[int]) -> None:
    pairs = [(one, "book") if isinstance(one, str) else one for one in facts]
    chunks = [chunk(n, fact, document=title) for n, (fact, title) in enumerate(pairs)]
    best, *others = expected

    assert order(page_of_facts(chunks, query, 0, node=node)[0]) == expected
    read = page_of_facts(chunks, query, 0, [f"c{best}"], node=node)[0]
    assert order(read) == [*others, best]


# Page after page, by as many chunks as were shown, every chunk comes exactly once.
def test_all_pages_together_are_all_chunks() -> None:
    chunks = [chunk(index, f"Fact of chunk {index}.") for index in range(200)]
    seen: list[int] = []
    while len(seen) < 200:
        page, remaining = page_of_facts(chunks, "chunk 3", len(seen))
        assert len(page) <= CHUNKS_PER_PAGE
        assert remaining == 200 - len(seen) - len(page)
        seen += order(page)[:47]  # as many as a window happens to hold

    assert sorted(seen) == list(range(200))


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
