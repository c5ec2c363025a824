"""`graphreader export` and `import`, as a person or a script gives them."""

import io
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from langchain_core.documents import Document

from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from tests.runs.digest import content
from tests.terminal import Terminal, environment_of

LIVES = {
    "vera": "Vera Holm was born in Bergen in 1901. She taught painting in Oslo.\n",
    "贞德": "贞德生于栋雷米村。1431年，贞德在鲁昂被处死。\n",
}

pytestmark = pytest.mark.usefixtures("cleaned")


@pytest.fixture
def other(neo4j: Settings, corpus: str) -> Iterator[GraphReader]:
    """A reader of another corpus, which is gone afterwards."""
    with GraphReader(f"{corpus}-other", settings=neo4j) as reader:
        yield reader
        reader.delete(everything=True)


# Through stdout and a pipe the lines are equal, and through stdin they make an equal graph; an
# export into a file is imported in test_fixed_points. A document with another text is named on
# stderr, with the exit code of a refusal.
def test_there_and_back(
    terminal: Terminal,
    corpus: str,
    other: GraphReader,
    neo4j: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal.set(**environment_of(neo4j), COLUMNS="100")
    lives = [Document(text, id=title) for title, text in LIVES.items()]
    other.at(corpus).ingest(*lives)
    piped = terminal.run("export", "-", "--corpus", corpus)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(piped.out.encode())))
    copied = terminal.run("import", "-", "--corpus", other.corpus)
    os.mkfifo(terminal.folder / "pipe")
    with ThreadPoolExecutor() as threads:
        received = threads.submit((terminal.folder / "pipe").read_text, encoding="utf-8")
        assert terminal.run("export", "pipe", "--corpus", corpus).code == 0
        assert received.result(timeout=10) == piped.out
    (terminal.folder / "lives.jsonl").write_text(piped.out, encoding="utf-8")

    assert piped.err.startswith(f"{corpus}: 2 documents")
    assert copied.out.startswith(f"{other.corpus}: 2 documents")
    assert len(content(neo4j, other.corpus)) == len(content(neo4j, corpus)) > 10
    other.ingest(Document("Vera Holm died in 1988.\n", id="vera"))
    refused = terminal.run("import", "lives.jsonl", "--corpus", other.corpus)
    assert refused.code == 2
    assert "imported; 1 document in the graph already." in refused.out
    assert "graphreader delete " in refused.err


# An export that fails leaves the file that was there as it was, and no other one next to it.
def test_failing_export(terminal: Terminal, corpus: str, neo4j: Settings) -> None:
    terminal.set(**environment_of(neo4j), COLUMNS="100")
    file = terminal.folder / "kept.jsonl"
    file.write_text("as it was")
    files = set(terminal.folder.iterdir())

    assert "There is no corpus" in terminal.run("export", "kept.jsonl", "--corpus", corpus).err
    assert file.read_text() == "as it was"
    assert set(terminal.folder.iterdir()) == files
