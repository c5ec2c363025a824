"""What is chosen for a run in LangGraph Studio, and who is opened for it."""

from pathlib import Path
from typing import Any

import pytest

from graphreader import studio
from graphreader.errors import SettingsError
from graphreader.graph_reader import GraphReader
from graphreader.studio import Choices
from tests.terminal import wait_for


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text("Alpha met Beta.")
    return path


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.setenv("GRAPHREADER_HOME", str(tmp_path))
    monkeypatch.setenv("GRAPHREADER_MODEL", "offline")
    monkeypatch.setattr(studio, "KEPT", 2)
    return studio._Readers()


# What is no object, and names that are no choices, are told in words.
@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("paper", "The choices are an object of names and values: give one."),
        (["corpus"], "The choices are an object of names and values: give one."),
        (
            {"modle": "offline"},
            "A choice makes no sense. modle: there is no such choice, only corpus, model, mode, "
            "initial_nodes, calls, window, step_by_step.",
        ),
    ],
)
def test_no_choices(given: Any, says: str) -> None:
    with pytest.raises(SettingsError) as refused:
        Choices.model_validate(given)

    assert str(refused.value) == says


# What the server itself puts among the choices is none, and no error.
def test_what_the_server_puts_there() -> None:
    own = {"__event_streaming_v2": True, "thread_id": "1", "checkpoint_ns": "", "cron_id": "2"}
    auth = {"langgraph_auth_user": None, "langsmith-trace": "3", "x-request-id": "4"}

    assert Choices.model_validate({**own, **auth, "corpus": "c"}) == Choices(corpus="c")


# Equal choices share one reader whatever they ask; the least recently used of too many is closed.
def test_shared_readers(readers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[Any] = []
    monkeypatch.setattr(
        GraphReader, "close", lambda reader: closed.append(reader.context.resources)
    )

    def resources(window: int, corpus: str = "a") -> Any:
        reader = readers.of(Choices(corpus=corpus, window=window))
        assert reader.corpus == corpus
        return reader.context.resources

    first, second = resources(2000), resources(3000)
    shared = resources(2000, corpus="b")
    third = resources(4000)
    wait_for(lambda: bool(closed))

    assert shared is first
    assert len({id(one) for one in (first, second, third)}) == 3
    assert closed == [second]
