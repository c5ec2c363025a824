"""Every notebook runs as it stands, and shows what is committed."""

import asyncio
import json
from collections.abc import AsyncIterator
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode

from graphreader.settings import Settings
from scripts.notebooks import NOTEBOOKS, ROOT, cleaned, corpus_of, run, surround, take_out, written
from tests.project.kernels import forked_kernels

pytestmark = pytest.mark.slow

AT_ONCE = 2
LARGEST_PICTURE = 120_000
each = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)

Runs = dict[Path, "asyncio.Task[NotebookNode]"]


@pytest.fixture(scope="module")
async def runs(neo4j: Settings, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Runs]:
    """All notebooks under way, two at once."""
    folder = tmp_path_factory.mktemp("notebooks")
    surround(folder)
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(notebook: Path, command: list[str]) -> NotebookNode:
        async with slots:
            await asyncio.to_thread(take_out, notebook, neo4j)
            try:
                return await run(notebook, folder, neo4j, command)
            finally:
                await asyncio.to_thread(take_out, notebook, neo4j)

    with forked_kernels(folder) as command:
        tasks = {path: asyncio.create_task(one(path, command)) for path in NOTEBOOKS}
        yield tasks
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)


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

    assert outputs(ran) == outputs(nbformat.read(notebook, as_version=4))


# A committed notebook is as the script writes it. It was run from top to bottom in a corpus of its
# own, and has something to show, a light picture, and no error, warning or trace of a machine.
@each
def test_committed_notebooks(notebook: Path) -> None:
    content = nbformat.read(notebook, as_version=4)
    code = [cell for cell in content.cells if cell.cell_type == "code"]
    shown = [output for cell in code for output in cell.outputs]
    pictures = [one.data["image/png"] for one in shown if "image/png" in one.get("data", {})]
    text = json.dumps(outputs(content))

    assert written(cleaned(content)) == notebook.read_text(encoding="utf-8")
    assert any(f'GraphReader("{corpus_of(notebook)}"' in cell.source for cell in code)
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert not [one for one in shown if one.output_type == "error" or one.get("name") == "stderr"]
    assert pictures
    assert all(len(picture) < LARGEST_PICTURE for picture in pictures)
    for trace in (str(Path.home()), str(ROOT), "/tmp", "site-packages", "0x", "Warning"):
        assert trace not in text


# A text with dollar signs, of prices or hostile ones, is drawn as it is, not as a formula.
def test_pictures_of_dollar_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "notebooks")
    fact = {"fact": "It costs $\\frac{$ 5.", "document": "d", "chunk": 0, "others": ["$^$"]}

    assert import_module("drawing").surroundings([{"facts": [fact]}], "$_$").data
