"""The HTML pages of `graphreader serve`, from templates, with parts that are updated live.

A live part is sent again as a whole whenever its content has changed.
"""

import asyncio
import hashlib
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from http import HTTPStatus
from importlib.resources import files
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, PackageLoader
from sse_starlette import ServerSentEvent

from graphreader.agent.modes import MODES
from graphreader.documents import check_corpus_name
from graphreader.errors import UnknownCorpusError
from graphreader.graph_reader import MAX_LIMIT
from graphreader.ingestion.loading.formats import PICTURES, SUFFIXES
from graphreader.pages.graph_view import graph_element
from graphreader.pages.page import environment
from graphreader.store.catalog import CorpusSummary, Stats
from graphreader.store.embedded.server import browser_address
from graphreader.store.run_graph import run_subgraph
from graphreader.web.access import NotAllowedError
from graphreader.web.jobs import Job, JobProgress
from graphreader.web.protection import COOKIE
from graphreader.web.services import (
    EventStream,
    Page,
    Paged,
    Readable,
    Services,
    ServicesDep,
    Visitor,
    titled,
)

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
CHANGE_SECONDS = 0.4  # between two updates of a live part
_WRONG_SECONDS = 1.0  # delay of the answer to a wrong token
_SHOWN_JOBS = 5
_MOST_SIZES = 1_000  # cached sizes of corpora
_MOST_TIED = 200  # neighbors whose common facts are drawn as well
_READERS = ("rag-bm25-3", "rag-embedding-3", "full-text", "read-agent-p", "search-agent")
_MOST_NEIGHBORS = 2_000

_STATIC = {
    "page.css": "graphreader.pages",
    "page.js": "graphreader.pages",
    "drawing.js": "graphreader.pages",
    "cytoscape/cytoscape.min.js": "graphreader.pages",
    "app.css": "graphreader.web.static",
    "app.js": "graphreader.web.static",
    "idiomorph/idiomorph.min.js": "graphreader.web.static",
}
_TYPES = {"css": "text/css", "js": "text/javascript"}
_FOREVER = {"Cache-Control": "public, max-age=31536000, immutable"}


@cache
def _static(name: str) -> tuple[bytes, str]:
    """Read a static file of the pages; return it with the beginning of its hash."""
    content = (files(_STATIC[name]) / name).read_bytes()
    return content, hashlib.sha256(content).hexdigest()[:16]


@router.get("/static/{name:path}")
async def static(name: str) -> Response:
    """Send a style, script or library; its address changes with its content."""
    if name not in _STATIC:
        return Response(status_code=HTTPStatus.NOT_FOUND)
    media_type = _TYPES[name.rpartition(".")[2]]
    return Response(_static(name)[0], media_type=f"{media_type}; charset=utf-8", headers=_FOREVER)


@cache
def _environment() -> Environment:
    own = environment(PackageLoader("graphreader.web"))
    own.filters["time"] = lambda seconds: datetime.fromtimestamp(seconds, UTC).isoformat()
    own.filters["size"] = lambda number: f"{number:,}"
    own.globals["modes"] = list(MODES.values())
    return own


def root_of(request: Request) -> str:
    """The path prefix under which a proxy serves the pages; empty: none."""
    root: str = request.scope.get("root_path", "")
    return root


def render(request: Request, template: str, **values: Any) -> str:
    """Render a template; in it, `at` makes the address of a path behind a proxy."""
    root = root_of(request)

    def at(path: str) -> str:
        return f"{root}{path}"

    return (
        _environment()
        .get_template(template)
        .render(
            root=root,
            at=at,
            static=lambda name: at(f"/static/{name}?{_static(name)[1]}"),
            visitor=getattr(request.state, "token", None),
            with_tokens=request.app.state.services.tokens is not None,
            readers=_READERS,
            **values,
        )
    )


def page(request: Request, template: str, status: int = HTTPStatus.OK, **values: Any) -> Response:
    """Render a whole page as a response."""
    return HTMLResponse(render(request, template, **values), status)


def refusal(request: Request, status: int, detail: str) -> Response | None:
    """Render a refusal as a page if a browser asks for one, else return None."""
    path = request.url.path.removeprefix(root_of(request))
    wants_page = "text/html" in request.headers.get("accept", "")
    if not wants_page or path.startswith(("/api/", "/v1/", "/mcp")):
        return None
    heading = "Not found" if status == HTTPStatus.NOT_FOUND else HTTPStatus(status).phrase
    return page(request, "error.html", status, heading=heading, detail=detail)


@router.get("/")
async def home(request: Request, server: ServicesDep, visitor: Visitor) -> Response:
    """The page with the list of corpora."""
    corpora = [one for one in await server.reader.acorpora() if visitor.sees(one.corpus)]
    return page(request, "home.html", corpora=corpora, may_create=visitor.role == "admin")


@router.get("/login")
async def login_page(request: Request) -> Response:
    """The page with the form for a token."""
    return page(request, "login.html", wrong=False)


@router.post("/login")
async def login(
    request: Request, server: ServicesDep, token: Annotated[str, Form()] = ""
) -> Response:
    """Log in: store a token in a cookie that no script and no other site can use."""
    found = await server.tokens.afind(token.strip()) if server.tokens else None
    if found is None:
        await asyncio.sleep(_WRONG_SECONDS)
        return page(request, "login.html", HTTPStatus.UNAUTHORIZED, wrong=True)
    root = root_of(request)
    response = RedirectResponse(f"{root}/", HTTPStatus.SEE_OTHER)
    seconds = int(found.expires - time.time()) if found.expires else 30 * 86_400
    response.set_cookie(
        COOKIE,
        token.strip(),
        max_age=seconds,
        path=f"{root}/",
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return response


@router.post("/logout")
async def logout(request: Request) -> Response:
    """Log out: delete the token's cookie."""
    root = root_of(request)
    response = RedirectResponse(f"{root}/login", HTTPStatus.SEE_OTHER)
    response.delete_cookie(COOKIE, path=f"{root}/", httponly=True, samesite="strict")
    return response


@router.post("/corpora")
async def create(
    request: Request, visitor: Visitor, corpus: Annotated[str, Form()] = ""
) -> Response:
    """Redirect to the documents of a new corpus, which its first text creates."""
    name = check_corpus_name(corpus.strip(), is_new=True)
    if not visitor.sees(name):
        raise NotAllowedError("This token does not open a corpus of that name.")
    return _to_documents(request, name)


def _to_documents(request: Request, corpus: str) -> Response:
    root = root_of(request)
    return RedirectResponse(f"{root}/corpora/{quote(corpus)}/documents", HTTPStatus.SEE_OTHER)


@router.get("/corpora/{corpus}")
async def ask_page(
    corpus: Readable, request: Request, server: ServicesDep, visitor: Visitor
) -> Response:
    """The page with the question box and the latest questions."""
    summary = await _summary(server, corpus)
    if summary is None:
        return _to_documents(request, corpus)
    runs = await server.reader.aruns(corpus)
    mode = server.resources.settings.mode
    values: dict[str, Any] = {"runs": runs[:10], "total": len(runs), "mode": mode}
    return page(request, "ask.html", corpus=corpus, here="ask", summary=summary, **values)


async def _summary(server: Services, corpus: str) -> CorpusSummary | None:
    found = await server.reader.acorpora()
    return next((one for one in found if one.corpus == corpus), None)


@router.get("/corpora/{corpus}/sizes")
async def sizes_part(
    corpus: Readable, request: Request, server: ServicesDep, visitor: Visitor
) -> Response:
    """The part of the question page with the sizes of a corpus, which may take seconds."""
    summary = await _summary(server, corpus)
    known: dict[CorpusSummary | None, Stats] = request.app.state.sizes
    if summary not in known:
        if len(known) >= _MOST_SIZES:
            known.clear()
        known[summary] = await server.reader.at(corpus).astats()
    return page(request, "sizes.html", corpus=corpus, stats=known[summary])


@router.get("/corpora/{corpus}/runs")
async def runs_page(
    corpus: Readable, request: Request, server: ServicesDep, visitor: Visitor, part: Paged
) -> Response:
    """The page with all stored runs."""
    runs = await server.reader.aruns(corpus)
    values = _part(part, runs, "runs")
    return page(request, "runs.html", corpus=corpus, here="runs", **values)


def _part(part: Page, items: list[Any], name: str) -> dict[str, Any]:
    return {**part.of(name, items), "skip": part.skip, "limit": part.limit}


@router.get("/corpora/{corpus}/documents")
async def documents_page(
    corpus: Readable,
    request: Request,
    server: ServicesDep,
    visitor: Visitor,
    part: Paged,
    title: Annotated[str, Query(max_length=300)] = "",
) -> Response:
    """The page with the documents and the running jobs."""
    try:
        found = await server.reader.at(corpus).adocuments()
    except UnknownCorpusError:
        found = []
    return page(
        request,
        "documents.html",
        corpus=corpus,
        here="documents",
        title=title,
        all=len(found),
        incomplete=sum(one.status == "incomplete" for one in found),
        suffixes=SUFFIXES,
        pictures=PICTURES,
        jobs=await _jobs(server, corpus),
        **_part(part, titled(found, title), "documents"),
    )


@dataclass(frozen=True, slots=True)
class _ShownJob:
    """A job with the progress of each of its files, for a template."""

    job: Job
    documents: list[dict[str, Any]]
    progress: dict[str, Any]

    @property
    def is_over(self) -> bool:
        return self.job.state not in ("queued", "running")


async def _jobs(server: Services, corpus: str) -> list[_ShownJob]:
    latest = await server.jobs.store.latest(corpus, _SHOWN_JOBS)
    return [_shown(server, one) for one in latest]


def _shown(server: Services, job: Job) -> _ShownJob:
    progress = JobProgress().as_dict() | dict(server.jobs.progress_of(job.job))
    documents = (job.report or progress).get("documents", [])
    return _ShownJob(job, list(documents), progress)


@router.get("/corpora/{corpus}/jobs/live")
async def live_jobs(
    corpus: Readable, request: Request, server: ServicesDep, visitor: Visitor
) -> Response:
    """Stream the jobs of a corpus after each change, until all have ended."""

    async def events() -> AsyncIterator[ServerSentEvent]:
        latest = ""
        while True:
            shown = await _jobs(server, corpus)
            part = render(request, "jobs.html", corpus=corpus, jobs=shown)
            if part != latest:
                latest = part
                yield ServerSentEvent(part, event="part")
            if all(one.is_over for one in shown):
                yield ServerSentEvent("", event="over")
                return
            await asyncio.sleep(CHANGE_SECONDS)

    return EventStream(events())


@router.get("/corpora/{corpus}/documents/{document}")
async def document_page(
    corpus: Readable,
    document: str,
    request: Request,
    server: ServicesDep,
    visitor: Visitor,
    chunk: Annotated[int, Query(ge=0, le=2**31)] = 0,
    start: Annotated[int, Query(ge=0, le=2**53)] = 0,
    end: Annotated[int, Query(ge=0, le=2**53)] = 0,
) -> Response:
    """The page of a document with its chunks; characters `start` to `end` are marked."""
    reader = server.reader.at(corpus)
    outline = await reader.aoutline(document)
    shown = await reader.achunk(document, chunk)
    cuts = [min(max(one - shown.start, 0), len(shown.text)) for one in (start, max(start, end))]
    pieces = (shown.text[: cuts[0]], shown.text[slice(*cuts)], shown.text[cuts[1] :])
    values: dict[str, Any] = {"chunk": shown, "outline": outline, "pieces": pieces}
    return page(request, "document.html", corpus=corpus, here="documents", **values)


@router.get("/corpora/{corpus}/search")
async def search_page(
    corpus: Readable,
    request: Request,
    server: ServicesDep,
    visitor: Visitor,
    text: Annotated[str, Query(max_length=2_000)] = "",
) -> Response:
    """The page with search results: key elements, and passages with their facts."""
    elements: list[Any] = []
    hits: list[Any] = []
    if text.strip():
        reader = server.reader_of(visitor, corpus)
        explorer = await server.resources.explorer(corpus)
        elements, (found,) = await asyncio.gather(
            reader.asearch(text, limit=30), explorer.search([text], 10)
        )
        hits = [one.item for one in found.hits]
    values: dict[str, Any] = {"text": text, "elements": elements, "hits": hits}
    return page(request, "search.html", corpus=corpus, here="search", **values)


@router.get("/corpora/{corpus}/elements/{element}")
async def element_page(
    corpus: Readable,
    element: str,
    request: Request,
    server: ServicesDep,
    visitor: Visitor,
    neighbors: Annotated[int, Query(ge=1, le=_MOST_NEIGHBORS)] = 30,
) -> Response:
    """The page of a key element with its facts and neighborhood."""
    reader = server.reader_of(visitor, corpus)
    facts = await reader.afacts(element)
    near = await reader.aneighbors(facts.element.id, limit=min(neighbors, MAX_LIMIT))
    root = root_of(request)
    named = [(facts.element.id, facts.element.name), *((one.id, one.name) for one in near)]
    nodes = [
        graph_element(
            "element begins" if id == facts.element.id else "element",
            id=id,
            name=name,
            label=name,
            href=f"{root}/corpora/{quote(corpus)}/elements/{id}",
        )
        for id, name in named
    ]
    if len(near) > _MOST_TIED:
        ties = [(facts.element.id, one.id, one.shared, "") for one in near]
    else:
        connection = await server.resources.connection()
        ids = [facts.element.id, *(one.id for one in near)]
        edges = (await run_subgraph(connection, corpus, ids)).edges
        ties = [(edge.one, edge.other, edge.facts, edge.fact) for edge in edges]
    lines = [
        graph_element("tie" if fact else "spoke", source=one, target=other, facts=count, fact=fact)
        for one, other, count, fact in ties
    ]
    return page(
        request,
        "element.html",
        corpus=corpus,
        here="search",
        found=facts,
        near=near,
        elements=[*nodes, *lines],
        asked=neighbors,
        browser=await _browser_link(server, facts.element.name, corpus),
    )


async def _browser_link(server: Services, name: str, corpus: str) -> str | None:
    """The address of a key element in Neo4j Browser, for users of this machine."""
    settings = server.resources.settings
    address = None if server.tokens else await asyncio.to_thread(browser_address, settings)
    statement = (
        f"MATCH (k:KeyElement {{corpus: {json.dumps(corpus)}, name: {json.dumps(name)}}})"
        "<-[names:HAS_KEY_ELEMENT]-(f:AtomicFact)<-[has:HAS_ATOMIC_FACT]-(c:Chunk)\n"
        "RETURN k, names, f, has, c LIMIT 30"
    )
    return f"{address}?cmd=edit&arg={quote(statement)}" if address else None


@router.get("/docs")
async def docs_page(request: Request) -> Response:
    """The page that describes the HTTP interface, operation by operation."""
    return page(request, "api.html", api=request.app.openapi())
