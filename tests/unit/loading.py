"""Helpers of the tests of loading."""

import io
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graphreader.documents import Document
from graphreader.ingestion.loading.content import Refused
from graphreader.ingestion.loading.sources import SourceLike, sources_of


def write(path: Path, data: bytes = b"Joan was born.\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def zipped(**files: str | bytes) -> bytes:
    """A zip archive of these files."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


@contextmanager
def without_root() -> Iterator[None]:
    """Without the rights of root, which no permission stops."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def read(*sources: SourceLike, **options: Any) -> list[Document | Refused]:
    return [one for source in sources_of(sources, **options) for one in source.documents("c")]


def documents(*sources: SourceLike, **options: Any) -> list[Document]:
    assert reasons(*sources, **options) == []
    return [one for one in read(*sources, **options) if isinstance(one, Document)]


def reasons(*sources: SourceLike, **options: Any) -> list[str]:
    return [one.reason for one in read(*sources, **options) if isinstance(one, Refused)]
