"""Exact counts and whole lists of a corpus and of its parts."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from graphreader.scope import EVERYTHING
from graphreader.store.catalog import Catalog
from graphreader.store.connection import Connection
from graphreader.store.explorer import GraphExplorer
from graphreader.store.inventory import Inventory
from graphreader.store.key_elements import KeyElementMerges, StoredMerge
from graphreader.store.records import CorpusPart, DocumentsInScope, FactList
from graphreader.store.writer import DocumentVersion, GraphWriter
from tests.neo4j.texts import Facts, chunks, document, node_ids, read, write
from tests.servers import both_versions

WHEN = ["2023-05-31", "2023-06", "2023-06-16", "2023-07-01/2023-07-04", "2024", ""]


@pytest.fixture
def inventory(connection: Connection, writer: GraphWriter) -> Inventory:
    return Inventory(connection, writer.corpus)


async def write_diary(writer: GraphWriter, title: str = "diary") -> str:
    """A document of three chunks with two dated facts each; returns its id."""
    of = document(writer.corpus, title, "A. B. C.")
    made = chunks(of, ["A veteran wrote. ", "Veterans! The VETERAN left. ", "C."])
    reads = []
    for n, chunk in enumerate(made):
        facts: Facts = {f"Ada wrote letter {2 * n}.": ["Ada"], f"Bob left {2 * n + 1}.": ["Bob"]}
        own = read(of, chunk, facts)
        dated = [
            replace(fact, when=WHEN[2 * n + fact.index], speaker="Ada" if n else "")
            for fact in own.facts
        ]
        reads.append(replace(own, facts=tuple(dated)))
    await writer.write_chunks(reads, [of], 2000)
    version = DocumentVersion.of(of.id, of.sha256, 2000, len(made))
    await writer.arrange(version, made)
    await writer.settle()
    await writer.complete([version])
    return of.id


def texts(found: FactList) -> list[str]:
    return [fact.text for group in found.groups for fact in group.facts]


def numbers(found: FactList) -> tuple[int, int, int]:
    return found.facts, found.chunks, found.documents


# All facts of a hub are paged in the order of the texts, each once, with the true numbers; facts of
# names that are merged into it, too, but not of another corpus or of an edit that is under way.
@both_versions
async def test_hub(
    connection: Connection, writer: GraphWriter, other: GraphWriter, inventory: Inventory
) -> None:
    expected: list[str] = []
    for title in ("one", "two"):
        parts: list[tuple[str, Facts]] = []
        for n in range(30):
            facts = {f"Ada did {title} {n} {m}.": ["Ada" if n else "Ada Quist"] for m in range(10)}
            parts.append((f"{title} {n}", facts))
            expected += facts
        await write(writer, title, parts)
    await write(other, "three", [("x", {"Ada left.": ["Ada"]})])
    node = await node_ids(writer)
    merge = StoredMerge(node["Ada Quist"], node["Ada"], "semantic")
    await KeyElementMerges(connection, writer.corpus).merge([merge])
    pages = [
        await inventory.facts([node["Ada"]], skip=skip, limit=250, documents=1)
        for skip in (0, 250, 500, 750)
    ]

    assert list(map(numbers, pages)) == [(600, 60, 2)] * 4
    assert [text for page in pages for text in texts(page)] == expected
    assert [(one.title, one.number, one.chunks) for one in pages[0].by_document] == [
        ("one", 300, 30)
    ]
    (outside,) = (await node_ids(other)).values()
    assert numbers(await inventory.facts([outside])) == (0, 0, 0)
    two = await Catalog(connection).find(writer.corpus, "two")
    await connection.write("write/retire_chunks", document=two, chunks=[])
    assert numbers(await inventory.facts([node["Ada"]])) == (300, 30, 1)


# Facts with both of two names, or with words in any form, or all of them.
@both_versions
async def test_facts(writer: GraphWriter, inventory: Inventory) -> None:
    facts: Facts = {"Ada met Bob.": ["Ada", "Bob"], "Ada paints.": ["Ada"], "Bob paid.": ["Bob"]}
    await write(writer, "t", [("x", facts)])
    node = await node_ids(writer)

    async def found(ids: Sequence[str] = (), words: str = "") -> list[str]:
        return texts(await inventory.facts(ids, words, limit=9))

    assert await found([node["Ada"], node["Bob"]]) == ["Ada met Bob."]
    assert await found(words="painting Ada") == ["Ada paints."]
    assert await found(words="the") == []
    assert await found() == list(facts)


# A part is a document, chunks of it, or days: a fact is of these days if its time overlaps them.
# Days bring the order of time.
@both_versions
@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"since": "2023-06-10", "until": "2023-06-20"}, [1, 2]),
        ({"since": "2023-06", "until": "2023-06"}, [1, 2]),
        ({"since": "2023-07-02"}, [3, 4]),
        ({"until": "2023-05"}, [0]),
        ({"since": "2022", "until": "2022"}, []),
        ({"first": 1, "last": 1}, [2, 3]),
        ({"first": 1, "last": 9, "since": "2024"}, [4]),
    ],
)
async def test_parts(
    writer: GraphWriter,
    explorer: GraphExplorer,
    inventory: Inventory,
    limits: dict[str, str | int],
    expected: list[int],
) -> None:
    id_ = await write_diary(writer)
    await write_diary(writer, "another")
    ranges = ((id_, int(limits.get("first", 0)), int(limits.get("last", 10**9))),)
    since, until = str(limits.get("since", "")), str(limits.get("until", ""))
    part = CorpusPart((id_,), ranges, since, until)
    found = await inventory.facts(part=part, limit=9)
    names = {0: "Ada", 1: "Bob"}
    counted = await inventory.names("", part, 0, 9)
    times = await inventory.values("when", part, 0, 9)
    (searched,) = await explorer.search(["Ada's letters, what Bob left"], 9, None, part)

    assert sorted(int(text.rstrip(".").split()[-1]) for text in texts(found)) == expected
    assert dict(counted[1]) == {
        name: own for n, name in names.items() if (own := sum(one % 2 == n for one in expected))
    }
    assert [value for value, *_ in times.rows] == [WHEN[n] for n in expected if WHEN[n]]
    assert (times.total, times.of) == (len(times.rows), len(expected))
    assert {hit.item.chunk.index for hit in searched.hits} == {n // 2 for n in expected}
    assert {hit.item.chunk.document_id for hit in searched.hits} <= {id_}


# Facts of days are in the order of their times, whatever document they are in.
async def test_order_of_time(writer: GraphWriter, inventory: Inventory) -> None:
    for title in ("b", "a"):
        await write_diary(writer, title)
    found = await inventory.facts(part=CorpusPart(since="2023"), limit=9)

    assert [fact.when for group in found.groups for fact in group.facts] == sorted(
        [*WHEN[:5], *WHEN[:5]]
    )[:9]


# Speakers come by their facts, times in order, years before Christ first; documents by title.
@both_versions
async def test_lists(
    writer: GraphWriter, other: GraphWriter, inventory: Inventory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for one in (writer, other):
        await write_diary(one)
    monkeypatch.setattr("tests.neo4j.test_inventory.WHEN", ["-0044", "-0100", "0476", "", "", ""])
    await write_diary(writer, "annals of Rome")
    speakers = await inventory.values("speaker", CorpusPart(), 0, 9)
    times = await inventory.values("when", CorpusPart(), 0, 3)

    assert (speakers.rows, speakers.facts, speakers.of) == ((("Ada", 8, 4),), 8, 12)
    assert [value for value, *_ in times.rows] == ["-0100", "-0044", "0476"]
    assert (times.total, times.first, times.last) == (8, "-0100", "2024")
    assert (await inventory.values("when", CorpusPart(), 7, 3)).rows == (("2024", 1, 1),)
    total, rows = await inventory.documents("", CorpusPart(), 0, 1)
    assert (total, [(one.title, one.chunks) for one in rows]) == (2, [("annals of Rome", 3)])
    assert rows[0].summary == "Ada wrote letter 0."
    assert (await inventory.documents("rome Annals", CorpusPart(), 0, 9))[0] == 1
    assert (await inventory.documents("Paris", CorpusPart(), 0, 9)) == (0, [])


# Places of days are the chunks with a fact of these days; of a range of chunks, these.
@both_versions
async def test_places(connection: Connection, writer: GraphWriter, other: GraphWriter) -> None:
    id_ = await write_diary(writer)
    await write_diary(other)
    explorer = GraphExplorer(connection, writer.corpus)

    async def indexes(**limits: Any) -> list[int]:
        return [one.index for one in await explorer.places(9, CorpusPart(**limits))]

    assert await indexes() == [0, 1, 2]
    assert await indexes(since="2023-06", until="2023-06") == [0, 1]
    assert await indexes(since="2024") == [2]
    assert await indexes(ranges=((id_, 1, 1),)) == [1]
    assert await indexes(ranges=((id_, 0, 1),), since="2023-07") == [1]


# Names come by their facts, with words those that have all of them, perhaps in a longer form.
@both_versions
async def test_names(writer: GraphWriter, other: GraphWriter, inventory: Inventory) -> None:
    names = ["Vietnam veteran", "veterans", "Vietnam", "the old veterans' home", "Rain"]
    facts = {f"{name} {n}.": [name] for n, name in enumerate(names)}
    for one in (writer, other):
        await write(one, "t", [("x", {**facts, "More rain.": ["Rain"]})])

    assert (await inventory.names("", CorpusPart(), 0, 2)) == (5, [("Rain", 2), ("Vietnam", 1)])
    found = await inventory.names("veteran", CorpusPart(), 0, 9)
    assert {name for name, _ in found[1]} == {"Vietnam veteran", "veterans", names[3]}
    assert (await inventory.names("Vietnam veteran", CorpusPart(), 0, 9))[1] == [
        ("Vietnam veteran", 1)
    ]
    assert (await inventory.names("?!", CorpusPart(), 0, 9)) == (0, [])


# Words are counted in the texts, in all their forms, as often as they stand there.
@both_versions
async def test_words(writer: GraphWriter, other: GraphWriter, inventory: Inventory) -> None:
    id_ = await write_diary(writer)
    await write_diary(other)
    await write(writer, "中文", [("贞德生于栋雷米。贞德是农民的女儿，马。", {"贞德。": ["贞德"]})])
    found = await inventory.words("veteran", CorpusPart())

    assert found.forms == (("veteran", 2), ("veterans", 1))
    assert (found.total, found.chunks, found.at_least) == (3, 2, False)
    (count,) = found.by_document
    assert (count.id, count.number, count.chunks, count.indexes) == (id_, 3, 2, (0, 1))
    assert (await inventory.words("veteran", CorpusPart(ranges=((id_, 1, 1),)))).total == 2
    words = ("the veteran", "the", "贞德", "马", "zebra")
    assert [(await inventory.words(one, CorpusPart())).total for one in words] == [1, 1, 2, 1, 0]


# Of a scope only its documents are counted and listed; a limit to another document finds nothing.
@both_versions
async def test_scope(connection: Connection, writer: GraphWriter) -> None:
    inside, outside = [await write_diary(writer, title) for title in ("diary", "other")]
    await write(writer, "third", [("A veteran.", {"Cleo came.": ["Cleo"]})])
    documents = DocumentsInScope(EVERYTHING, [inside], 3)
    inventory = Inventory(connection, writer.corpus, documents)
    explorer = GraphExplorer(connection, writer.corpus, documents)
    node = await node_ids(writer)

    assert numbers(await inventory.facts()) == (6, 3, 1)
    assert numbers(await inventory.facts([node["Ada"]])) == (3, 3, 1)
    assert numbers(await inventory.facts(words="Bob left")) == (3, 3, 1)
    assert await inventory.names("", CorpusPart(), 0, 9) == (2, [("Ada", 3), ("Bob", 3)])
    assert await inventory.names("Cleo", CorpusPart(), 0, 9) == (0, [])
    assert (await inventory.values("speaker", CorpusPart(), 0, 9)).rows == (("Ada", 4, 2),)
    assert [one.id for one in (await inventory.documents("", CorpusPart(), 0, 9))[1]] == [inside]
    assert (await inventory.words("veteran", CorpusPart())).total == 3
    for part in (CorpusPart((outside,)), CorpusPart(since="1900", until="1901")):
        assert numbers(await inventory.facts(part=part)) == (0, 0, 0)
        assert [one.hits for one in await explorer.search(["Ada"], 9, None, part)] == [[]]


# A fact without a time has the date of its document, if it has one.
async def test_date_of_the_document(
    connection: Connection, writer: GraphWriter, inventory: Inventory, explorer: GraphExplorer
) -> None:
    id_ = await write_diary(writer)
    changes = {"added": [], "removed": [], "replaced": False, "date": "2021-03"}
    await connection.write("write/tags", corpus=writer.corpus, documents=[id_], **changes)
    part = CorpusPart(since="2021", until="2021")

    assert texts(await inventory.facts(part=part, limit=9)) == ["Bob left 5."]
    assert (await inventory.values("when", CorpusPart(), 0, 1)).rows == (("2021-03", 1, 1),)
    (found,) = await explorer.search(["Bob"], 9, None, part)
    assert [hit.item.chunk.index for hit in found.hits] == [2]
