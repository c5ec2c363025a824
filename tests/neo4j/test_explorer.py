from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from random import Random
from typing import Any

import pytest

from graphreader.documents import Heading, Place
from graphreader.offline.embedder import OfflineEmbedder, embedding_of
from graphreader.outline import OutlineEntry
from graphreader.scope import Scope
from graphreader.store.connection import Connection, Row, statement
from graphreader.store.explorer import (
    FACTS_AHEAD,
    FACTS_OF_A_NODE,
    GraphExplorer,
)
from graphreader.store.key_elements import KeyElementMerges, StoredMerge
from graphreader.store.records import (
    SCANNED_CHUNKS,
    DocumentsInScope,
    Neighbor,
    NodeFacts,
)
from graphreader.store.writer import DocumentVersion, GraphWriter
from tests.neo4j.texts import Facts, by_vector, by_words, chunks, document, node_ids, read, write
from tests.servers import both_versions


class Profiling(Connection):
    """Runs reading statements, planned anew, and adds up what each step of their plans cost."""

    hits = 0
    steps: frozenset[str] = frozenset()

    async def read(self, name: str, /, **values: Any) -> list[Row]:
        cypher, _, text = statement(name, self.dialect).rpartition("CYPHER 25")
        profiled = f"{cypher}CYPHER {'25 ' if cypher else ''}replan=force PROFILE {text}"
        async with self._driver.session() as session:
            result = await session.run(profiled, values)  # type: ignore[arg-type]
            rows: list[Row] = await result.data()
            plan = (await result.consume()).profile
        assert plan is not None
        self._add(plan)
        return rows

    async def sample(self, index: str) -> None:
        """Have the server count what an index holds; plans depend on it."""
        await self._driver.execute_query("CALL db.resampleIndex($index)", index=index)

    def _add(self, plan: Mapping[str, Any]) -> None:
        self.hits += plan.get("dbHits", 0)  # a procedure tells none
        self.steps |= {plan["operatorType"].partition("@")[0]}
        for child in plan.get("children", ()):
            self._add(child)


async def embed(writer: GraphWriter) -> None:
    """Give every key element of the corpus its vector."""
    missing = await writer.unembedded()
    vectors = await OfflineEmbedder().embed([one.key for one in missing])
    await writer.write_embeddings(zip((one.id for one in missing), vectors, strict=True))


@pytest.fixture
def profiling(connection: Connection) -> Profiling:
    return Profiling(connection._driver, connection.address, connection.version)


async def neighbors(
    explorer: GraphExplorer, node: str, *, related: tuple[str, ...] = (), limit: int = 100
) -> list[Neighbor]:
    """The neighbors of a node on a path that has only begun."""
    return await explorer.neighbors(node, [], [], related, None, limit)


def texts(found: NodeFacts) -> list[str]:
    """What the facts say, in their order."""
    return [fact.text for group in found.groups for fact in group.facts]


def about(hub: str, number: int) -> Facts:
    """Facts that each name a hub, and something that nothing else names."""
    return {f"Fact {n} of {hub}.": [hub, f"{hub} spoke {n}"] for n in range(number)}


# The facts of a node come grouped by chunk, in the order of the texts and of the facts.
async def test_facts_are_grouped_by_chunk(writer: GraphWriter, explorer: GraphExplorer) -> None:
    big = {"Toronto is big.": ["Toronto"], "Ottawa is small.": ["Ottawa"]}
    castle = {"Toronto has a castle.": ["Toronto"], "It rains.": ["rains"]}
    one = await write(writer, "a", [("x ", big), ("y", {**castle, "Toronto is old.": ["Toronto"]})])
    two = await write(writer, "b", [("z", {"Toronto again.": ["Toronto"]})])
    (toronto,) = await by_words(explorer, "toronto", 1)
    found = await explorer.facts(toronto.id)

    assert [(one.document, one.index, one.id) for one in (g.chunk for g in found.groups)] == [
        ("a", 0, one[0].id),
        ("a", 1, one[1].id),
        ("b", 0, two[0].id),
    ]
    assert [(fact.index, fact.text) for fact in found.groups[1].facts] == [
        (0, "Toronto has a castle."),
        (2, "Toronto is old."),
    ]
    assert found.total == 4


# An outline has the chunks of a document in order, each with its headings and its summary, or with
# its first fact, or with the beginning of its text; chunks of an edit under way are left out.
async def test_outline(
    connection: Connection, writer: GraphWriter, explorer: GraphExplorer
) -> None:
    headings = Heading(0, "One"), Heading(9, "Two", 2), Heading(12, "Three")
    of = replace(document(writer.corpus, "book"), headings=headings)
    parts = chunks(of, ["Aa bb cc. ", "Dd ee. ", "Ff gg.", "Hh ii."])
    first, second, third, edit = (read(of, one, {}) for one in parts)
    facts: Facts = {"Dd is ee.": ["Dd"], "Ee is dd.": ["Ee"]}
    summary = replace(first.chunk, summary="It begins.")
    written = [read(of, summary, facts), read(of, second.chunk, facts), third]
    await writer.write_chunks(written[::-1], [of], 2000)
    await writer.write_chunks([edit], pending=[of.id])
    await write(writer, "other", [("Zz.", {"Zz is.": ["Zz"]})])

    assert await explorer.outline(of.id) == [
        OutlineEntry(0, ("One", "Two"), "It begins.", 3),
        OutlineEntry(1, ("Two", "Three"), "Dd is ee.", 2),
        OutlineEntry(2, ("Three",), "Ff gg.", 2),
    ]
    assert await GraphExplorer(connection, "another").outline(of.id) == []
    assert (await explorer.outline(of.id))[0].heading == "One"


# Neighbors share a fact. What shares most for what it has comes first, then the name counts;
# visited ones are out, and so is the node itself. One is unread while a fact of it stands in a
# chunk that is not read.
async def test_neighbors_share_facts(writer: GraphWriter, explorer: GraphExplorer) -> None:
    facts = {
        "A and B.": ["A", "B"],
        "A and B again.": ["A", "B"],
        "A and C and rare and scarce.": ["A", "C", "scarce", "rare"],
    }
    first, second = await write(
        writer, "t", [("x ", facts), ("y", {"C elsewhere.": ["C", "D"], "D.": ["D"]})]
    )
    node = await node_ids(writer)
    found = await neighbors(explorer, node["A"])
    without = await explorer.neighbors(node["A"], [node["B"]], [first.id], [], None, 10)
    all_read = await explorer.neighbors(node["A"], [], [first.id, second.id], [], None, 10)

    assert [(one.name, one.shared, one.facts, one.unread) for one in found] == [
        ("B", 2, 2, True),
        ("rare", 1, 1, True),
        ("scarce", 1, 1, True),
        ("C", 1, 2, True),
    ]
    assert [(one.name, one.unread) for one in without] == [
        ("rare", False),
        ("scarce", False),
        ("C", True),
    ]
    assert not any(one.unread for one in all_read)
    assert await neighbors(explorer, node["A"], limit=1) == found[:1]


# A neighbor leads on if it, or an unvisited neighbor of it, has a fact in an unread chunk. Of a hub
# some facts are looked at, and none of a corpus of another name.
@both_versions
async def test_neighbors_that_lead_on(
    connection: Connection, writer: GraphWriter, other: GraphWriter
) -> None:
    read_here = {"A B.": ["A", "B"], "B C.": ["B", "C"], "A D.": ["A", "D"], "A E.": ["A", "E"]}
    read_here |= {"D A.": ["D", "A"], "A hub.": ["A", "hub"], "F C.": ["F", "C"]}
    far = {"C and X.": ["C", "X"], "E.": ["E"]}
    first, *_ = await write(
        writer, "t", [("x ", read_here), ("y ", far), ("z", about("hub", 2 * FACTS_AHEAD))]
    )
    await write(other, "t", [("w", {"D Y.": ["D", "Y"]})])
    node = await node_ids(writer)
    explorer = GraphExplorer(connection, writer.corpus)

    async def ways(*visited: str) -> dict[str, tuple[bool, bool]]:
        ids = [node[name] for name in visited]
        found = await explorer.neighbors(node[visited[0]], ids, [first.id], [], None, 10)
        return {one.name: (one.unread, one.leads_on) for one in found}

    assert await ways("A") == {
        "B": (False, True),
        "D": (False, False),
        "E": (True, True),
        "hub": (True, True),
    }
    assert (await ways("A", "C"))["B"] == (False, False)
    assert await ways("B") == {"A": (False, True), "C": (True, True)}
    assert await ways("C", "A", "B") == {"F": (False, False), "X": (True, True)}


# In a scope a key element has the neighbors that it has in a corpus of these documents alone. If
# they are few, all their facts are gone through: other documents cost nothing, and names, wordings
# and counts are equal to what the facts of each key element say.
@both_versions
async def test_neighbors_in_a_scope(
    profiling: Profiling, writer: GraphWriter, other: GraphWriter
) -> None:
    dice, names = Random(7), [f"{letter}-name" for letter in "abcdefgh"]
    drawn = [dice.sample(names, 1 + n % 3) for n in range(24)]
    facts: list[Facts] = [{f"{n}: {', '.join(own)}.": own} for n, own in enumerate(drawn)]
    parts = [(f"{n} ", one) for n, one in enumerate(facts)]
    (chunk, *_) = await write(writer, "one", parts)
    await write(other, "one", parts)
    few, many = (
        DocumentsInScope(Scope(), [chunk.document_id], chunks)
        for chunks in (SCANNED_CHUNKS, SCANNED_CHUNKS + 1)
    )

    async def found(corpus: str, documents: DocumentsInScope | None = None) -> list[list[Neighbor]]:
        explorer = GraphExplorer(profiling, corpus, documents)
        node = {one.name.casefold(): one.id for one in await explorer.busiest_nodes(9)}
        places = [group.chunk for group in (await explorer.facts(node["a-name"])).groups]
        read = [one.id for one in places if one.index % 2]
        visited = [node[name] for name in names[1:3]]
        profiling.hits = 0
        return [
            [
                replace(one, id="")
                for one in await explorer.neighbors(node["a-name"], nodes, seen, [], vector, 5)
            ]
            for nodes, seen, vector in (
                ([], [], None),
                ([], read, [0.5] * 256),
                (visited, read, None),
            )
        ]

    alone = await found(other.corpus)
    before, hits = await found(writer.corpus, few), profiling.hits
    await write(
        writer, "two", [("x", {f"{n}.": [one.upper() for one in names] for n in range(300)})]
    )

    assert [len(one) for one in alone] == [5, 5, 4]
    assert before == await found(writer.corpus, few) == alone
    assert 0 < profiling.hits <= 1.1 * hits
    assert await found(writer.corpus, many) == alone
    by_documents, by_nodes = (GraphExplorer(profiling, writer.corpus, one) for one in (few, many))
    ids = [one.id for one in await by_nodes.busiest_nodes(9)]
    assert await by_documents.profiles(ids) == await by_nodes.profiles(ids)
    elements = await by_documents.elements(ids)
    assert elements == await by_nodes.elements(ids)
    assert {one.aliases for one in elements} == {(name,) for name in names}


# A neighbor's similarity is the cosine of its embedding and what is looked for; 0 without either.
@both_versions
async def test_neighbors_are_compared_with_a_vector(
    writer: GraphWriter, explorer: GraphExplorer
) -> None:
    await write(writer, "t", [("x", {"Fact.": ["A", "Canada", "violin"]})])
    node = await node_ids(writer)
    vector = [2 * one for one in embedding_of("canadian hospital")]  # any length
    before = await explorer.neighbors(node["A"], [], [], [], vector, 10)
    await embed(writer)
    found = await explorer.neighbors(node["A"], [], [], [], vector, 10)
    nowhere = await explorer.neighbors(node["A"], [], [], [], [0.0] * 256, 10)

    for one in found:
        near = embedding_of(one.name.lower())
        cosine = sum(a * b for a, b in zip(vector, near, strict=True)) / 2
        assert one.similarity == pytest.approx(cosine, abs=1e-6)
    assert {one.similarity for one in before + nowhere} == {0.0}


# A hub gives a bounded answer: first the facts that name a related node, wherever they stand, and
# through them its first neighbors; then others. It says how many there are. A node that is no hub
# gives all of its facts, whatever is related.
async def test_hubs_give_what_is_related(
    connection: Connection, writer: GraphWriter, explorer: GraphExplorer
) -> None:
    size = 3 * FACTS_OF_A_NODE
    chalk = {"The hub was built of chalk.": ["hub", "chalk"], "Chalk is soft.": ["chalk", "soft"]}
    late = {"The hub burnt in winter.": ["hub", "winter"]}
    (chunk, _) = await write(writer, "t", [("x ", {**chalk, **about("hub", size)}), ("y", late)])
    scope = DocumentsInScope(Scope(), [chunk.document_id], 2)
    inside = GraphExplorer(connection, writer.corpus, scope)
    await write(writer, "u", [("z", about("other", FACTS_OF_A_NODE))])
    node = await node_ids(writer)
    related = [node[name] for name in ("winter", "chalk", "soft", "hub", "other")]
    plain = await explorer.facts(node["hub"])
    found = await explorer.facts(node["hub"], ["no such id", *related, node["chalk"]])
    beside = await neighbors(explorer, node["hub"], related=tuple(related), limit=7)
    within = await neighbors(inside, node["hub"], related=tuple(related), limit=7)
    small = await explorer.facts(node["other"], [node["other spoke 7"]])

    assert plain.total == found.total == size + 2
    assert len(texts(plain)) == len(set(texts(found))) == FACTS_OF_A_NODE
    assert {"The hub was built of chalk.", "The hub burnt in winter."} <= set(texts(found))
    for found_there in (beside, within):
        assert {one.name for one in found_there[:2]} == {"chalk", "winter"}
        assert len(found_there) == 7
    assert small.total == len(texts(small)) == FACTS_OF_A_NODE
    assert len(await neighbors(explorer, node["other"], limit=5000)) == FACTS_OF_A_NODE


# A node of many thousand facts costs no more than one with some hundreds.
async def test_hubs_cost_no_more(writer: GraphWriter, profiling: Profiling) -> None:
    explorer = GraphExplorer(profiling, writer.corpus)
    for name, size in (("small", FACTS_OF_A_NODE + 100), ("large", 8 * FACTS_OF_A_NODE)):
        shared = {f"The {name} one and the friend {n}.": [name, "friend"] for n in range(30)}
        await write(writer, f"Of {name}", [("x", {**about(name, size), **shared})])
    costs: dict[str, list[int]] = {}
    for name in ("small", "large"):
        (node,) = [one for one in await by_words(explorer, name, 20) if one.name == name]
        (friend,) = await by_words(explorer, "friend", 1)
        for look in (
            explorer.facts(node.id, [friend.id]),
            explorer.neighbors(node.id, [], [], [friend.id], [1.0] * 256, 300),
            explorer.profiles([node.id]),
        ):
            profiling.hits = 0
            assert await look
            costs.setdefault(name, []).append(profiling.hits)

    assert all(0 < hits < 20_000 for hits in costs["small"])
    assert all(
        large <= 1.1 * small for small, large in zip(costs["small"], costs["large"], strict=True)
    )


# A statement that reads the key elements of one corpus does not go through the others, whatever the
# statistics of Neo4j are: they may be older than the key elements.
@both_versions
async def test_key_elements_of_one_corpus(writer: GraphWriter, profiling: Profiling) -> None:
    await write(writer, "t", [("x", about("chalk", 300))])
    for index in ("corpus", "merged", "fresh", "id"):
        await profiling.sample(f"graphreader_key_element_{index}")
    corpus: dict[str, Any] = {"corpus": "no such corpus"}
    page = corpus | {"after": "", "limit": 50_000}

    assert await profiling.read("read/keys", **page) == [{"last": None, "keys": []}]
    assert await profiling.read("read/fresh_key_elements", **page) == []
    assert await profiling.read("read/merged_key_elements", **corpus) == []
    assert (await profiling.read("read/stats", **corpus))[0]["key_elements"] == 0
    assert profiling.hits < 20
    assert "NodeIndexScan" not in profiling.steps


# No look-up goes through all nodes of the database.
@both_versions
async def test_nothing_is_scanned(writer: GraphWriter, profiling: Profiling) -> None:
    explorer = GraphExplorer(profiling, writer.corpus)
    (chunk,) = await write(writer, "t", [("x", {"A and B.": ["A", "B"], "B.": ["B"]})])
    await embed(writer)
    node = await node_ids(writer)
    assert await explorer.has_at_most(2)
    assert await by_vector(explorer, embedding_of("a"), 2)
    assert await by_words(explorer, "A", 2)
    assert await explorer.facts(node["A"], [node["B"]])
    assert await explorer.neighbors(node["A"], [], [chunk.id], [node["B"]], embedding_of("b"), 5)
    assert await explorer.profiles(list(node.values()))
    assert await explorer.preceding_facts({chunk.id: [1]})
    assert await explorer.chunk(chunk.id)

    # Not NodeIndexScan: of the few nodes that other tests leave, Neo4j 5 may find it cheaper to go
    # through one small index. That depends on its statistics, not on the statement alone.
    assert profiling.steps & {"AllNodesScan", "NodeByLabelScan"} == set()
    assert any("IndexSeek" in step for step in profiling.steps)


# A vector finds the nearest names of its own corpus, also beside a corpus that is much larger.
@both_versions
async def test_vectors_search_one_corpus(
    writer: GraphWriter, other: GraphWriter, explorer: GraphExplorer
) -> None:
    crowd = {f"Canadian thing {n}.": [f"Canadian thing {n}"] for n in range(400)}
    await write(other, "large", [("x", crowd)])
    await embed(other)
    await write(writer, "small", [("y", {"A fact.": ["Canada", "violin", "hospital"]})])
    await embed(writer)
    found = await by_vector(explorer, embedding_of("canadian"), 2)

    assert len(found) == 2
    assert found[0].name == "Canada"
    near = await explorer.nearest([embedding_of("canadian")], 2, least=0.45)
    assert [one.name for one in near[0]] == ["Canada"]


# A corpus of more key elements than are compared one by one is searched in the index.
@both_versions
async def test_vectors_search_a_large_corpus(
    writer: GraphWriter, explorer: GraphExplorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphreader.store.search.EXACT_UP_TO", 100)
    # Names that are far from each other: the index compares shortened vectors.
    names = [sha256(str(n).encode()).hexdigest()[:12] for n in range(300)]
    await write(writer, "rows", [("x", {"Row.": names})])
    wanted = (await writer.unembedded())[7]
    await embed(writer)
    found = await by_vector(explorer, embedding_of(wanted.key), 5)

    assert len(found) == 5
    assert found[0].id == wanted.id


# Words find names and their former wordings, only those of the corpus, also beside a crowded one.
# What is found, and in which order, does not depend on what other corpora hold. Whatever a person
# types is a search for its words, never a syntax error; words are cut as Neo4j's index cuts them.
@both_versions
async def test_words_search_one_corpus(
    writer: GraphWriter, other: GraphWriter, explorer: GraphExplorer
) -> None:
    names = ["the Maid", "贞德", "Ada bridge", "red bridge", "old bridge", "red Ada", "fact"]
    odd = ["F16", "Al O'Brien", "Gdańsk", "U.S. mail", "1,000 men"]
    await write(writer, "t", [("y", {"All.": names, "Odd.": odd})])
    before = await explorer.matching(["the red bridge of Ada", "", "Joan of Arc"], 10)
    crowd = [name for n in range(400) for name in (f"red Ada {n}", f"bridge number {n}")]
    await write(other, "o", [("x", {"Joan.": ["Joan of Arc", *crowd]})])
    brackets = ("((", "[x TO", "{", "/x/", "a:b")

    assert [len(nodes) for nodes in before] == [4, 0]
    assert await explorer.matching(["the red bridge of Ada", "", "Joan of Arc"], 10) == before
    assert [node.name for node in await by_words(explorer, "Who was the maid?", 5)] == ["the Maid"]
    assert [node.name for node in await by_words(explorer, "贞德是谁？", 5)] == ["贞德"]
    for text, name in zip(("f16", "O'Brien's", "GDAŃSK", "U.S.", "1,000"), odd, strict=True):
        assert [node.name for node in await by_words(explorer, text, 5)] == [name]
    for text in ("AND", "OR NOT", '"', "*", "?", "\\", "", "   ", "~^", "Ａ＋", "的", *brackets):
        assert await by_words(explorer, text, 5) == [], text
    assert len(await by_words(explorer, "* AND (fact", 5)) == 1


# Nodes, chunks and facts of another corpus are not there, even by their ids, nor by its names.
async def test_nothing_leaks(
    connection: Connection, writer: GraphWriter, other: GraphWriter, explorer: GraphExplorer
) -> None:
    (chunk,) = await write(writer, "s", [("x", {"A secret.": ["secret", "door"], "B.": ["B"]})])
    await write(other, "t", [("x", about("secret", FACTS_OF_A_NODE + 1) | {"A door.": ["door"]})])
    outside = GraphExplorer(connection, other.corpus)
    node, hub = await node_ids(writer), await node_ids(other)
    related = [*node.values()]

    assert texts(await explorer.facts(node["secret"], [*hub.values()])) == ["A secret."]
    assert [one.name for one in await neighbors(explorer, node["secret"])] == ["door"]
    assert await outside.facts(node["secret"]) == NodeFacts((), 0)
    assert await neighbors(outside, node["secret"]) == []
    assert "A secret." not in texts(await outside.facts(hub["secret"], related))
    assert not {one.id for one in await neighbors(outside, hub["secret"])} & {*related}
    assert await outside.profiles(related) == {}
    assert await outside.elements(related) == []
    assert await outside.preceding_facts({chunk.id: [1]}) == {}
    assert await outside.chunk(chunk.id) is None
    assert await outside.shown_texts([chunk.id], {chunk.id: [0]}) == []
    assert await outside.chunks([(chunk.document_id, 0)]) == []
    assert await explorer.has_at_most(3)
    assert not await explorer.has_at_most(2)
    assert {one.name for one in await by_words(explorer, "secret door", 10)} == {"secret", "door"}


# A chunk tells on which page a place in it stands and under which heading, as far as there are any.
# The fact right before each of its facts is at hand.
async def test_pages_headings_and_preceding_facts(
    writer: GraphWriter, explorer: GraphExplorer
) -> None:
    paged = replace(
        document(writer.corpus, "paged", "One two. Three four. Five."),
        places=Place.pages((0, 4, 4, 22)),
        headings=(
            *(Heading(4, "Two"), Heading(9, "Three"), Heading(15, "Four"), Heading(21, "Five")),
        ),
    )
    made = chunks(paged, ["One two. ", "Three four. ", "Five."])
    facts = {"First.": ["first"], "Second.": ["second"], "Third.": ["third"]}
    await writer.write_chunks([read(paged, chunk, facts) for chunk in made], [paged], 2000)
    await writer.arrange(DocumentVersion.of(paged.id, paged.sha256, 2000, len(made)), made)
    (bare,) = await write(writer, "bare", [("x", facts)])
    places = {made[0].id: (3, 4), made[1].id: (9, 15), made[2].id: (21, 22), bare.id: (0,)}
    stored = {id_: await explorer.chunk(id_) for id_ in places}

    assert [
        [((place := chunk.place_at(at)) and place.page, chunk.heading(at)) for at in places[id_]]
        for id_, chunk in stored.items()
        if chunk
    ] == [
        [(1, None), (3, "Two")],
        [(3, "Three"), (3, "Four")],
        [(3, "Five"), (4, "Five")],
        [(None, None)],
    ]
    wanted = {made[0].id: [0, 2], made[2].id: [1, 9], "no id": [1]}
    assert await explorer.preceding_facts(wanted) == {
        made[0].id: {2: "Second."},
        made[2].id: {1: "First."},
    }


# An element that was merged gives what it went into, once.
async def test_merged_elements(writer: GraphWriter, explorer: GraphExplorer) -> None:
    await write(writer, "one", [("x", {"B and C.": ["B", "C"], "A and D.": ["A", "D"]})])
    node = await node_ids(writer)
    merge = StoredMerge(node["B"], node["A"], "semantic")
    await KeyElementMerges(explorer.connection, writer.corpus).merge([merge])
    elements = await explorer.elements([node["C"], node["B"], node["A"], "nowhere"])

    assert [(one.id, one.facts) for one in elements] == [(node["C"], 1), (node["A"], 2)]


# A node's facts and neighbors are its own, also where a document is called like it.
async def test_facts_are_the_nodes_own(writer: GraphWriter) -> None:
    await write(writer, "Film", [("x", {"Ann Lee directed it.": ["Ann Lee", "directed"]})])
    facts: Facts = {"She is a poet.": ["poet"], "She sings.": ["sings"]}
    await write(writer, "Ann Lee", [("Born in Ulm.", facts)])
    explorer = GraphExplorer(writer.connection, writer.corpus)
    node = (await node_ids(writer))["Ann Lee"]

    assert texts(await explorer.facts(node)) == ["Ann Lee directed it."]
    assert {one.name for one in await neighbors(explorer, node)} == {"directed"}


# What is drawn depends on keys alone: in another corpus of the same texts it is the same. Nodes
# come in the order of the shares, none that was merged.
async def test_sample(writer: GraphWriter, other: GraphWriter, explorer: GraphExplorer) -> None:
    for one in (writer, other):
        await write(one, "one", [("x", {"Fact.": ["Ada", "Bede", "Cyril", "Dora", "rain"]})])
    shares = [n / 50 for n in range(50)]
    drawn = await explorer.sample(shares)
    drawn_there = await GraphExplorer(other.connection, other.corpus).sample(shares)
    first, last = await explorer.sample([0, 0.999])
    merge = StoredMerge(first.id, last.id, "semantic")
    await KeyElementMerges(writer.connection, writer.corpus).merge([merge])

    assert len({node.id for node in drawn}) == 5
    assert [node.name for node in drawn] == [node.name for node in drawn_there]
    assert not {node.id for node in drawn} & {node.id for node in drawn_there}
    assert first not in await explorer.sample(shares)
