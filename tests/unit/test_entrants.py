"""The names of the readers that take part in an evaluation: what each makes, what is refused."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphreader.errors import SettingsError, UsageError
from graphreader.evaluation.datasets.record import Record, SourceText
from graphreader.evaluation.readers import (
    WITHOUT_PLAN,
    WITHOUT_SHARING,
    Baseline,
    Entrant,
    GraphEntrant,
    entrants,
    own_names,
    without_node_selection,
)
from graphreader.evaluation.results import documents_of
from graphreader.readers import KINDS
from graphreader.settings import Settings

SMALL, LARGE = 4_096, 128_000

SHORT = ["rag-bm25-1", "rag-bm25-3", "rag-embedding-1", "rag-embedding-3", "rag-bm25-12"]
SHORT += ["chunk-read", "chunk-read-notes", "search-agent", "golden"]
LONG = ["full-text", "full-text-middle", "full-text-refuse", "read-agent-p", "read-agent-s"]
LONG += ["read-agent-p-3", "read-agent-s-1", "gistmem", "gistmem-retrieval-1"]
LONG += ["rag-pages-bm25-3", "rag-pages-embedding-3"]
LONG += ["read-agent-s-task-aware", "read-agent-p-2-task-aware"]

Open = Callable[..., list[Entrant]]


@pytest.fixture
def given(tmp_path: Path) -> Settings:
    return Settings.read(home=tmp_path, model="offline", embeddings="offline")


@pytest.fixture
async def opened(given: Settings) -> AsyncIterator[Open]:
    """Makes entrants of the settings, with changes, and closes them at the end."""
    async with AsyncExitStack() as closing:

        def open_(*names: str, **changes: Any) -> list[Entrant]:
            made = entrants(names, given.model_copy(update=changes))
            for one in made:
                closing.push_async_callback(one.aclose)
            return made

        yield open_


SOURCES = (SourceText("Band", "In Toronto."),)
RECORD = Record("q", "bands", "Where was it formed?", ("Toronto",), SOURCES)
DOCUMENTS = documents_of(RECORD, "bands")


# Each name of a reader without a graph makes it, with its window: the long one where whole texts
# or all gists are shown.
@pytest.mark.parametrize(
    ("name", "window"), [(n, SMALL) for n in SHORT] + [(n, LARGE) for n in LONG]
)
async def test_baselines(opened: Open, name: str, window: int) -> None:
    (entrant,) = opened(name)

    async with entrant.opened(RECORD, DOCUMENTS) as made:
        assert made.reader.name == entrant.name == name
        assert made.reader.window == entrant.window == window


# What is built before the first question is told as such, for retrieval over pages as for gists.
@pytest.mark.parametrize("name", ["gistmem", "read-agent-p", "rag-pages-bm25-3"])
async def test_building(opened: Open, name: str) -> None:
    text = "\n\n".join(f"In year {n} Ada built the mill {n} in Oslo." for n in range(100))
    record = replace(RECORD, documents=(SourceText("Mills", text),))
    (entrant,) = opened(name)

    async with entrant.opened(record, documents_of(record, "mills")) as made:
        reading = await made.reader.aask("Who built the mill 7?")

    assert made.building.calls > 0
    assert not {"paginate", "gist"} & reading.phases.keys()


# Every kind of reader that a person is told of is among those names.
def test_all_kinds() -> None:
    assert {name for kind in KINDS for name in kind.names} <= {*SHORT, *LONG}


# The windows are those of the settings.
def test_windows(opened: Open) -> None:
    made = opened("golden", "full-text", "graphreader", window=2048, long_window=9000)

    assert [one.window for one in made] == [2048, 9000, 2048]


# Whose gists are made for each question finds pages, but no gists, when it is opened.
async def test_opened_task_aware(opened: Open) -> None:
    plain, aware = opened("read-agent-s", "read-agent-s-task-aware")
    async with plain.opened(RECORD, DOCUMENTS) as one, aware.opened(RECORD, DOCUMENTS) as other:
        reading = await other.reader.aask(RECORD.question)

        assert one.building.calls == other.building.calls + 1
        assert one.compression
        assert not other.compression
    assert "gist" in reading.phases


# GraphReader's variants are GraphReaders of which one thing is different.
@pytest.mark.parametrize(
    ("name", "changed", "steps"),
    [
        ("graphreader", {}, None),
        ("graphreader-paper", {"mode": "paper", "paths": 5, "path_calls": 10}, None),
        ("graphreader-fast", {"mode": "fast", "paths": 2, "path_calls": 5}, None),
        ("graphreader-no-plan", {}, WITHOUT_PLAN),
        ("graphreader-no-sharing", {}, WITHOUT_SHARING),
        ("graphreader-random-nodes", {}, without_node_selection(0)),
        ("graphreader-no-normalization", {"normalize": "none", "stages": ()}, None),
        ("graphreader-one-path", {"paths": 1, "path_calls": 10}, None),
        ("graphreader-nodes-7", {"paths": 7}, None),
        ("graphreader-chunk-500", {"chunk_tokens": 500}, None),
    ],
)
def test_variants(
    opened: Open, given: Settings, name: str, changed: dict[str, Any], steps: object
) -> None:
    (entrant,) = opened(name)

    assert isinstance(entrant, GraphEntrant)
    assert (entrant.name, entrant.window) == (name, SMALL)
    plain = ("mode", "paths", "path_calls", "normalize", "stages", "chunk_tokens", "window")
    expected = {one: getattr(given, one) for one in plain} | changed
    assert {one: getattr(entrant._settings, one) for one in expected} == expected
    assert entrant._reader._session.steps == steps


# What a person has configured stays as it is beside the one change of a variant; a mode is all of
# its own.
def test_configured(opened: Open) -> None:
    fast, nodes = opened("graphreader-fast", "graphreader-nodes-3", calls=4, window=3000)

    assert isinstance(fast, GraphEntrant)
    assert isinstance(nodes, GraphEntrant)
    assert (fast._settings.path_calls, fast._settings.paths, fast.window) == (5, 2, 3000)
    assert (nodes._settings.path_calls, nodes._settings.paths) == (4, 3)


# All of GraphReader's own names can be entered, N being any number.
def test_own_names(opened: Open) -> None:
    names = [name.replace("-N", "-60") for name in own_names() if "nodes-N" not in name]
    names.append("graphreader-nodes-50")

    assert len(names) == len(own_names()) > 8
    assert [one.name for one in opened(*names)] == names


# A name given twice takes part once, in the order of the names.
def test_each_once(opened: Open) -> None:
    made = opened("golden", "graphreader", "golden")

    assert [one.name for one in made] == ["golden", "graphreader"]
    assert isinstance(made[0], Baseline)


# Variants that build another graph have a corpus of their own, those that only ask share one.
def test_corpora(opened: Open) -> None:
    names = ["", "-fast", "-no-plan", "-random-nodes", "-nodes-2"]
    asking = opened(*(f"graphreader{name}" for name in names))
    building = opened("graphreader", "graphreader-chunk-300", "graphreader-no-normalization")

    def corpora(made: list[Entrant]) -> set[str]:
        return {one._corpus(DOCUMENTS) for one in made if isinstance(one, GraphEntrant)}

    assert len(corpora(asking)) == 1
    assert len(corpora(building)) == 3
    assert corpora(asking) < corpora(building)


# A name that there is not is refused with those that there are.
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("fortune-teller", ["'fortune-teller'", "rag-bm25-3", "read-agent-s", "golden"]),
        ("", ["There is no reader ''", "full-text"]),
        ("rag-bm25", ["Did you mean rag-bm25-3?"]),
        ("rag-bm25-0", ["'rag-bm25-0'"]),
        ("read-agent", ["Did you mean read-agent-"]),
        ("read-agent-q", ["'read-agent-q'"]),
        ("Golden", ["'Golden'"]),
        ("golden ", ["'golden '"]),
        ("graphreader-", ["'graphreader-'", "graphreader-fast"]),
        ("graphreader-slow", ["'graphreader-slow'", "graphreader-no-plan", "graphreader-nodes-N"]),
        ("graphreader-nodes-N", ["'graphreader-nodes-N'"]),
        ("graphreader-nodes-", ["'graphreader-nodes-'"]),
        ("graphreader-nodes--3", ["'graphreader-nodes--3'"]),
    ],
)
def test_unknown_names(opened: Open, name: str, told: list[str]) -> None:
    with pytest.raises(UsageError) as refused:
        opened("golden", name)

    assert all(words in str(refused.value) for words in told)


# A number that makes no sense is refused as it is in the environment.
@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("graphreader-nodes-0", "GRAPHREADER_INITIAL_NODES"),
        ("graphreader-nodes-51", "GRAPHREADER_INITIAL_NODES"),
        ("graphreader-chunk-49", "GRAPHREADER_CHUNK_TOKENS"),
    ],
)
def test_senseless_numbers(opened: Open, name: str, variable: str) -> None:
    with pytest.raises(SettingsError, match=variable):
        opened(name)


# Chance has the seed that is given, and each entrant that of its own.
def test_seeds(given: Settings) -> None:
    names = ["graphreader-random-nodes", "graphreader"]
    first, plain = entrants(names, given, seed=7)

    assert isinstance(first, GraphEntrant)
    assert isinstance(plain, GraphEntrant)
    assert first._reader._session.steps == without_node_selection(7) != without_node_selection(0)
    assert plain._reader._session.steps is None
