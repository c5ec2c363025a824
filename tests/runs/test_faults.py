"""Commands that meet a fault: nothing is lost, doubled, paid twice or touched besides."""

from collections.abc import Iterator

import pytest

from graphreader.settings import Settings
from tests.runs.faults import Trials
from tests.runs.forks import Forks

pytestmark = pytest.mark.slow

SEED = 20_261_123
MET = (
    ("importing", "killed"),
    ("reading in", "files that may not grow"),
    ("serving", "killed"),
    ("asking", "no home"),
)


@pytest.fixture(scope="module")
def trials(
    forks: Forks, neo4j: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Trials]:
    with Trials(forks, neo4j, tmp_path_factory.mktemp("trials"), SEED) as trials:
        yield trials


# An operation that met a fault, and is then run once more, ends with the graph and the answer that
# it has where nothing disturbs it; a failure is a sentence. `make soak` does so for half an hour,
# with all operations and faults, also of Neo4j; reading in, asking, normalizing, deleting and
# reindexing have tests of their own, too.
@pytest.mark.parametrize(("name", "kind"), MET)
def test_faults(trials: Trials, name: str, kind: str) -> None:
    trials.run(name, kind)

    assert trials.tallies[f"{name}, {kind}"].examples == []
