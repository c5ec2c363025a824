"""What models think before they reply: told apart from the reply itself.

Thoughts come as marked text (`<think>`), as blocks of their own, or beside the message; every
provider has its own way.
"""

import re

from langchain_core.messages import AIMessage

_MARKED = re.compile(
    r"<((?:seed:)?(?:think(?:ing)?|thoughts?|reasoning))>.*?(?:</\1>|\Z)"
    r"|\[THINK\].*?(?:\[/THINK\]|\Z)"
    r"|◁think▷.*?(?:◁/think▷|\Z)"
    r"|<\|channel\|>analysis.*?(?:<\|channel\|>final|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_END = re.compile(
    r"</(?:seed:)?(?:think(?:ing)?|thoughts?|reasoning)>|\[/THINK\]|◁/think▷", re.IGNORECASE
)
_OBJECT = re.compile(r"\s*(?:```\w*\s*)?\{")
_BLOCKS = {"reasoning", "thinking", "redacted_thinking", "reasoning_content"}
_BESIDE = ("reasoning_content", "reasoning")


def thought(message: AIMessage) -> bool:
    """Whether the model spent tokens of its reply on thinking."""
    usage = message.usage_metadata
    counted = (usage.get("output_token_details") or {}).get("reasoning") if usage else 0
    marked = _MARKED.search(message.text) or _END.search(message.text)
    return bool(counted or marked or _blocks(message) or thoughts_of(message))


def without_thoughts(text: str) -> str:
    """The reply itself."""
    text = _MARKED.sub("", text)
    return _END.split(text)[-1]  # some servers swallow the opening mark


def begins_at(text: str) -> int | None:
    """Where the JSON object begins that a reply is, as far as it is written: None: not yet, or not.

    Before it there may be thoughts that have come to an end, or a fence.
    """
    ends = [mark.end() for mark in _END.finditer(text)]
    begin = _OBJECT.match(text, ends[-1] if ends else 0)
    return begin.end() - 1 if begin else None


def thoughts_of(message: AIMessage) -> str:
    """What was thought outside of the message's text, as far as the provider shows it."""
    shown = [
        block.get(key) for block in _blocks(message) for key in ("thinking", "reasoning", "text")
    ]
    shown += [message.additional_kwargs.get(key) for key in _BESIDE]
    return "\n".join(one for one in shown if isinstance(one, str) and one.strip())


def _blocks(message: AIMessage) -> list[dict[str, object]]:
    """The blocks of the content that are thoughts."""
    if not isinstance(message.content, list):
        return []
    blocks = (block for block in message.content if isinstance(block, dict))
    return [block for block in blocks if block.get("type") in _BLOCKS]
