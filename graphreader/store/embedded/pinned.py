"""Which jars make a Neo4j: lists that ship with the package. Nothing is fetched here.

A list is a text file with a jar a line: its path in a Maven repository, sha256, size in bytes.
"""

import hashlib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Jar:
    """One pinned file of a Maven repository; `size` in bytes."""

    path: str
    sha256: str
    size: int

    @property
    def name(self) -> str:
        """The file's name, which no two jars of a list share."""
        return self.path.rpartition("/")[2]

    def is_whole(self, file: Path) -> bool:
        """Whether `file` is exactly this jar, by size and checksum."""
        if not file.is_file() or file.stat().st_size != self.size:
            return False
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest() == self.sha256


def pinned_jars(version: str) -> tuple[Jar, ...]:
    """The jars of a Neo4j version for which a list ships."""
    text = (files(__package__) / f"neo4j-{version}.jars.txt").read_text(encoding="ascii")
    rows = (line.split() for line in text.splitlines())
    return tuple(Jar(path, sha256, int(size)) for path, sha256, size in rows)
