"""Joins of names within a document on a real graph, together with merges, and taken back."""

import io
from itertools import permutations
from typing import Any

import pytest

from graphreader.errors import UsageError
from graphreader.ingestion import extraction
from graphreader.ingestion.export_file import Export
from graphreader.ingestion.normalization.joining import NamePair, NamesDecision, NamesTask
from graphreader.ingestion.normalization.normalizer import Normalizer
from graphreader.ingestion.normalization.rules import normalize as key_of
from graphreader.ingestion.report import NormalizationReport
from graphreader.ingestion.transfer import export_corpus, import_corpus
from graphreader.llm.protocols import Decision, Task
from graphreader.offline.embedder import OfflineEmbedder
from graphreader.settings import STAGES
from graphreader.store.catalog import Catalog
from graphreader.store.connection import Connection
from graphreader.store.explorer import GraphExplorer
from graphreader.store.joins import NameJoins
from graphreader.store.writer import Deleter, GraphWriter
from graphreader.testing import ScriptedDecider
from tests.neo4j.test_normalizer import graph, named, put
from tests.neo4j.texts import Facts, by_words, document
from tests.servers import both_versions

NAUSEA: Facts = {
    "Jean-Paul Sartre wrote Nausea.": ["Jean-Paul Sartre", "Nausea"],
    "Sartre lived in Le Havre.": ["Sartre", "Le Havre"],
    "Sartre was Jean-Paul Sartre.": ["Sartre", "Jean-Paul Sartre"],
}
PRIZE: Facts = {
    "Jean Paul Sartre declined a prize.": ["Jean Paul Sartre", "prize"],
    "Jean Paul Sartre was French.": ["Jean Paul Sartre", "French"],
    "Jean Paul Sartre died in Paris.": ["Jean Paul Sartre", "Paris"],
}
FAMILY: Facts = {
    "Anne Sartre met Jacques Sartre.": ["Anne Sartre", "Jacques Sartre"],
    "Sartre wept.": ["Sartre"],
}
TEXTS = {"nausea": NAUSEA, "prize": PRIZE, "family": FAMILY}
MERGES, JOINS = ("semantic", "association"), ("short_names",)
LIVED, IS = "Sartre lived in Le Havre.", "Sartre was Jean-Paul Sartre."


async def normalize(writer: GraphWriter, *stages: str) -> None:
    await Normalizer(writer.connection, writer.corpus, stages).run()


# A short name leads to the full name in its own document, and to what that is merged into; where
# two persons have it, it stays. It is found by the short name, and counted.
async def test_names_are_joined_in_their_document(
    connection: Connection, writer: GraphWriter, explorer: GraphExplorer
) -> None:
    for title, facts in TEXTS.items():
        await put(writer, title, facts)
    await normalize(writer, *JOINS)
    joined = await named(connection, writer.corpus)
    await normalize(writer, *MERGES, *JOINS)
    both = await named(connection, writer.corpus)
    stats = await Catalog(connection).stats(writer.corpus)

    assert {LIVED, IS} < joined["Jean-Paul Sartre"]
    assert joined["Sartre"] == both["Sartre"] == {"Sartre wept."}
    assert both["Jean Paul Sartre"] == {*NAUSEA, *PRIZE}
    assert (stats.joined, stats.merged) == (1, 1)
    found = {one.name for one in await by_words(explorer, "Sartre", 9)}
    assert {"Jean Paul Sartre", "Sartre"} <= found
    await Deleter(connection, writer.corpus).delete([document(writer.corpus, "family").id])
    await normalize(writer, *MERGES, *JOINS)
    assert "Sartre" not in {one.name for one in await by_words(explorer, "Sartre", 9)}
    assert (await Catalog(connection).stats(writer.corpus)).key_elements == len(
        [facts for facts in (await named(connection, writer.corpus)).values() if facts]
    )


# Joins and merges are made and undone in any order; each order gives the same graphs, and at the
# end the graph that extraction wrote, to the last property.
@both_versions
async def test_any_order_gives_the_same_graph(connection: Connection, writer: GraphWriter) -> None:
    for title, facts in TEXTS.items():
        await put(writer, title, facts)
    graphs: dict[tuple[str, ...], list[str]] = {(): await graph(connection, writer.corpus)}
    for order in permutations([(*MERGES, *JOINS), MERGES, JOINS, ()]):
        for stages in order:
            await normalize(writer, *stages)
            now = await graph(connection, writer.corpus)
            assert graphs.setdefault(stages, now) == now

    assert len({tuple(one) for one in graphs.values()}) == 4


# A document that comes, changes or goes leaves what the others have; nothing depends on the order.
@pytest.mark.parametrize("gone", list(TEXTS))
async def test_documents_come_and_go(
    connection: Connection, writer: GraphWriter, gone: str
) -> None:
    for title, facts in TEXTS.items():
        if title != gone:
            await put(writer, title, facts)
            await normalize(writer, *MERGES, *JOINS)
    without = await graph(connection, writer.corpus)
    await put(writer, gone, TEXTS[gone])
    await normalize(writer, *MERGES, *JOINS)
    again = await NameJoins(connection, writer.corpus).due(by_model=False)
    await Deleter(connection, writer.corpus).delete([document(writer.corpus, gone).id])
    await writer.settle()
    at_once = await named(connection, writer.corpus)
    await normalize(writer, *MERGES, *JOINS)

    assert again == []
    others = {fact for title, facts in TEXTS.items() if title != gone for fact in facts}
    assert set().union(*at_once.values()) == others  # no fact is lost until then
    assert await graph(connection, writer.corpus) == without


# A join that was cut off anywhere is finished, or undone, by the next run.
@pytest.mark.parametrize("stages", [(*MERGES, *JOINS), MERGES])
async def test_a_join_that_was_cut_off(
    connection: Connection, writer: GraphWriter, stages: tuple[str, ...]
) -> None:
    for title, facts in TEXTS.items():
        await put(writer, title, facts)
    await normalize(writer, *stages)
    whole = await graph(connection, writer.corpus)
    await normalize(writer, *JOINS)
    values = {"joined": [], "joined_into": [], "joined_by": [], "asked": None}
    id_ = document(writer.corpus, "nausea").id
    await connection.write("write/joins", corpus=writer.corpus, document=id_, **values)
    await normalize(writer, *stages)

    assert await graph(connection, writer.corpus) == whole


def pair_of(task: Task[Any]) -> Decision:
    """A decision that Ulli means Ulla Berg."""
    assert isinstance(task, NamesTask)
    number = {name: place for place, (name, _) in enumerate(task.names, 1)}
    return NamesDecision(pairs=[NamePair(name=number["Ulli"], means=number["Ulla Berg"])])


# A model is asked once about a document's names; its decision is exported, and is not asked again
# after an import, nor after an edit that leaves the list as it was. Without the stage it is undone.
async def test_joins_of_a_model(
    connection: Connection, writer: GraphWriter, other: GraphWriter
) -> None:
    decider = ScriptedDecider({NamesTask: pair_of}, name="a model")

    async def run(writer: GraphWriter) -> NormalizationReport:
        return await Normalizer(connection, writer.corpus, STAGES, decider).run()

    sang: Facts = {"Ulla Berg sang.": ["Ulla Berg"], "Ulli slept.": ["Ulli"]}
    await put(writer, "family", sang, text="A text.")
    report = await run(writer)
    await run(writer)
    exported = io.BytesIO()
    await export_corpus(connection, writer.corpus, exported)
    await import_corpus(connection, other.corpus, Export(io.BytesIO(exported.getvalue())), STAGES)
    again = await run(other)

    assert [task.names for task in decider.asked] == [(("Ulla Berg", 1), ("Ulli", 1))]
    assert report.usage.calls == 1
    assert again.usage.calls == 0
    for one in (writer, other):
        assert (await named(connection, one.corpus))["Ulla Berg"] == {
            "Ulla Berg sang.",
            "Ulli slept.",
        }
        ((document,),) = [await NameJoins(connection, one.corpus).joined()]
        assert [join.by for join in document.joins] == [decider.name]
    await normalize(other, *MERGES)
    assert (await named(connection, other.corpus))["Ulli"] == {"Ulli slept."}


# A person undoes the join of one name in one document: its facts are as extraction gave them, now
# and after each later run, an undo of all, and an export; merges and other documents stay.
@both_versions
async def test_undo_one_join(
    connection: Connection, writer: GraphWriter, other: GraphWriter
) -> None:
    for title, facts in (
        TEXTS | {"again": {f"{one} Again.": k for one, k in NAUSEA.items()}}
    ).items():
        await put(writer, title, facts, text="A text.")
    await normalize(writer, *MERGES)
    base = await named(connection, writer.corpus)
    await normalize(writer, *MERGES, *JOINS)
    normalizer = Normalizer(connection, writer.corpus, (*MERGES, *JOINS))
    nausea = document(writer.corpus, "nausea").id
    report = await normalizer.undo_join(nausea, "Sartre")
    parted = await graph(connection, writer.corpus)
    with pytest.raises(UsageError, match="'Sartre' is not joined to another name"):
        await normalizer.undo_join(nausea, "Sartre")
    stats = await Catalog(connection).stats(writer.corpus)

    now = await named(connection, writer.corpus)
    [full] = [one for one, facts in now.items() if one.startswith("Jean") and facts]
    assert LIVED in now["Sartre"]
    assert LIVED not in now[full]
    assert f"{LIVED} Again." in now[full]
    assert report.joins == {nausea: ()}
    assert stats.joined == 1
    for stages in ((*MERGES, *JOINS), (), (*MERGES, *JOINS)):
        await normalize(writer, *stages)
    assert await graph(connection, writer.corpus) == parted
    exported = io.BytesIO()
    await export_corpus(connection, writer.corpus, exported)
    imported = Export(io.BytesIO(exported.getvalue()))
    await import_corpus(connection, other.corpus, imported, (*MERGES, *JOINS))
    assert await named(connection, other.corpus) == now
    await Normalizer(connection, writer.corpus, (*MERGES, *JOINS)).undo_join(
        document(writer.corpus, "again").id, "sartre"
    )
    assert await named(connection, writer.corpus) == base


# A model's join that a person undoes is not made again, and the model is not asked again.
async def test_undo_a_join_of_a_model(connection: Connection, writer: GraphWriter) -> None:
    decider = ScriptedDecider({NamesTask: pair_of}, name="a model")
    sang: Facts = {"Ulla Berg sang.": ["Ulla Berg"], "Ulli slept.": ["Ulli"]}
    await put(writer, "family", sang, text="A text.")
    await Normalizer(connection, writer.corpus, STAGES, decider).run()
    await Normalizer(connection, writer.corpus, STAGES).undo_join(
        document(writer.corpus, "family").id, "Ulli"
    )
    report = await Normalizer(connection, writer.corpus, STAGES, decider).run()

    assert (len(decider.asked), report.joins) == (1, {})
    assert (await named(connection, writer.corpus))["Ulli"] == {"Ulli slept."}


# A corpus of an earlier version keeps its ids until it is indexed again: then each wording has the
# key of the present rules, and the graph is that of the texts read today.
async def test_keys_are_renewed(
    connection: Connection, writer: GraphWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    sang: Facts = {
        "Enoch Soames sang.": ["Enoch Soames", "sang"],
        "The songs of Enoch Soames end.": ["songs", "Enoch Soames"],
    }
    await put(writer, "songs", sang)
    await normalize(writer, *MERGES, *JOINS)
    today = await graph(connection, writer.corpus)
    await Deleter(connection, writer.corpus).delete([document(writer.corpus, "songs").id])
    monkeypatch.setattr(extraction, "normalize", lambda surface: key_of(surface).rstrip("s"))
    extraction._key_element.cache_clear()
    await put(writer, "songs", sang)
    await normalize(writer, *MERGES, *JOINS)
    monkeypatch.undo()
    extraction._key_element.cache_clear()
    normalizer = Normalizer(connection, writer.corpus, (*MERGES, *JOINS))
    changed = await normalizer.renew_keys()
    again = await normalizer.renew_keys()
    missing = await writer.unembedded()
    vectors = await OfflineEmbedder().embed([one.key for one in missing])
    await writer.write_embeddings(zip([one.id for one in missing], vectors, strict=True))
    await normalizer.run()

    assert (changed, again) == (1, 0)
    assert await graph(connection, writer.corpus) == today
