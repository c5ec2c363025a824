"""Routes of corpora: documents, uploads, jobs, and exploration of the graph."""

import asyncio
import json
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict, replace
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import FileResponse, JSONResponse
from pydantic import BaseModel, Field, ValidationError
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from sse_starlette import ServerSentEvent
from starlette.background import BackgroundTask

from graphreader.documents import check_corpus_name, without_controls
from graphreader.errors import UnknownDocumentError, UsageError
from graphreader.files import relative_name
from graphreader.ingestion.loading.encodings import known_encoding
from graphreader.ingestion.loading.formats import MAX_BYTES, PICTURES, SUFFIXES
from graphreader.ingestion.loading.ocr import ocr_of
from graphreader.scope import MOST_TAGS, Scope
from graphreader.web.jobs import REFUSED, Job
from graphreader.web.services import (
    EventStream,
    Paged,
    Readable,
    ScopeTerms,
    ServicesDep,
    Visitor,
    Writable,
    must_write,
    titled,
)

router = APIRouter(tags=["corpora"])
MOST_UPLOADED = 1 << 30  # bytes of one request
MOST_JSON = 16 << 20  # bytes of texts as JSON, which takes twenty times as much memory
MOST_FILES = 5_000


class Text(BaseModel):
    """A text to add; `id` names it, so that a later text with this id replaces it."""

    text: str
    id: str = Field(min_length=1, max_length=300)
    title: str | None = Field(None, max_length=300)
    metadata: dict[str, Any] = Field(default_factory=dict)


class Texts(BaseModel):
    """The body of a JSON upload: texts to add."""

    documents: list[Text] = Field(min_length=1, max_length=MOST_FILES)


class Tags(BaseModel):
    """The body of a request that sets the tags or the date of a document; None leaves them."""

    tags: list[Annotated[str, Field(max_length=1_000)]] | None = Field(None, max_length=MOST_TAGS)
    date: str | None = Field(None, max_length=20, description="A day, month or year; empty: none.")


@router.get("/api/corpora")
async def corpora(server: ServicesDep, visitor: Visitor, page: Paged) -> dict[str, Any]:
    """List the corpora that the token opens."""
    return page.of(
        "corpora", [one for one in await server.reader.acorpora() if visitor.sees(one.corpus)]
    )


@router.get("/api/corpora/{corpus}")
async def stats(corpus: Readable, server: ServicesDep) -> dict[str, Any]:
    """Count the documents, chunks, facts and key elements of a corpus."""
    return asdict(await server.reader.at(corpus).astats())


@router.delete("/api/corpora/{corpus}")
async def delete_corpus(corpus: Writable, server: ServicesDep) -> dict[str, int]:
    """Delete a whole corpus, and cancel its jobs."""
    await server.resources.catalog(corpus)  # raises UnknownCorpusError
    await server.jobs.cancel_all(corpus)
    return {"deleted": await server.reader.at(corpus).adelete(everything=True)}


@router.get("/api/corpora/{corpus}/documents")
async def documents(
    corpus: Readable,
    server: ServicesDep,
    page: Paged,
    title: Annotated[str, Query(max_length=300, description="Words of the title.")] = "",
    scope: Annotated[ScopeTerms, Query(description="Only the documents of this scope.")] = [],  # noqa: B006
) -> dict[str, Any]:
    """List the documents of a corpus, by title."""
    found = await server.reader.at(corpus).adocuments(scope)
    named = [replace(one, source=relative_name(one.source)) for one in titled(found, title)]
    return page.of("documents", named)


@router.patch("/api/corpora/{corpus}/documents/{document}", status_code=HTTPStatus.NO_CONTENT)
async def tag_document(document: str, asked: Tags, corpus: Writable, server: ServicesDep) -> None:
    """Set the tags or the date of a document, by its id."""
    await server.reader.at(corpus).atag(
        Scope((document,)),
        *(asked.tags or ()),
        replace=asked.tags is not None,
        date=asked.date,
    )


@router.delete("/api/corpora/{corpus}/documents/{document}", status_code=HTTPStatus.NO_CONTENT)
async def delete_document(document: str, corpus: Writable, server: ServicesDep) -> None:
    """Delete a document, by its id."""
    await server.reader.at(corpus).adelete(document)


OcrQuery = Annotated[
    str,
    Query(
        max_length=100,
        description="Read scans by OCR: true, or languages for Tesseract such as rus+eng.",
    ),
]


def ocr_named(value: str) -> str:
    """The choice of an engine by a query. Raises UsageError without an engine."""
    return ocr_of({"true": True, "false": False}.get(value, value))


@router.post(
    "/api/corpora/{corpus}/documents",
    status_code=HTTPStatus.ACCEPTED,
    max_body_size=MOST_UPLOADED,
)
async def upload(
    request: Request,
    corpus: Writable,
    server: ServicesDep,
    visitor: Visitor,
    encoding: Annotated[
        str | None, Query(description="The encoding of files that do not declare one.")
    ] = None,
    ocr: OcrQuery = "",
) -> Response:
    """Add texts: files as multipart/form-data, or JSON `{"documents": [{"id", "text"}]}`.

    The reply is the job that reads them. The name of a file (with / for folders) names its
    document, so that a later file with this name replaces it. `encoding` and `ocr` hold for files
    only.
    """
    check_corpus_name(corpus)
    encoding = known_encoding(encoding) if encoding is not None else None
    ocr = ocr_named(ocr)
    if quota := server.runs.quota_of(visitor):
        await quota.check()
    job = server.jobs.new_id()
    try:
        names = await receive(request, server, job, ocr, are_texts_allowed=not (encoding or ocr))
        queued = await server.jobs.submit(job, corpus, visitor.name, names, encoding, ocr)
    except BaseException:
        await server.jobs.discard(job)
        raise
    headers = {"Location": f"/api/jobs/{queued.job}"}
    return JSONResponse(asdict(queued), HTTPStatus.ACCEPTED, headers)


async def receive(
    request: Request,
    server: ServicesDep,
    job: str,
    ocr: str = "",
    *,
    are_texts_allowed: bool = True,
) -> list[str]:
    """Put the files, or the texts as JSON, of a request into the folder of a job; return names.

    With `ocr` pictures are files, too.
    """
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    folder = server.jobs.folder_of(job)
    length = request.headers.get("content-length", "")
    await server.jobs.reserve(job, int(length) if length.isdecimal() else MOST_UPLOADED)
    if kind == b"multipart/form-data" and b"boundary" in options:
        suffixes = (*SUFFIXES, *PICTURES) if ocr else SUFFIXES
        return await _receive_files(request, options[b"boundary"], folder, suffixes)
    if kind != b"application/json":
        raise UsageError(
            "Send files as multipart/form-data, or texts as application/json: "
            '{"documents": [{"id": "notes", "text": "..."}]}.'
        )
    if not are_texts_allowed:
        raise UsageError("Texts as JSON are in UTF-8: encoding and OCR are for files.")
    return await _receive_texts(request, folder)


@router.post("/api/corpora/{corpus}/retry", status_code=HTTPStatus.ACCEPTED)
async def retry(corpus: Writable, server: ServicesDep, visitor: Visitor) -> Response:
    """Extract the facts of all chunks without facts; the reply is the job."""
    if quota := server.runs.quota_of(visitor):
        await quota.check()
    queued = await server.jobs.submit(server.jobs.new_id(), corpus, visitor.name, ())
    headers = {"Location": f"/api/jobs/{queued.job}"}
    return JSONResponse(asdict(queued), HTTPStatus.ACCEPTED, headers)


class _Files:
    """A writer that streams the files of a multipart body into numbered folders."""

    def __init__(self, folder: Path, suffixes: Sequence[str]) -> None:
        self.names: list[str] = []
        self.refusals: list[str] = []
        self.whole = False
        self._folder = folder
        self._suffixes = tuple(suffixes)
        self._header = b""
        self._value = b""
        self._disposition = b""
        self._file: Any = None
        self._size = self._parts = 0

    @property
    def callbacks(self) -> Any:
        """The callbacks of the multipart parser."""
        return {
            "on_part_begin": self._begin,
            "on_header_field": self._add_to_header,
            "on_header_value": self._add_to_value,
            "on_header_end": self._end_header,
            "on_headers_finished": self._open,
            "on_part_data": self._write,
            "on_part_end": self.close,
            "on_end": self._end,
        }

    def _end(self) -> None:
        self.whole = True

    def _begin(self) -> None:
        self._parts += 1
        if self._parts > MOST_FILES:
            raise UsageError(f"More than {MOST_FILES:,} parts in one request: send several.")
        self._header = self._value = self._disposition = b""
        self._size = 0

    def _add_to_header(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _add_to_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _end_header(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._disposition = self._value
        self._header = self._value = b""

    def _open(self) -> None:
        _, options = parse_options_header(self._disposition)
        if b"filename" not in options:
            return
        name = upload_name(options[b"filename"].decode("utf-8", "replace"))
        self.names.append(name)
        if name.lower().endswith(self._suffixes):
            self._file = open_numbered(self._folder, len(self.names) - 1, name)
        else:
            self._refuse(f"{name!r:.200} is of no known format: {', '.join(self._suffixes)}.")

    def _write(self, data: bytes, start: int, end: int) -> None:
        if self._file:
            self._size += end - start
            if self._size > MAX_BYTES:
                self.close()
                shutil.rmtree(self._folder / str(len(self.names) - 1))
                self._refuse(
                    f"{self.names[-1]!r:.200} has more than the limit of {MAX_BYTES >> 20} MiB: "
                    "cut it into smaller files."
                )
            else:
                self._file.write(data[start:end])

    def _refuse(self, reason: str) -> None:
        """Keep the reason why the current file is not read, in place of the file."""
        self.refusals.append(reason)
        with open_numbered(self._folder, len(self.names) - 1, f"reason{REFUSED}") as file:
            file.write(reason.encode())

    def close(self) -> None:
        """Close the current file."""
        if self._file:
            self._file.close()
            self._file = None


async def _receive_files(
    request: Request, boundary: bytes, folder: Path, suffixes: Sequence[str]
) -> list[str]:
    files = _Files(folder, suffixes)
    try:
        parser = MultipartParser(boundary, files.callbacks)
        async for piece in request.stream():
            await asyncio.to_thread(parser.write, piece)
    except FormParserError as error:
        raise UsageError(f"The request is not well-formed multipart/form-data ({error}).") from None
    finally:
        files.close()
    if not files.whole:
        raise UsageError("The request ends before its last boundary: send it again.")
    if not files.names:
        raise UsageError("The request has no file: send each as a part with a filename.")
    if len(files.refusals) == len(files.names):
        raise UsageError(files.refusals[0])
    if len(set(files.names)) < len(files.names):
        raise UsageError("Two files of the request have the same name: give each its own.")
    return files.names


async def _receive_texts(request: Request, folder: Path) -> list[str]:
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_JSON:
            raise UsageError(
                f"More than {MOST_JSON >> 20} MiB of JSON in one request: send several, or files."
            )
    try:
        texts = await asyncio.to_thread(Texts.model_validate_json, bytes(body))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = "/".join(map(str, first["loc"]))
        raise UsageError(f"The JSON is not as it must be: {where}: {first['msg']}.") from None

    def write() -> None:
        with open_numbered(folder, 0, "texts.jsonl") as file:
            for one in texts.documents:
                file.write(json.dumps(one.model_dump(exclude_none=True)).encode() + b"\n")

    await asyncio.to_thread(write)
    return ["texts.jsonl"]


def upload_name(name: str) -> str:
    """Clean the name of an uploaded file to a relative path without `..` or empty parts."""
    parts = PurePosixPath(without_controls(name.replace("\\", "/"))).parts
    kept = [part for part in (" ".join(one.split()) for one in parts) if part.strip(" ./")]
    if not kept or len("/".join(kept)) > 500:
        raise UsageError(
            f"{name!r:.100} is no name for a file: give it one of 1 to 500 characters."
        )
    return "/".join(kept)


def open_numbered(folder: Path, number: int, name: str) -> Any:
    """Open a new file, named by the last part of `name`, in a folder with the given number."""
    place = folder / str(number)
    place.mkdir(parents=True, mode=0o700)
    stem, suffix = os.path.splitext(PurePosixPath(name).name)
    while len(f"{stem}{suffix}".encode()) > 200:
        stem = stem[:-1]
    return place.joinpath(stem + suffix).open("xb")


@router.get("/api/jobs")
async def jobs(server: ServicesDep, visitor: Visitor, page: Paged) -> dict[str, Any]:
    """List the jobs that add texts, newest first."""
    found = [one for one in await server.jobs.store.all() if visitor.sees(one.corpus)]
    return page.of("jobs", [asdict(one) for one in found])


async def _job(job: str, server: ServicesDep, visitor: Visitor) -> Job:
    found = await server.jobs.store.find(job)
    if found is None or not visitor.sees(found.corpus):
        raise UnknownDocumentError("There is no such job, or this token does not open it.")
    return found


@router.get("/api/jobs/{job}")
async def show_job(job: str, server: ServicesDep, visitor: Visitor) -> dict[str, Any]:
    """Show a job and its progress."""
    found = await _job(job, server, visitor)
    return {**asdict(found), "progress": dict(server.jobs.progress_of(job))}


@router.get("/api/jobs/{job}/events")
async def watch_job(job: str, server: ServicesDep, visitor: Visitor) -> Response:
    """Watch a job: the job with its progress, after each change."""
    await _job(job, server, visitor)

    async def events() -> AsyncIterator[ServerSentEvent]:
        async for state in server.jobs.watch(job):
            yield ServerSentEvent(json.dumps(state, ensure_ascii=False), event="job")

    return EventStream(events())


@router.post("/api/jobs/{job}/cancel", status_code=HTTPStatus.NO_CONTENT)
async def cancel_job(job: str, server: ServicesDep, visitor: Visitor) -> None:
    """Cancel a job; the texts that it has read stay."""
    found = await _job(job, server, visitor)
    must_write(visitor)
    await server.jobs.cancel(found)


@router.get("/api/corpora/{corpus}/key-elements")
async def search(
    corpus: Readable,
    server: ServicesDep,
    visitor: Visitor,
    text: Annotated[str, Query(max_length=2_000, description="Words, a name or a question.")],
    limit: Annotated[int, Query(ge=1, le=1000)] = 20,
    scope: Annotated[ScopeTerms, Query(description="Only the documents of this scope.")] = [],  # noqa: B006
) -> dict[str, Any]:
    """Search key elements by words and by meaning, best first."""
    found = await server.reader_of(visitor, corpus).asearch(text, limit=limit, scope=scope)
    return {"key_elements": [one.as_dict() for one in found]}


@router.get("/api/corpora/{corpus}/key-elements/{element}/facts")
async def facts(
    element: str, corpus: Readable, server: ServicesDep, visitor: Visitor
) -> dict[str, Any]:
    """Read the atomic facts that name a key element, by its id, name or wording."""
    return (await server.reader_of(visitor, corpus).afacts(element)).as_dict()


@router.get("/api/corpora/{corpus}/key-elements/{element}/neighbors")
async def neighbors(
    element: str,
    corpus: Readable,
    server: ServicesDep,
    visitor: Visitor,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> dict[str, Any]:
    """Find the key elements that share facts with a key element, most shared facts first."""
    found = await server.reader_of(visitor, corpus).aneighbors(element, limit=limit)
    return {"neighbors": [one.as_dict() for one in found]}


@router.get("/api/corpora/{corpus}/documents/{document}/outline")
async def outline(document: str, corpus: Readable, server: ServicesDep) -> dict[str, Any]:
    """Show the outline of a document: its headings, and a sentence about each chunk."""
    return {"chunks": [asdict(one) for one in await server.reader.at(corpus).aoutline(document)]}


@router.get("/api/corpora/{corpus}/documents/{document}/chunks/{chunk}")
async def chunk(document: str, chunk: int, corpus: Readable, server: ServicesDep) -> dict[str, Any]:
    """Read a chunk in full, by its index in the document, from 0."""
    found = await server.reader.at(corpus).achunk(document, chunk)
    return {**found.as_dict(), "source": relative_name(found.source)}


@router.get("/api/corpora/{corpus}/export")
async def export(corpus: Readable, server: ServicesDep) -> Response:
    """Export the whole corpus as JSON Lines, for `graphreader import`."""
    folder = await asyncio.to_thread(tempfile.mkdtemp, prefix="graphreader-export-")
    remove = BackgroundTask(shutil.rmtree, folder, True)
    try:
        path = Path(folder, "corpus.jsonl")
        await server.reader.at(corpus).aexport(path)
    except BaseException:
        await asyncio.to_thread(shutil.rmtree, folder, True)
        raise
    return FileResponse(path, media_type="application/jsonl", filename=path.name, background=remove)
