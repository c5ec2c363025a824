"""Exceptions of providers' clients are understood by status and class, a few by their words."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any

import httpx
import ollama
import openai
import pytest

from graphreader.llm.retry import classify

REQUEST = httpx.Request("POST", "https://api.openai.com/v1/chat/completions")


class HttpError(Exception):
    """As providers' clients raise it: with a response, its headers and its body."""

    def __init__(self, status: int, message: Any = None, retry_after: str | None = None) -> None:
        super().__init__(f"Error code: {status} - {message}")
        headers = {} if retry_after is None else {"retry-after": retry_after}
        self.response = SimpleNamespace(status_code=status, headers=headers)
        self.body = {"error": {"message": message}} if isinstance(message, str) else message


class ClientError(Exception):
    """As Amazon's client raises it."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"An error occurred when calling Converse: {message}")
        self.response = {"ResponseMetadata": {"HTTPStatusCode": status}}


class NoCredentialsError(Exception):
    """As Amazon's client raises it."""


def raised_from(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def of_openai(status: int, message: str, code: str | None = None, **headers: str) -> Exception:
    """An error of OpenAI's client, made from a response as the client does."""
    content = {"error": {"message": message, "code": code, "type": "error"}}
    response = httpx.Response(status, json=content, request=REQUEST, headers=headers)
    return openai.AsyncOpenAI(api_key="k")._make_status_error_from_response(response)


WINDOW = (
    "This model's maximum context length is 4096 tokens. However, you requested 9000 tokens (5000 "
    "in the messages, 100 in the functions, 3900 in max_tokens)."
)


# The kind follows from the status, then from the class; words tell apart what no status tells.
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (
            HttpError(
                400,
                "'max_tokens' or 'max_completion_tokens' is too large: 1600. This model's maximum "
                "context length is 4096 tokens and your request has 3000 input tokens.",
            ),
            "limit",
        ),
        (HttpError(400, "API key not valid. Please pass a valid API key."), "key"),
        (HttpError(400, "Incorrect API key provided: xa***89"), "key"),
        (TypeError("create() got an unexpected keyword argument 'seed'"), "seed"),
        (HttpError(413, "Payload too large"), "request"),
        (
            HttpError(
                413,
                "Request too large for model `llama` on tokens per minute (TPM): Limit 6000, "
                "Requested 6896, please reduce your message size and try again.",
            ),
            "limit",
        ),
        (HttpError(400, "Your credit balance is too low to access the API."), "quota"),
        (of_openai(429, "You exceeded your current quota", "insufficient_quota"), "quota"),
        (of_openai(401, "Incorrect API key provided"), "key"),
        (ClientError(403, "not authorized"), "key"),
        (raised_from(RuntimeError("failed"), NoCredentialsError()), "key"),
        (HttpError(429, "Rate limit reached; see /account/billing"), "busy"),
        (HttpError(529, "Overloaded"), "busy"),
        (ValueError({"message": "Slow down", "code": 429}), "busy"),
        (of_openai(404, "The model `gpt-9` does not exist", "model_not_found"), "unknown"),
        (ollama.ResponseError("model 'seed-oss:36b' not found, try pulling it", 404), "unknown"),
        (of_openai(422, "random_seed: Extra inputs are not permitted"), "seed"),
        (ValueError("`temperature` is not supported for claude-sonnet-5-5"), "temperature"),
        (of_openai(400, "'max_tokens' is not supported with this model."), "limit"),
        (of_openai(400, WINDOW, "context_length_exceeded"), "window"),
        (of_openai(400, WINDOW.replace("4096", "8192"), "context_length_exceeded"), "limit"),
        (
            HttpError(
                400,
                "Requested token count exceeds the model's maximum context length of 8192 tokens. "
                "You requested a total of 8700 tokens: 4604 tokens from the input messages and "
                "4096 tokens for the completion.",
            ),
            "limit",
        ),
        (HttpError(400, "prompt is too long: 210000 tokens > 200000"), "window"),
        (HttpError(400, "input length and `max_tokens` exceed context limit: 9 + 5"), "window"),
        (of_openai(400, "The response was filtered: content_filter"), "content"),
        (of_openai(400, "Invalid schema for response_format 'Answer'"), "rejected"),
        (HttpError(404, "No endpoints found that support tool use"), "rejected"),
        (ollama.ResponseError("library/seed-oss:36b does not support tools", 400), "rejected"),
        (ollama.ResponseError("invalid JSON schema in format", 500), "rejected"),
        (ollama.ResponseError("failed to parse grammar", -1), "rejected"),
        (ollama.ResponseError("llama runner process no longer running", -1), "broken"),
        (of_openai(500, "Context size has been exceeded."), "crowded"),
        (
            openai.APIError(
                "Context size has been exceeded.",
                REQUEST,
                body={"code": 500, "message": "Context size has been exceeded."},
            ),
            "crowded",
        ),
        (of_openai(400, "Invalid schema: 'maxItems' is not permitted."), "bounds"),
        (NotImplementedError(), "rejected"),
        (of_openai(503, "The server is overloaded"), "broken"),
        (TypeError("Received response with null value for 'choices'."), "broken"),
        (openai.APIConnectionError(request=REQUEST), "connection"),
        (openai.APITimeoutError(request=REQUEST), "timeout"),
        (raised_from(RuntimeError("failed"), httpx.ReadTimeout("")), "timeout"),
        (KeyError("plan"), "bug"),
    ],
)
def test_kinds(error: Exception, kind: str) -> None:
    assert classify(error).kind == kind


# The service's wait is a header, a number of seconds or a date, else a number in the words; then a
# quota is one of a minute. Of an exception that LangChain wraps, the cause counts.
@pytest.mark.parametrize(
    ("error", "kind", "wait"),
    [
        (HttpError(429, "Slow down", "1.5"), "busy", 1.5),
        (of_openai(429, "Slow down", **{"retry-after": "0.1"}), "busy", 0.1),
        (raised_from(RuntimeError("Slow down"), HttpError(429, "Slow down", "3")), "busy", 3),
        (HttpError(429, "", "soon"), "busy", None),
        (HttpError(429, "", "inf"), "busy", None),
        (HttpError(429, "You exceeded your current quota. Please retry in 20.5s."), "busy", 20.5),
        (HttpError(429, "RESOURCE_EXHAUSTED {'retryDelay': '17s'}"), "busy", 17),
        (HttpError(429, "You exceeded your current quota."), "quota", None),
        (HttpError(429, "insufficient_quota: try again in 5s"), "quota", 5),
    ],
)
def test_wait(error: Exception, kind: str, wait: float | None) -> None:
    failure = classify(error)

    assert (failure.kind, failure.status, failure.wait) == (kind, 429, wait)


def test_wait_until() -> None:
    in_an_hour = format_datetime(datetime.now(UTC) + timedelta(hours=1))

    assert classify(HttpError(429, "", in_an_hour)).wait == pytest.approx(3600, abs=60)


# The message is one short line of the service's own words, without anything like a key, and without
# the known secrets.
@pytest.mark.parametrize(
    ("error", "line"),
    [
        (HttpError(400, "Key sk-abcdef123456\n is bad."), "400: Key *** is bad."),
        (HttpError(400, {"message": "No my-own-secret here"}), "400: No *** here"),
        (HttpError(400, "x" * 500), f"400: {'x' * 200}..."),
    ],
)
def test_message(error: Exception, line: str) -> None:
    assert str(classify(error, {"my-own-secret"})) == line
