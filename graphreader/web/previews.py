"""Routes that show what would be read of files, before anything is read into a corpus."""

import asyncio
from collections.abc import Sequence
from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from graphreader.documents import Document
from graphreader.files import relative_name
from graphreader.ingestion.loading.content import Refused
from graphreader.ingestion.loading.encodings import known_encoding
from graphreader.ingestion.loading.sources import Source
from graphreader.ingestion.preview import as_dict, preview
from graphreader.web.corpora import MOST_UPLOADED, OcrQuery, ocr_named, receive
from graphreader.web.jobs import uploaded_sources
from graphreader.web.page_routes import page
from graphreader.web.services import ServicesDep, Visitor, Writable

router = APIRouter(tags=["corpora"])
MOST_SHOWN = 100_000
"""Largest number of characters of a document's text in a reply."""
MOST_DOCUMENTS = 100  # in a reply; a file of lines or mails may have very many
_turn = asyncio.Semaphore(1)  # so that previews leave the parsers of files to ingests

Encoding = Annotated[str | None, Query(description="The encoding of files that declare none.")]


@router.post("/api/corpora/{corpus}/preview", max_body_size=MOST_UPLOADED)
async def preview_files(
    request: Request,
    corpus: Writable,
    server: ServicesDep,
    encoding: Encoding = None,
    ocr: OcrQuery = "",
) -> dict[str, Any]:
    """Show what would be read of files, sent as for an upload. Nothing is kept.

    Of each document `parts` has the texts by their places, 100,000 characters at most (`is_cut`),
    `skipped` what is left out; `refused` has the files that cannot be read. `are_cut` says that
    there are more than 100 documents. One preview is made at a time.
    """
    return await _previewed(request, server, encoding, ocr)


@router.post("/corpora/{corpus}/preview", max_body_size=MOST_UPLOADED, include_in_schema=False)
async def preview_part(
    request: Request,
    corpus: Writable,
    server: ServicesDep,
    visitor: Visitor,
    ocr: OcrQuery = "",
) -> Response:
    """The part of the documents' page that shows files before they are read in."""
    found = await _previewed(request, server, None, ocr)
    return page(request, "preview.html", corpus=corpus, **found)


async def _previewed(
    request: Request, server: Any, encoding: str | None, ocr: str
) -> dict[str, Any]:
    encoding = known_encoding(encoding) if encoding is not None else None
    ocr = ocr_named(ocr)
    job = server.jobs.new_id()
    try:
        names = await receive(request, server, job, ocr)
        sources = uploaded_sources(server.jobs.folder_of(job), names, encoding, ocr)
        async with _turn:
            return await asyncio.to_thread(_read, sources)
    finally:
        await server.jobs.discard(job)


def _read(sources: Sequence[Source]) -> dict[str, Any]:
    documents, refused = [], []
    found = preview(*sources)
    for one in islice(found, MOST_DOCUMENTS):
        if isinstance(one, Refused):
            refused.append({"source": relative_name(one.source), "reason": one.reason})
        else:
            documents.append(_shown(one))
    return {"documents": documents, "refused": refused, "are_cut": next(found, None) is not None}


def _shown(document: Document) -> dict[str, Any]:
    """A document as JSON types, with the beginning of its text and without a path."""
    values = as_dict(document)
    parts, room = [], MOST_SHOWN
    for part in values["parts"]:
        if room > 0:
            parts.append({**part, "text": part["text"][:room]})
            room -= len(part["text"])
    shown = {"parts": parts, "is_cut": room < 0, "source": relative_name(document.source)}
    return {**values, **shown}
