"""OpenAI's chat completions protocol: each corpus is a model, each answer a completion.

The last message of the user is the question; earlier messages are the exchange that it follows up.
"""

import json
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from graphreader.agent.follow_up import earlier_exchange
from graphreader.errors import GraphReaderError, UnknownCorpusError, UsageError
from graphreader.pages.citations import CitedText, answer_title, cited_answer
from graphreader.reading import Reading
from graphreader.runs import RunRequest
from graphreader.scope import Scope
from graphreader.web.live_runs import LiveRun
from graphreader.web.problems import NO_CORPUS, detail_of, status_of
from graphreader.web.services import EventStream, ScopeTerms, ServicesDep, Visitor

router = APIRouter(tags=["OpenAI-compatible"], prefix="/v1")


class Part(BaseModel):
    """A part of a message; only texts are used."""

    model_config = ConfigDict(extra="ignore")
    type: str
    text: str = ""


class Message(BaseModel):
    """A message of a conversation."""

    model_config = ConfigDict(extra="ignore")
    role: str
    content: str | list[Part] | None = None

    @property
    def text(self) -> str:
        """The text of the message, joined from its parts."""
        if isinstance(self.content, list):
            return "\n".join(one.text for one in self.content if one.type == "text")
        return self.content or ""


class Completion(BaseModel):
    """A request for a completion; options of language models such as a temperature are ignored."""

    model_config = ConfigDict(extra="ignore")
    model: str = Field(description="The name of a corpus.")
    messages: list[Message] = Field(min_length=1, max_length=1_000)
    stream: bool = False
    stream_options: dict[str, Any] | None = None
    scope: ScopeTerms = Field(
        default_factory=list, description="Not OpenAI's: only these documents are searched."
    )
    sweep_tokens: int | None = Field(
        None, ge=1, description="Not OpenAI's: most tokens that a sweep may read."
    )


@router.get("/models")
async def models(server: ServicesDep, visitor: Visitor) -> dict[str, Any]:
    """List the corpora as models."""
    names = [one.corpus for one in await server.reader.acorpora() if visitor.sees(one.corpus)]
    return {"object": "list", "data": [_model(name) for name in names]}


@router.get("/models/{model:path}")
async def model(model: str, server: ServicesDep, visitor: Visitor) -> dict[str, Any]:
    """Show a corpus as a model."""
    known = {one.corpus for one in await server.reader.acorpora() if visitor.sees(one.corpus)}
    if model not in known:
        raise UnknownCorpusError(NO_CORPUS)
    return _model(model)


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "graphreader"}


@router.post("/chat/completions")
async def complete(asked: Completion, server: ServicesDep, visitor: Visitor) -> Response:
    """Answer the last message of the user from a corpus; citations are annotations and text."""
    try:
        if not visitor.sees(asked.model):
            raise UnknownCorpusError(NO_CORPUS)
        request = RunRequest(
            asked.model,
            question_of(asked.messages),
            earlier=earlier_of(asked.messages, server.reader.window),
            scope=Scope.of(asked.scope),
            sweep_tokens=asked.sweep_tokens,
        )
        live = await server.runs.begin(visitor, request)
        if asked.stream:
            with_usage = bool((asked.stream_options or {}).get("include_usage"))
            return EventStream(_pieces(live, asked.model, with_usage))
        reading = await live.result()
    except GraphReaderError as error:
        return JSONResponse({"error": _error(error)}, status_of(error))
    message = {"role": "assistant", "content": answer_text(reading), "refusal": None}
    choice = {
        "index": 0,
        "message": {**message, "annotations": annotations(reading)},
        "finish_reason": "stop",
        "logprobs": None,
    }
    return JSONResponse(
        {
            **_head(live, asked.model, "chat.completion"),
            "choices": [choice],
            "usage": _usage(reading),
        }
    )


def question_of(messages: Sequence[Message]) -> str:
    """Return the last message, which must be the user's. Raises UsageError."""
    if messages[-1].role != "user" or not messages[-1].text.strip():
        raise UsageError("The last message must be the user's, with a question in it.")
    return messages[-1].text


def earlier_of(messages: Sequence[Message], window: int) -> str:
    """Return the exchange before the last message, in the form for follow-up prompts."""
    earlier, question = "", None
    for one in messages[:-1]:
        if one.role == "user":
            question = one.text
        elif one.role == "assistant" and question:
            answer = one.text.partition(SOURCES)[0]
            reading = Reading(question, answer, "", True, "", "")
            earlier, question = earlier_exchange(reading, earlier, window), None
    return earlier


SOURCES = "\n\nSources:\n"


def answer_text(reading: Reading) -> str:
    """The text of an answer with its explanation and numbered sources.

    As on the page, an answer that is only likely or that the texts do not have is named so, and
    claims without a quote are marked.
    """
    parts = [reading.answer, reading.explanation]
    if reading.kind == "answer":
        cited = cited_answer(reading)
        title = "" if reading.confidence == "stated" else f"{answer_title(reading)}: "
        parts = [title + _marked(cited.answer), _marked(cited.explanation)]
        if reading.answered:
            parts += [_marked([one]) for one in cited.claims if not one.marks]
        if reading.answered and not reading.citations:
            parts.append("No quote from the texts supports this answer.")
    text = "\n\n".join(part for part in parts if part)
    lines = [
        f"[{number}] {one.where}, chunk {one.chunk}: “{' '.join(one.quote.split())}”"
        for number, one in enumerate(reading.citations, 1)
    ]
    return text + (SOURCES + "\n".join(lines) if lines else "")


def _marked(parts: Sequence[CitedText]) -> str:
    """The text of the parts, with a mark behind each claim that no citation supports."""
    unsupported = [one.is_claim and not one.marks for one in parts]
    marks = [" [unsupported]" if one else "" for one in unsupported]
    return "".join(one.text + mark for one, mark in zip(parts, marks, strict=True))


def annotations(reading: Reading) -> list[dict[str, Any]]:
    """The citations as annotations, at the positions of the sources in the text."""
    text, found = answer_text(reading), []
    for number, one in enumerate(reading.citations, 1):
        start = text.find(f"\n[{number}] ", max(text.find(SOURCES), 0)) + 1
        end = text.find("\n", start)
        url = f"/api/corpora/{reading.corpus}/documents/{one.document_id}/chunks/{one.chunk}"
        place = {"start_index": start, "end_index": end if end >= 0 else len(text)}
        found.append(
            {"type": "url_citation", "url_citation": {**place, "url": url, "title": one.document}}
        )
    return found


async def _pieces(live: LiveRun, model: str, with_usage: bool) -> AsyncIterator[str]:
    """Yield the completion in chunks; the answer is sent once, when it is final."""
    head = _head(live, model, "chat.completion.chunk")

    def piece(delta: dict[str, Any], reason: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
        return json.dumps({**head, "choices": [choice]}, ensure_ascii=False)

    yield piece({"role": "assistant", "content": ""})
    try:
        reading = await live.result()
    except GraphReaderError as error:
        yield json.dumps({"error": _error(error)}, ensure_ascii=False)
        return
    text = answer_text(reading)
    for start in range(0, len(text), 400):
        yield piece({"content": text[start : start + 400]})
    yield piece({"annotations": annotations(reading)}, "stop")
    if with_usage:
        yield json.dumps({**head, "choices": [], "usage": _usage(reading)})
    yield "[DONE]"


def _head(live: LiveRun, model: str, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{live.run}",
        "object": kind,
        "created": int(time.time()),
        "model": model,
    }


def _usage(reading: Reading) -> dict[str, int]:
    sent, received = reading.usage.input_tokens, reading.usage.output_tokens
    return {"prompt_tokens": sent, "completion_tokens": received, "total_tokens": sent + received}


def _error(error: GraphReaderError) -> dict[str, Any]:
    return {"message": detail_of(error), "type": type(error).__name__, "param": None, "code": None}
