"""Files that an earlier version wrote (`make_old_state`): they are listed, shown and resumed."""

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from graphreader import sync
from graphreader.graph_reader import GraphReader
from graphreader.settings import Settings
from tests.runs import fixed_corpora as fixed
from tests.runs.digest import content
from tests.runs.make_old_state import FOLDER, RUNS, plain_json
from tests.snapshots import Snapshots

EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))

LOG = "# Log\n\n" + "\n\n".join(
    f"## {year}\n\n"
    + "\n\n".join(f"Vera Holm built mill {n} of Malmö in {year}." for n in range(20))
    for year in (1931, 1932)
)
EARLIER = """
MATCH (corpus:Corpus {name: $corpus})
REMOVE corpus.passages
WITH corpus
MATCH (d:Document {corpus: $corpus})-[:HAS_CHUNK]->(c)-[:HAS_ATOMIC_FACT]->(f)
REMOVE c.heading_path, f.start, f.end, f.heading, f.speaker, f.when
WITH DISTINCT c
MATCH (c)-[:HAS_PASSAGE]->(p)
DETACH DELETE p
"""


def without_later_keys(value: Any) -> Any:
    """A JSON value without the empty keys that a later version has added to citations."""
    if isinstance(value, Mapping):
        items = {name: without_later_keys(one) for name, one in value.items()}
        return {name: one for name, one in items.items() if name != "place" or one is not None}
    return [without_later_keys(one) for one in value] if isinstance(value, list | tuple) else value


def without_place(line: str) -> str:
    """A fact of a graph's content without the properties of its sentences."""
    pattern = r'"(end|start)": \d+, |"heading": "[^"]*", |, "when": "[^"]*"'
    return re.sub(pattern, "", line) if ":AtomicFact " in line else line


@pytest.fixture(scope="module", autouse=True)
def imported(neo4j: Settings) -> Iterator[None]:
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
    with GraphReader(fixed.CORPUS, settings=settings) as reader:
        lacks = reader.lacks()

    assert content(settings, fixed.CORPUS) == [without_place(one) for one in lines]
    assert "'castle', 'school', '贞德'" in " ".join(lacks)


# A graph of an earlier version has no headings over chunks, passages and places of facts. `reindex`
# makes what needs no model; `lacks` names the texts whose facts have no sentences, until these are
# read again. A corpus that is read today lacks nothing.
def test_reindex(neo4j: Settings, corpus: str, tmp_path: Path) -> None:
    (tmp_path / "log.md").write_text(LOG)
    settings = fixed.settings(neo4j, tmp_path)

    async def make_earlier(reader: GraphReader) -> None:
        connection = await reader.resources.connection()
        async with connection._driver.session() as session:
            await session.run(EARLIER, corpus=corpus)

    with GraphReader(corpus, settings=settings) as reader:
        reader.ingest(tmp_path)
        today, nothing = content(settings, corpus), reader.lacks()
        sync.run(make_earlier(reader))
        earlier = content(settings, corpus)
        reader.reindex()
        indexed, lacks = content(settings, corpus), reader.lacks()
        unchanged = reader.ingest(tmp_path)
        again = reader.ingest(tmp_path, again=True)
        last = content(settings, corpus), reader.lacks()
        reader.delete(everything=True)

    assert nothing == []
    assert sum("heading_path" in one for one in today) > 1
    assert not any("heading_path" in one for one in earlier)
    assert indexed == [without_place(one) for one in today]
    assert len(lacks) == 1
    assert lacks[0].startswith("The facts of 'log' do not know their sentences")
    assert f"--corpus {corpus} --again" in lacks[0]
    assert (unchanged.asked_chunks, again.asked_chunks) == (0, again.documents[0].chunks)
    assert last == (today, [])


# The kept runs are listed and shown.
def test_list_and_show(settings: Settings, snapshots: Snapshots) -> None:
    with GraphReader(fixed.CORPUS, settings=settings, decider=fixed.decider()) as reader:
        status = {one.run: one.status for one in reader.runs()}
        shown = {run: reader.run(run).as_dict() for run in RUNS}

    assert status == {
        run: "interrupted" if number else "finished" for run, (_, number) in RUNS.items()
    }
    snapshots.check("shown", without_later_keys(shown))


# A kept run is resumed to the reading of an unbroken one, and no decision is paid twice.
@pytest.mark.parametrize("run", RUNS)
def test_resume(settings: Settings, run: str) -> None:
    decider = fixed.decider()
    with GraphReader(fixed.CORPUS, settings=settings, decider=decider) as reader:
        reading = reader.resume(run)

    assert without_later_keys(plain_json(reading)) == EXPECTED[run]["reading"]
    assert EXPECTED[run]["paid"] + len(decider.asked) == reading.usage.calls
    assert bool(decider.asked) == bool(RUNS[run][1])
