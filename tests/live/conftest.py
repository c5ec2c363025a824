"""Tests with a real model, which cost money: off, unless GRAPHREADER_LIVE=1.

    GRAPHREADER_LIVE=1 OPENAI_API_KEY=... python -m pytest tests/live

asks OpenAI's default model; GRAPHREADER_MODEL and GRAPHREADER_EMBEDDINGS name others. The texts go
to that service. Commands run in processes of their own, with the keys of the person who runs the
tests; this process keeps none, and never leaves loopback.
"""

import pytest

from graphreader.settings import Settings
from tests.conftest import LIVE
from tests.terminal import environment_of

collect_ignore_glob = [] if LIVE else ["test_*.py"]

_OURS = ("GRAPHREADER_HOME", "GRAPHREADER_CACHE", "GRAPHREADER_LIVE", "GRAPHREADER_TEST_")
_THEIRS = ("GRAPHREADER_", "OPENAI_")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(scope="session")
def environment(neo4j: Settings) -> dict[str, str]:
    """The test's Neo4j, and the model that the person chose."""
    chosen = {
        name: value
        for name, value in LIVE.items()
        if not name.startswith(_OURS)
        and (name.startswith(_THEIRS) or name.upper().endswith(("_API_KEY", *_PROXIES)))
    }
    if not {"OPENAI_API_KEY", "GRAPHREADER_MODEL"} & set(chosen):
        pytest.fail("GRAPHREADER_LIVE is 1: set OPENAI_API_KEY, or GRAPHREADER_MODEL and its key.")
    return {**chosen, **environment_of(neo4j)}
