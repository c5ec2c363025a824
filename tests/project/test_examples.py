"""The programs of `examples/` that no page runs."""

import inspect
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from examples import mcp_client, retriever, subgraph, tool
from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from tests.project.markdown import ROOT, part_of_joan
from tests.runs.world import at_home
from tests.terminal import SilentService, wait_for

pytestmark = pytest.mark.slow

TEACHER = "Who taught the founder of the school?"


# The programs of the page "In your code" print what they find: passages, an answer with its quotes,
# the steps of a graph with those of the paths inside, and what a client of the MCP server gets.
async def test_in_your_code(
    neo4j: Settings,
    corpus: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    at_home(neo4j, monkeypatch, tmp_path)
    file = part_of_joan(tmp_path)
    printed = []
    for program in (retriever, tool, subgraph, mcp_client):
        monkeypatch.setattr(program, "TEXT", file)
        done = program.main(corpus)
        if inspect.isawaitable(done):
            await done
        printed.append(capsys.readouterr().out.splitlines())
    with GraphReader(corpus) as reader:
        reader.delete(everything=True)
    passages, answer, steps, (tools, last) = printed

    assert len([one for one in passages if one.startswith(("chunk of", "atomic_fact of"))]) == 4
    assert "chunk of joan_of_arc, chunk 0" in passages[0]
    assert any("[1] joan_of_arc" in line for line in answer)
    assert steps[:2] == ["   rational_plan", "   initial_nodes"]
    assert steps.count("   path") == steps.count("     end_path") > 0
    assert steps[-3:-1] == [" read", " entitle"]
    assert "BENEDICT XV" in steps[-1]
    assert tools.startswith("tools: ask search_key_elements")
    assert "Benedict XV" in last


# Ctrl-C in the demo reaches its command too, whose message is the last one.
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
