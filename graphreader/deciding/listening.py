"""Requests to a chat model whose reply is heard while it is written.

The reply is one JSON object, as content or as the arguments of a tool. What is told of it is one
field: the pieces by which its text grows. Thoughts and words before the object are not told, nor
is a reply that is no JSON: who listens gets those with the decision.
"""

import json
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    InvalidToolCall,
    ToolCall,
    message_chunk_to_message,
)
from pydantic_core import from_json

from graphreader.deciding.asking import cut_off_in, invoke
from graphreader.deciding.decider import Heard
from graphreader.deciding.hushing import hushed
from graphreader.deciding.replies.replies import finish_reason
from graphreader.deciding.replies.thoughts import begins_at


class Listening:
    """Asks one thing, by a stream of which `heard` gets the pieces of one field's text.

    A stream that broke off makes the next try a request for the reply in one piece: what lies
    between us and a service may be bad at streams.
    """

    def __init__(
        self, model: Any, messages: Sequence[BaseMessage], field: str, heard: Heard
    ) -> None:
        self._model = model
        self._messages = messages
        self._field = field
        self._heard = heard
        self._broke_off = False

    async def ask(self) -> AIMessage:
        """One request.

        Raises ConnectionError where the stream ends before the reply does, NotImplementedError
        where there is none.
        """
        if self._broke_off:
            return await invoke(self._model, self._messages)
        chunks: list[AIMessage] = []
        try:
            await self._listen(chunks)
            message = _whole(chunks)
        except Exception as error:
            if not chunks and _tells_of_no_stream(error):
                raise NotImplementedError("The service gives no stream") from error
            cut_off = cut_off_in(error)
            if cut_off is None:
                raise
            message = cut_off
        finally:
            self._broke_off = bool(chunks)  # who asks again had no good end
        return message

    async def _listen(self, chunks: list[AIMessage]) -> None:
        growing = GrowingField(self._field)
        begins = True
        with hushed():
            async with aclosing(self._model.astream(self._messages)) as stream:
                async for chunk in stream:
                    chunks.append(chunk)
                    if piece := growing.grown_by(chunk):
                        self._heard(piece, begins)
                        begins = False


class GrowingField:
    """The text of one field of a JSON object, read while the object is written."""

    def __init__(self, field: str) -> None:
        self._field = field
        self._content = ""
        self._begin: int | None = None
        self._arguments = ""
        self._value = ""

    def grown_by(self, chunk: AIMessage) -> str:
        """What the next chunk of the reply adds to the field's text."""
        self._content += str(chunk.text)
        for call in getattr(chunk, "tool_call_chunks", []):
            self._arguments += call["args"] or ""
        try:
            fields = from_json(self._object(), allow_partial="trailing-strings")
        except ValueError:  # not, or no longer, the beginning of one JSON value
            return ""
        value = fields.get(self._field) if isinstance(fields, dict) else None
        if not isinstance(value, str) or not value.startswith(self._value):
            return ""
        piece, self._value = value[len(self._value) :], value
        return piece

    def _object(self) -> str:
        """The JSON object as far as it is written."""
        if self._arguments:
            return self._arguments
        if self._begin is None:
            self._begin = begins_at(self._content)
        return "" if self._begin is None else self._content[self._begin :]


def _tells_of_no_stream(error: Exception) -> bool:
    """Whether it is how OpenAI's client, or LangChain, takes a reply that is no stream."""
    return isinstance(error, AssertionError | IndexError) or "No generation chunks" in str(error)


def _whole(chunks: Sequence[AIMessage]) -> AIMessage:
    """The message that the chunks are pieces of. Raises ConnectionError where the end lacks."""
    pieces = [chunk for chunk in chunks if isinstance(chunk, AIMessageChunk)]
    if not pieces:  # of a client that does not stream
        return chunks[-1]
    whole = pieces[0] + pieces[1:] if len(pieces) > 1 else pieces[0]
    message = message_chunk_to_message(whole)
    if not isinstance(message, AIMessage) or not isinstance(whole, AIMessageChunk):
        raise TypeError(f"The model's reply is a {type(message).__name__}, not an AIMessage")
    if whole.tool_call_chunks:
        message.tool_calls, message.invalid_tool_calls = _calls(whole)
    if not (finish_reason(message) or message.tool_calls or _ends(message.text)):
        raise ConnectionError("The stream ended in the middle of the reply")
    return message


def _ends(text: str) -> bool:
    """Whether the JSON object that the text is has come to its end."""
    begin = begins_at(text)
    try:
        json.JSONDecoder(strict=False).raw_decode(text, begin or 0)
    except ValueError:
        return False
    return True


def _calls(whole: AIMessageChunk) -> tuple[list[ToolCall], list[InvalidToolCall]]:
    """The calls of tools whose arguments are JSON, and the others.

    LangChain itself would take the beginning of an object for the whole one.
    """
    good: list[ToolCall] = []
    bad: list[InvalidToolCall] = []
    for call in whole.tool_call_chunks:
        try:
            arguments = json.loads(call["args"] or "{}", strict=False)
        except ValueError:
            arguments = None
        name = call["name"] or ""
        if isinstance(arguments, dict):
            good.append(ToolCall(name=name, args=arguments, id=call["id"], type="tool_call"))
        else:
            bad.append(
                InvalidToolCall(
                    name=name,
                    args=call["args"],
                    id=call["id"],
                    error="no JSON object",
                    type="invalid_tool_call",
                )
            )
    return good, bad
