import shutil
from pathlib import Path

import pytest

from examples import ask_your_files
from graphreader import GraphReader, Settings
from tests.project.markdown import ROOT


# The example program reads a folder, answers, cites, and says which question it could not answer.
def test_ask_your_files(
    neo4j: Settings,
    corpus: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert neo4j.neo4j_uri
    assert neo4j.neo4j_password
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NEO4J_URI", neo4j.neo4j_uri)
    monkeypatch.setenv("NEO4J_PASSWORD", neo4j.neo4j_password.get_secret_value())
    monkeypatch.setenv("GRAPHREADER_INITIAL_NODES", "2")  # the same steps in less time
    shutil.copy(ROOT / "examples" / "joan_of_arc.txt", tmp_path)
    questions = ["Which pope canonized Joan of Arc?", "What is the weather in Spain?"]
    code = ask_your_files.main([str(tmp_path), *questions, "--corpus", corpus])
    said = capsys.readouterr()
    with GraphReader(corpus) as reader:
        reader.delete(everything=True)

    assert code == 1
    assert "Benedict XV" in said.out
    assert "[joan_of_arc, chunk " in said.out
    assert "The texts do not tell." in said.out
    assert "read: " in said.err


# A folder that there is not is a sentence, not a traceback.
def test_ask_your_files_in_words(
    neo4j: Settings,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GRAPHREADER_WINDOW", "nonsense")
    code = ask_your_files.main([str(tmp_path), "Why?"])

    assert code == 2
    assert "GRAPHREADER_WINDOW" in capsys.readouterr().err
