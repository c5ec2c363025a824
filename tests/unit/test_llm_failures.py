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

from graphreader.llm.retry import classify

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


def in_an_hour() -> str:
    return format_datetime(datetime.now(UTC) + timedelta(hours=1))


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
        (of_openai(400, "This response_format type is unavailable now"), "rejected"),
        (of_openai(400, "The response was filtered: content_filter"), "content"),
        (of_openai(503, "The server is overloaded"), "broken"),
        (openai.APIConnectionError(request=REQUEST), "connection"),
        (openai.APITimeoutError(request=REQUEST), "timeout"),
        (ClientError(429, "ThrottlingException", "Too many requests"), "busy"),
        (ClientError(403, "AccessDeniedException", "not authorized"), "key"),
        (ClientError(400, "ValidationException", "The model doesn't support tools"), "rejected"),
        (ClientError(500, "InternalServerException", "Try again"), "broken"),
        (of_anthropic(401, "invalid x-api-key"), "key"),
        (of_anthropic(400, "Your credit balance is too low to access the Anthropic API."), "quota"),
        (of_anthropic(400, "You have reached your specified API usage limits."), "quota"),
        (of_anthropic(400, "prompt is too long: 210000 tokens > 200000"), "window"),
        (of_anthropic(400, "input length and `max_tokens` exceed context limit: 9 + 5"), "window"),
        (of_anthropic(400, "max_tokens: 5000 > 4096, the maximum of output tokens"), "limit"),
        (of_anthropic(400, "`temperature` is deprecated"), "temperature"),
        (of_anthropic(400, "Thinking may not be enabled when tool_choice forces it"), "rejected"),
        (of_anthropic(529, "Overloaded"), "busy"),
        (ollama.ResponseError("model 'seed-oss:36b' not found, try pulling it", 404), "unknown"),
        (ollama.ResponseError("library/seed-oss:36b does not support tools", 400), "rejected"),
        (ollama.ResponseError("invalid JSON schema in format", 500), "rejected"),
        (ollama.ResponseError("failed to parse grammar", -1), "rejected"),
        (ollama.ResponseError("llama runner process no longer running", -1), "broken"),
        (ollama.ResponseError("server busy, please try again", 503), "broken"),
        (HttpError(400, {"message": "API key not valid. Please pass a valid API key."}), "key"),
    ],
)
def test_kinds(error: Exception, kind: str) -> None:
    assert classify(error).kind == kind


# Status and headers of an exception that LangChain wraps are those of the cause.
def test_wrapped() -> None:
    refused = HttpError(429, {"message": "Slow down"}, retry_after="3")
    failure = classify(raised_from(RuntimeError("Slow down"), refused))

    assert (failure.kind, failure.status, failure.wait) == ("busy", 429, 3)


# The service's wait is a header, a number of seconds or a date, else a number in the words; then a
# quota is one of a minute.
@pytest.mark.parametrize(
    ("error", "kind", "wait"),
    [
        (of_openai(429, "Slow down", retry_after="7"), "busy", 7),
        (HttpError(429, retry_after="1.5"), "busy", 1.5),
        (HttpError(429, retry_after="-7"), "busy", 0),
        (HttpError(429, retry_after=in_an_hour()), "busy", pytest.approx(3300, abs=400)),
        (HttpError(429, retry_after="soon"), "busy", None),
        (HttpError(429, retry_after="nan"), "busy", None),
        (HttpError(429, retry_after="inf"), "busy", None),
        (HttpError(429, "You exceeded your current quota. Please retry in 20.5s."), "busy", 20.5),
        (HttpError(429, "RESOURCE_EXHAUSTED {'retryDelay': '17s'}"), "busy", 17),
        (HttpError(429, "Rate limit reached. Please try again in 1m30.5s."), "busy", 90.5),
        (HttpError(429, "Please try again in 7h12m0s."), "busy", 25920),
        (
            HttpError(429, "You exceeded your current quota. Please retry in 250ms."),
            "busy",
            0.25,
        ),
        (HttpError(429, "Please try again in 5m."), "busy", 300),
        (HttpError(429, "Please try again in a while."), "busy", None),
        (HttpError(429, "You exceeded your current quota."), "quota", None),
        (HttpError(429, "insufficient_quota: try again in 5s"), "quota", 5),
    ],
)
def test_wait(error: Exception, kind: str, wait: float | None) -> None:
    failure = classify(error)

    assert (failure.kind, failure.wait) == (kind, wait)


# The message is one short line of the service's own words, without anything like a key, and without
# the known secrets.
@pytest.mark.parametrize(
    ("error", "line"),
    [
        (of_anthropic(404, "model: claude-9"), "404: model: claude-9"),
        (ollama.ResponseError('{"error": "model not found"}', 404), "404: model not found"),
        (HttpError(400, {"message": "Key sk-abcdef123456\n is bad."}), "400: Key ... is bad."),
        (of_anthropic(400, "No my-own-secret here"), "400: No ... here"),
        (HttpError(400, {"message": "x" * 500}), f"400: {'x' * 200}..."),
    ],
)
def test_message(error: Exception, line: str) -> None:
    assert str(classify(error, {"my-own-secret"})) == line
