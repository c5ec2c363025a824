"""Things that are named to be read and are no text."""

import os
from pathlib import Path
from typing import Any

import pytest

from graphreader.errors import UsageError
from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from tests.terminal import Terminal

EMPTY = "A path is empty: name a file or a folder, or leave it out."


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a text in it that nobody named."""
    (tmp_path / "secret.txt").write_text("Alpha met Beta.")
    monkeypatch.chdir(tmp_path)
    return tmp_path


# An empty path is not the working folder, and what is no path at all is refused as well.
@pytest.mark.parametrize(
    ("things", "message"),
    [
        (["secret.txt", ""], EMPTY),
        ([" \t"], EMPTY),
        ([5], "5 is neither a path nor a document: give each by itself."),
        ([b"secret.txt"], "b'secret.txt' is neither a path nor a document: give each by itself."),
    ],
)
def test_no_texts(folder: Path, things: list[Any], message: str) -> None:
    with GraphReader(settings=Settings(home=folder, model="offline")) as reader:
        for call in (reader.ingest, reader.estimate):
            with pytest.raises(UsageError) as refused:
                call(*things)
            assert str(refused.value) == message
        assert reader.estimate(os.curdir, known=False).documents == 1


# The command refuses an empty path, which a shell makes of a variable that is not set.
def test_the_command(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = Terminal(monkeypatch, capsys, folder)
    terminal.set(GRAPHREADER_HOME=str(folder), GRAPHREADER_MODEL="offline")
    outcome = terminal.run("ingest", "", "--dry-run")

    assert (outcome.code, outcome.err) == (2, f"{EMPTY}\n")
