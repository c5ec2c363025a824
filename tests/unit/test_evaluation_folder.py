"""The place of an evaluation's folder: what is kept for it elsewhere bears its name."""

import shutil
from pathlib import Path

from graphreader.evaluation.results import RUN, ResultsFolder


def begun(path: Path) -> str:
    """The place of a folder in which something was asked."""
    with ResultsFolder(path) as folder:
        folder.record_run({"seed": 0}, {"command": "evaluate"})
        return folder.id


# A folder keeps its place once it is begun; another one at the same path has another.
def test_place(tmp_path: Path) -> None:
    path = tmp_path / "out"
    first = begun(path)

    assert ResultsFolder(path).id == begun(path) == first
    shutil.rmtree(path)
    assert begun(path) != first


# A copy of a folder is another place: what it throws away is not the original's.
def test_place_of_a_copy(tmp_path: Path) -> None:
    first = begun(tmp_path / "out")
    shutil.copytree(tmp_path / "out", tmp_path / "copy")

    assert (tmp_path / "copy" / RUN).read_bytes() == (tmp_path / "out" / RUN).read_bytes()
    assert ResultsFolder(tmp_path / "copy").id != first
