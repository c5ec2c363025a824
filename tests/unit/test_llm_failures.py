"""Exceptions of providers' clients are understood by status, class and words."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any

import anthropic
import httpx
import ollama
import openai
import pytest

from graphreader.llm.failures import classify

REQUEST = httpx.Request("POST", "https://api.openai.com/v1/chat/completions")


class HttpError(Exception):
    """As providers' clients raise it: with a response, its headers and its body."""

    def __init__(self, status: int, body: Any = None, **headers: str) -> None:
        super().__init__(f"Error code: {status} - {body}")
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        self.response = SimpleNamespace(status_code=status, headers=names)
        self.body = body


class ReadTimeout(Exception):
    """As httpx names it."""


class ClientError(Exception):
    """As Amazon's client raises it."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"An error occurred ({code}) when calling Converse: {message}")
        metadata = {"HTTPStatusCode": status, "HTTPHeaders": {}}
        self.response = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": metadata}


def raised_from(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def of_openai(status: int, message: str, code: str | None = None, **headers: str) -> Exception:
    """An error of OpenAI's client, made from a response as the client does."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    content = {"error": {"message": message, "code": code, "type": "error"}}
    response = httpx.Response(status, headers=names, json=content, request=REQUEST)
    return openai.AsyncOpenAI(api_key="k")._make_status_error_from_response(response)


def of_anthropic(status: int, message: str, kind: str = "invalid_request_error") -> Exception:
    """An error with the body that Anthropic sends."""
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
    response: Any = SimpleNamespace(status_code=status, headers={}, request=None)
    return anthropic.APIStatusError(f"Error code: {status} - {body}", response=response, body=body)


def of_ollama(status: int, message: str) -> Exception:
    return ollama.ResponseError(f'{{"error": "{message}"}}', status)


WINDOW = (
    "This model's maximum context length is 4096 tokens. However, you requested 9000 tokens (5000 "
    "in the messages, 100 in the functions, 3900 in max_tokens)."
)
LIMIT = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
    "'max_completion_tokens' instead."
)


# The kind follows from the status, then from the class; words tell apart what no status tells.
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (HttpError(400, {"error": {"message": "Bad.", "code": "unknown_field"}}), "rejected"),
        (HttpError(413, "Payload too large"), "request"),
        (HttpError(402, "Insufficient Balance"), "quota"),
        (HttpError(429, "Rate limit reached; see /account/billing"), "busy"),
        (HttpError(404, "No endpoints found that support tool use"), "rejected"),
        (HttpError(405, "Tool calling is not supported for model"), "rejected"),
        (HttpError(500, "Unsupported param: tools"), "rejected"),
        (HttpError(500, "the function crashed"), "broken"),
        (HttpError(0), "broken"),
        (NotImplementedError(), "rejected"),
        (TypeError("got an unexpected keyword argument 'response_format'"), "rejected"),
        (TypeError("Could not resolve authentication method"), "key"),
        (raised_from(RuntimeError("failed"), ReadTimeout()), "timeout"),
        (ConnectionRefusedError("refused"), "connection"),
        (TimeoutError(), "timeout"),
        (ValueError("Response missing choices"), "broken"),
        (KeyError("Response missing 'choices' key: dict_keys([])"), "broken"),
        (TypeError("Received response with null value for 'choices'."), "broken"),
        (ValueError({"message": "Upstream failed"}), "broken"),
        (ValueError({"message": "Slow down", "code": 429}), "busy"),
        (ValueError("This model takes no images"), "rejected"),
        (ValueError("`temperature` is not supported for claude-sonnet-5-5"), "temperature"),
        (KeyError("plan"), "bug"),
        (AttributeError("'dict' object has no attribute 'text'"), "bug"),
        (of_openai(401, "Incorrect API key provided"), "key"),
        (of_openai(429, "You exceeded your current quota", "insufficient_quota"), "quota"),
        (of_openai(429, "Rate limit reached for gpt-5.4-mini"), "busy"),
        (of_openai(404, "The model `gpt-9` does not exist", "model_not_found"), "unknown"),
        (of_openai(400, "Unknown parameter: 'seed'.", "unknown_parameter"), "seed"),
        (of_openai(422, "random_seed: Extra inputs are not permitted"), "seed"),
        (of_openai(400, LIMIT, "unsupported_parameter"), "limit"),
        (of_openai(400, "max_tokens is too large: 9000"), "limit"),
        (of_openai(400, WINDOW, "context_length_exceeded"), "window"),
        (of_openai(400, "Neither seed nor max_tokens", "context_length_exceeded"), "window"),
        (of_openai(400, "'temperature' and 'seed' are not supported"), "temperature"),
        (of_openai(400, "Invalid schema for response_format 'Answer'"), "rejected"),
        (of_openai(400, "The response was filtered: content_filter"), "content"),
        (of_openai(503, "The server is overloaded"), "broken"),
        (openai.APIConnectionError(request=REQUEST), "connection"),
        (openai.APITimeoutError(request=REQUEST), "timeout"),
        (ClientError(429, "ThrottlingException", "Too many requests"), "busy"),
        (ClientError(403, "AccessDeniedException", "not authorized"), "key"),
        (ClientError(400, "ValidationException", "The model doesn't support tools"), "rejected"),
        (ClientError(500, "InternalServerException", "Try again"), "broken"),
    ],
)
def test_kinds(error: Exception, kind: str) -> None:
    assert classify(error).kind == kind


# Anthropic's: credit that is used up has status 400, and an overloaded service 529.
@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (401, "invalid x-api-key", "key"),
        (403, "Your key may not use the resource.", "key"),
        (404, "model: claude-9", "unknown"),
        (400, "Your credit balance is too low to access the Anthropic API.", "quota"),
        (400, "You have reached your specified API usage limits.", "quota"),
        (400, "prompt is too long: 210000 tokens > 200000", "window"),
        (400, "input length and `max_tokens` exceed context limit: 199000 + 5000", "window"),
        (400, "max_tokens: 5000 > 4096, which is the maximum of output tokens", "limit"),
        (400, "`temperature` is deprecated", "temperature"),
        (400, "output_config.format: schema is too complex", "rejected"),
        (400, "Thinking may not be enabled when tool_choice forces tool use.", "rejected"),
        (413, "Request exceeds the maximum size", "request"),
        (429, "This request would exceed your rate limit.", "busy"),
        (500, "Internal server error", "broken"),
        (529, "Overloaded", "busy"),
    ],
)
def test_anthropic(status: int, message: str, kind: str) -> None:
    failure = classify(of_anthropic(status, message))

    assert (failure.kind, str(failure)) == (kind, f"{status}: {message}")


# Ollama's: the model's name makes no difference; a failure may come without a status.
@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (404, "model 'functiongemma' not found", "unknown"),
        (404, "model 'seed-oss:36b' not found, try pulling it first", "unknown"),
        (400, "registry.ollama.ai/library/seed-oss:36b does not support tools", "rejected"),
        (500, "invalid JSON schema in format", "rejected"),
        (-1, "failed to parse grammar", "rejected"),
        (-1, "llama runner process no longer running", "broken"),
        (500, "model runner has unexpectedly stopped", "broken"),
        (503, "server busy, please try again. maximum pending requests exceeded", "broken"),
        (401, "unauthorized", "key"),
    ],
)
def test_ollama(status: int, message: str, kind: str) -> None:
    failure = classify(of_ollama(status, message))

    assert (failure.kind, failure.message) == (kind, message)
    assert failure.status == (status if status > 0 else None)


# Status and headers of an exception that LangChain wraps are those of the cause.
def test_wrapped() -> None:
    refused = HttpError(429, {"message": "Slow down"}, retry_after="3")
    failure = classify(raised_from(RuntimeError("Slow down"), refused))

    assert (failure.kind, failure.status, failure.wait) == ("busy", 429, 3)


# The wait is a number of seconds, or of milliseconds, which goes first; anything else is ignored.
@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry_after": "7"}, 7),
        ({"retry_after": "1.5"}, 1.5),
        ({"retry_after": "-7"}, 0),
        ({"retry_after_ms": "250", "retry_after": "1"}, 0.25),
        ({"retry_after_ms": "-5"}, 0),
        ({"retry_after_ms": "soon", "retry_after": "2"}, 2),
        ({"retry_after": "soon"}, None),
        ({"retry_after": "nan"}, None),
        ({"retry_after": "inf"}, None),
        ({}, None),
    ],
)
def test_retry_after(headers: dict[str, str], wait: float | None) -> None:
    assert classify(of_openai(429, "Slow down", **headers)).wait == wait
    assert classify(HttpError(429, **headers)).wait == wait


# The wait may be a date as well.
def test_retry_after_date() -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=30))

    assert classify(HttpError(429, retry_after=soon)).wait == pytest.approx(29.5, abs=1)


# Without a header, the words may name the wait; then a quota is one of a minute.
@pytest.mark.parametrize(
    ("words", "kind", "wait"),
    [
        ("You exceeded your current quota. Please retry in 20.5s.", "busy", 20.5),
        ("Rate limit reached. Please try again in 6m0s.", "busy", 360),
        ("Rate limit reached. Please try again in 132ms.", "busy", 0.132),
        ("Rate limit reached. Please try again in 1h2m3s.", "busy", 3723),
        ("RESOURCE_EXHAUSTED {'retryDelay': '17s'}", "busy", 17),
        ("Please try again in a while.", "busy", None),
        ("You exceeded your current quota.", "quota", None),
        ("You exceeded your current quota. insufficient_quota: try again in 5s", "quota", 5),
    ],
)
def test_wait_in_words(words: str, kind: str, wait: float | None) -> None:
    failure = classify(HttpError(429, {"message": words}))

    assert failure.kind == kind
    assert failure.wait == (wait if wait is None else pytest.approx(wait))


# The message is one short line without anything like a key, and without the known secrets.
def test_message() -> None:
    long = classify(HttpError(400, {"message": "Key sk-abcdef123456\n is bad. " + "x" * 500}))
    known = classify(of_anthropic(400, "No my-own-secret here"), {"my-own-secret"})

    assert str(long).startswith("400: Key ... is bad. xxx")
    assert len(str(long)) < 220
    assert str(known) == "400: No ... here"
