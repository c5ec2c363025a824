"""A corpus goes out into a file and comes back in as it was."""

import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from graphreader.documents import AtomicFact, Chunk, Document
from graphreader.errors import EmbeddingMismatchError, UnknownCorpusError, UsageError
from graphreader.ingestion import transfer
from graphreader.ingestion.chunking import split
from graphreader.ingestion.extraction import identity, key_elements
from graphreader.ingestion.loading.content import from_text
from graphreader.ingestion.normalization.normalizer import Normalizer
from graphreader.ingestion.transfer import Export, TransferReport, export_corpus, import_corpus
from graphreader.offline.embedder import embedding_of
from graphreader.settings import STAGES, Settings
from graphreader.store.catalog import Catalog
from graphreader.store.connection import Connection, Row
from graphreader.store.writer import Deleter, DocumentVersion, GraphWriter, ReadChunk
from tests.neo4j.conftest import DIMENSION
from tests.runs.digest import content

LIMIT = 12
REFRAIN = "And nobody knew why it was.\n\n"
TEXTS = {
    "lives": "# Vera\n\nVera Holm was born in Bergen.\n\n" + REFRAIN * 3 + "VERA HOLM taught.\n",
    "贞德": "贞德生于栋雷米村。\n\n1431年，贞德在鲁昂被处死。\n",
    "odd": '\ufeffA "quote",\\ a tab\t, \u2028, 🧑🏽‍🚀 and שלום.\n\n'
    + REFRAIN
    + "The End of Bergen",
}

ALIKE = {
    "alike": "Canada is large.\n\nThe Canadian winter.\n\nA Café.\n\nThe Cafe.\n",
    "more": "Nobody names Canada or a café so often.\n",
}

Lines = list[dict[str, Any]]


def text_document(corpus: str, title: str, text: str) -> Document:
    """A document with everything that a loader may find."""
    return replace(
        from_text(text, title, corpus, f"/texts/{title}.md"),
        metadata={"tags": ["a", "ü"], "nothing": None, "year": 1901, "deep": {"x": 0.1}},
        page_starts=(0, 10),
        headings=((0, "Vera"), (9, "第二章")),
    )


def facts_of(corpus: str, chunk: Chunk) -> tuple[AtomicFact, ...]:
    """A fact a line; its first words are its key elements."""
    lines = dict.fromkeys(" ".join(line.split()) for line in chunk.text.splitlines())
    words = {line: line.split(" ") for line in lines if key_elements(corpus, line.split(" "))}
    return tuple(
        AtomicFact(identity(chunk.id, line), chunk.id, n, line, key_elements(corpus, some[:4]))
        for n, (line, some) in enumerate(words.items())
    )


async def begin(writer: GraphWriter) -> None:
    await writer.begin_corpus(
        decider="test", prompts="1", embedding="test-embedding", dimension=DIMENSION
    )


async def fill(writer: GraphWriter, texts: dict[str, str]) -> None:
    """Write texts as the ingestion does, from the first chunk to the last vector."""
    await begin(writer)
    for title, text in texts.items():
        document = text_document(writer.corpus, title, text)
        chunks = split(document, LIMIT)
        await writer.begin_documents([document], LIMIT)
        await writer.write_chunks([ReadChunk(c, facts_of(writer.corpus, c)) for c in chunks])
        version = DocumentVersion.of(document.id, document.sha256, LIMIT, len(chunks))
        await writer.chain([version])
        vectors = {one.id: embedding_of(one.key) for one in await writer.unembedded()}
        await writer.write_embeddings(vectors.items(), fresh=vectors)
        await writer.settle()
        assert await writer.complete([version])


async def exported(connection: Connection, corpus: str) -> bytes:
    """The whole file."""
    out = io.BytesIO()
    await export_corpus(connection, corpus, out)
    return out.getvalue()


async def imported(connection: Connection, corpus: str, data: bytes) -> TransferReport:
    return await import_corpus(connection, corpus, Export(io.BytesIO(data)))


async def delete_all(connection: Connection, corpus: str) -> None:
    deleter = Deleter(connection, corpus)
    rows = (await connection.read("read/documents", corpus=corpus))[0]["documents"]
    await deleter.delete([row["id"] for row in rows])
    await deleter.delete_corpus()


def graph(connection: Connection, corpus: str) -> list[str]:
    """Everything that belongs to the corpus, a line each."""
    address = connection.address
    settings = Settings.read(
        neo4j_uri=address.uri, neo4j_username=address.username, neo4j_password=address.password
    )
    return content(settings, corpus)


def parsed(data: bytes) -> Lines:
    return [json.loads(line) for line in data.splitlines()]


def unparsed(lines: Lines) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


@pytest.fixture
async def other(connection: Connection, corpus: str) -> AsyncIterator[str]:
    """The name of another corpus, which is gone afterwards."""
    yield f"{corpus}-other"
    await delete_all(connection, f"{corpus}-other")


@pytest.fixture
async def full(connection: Connection, corpus: str) -> AsyncIterator[GraphWriter]:
    """A corpus of three texts."""
    writer = GraphWriter(connection, corpus)
    await fill(writer, TEXTS)
    yield writer
    await delete_all(connection, corpus)


# What was exported, deleted and imported is the same graph, with the merges of normalization and
# without comparing anything again; a copy under another name has the same lines.
async def test_there_and_back(connection: Connection, full: GraphWriter, other: str) -> None:
    await fill(full, ALIKE)
    normalized = await Normalizer(connection, full.corpus, STAGES).run()
    before = graph(connection, full.corpus)
    data = await exported(connection, full.corpus)
    await imported(connection, other, data)
    await delete_all(connection, full.corpus)
    assert graph(connection, full.corpus) == []
    report = await imported(connection, full.corpus, data)

    assert normalized.merged
    assert any(":LIKE" in line for line in before)
    assert graph(connection, full.corpus) == before
    assert len(graph(connection, other)) == len(before) > 100
    stats = await Catalog(connection).stats(full.corpus)
    assert (report.documents, report.chunks, report.facts) == (
        (stats.documents, stats.chunks, stats.facts)
    )
    assert (report.incomplete, report.unchanged, report.refused) == (0, 0, ())
    again = await Normalizer(connection, full.corpus, STAGES).run()
    assert (again.compared, again.changed) == (0, False)
    copy = parsed(await exported(connection, other))
    assert copy[0] == parsed(data)[0] | {"corpus": other}
    assert sorted(map(_without_pairs, copy[1:])) == sorted(map(_without_pairs, parsed(data)[1:]))


def _without_pairs(line: dict[str, Any]) -> str:
    """A line without the similar key elements: a pair stands with the smaller id, by the corpus."""
    return str({kind: {**value, "likes": None} for kind, value in line.items()})


# The lines are in order and readable: texts as they are, no ids, no escapes; pages of any size give
# the same file.
async def test_lines_are_readable(
    connection: Connection, full: GraphWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = await exported(connection, full.corpus)
    monkeypatch.setattr(transfer, "CHUNKS_IN_MEMORY", 3)
    assert await exported(connection, full.corpus) == data
    for name in ("DOCUMENTS_PER_PAGE", "CHUNKS_PER_PAGE", "KEY_ELEMENTS_PER_PAGE"):
        monkeypatch.setattr(transfer, name, 1)
    assert await exported(connection, full.corpus) == data

    lines = parsed(data)
    kinds = ["".join(line) for line in lines[1:]]
    assert lines[0] == {
        "graphreader": 1,
        "corpus": full.corpus,
        "decider": "test",
        "prompts": "1",
        "embedding": "test-embedding",
        "dimension": DIMENSION,
        "stages": [],
    }
    assert kinds[0] == "document"
    assert kinds == [*sorted(kinds[:-1], key=lambda kind: kind == "key_element"), "end"]
    assert kinds.count("document") == len(TEXTS)
    first = next(line["chunk"] for line in lines if "栋雷米村" in str(line.get("chunk")))
    assert first["facts"][0]["key_elements"] == {"贞德生于栋雷米村。": "贞德生于栋雷米村"}
    assert "贞德生于栋雷米村" in data.decode()
    parts = [line["chunk"]["text"] for line in lines if "chunk" in line]
    assert sorted("".join(parts)) == sorted("".join(TEXTS.values()))


# Only the corpus itself is exported, and nothing of it is changed by that.
async def test_export_only_reads(connection: Connection, full: GraphWriter, other: str) -> None:
    await fill(GraphWriter(connection, other), {"secret": "Nobody shall read this.\n"})
    before = graph(connection, full.corpus) + graph(connection, other)
    data = await exported(connection, full.corpus)

    assert b"Nobody shall" not in data
    assert graph(connection, full.corpus) + graph(connection, other) == before
    with pytest.raises(UnknownCorpusError, match="no corpus 'nothing-here'"):
        await exported(connection, "nothing-here")


# An import adds to what a corpus has, as if all texts were read into it. A document with another
# text is refused with the command that deletes it, and the others are imported.
async def test_importing_into_a_corpus(connection: Connection, full: GraphWriter) -> None:
    data = await exported(connection, full.corpus)
    before = graph(connection, full.corpus)
    await delete_all(connection, full.corpus)
    await fill(full, {"odd": TEXTS["odd"], "lives": "Somebody else was born.\n"})
    known = {one.title: one.id for one in await Catalog(connection).documents(full.corpus)}
    report = await imported(connection, full.corpus, data)

    assert (report.documents, report.unchanged) == (1, 1)
    (sentence,) = report.refused
    assert f"graphreader delete {known['lives']} --corpus {full.corpus}" in sentence
    await Deleter(connection, full.corpus).delete([known["lives"]])
    await imported(connection, full.corpus, data)
    assert graph(connection, full.corpus) == before


# A corpus or a database of other embeddings takes nothing, and stays as it is.
async def test_other_embeddings_are_refused(
    connection: Connection, full: GraphWriter, other: str
) -> None:
    lines = parsed(await exported(connection, full.corpus))
    before = graph(connection, full.corpus)
    lines[0]["embedding"] = "another"
    with pytest.raises(EmbeddingMismatchError, match=r"test-embedding.*another.*reindex"):
        await imported(connection, full.corpus, unparsed(lines))
    lines[0]["dimension"] = 7
    with pytest.raises(EmbeddingMismatchError, match=r"256 dimensions.* 7.*another database"):
        await imported(connection, other, unparsed(lines))

    assert graph(connection, full.corpus) == before
    assert graph(connection, other) == []


# Cut off after any line, an import leaves nothing that counts as complete, and running it again
# with the whole file gives the whole graph.
async def test_cut_off(connection: Connection, full: GraphWriter) -> None:
    data = await exported(connection, full.corpus)
    before = graph(connection, full.corpus)
    lines = data.splitlines(keepends=True)
    for end in (1, 4, len(lines) - 1):
        await delete_all(connection, full.corpus)
        with pytest.raises(UsageError, match=rf"cut off at line {end}\b"):
            await imported(connection, full.corpus, b"".join(lines[:end]))
        with pytest.raises(UsageError, match=rf"cut off at line {end + 1}\b"):
            await imported(connection, full.corpus, b"".join(lines[:end]) + lines[end][:-2])
        statuses = {one.status for one in await Catalog(connection).documents(full.corpus)}
        assert statuses <= {"incomplete"}
        await imported(connection, full.corpus, data)
        assert graph(connection, full.corpus) == before


def chunk(lines: Lines) -> dict[str, Any]:
    return lines[2]["chunk"]


def vector(lines: Lines) -> list[float]:
    return lines[-2]["key_element"]["embedding"]


# What is wrong with an export, and the line that is named; negative ones count from the end.
WRONG: list[tuple[Callable[[Lines], Any], int]] = [
    (lambda lines: chunk(lines).pop("text"), 3),
    (lambda lines: chunk(lines).update(tokens="many"), 3),
    (lambda lines: chunk(lines).update(text="X" + chunk(lines)["text"][1:]), 2),
    (lambda lines: lines.pop(2), 3),  # the next chunk does not follow
    (lambda lines: chunk(lines).update(text=chunk(lines)["text"] + "x"), 3),
    (lambda lines: chunk(lines)["facts"].extend(chunk(lines)["facts"]), 3),
    (lambda lines: chunk(lines)["facts"][0]["key_elements"].update(x="x" * 40_000), 3),
    (lambda lines: lines.__setitem__(3, {"picture": {}}), 4),
    (lambda lines: lines[3].update(end={}), 4),  # two kinds in one line
    (lambda lines: lines.pop(1), 2),  # a chunk without its document
    (lambda lines: lines.insert(-1, lines[2]), -2),  # a chunk behind the key elements
    (lambda lines: lines.pop(-2), -1),  # the counts are wrong
    (lambda lines: vector(lines).__setitem__(0, float("nan")), -2),
    (lambda lines: vector(lines).pop(), -2),
]


# A wrong line is named by its number, and nothing that came before it counts as complete.
async def test_wrong_lines(connection: Connection, full: GraphWriter, other: str) -> None:
    data = await exported(connection, full.corpus)
    for spoil, place in WRONG:
        lines = parsed(data)
        spoil(lines)
        number = place if place > 0 else len(lines) + 1 + place
        with pytest.raises(UsageError, match=rf"^Line {number} of the export is wrong"):
            await imported(connection, other, unparsed(lines))

    statuses = {one.status for one in await Catalog(connection).documents(other)}
    assert statuses <= {"incomplete"}


# A document that is not complete comes back as it was: with its errors and with its edit under way.
async def test_incomplete_documents(connection: Connection, full: GraphWriter) -> None:
    document = text_document(full.corpus, "lives", TEXTS["lives"])
    chunk = split(document, LIMIT)[-1]
    edited = replace(chunk, id=identity(document.id, "New.", "0"), text="New.", end=chunk.start + 4)
    await full.begin_documents([replace(document, sha256="0" * 64)], LIMIT)
    await full.write_chunks([ReadChunk(edited, facts_of(full.corpus, edited), pending=True)])
    failing = text_document(full.corpus, "failing", "One line of it, and so on.\n\n" * 3)
    first, *others = split(failing, 8)
    await full.begin_documents([failing], 8)
    await full.write_chunks([ReadChunk(first, error="no reply")])
    assert others
    await full.settle()
    before = graph(connection, full.corpus)
    data = await exported(connection, full.corpus)
    await delete_all(connection, full.corpus)
    report = await imported(connection, full.corpus, data)

    assert graph(connection, full.corpus) == before
    assert report.incomplete == 2
    statuses = {one.title: one.status for one in await Catalog(connection).documents(full.corpus)}
    assert statuses["lives"] == statuses["failing"] == "incomplete"
    assert statuses["odd"] == "complete"


# A document that the corpus has read further than the file stays; one that the file has read
# further is taken from there.
async def test_further_than_the_file(connection: Connection, full: GraphWriter) -> None:
    failing = text_document(full.corpus, "failing", "One line of it, and so on.\n\n" * 3)
    first, second, *_ = [ReadChunk(c, facts_of(full.corpus, c)) for c in split(failing, 8)]
    await full.begin_documents([failing], 8)
    await full.write_chunks([replace(first, facts=(), error="no reply"), second])
    await full.settle()
    early = await exported(connection, full.corpus)
    await full.write_chunks([first])
    await full.settle()
    late, after = await exported(connection, full.corpus), graph(connection, full.corpus)
    kept = await imported(connection, full.corpus, early)
    assert graph(connection, full.corpus) == after
    await delete_all(connection, full.corpus)
    await imported(connection, full.corpus, early)
    assert graph(connection, full.corpus) != after
    taken = await imported(connection, full.corpus, late)

    assert graph(connection, full.corpus) == after
    assert (kept.documents, kept.unchanged) == (0, len(TEXTS) + 1)
    assert (taken.documents, taken.unchanged, taken.incomplete) == (1, len(TEXTS), 1)


# Another cut of an incomplete document, or an edit of it that was under way, is replaced by chunks
# of the file that are in order; other chunks leave it as it is. There are never two texts.
@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("is_edit", [True, False])
async def test_another_cut(
    connection: Connection, full: GraphWriter, in_order: bool, is_edit: bool
) -> None:
    failing = text_document(full.corpus, "failing", "One line of it, and so on.\n\n" * 3)
    first, *others = [ReadChunk(c, facts_of(full.corpus, c)) for c in split(failing, 8)]
    await full.begin_documents([failing], 8)
    await full.write_chunks([replace(first, facts=(), error="no reply"), *others])
    version = DocumentVersion.of(failing.id, failing.sha256, 8, 1 + len(others))
    await full.chain([version] if in_order else [])
    await full.settle()
    data, theirs = await exported(connection, full.corpus), graph(connection, full.corpus)
    await Deleter(connection, full.corpus).delete([failing.id])
    old = replace(first.chunk, id=identity(failing.id, "Old.", "0"), text="Old.", end=4)
    await full.begin_documents([failing], 8 if is_edit else 12)
    await full.write_chunks([ReadChunk(old, error="no reply")])
    if is_edit:
        await full.chain([DocumentVersion(failing.id, f"{'0' * 64}/8", 1)])
        await full.write_chunks([replace(others[0], pending=True)])
    await full.settle()
    ours = graph(connection, full.corpus)
    report = await imported(connection, full.corpus, data)

    assert graph(connection, full.corpus) == (theirs if in_order else ours)
    assert report.documents == in_order


class Changing(Connection):
    """A connection that changes a document after its chunks are read."""

    def __init__(self, connection: Connection, change: Callable[[], Awaitable[Any]]) -> None:
        super().__init__(connection._driver, connection.address, connection.version)
        self._change = change

    async def read(self, name: str, /, **values: Any) -> list[Row]:
        rows = await super().read(name, **values)
        if name == "read/chunks_in_full":
            await self._change()
        return rows


# A document that changes while it is read is left out, and the report says so.
async def test_changes_meanwhile(connection: Connection, full: GraphWriter) -> None:
    document = text_document(full.corpus, "odd", TEXTS["odd"])

    async def change() -> None:
        await full.begin_documents([replace(document, sha256="0" * 64)], LIMIT)

    out = io.BytesIO()
    report = await export_corpus(Changing(connection, change), full.corpus, out)

    titles = {line["document"]["title"] for line in parsed(out.getvalue()) if "document" in line}
    assert titles == TEXTS.keys() - {"odd"}
    assert report.documents == len(titles)
    assert [sentence.split()[0] for sentence in report.refused] == ["odd"]
