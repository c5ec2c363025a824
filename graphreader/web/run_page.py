"""The page of a run, updated live until it has ended, then with its answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse
from sse_starlette import ServerSentEvent

from graphreader.agent.run_view import RunView
from graphreader.errors import RunsError, UnknownRunError
from graphreader.pages.page import sections, visited_part
from graphreader.reading import Reading
from graphreader.web.access import Token
from graphreader.web.live_runs import LiveRun
from graphreader.web.page_routes import CHANGE_SECONDS, page, render
from graphreader.web.problems import detail_of
from graphreader.web.services import EventStream, Services, ServicesDep, Visitor, corpus_of_run

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
_STORED_SECONDS = 3.0  # between two reads of a run of another process
_MOST_EARLIER = 20  # earlier questions of a conversation shown above


@dataclass(frozen=True, slots=True)
class _ShownRun:
    """A run prepared for its page; `status` as in `runs list`."""

    run: str
    corpus: str
    question: str
    status: str
    view: RunView
    error: str | None = None
    follow: str | None = None
    began: float = 0.0
    is_kept: bool = True
    scope: tuple[str, ...] = ()


async def _shown_run(server: Services, visitor: Token, run: str) -> _ShownRun:
    corpus = await corpus_of_run(server, visitor, run)
    if live := server.runs.find(run):
        error = detail_of(live.failure) if live.failure else None
        return _ShownRun(
            run,
            corpus,
            live.question,
            _status(live),
            live.view,
            error,
            live.follow,
            live.began,
            live.is_kept,
            await _scope(server, run, live.reading),
        )
    kept = await server.reader.arun(run)
    summary = kept.summary
    view = RunView(corpus, summary.question, kept.reading)
    for event in kept.events:
        view.apply(event)
    return _ShownRun(
        run,
        corpus,
        summary.question,
        summary.status,
        view,
        summary.error,
        summary.follow,
        summary.began,
        scope=await _scope(server, run, kept.reading),
    )


async def _scope(server: Services, run: str, reading: Reading | None) -> tuple[str, ...]:
    """The terms of the scope of a run; until it has ended, as far as it is kept."""
    if reading:
        return reading.scope
    store, record = server.resources.run_store, None
    with suppress(RunsError):  # the page of a live run needs no store
        record = await store.find(run) if store else None
    return record.scope.terms if record else ()


def _status(live: LiveRun) -> str:
    if live.ended is None:
        return "running"
    return "finished" if live.reading else "failed" if live.failure else "interrupted"


async def _run_part(request: Request, server: Services, shown: _ShownRun) -> str:
    """Render the sections of a run, up to its current state."""
    reading = shown.view.so_far()
    connection = await server.resources.connection()
    passages, subgraph = await visited_part(connection, reading, list(shown.view.shown))
    is_over = shown.view.reading is not None
    values = sections(
        reading,
        passages,
        subgraph,
        () if is_over else shown.view.active_paths,
        is_over=is_over,
        is_running=shown.status == "running",
    )
    needs = shown.view.needs
    return render(request, "run_part.html", shown=shown, corpus=shown.corpus, needs=needs, **values)


@router.get("/runs/{run}")
async def run_page(run: str, request: Request, server: ServicesDep, visitor: Visitor) -> Response:
    """The page of a run, updated live until it has ended, then with its answer."""
    shown = await _shown_run(server, visitor, run)
    part = await _run_part(request, server, shown)
    earlier = [one async for one in _earlier(server, visitor, shown)]
    values: dict[str, Any] = {
        "shown": shown,
        "part": part,
        "earlier": earlier[::-1],
        "question": shown.question,
    }
    return page(request, "run_page.html", corpus=shown.corpus, here="runs", **values)


async def _earlier(server: Services, visitor: Token, shown: _ShownRun) -> AsyncIterator[_ShownRun]:
    """Yield the earlier runs that a run follows up, the latest first."""
    seen, follow = {shown.run}, shown.follow
    while follow and follow not in seen and len(seen) <= _MOST_EARLIER:
        seen.add(follow)
        try:
            before = await _shown_run(server, visitor, follow)
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
            if live.view.version != version:
                version = live.view.version
                shown = await _shown_run(server, visitor, run)
                yield ServerSentEvent(await _run_part(request, server, shown), event="part")
            await asyncio.sleep(CHANGE_SECONDS)
            if live.view.version == version and live.ended is None:
                await changed.wait()
        with suppress(UnknownRunError):  # deleted meanwhile
            while True:
                shown = await _shown_run(server, visitor, run)
                yield ServerSentEvent(await _run_part(request, server, shown), event="part")
                if shown.status != "running":
                    break
                await asyncio.sleep(_STORED_SECONDS)  # another process works on it
        yield ServerSentEvent("", event="over")

    return EventStream(events())
