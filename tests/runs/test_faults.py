"""Commands that meet a fault: nothing is lost, doubled, paid twice or touched besides."""

from pathlib import Path

import pytest

from graphreader.settings import Settings
from tests.runs.faults import Trials
from tests.runs.forks import Forks

pytestmark = pytest.mark.slow

SEED = 20_261_123
MET = (
    ("normalizing", "killed"),
    ("importing", "killed"),
    ("serving", "killed"),
    ("asking", "no home"),
    ("reading in", "files that may not grow"),
)


# An operation that met a fault, and is then run once more, ends with the graph and the answer that
# it has where nothing disturbs it; a failure is a sentence. `make soak` does so for half an hour,
# with all operations and faults, also of Neo4j; reading in, asking, deleting and reindexing
# have tests of their own, too.
def test_faults(forks: Forks, neo4j: Settings, tmp_path: Path) -> None:
    with Trials(forks, neo4j, tmp_path, SEED) as trials:
        for name, kind in MET:
            trials.run(name, kind)

    assert len(trials.tallies) == len(MET)
    assert {kind: one.examples for kind, one in trials.tallies.items() if one.examples} == {}
