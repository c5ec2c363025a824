"""Search for chunks by facts and titles, and for key elements by name."""

from dataclasses import replace

import pytest

from graphreader.store.catalog import Catalog
from graphreader.store.connection import Connection
from graphreader.store.explorer import GraphExplorer
from graphreader.store.full_text import TERMS_VERSION
from graphreader.store.names import NamedElements
from graphreader.store.records import CorpusPart
from graphreader.store.search import Mentions, SearchResult
from graphreader.store.writer import GraphWriter
from graphreader.tokens import count
from tests.neo4j.texts import Facts, by_words, chunks, document, read, write
from tests.servers import both_versions

SCHOOL: dict[str, list[Facts]] = {
    "Emil Rask": [
        {"He was taught by Vera Holm.": ["Vera Holm"], "He had a dog.": ["dog"]},
        {"Emil Rask founded the school in Bergen.": ["Emil Rask", "Bergen"]},
    ],
    "Vera Holm": [{"Vera Holm painted ships.": ["Vera Holm", "ships"]}],
    "Bergen": [
        {"Bergen is a rainy city.": ["Bergen"]},
        {"Vera Holm left the harbour.": ["Vera Holm"], "Emil Rask stayed.": ["Emil Rask"]},
    ],
    "贞德": [{"贞德生于栋雷米。": ["贞德", "栋雷米"], "她是农民的女儿。": ["农民"]}],
}


async def write_school(writer: GraphWriter) -> None:
    for title, parts in SCHOOL.items():
        await write(writer, title, [(f"{title} {n}", facts) for n, facts in enumerate(parts)])


async def found(explorer: GraphExplorer, query: str, limit: int = 9) -> list[str]:
    """The texts of the chunks that a search returns, best first."""
    return [hit.item.chunk.text for hit in (await explorer.search([query], limit))[0].hits]


# Facts and titles vote for their chunks, words in any form; of two names the chunks with both come
# first, then those of each. A Chinese name of two characters is a word. Where only words of any
# question are shared, or none, there is no hit.
@both_versions
@pytest.mark.parametrize(
    ("query", "chunks"),
    [
        ("Which painter was the teacher of Rask, who had a dog?", ["Emil Rask 0"]),
        ("founder of a school", ["Emil Rask 1"]),
        ("Emil Rask, Vera Holm", ["Bergen 1", "Emil Rask 0"]),
        ("Is Bergen or Vera Holm rainier?", ["Bergen 1", "Bergen 0", "Vera Holm 0"]),
        ("Vera", ["Vera Holm 0"]),
        ("贞德", ["贞德 0"]),
        ("谁的女儿", ["贞德 0"]),
        ("In which city is the zebra?", []),
        ("谁的名字", []),
        ("?", []),
    ],
)
async def test_chunks(
    explorer: GraphExplorer, writer: GraphWriter, query: str, chunks: list[str]
) -> None:
    await write_school(writer)

    hits = await found(explorer, query)

    assert set(hits[: len(chunks)]) == set(chunks) if chunks else not hits


# However much others say about one of two names, a chunk with both comes first.
async def test_two_names(explorer: GraphExplorer, writer: GraphWriter) -> None:
    for name, times in (("Emil Rask", 5), ("Vera Holm", 5)):
        for n in range(times):
            await write(writer, f"{name} {n}", [("one", {f"{name} painted ships.": [name]})])
    letters: Facts = {"Emil Rask wrote.": ["Emil Rask"], "Vera Holm wrote.": ["Vera Holm"]}
    await write(writer, "Letters", [("both", letters)])

    assert (await found(explorer, "Did Emil Rask and Vera Holm paint ships?"))[:2] == [
        "both",
        "one",
    ]


# A hit has its chunk in full, its place, and the facts that match, best first. Several queries are
# one search.
async def test_hits(explorer: GraphExplorer, writer: GraphWriter) -> None:
    await write_school(writer)

    first, nothing, limited = await explorer.search(["Had Rask a dog?", "zebra", "Emil Rask"], 2)

    hit = first.hits[0]
    chunk = hit.item.chunk
    assert (chunk.document, chunk.index, chunk.text) == ("Emil Rask", 0, "Emil Rask 0")
    assert [fact.index for fact in hit.item.facts] == [1, 0]
    assert nothing == SearchResult([])
    assert len(limited.hits) == 2


# All chunks with a name of the query in their facts are counted, or with its only distinctive word,
# in this corpus and whatever the limit; a chunk of an edit under way is not.
@both_versions
async def test_mentions(
    explorer: GraphExplorer, writer: GraphWriter, other: GraphWriter, connection: Connection
) -> None:
    facts = {f"Writer{n} came to New Oslo for the harvest. {n}": ["New Oslo"] for n in range(9)}
    for one in (writer, other):
        texts = [(f"{n}", {fact: names}) for n, (fact, names) in enumerate(facts.items())]
        await write(one, "letters", [*texts, ("x", {"Ada saw New Bergen.": ["Ada"]})])
    queries = [
        *("How many mention New Oslo and New Bergen?", "How many letters mention the harvest?"),
        *("Is there a harvest or a zebra?", "How many mention Zürich?"),
    ]
    found = await explorer.search(queries, 3)

    assert [len(one.hits) for one in found] == [3, 3, 3, 0]
    assert [one.mentions for one in found] == [
        (Mentions("New Oslo", 9), Mentions("New Bergen", 1)),
        *((Mentions("harvest", 9),), (), ()),
    ]
    letters = await Catalog(connection).find(writer.corpus, "letters")
    await connection.write("write/retire_chunks", document=letters, chunks=[])
    assert [one.mentions for one in await explorer.search(["New Oslo"], 3)] == [()]


# The chunks with all names of a query, or with all of its few words, are counted too, whatever
# facts of them have these; more facts than are counted are "at least".
async def test_mentions_together(
    explorer: GraphExplorer, writer: GraphWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    both: Facts = {"Ada Quist saw rain.": ["Ada Quist"], "Bo Lind saw a harvest.": ["Bo Lind"]}
    parts = [(f"{n}", both) for n in range(5)]
    await write(writer, "t", [*parts, ("x", {"Ada Quist left the harvest.": ["Ada Quist"]})])
    queries = ["Ada Quist and Bo Lind", "harvest, rain", "harvest rain zebra", "harvest"]
    mentions = [one.mentions for one in await explorer.search(queries, 3)]

    assert mentions == [
        (
            Mentions("Ada Quist", 6),
            Mentions("Bo Lind", 5),
            Mentions("Ada Quist and Bo Lind", 5),
        ),
        (Mentions("harvest and rain", 5),),
        (),
        (Mentions("harvest", 6),),
    ]
    monkeypatch.setattr("graphreader.store.search.MOST_COUNTED", 4)
    (found,) = await explorer.search(["harvest"], 3)
    assert found.mentions == (Mentions("harvest", 4, at_least=True),)


# A search in a part of a corpus finds by words and by vectors what is there, however much better
# other passages are.
@both_versions
async def test_part(explorer: GraphExplorer, writer: GraphWriter) -> None:
    near = [1.0, *[0.0] * 255]
    await write(writer, "many", [(f"m{n}", {f"Ada Quist {n}.": ["Ada Quist"]}) for n in range(150)])
    (chunk,) = await write(
        writer, "one", [("Once Ada Quist and others came by.", {"Ada.": ["Ada"]})]
    )
    passages = await writer.unembedded_passages([chunk.document_id])
    await writer.write_passage_embeddings((one.id, near) for one in passages)
    part = CorpusPart((chunk.document_id,))
    by_words, by_vector = await explorer.search(["Ada Quist", "zebra"], 5, [near, near], part)
    (outside,) = await explorer.search(
        ["Ada Quist"], 5, [near], CorpusPart(ranges=((chunk.document_id, 1, 9),))
    )

    for found in (by_words, by_vector):
        assert [hit.item.chunk.id for hit in found.hits] == [chunk.id]
    assert outside == SearchResult([])


# Chunks of another corpus are no hits, nor are those of an edit that is under way.
async def test_other_chunks(
    explorer: GraphExplorer, writer: GraphWriter, other: GraphWriter, connection: Connection
) -> None:
    await write_school(other)
    assert await found(explorer, "Emil Rask") == []

    await write_school(writer)
    rask = await Catalog(connection).find(writer.corpus, "Emil Rask")
    await connection.write("write/retire_chunks", document=rask, chunks=[])

    assert await found(explorer, "Emil Rask") == ["Bergen 1"]


# With vectors of the queries, the chunks of the nearest passages come, too, if they are near
# enough; other corpora have no part in it, nor has one without vectors.
@both_versions
async def test_vectors(explorer: GraphExplorer, writer: GraphWriter, other: GraphWriter) -> None:
    vectors = {"Vera Holm: Vera Holm 0": [1.0, 0.0], "Emil Rask: Emil Rask 0": [0.6, 0.8]}
    near, far = [1.0, *[0.0] * 255], [*[0.0] * 255, 1.0]
    await write_school(writer)
    assert await explorer.search(["zebra"], 5, [near]) == [SearchResult([])]

    for one in (other, writer):
        if one is other:
            await write_school(other)
        own = [one.id for one in await Catalog(one.connection).documents(one.corpus)]
        passages = await one.unembedded_passages(own)
        await one.write_passage_embeddings(
            (passage.id, [*vectors.get(passage.with_title, [-1.0, 0.1]), *[0.0] * 254])
            for passage in passages
        )
    near_hits, nothing = await explorer.search(["zebra", "zebra"], 5, [near, far])
    hits = near_hits.hits

    assert [(hit.item.chunk.text, hit.item.facts[0].text) for hit in hits] == [
        ("Vera Holm 0", "Vera Holm painted ships."),
        ("Emil Rask 0", "He was taught by Vera Holm."),
    ]
    assert hits[0].score > hits[1].score
    assert all(hit.item.chunk.document_id in own for hit in hits)
    assert nothing == SearchResult([])


LONG = " ".join(
    f"The clerk of room {n} wrote a letter in the year of the flood." for n in range(60)
)


# What no fact says is found by the words of a passage, or of a heading over it; the hit has the
# facts of this passage, in the order of the text, whether or not it is known where they stand.
@both_versions
@pytest.mark.parametrize("is_placed", [True, False])
async def test_passages(explorer: GraphExplorer, writer: GraphWriter, is_placed: bool) -> None:
    of = document(writer.corpus, "Report")
    text = f"{LONG} Then a zebra came by. {LONG}"
    [chunk] = chunks(of, [text])
    chunk = replace(chunk, tokens=count(text), heading_path=("Herrings",))
    names = ["Ada", "Bob", "Cleo", "Dora", "Emil", "Fay", "Gus", "Hal"]
    extracted = read(of, chunk, {f"{name} was there.": [name] for name in names})
    if is_placed:
        places = (
            replace(fact, start=n * len(text) // 8, end=n * len(text) // 8 + 9)
            for n, fact in enumerate(extracted.facts)
        )
        extracted = replace(extracted, facts=tuple(places))
    await writer.write_chunks([extracted], [of], 2000)

    for query in ("What was the zebra doing?", "herring"):
        (result,) = await explorer.search([query], 5)
        (hit,) = result.hits
        shown = [fact.index for fact in hit.item.facts]
        assert 0 < len(shown) < len(names)
        assert shown == list(range(shown[0], shown[0] + len(shown)))
        assert query == "herring" or {3, 4} & set(shown)
    assert await found(explorer, "giraffe") == []


# A corpus whose facts were not indexed is searched by its key elements, and a note says so.
async def test_older_corpus(
    explorer: GraphExplorer, writer: GraphWriter, connection: Connection
) -> None:
    await write_school(writer)
    assert await explorer.search_note() is None

    await connection.write("write/corpus_terms", corpus=writer.corpus, terms=None)

    assert "graphreader reindex" in str(await explorer.search_note())
    assert (await found(explorer, "What did Vera Holm paint?"))[0] == "Vera Holm 0"
    assert await found(explorer, "zebra") == []

    await connection.write("write/corpus_terms", corpus=writer.corpus, terms=1)

    assert "indexed anew" in str(await explorer.search_note())

    await connection.write("write/corpus_terms", corpus=writer.corpus, terms=TERMS_VERSION)
    assert await explorer.search_note() is None
    async with connection._driver.session() as session:
        text = "MATCH (c:Corpus {name: $corpus}) REMOVE c.passages"
        await (await session.run(text, corpus=writer.corpus)).consume()

    assert "makes its passages" in str(await explorer.search_note())
    assert (await found(explorer, "What did Vera Holm paint?"))[0] == "Vera Holm 0"


NAMES = {
    "a": ["Émile Zola", "Zola"],
    "b": ["J. R. R. Tolkien"],
    "c": ["John Smith", "Smith"],
    "d": ["Li Yu (director)"],
    "e": ["Beatles"],
    "f": ["Dostoevsky"],
    "g": ["U.S. Army"],
    "h": ["Maria"],
    "i": ["孙悟空"],
    "j": ["smith"],
    "k": ["E. Zola"],
    "l": ["Lexus RX 350"],
    "m": ["Columbia", "South Carolina"],
    "n": ["Plankton", "SpongeBob"],
    "o": ["Paris, Texas"],
    "p": ["F16"],
}


# The key element of a name is found by its wording, else in spite of case, accents, points,
# initials, a plural, or a letter of a long word; by its figure, or by the names of which it is made
# up. Another name is not it.
@both_versions
@pytest.mark.parametrize(
    ("name", "element"),
    [
        ("Smith", "Smith"),
        ("ZOLA", "Zola"),
        ("Emile Zola", "Émile Zola"),
        ("JRR Tolkien", "J. R. R. Tolkien"),
        ("John Ronald Reuel Tolkien", "J. R. R. Tolkien"),
        ("J. Smith", "John Smith"),
        ("John W. Smith", "John Smith"),
        ("Li Yu", "Li Yu (director)"),
        ("the Beatle", "Beatles"),
        ("Dostoyevsky", "Dostoevsky"),
        ("US Army", "U.S. Army"),
        ("孙悟空", "孙悟空"),
        ("Peter Smith", None),
        ("Marta", None),
        ("悟空", None),
        ("!", None),
        ("RX 350", "Lexus RX 350"),
        ("RX350", "Lexus RX 350"),
        ("350", None),
        ("F 16", "F16"),
        ("Columbia, South Carolina", "Columbia & South Carolina"),
        ("Columbia, Ohio", "Columbia"),
        ("Plankton SpongeBob", "Plankton & SpongeBob"),
        ("Plankton and SpongeBob", "Plankton & SpongeBob"),
        ("Plankton Marta", None),
        ("Paris", "Paris, Texas"),
        ("Paris, Ohio", None),
    ],
)
async def test_named(
    explorer: GraphExplorer, writer: GraphWriter, name: str, element: str | None
) -> None:
    facts = {f"{' and '.join(names)} came.": names for names in NAMES.values()}
    await write(writer, "Names", [("text", facts)])

    unknown, named = await explorer.named(["Nobody", name])

    assert unknown == NamedElements()
    assert " & ".join(one.name for one in named.elements) == (element or "")
    assert {one.name for one in named.similar} == ({"E. Zola"} if name == "Emile Zola" else set())


# In a large corpus, a word of very many names hides neither a rare name nor one of such words.
async def test_frequent_words(
    explorer: GraphExplorer, writer: GraphWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("explorer", "full_text"):
        monkeypatch.setattr(f"graphreader.store.{module}.MANY", 20)
    piers = [f"Old Harbor pier{chr(97 + n // 6)}{chr(97 + n % 6)}" for n in range(30)]
    names = ["Ada", "Old Harbor", *piers]
    facts = {f"{name} was seen by the old harbor.": [name] for name in names}
    await write(writer, "port", [("x", facts)])
    question = "Was Ada seen in the Old Harbor?"

    assert {one.name for one in await by_words(explorer, question, 2)} == {"Ada", "Old Harbor"}
    assert (await by_words(explorer, "old harbor", 1))[0].name == "Old Harbor"
    assert (await explorer.named(["Old Harbor"]))[0].elements[0].name == "Old Harbor"
    (result,) = await explorer.search([question], 5)
    assert result.hits[0].item.facts[0].text == "Ada was seen by the old harbor."
