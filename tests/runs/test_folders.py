"""A corpus in step with folders: `ingest --prune` and `ingest --watch`."""

import json
import shutil
import signal
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from graphreader.errors import UnknownCorpusError, UsageError
from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from tests.runs import mind
from tests.runs.forks import Fork, Forks
from tests.runs.openai_server import OpenAIServer
from tests.terminal import Keyboard, Outcome, Terminal, environment_of, wait_for

pytestmark = pytest.mark.usefixtures("cleaned")


@pytest.fixture
def terminal(terminal: Terminal, neo4j: Settings) -> Terminal:
    """Leads to the server, in a folder with texts."""
    terminal.set(**environment_of(neo4j), COLUMNS="200")
    for name in ("Anna", "Berta", "Clara", "Dora"):
        write(terminal.folder, name)
    return terminal


def write(folder: Path, name: str) -> Path:
    path = folder / "texts" / f"{name}.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{name} was born in Lorraine in 1412.\n", "utf-8")
    return path


def titles(neo4j: Settings, corpus: str) -> list[str]:
    """The titles of the documents of a corpus."""
    with GraphReader(corpus, settings=neo4j) as reader:
        try:
            return [one.title for one in reader.documents()]
        except UnknownCorpusError:
            return []


# Documents whose files are gone are listed and go after a yes; without one, nothing is done.
def test_prune(
    terminal: Terminal, neo4j: Settings, corpus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("ingest", "texts", "--prune", "--corpus", corpus)
    terminal.run("ingest", "-", "--id", "note", "--corpus", corpus)
    first = terminal.run(*command)
    (terminal.folder / "texts/Anna.md").unlink()
    write(terminal.folder, "Emma")

    unasked = terminal.run(*command)
    dry = terminal.run(*command, "--dry-run")
    monkeypatch.setattr(sys, "stdin", Keyboard("n\n"))
    denied = terminal.run(*command)
    assert titles(neo4j, corpus) == ["Anna", "Berta", "Clara", "Dora"]
    monkeypatch.setattr(sys, "stdin", Keyboard("y\n"))
    agreed = terminal.run(*command)
    again = terminal.run(*command, "--yes")

    assert first.code == 0
    assert (unasked.code, unasked.out) == (2, "")
    assert "Without a terminal nobody can be asked: add --yes." in unasked.err
    assert (dry.code, "No file: Anna" in dry.err, "documents" in dry.out) == (0, True, True)
    assert (denied.code, denied.out) == (1, "")
    assert f"No file: Anna  {terminal.folder}/texts/Anna.md" in denied.err
    assert f"Delete 1 document whose file is gone from the corpus '{corpus}'? [y/N]" in denied.err
    assert "Nothing was read or deleted." in denied.err
    assert agreed.code == 0
    assert f"{corpus}: 1 document without a file deleted." in agreed.out
    assert titles(neo4j, corpus) == ["Berta", "Clara", "Dora", "Emma"]
    assert (again.code, "No file" in again.err, "deleted" in again.out) == (0, False, False)


# Nothing goes where a disk may be missing, and other corpora, folders and patterns are untouched.
def test_nothing_pruned(terminal: Terminal, neo4j: Settings, corpus: str) -> None:
    command = ("ingest", "texts", "--prune", "--yes", "--corpus", corpus)
    terminal.run(*command)
    texts, before = terminal.folder / "texts", titles(neo4j, corpus)
    (texts / "Anna.md").unlink()
    narrow = terminal.run(*command, "--include", "B*")
    for name in ("Berta", "Clara"):
        (texts / f"{name}.md").unlink()
    half = terminal.run(*command)
    (texts / "Dora.md").rename(terminal.folder / "Dora.txt")
    empty = terminal.run(*command)
    texts.rmdir()
    missing = terminal.run(*command)
    file = terminal.run("ingest", "Dora.txt", "--prune", "--corpus", corpus)
    with GraphReader(corpus, settings=neo4j) as reader, pytest.raises(UsageError, match="missing"):
        reader.prune(texts)

    assert (narrow.code, "No file" in narrow.err) == (0, False)
    assert [one.code for one in (half, empty, missing, file)] == [2, 2, 2, 2]
    assert "lacks the files of 3 of its 4 documents, more than half" in half.err
    assert "graphreader delete" in half.err
    assert "texts is empty" in empty.err
    assert "no such file or folder" in missing.err
    assert "--prune keeps a corpus in step with folders" in file.err
    assert titles(neo4j, corpus) == before


# In Python a dry run lists, `among` limits, and the documents of JSON Lines go with their file.
def test_prune_in_python(terminal: Terminal, neo4j: Settings, corpus: str) -> None:
    texts = terminal.folder / "texts"
    lines = [json.dumps({"id": id_, "text": f"Note {id_}."}) for id_ in ("n1", "n2")]
    (texts / "notes.jsonl").write_text("\n".join(lines))
    (texts / unicodedata.normalize("NFC", "Zoé.md")).write_text("Zoé was born.")
    with GraphReader(corpus, settings=neo4j) as reader:
        assert reader.prune(texts) == []  # of a corpus that does not exist yet
        reader.ingest(texts)
        (texts / unicodedata.normalize("NFC", "Zoé.md")).rename(
            texts / unicodedata.normalize("NFD", "Zoé.md")
        )
        assert reader.prune(texts) == []
        (texts / "notes.jsonl").unlink()
        listed = reader.prune(f"{texts}/", dry_run=True)
        assert [one.title for one in listed] == ["n1", "n2"]
        assert reader.prune(texts, exclude=["*.jsonl"]) == []
        first = reader.prune(texts, among={listed[1].id})
        second = reader.prune(texts)
        with pytest.raises(UsageError, match="Name the folder"):
            reader.prune()

    assert ([one.title for one in first], [one.title for one in second]) == (["n2"], ["n1"])
    assert len(titles(neo4j, corpus)) == 5


# Watching


@contextmanager
def watching(
    forks: Forks, terminal: Terminal, neo4j: Settings, *options: str, **environment: str
) -> Iterator[Fork]:
    """A watch of the folder of texts, which ends with the block."""
    command = ["ingest", str(terminal.folder / "texts"), "--watch", "--interval", "0.2", *options]
    given = {**environment_of(neo4j), **environment}
    fork = forks.start(command, given, terminal.folder / "watch")
    try:
        yield fork
    finally:
        fork.signal(signal.SIGINT)


def stopped(fork: Fork) -> Outcome:
    """The watch after Ctrl-C."""
    fork.signal(signal.SIGINT)
    return fork.end()


# New, changed and renamed files are read once each, in rounds; nothing is said in between; a file
# that cannot be read ends nothing. Without --prune documents stay.
def test_watch(forks: Forks, terminal: Terminal, neo4j: Settings, corpus: str) -> None:
    (terminal.folder / "texts/bad.pdf").write_bytes(b"%PDF-1.4 damaged")
    with watching(forks, terminal, neo4j, "--corpus", corpus, "--json") as fork:
        wait_for(lambda: len(titles(neo4j, corpus)) == 4)
        write(terminal.folder, "Emma")
        wait_for(lambda: "Emma" in titles(neo4j, corpus))
        (terminal.folder / "texts/Anna.md").rename(terminal.folder / "texts/Frida.md")
        out = terminal.folder / "watch/out.txt"
        wait_for(lambda: out.read_text().count("\n") == 3)
        outcome = stopped(fork)

    rounds = [json.loads(line) for line in outcome.out.splitlines()]
    read = [[(one["title"], one["status"]) for one in each["documents"]] for each in rounds]
    assert read == [
        [*((name, "read") for name in ("Anna", "Berta", "Clara", "Dora")), ("bad", "refused")],
        [("Emma", "read")],
        [("Frida", "read")],
    ]
    assert outcome.code == 130
    assert "Watching " in outcome.err
    assert "1 file is gone: its document stays (--prune deletes such documents)." in outcome.err
    assert "Anna" in titles(neo4j, corpus)


# With --prune documents go with their files, but never when the folder is missing or half gone.
def test_watch_with_prune(forks: Forks, terminal: Terminal, neo4j: Settings, corpus: str) -> None:
    texts = terminal.folder / "texts"
    terminal.run("ingest", "texts", "--corpus", corpus)
    (texts / "Anna.md").unlink()
    with watching(forks, terminal, neo4j, "--corpus", corpus, "--prune", "--yes") as fork:
        wait_for(lambda: titles(neo4j, corpus) == ["Berta", "Clara", "Dora"])
        (texts / "Berta.md").unlink()
        wait_for(lambda: titles(neo4j, corpus) == ["Clara", "Dora"])
        texts.rename(terminal.folder / "away")
        error = terminal.folder / "watch/err.txt"
        wait_for(lambda: "is a disk missing?" in error.read_text())
        shutil.copytree(terminal.folder / "away", texts)
        write(terminal.folder, "Emma")
        wait_for(lambda: "Emma" in titles(neo4j, corpus))
        outcome = stopped(fork)

    assert outcome.code == 130
    assert outcome.err.count("is a disk missing?") == 1
    assert outcome.out.count("1 document without a file deleted.") == 2
    assert titles(neo4j, corpus) == ["Clara", "Dora", "Emma"]


# Where a model reads, the whole watch has one budget, and ends with it.
def test_watch_with_a_model(forks: Forks, terminal: Terminal, neo4j: Settings, corpus: str) -> None:
    with OpenAIServer(mind.think) as server:
        environment = {
            "OPENAI_API_KEY": "sk-none",
            "OPENAI_BASE_URL": server.url,
            "GRAPHREADER_MODEL": "openai:fake",
            "GRAPHREADER_EMBEDDINGS": "offline",
            "GRAPHREADER_NORMALIZE": "none",
        }
        options = "--corpus", corpus
        with watching(forks, terminal, neo4j, *options, **environment) as fork:
            unlimited = fork.end()
        options = (*options, "--max-calls", "6")
        with watching(forks, terminal, neo4j, *options, **environment) as fork:
            wait_for(lambda: len(titles(neo4j, corpus)) == 4 or not fork.runs)
            for name in ("Emma", "Frida", "Gerda"):
                write(terminal.folder, name)
            ended = fork.end()
        calls = len(server.requests)

    assert unlimited.code == 2
    assert "limit the whole watch with --max-calls N or --max-tokens N" in unlimited.err
    assert ended.code == 1
    assert "max_calls is 6" in ended.err
    assert calls == 6


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["texts/Anna.md", "--watch"], "is none, or is missing"),
        (["texts", "--watch", "--again"], "--watch goes without --again"),
        (["texts", "--watch", "--dry-run"], "--watch goes without --again"),
        (["texts", "--interval", "3"], "add --watch"),
        (["texts", "https://example.org", "--watch"], "is none, or is missing"),
        (["--retry-failed", "--prune"], "--retry-failed asks again"),
        (["texts", "--watch", "--prune"], "nobody can be asked: add --yes"),
    ],
)
def test_wrong_options(terminal: Terminal, options: list[str], reason: str) -> None:
    outcome = terminal.run("ingest", *options)

    assert outcome.code == 2
    assert reason in outcome.err
