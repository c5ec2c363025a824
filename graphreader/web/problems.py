"""Errors as problem details (RFC 9457), with the messages of the command line."""

import errno
import logging
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from graphreader.errors import (
    BudgetError,
    DecisionError,
    GraphReaderError,
    RunsError,
    ServerError,
    StoreError,
    UnknownCorpusError,
    UnknownDocumentError,
    UnknownKeyElementError,
    UnknownRunError,
    UsageError,
)
from graphreader.settings import redact
from graphreader.web.access import AccessError, InvalidTokenError, LimitError, NotAllowedError

logger = logging.getLogger("graphreader.web")
MEDIA_TYPE = "application/problem+json"
NO_CORPUS = "There is no such corpus, or this token does not open it."
_FULL = (errno.ENOSPC, errno.EDQUOT)
_UNKNOWN = (UnknownCorpusError, UnknownDocumentError, UnknownKeyElementError, UnknownRunError)
_STATUSES: tuple[tuple[type | tuple[type, ...], HTTPStatus], ...] = (
    (_UNKNOWN, HTTPStatus.NOT_FOUND),
    (InvalidTokenError, HTTPStatus.UNAUTHORIZED),
    (LimitError, HTTPStatus.TOO_MANY_REQUESTS),
    ((UsageError, BudgetError), HTTPStatus.UNPROCESSABLE_ENTITY),
    (DecisionError, HTTPStatus.BAD_GATEWAY),
    ((StoreError, ServerError, RunsError, AccessError), HTTPStatus.SERVICE_UNAVAILABLE),
)


def status_of(error: GraphReaderError) -> HTTPStatus:
    """The HTTP status for an error."""
    for kinds, status in _STATUSES:
        if isinstance(error, kinds):
            return status
    return HTTPStatus.INTERNAL_SERVER_ERROR


def problem(
    status: int, detail: str, headers: Mapping[str, str] | None = None, **members: Any
) -> JSONResponse:
    """Make a response with problem details; `members` are additional fields."""
    title = HTTPStatus(status).phrase
    content = {"type": "about:blank", "title": title, "status": status, "detail": redact(detail)}
    return JSONResponse({**content, **members}, status, dict(headers or {}), MEDIA_TYPE)


def detail_of(error: GraphReaderError) -> str:
    """The message of an error; for an unknown corpus without the names of other corpora."""
    return NO_CORPUS if isinstance(error, UnknownCorpusError) else redact(str(error))


Refusal = Callable[[Request, int, str], Response | None]


def add_handlers(app: FastAPI, as_page: Refusal) -> None:
    """Register handlers that answer every error with problem details, or `as_page`."""

    def answer(request: Request, status: int, detail: str, **members: Any) -> Response:
        detail = redact(detail)
        return as_page(request, status, detail) or problem(status, detail, **members)

    @app.exception_handler(GraphReaderError)
    async def foreseen(request: Request, error: GraphReaderError) -> Response:
        return answer(request, status_of(error), detail_of(error))

    @app.exception_handler(NotAllowedError)
    async def not_allowed(request: Request, error: NotAllowedError) -> Response:
        return answer(request, HTTPStatus.FORBIDDEN, str(error))

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        return answer(request, error.status_code, str(error.detail), headers=error.headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        errors = [
            {"at": "/".join(map(str, one["loc"])), "message": one["msg"]} for one in error.errors()
        ]
        detail = "; ".join(f"{one['at']}: {one['message']}" for one in errors[:5]) + "."
        return answer(request, HTTPStatus.UNPROCESSABLE_ENTITY, detail, errors=errors)

    @app.exception_handler(OSError)
    async def failing_disk(request: Request, error: OSError) -> Response:
        if error.errno not in _FULL:
            return await unexpected(request, error)
        logger.error("A request failed: %s", error.strerror)
        detail = "The disk of the server is full: make room there, and send it again."
        return answer(request, HTTPStatus.INSUFFICIENT_STORAGE, detail)

    @app.exception_handler(Exception)
    async def unexpected(request: Request, error: Exception) -> Response:
        logger.error("A request failed", exc_info=error)
        name = type(error).__name__
        detail = f"An unexpected error occurred ({name}): the server's log has more."
        return answer(request, HTTPStatus.INTERNAL_SERVER_ERROR, detail)
