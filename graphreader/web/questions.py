"""Routes of questions and runs: ask, watch, stop, resume, list, delete, report."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Header, Response
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel, Field
from sse_starlette import ServerSentEvent

from graphreader.agent.events import Event, QuestionAnswered
from graphreader.baselines.registry import aask, check_for_corpus
from graphreader.errors import UsageError
from graphreader.llm.protocols import Quota
from graphreader.pages.page import render, visited_part
from graphreader.resources import Resources
from graphreader.runs import RunRequest, with_options
from graphreader.scope import EVERYTHING, Scope
from graphreader.settings import ModeName, SweepChoice
from graphreader.web.live_runs import LiveEvent, LiveRun, events_of, first_unseen
from graphreader.web.problems import problem
from graphreader.web.services import (
    EventStream,
    Paged,
    Readable,
    ScopeTerms,
    ServicesDep,
    Visitor,
    corpus_of_run,
    must_write,
)

router = APIRouter(tags=["questions"])
ANSWER_SECONDS = 600.0  # longest wait of a request for its answer; the run itself continues


class Question(BaseModel):
    """The body of a request that asks a question."""

    question: str = Field(max_length=20_000, description="A whole question.")
    mode: ModeName | None = Field(None, description="In place of the server's mode.")
    reader: str | None = Field(
        None, max_length=100, description="Another reader, to compare: `rag-bm25-3`, `full-text`..."
    )
    follow: str | None = Field(None, description="The run that the question follows up.")
    sweep: SweepChoice | None = Field(
        None, description="Whether all texts may be read, in place of the server's setting."
    )
    sweep_tokens: int | None = Field(
        None, ge=1, description="Most tokens that a sweep may read, in place of the setting."
    )
    scope: ScopeTerms | None = Field(
        None, description="Only these documents: `reports/`, `tag:contract`, `2023-01..2023-06`."
    )
    options: list[Annotated[str, Field(max_length=2_000)]] = Field(
        default_factory=list, max_length=20, description="The answer is one of these."
    )


@router.post("/api/corpora/{corpus}/questions")
async def ask(
    asked: Question,
    corpus: Readable,
    server: ServicesDep,
    visitor: Visitor,
    accept: Annotated[str, Header()] = "",
    prefer: Annotated[str, Header()] = "",
) -> Response:
    """Ask a question.

    The reply is the reading as JSON; with `Accept: text/event-stream` the events of the run as they
    occur; with `Prefer: respond-async` the run's id at once, to be watched under `/api/runs`.
    """
    if asked.reader not in (None, "graphreader"):
        check_for_corpus(asked.reader)
    if asked.follow is not None:
        await corpus_of_run(server, visitor, asked.follow)
    scope = None if asked.scope is None else Scope.of(asked.scope)
    if scope is not None and scope != EVERYTHING:
        await (await server.resources.catalog(corpus)).in_scope(corpus, scope)
    request = RunRequest(
        corpus,
        with_options(asked.question, asked.options),
        mode=asked.mode,
        follow=asked.follow,
        sweep=asked.sweep,
        sweep_tokens=asked.sweep_tokens,
        scope=scope,
        stream_answer=True,
    )
    if asked.reader not in (None, "graphreader"):
        quota = server.runs.quota_of(visitor)
        events = _other_reader(asked.reader, server.resources, request, quota)
        live = await server.runs.begin(visitor, request, events=events)
    else:
        live = await server.runs.begin(visitor, request)
    headers = {"Location": f"/api/runs/{live.run}"}
    if "respond-async" in prefer:
        return JSONResponse({"run": live.run}, HTTPStatus.ACCEPTED, headers)
    if "text/event-stream" in accept:
        return _stream(live, 0, headers)
    return await _answer(live, headers)


async def _other_reader(
    name: str, resources: Resources, request: RunRequest, quota: Quota | None
) -> AsyncGenerator[Event]:
    asked, scope = (request.corpus, request.question), request.scope or EVERYTHING
    yield QuestionAnswered(await aask(name, resources, *asked, quota, scope))


async def _answer(live: LiveRun, headers: dict[str, str]) -> Response:
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            reading = await live.result()
    except TimeoutError:
        detail = f"No answer after {ANSWER_SECONDS:.0f} s: the run {live.run} goes on, watch it."
        return problem(HTTPStatus.GATEWAY_TIMEOUT, detail, headers, run=live.run)
    return JSONResponse(dict(reading.as_dict()), headers=headers)


def _stream(live: LiveRun, after: int, headers: dict[str, str] | None = None) -> Response:
    async def events() -> AsyncIterator[ServerSentEvent]:
        async for number, event in live.watch(after):
            yield _sent(number, event)

    return EventStream(events(), headers)


def _sent(number: int, event: LiveEvent) -> ServerSentEvent:
    return ServerSentEvent(event.data, event=event.name, id=str(number))


@router.get("/api/corpora/{corpus}/runs")
async def runs(corpus: Readable, server: ServicesDep, page: Paged) -> dict[str, Any]:
    """List the stored runs of a corpus, newest first."""
    return page.of("runs", await server.reader.aruns(corpus))


@router.get("/api/runs/{run}")
async def run(run: str, server: ServicesDep, visitor: Visitor) -> dict[str, Any]:
    """Show a run: its events so far, and its reading once it has ended."""
    corpus = await corpus_of_run(server, visitor, run)
    if live := server.runs.find(run):
        state = "running" if live.ended is None else "finished" if live.reading else "failed"
        reading = live.reading.as_dict() if live.reading else None
        known = {"run": run, "corpus": corpus, "question": live.question, "status": state}
        events = [json.loads(one.data) for one in live.events]
        return {**known, "events": events, "reading": reading}
    return dict((await server.reader.arun(run)).as_dict())


@router.get("/api/runs/{run}/events")
async def watch(
    run: str,
    server: ServicesDep,
    visitor: Visitor,
    last_event_id: Annotated[str, Header()] = "",
) -> Response:
    """Watch a run: its events from the beginning, or after `Last-Event-ID`, as they occur."""
    await corpus_of_run(server, visitor, run)
    after = int(last_event_id) if last_event_id.isdecimal() and len(last_event_id) < 10 else 0
    if live := server.runs.find(run):
        return _stream(live, after)
    kept = events_of(await server.reader.arun(run))

    async def events() -> AsyncIterator[ServerSentEvent]:
        for number in range(first_unseen(after, kept), len(kept)):
            yield _sent(number + 1, kept[number])

    return EventStream(events())


@router.post("/api/runs/{run}/stop", status_code=HTTPStatus.NO_CONTENT)
async def stop(run: str, server: ServicesDep, visitor: Visitor) -> None:
    """Stop a running question; it can be resumed. Other users' runs need a writer's token."""
    await corpus_of_run(server, visitor, run)
    if (live := server.runs.find(run)) and live.holder != visitor.name:
        must_write(visitor)
    if not await server.runs.stop(run) and not live:
        kept = (await server.reader.arun(run)).summary
        if kept.status == "running":
            raise UsageError(
                f"The run {run} is under way in another process ({kept.process}): stop it there."
            )


@router.post("/api/runs/{run}/resume", status_code=HTTPStatus.ACCEPTED)
async def resume(run: str, server: ServicesDep, visitor: Visitor) -> dict[str, str]:
    """Resume a run that was stopped or has failed; watch it by its id."""
    corpus = await corpus_of_run(server, visitor, run)
    kept = (await server.reader.arun(run)).summary
    request = RunRequest(
        corpus, kept.question, run=run, resume=True, follow=kept.follow, stream_answer=True
    )
    live = await server.runs.begin(visitor, request)
    return {"run": live.run}


@router.delete("/api/runs/{run}", status_code=HTTPStatus.NO_CONTENT)
async def delete(run: str, server: ServicesDep, visitor: Visitor) -> None:
    """Delete a run that has ended."""
    await corpus_of_run(server, visitor, run)
    must_write(visitor)
    await server.reader.adelete_runs(run)
    server.runs.forget(run)


@router.get("/api/runs/{run}/report", response_class=HTMLResponse)
async def report(run: str, server: ServicesDep, visitor: Visitor) -> Response:
    """Download the report of a finished run, one self-contained HTML page."""
    await corpus_of_run(server, visitor, run)
    live = server.runs.find(run)
    reading = live.reading if live else (await server.reader.arun(run)).reading
    if reading is None:
        return problem(HTTPStatus.CONFLICT, "The run has no answer yet: wait, or resume it.")
    connection = await server.resources.connection()
    page = await asyncio.to_thread(render, reading, *await visited_part(connection, reading))
    # The report has its own content security policy, with the hashes of its scripts.
    return Response(
        page,
        media_type="text/html",
        headers={
            "Content-Disposition": f'attachment; filename="report-{run}.html"',
            "Content-Security-Policy": "sandbox allow-scripts",
        },
    )
