"""Random sequences of changes: the graphs are right after each."""

from pathlib import Path

import pytest

from graphreader.settings import Settings
from tests.runs import edits

pytestmark = pytest.mark.slow

SEED = 20_261_123


# Whatever is added, edited, deleted, normalized, undone, tried again, exported, imported and
# indexed again, in any order: the graph holds the texts of now and their facts, as if they had been
# read from nothing, unchanged text is not asked for, and another corpus stays as it is.
def test_edits(neo4j: Settings, tmp_path: Path) -> None:
    sequences, steps, fault = edits.run(neo4j, tmp_path, sequences=2, steps=8, number=SEED)

    assert fault == ""
    assert steps > sequences >= 2
