"""An OpenAI-compatible server in a process of its own: it answers after a fixed time, cheaply.

    python -m benchmarks.answering_server --latency 0.3

prints its port and runs until its standard input ends. It speaks just enough HTTP for the clients
of the benchmark: keep-alive, no pipelining, no chunked requests. Replies are made beforehand, or
from the few lines of a prompt that they depend on. `GET /stats` tells how many chat requests there
were, when the first one came and the last reply left (`time.time`), the most in progress, and the
CPU seconds that the server itself has used.
"""

import argparse
import asyncio
import base64
import json
import random
import re
import struct
import sys
import threading
import time
from typing import Any

from benchmarks.texts import extraction

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_DECISION = re.compile(
    rb'"name": *"(Extraction|RationalPlan|InitialNodes|FactsDecision|ChunkDecision'
    rb'|NeighborDecision|Condensed|Answer)"'
)
_UNREAD = re.compile(r"^\[(\d+)\] (?!.*\(already read\)$)", re.MULTILINE)
_CHUNK = re.compile(r"<chunk>\s*(.*?[.?!])\s", re.DOTALL)
_EXTRACTIONS = 512
_VECTORS = 256
_NOTEBOOK = "The paths lead through several towns, and each of them tells a part of it. " * 8


class Replies:
    """The replies, made once."""

    def __init__(self) -> None:
        self._extractions = [response(extraction(number)) for number in range(_EXTRACTIONS)]
        self._next = 0
        plan = "First find who is meant, then where they went, and at last what follows from it."
        answer = {"analysis": _NOTEBOOK, "answer": "To a town.", "answered": True, "citations": [1]}
        nodes = [{"number": number, "score": 100 - number} for number in range(1, 13)]
        neighbor = {"rationale": "Nearest.", "function": "read_neighbor_node", "neighbor": 1}
        self._fixed = {
            b"RationalPlan": response({"plan": plan}),
            b"InitialNodes": response({"nodes": nodes}),
            b"NeighborDecision": response(neighbor),
            b"Condensed": response({"notebook": _NOTEBOOK}),
            b"Answer": response(answer),
        }
        dice = random.Random(0)
        self._vectors = {
            size: [_vector(dice, size) for _ in range(_VECTORS)] for size in (256, 1536)
        }

    def chat(self, body: bytes) -> bytes:
        """The reply to a chat request, by the decision that it asks for."""
        found = _DECISION.search(body)
        name = found[1] if found else b""
        if name == b"Extraction":
            self._next = (self._next + 1) % _EXTRACTIONS
            return self._extractions[self._next]
        if name in self._fixed:
            return self._fixed[name]
        user = str(json.loads(body)["messages"][1]["content"])
        return response(_on_facts(user) if name == b"FactsDecision" else _on_chunk(user))

    def embeddings(self, body: bytes) -> bytes:
        """As many vectors as there are texts."""
        asked = json.loads(body)
        vectors = self._vectors[asked.get("dimensions") or 1536]
        data = [
            {"object": "embedding", "index": index, "embedding": vectors[index % _VECTORS]}
            for index in range(len(asked["input"]))
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return http({"object": "list", "model": "benchmark", "data": data, "usage": usage})


def response(reply: Any) -> bytes:
    """A chat completion with the reply as content."""
    message = {"role": "assistant", "content": json.dumps(reply), "refusal": None}
    usage = {"prompt_tokens": 2500, "completion_tokens": 1000, "total_tokens": 3500}
    completion = {"id": "c", "object": "chat.completion", "created": 0, "model": "benchmark"}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    return http({**completion, "choices": choices, "usage": usage})


def http(body: Any) -> bytes:
    """A response of status 200."""
    data = json.dumps(body).encode()
    head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: "
    return f"{head}{len(data)}\r\n\r\n".encode() + data


def _on_facts(user: str) -> dict[str, Any]:
    unread = [int(number) for number in _UNREAD.findall(user)]
    function = "read_chunk" if unread else "stop_and_read_neighbor"
    choice = {"function": function, "chunks": unread[:1]}
    return {"notebook": _NOTEBOOK, "rationale": "It may tell more.", **choice}


def _on_chunk(user: str) -> dict[str, Any]:
    sentence = _CHUNK.search(user)
    choice = {"rationale": "There may be more.", "function": "search_more"}
    return {"notebook": _NOTEBOOK, "quotes": [sentence[1]] if sentence else [], **choice}


def _vector(dice: random.Random, size: int) -> str:
    """A random vector as clients ask for it: 32-bit floats in base64."""
    return base64.b64encode(
        struct.pack(f"<{size}f", *(dice.gauss(0, 1) for _ in range(size)))
    ).decode()


class Counts:
    """What `GET /stats` tells."""

    def __init__(self) -> None:
        self.chats = 0
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

    def told(self) -> bytes:
        """All of it since the last time it was told."""
        told = {name: one for name, one in vars(self).items() if not name.startswith("_")}
        self.__init__()  # type: ignore[misc]  # begins anew
        return http({**told, "cpu": time.process_time()})


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
            reply = self._replies.embeddings(body)
            self._loop.call_later(self._latency, self._transport.write, reply)
        elif path == b"/stats":
            self._transport.write(self._counts.told())
        else:
            self._transport.write(http({"object": "list", "data": []}))

    def _chat(self, reply: bytes) -> None:
        self._counts.end()
        self._transport.write(reply)


async def serve(latency: float) -> None:
    """Answer until standard input ends."""
    loop = asyncio.get_running_loop()
    replies, counts = Replies(), Counts()
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
    asyncio.run(serve(parser.parse_args().latency))
