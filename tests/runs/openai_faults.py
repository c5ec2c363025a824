"""What goes wrong with model services: one name a kind, scripted or by chance.

By chance: some share of the requests, chosen by a seed, by what is asked and by how often it was
asked before. So the order in which requests come in makes no difference.
"""

import json
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal

Body = dict[str, Any]
Change = Callable[[dict[str, Any]], str | None]


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to one request instead of, or (`finish_reason`, `content`) along with, a reply.

    `status` with `message`, `code` and `headers`; `hang`: no reply at all; `drop`: the connection
    is closed; `breaks`: a stream's is in the middle, or the stream ends there as if it were whole;
    `content`: this text instead of the reply; `refusal`: OpenAI's refusal; `thinking` goes before
    the reply of other providers; `change`: the reply is altered by it, or lost where it gives None.
    `harmless`: the reply is still good. `usage` is what it is said to have cost.
    """

    status: int = 200
    message: str = "a scripted fault"
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    hang: bool = False
    drop: bool = False
    breaks: Literal["", "closed", "ended"] = ""
    content: str | None = None
    finish_reason: str = "stop"
    refusal: str | None = None
    thinking: str = ""
    change: Change | None = None
    harmless: bool = False
    usage: Any = None

    def text(self, reply: Callable[[], Any]) -> str:
        """What the model says: the fault's text, or the reply, altered if the fault alters it."""
        if self.content is not None:
            return self.content
        good = reply()
        if self.change is not None:
            return self.change(good) or ""
        return good if isinstance(good, str) else _json(good)

    @property
    def spoils(self) -> bool:
        """Whether no good reply comes."""
        return self != Fault() and not self.harmless


def _json(reply: Any) -> str:
    return json.dumps(reply, ensure_ascii=False)


def _without_colons(reply: dict[str, Any]) -> str:
    return _json(reply).replace(":", "")


def _half(reply: dict[str, Any]) -> str:
    text = _json(reply)
    return text[: len(text) // 2]


def _wrong_enum(reply: dict[str, Any]) -> str | None:
    return _json({**reply, "function": "fly_away"}) if "function" in reply else None


def _unknown_numbers(reply: dict[str, Any]) -> str | None:
    """Numbers that name nothing, where the reply's use depends on one that does."""
    if "nodes" in reply:
        return _json(
            {"nodes": [{**node, "number": node["number"] + 900} for node in reply["nodes"]]}
        )
    if reply.get("function") == "read_chunk":
        return _json({**reply, "chunks": [900, -1, 0]})
    if reply.get("function") == "read_neighbor_node":
        return _json({**reply, "neighbor": 900})
    return None


def _fenced(reply: dict[str, Any]) -> str:
    return f"Gladly, here it is:\n```json\n{json.dumps(reply, ensure_ascii=False, indent=1)}\n```"


def _thought(reply: dict[str, Any]) -> str:
    return f'<think>What about {{"function": "none"}}? No.</think>\n{_json(reply)}'


FAULTS = {
    "429": Fault(429, "Rate limit reached.", "rate_limit_exceeded"),
    "429 Retry-After": Fault(429, "Rate limit reached.", headers={"retry-after": "0.1"}),
    "500": Fault(500, "The server had an error."),
    "503": Fault(503, "The server is overloaded."),
    "drop": Fault(drop=True),
    "stall": Fault(hang=True),
    "invalid JSON": Fault(change=_without_colons),
    "wrong enum": Fault(change=_wrong_enum),
    "unknown numbers": Fault(change=_unknown_numbers),
    "empty": Fault(content=""),
    "cut off": Fault(change=_half, finish_reason="length"),
    "refused": Fault(content="", refusal="I cannot help with that."),
    "fenced": Fault(change=_fenced, harmless=True),
    "think": Fault(change=_thought, harmless=True),
}
QUOTA = Fault(429, "You exceeded your current quota, check your plan.", "insufficient_quota")


class Chance:
    """A `share` of the requests meets one of the `faults`."""

    def __init__(
        self, share: float, seed: int, faults: Sequence[Fault] = tuple(FAULTS.values())
    ) -> None:
        self.share = share
        self._seed = seed
        self._faults = faults

    def __call__(self, body: Body, before: int) -> Fault | None:
        """The fault, if any, of a request whose prompt was asked `before` times already."""
        # Without the first message: the same requests meet the same faults when a prompt's fixed
        # text is worded anew.
        what = f"{self._seed} {before} {json.dumps(body['messages'][1:])}"
        dice = random.Random(blake2b(what.encode(), digest_size=8).hexdigest())
        return dice.choice(self._faults) if dice.random() < self.share else None


class SilentAfter:
    """A script of a service that answers so many requests and then hangs."""

    def __init__(self, answers: int) -> None:
        self.hangs = threading.Event()
        self._left = answers
        self._lock = threading.Lock()

    def __call__(self, body: Body, before: int) -> Fault | None:
        with self._lock:
            self._left -= 1
            if self._left >= 0:
                return None
        self.hangs.set()
        return Fault(hang=True)
