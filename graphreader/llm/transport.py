"""One request to a LangChain chat model: in one piece, or streamed with a callback for its text."""

import json
from collections.abc import AsyncIterator, Sequence
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

from graphreader.llm.protocols import TokenCallback
from graphreader.llm.structured_output import finish_reason, object_start


async def invoke(client: Any, messages: Sequence[BaseMessage]) -> AIMessage:
    """One request for a reply in one piece."""
    try:
        message = await client.ainvoke(messages)
    except Exception as error:
        message = cut_off_reply(error)
        if message is None:
            raise
    if not isinstance(message, AIMessage):
        raise TypeError(f"The model's reply is a {type(message).__name__}, not an AIMessage")
    return message


class StreamedRequest:
    """One request whose reply is streamed; `on_token` receives the pieces of one field's text.

    The reply is one JSON object, as content or as the arguments of a tool. Reasoning, words before
    the object and replies that are no JSON are not passed on. After a stream that broke off, the
    reply is requested in one piece: the network may be unable to hold a stream.
    """

    def __init__(
        self, client: Any, messages: Sequence[BaseMessage], field: str, on_token: TokenCallback
    ) -> None:
        self._client = client
        self._messages = messages
        self._field = field
        self._on_token = on_token
        self._broke_off = False

    async def send(self) -> AIMessage:
        """Send the request, or send it again.

        Raises ConnectionError where the stream ends before the reply does, NotImplementedError
        where the service does not stream.
        """
        if self._broke_off:
            return await invoke(self._client, self._messages)
        chunks: list[AIMessage] = []
        try:
            await self._receive(chunks)
            return _join_chunks(chunks)
        except Exception as error:
            if not chunks and _means_no_stream(error):
                raise NotImplementedError("The service gives no stream") from error
            message = cut_off_reply(error)
            if message is None:
                raise
            return message
        finally:
            self._broke_off = bool(chunks)  # matters only if it is sent again

    async def _receive(self, chunks: list[AIMessage]) -> None:
        text = GrowingField(self._field)
        begins = True
        stream: AsyncIterator[AIMessage]
        async with aclosing(self._client.astream(self._messages)) as stream:
            async for chunk in stream:
                chunks.append(chunk)
                if piece := text.add(chunk):
                    self._on_token(piece, begins)
                    begins = False


class GrowingField:
    """The text of one field of a JSON object, read while the object is written."""

    def __init__(self, field: str) -> None:
        self._field = field
        self._content = ""
        self._start: int | None = None
        self._arguments = ""
        self._value = ""

    def add(self, chunk: AIMessage) -> str:
        """The text by which the next chunk of the reply extends the field."""
        self._content += str(chunk.text)
        for call in getattr(chunk, "tool_call_chunks", []):
            self._arguments += call["args"] or ""
        if self._start is None:
            self._start = object_start(self._content)
        content = "" if self._start is None else self._content[self._start :]
        try:
            fields = from_json(self._arguments or content, allow_partial="trailing-strings")
        except ValueError:  # not, or no longer, the start of one JSON value
            return ""
        value = fields.get(self._field) if isinstance(fields, dict) else None
        if not isinstance(value, str) or not value.startswith(self._value):
            return ""
        piece, self._value = value[len(self._value) :], value
        return piece


def _means_no_stream(error: Exception) -> bool:
    """Whether OpenAI's client, or LangChain, reports a reply that is no stream like this."""
    return isinstance(error, AssertionError | IndexError) or "No generation chunks" in str(error)


def _join_chunks(chunks: Sequence[AIMessage]) -> AIMessage:
    """The message of the chunks. Raises ConnectionError where its end is missing."""
    pieces = [chunk for chunk in chunks if isinstance(chunk, AIMessageChunk)]
    if not pieces:  # of a client that does not stream
        return chunks[-1]
    whole = pieces[0] + pieces[1:] if len(pieces) > 1 else pieces[0]
    message = message_chunk_to_message(whole)
    if not isinstance(message, AIMessage) or not isinstance(whole, AIMessageChunk):
        raise TypeError(f"The model's reply is a {type(message).__name__}, not an AIMessage")
    # LangChain itself would take the start of an object for the whole one.
    message.tool_calls, message.invalid_tool_calls = [], []
    for call in whole.tool_call_chunks:
        name, arguments = call["name"] or "", _json_object(call["args"] or "{}")
        if arguments is not None:
            message.tool_calls.append(
                ToolCall(name=name, args=arguments, id=call["id"], type="tool_call")
            )
        else:
            message.invalid_tool_calls.append(
                InvalidToolCall(
                    name=name,
                    args=call["args"],
                    id=call["id"],
                    error="no JSON object",
                    type="invalid_tool_call",
                )
            )
    start = object_start(message.text) or 0
    whole_object = _json_prefix(message.text[start:]) is not None
    if not (finish_reason(message) or message.tool_calls or whole_object):
        raise ConnectionError("The stream ended in the middle of the reply")
    return message


def _json_object(text: str) -> dict[str, Any] | None:
    """The JSON object that the text is, if it is one."""
    text = text.strip()
    value, end = _json_prefix(text) or (None, 0)
    return value if isinstance(value, dict) and end == len(text) else None


def _json_prefix(text: str) -> tuple[Any, int] | None:
    """The JSON value at the start of the text, and where it ends; None: there is none."""
    try:
        return json.JSONDecoder(strict=False).raw_decode(text)
    except ValueError:
        return None


def reply_text(message: AIMessage) -> str:
    """What the model wrote, as content or as the arguments of a tool."""
    calls = [json.dumps(call["args"], ensure_ascii=False) for call in message.tool_calls]
    broken = [call["args"] or "" for call in message.invalid_tool_calls]
    return "\n".join([*calls, *broken, str(message.text)]).strip()


def cut_off_reply(error: Exception) -> AIMessage | None:
    """The reply that OpenAI's client raises as an error because it was cut off, if it is one."""
    completion: Any = getattr(error, "completion", None)
    if completion is None:
        return None
    choice, usage = completion.choices[0], completion.usage
    message = AIMessage(
        choice.message.content or "", response_metadata={"finish_reason": choice.finish_reason}
    )
    if usage is not None:
        reasoning = getattr(usage.completion_tokens_details, "reasoning_tokens", None) or 0
        cached = getattr(usage.prompt_tokens_details, "cached_tokens", None) or 0
        message.usage_metadata = {
            "input_tokens": usage.prompt_tokens,
            "output_tokens": usage.completion_tokens,
            "total_tokens": usage.prompt_tokens + usage.completion_tokens,
            "input_token_details": {"cache_read": cached},
            "output_token_details": {"reasoning": reasoning},
        }
    return message
