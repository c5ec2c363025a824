"""A corpus goes out into a file and comes back in as it was."""

import io
import json
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest

from graphreader.documents import AtomicFact, Chunk, ChunkFacts, Document, Heading, Place, identity
from graphreader.errors import EmbeddingMismatchError, UsageError
from graphreader.ingestion import transfer
from graphreader.ingestion.chunking import split
from graphreader.ingestion.export_file import Export, open_export
from graphreader.ingestion.extraction import key_elements
from graphreader.ingestion.loading.content import from_text
from graphreader.ingestion.normalization.normalizer import Normalizer
from graphreader.ingestion.transfer import TransferReport, export_corpus, import_corpus
from graphreader.offline.embedder import embedding_of
from graphreader.settings import STAGES, Settings
from graphreader.store.catalog import Catalog, DocumentStatus
from graphreader.store.connection import Connection
from graphreader.store.explorer import GraphExplorer
from graphreader.store.writer import Deleter, DocumentVersion, GraphWriter
from tests.neo4j.conftest import DIMENSION
from tests.runs.digest import content
from tests.servers import both_versions

LIMIT = 12
REFRAIN = "And nobody knew why it was.\n\n"
TEXTS = {
    "lives": "# Vera\n\nVera Holm was born in Bergen.\n\n" + REFRAIN * 3 + "VERA HOLM taught.\n",
    "贞德": "贞德生于栋雷米村。\n\n1431年，贞德在鲁昂被处死。\n",
    "odd": 'A "quote",\\ a tab\t, \u2028, 🧑🏽‍🚀 and שלום.\n\n' + REFRAIN + "The End of Bergen",
    "alike": "USA is large.\n\nThe US winter.\n\nA Café.\n\nThe Cafe.\n",
}

Lines = list[dict[str, Any]]


def text_document(corpus: str, title: str, text: str) -> Document:
    """A document with everything that a loader may find."""
    return replace(
        from_text(text, title, corpus, f"/texts/{title}.md"),
        metadata={"tags": ["a", "ü"], "nothing": None, "year": 1901, "deep": {"x": 0.1}},
        places=Place.pages((0, 10)),
        headings=(Heading(0, "Vera"), Heading(9, "第二章", 9)),
    )


def read(corpus: str, chunk: Chunk) -> ChunkFacts[Chunk]:
    """A chunk with a fact a line, of which the first words are key elements."""
    lines = dict.fromkeys(" ".join(line.split()) for line in chunk.text.splitlines())
    words = {line: line.split(" ") for line in lines if key_elements(corpus, line.split(" "))}
    facts = (
        AtomicFact(identity(chunk.id, line), chunk, n, line, key_elements(corpus, some[:4]))
        for n, (line, some) in enumerate(words.items())
    )
    return ChunkFacts(replace(chunk, summary=chunk.text.strip()[:9]), tuple(facts))


async def fill(writer: GraphWriter, texts: dict[str, str], *, first_fails: bool = False) -> None:
    """Write texts and normalize as the ingestion does."""
    await writer.begin_corpus(
        decider="test", prompts="1", embedding="test-embedding", dimension=DIMENSION
    )
    for title, text in texts.items():
        document = text_document(writer.corpus, title, text)
        chunks = [read(writer.corpus, chunk) for chunk in split(document, LIMIT)]
        if first_fails:
            chunks[0] = ChunkFacts(replace(chunks[0].chunk, error="no reply"))
        await writer.write_chunks(chunks, [document], LIMIT)
        version = DocumentVersion.of(document.id, document.sha256, LIMIT, len(chunks))
        await writer.write_chunks([], whole=[version])
        vectors = {one.id: embedding_of(one.key) for one in await writer.unembedded()}
        await writer.write_embeddings(vectors.items(), fresh=vectors)
        passages = await writer.unembedded_passages([document.id])
        await writer.write_passage_embeddings((one.id, embedding_of(one.text)) for one in passages)
        assert bool(await writer.complete([version])) != first_fails
    await Normalizer(writer.connection, writer.corpus, STAGES).run()


async def exported(connection: Connection, corpus: str) -> bytes:
    """The whole file."""
    out = io.BytesIO()
    await export_corpus(connection, corpus, out)
    return out.getvalue()


class Pipe(io.BytesIO):
    """A stream that can be read once."""

    def seekable(self) -> bool:
        return False

    def seek(self, *_: Any) -> int:
        raise OSError("Illegal seek")


async def imported(connection: Connection, corpus: str, data: bytes) -> TransferReport:
    return await import_corpus(connection, corpus, Export(io.BytesIO(data)), STAGES)


async def delete_all(connection: Connection, corpus: str) -> None:
    deleter = Deleter(connection, corpus)
    rows = (await connection.read("read/documents", corpus=corpus))[0]["documents"]
    await deleter.delete([row["id"] for row in rows])
    await deleter.delete_corpus()


def graph(connection: Connection, corpus: str) -> list[str]:
    """Everything that belongs to the corpus, a line each; similarities to four digits."""
    address = connection.address
    settings = Settings.read(
        neo4j_uri=address.uri, neo4j_username=address.username, neo4j_password=address.password
    )
    lines = content(settings, corpus)
    return [re.sub(r'(?<="score": )[\d.]+', lambda m: f"{float(m[0]):.4f}", one) for one in lines]


async def statuses(connection: Connection, corpus: str) -> dict[str, str]:
    return {one.title: one.status for one in await Catalog(connection).documents(corpus)}


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
    """A corpus of four texts."""
    writer = GraphWriter(connection, corpus)
    await fill(writer, TEXTS)
    yield writer
    await delete_all(connection, corpus)


# What was exported, deleted and imported is the same graph with the merges of normalization; a copy
# under another name has the same lines.
@both_versions
async def test_there_and_back(connection: Connection, full: GraphWriter, other: str) -> None:
    before = graph(connection, full.corpus)
    data = await exported(connection, full.corpus)
    await imported(connection, other, data)
    await delete_all(connection, full.corpus)
    assert graph(connection, full.corpus) == []
    report = await imported(connection, full.corpus, data)

    assert any(":LIKE" in line for line in before)
    assert graph(connection, full.corpus) == before
    assert len(graph(connection, other)) == len(before) > 100
    stats = await Catalog(connection).stats(full.corpus)
    assert stats.merged > 0
    assert (report.documents, report.chunks, report.facts) == (
        (stats.documents, stats.chunks, stats.facts)
    )
    assert (report.incomplete, report.unchanged, report.refused) == (0, 0, [])
    copy = parsed(await exported(connection, other))
    assert copy[0] == parsed(data)[0] | {"corpus": other}
    assert sorted(map(str, copy[1:])) == sorted(map(str, parsed(data)[1:]))


# An export holds nothing of other corpora; pages of any size give the same file, and nothing is
# changed by it.
async def test_export_of_one_corpus(
    connection: Connection, full: GraphWriter, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(GraphWriter(connection, other), {"secret": "Nobody shall read this.\n"})
    before = graph(connection, full.corpus) + graph(connection, other)
    data = await exported(connection, full.corpus)
    monkeypatch.setattr(transfer, "CHUNKS_IN_MEMORY", 3)
    monkeypatch.setattr(transfer, "ROWS_PER_PAGE", 1)
    monkeypatch.setattr(transfer, "KEY_ELEMENTS_PER_PAGE", 1)

    assert await exported(connection, full.corpus) == data
    assert graph(connection, full.corpus) + graph(connection, other) == before
    assert b"Nobody shall" not in data
    documents = [line["document"] for line in parsed(data) if "document" in line]
    texts = {one["title"]: "".join(chunk["text"] for chunk in one["chunks"]) for one in documents}
    assert texts == TEXTS


# An import adds to what a corpus has, as if all texts were read into it. A document with another
# text is refused with the command that deletes it, and the others are imported.
async def test_importing_into_a_corpus(connection: Connection, full: GraphWriter) -> None:
    data = await exported(connection, full.corpus)
    before = graph(connection, full.corpus)
    await delete_all(connection, full.corpus)
    await fill(full, {"odd": TEXTS["odd"], "lives": "Somebody else was born.\n"})
    known = {one.title: one.id for one in await Catalog(connection).documents(full.corpus)}
    report = await imported(connection, full.corpus, data)

    assert (report.documents, report.unchanged) == (2, 1)
    (sentence,) = report.refused
    assert f"graphreader delete {known['lives']} --corpus {full.corpus}" in sentence
    await Deleter(connection, full.corpus).delete([known["lives"]])
    await imported(connection, full.corpus, data)
    assert graph(connection, full.corpus) == before


# A new corpus has a name that is one part of an address; an existing one is read and grows.
@pytest.mark.parametrize("name", ["a/b", "a\\b", ".", ".."])
async def test_names_of_new_corpora(connection: Connection, full: GraphWriter, name: str) -> None:
    data = await exported(connection, full.corpus)
    with pytest.raises(UsageError, match="A new corpus cannot be named"):
        await imported(connection, name, data)
    assert graph(connection, name) == []

    writer = GraphWriter(connection, name)
    await fill(writer, {"odd": TEXTS["odd"]})
    report = await imported(connection, name, data)
    assert report.unchanged == 1
    await delete_all(connection, name)


# A corpus of other embeddings takes nothing, and stays as it is; a database has any lengths.
async def test_other_embeddings_are_refused(connection: Connection, full: GraphWriter) -> None:
    lines = parsed(await exported(connection, full.corpus))
    before = graph(connection, full.corpus)
    lines[0]["embedding"] = "another"
    with pytest.raises(EmbeddingMismatchError, match=r"test-embedding.*another.*--corpus"):
        await imported(connection, full.corpus, unparsed(lines))

    assert graph(connection, full.corpus) == before


def first_chunk(lines: Lines) -> dict[str, Any]:
    return lines[1]["document"]["chunks"][0]


def key_element(lines: Lines) -> dict[str, Any]:
    return lines[-2]["key_element"]


# Zeros, numbers beyond a float of 32 bits, of which squares are none, and another length.
VECTORS = [[number, *[0.0] * (DIMENSION - 1)] for number in (0.0, 1e308, 1e-300)] + [[1.0]]


# What is wrong with an export, and the line that is named; negative ones count from the end.
WRONG: list[tuple[Callable[[Lines], Any], int]] = [
    (lambda lines: first_chunk(lines).pop("text"), 2),
    (lambda lines: first_chunk(lines).update(tokens="many"), 2),
    (lambda lines: first_chunk(lines).update(text="X" + first_chunk(lines)["text"][1:]), 2),
    (lambda lines: first_chunk(lines).update(tokens=2**63), 2),
    (lambda lines: first_chunk(lines).update(index=7), 2),
    (lambda lines: first_chunk(lines)["facts"][0].update(start=5, end=2), 2),
    (lambda lines: first_chunk(lines)["facts"][0].update(start=5, end=9_999), 2),
    (lambda lines: first_chunk(lines)["facts"][0].update(start=None, end=2), 2),
    (lambda lines: first_chunk(lines)["facts"].append(first_chunk(lines)["facts"][0]), 2),
    (lambda lines: lines.__setitem__(2, {"picture": {}}), 3),
    (lambda lines: lines.pop(-2), -1),
    (lambda lines: lines.insert(2, lines[1]), 3),
    (lambda lines: lines[1]["document"].update(title="x" * 55_000), 2),
    (lambda lines: first_chunk(lines)["passages"][0].update(embedding="AAAA"), 2),
    *((lambda lines, one=one: key_element(lines).update(embedding=one), -2) for one in VECTORS),
]


# Cut off or wrong anywhere, a file is refused with the number of the line, and nothing is written,
# not even an empty corpus; the whole file afterwards gives the whole graph.
async def test_wrong_files(connection: Connection, full: GraphWriter) -> None:
    data = await exported(connection, full.corpus)
    before = graph(connection, full.corpus)
    await delete_all(connection, full.corpus)
    whole = data.splitlines(keepends=True)
    files = [(b"".join(whole[:end]), f"cut off at line {end}:") for end in (1, 3, len(whole) - 1)]
    others = (b"", b'{"title": "x", "text": "y"}\n', b'{"graphreader": 3}\n')
    files += [(one, "not an exported corpus of format 2") for one in others]
    files.append((b"".join(whole[:2]) + whole[2][:-2], "cut off at line 3:"))
    files.append((whole[0] + b"[" * 10_000 + b"\n", r"^Line 2 of the export is wrong \(Invalid"))
    files.append(
        (whole[0] + b'{"x": [' + b"{}," * 12_000_000 + b"1]}\n", r"wrong \(it has too many values")
    )
    for spoil, place in WRONG:
        lines = parsed(data)
        spoil(lines)
        number = place if place > 0 else len(lines) + 1 + place
        files.append((unparsed(lines), f"^Line {number} of the export is wrong"))
    for file, sentence in files:
        with pytest.raises(UsageError, match=sentence):
            await imported(connection, full.corpus, file)
        assert full.corpus not in [one.corpus for one in await Catalog(connection).corpora()]
    with open_export(Pipe(data)) as export:
        await import_corpus(connection, full.corpus, export, STAGES)

    assert graph(connection, full.corpus) == before


# A file that is changed after it was checked is checked again as it is read in.
async def test_a_file_that_changes(connection: Connection, full: GraphWriter) -> None:
    data = await exported(connection, full.corpus)
    lines = parsed(data)
    key_element(lines).update(embedding=VECTORS[0])
    file = io.BytesIO(data)
    export = Export(file)
    export.check()
    file.seek(0)
    file.write(unparsed(lines))

    with pytest.raises(UsageError, match="is wrong"):
        list(export.items())


# An export of an older version, without summaries, is imported; its outlines have the first facts.
async def test_older_exports(connection: Connection, full: GraphWriter, other: str) -> None:
    lines = parsed(await exported(connection, full.corpus))
    chunks = [one for line in lines for one in line.get("document", {}).get("chunks", [])]
    summaries = [one.pop("summary") for one in chunks if "summary" in one]
    await imported(connection, other, unparsed(lines))
    (document,) = [d.id for d in await Catalog(connection).documents(other) if d.title == "贞德"]
    outline = await GraphExplorer(connection, other).outline(document)

    assert summaries
    assert "".join(one.summary for one in outline) == "贞德生于栋雷米村。1431年，贞德在鲁昂被处死。"


# A chunk without facts comes back with its error; facts that the corpus has of it stay. A document
# with an edit under way is left out.
async def test_incomplete_documents(connection: Connection, full: GraphWriter) -> None:
    await fill(full, {"failing": TEXTS["lives"]}, first_fails=True)
    before = graph(connection, full.corpus)
    data = await exported(connection, full.corpus)
    await delete_all(connection, full.corpus)
    report = await imported(connection, full.corpus, data)
    assert graph(connection, full.corpus) == before
    assert (report.incomplete, (await statuses(connection, full.corpus))["failing"]) == (
        (1, "incomplete")
    )
    document = text_document(full.corpus, "failing", TEXTS["lives"])
    first = read(full.corpus, split(document, LIMIT)[0])
    await full.write_chunks([first])
    further = await imported(connection, full.corpus, data)
    assert (further.documents, further.incomplete) == (1, 0)
    edited = text_document(full.corpus, "odd", "New.")
    await full.write_chunks([], [edited], LIMIT)
    new = read(full.corpus, split(edited, LIMIT)[0])
    await full.write_chunks([new], pending=[edited.id])
    left_out = await export_corpus(connection, full.corpus, io.BytesIO())

    assert left_out.documents == len(TEXTS)
    assert [one.split()[0] for one in left_out.refused] == ["odd"]


# A document that was begun with chunks of another size becomes the one of the file.
async def test_another_cut(connection: Connection, full: GraphWriter) -> None:
    data, before = await exported(connection, full.corpus), graph(connection, full.corpus)
    document = text_document(full.corpus, "lives", TEXTS["lives"])
    await Deleter(connection, full.corpus).delete([document.id])
    chunks = [read(full.corpus, chunk) for chunk in split(document, 8)]
    await full.write_chunks(chunks[1:], [document], 8)
    report = await imported(connection, full.corpus, data)

    assert graph(connection, full.corpus) == before
    assert (report.documents, report.unchanged) == (1, len(TEXTS) - 1)


# Chunks of another size stay where the file has fewer that were read.
async def test_another_cut_that_is_further(connection: Connection, full: GraphWriter) -> None:
    lines = parsed(await exported(connection, full.corpus))
    document = text_document(full.corpus, "lives", TEXTS["lives"])
    for line in lines:
        if line.get("document", {}).get("title") == "lives":
            for chunk in line["document"]["chunks"]:
                chunk |= {"error": "no reply", "facts": []}
    await Deleter(connection, full.corpus).delete([document.id])
    chunks = [read(full.corpus, chunk) for chunk in split(document, 8)]
    await full.write_chunks(chunks[1:], [document], 8)
    report = await imported(connection, full.corpus, unparsed(lines))

    state = (await DocumentStatus(connection, full.corpus).of([document.id]))[document.id]
    assert (state.chunk_tokens, state.read_chunks) == (8, len(chunks) - 1)
    assert (report.documents, report.unchanged) == (0, len(TEXTS))
