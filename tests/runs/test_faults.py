"""Commands that are killed at random moments: nothing is lost, doubled or touched besides."""

from pathlib import Path

from graphreader.settings import Settings
from tests.runs.faults import Trials
from tests.runs.forks import Forks

SEED = 20_261_123
KILLED = ("normalizing", "deleting", "importing", "reindexing")


# Killed once, and then run once more, an operation ends with the graph that it has where nothing
# disturbs it. `make soak` does so for half an hour, with more of them, several at once, and an
# unsteady Neo4j; reading in and asking have tests of their own, with a model.
def test_kills(forks: Forks, neo4j: Settings, tmp_path: Path) -> None:
    with Trials(forks, neo4j, tmp_path, SEED) as trials:
        for name in KILLED:
            trials.kill(name)

    assert len(trials.tallies) == len(KILLED)
    assert {kind: one.examples for kind, one in trials.tallies.items() if not one.is_clean} == {}
