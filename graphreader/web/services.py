"""Dependencies of the routes: reader, runs and jobs, access token, corpus, paging."""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Path, Query, Request
from pydantic import Field
from sse_starlette import EventSourceResponse, ServerSentEvent
from sse_starlette.sse import SendTimeoutError
from starlette.types import Receive, Scope, Send

from graphreader.errors import UnknownCorpusError, UnknownRunError
from graphreader.graph_reader import GraphReader
from graphreader.resources import Resources
from graphreader.scope import MOST_TERMS
from graphreader.store.catalog import DocumentSummary
from graphreader.web.access import NotAllowedError, Token, TokenStore
from graphreader.web.jobs import Jobs
from graphreader.web.live_runs import LiveRuns
from graphreader.web.problems import NO_CORPUS

PING_SECONDS = 15
SEND_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Services:
    """The open reader, runs, jobs and tokens of the server; `reader.at` is a corpus's reader."""

    reader: GraphReader
    resources: Resources
    tokens: TokenStore | None
    runs: LiveRuns
    jobs: Jobs

    def reader_of(self, visitor: Token, corpus: str) -> GraphReader:
        """A reader of a corpus that searches while the visitor's calls of the day are left."""
        return self.reader.at(corpus, self.runs.quota_of(visitor))

    async def stop(self) -> None:
        """Stop runs, which can be resumed, and jobs, which continue after the next start."""
        await self.runs.aclose()
        await self.jobs.aclose()


# Asynchronous, because FastAPI calls blocking dependencies in threads, which is slower.
async def services(request: Request) -> Services:
    """Return the services of the application."""
    found: Services = request.app.state.services
    return found


async def token_of(request: Request) -> Token:
    """Return the token of a request, which `Protection` has checked."""
    token: Token = request.state.token
    return token


ServicesDep = Annotated[Services, Depends(services)]
Visitor = Annotated[Token, Depends(token_of)]
CorpusName = Annotated[str, Path(description="The name of a corpus.")]


async def readable(corpus: CorpusName, visitor: Visitor) -> str:
    """Return the corpus of the URL. Raises UnknownCorpusError if the token does not open it."""
    if not visitor.sees(corpus):
        raise UnknownCorpusError(NO_CORPUS)
    return corpus


def must_write(visitor: Token) -> None:
    """Raise NotAllowedError for a token of the role reader."""
    if not visitor.writes:
        raise NotAllowedError("This token only reads: a writer's is needed.")


async def writable(corpus: Annotated[str, Depends(readable)], visitor: Visitor) -> str:
    """Return the corpus of the URL. Raises NotAllowedError for a token of the role reader."""
    must_write(visitor)
    return corpus


Readable = Annotated[str, Depends(readable)]
Writable = Annotated[str, Depends(writable)]


async def corpus_of_run(server: Services, visitor: Token, run: str) -> str:
    """Return the corpus of a run, by its whole id. Raises UnknownRunError, also without access."""
    corpus = None
    if live := server.runs.find(run):
        corpus = live.corpus
    elif store := server.resources.run_store:
        record = await store.find(run)
        corpus = record.summary.corpus if record else None
    if corpus is None or not visitor.sees(corpus):
        raise UnknownRunError("There is no such run, or this token does not open it.")
    return corpus


def titled(documents: Iterable[DocumentSummary], title: str) -> list[DocumentSummary]:
    """Filter the documents whose titles contain all words of `title`."""
    words = title.casefold().split()
    return [one for one in documents if all(word in one.title.casefold() for word in words)]


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a list: `limit` items after the first `skip`."""

    skip: int
    limit: int

    def of(self, name: str, items: list[Any]) -> dict[str, Any]:
        """The items of the page under the name `name`, with the `total` number of items."""
        return {"total": len(items), name: items[self.skip : self.skip + self.limit]}


async def paged(
    skip: Annotated[int, Query(ge=0, le=2**31, description="How many to leave out.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000, description="The largest number of items.")] = 100,
) -> Page:
    """Return the page that the query parameters name."""
    return Page(skip, limit)


Paged = Annotated[Page, Depends(paged)]

ScopeTerms = Annotated[list[Annotated[str, Field(max_length=1_000)]], Field(max_length=MOST_TERMS)]
"""The terms of a scope (`graphreader.scope`)."""


class EventStream(EventSourceResponse):
    """Server-sent events, with a comment at least every PING_SECONDS.

    A client that receives nothing for SEND_SECONDS is disconnected; it can continue after its last
    event.
    """

    def __init__(
        self, events: AsyncIterator[ServerSentEvent | str], headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(events, headers=headers, ping=PING_SECONDS, send_timeout=SEND_SECONDS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events to the client."""
        with suppress(SendTimeoutError):
            await super().__call__(scope, receive, send)
