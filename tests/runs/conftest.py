"""What runs share: a corpus of the test's own that is gone afterwards."""

from collections.abc import Iterator

import pytest

from graphreader import GraphReader, Settings
from graphreader.deciding.service import service
from tests.runs.forks import Forks


@pytest.fixture
def cleaned(neo4j: Settings, corpus: str) -> Iterator[None]:
    """Deletes the test's corpus, if the test left one."""
    yield
    with GraphReader(corpus, settings=neo4j) as reader:
        if any(one.corpus == corpus for one in reader.corpora()):
            reader.delete(everything=True)


@pytest.fixture
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes wrong is tried again at once, or nearly."""
    monkeypatch.setattr(service, "_FIRST_PAUSE", 0.02)


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    """Commands in processes of their own that need not import everything first."""
    with Forks() as forks:
        yield forks
