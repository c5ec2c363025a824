"""What is named to be read in and is no text at all."""

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


# An empty path is no path, and not the working folder; what is no path at all is told as well.
@pytest.mark.parametrize(
    ("things", "told"),
    [
        ([""], EMPTY),
        ([" \t"], EMPTY),
        (["secret.txt", ""], EMPTY),
        ([5], "5 is neither a path nor a document: give one of them."),
        ([None], "None is neither a path nor a document: give one of them."),
        ([b"secret.txt"], "b'secret.txt' is neither a path nor a document: give one of them."),
    ],
)
def test_no_texts(folder: Path, things: list[Any], told: str) -> None:
    with GraphReader(settings=Settings(home=folder, model="offline")) as reader:
        for call in (reader.ingest, reader.estimate):
            with pytest.raises(UsageError) as refused:
                call(*things)

            assert str(refused.value) == told
        named = reader.estimate(os.curdir, known=False)

    assert named.documents == 1


# The command tells an empty path, as a shell makes one of a variable that is not set.
def test_the_command(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = Terminal(monkeypatch, capsys, folder)
    terminal.set(GRAPHREADER_HOME=str(folder), GRAPHREADER_MODEL="offline")
    outcome = terminal.run("ingest", "", "--dry-run")

    assert outcome.code == 2
    assert outcome.err == f"{EMPTY}\n"
