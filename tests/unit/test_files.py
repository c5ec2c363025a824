"""Files that survive a crash."""

import io
import os
import stat
import sys
from pathlib import Path

import pytest

from graphreader.files import atomic_write, bounded_lines


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "a.jsonl").write_bytes(b"old")
    return tmp_path / "a.jsonl"


# The new content replaces the old at the end and not before, also behind a link.
@pytest.mark.parametrize("link", [False, True])
def test_atomic_write(path: Path, link: bool) -> None:
    named = path
    if link:
        named = path.with_name("link")
        named.symlink_to(path)
    with atomic_write(named) as file:
        file.write(b"new")
        file.flush()
        meanwhile = path.read_bytes()

    assert (meanwhile, path.read_bytes()) == (b"old", b"new")
    assert named.is_symlink() == link
    assert set(os.listdir(path.parent)) == {path.name, named.name}


# A failure leaves the old content and nothing beside it.
def test_failed_write(path: Path) -> None:
    with pytest.raises(ZeroDivisionError), atomic_write(path) as file:
        file.write(b"new" * (1 // 0))

    assert path.read_bytes() == b"old"
    assert os.listdir(path.parent) == [path.name]


# A file that is replaced keeps its permissions, restricted to those asked for, at every moment.
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other permissions")
@pytest.mark.parametrize(
    ("before", "mode", "after"),
    [
        (None, 0o600, 0o600),
        (0o600, 0o666, 0o600),
        (0o664, 0o666, 0o664),
        (0o644, 0o600, 0o600),
        (0o400, 0o600, 0o400),
    ],
)
def test_permissions(path: Path, before: int | None, mode: int, after: int) -> None:
    if before is None:
        path.unlink()
    else:
        path.chmod(before)
    with atomic_write(path, mode) as file:
        [temporary] = [one for one in path.parent.iterdir() if one != path]
        meanwhile = stat.S_IMODE(temporary.stat().st_mode)
        file.write(b"new")

    assert stat.S_IMODE(path.stat().st_mode) == after
    assert meanwhile & ~after == 0
    assert path.read_bytes() == b"new"


# Lines keep their numbers, blank ones are passed over, and of a long one only the start is held.
def test_bounded_lines() -> None:
    file = io.BytesIO(b"one\n \n" + b"x" * 100 + b"\ntwo")

    assert list(bounded_lines(file, 10)) == [(1, b"one\n"), (3, b"x" * 11), (4, b"two")]
