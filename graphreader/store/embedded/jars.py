"""The jars of a Neo4j version, ready to run: looked for, completed, and remembered as whole.

They lie in the cache, one folder a version, shared by all homes of the user.
"""

import hashlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from graphreader.errors import ServerError
from graphreader.store.embedded.download import download
from graphreader.store.embedded.folders import locked, writing
from graphreader.store.embedded.pinned import Jar, pinned_jars
from graphreader.store.embedded.progress import Progress
from graphreader.store.embedded.repository import opened

_VARIABLE = "GRAPHREADER_CACHE"
_MARKER = "complete"


def provide_jars(version: str, cache: Path, mirror: str | None, progress: Progress) -> Path:
    """The folder with all jars of `version`; what is missing is fetched first."""
    folder = Path(os.path.expanduser(cache)).resolve() / "neo4j" / version
    complete(pinned_jars(version), folder, mirror, progress)
    return folder


def complete(jars: Iterable[Jar], folder: Path, mirror: str | None, progress: Progress) -> None:
    """Fetch into `folder` those of `jars` that are not there; one process does it for all.

    Checksums are compared once: then a marker file vouches for the list, and sizes for the
    files. Raises DownloadError and ServerError as `download` does.
    """
    jars = tuple(jars)
    if _vouched(jars, folder):
        return
    with writing(folder, _VARIABLE):
        folder.mkdir(parents=True, exist_ok=True)
    with locked(folder, _VARIABLE, progress):
        if not _vouched(jars, folder):
            _fetch_missing(jars, folder, mirror, progress)


def _fetch_missing(
    jars: Iterable[Jar], folder: Path, mirror: str | None, progress: Progress
) -> None:
    missing = [jar for jar in jars if not jar.is_whole(folder / jar.name)]
    if missing:
        _check_room(missing, folder)
        with opened(mirror) as repository:
            download(missing, folder, repository, progress)
    with writing(folder, _VARIABLE):
        (folder / _MARKER).write_text(_digest(jars), encoding="ascii")


def _check_room(missing: Iterable[Jar], folder: Path) -> None:
    """Say at once, not at the last jar, that the disk is too small."""
    needed = sum(jar.size for jar in missing)
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise ServerError(
            f"{folder} has {free // 10**6} MB of room and Neo4j needs {needed // 10**6} MB:"
            f" make room, or set {_VARIABLE} to a folder on another disk."
        )


def _vouched(jars: Iterable[Jar], folder: Path) -> bool:
    """Whether all jars were checked once and are still there, judged by size."""
    marker = folder / _MARKER
    if not marker.is_file() or marker.read_text(encoding="ascii") != _digest(jars):
        return False
    with os.scandir(folder) as entries:
        sizes = {entry.name: entry.stat().st_size for entry in entries}
    return all(sizes.get(jar.name) == jar.size for jar in jars)


def _digest(jars: Iterable[Jar]) -> str:
    return hashlib.sha256("".join(jar.sha256 for jar in jars).encode("ascii")).hexdigest()
