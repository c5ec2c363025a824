import os
import stat
import sys
from pathlib import Path

import pytest

from graphreader.files import atomic_write


# What is written takes the place of what stood there, at the end and not before.
def test_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b"old")
    with atomic_write(path) as file:
        file.write(b"new")
        file.flush()
        meanwhile = path.read_bytes()

    assert (meanwhile, path.read_bytes()) == (b"old", b"new")
    assert os.listdir(tmp_path) == [path.name]


# Where writing fails, what stood there stays, and nothing stands beside it.
def test_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), atomic_write(path) as file:
        file.write(b"new" * (1 // 0))

    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == [path.name]


# A file may be its owner's alone.
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other rights")
def test_private(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    with atomic_write(path, 0o600) as file:
        file.write(b"new")

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


# What takes another file's place has the rights of that, whatever the umask; never more than asked.
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other rights")
@pytest.mark.parametrize(
    ("stood", "asked", "becomes"),
    [(0o600, 0o666, 0o600), (0o664, 0o666, 0o664), (0o644, 0o600, 0o600), (0o400, 0o600, 0o400)],
)
def test_rights_stay(tmp_path: Path, stood: int, asked: int, becomes: int) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b"old")
    path.chmod(stood)
    with atomic_write(path, asked) as file:
        [beside] = [one for one in tmp_path.iterdir() if one != path]
        meanwhile = stat.S_IMODE(beside.stat().st_mode)
        file.write(b"new")

    assert stat.S_IMODE(path.stat().st_mode) == becomes
    assert meanwhile & ~becomes == 0
    assert path.read_bytes() == b"new"


# Whoever writes the same file at the same time writes another one beside it: the last one stands.
def test_at_the_same_time(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    with atomic_write(path) as first:
        first.write(b"first")
        with atomic_write(path) as second:
            second.write(b"second")
        between = path.read_bytes()

    assert (between, path.read_bytes()) == (b"second", b"first")
    assert os.listdir(tmp_path) == [path.name]


# A link stays one, and leads to what was written.
def test_a_link(tmp_path: Path) -> None:
    path, link = tmp_path / "lines.jsonl", tmp_path / "link"
    link.symlink_to(path)
    with atomic_write(link) as file:
        file.write(b"new")

    assert link.is_symlink()
    assert path.read_bytes() == b"new"
