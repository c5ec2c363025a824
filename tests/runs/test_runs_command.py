"""`graphreader runs ...`, on runs that were broken off or are over."""

import json
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from graphreader.agent.events import FunctionChosen
from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from tests.runs import world
from tests.runs.forks import Forks
from tests.terminal import Outcome, environment_of

QUESTION = "Who taught Ada?"
TEXT = ["Ada learned numbers from Bea.", "Bea was the teacher of Ada.", "Cy met Ada once."]


@pytest.fixture(scope="module")
def corpus(neo4j: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A small corpus that was read offline; asking never changes it."""
    texts = world.write_files(tmp_path_factory.mktemp("texts"), {"ada": TEXT})
    name = f"test-runs-{uuid4().hex[:12]}"
    with GraphReader(name, settings=world.settings(neo4j)) as reader:
        reader.ingest(texts)
        yield name
        reader.delete(everything=True)


class Shell:
    """Types commands; `nowhere` lets them find no Neo4j."""

    def __init__(self, forks: Forks, settings: Settings, folder: Path) -> None:
        self.settings = settings.model_copy(update={"home": folder / "home"})
        self._forks = forks
        self._folder = folder
        self._number = 0

    def __call__(self, *arguments: str, nowhere: bool = False) -> Outcome:
        environment = environment_of(self.settings) | {
            "GRAPHREADER_HOME": str(self.settings.home),
            "GRAPHREADER_MODEL": "offline",
        }
        if nowhere:
            environment["NEO4J_URI"] = "bolt://127.0.0.1:1"
        self._number += 1
        fork = self._forks.start([*arguments], environment, self._folder / str(self._number))
        return fork.end()


@pytest.fixture
def shell(forks: Forks, neo4j: Settings, tmp_path: Path) -> Shell:
    return Shell(forks, neo4j, tmp_path)


def broken_off(shell: Shell, corpus: str) -> str:
    """A run that somebody stopped listening to; its id."""
    with GraphReader(corpus, settings=shell.settings) as reader:
        for event in reader.stream(QUESTION, run="broken"):
            if isinstance(event, FunctionChosen):
                return "broken"
    raise AssertionError("it has ended")


# A run is listed, shown, gone on with by a beginning of its id and deleted.
def test_from_list_to_delete(shell: Shell, corpus: str) -> None:
    run = broken_off(shell, corpus)
    listed = json.loads(shell("runs", "list", "--json", nowhere=True).out)["runs"]
    shown = shell("runs", "show", "bro", nowhere=True)
    resumed = json.loads(shell("runs", "resume", "bro", "--json").out)
    over = shell("runs", "show", run, nowhere=True)
    details = json.loads(shell("runs", "show", run, "--json", nowhere=True).out)
    again = shell("runs", "resume", run, nowhere=True)
    deleted = shell("runs", "delete", run, nowhere=True)

    assert [(one["id"], one["status"]) for one in listed] == [(run, "interrupted")]
    assert "interrupted" in shown.out
    assert "Path 1, from" in shown.out
    assert resumed["run"] == run
    assert resumed["answer"] in " ".join(over.out.split())
    assert "terminat" in over.out
    assert (details["status"], details["reading"]["answer"]) == ("finished", resumed["answer"])
    assert list(details["steps"]) == ["1", "2", "3", "4"]
    assert again.code == 0
    assert (deleted.code, deleted.out) == (0, "1 run deleted.\n")
    assert "No runs are kept yet" in shell("runs", "list", nowhere=True).out


# A new run begins before a step of an old one.
def test_from_a_step(shell: Shell, corpus: str) -> None:
    first = json.loads(shell("ask", QUESTION, "--corpus", corpus, "--json").out)
    second = json.loads(shell("runs", "resume", first["run"], "--from", "3", "--json").out)
    wrong = shell("runs", "resume", first["run"], "--from", "9")
    listed = json.loads(shell("runs", "list", "--json").out)["runs"]

    assert second["answer"] == first["answer"]
    assert {one["id"] for one in listed} == {first["run"], second["run"]}
    assert wrong.code == 2
    assert "has no step 9" in wrong.err


# All runs, or those that rest for long, are deleted at once.
def test_delete_many(shell: Shell, corpus: str) -> None:
    for _ in range(2):
        shell("ask", QUESTION, "--corpus", corpus)

    assert shell("runs", "delete", "--before", "2001-01-01").out == "0 runs deleted.\n"
    assert shell("runs", "delete", "--all", "--json").out == '{"deleted": 2}\n'


# What cannot be done is said in a sentence.
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["show", "nothing"], "No run 'nothing' is kept"),
        (["resume", "nothing"], "No run 'nothing' is kept"),
        (["delete", "nothing"], "No run 'nothing' is kept"),
        (["delete"], "Name runs, or use --all"),
        (["delete", "x", "--all"], "Name runs, or use --all"),
    ],
)
def test_wrong_usage(shell: Shell, arguments: list[str], sentence: str) -> None:
    outcome = shell("runs", *arguments)

    assert outcome.code == 2
    assert sentence in outcome.err
