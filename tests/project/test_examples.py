import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from examples import ask_your_files, demo
from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from tests.project.markdown import ROOT
from tests.terminal import SilentService, environment_of, wait_for


# The example program reads a file or a folder, answers, cites, and says what it could not answer.
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
    file, folder = tmp_path / "joan_of_arc.txt", tmp_path
    first = ask_your_files.main([str(file), questions[0], "--corpus", corpus])
    before = capsys.readouterr()
    code = ask_your_files.main([str(folder), *questions, "--corpus", corpus])
    said = capsys.readouterr()
    with GraphReader(corpus) as reader:
        reader.delete(everything=True)

    assert (first, code) == (0, 3)
    assert "read: " in before.err
    assert "Benedict XV" in before.out
    assert "Benedict XV" in said.out
    assert "[joan_of_arc, chunk " in said.out
    assert "The texts do not tell." in said.out
    assert "unchanged: " in said.err


# The question of the README is answered by the texts that are there to try it with.
def test_the_texts_to_try_it_with(
    neo4j: Settings,
    corpus: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in environment_of(neo4j).items():
        monkeypatch.setenv(name, value)
    question = "Who taught the founder of the school?"
    code = ask_your_files.main([str(ROOT / "examples" / "mybooks"), question, "--corpus", corpus])
    said = capsys.readouterr().out
    with GraphReader(corpus) as reader:
        reader.delete(everything=True)

    assert code == 0
    assert "[school, chunk 0] Emil Rask studied painting with Vera Holm" in said
    assert question in (ROOT / "README.md").read_text(encoding="utf-8")


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


# The demo says what is wrong with a setting as well.
def test_demo_in_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAPHREADER_WINDOW", "nonsense")
    code = demo.main()
    said = capsys.readouterr()

    assert (code, said.out) == (2, "")
    assert "GRAPHREADER_WINDOW" in said.err
    assert said.err.count("\n") == 1


# Ctrl-C in the demo reaches its command too, whose last word is the last one.
@pytest.mark.skipif(sys.platform == "win32", reason="process groups are POSIX's")
def test_demo_interrupted(tmp_path: Path) -> None:
    with SilentService() as silent:
        environment = {"NEO4J_URI": f"bolt://127.0.0.1:{silent.port}", "NEO4J_PASSWORD": "words"}
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "examples" / "demo.py")],
            env={**os.environ, **environment},
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        )
        wait_for(lambda: silent.asked_at is not None)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=30)

    assert process.returncode == 130
    assert out.count("$ graphreader") == 1
    assert err == "Stopped. The chunks read so far are kept: the same command continues.\n"
