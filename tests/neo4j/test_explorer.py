from dataclasses import replace

import pytest

from graphreader.deciding.offline.embedding import OfflineEmbedder
from graphreader.store.connection import Connection
from graphreader.store.deleter import Deleter
from graphreader.store.explorer import GraphExplorer
from graphreader.store.writer import GraphWriter, Version
from tests.neo4j.texts import chunks, document, read, write


async def embed(writer: GraphWriter) -> None:
    """Give every key element of the corpus its vector."""
    missing = await writer.unembedded()
    vectors = await OfflineEmbedder().embed([one.key for one in missing])
    await writer.write_embeddings(zip((one.id for one in missing), vectors, strict=True))


@pytest.fixture
def explorer(connection: Connection, writer: GraphWriter) -> GraphExplorer:
    return GraphExplorer(connection, writer.corpus)


# The facts of a node come grouped by chunk, in the order of the texts and of the facts.
async def test_facts_are_grouped_by_chunk(writer: GraphWriter, explorer: GraphExplorer) -> None:
    one = await write(
        writer,
        "a",
        [
            ("x ", {"Toronto is big.": ["Toronto"], "Ottawa is small.": ["Ottawa"]}),
            ("y", {"Toronto has a castle.": ["Toronto"], "Toronto is old.": ["Toronto"]}),
        ],
    )
    two = await write(writer, "b", [("z", {"Toronto again.": ["Toronto"]})])
    (toronto,) = await explorer.matching("toronto", 1)
    groups = await explorer.facts(toronto.id)

    assert [(g.document, g.index, g.chunk) for g in groups] == [
        ("a", 0, one[0].id),
        ("a", 1, one[1].id),
        ("b", 0, two[0].id),
    ]
    assert groups[1].facts == ("Toronto has a castle.", "Toronto is old.")


# Neighbors share a fact; those that share most come first, then the rarest; visited ones are out.
async def test_neighbors_share_facts(writer: GraphWriter, explorer: GraphExplorer) -> None:
    facts = {
        "A and B.": ["A", "B"],
        "A and B again.": ["A", "B"],
        "A and C and rare.": ["A", "C", "rare"],
        "C elsewhere.": ["C", "D"],
    }
    await write(writer, "t", [("x", facts)])
    nodes = {node.name: node for node in await explorer.nodes(10)}
    found = await explorer.neighbors(nodes["A"].id, [], [], 10)
    without = await explorer.neighbors(nodes["A"].id, [nodes["B"].id], [], 10)

    assert [one.node.name for one in found] == ["B", "rare", "C"]
    assert [one.node.name for one in without] == ["rare", "C"]
    assert all(one.unread for one in found)


# Neighbors that lead to chunks not read yet come before those that are exhausted.
async def test_neighbors_lead_on(writer: GraphWriter, explorer: GraphExplorer) -> None:
    first, _ = await write(
        writer,
        "t",
        [
            ("x ", {"A and B.": ["A", "B"], "A, B and C.": ["A", "B", "C"]}),
            ("y", {"C elsewhere.": ["C", "D"]}),
        ],
    )
    nodes = {node.name: node for node in await explorer.nodes(10)}
    found = await explorer.neighbors(nodes["A"].id, [], [first.id], 10)

    assert [(one.node.name, one.unread) for one in found] == [("C", True), ("B", False)]


# A vector finds the nearest names of its own corpus, also beside a corpus that is much larger.
async def test_vectors_search_one_corpus(
    connection: Connection, writer: GraphWriter, explorer: GraphExplorer
) -> None:
    large = GraphWriter(connection, f"{writer.corpus}-large")
    crowd = {f"Canadian thing {n}.": [f"Canadian thing {n}"] for n in range(400)}
    await write(large, "large", [("x", crowd)])
    await embed(large)
    await write(writer, "small", [("y", {"A fact.": ["Canada", "violin", "hospital"]})])
    await embed(writer)
    (vector,) = await OfflineEmbedder().embed(["canadian"])
    found = await explorer.nearest(vector, 2)

    assert len(found) == 2
    assert found[0].name == "Canada"
    await clear(connection, large.corpus)


async def clear(connection: Connection, corpus: str) -> None:
    """Take every document out of a corpus."""
    rows = await connection.read("read/documents", corpus=corpus)
    await Deleter(connection, corpus).delete([row["id"] for row in rows])


# A corpus of more than 10,000 key elements is searched as well, on every version.
async def test_vectors_search_a_large_corpus(
    connection: Connection, writer: GraphWriter, explorer: GraphExplorer
) -> None:
    facts = {"Row.": [f"row {n}" for n in range(10_200)]}
    await write(writer, "rows", [("x", facts)])
    missing = sorted(await writer.unembedded(), key=lambda one: one.key)[:300]
    vectors = await OfflineEmbedder().embed([one.key for one in missing])
    await writer.write_embeddings(zip((one.id for one in missing), vectors, strict=True))
    (vector,) = await OfflineEmbedder().embed([missing[7].key])
    found = await explorer.nearest(vector, 5)

    assert len(found) == 5
    assert found[0].name == missing[7].key


# Words find names and their former wordings, and only those of the corpus.
async def test_words_search_one_corpus(
    connection: Connection, writer: GraphWriter, explorer: GraphExplorer
) -> None:
    other = GraphWriter(connection, f"{writer.corpus} other")
    await write(other, "o", [("x", {"Joan.": ["Joan of Arc"]})])
    await write(writer, "t", [("y", {"Maid.": ["the Maid"], "贞德。": ["贞德"]})])

    assert await explorer.matching("Joan of Arc", 5) == []
    assert [node.name for node in await explorer.matching("Who was the maid?", 5)] == ["the Maid"]
    assert [node.name for node in await explorer.matching("贞德是谁？", 5)] == ["贞德"]
    await clear(connection, other.corpus)


# A corpus is searched as if it were alone, beside a crowded one whose name only adds to its own.
async def test_alike_names_do_not_crowd(
    connection: Connection, writer: GraphWriter, explorer: GraphExplorer
) -> None:
    crowded = GraphWriter(connection, f"{writer.corpus} two")
    await write(crowded, "c", [("x", {"Many.": [f"castle number {n}" for n in range(800)]})])
    await write(writer, "t", [("y", {"Few.": ["castle of Varn"]})])

    assert [node.name for node in await explorer.matching("castle", 5)] == ["castle of Varn"]
    await clear(connection, crowded.corpus)


# Whatever a person types is a search for its words, never a syntax error.
async def test_any_words_can_be_searched(writer: GraphWriter, explorer: GraphExplorer) -> None:
    await write(writer, "t", [("y", {"Fact.": ["fact"]})])
    brackets = ("((", "[x TO", "{", "/x/", "a:b")

    for text in ("AND", "OR NOT", '"', "*", "?", "\\", "", "   ", "~^", "Ａ＋", "的", *brackets):
        assert await explorer.matching(text, 5) == [], text
    assert len(await explorer.matching("* AND (fact", 5)) == 1


# Nodes, chunks and facts of another corpus are not there, even by their ids.
async def test_nothing_leaks(connection: Connection, writer: GraphWriter) -> None:
    (chunk,) = await write(writer, "secret", [("x", {"A secret.": ["secret", "door"]})])
    inside = GraphExplorer(connection, writer.corpus)
    outside = GraphExplorer(connection, f"{writer.corpus}-outside")
    (node, *_) = await inside.matching("secret", 1)

    assert await inside.facts(node.id)
    assert await outside.facts(node.id) == []
    assert await outside.neighbors(node.id, [], [], 5) == []
    assert await outside.chunk(chunk.id) is None
    assert await outside.count() == 0
    assert await outside.nodes(5) == []


# A hub with thousands of facts gives a bounded answer.
async def test_hubs_are_bounded(writer: GraphWriter, explorer: GraphExplorer) -> None:
    facts = {f"Fact {n} of the hub.": ["hub", f"spoke{n}x"] for n in range(2500)}
    await write(writer, "t", [("x", facts)])
    (hub,) = await explorer.matching("hub", 1)
    groups = await explorer.facts(hub.id)
    neighbors = await explorer.neighbors(hub.id, [], [], 300)

    assert sum(len(group.facts) for group in groups) == 2000
    assert len(neighbors) == 300


# A chunk tells on which page a place in it stands and under which heading, as far as there are any.
async def test_pages_and_headings(
    writer: GraphWriter, explorer: GraphExplorer, connection: Connection
) -> None:
    paged = replace(
        document(writer.corpus, "paged", "One two. Three four. Five."),
        page_starts=(0, 4, 4, 22),
        headings=((4, "Two"), (9, "Three"), (15, "Four"), (21, "Five")),
    )
    bare = document(writer.corpus, "bare", "One two.")
    made = chunks(paged, ["One two. ", "Three four. ", "Five."])
    alone = chunks(bare, ["One two."])
    for of, all_ in ((paged, made), (bare, alone)):
        await writer.write_chunks([read(of, chunk, {}) for chunk in all_], [of], 2000)
        await writer.arrange(Version.of(of.id, of.sha256, 2000, len(all_)), all_)
    first, second, third = [await explorer.chunk(chunk.id) for chunk in made]
    other = await explorer.chunk(alone[0].id)

    assert first
    assert [(first.page(at), first.heading(at)) for at in (0, 3, 4, 8)] == [
        (1, None),
        (1, None),
        (3, "Two"),
        (3, "Two"),
    ]
    assert second
    assert [(second.page(at), second.heading(at)) for at in (9, 15)] == [(3, "Three"), (3, "Four")]
    assert second.headings == ((9, "Three"), (15, "Four"))
    assert third
    assert [(third.page(at), third.heading(at)) for at in (21, 22)] == [(3, "Five"), (4, "Five")]
    assert other
    assert (other.page(0), other.heading(0)) == (None, None)
