import os
import stat
import sys
from pathlib import Path

import pytest

from graphreader.whole_file import whole


# What is written takes the place of what stood there, at the end and not before.
def test_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b"old")
    with whole(path) as file:
        file.write(b"new")
        file.flush()
        meanwhile = path.read_bytes()

    assert (meanwhile, path.read_bytes()) == (b"old", b"new")
    assert os.listdir(tmp_path) == [path.name]


# Where writing fails, what stood there stays, and nothing stands beside it.
def test_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), whole(path) as file:
        file.write(b"new" * (1 // 0))

    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == [path.name]


# A file may be its owner's alone, also where a killed process left one beside it that is not.
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other rights")
def test_private(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.with_name(f".{path.name}.{os.getpid()}").touch(0o666)
    with whole(path, 0o600) as file:
        file.write(b"new")

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


# A link stays one, and leads to what was written.
def test_a_link(tmp_path: Path) -> None:
    path, link = tmp_path / "lines.jsonl", tmp_path / "link"
    link.symlink_to(path)
    with whole(link) as file:
        file.write(b"new")

    assert link.is_symlink()
    assert path.read_bytes() == b"new"
