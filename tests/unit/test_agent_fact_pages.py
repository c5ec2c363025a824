from dataclasses import replace

import pytest

from graphreader.agent.ranking import (
    CHUNKS_PER_PAGE,
    FACTS_PER_PAGE,
    FACTS_PER_PART,
    needs_context,
    page_of_facts,
)
from graphreader.store.records import ChunkFacts, StoredFact


def chunk(index: int, *facts: str) -> ChunkFacts:
    stored = tuple(StoredFact(number, fact) for number, fact in enumerate(facts))
    return ChunkFacts(f"c{index}", index, "book", "d", stored)


def texts(facts: tuple[StoredFact, ...]) -> list[str]:
    return [fact.text for fact in facts]


def hub(chunks: int, facts: int) -> list[ChunkFacts]:
    return [
        chunk(index, *(f"Fact {number} of chunk {index}." for number in range(facts)))
        for index in range(chunks)
    ]


# The chunk whose facts share the rarest words with what is wanted stands first.
def test_best_first() -> None:
    found = [chunk(0, "Ann lived in Rome."), chunk(1, "Ann was a baker."), chunk(2, "Ann sang.")]

    page = page_of_facts(found, "Who was a baker?", 0)

    assert [group.index for group in page.parts] == [1, 0, 2]
    assert page.remaining == 0


# Facts of one chunk stand in the order of the text, though the best of many are shown first.
def test_order_of_the_text() -> None:
    facts = [f"Filler {number}." for number in range(FACTS_PER_PART)]
    found = [chunk(0, *facts, "The baker came.", "The baker went.")]

    first, second = page_of_facts(found, "baker", 0).parts

    assert texts(first.facts) == [
        *facts[: FACTS_PER_PART - 2],
        "The baker came.",
        "The baker went.",
    ]
    assert first.more == 2
    assert texts(second.facts) == facts[FACTS_PER_PART - 2 :]
    assert second.more == 0


# Every chunk has its turn before any has its second one.
def test_no_chunk_crowds_out_the_others() -> None:
    found = [
        chunk(0, *(f"The baker did {number}." for number in range(40))),
        chunk(1, "Ann sang."),
    ]

    groups = page_of_facts(found, "baker", 0).parts

    assert [group.index for group in groups[:3]] == [0, 1, 0]
    assert sum(len(group.facts) for group in groups) == 41


# A chunk ranks by all that it holds, not only by the node's facts in it, nor by the node's name.
def test_the_whole_chunk_counts() -> None:
    found = [chunk(0, "Ann, a baker, sang."), chunk(1, "Ann sang."), chunk(2, "Ann slept.")]
    found[2] = replace(found[2], holds=("ulm", "born"))

    groups = page_of_facts(found, "Was Ann the baker born in Ulm?", 0, node="Ann Baker").parts

    assert [group.index for group in groups] == [2, 0, 1]
    assert groups[0].holds == ("ulm", "born")
    assert [group.promise for group in groups] == [1.0, 0.0, 0.0]


# A document that is called like the node comes first, also with a word in brackets behind its name.
def test_document_of_the_node() -> None:
    found = [chunk(0, "Ann Yule was born in Ulm."), chunk(1, "Ann.")]

    found[1] = replace(found[1], document="Ann Yule (poet)")

    groups = page_of_facts(found, "Was Ann Yule born in Ulm?", 0, node="Ann Yule").parts

    assert [group.document for group in groups] == ["Ann Yule (poet)", "book"]


# A document whose whole title stands in what is wanted comes first, however it is written there.
# One word may mean anything, and a title of which only a part stands there is another one.
def test_document_that_is_asked_for() -> None:
    titles = ["Darling", "Farewell in Ulm, Dear Ann", "Farewell in Ulm, My Darling (film)"]
    told = ["A film released in Ulm: Farewell, Darling.", "A film released in Ulm.", "It is old."]
    found = [
        replace(chunk(n, fact), document=title)
        for n, (title, fact) in enumerate(zip(titles, told, strict=True))
    ]

    wanted = 'When was the film "Farewell In Ulm, my Darling" released?'
    groups = page_of_facts(found, wanted, 0, node="Ulm").parts

    assert [group.document for group in groups] == [titles[2], titles[0], titles[1]]


# Page after page, by as many facts as were shown, every fact comes exactly once.
def test_all_pages_together_are_all_facts() -> None:
    found = hub(chunks=30, facts=20)
    shown = 0
    seen: list[tuple[int, int]] = []
    while True:
        page = page_of_facts(found, "fact 7 of chunk 3", shown)
        facts = [(group.index, fact.index) for group in page.parts for fact in group.facts]
        assert len(facts) <= FACTS_PER_PAGE
        part = facts[:47]  # as many as a window happens to hold
        assert page.remaining == 600 - shown - len(facts)
        seen += part
        shown += len(part)
        if shown == 600:
            break

    assert sorted(seen) == [(chunk, fact) for chunk in range(30) for fact in range(20)]


# Chunks that were read come behind all others, whatever they say.
def test_read_chunks_come_last() -> None:
    found = [chunk(0, "Ann was a baker."), chunk(1, "Ann sang."), chunk(2, "Ann slept.")]

    groups = page_of_facts(found, "Who was a baker?", 0, ["c0"]).parts

    assert [group.index for group in groups] == [1, 2, 0]


# A page has so many chunks at most, and the rest comes on the next one.
def test_a_page_has_few_chunks() -> None:
    page = page_of_facts(hub(chunks=CHUNKS_PER_PAGE + 5, facts=1), "", 0)

    assert len(page.parts) == CHUNKS_PER_PAGE
    assert page.remaining == 5


# A fact that points at something, or names nothing, may not be understood alone.
@pytest.mark.parametrize(
    "fact",
    [
        "The original score was rejected.",
        "He moved to Paris in 1920.",
        "This city was besieged.",
        "The king died.",
        "他于1920年移居巴黎。",
        "国王去世了。",
    ],
)
def test_thin(fact: str) -> None:
    assert needs_context(fact)


# A fact that names what it is about stands alone.
@pytest.mark.parametrize(
    "fact",
    [
        "Jerry Fielding wrote the original score of The Getaway.",
        "The album was released in 2008.",
        "The band \u201cred house\u201d played there.",
        "the castle was built of large grey stones from the quarries of the north by monks",
        "杰里·菲尔丁为电影《赌命鸳鸯》创作了最初的配乐。",
    ],
)
def test_not_thin(fact: str) -> None:
    assert not needs_context(fact)
