"""Files that an earlier version wrote (`make_old_state`): they are listed, shown and resumed."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from tests.runs import fixed_corpora as fixed
from tests.runs.digest import content
from tests.runs.make_old_state import FOLDER, RUNS, plain_json
from tests.snapshots import Snapshots

EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module", autouse=True)
def corpus(neo4j: Settings) -> Iterator[None]:
    """The exported corpus, imported."""
    with fixed.reserved(neo4j, fixed.CORPUS):
        with GraphReader(fixed.CORPUS, settings=neo4j) as reader:
            reader.import_corpus(FOLDER / "corpus.jsonl")
        yield


@pytest.fixture
def settings(neo4j: Settings, tmp_path: Path) -> Settings:
    """Settings with a copy of the kept runs."""
    shutil.copy(FOLDER / "runs.sqlite", tmp_path)
    return fixed.settings(neo4j, tmp_path)


# The imported corpus has the nodes, ids and vectors of one that is read in now, but no places of
# facts, which are not in the file.
def test_import(settings: Settings) -> None:
    file = Path(__file__).parent / "fixed_points" / f"graph_{fixed.CORPUS}.json"
    lines = json.loads(file.read_text(encoding="utf-8"))
    without_places = [
        re.sub(r'"(end|start)": \d+, |, "when": "[^"]*"', "", one) if ":AtomicFact " in one else one
        for one in lines
    ]

    assert content(settings, fixed.CORPUS) == without_places


# The kept runs are listed and shown.
def test_list_and_show(settings: Settings, snapshots: Snapshots) -> None:
    with GraphReader(fixed.CORPUS, settings=settings, decider=fixed.decider()) as reader:
        status = {one.run: one.status for one in reader.runs()}
        shown = {run: reader.run(run).as_dict() for run in RUNS}

    assert status == {
        run: "interrupted" if number else "finished" for run, (_, number) in RUNS.items()
    }
    snapshots.check("shown", shown)


# A kept run is resumed to the reading of an unbroken one, and no decision is paid twice.
@pytest.mark.parametrize("run", RUNS)
def test_resume(settings: Settings, run: str) -> None:
    decider = fixed.decider()
    with GraphReader(fixed.CORPUS, settings=settings, decider=decider) as reader:
        reading = reader.resume(run)

    assert plain_json(reading) == EXPECTED[run]["reading"]
    assert EXPECTED[run]["paid"] + len(decider.asked) == reading.usage.calls
    assert bool(decider.asked) == bool(RUNS[run][1])
