"""One request to a chat model of LangChain, and what its reply says and cost."""

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from graphreader import tokens
from graphreader.deciding.hushing import hushed
from graphreader.usage import Usage


async def invoke(model: Any, messages: Sequence[BaseMessage]) -> AIMessage:
    """One request. OpenAI's client raises where a reply was cut off: here it is a reply still."""
    try:
        with hushed():
            message = await model.ainvoke(messages)
    except Exception as error:
        cut_off = cut_off_in(error)
        if cut_off is None:
            raise
        return cut_off
    if not isinstance(message, AIMessage):
        raise TypeError(f"The model's reply is a {type(message).__name__}, not an AIMessage")
    return message


def cut_off_in(error: Exception) -> AIMessage | None:
    """The reply that OpenAI's client raises as an error because it was cut off."""
    completion = getattr(error, "completion", None)
    return None if completion is None else _message_of(completion)


def said(message: AIMessage) -> str:
    """What the model wrote, as content or as arguments of a tool."""
    calls = [json.dumps(call["args"], ensure_ascii=False) for call in message.tool_calls]
    broken = [call["args"] or "" for call in message.invalid_tool_calls]
    return "\n".join([*calls, *broken, str(message.text)]).strip()


def usage_of(message: AIMessage, prompt_tokens: int, encoding: str) -> Usage:
    """What one reply cost, by the provider's count, or by ours where it gives none."""
    given = message.usage_metadata
    if not given or not given["input_tokens"]:  # no prompt has none
        return Usage(1, prompt_tokens, tokens.count(said(message), encoding), estimated=1)
    cached = (given.get("input_token_details") or {}).get("cache_read") or 0
    return Usage(1, given["input_tokens"], given["output_tokens"], cached_tokens=cached)


def _message_of(completion: Any) -> AIMessage:
    """The message of a chat completion of OpenAI's client."""
    choice = completion.choices[0]
    message = AIMessage(
        choice.message.content or "", response_metadata={"finish_reason": choice.finish_reason}
    )
    if completion.usage is not None:
        sent, received = completion.usage.prompt_tokens, completion.usage.completion_tokens
        details = getattr(completion.usage, "completion_tokens_details", None)
        reasoning = getattr(details, "reasoning_tokens", None) or 0
        details = getattr(completion.usage, "prompt_tokens_details", None)
        cached = getattr(details, "cached_tokens", None) or 0
        message.usage_metadata = {
            "input_tokens": sent,
            "output_tokens": received,
            "total_tokens": sent + received,
            "input_token_details": {"cache_read": cached},
            "output_token_details": {"reasoning": reasoning},
        }
    return message
