"""Every notebook runs as it stands, and shows what is committed."""

import asyncio
import json
from collections.abc import AsyncIterator
from itertools import chain
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode

from graphreader.settings import Settings
from scripts.notebooks import NOTEBOOKS, ROOT, cleaned, corpus_of, run, surround, take_out, written

AT_ONCE = 2
LARGEST_PICTURE = 120_000
each = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)

Runs = dict[Path, "asyncio.Task[NotebookNode]"]


@pytest.fixture(scope="module")
async def runs(neo4j: Settings, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Runs]:
    """All notebooks under way, two at once: most of the time a kernel only starts."""
    folder = tmp_path_factory.mktemp("notebooks")
    surround(folder)
    room = asyncio.Semaphore(AT_ONCE)

    async def one(notebook: Path) -> NotebookNode:
        async with room:
            await asyncio.to_thread(take_out, notebook, neo4j)
            try:
                return await run(notebook, folder, neo4j)
            finally:
                await asyncio.to_thread(take_out, notebook, neo4j)

    tasks = {notebook: asyncio.create_task(one(notebook)) for notebook in NOTEBOOKS}
    yield tasks
    for task in tasks.values():
        task.cancel()
    await asyncio.gather(*tasks.values(), return_exceptions=True)


def committed(notebook: Path) -> NotebookNode:
    """The notebook as it stands in its file."""
    return nbformat.read(notebook, as_version=4)


def outputs(notebook: NotebookNode) -> list[Any]:
    """What the cells show; of pictures only that they are there, as fonts differ."""
    shown = json.loads(json.dumps([cell.get("outputs", []) for cell in notebook.cells]))
    for output in chain.from_iterable(shown):
        if "image/png" in output.get("data", {}):
            output["data"]["image/png"] = "a picture"
    return shown


# A notebook runs from its first to its last cell, and shows what the committed one shows.
@each
async def test_shows_what_is_committed(runs: Runs, notebook: Path) -> None:
    ran = await runs[notebook]

    assert outputs(ran) == outputs(committed(notebook))


# A committed notebook was run from top to bottom, has something to show, a picture of it, and no
# error, warning or trace of the machine it ran on.
@each
def test_is_worth_looking_at(notebook: Path) -> None:
    content = committed(notebook)
    code = [cell for cell in content.cells if cell.cell_type == "code"]
    shown = [output for cell in code for output in cell.outputs]
    text = json.dumps(outputs(content))

    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert not {"error"} & {output.output_type for output in shown}
    assert not [output for output in shown if output.get("name") == "stderr"]
    assert len(shown) >= 5
    assert "a picture" in text
    for trace in (str(Path.home()), str(ROOT), "/tmp", "site-packages", "0x", "Warning"):
        assert trace not in text


# Pictures are light enough for a repository, and say nothing about who drew them.
@each
def test_pictures_are_small(notebook: Path) -> None:
    pictures = [
        output.data["image/png"]
        for cell in committed(notebook).cells
        for output in cell.get("outputs", ())
        if "image/png" in output.get("data", {})
    ]

    assert all(len(picture) < LARGEST_PICTURE for picture in pictures)
    assert notebook.stat().st_size < 2 * LARGEST_PICTURE


# A committed notebook is as the script writes it, so that writing it again changes nothing.
@each
def test_is_as_the_script_writes_it(notebook: Path) -> None:
    assert written(cleaned(committed(notebook))) == notebook.read_text(encoding="utf-8")


# Each notebook says first what it shows, and reads into a corpus of its own.
@each
def test_has_a_corpus_of_its_own(notebook: Path) -> None:
    first, *others = committed(notebook).cells
    source = "\n".join(cell.source for cell in others)

    assert first.cell_type == "markdown"
    assert first.source.startswith("# ")
    assert f'GraphReader("{corpus_of(notebook)}", settings=settings' in source
    assert source.count("GraphReader(") == 1
