"""`graphreader export` and `import`, as a person or a script gives them."""

import io
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from tests.runs.digest import content
from tests.terminal import Terminal, environment_of

LIVES = {
    "vera": "# Vera Holm\n\nVera Holm was born in Bergen in 1901. She taught painting in Oslo.\n",
    "emil": "Emil Rask studied painting with Vera Holm. He founded a school in Malmö in 1933.\n",
    "贞德": "贞德生于栋雷米村。1431年，贞德在鲁昂被处死。\n",
}

pytestmark = pytest.mark.usefixtures("cleaned")


@pytest.fixture
def terminal(terminal: Terminal, neo4j: Settings) -> Terminal:
    """A folder with three short lives in it, and the server's variables."""
    (terminal.folder / "lives").mkdir()
    for title, text in LIVES.items():
        (terminal.folder / "lives" / f"{title}.txt").write_text(text, encoding="utf-8")
    terminal.set(**environment_of(neo4j), COLUMNS="100")
    return terminal


@pytest.fixture
def other(neo4j: Settings, corpus: str) -> Iterator[str]:
    """The name of another corpus, which is gone afterwards."""
    yield f"{corpus}-other"
    with GraphReader(f"{corpus}-other", settings=neo4j) as reader:
        reader.delete(everything=True)


# Through stdout, stdin, a pipe and a file the lines are equal, and make an equal graph. A document
# with another text is named on stderr, with the exit code of a refusal.
def test_there_and_back(
    terminal: Terminal,
    corpus: str,
    other: str,
    neo4j: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal.run("ingest", "lives", "--corpus", corpus)
    before = content(neo4j, corpus)
    piped = terminal.run("export", "-", "--corpus", corpus)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(piped.out.encode())))
    copied = terminal.run("import", "-", "--corpus", other)
    os.mkfifo(terminal.folder / "pipe")
    with ThreadPoolExecutor() as threads:
        received = threads.submit((terminal.folder / "pipe").read_text, encoding="utf-8")
        assert terminal.run("export", "pipe", "--corpus", corpus).code == 0
        assert received.result(timeout=10) == piped.out
    terminal.run("export", "lives.jsonl", "--corpus", corpus)
    terminal.run("delete", "--all", "--corpus", corpus, "--yes")
    terminal.run("import", "lives.jsonl")

    assert (terminal.folder / "lives.jsonl").read_text(encoding="utf-8") == piped.out
    assert content(neo4j, corpus) == before
    assert piped.err.startswith(f"{corpus}: 3 documents")
    assert copied.out.startswith(f"{other}: 3 documents")
    assert len(content(neo4j, other)) == len(before)
    (terminal.folder / "lives" / "vera.txt").write_text("Vera Holm died in 1988.\n")
    terminal.run("ingest", "lives", "--corpus", corpus)
    refused = terminal.run("import", "lives.jsonl")
    assert refused.code == 2
    assert "imported; 2 documents in the graph already." in refused.out
    assert "graphreader delete " in refused.err


# An export that fails leaves the file that was there as it was, and no other one next to it.
def test_failing_export(terminal: Terminal, corpus: str) -> None:
    file = terminal.folder / "kept.jsonl"
    file.write_text("as it was")
    files = set(terminal.folder.iterdir())

    assert "There is no corpus" in terminal.run("export", "kept.jsonl", "--corpus", corpus).err
    assert file.read_text() == "as it was"
    assert set(terminal.folder.iterdir()) == files
