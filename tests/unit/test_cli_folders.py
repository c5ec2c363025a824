"""Changes in watched folders: quiet files count, once for each change."""

import os
from pathlib import Path

import pytest

from graphreader.cli.folders import FolderChanges, folders_among
from graphreader.errors import UsageError
from graphreader.ingestion.loading.sources import sources_of
from tests.unit.loading import write


class Watched:
    """A folder that is looked at."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.changes = FolderChanges([f"{folder}/"])

    def look(self) -> tuple[list[str], list[str]]:
        """The names of changed and of gone files, which then are known."""
        changed, gone = self.changes.look(sources_of([self.folder]))
        self.changes.take(changed, gone)
        return [Path(one.name).name for one in changed], sorted(Path(one).name for one in gone)


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    write(tmp_path / "texts/a.md")
    return Watched(tmp_path / "texts")


NOTHING: tuple[list[str], list[str]] = ([], [])


# A file is read once two looks find it the same, again after each change, and never else.
def test_changes(watched: Watched) -> None:
    assert [watched.look() for _ in range(4)] == [NOTHING, (["a.md"], []), NOTHING, NOTHING]
    write(watched.folder / "sub/b.md")
    write(watched.folder / "a.md", b"Joan was born in Lorraine.\n")
    assert [watched.look() for _ in range(3)] == [NOTHING, (["a.md", "b.md"], []), NOTHING]
    os.utime(watched.folder / "a.md", ns=(1, 1))
    assert [watched.look() for _ in range(3)] == [NOTHING, (["a.md"], []), NOTHING]


# A file that grows is not read before it is quiet; others are.
def test_growing_file(watched: Watched) -> None:
    looks = []
    for size in range(3):
        write(watched.folder / "log.txt", b"line\n" * (size + 1))
        looks.append(watched.look())
    looks += [watched.look(), watched.look()]

    assert looks == [NOTHING, (["a.md"], []), NOTHING, (["log.txt"], []), NOTHING]


# A file that is away for one look only, as editors save, is not gone.
def test_gone(watched: Watched) -> None:
    write(watched.folder / "b.md")
    assert [watched.look(), watched.look()] == [NOTHING, (["a.md", "b.md"], [])]
    (watched.folder / "a.md").rename(watched.folder / "away.tmp")
    first = watched.look()
    (watched.folder / "away.tmp").rename(watched.folder / "a.md")
    assert [first, watched.look(), watched.look()] == [NOTHING, NOTHING, NOTHING]
    (watched.folder / "a.md").unlink()

    assert [watched.look() for _ in range(3)] == [NOTHING, ([], ["a.md"]), NOTHING]


# An empty or missing folder is no source; what is in it again is read again.
def test_missing_folder(watched: Watched) -> None:
    watched.look(), watched.look()
    watched.folder.rename(watched.folder.with_name("away"))
    assert [watched.look() for _ in range(3)] == [NOTHING, ([], ["a.md"]), NOTHING]
    watched.folder.mkdir()
    assert [watched.look(), watched.look()] == [NOTHING, NOTHING]
    watched.folder.rmdir()
    watched.folder.with_name("away").rename(watched.folder)

    assert [watched.look(), watched.look()] == [NOTHING, (["a.md"], [])]


# What fails is not taken, and so returned by the next look.
def test_failed_round(watched: Watched) -> None:
    watched.changes.look(sources_of([watched.folder]))
    for _ in range(2):
        changed, _ = watched.changes.look(sources_of([watched.folder]))
        assert [one.title for one in changed] == ["a"]


# Links out of the folder are sources as well, with a reason, once.
def test_links(watched: Watched) -> None:
    (watched.folder / "out").symlink_to(watched.folder.parent, target_is_directory=True)

    assert [watched.look() for _ in range(3)] == [NOTHING, (["a.md", "out"], []), NOTHING]


def test_folders_among(watched: Watched) -> None:
    folder, file = str(watched.folder), str(watched.folder / "a.md")

    assert folders_among([folder, file, "https://a.org/x", "-"], watch=False) == [folder]
    assert folders_among([folder], watch=True) == [folder]
    for paths, watch in ([file], False), ([file, folder], True), ([folder, f"{folder}/x"], False):
        with pytest.raises(UsageError, match="is none, or is missing"):
            folders_among(paths, watch=watch)
