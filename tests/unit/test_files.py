"""Files that survive a crash."""

import io
import os
import stat
import sys
from pathlib import Path

import pytest

from graphreader.errors import UsageError
from graphreader.files import Line, LinesFile, atomic_write, bounded_lines


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "a.jsonl").write_bytes(b"old")
    return tmp_path / "a.jsonl"


# The new content replaces the old at the end and not before, also behind a link; a failure leaves
# the old content and no other file.
def test_atomic_write(path: Path) -> None:
    link = path.with_name("link")
    link.symlink_to(path)
    with atomic_write(link) as file:
        file.write(b"new")
        file.flush()
        meanwhile = path.read_bytes()
    with pytest.raises(ZeroDivisionError), atomic_write(path) as file:
        file.write(b"newer" * (1 // 0))

    assert (meanwhile, path.read_bytes()) == (b"old", b"new")
    assert link.is_symlink()
    assert set(os.listdir(path.parent)) == {path.name, link.name}


# A file that is replaced keeps its permissions, a new one gets those that are given.
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other permissions")
def test_permissions(path: Path) -> None:
    path.chmod(0o600)
    for target in (path, path.with_name("new")):
        with atomic_write(target, 0o600 if target != path else 0o666) as file:
            file.write(b"new")

        assert stat.S_IMODE(target.stat().st_mode) == 0o600


# Lines keep their numbers, blank ones are passed over, and of a long one only the start is held.
def test_bounded_lines() -> None:
    file = io.BytesIO(b"one\n \n" + b"x" * 100 + b"\ntwo")

    assert list(bounded_lines(file, 10)) == [(1, b"one\n"), (3, b"x" * 11), (4, b"two")]


class Numbers(LinesFile):
    def __init__(self, path: Path) -> None:
        super().__init__(path, frozenset({"n"}))
        self.numbers: list[int] = []

    def note(self, line: Line) -> None:
        self.numbers.append(line["n"])


# A last line that was cut off is removed; one that only lacks its line break is kept, and a file
# of something else stays as it is.
def test_lines_file(path: Path) -> None:
    with pytest.raises(UsageError, match="line 1: this is no line"), Numbers(path):
        pass
    untouched = path.read_bytes()
    kept = []
    for content in ('{"n": 1}\n{"n": 2', '{"n": 1}\n{"n": 2}'):
        path.write_text(content)
        with Numbers(path) as file:
            file.append({"n": 3})
        kept.append((file.numbers, len(path.read_text().splitlines())))

    assert untouched == b"old"
    assert kept == [([1, 3], 2), ([1, 2, 3], 3)]
