"""An OpenAI-compatible server in a process of its own: it answers after a fixed time, cheaply.

    python -m benchmarks.answering_server --latency 0.3

prints its port and runs until its standard input ends. It speaks just enough HTTP for the clients
of the benchmark: keep-alive, no pipelining, no chunked requests. Replies are made beforehand, or
from the few lines of a prompt that they depend on; one that is to be streamed comes in pieces, but
all at once. `GET /stats` returns the numbers of chat requests and embeddings, the times of the
first request and the last reply (`time.time`), the most requests in progress, and the CPU seconds
of the server.

Paths are led to their limit of calls, or with `--short-paths` to their end after three or four, as
many as in table 7 of the paper. Mode `adaptive` reads a chunk in its first turn and answers in the
second.
"""

import argparse
import asyncio
import base64
import json
import random
import re
import sys
import threading
import time
from array import array
from typing import Any
from zlib import crc32

from benchmarks.texts import extraction

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_DECISION = re.compile(
    rb'"name": *"(Extraction|RationalPlan|InitialNodes|FactsDecision|ChunkDecision'
    rb'|NeighborDecision|Condensed|Answer|Turn)"'
)
_UNREAD = re.compile(r"^\[(\d+)\] (?!.*\(already read\)$)", re.MULTILINE)
_CHUNK = re.compile(r"<chunk>\s*(.*?[.?!])\s", re.DOTALL)
_STREAM = re.compile(rb'"stream": *true')
_SET_OUT = "Previous actions:\n(none)"
_LAST_CHUNK = "Waiting to be read: nothing."
_FIRST_TURN = "Turns left after this one: 7."
_PASSAGE = re.compile(r"^\[(\d+\.\d+)\] .*\n(?:- )?(.*?[.?!])\s", re.MULTILINE)
_EXTRACTIONS = 512
_PIECE = 40  # characters of an event
_USAGE = {"prompt_tokens": 2500, "completion_tokens": 1000, "total_tokens": 3500}
_NUMBERS = 1_000_000  # of which each text has a run as its vector: few texts have the same
_NOTEBOOK = "The paths lead through several towns, and each of them tells a part of it. " * 8


class Replies:
    """The replies, made once."""

    def __init__(self, short_paths: bool) -> None:
        self._short_paths = short_paths
        self._extractions = [response(extraction(number)) for number in range(_EXTRACTIONS)]
        self._next = 0
        plan: dict[str, Any] = {
            "plan": "First find who is meant, then where they went, and what follows from it.",
            "needs": ["who met near the old bridge", "the towns to which they went"],
        }
        answer = {
            "analysis": _NOTEBOOK,
            "answer": "To a town.",
            "explanation": "They went on from the old bridge.",
            "confidence": "stated",
            "claims": [{"claim": "They went to a town.", "citations": [1]}],
            "contradictions": [],
        }
        nodes = [{"number": number, "score": 100 - number} for number in range(1, 13)]
        neighbor = {"rationale": "Nearest.", "function": "read_neighbor_node", "neighbor": 1}
        self._fixed = {
            b"RationalPlan": response(plan),
            b"InitialNodes": response({"nodes": nodes}),
            b"NeighborDecision": response(neighbor),
            b"Condensed": response({"notebook": _NOTEBOOK}),
            b"Answer": response(answer),
        }
        self._streamed = {b"Answer": streamed(answer)}
        dice = random.Random(0)
        self._numbers = array("f", (dice.gauss(0, 1) for _ in range(_NUMBERS)))

    def chat(self, body: bytes) -> bytes:
        """The reply to a chat request, by the decision that it asks for."""
        found = _DECISION.search(body)
        name = found[1] if found else b""
        if name == b"Extraction":
            self._next = (self._next + 1) % _EXTRACTIONS
            return self._extractions[self._next]
        if name in self._fixed:
            return (self._streamed if _STREAM.search(body) else self._fixed)[name]
        user = str(json.loads(body)["messages"][1]["content"])
        if name == b"Turn":
            return (streamed if _STREAM.search(body) else response)(_on_turn(user))
        on = _on_facts if name == b"FactsDecision" else _on_chunk
        return response(on(user, self._short_paths))

    def embeddings(self, body: bytes) -> bytes:
        """A vector for each text, as clients ask for it: 32-bit floats in base64."""
        asked = json.loads(body)
        size = asked.get("dimensions") or 1536
        data = [
            {"object": "embedding", "index": index, "embedding": self._vector(text, size)}
            for index, text in enumerate(asked["input"])
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return http({"object": "list", "model": "benchmark", "data": data, "usage": usage})

    def _vector(self, text: str, size: int) -> str:
        start = crc32(text.encode()) % (_NUMBERS - size)
        return base64.b64encode(self._numbers[start : start + size]).decode()


def response(reply: Any) -> bytes:
    """A chat completion with the reply as content."""
    message = {"role": "assistant", "content": json.dumps(reply), "refusal": None}
    completion = {"id": "c", "object": "chat.completion", "created": 0, "model": "benchmark"}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    return http({**completion, "choices": choices, "usage": _USAGE})


def streamed(reply: Any) -> bytes:
    """The same as the events of a stream."""
    head = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "benchmark"}
    text = json.dumps(reply)
    pieces = [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]
    deltas: list[dict[str, Any]] = [
        {"delta": {"role": "assistant", "content": piece}, "finish_reason": None}
        for piece in pieces
    ]
    deltas.append({"delta": {}, "finish_reason": "stop"})
    events = [{**head, "choices": [{"index": 0, **delta}]} for delta in deltas]
    events.append({**head, "choices": [], "usage": _USAGE})
    data = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
    return _http(data.encode(), "text/event-stream")


def http(body: Any) -> bytes:
    """A response of status 200."""
    return _http(json.dumps(body).encode(), "application/json")


def _http(data: bytes, kind: str) -> bytes:
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(data)}\r\n\r\n"
    return head.encode() + data


def _on_facts(user: str, short_path: bool) -> dict[str, Any]:
    unread = [int(number) for number in _UNREAD.findall(user)]
    read = unread[:1]
    if short_path and _SET_OUT in user:  # two chunks, or at once to a neighbor and one of its own
        read = unread[:2] if crc32(user.encode()) % 2 else []
    function = "read_chunk" if read else "stop_and_read_neighbor"
    choice = {"function": function, "chunks": read}
    return {"notebook": _NOTEBOOK, "rationale": "It may tell more.", **choice}


def _on_chunk(user: str, short_path: bool) -> dict[str, Any]:
    sentence = _CHUNK.search(user)
    ends = short_path and _LAST_CHUNK in user
    choice = {"rationale": "As it is.", "function": "termination" if ends else "search_more"}
    return {"notebook": _NOTEBOOK, "quotes": [sentence[1]] if sentence else [], **choice}


def _on_turn(user: str) -> dict[str, Any]:
    number, sentence = _PASSAGE.findall(user)[0]
    if _FIRST_TURN in user:
        return {"findings": [], "actions": [{"function": "read_chunk", "argument": number}]}
    finding = {"finding": sentence, "passage": number, "quote": sentence}
    return {"findings": [finding], "actions": [], "answer": "To a town.", "explanation": _NOTEBOOK}


class Counts:
    """The counts of `GET /stats`."""

    def __init__(self) -> None:
        self.chats = 0
        self.embeddings = 0
        self.first = 0.0
        self.last = 0.0
        self.most_at_once = 0
        self._at_once = 0

    def begin(self) -> None:
        """A chat request came."""
        self.chats += 1
        self.first = self.first or time.time()
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)

    def end(self) -> None:
        """Its reply is leaving."""
        self._at_once -= 1
        self.last = time.time()

    def response(self) -> bytes:
        """The counts since the last request for them."""
        counts = {name: one for name, one in vars(self).items() if not name.startswith("_")}
        self.__init__()  # type: ignore[misc]  # resets the counts
        return http({**counts, "cpu": time.process_time()})


class Answering(asyncio.Protocol):
    """One connection."""

    def __init__(self, replies: Replies, counts: Counts, latency: float) -> None:
        self._replies = replies
        self._counts = counts
        self._latency = latency
        self._buffer = bytearray()
        self._loop = asyncio.get_running_loop()
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self._buffer[:end])
        length = _LENGTH.search(head)
        whole = end + 4 + (int(length[1]) if length else 0)
        if len(self._buffer) >= whole:
            body = bytes(self._buffer[end + 4 : whole])
            del self._buffer[:whole]
            self._request(head.split(b" ", 2)[1], body)

    def _request(self, path: bytes, body: bytes) -> None:
        if path == b"/v1/chat/completions":
            self._counts.begin()
            self._loop.call_later(self._latency, self._chat, self._replies.chat(body))
        elif path == b"/v1/embeddings":
            self._counts.embeddings += 1
            reply = self._replies.embeddings(body)
            self._loop.call_later(self._latency, self._transport.write, reply)
        elif path == b"/stats":
            self._transport.write(self._counts.response())
        else:
            self._transport.write(http({"object": "list", "data": []}))

    def _chat(self, reply: bytes) -> None:
        self._counts.end()
        self._transport.write(reply)


async def serve(latency: float, short_paths: bool) -> None:
    """Answer until standard input ends."""
    loop = asyncio.get_running_loop()
    replies, counts = Replies(short_paths), Counts()
    server = await loop.create_server(
        lambda: Answering(replies, counts, latency), "127.0.0.1", 0, backlog=512
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    ended = asyncio.Event()

    def wait() -> None:
        sys.stdin.read()
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=wait, daemon=True).start()
    await ended.wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency", type=float, default=0.3, help="seconds before each reply")
    parser.add_argument("--short-paths", action="store_true", help="paths of three or four calls")
    chosen = parser.parse_args()
    asyncio.run(serve(chosen.latency, chosen.short_paths))
