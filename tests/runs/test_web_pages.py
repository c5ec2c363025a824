"""Web pages in a corpus: read once, found unchanged, changed, never read by a server."""

import pytest

from graphreader.graph_reader import GraphReader
from graphreader.ingestion.report import NothingReadError
from graphreader.settings import Settings
from tests.terminal import Terminal, environment_of
from tests.unit.test_loading_web import Answer, page, site

pytestmark = pytest.mark.usefixtures("cleaned")


# An unchanged page costs nothing, though its time of retrieval differs; a changed one is updated.
def test_page_again(neo4j: Settings, corpus: str, terminal: Terminal) -> None:
    terminal.set(**environment_of(neo4j))
    answers: dict[str, Answer] = {"/mill": page(b"<title>The mill</title><p>The mill burned.")}
    with site(answers) as one:
        command = ("ingest", f"{one.url}/mill", "--allow-private", "--corpus", corpus, "--json")
        first, second = terminal.run(*command), terminal.run(*command)
        answers["/mill"] = page(b"<title>The mill</title><p>Nils rebuilt the mill.")
        third = terminal.run(*command)
        dry = terminal.run(*command, "--dry-run")
        refused = terminal.run("ingest", f"{one.url}/mill", "--corpus", corpus)
        with GraphReader(corpus, settings=neo4j) as reader:
            [document] = reader.documents()
            estimate = reader.estimate(f"{one.url}/mill", allow_private=True)
            with pytest.raises(NothingReadError, match="private network"):
                reader.ingest(f"{one.url}/mill")
            source = f"{one.url}/mill"
            reader.delete(source)

    statuses = [run.json["documents"][0]["status"] for run in (first, second, third)]
    assert statuses == ["read", "unchanged", "read"]
    assert [run.code for run in (first, second, third, dry)] == [0, 0, 0, 0]
    assert (document.title, document.source) == ("The mill", source)
    assert dry.json["missing"] == estimate.missing == 0
    assert (refused.code, refused.out) == (2, f"{corpus}: 0 read (0 chunks, 0 facts), 1 refused. "
                                              "Decider: offline, no language model.\n")  # fmt: skip
    assert "--allow-private" in refused.err


# A misspelled address is a sentence, not a traceback, and nothing else of the call is lost.
def test_address_beside_files(neo4j: Settings, corpus: str, terminal: Terminal) -> None:
    terminal.set(**environment_of(neo4j))
    (terminal.folder / "a.md").write_text("Joan was born in Lorraine.")

    outcome = terminal.run("ingest", "a.md", "https://nowhere.invalid/x", "--corpus", corpus)

    assert outcome.code == 2
    assert "1 read" in outcome.out
    assert "There is no host nowhere.invalid" in outcome.err
