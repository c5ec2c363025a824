"""The readers of an evaluation by their names: what each makes, and what is refused."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphreader.errors import SettingsError, UsageError
from graphreader.evaluation.datasets.record import Record, SourceText
from graphreader.evaluation.readers import EvaluatedGraphReader, EvaluatedReader, evaluated_readers
from graphreader.evaluation.results import documents_of
from graphreader.evaluation.variants import WITHOUT_PLAN, is_study, without_node_selection
from graphreader.settings import Settings
from graphreader.usage import Usage

RECORD = Record(
    "q", "bands", "Where was it formed?", ("Toronto",), (SourceText("Band", "In Toronto."),)
)
DOCUMENTS = documents_of(RECORD)

Make = Callable[..., list[Any]]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings.read(home=tmp_path, model="offline", embeddings="offline")


@pytest.fixture
async def make(settings: Settings) -> AsyncIterator[Make]:
    """Makes readers of the settings, with changes, and closes them at the end."""
    async with AsyncExitStack() as closing:

        def make(*names: str, **changes: Any) -> list[EvaluatedReader]:
            readers = evaluated_readers(names, settings.model_copy(update=changes))
            for one in readers:
                closing.push_async_callback(one.aclose)
            return readers

        yield make


# A reader has the long window where whole texts or all gists are shown, also when it is prepared.
async def test_windows(make: Make) -> None:
    readers = make("rag-bm25-12", "golden", "full-text", "gistmem", window=2048, long_window=9000)

    assert [one.window for one in readers] == [2048, 2048, 9000, 9000]
    async with readers[2].prepare(RECORD, DOCUMENTS, {}) as prepared:
        assert (prepared.reader.name, prepared.reader.window) == ("full-text", 9000)


# The sizes of pages are those of the setting, else of NarrativeQA's books, else of the length.
@pytest.mark.parametrize(
    ("subset", "words", "pages"), [("", None, 2), ("book", None, 1), ("book", "90-100", 11)]
)
async def test_page_sizes(make: Make, subset: str, words: str | None, pages: int) -> None:
    text = "\n\n".join(f"Two three four five six seven eight nine ten {n}." for n in range(100))
    record = replace(RECORD, documents=(SourceText("Band", text),), subset=subset)
    (gistmem,) = make("gistmem", page_words=words)

    built: dict[str, Usage] = {}
    async with gistmem.prepare(record, documents_of(record), built):
        calls = {name.split()[0]: usage.calls for name, usage in built.items()}
    assert calls["gist"] == pages


# Readers that search by embeddings keep the vectors of the texts under the home.
@pytest.mark.parametrize("name", ["rag-embedding-1", "search-agent"])
async def test_vectors_kept(make: Make, settings: Settings, name: str) -> None:
    (searching,) = make(name)
    async with searching.prepare(RECORD, DOCUMENTS, {}) as prepared:
        await prepared.reader.aask(RECORD.question)

    assert len(list((settings.home / "vectors").glob("*.npy"))) == 1


# Pages and gists are made, and their cost counted, before the first question, and named also where
# they were kept; task-aware gists are made for each question.
async def test_building(make: Make) -> None:
    names = "read-agent-s", "read-agent-s-task-aware", "rag-pages-bm25-3", "rag-gists-bm25-3"
    plain, aware, paging, again = make(*names)
    prepared, built, readings = [], [], []
    for reader in (plain, aware, paging, again):
        built.append(dict[str, Usage]())
        async with reader.prepare(RECORD, DOCUMENTS, built[-1]) as one:
            prepared.append(one)
            readings.append(await one.reader.aask(RECORD.question))

    calls = [{name.split()[0]: usage.calls for name, usage in one.items()} for one in built]
    assert calls == [{"paginate": 0, "gist": 1}, *[{"paginate": 0}] * 2, {"paginate": 0, "gist": 0}]
    assert built[0].keys() == built[3].keys() > built[1].keys()
    assert prepared[0].compression == prepared[3].compression != {}
    assert not prepared[1].compression
    assert not {"paginate", "gist"} & readings[0].phases.keys()
    assert "gist" in readings[1].phases


# A variant is GraphReader with one thing changed; what a person configured stays as it is.
@pytest.mark.parametrize(
    ("name", "changed", "node_set"),
    [
        ("graphreader", {"mode": "adaptive"}, None),
        ("graphreader-paper", {"mode": "paper", "initial_nodes": None, "calls": None}, None),
        ("graphreader-adaptive", {"mode": "adaptive", "initial_nodes": None, "calls": None}, None),
        ("graphreader-no-plan", {}, WITHOUT_PLAN),
        ("graphreader-random-nodes", {}, without_node_selection(0)),
        ("graphreader-no-normalization", {"normalize": "none", "stages": ()}, None),
        ("graphreader-one-path", {"initial_nodes": 1}, None),
        ("graphreader-nodes-7", {"initial_nodes": 7}, None),
        ("graphreader-chunk-500", {"chunk_tokens": 500}, None),
    ],
)
def test_variants(make: Make, name: str, changed: dict[str, Any], node_set: object) -> None:
    plain, reader = make("graphreader-nodes-4", name, calls=4, initial_nodes=4, window=3000)

    assert isinstance(reader, EvaluatedGraphReader)
    assert (reader.name, reader.window) == (name, 3000)
    compared = ("mode", "initial_nodes", "calls", "normalize", "stages", "chunk_tokens", "window")
    expected = {one: getattr(plain.settings, one) for one in compared} | changed
    assert {one: getattr(reader.settings, one) for one in compared} == expected
    assert reader.node_set == node_set
    modes = ("graphreader", "graphreader-paper", "graphreader-adaptive")
    assert is_study(name) == (name not in modes)


# Variants that build another graph have a corpus of their own; those that only ask share one.
def test_corpora(make: Make) -> None:
    names = ["", "-adaptive", "-no-plan", "-random-nodes", "-nodes-2"]
    asking = {one.corpus(DOCUMENTS) for one in make(*(f"graphreader{name}" for name in names))}
    others = make("graphreader", "graphreader-chunk-300", "graphreader-no-normalization")
    building = {one.corpus(DOCUMENTS) for one in others}

    assert (len(asking), len(building)) == (1, 3)
    assert asking < building


# An unknown name is refused with those that there are.
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fortune-teller", ["'fortune-teller'", "rag-bm25-3", "read-agent-s", "golden"]),
        ("rag-bm25", ["Did you mean rag-bm25-3?"]),
        ("graphreader-slow", ["'graphreader-slow'", "graphreader-no-plan", "graphreader-nodes-N"]),
    ],
)
def test_unknown_names(make: Make, name: str, words: list[str]) -> None:
    with pytest.raises(UsageError) as refused:
        make("golden", name)

    assert all(one in str(refused.value) for one in words)


# A number out of range is refused as it is in the environment.
def test_number_out_of_range(make: Make) -> None:
    with pytest.raises(SettingsError, match="GRAPHREADER_INITIAL_NODES"):
        make("graphreader-nodes-51")
