"""Pruning of a corpus: documents whose files a folder no longer has are found and deleted."""

import asyncio
from collections.abc import Collection, Sequence
from os import PathLike
from pathlib import Path

from graphreader.errors import UsageError
from graphreader.ingestion.loading.folders import sources_without_file
from graphreader.ingestion.loading.sources import expand_home
from graphreader.store.catalog import Catalog, DocumentSummary
from graphreader.store.connection import Connection


async def documents_without_file(
    connection: Connection,
    corpus: str,
    folders: Sequence[str | PathLike[str]],
    include: Sequence[str],
    exclude: Sequence[str],
    among: Collection[str] | None = None,
) -> list[DocumentSummary]:
    """List the documents of folders whose files are gone, by title; only of these ids if given.

    Raises UsageError where a disk may be missing (`sources_without_file`).
    """
    if not folders:
        raise UsageError("Name the folder whose documents are to be pruned.")
    catalog = Catalog(connection)
    known = await catalog.find_corpus(corpus)
    documents = await catalog.documents(corpus) if known else []
    sources = [one.source for one in documents]
    missing = {
        source
        for folder in expand_home(folders)
        for source in await asyncio.to_thread(
            sources_without_file, Path(folder), sources, include, exclude
        )
    }
    return [
        one for one in documents if one.source in missing and (among is None or one.id in among)
    ]
