"""The page of a run, updated live until it has ended, then with its answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse
from sse_starlette import ServerSentEvent

from graphreader.errors import UnknownRunError
from graphreader.html_report.page import sections, visited_part
from graphreader.web.access import Token
from graphreader.web.live_runs import LiveRun
from graphreader.web.pages import CHANGE_SECONDS, page, render
from graphreader.web.problems import detail_of
from graphreader.web.run_progress import RunProgress
from graphreader.web.services import EventStream, Services, ServicesDep, Visitor, corpus_of_run

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
_STORED_SECONDS = 3.0  # between two reads of a run of another process
_MOST_EARLIER = 20  # earlier questions of a conversation shown above


@dataclass(frozen=True, slots=True)
class _RunView:
    """A run prepared for its page; `status` as in `runs list`."""

    run: str
    corpus: str
    question: str
    status: str
    progress: RunProgress
    error: str | None = None
    follow: str | None = None
    began: float = 0.0
    is_kept: bool = True


async def _view(server: Services, visitor: Token, run: str) -> _RunView:
    corpus = await corpus_of_run(server, visitor, run)
    if live := server.runs.find(run):
        error = detail_of(live.failure) if live.failure else None
        return _RunView(
            run,
            corpus,
            live.question,
            _status(live),
            live.progress,
            error,
            live.follow,
            live.began,
            live.is_kept,
        )
    kept = await server.reader.arun(run)
    summary = kept.summary
    progress = RunProgress(corpus, summary.question, reading=kept.reading)
    for event in kept.events:
        progress.add(event)
    return _RunView(
        run,
        corpus,
        summary.question,
        summary.status,
        progress,
        summary.error,
        summary.follow,
        summary.began,
    )


def _status(live: LiveRun) -> str:
    if live.ended is None:
        return "running"
    return "finished" if live.reading else "failed" if live.failure else "interrupted"


async def _run_part(request: Request, server: Services, view: _RunView) -> str:
    """Render the sections of a run, up to its current state."""
    reading = view.progress.so_far()
    connection = await server.resources.connection()
    passages, subgraph = await visited_part(connection, reading, list(view.progress.places))
    is_over = view.progress.reading is not None
    values = sections(
        reading,
        passages,
        subgraph,
        () if is_over else view.progress.under_way,
        is_over=is_over,
        is_running=view.status == "running",
    )
    needs = view.progress.needs
    return render(request, "run_part.html", view=view, corpus=view.corpus, needs=needs, **values)


@router.get("/runs/{run}")
async def run_page(run: str, request: Request, server: ServicesDep, visitor: Visitor) -> Response:
    """The page of a run, updated live until it has ended, then with its answer."""
    view = await _view(server, visitor, run)
    part = await _run_part(request, server, view)
    earlier = [one async for one in _earlier(server, visitor, view)]
    values: dict[str, Any] = {
        "view": view,
        "part": part,
        "earlier": earlier[::-1],
        "question": view.question,
    }
    return page(request, "run_page.html", corpus=view.corpus, here="runs", **values)


async def _earlier(server: Services, visitor: Token, view: _RunView) -> AsyncIterator[_RunView]:
    """Yield the earlier runs that a run follows up, the latest first."""
    seen, follow = {view.run}, view.follow
    while follow and follow not in seen and len(seen) <= _MOST_EARLIER:
        seen.add(follow)
        try:
            before = await _view(server, visitor, follow)
        except UnknownRunError:  # deleted meanwhile
            return
        yield before
        follow = before.follow


@router.get("/runs/{run}/live")
async def live_run(run: str, request: Request, server: ServicesDep, visitor: Visitor) -> Response:
    """Stream the sections of a run after each change, until it has ended."""
    await corpus_of_run(server, visitor, run)

    async def events() -> AsyncIterator[ServerSentEvent]:
        version = -1
        while (live := server.runs.find(run)) and live.ended is None:
            changed = live.changed
            if live.progress.version != version:
                version = live.progress.version
                view = await _view(server, visitor, run)
                yield ServerSentEvent(await _run_part(request, server, view), event="part")
            await asyncio.sleep(CHANGE_SECONDS)
            if live.progress.version == version and live.ended is None:
                await changed.wait()
        with suppress(UnknownRunError):  # deleted meanwhile
            while True:
                view = await _view(server, visitor, run)
                yield ServerSentEvent(await _run_part(request, server, view), event="part")
                if view.status != "running":
                    break
                await asyncio.sleep(_STORED_SECONDS)  # another process works on it
        yield ServerSentEvent("", event="over")

    return EventStream(events())
