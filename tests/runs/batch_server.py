"""A server on loopback with the batch interfaces of OpenAI and Anthropic, and their direct ones.

A batch stays in progress until the test ends it. Its results are in reverse order.
"""

import json
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email import message_from_bytes
from typing import Any, Literal

from tests.runs.loopback import Handler, Loopback
from tests.runs.openai_faults import Body, Fault
from tests.runs.openai_replies import completion

KEY = "sk-batch-4711"
Outcome = Literal["", "expired", "malformed", "missing", "server error", "invalid", "cut off"]


class BatchServer(Loopback):
    """`reply` gives the content for a request as OpenAI's messages.

    `outcome` says what becomes of a request in a batch instead of a reply, from its messages and
    how often it was in a batch before. `after_create` is called when a batch exists, before the
    client knows. With `ends_at_once` a batch ends when the client looks at it for the second time,
    with `fails` OpenAI's batches end in their validation. `rounds` are the messages
    of each batch in the order of creation, `direct` those of single requests.
    """

    def __init__(
        self,
        reply: Callable[[Body], Any],
        *,
        outcome: Callable[[str, int], Outcome] = lambda text, before: "",
        after_create: Callable[[], None] = lambda: None,
        ends_at_once: bool = False,
        fails: str = "",
        has_batches: bool = True,
    ) -> None:
        super().__init__(_Handler)
        self.reply = reply
        self.outcome = outcome
        self.after_create = after_create
        self.ends_at_once = ends_at_once
        self.fails = fails
        self.has_batches = has_batches
        self.files: dict[str, bytes] = {}
        self.batches: list[Body] = []
        self.rounds: list[list[Body]] = []
        self.direct: list[Body] = []
        self.largest = 0
        self.lock = threading.Lock()

    def end(self, *, expired: bool = False) -> None:
        """End all batches that are in progress; `expired`: without any reply."""
        for batch in self.batches:
            if not batch["ended"]:
                batch["ended"] = True
                batch["lines"] = [
                    self._result(batch, one, expired) for one in reversed(batch["requests"])
                ]

    def look(self, batch: Body) -> Body:
        """A batch that the client asks for."""
        batch["looks"] += 1
        if self.ends_at_once and batch["looks"] > 1:
            self.end()
        return batch

    def create(self, requests: list[Body], **more: Any) -> Body:
        """Keep a new batch; its requests are those of the provider."""
        number = len(self.batches) + 1
        batch = {"id": f"batch_{number}", "requests": requests, "ended": False, "lines": []}
        self.batches.append({**batch, **more, "created": time.time(), "looks": 0})
        self.rounds.append([_chat(one) for one in requests])
        self.after_create()
        return self.batches[-1]

    def answer(self, body: Body, *, whole: bool = True) -> Body:
        """The reply to a request of either provider, in its format, `whole` or cut off."""
        chat = _chat({"params": body})
        good = self.reply(chat)
        text = good if isinstance(good, str) else json.dumps(good)
        text = text if whole else text[:20]
        if body["messages"][0]["role"] == "system":
            fault = Fault(finish_reason="stop" if whole else "length")
            return completion(body, text, fault, usage=True)
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn" if whole else "max_tokens",
            "stop_sequence": None,
            "usage": {"input_tokens": 100, "output_tokens": 10},
        }

    def _result(self, batch: Body, request: Body, expired: bool) -> tuple[str, str]:
        """A line of the results, and whether it is one of "replies" or of "errors"."""
        chat, key = _chat(request), request["custom_id"]
        before = sum(chat in one for one in self.rounds[: self.batches.index(batch)])
        outcome = "expired" if expired else self.outcome(json.dumps(chat), before)
        if outcome in ("missing", "malformed"):
            return "replies", '{"custom_id": ' if outcome == "malformed" else ""
        is_openai = "body" in request
        result: Body
        if outcome in ("", "cut off"):
            reply = self.answer(request.get("body") or request["params"], whole=not outcome)
            result = {"type": "succeeded", "message": reply}
            response = {"status_code": 200, "request_id": "r", "body": reply}
        elif outcome == "expired":
            result = {"type": "expired"}
            response = {}
        else:
            kind = "invalid_request_error" if outcome == "invalid" else "api_error"
            error = {"type": kind, "message": f"a scripted {outcome}"}
            result = {"type": "errored", "error": {"type": "error", "error": error}}
            status = 400 if outcome == "invalid" else 500
            response = {"status_code": status, "request_id": "r", "body": {"error": error}}
        line: Body = {"custom_id": key, "result": result}
        if is_openai:
            failure = None if response else {"code": "batch_expired", "message": "It expired."}
            line = {"id": "l", "custom_id": key, "response": response or None, "error": failure}
        return "replies" if result["type"] == "succeeded" else "errors", json.dumps(line)


def _chat(request: Body) -> Body:
    """The messages of a request of either provider, as OpenAI has them."""
    body = request.get("body") or request["params"]
    system = [{"role": "system", "content": body["system"]}] if "system" in body else []
    return {"messages": [*system, *body["messages"]]}


class _Handler(Handler):
    @property
    def fake(self) -> BatchServer:
        server: BatchServer = self.server.fake
        return server

    def do_GET(self) -> None:
        path = self.path.partition("?")[0].strip("/").split("/")[1:]
        if path == ["models"]:
            return self.send(200, {"object": "list", "data": []})
        if not self._is_welcome():
            return None
        with self.fake.lock:
            batches = {one["id"]: one for one in self.fake.batches}
            match path:
                case ["batches"] | ["messages", "batches"]:
                    newest = [self._batch(one) for one in reversed(batches.values())]
                    ends = {"first_id": None, "last_id": None, "has_more": False}
                    return self.send(200, {"object": "list", "data": newest, **ends})
                case ["batches", id_] | ["messages", "batches", id_] if id_ in batches:
                    return self.send(200, self._batch(self.fake.look(batches[id_])))
                case ["files", id_, "content"]:
                    batch, _, kind = id_.partition("-")
                    return self._send_lines(batches[batch], kind)
                case ["messages", "batches", id_, "results"]:
                    return self._send_lines(batches[id_], "")
        return self._fail(404, "not found")

    def do_POST(self) -> None:
        body = self.body()
        if not self._is_welcome():
            return None
        with self.fake.lock:
            self.fake.largest = max(self.fake.largest, len(body))
            match self.path.partition("?")[0].strip("/").split("/")[1:]:
                case ["files"]:
                    id_ = f"file_{len(self.fake.files)}"
                    self.fake.files[id_] = _uploaded(self.headers["content-type"], body)
                    return self.send(200, {"id": id_, "object": "file", **_FILE})
                case ["batches"]:
                    given = json.loads(body)
                    lines = self.fake.files[given["input_file_id"]].decode().splitlines()
                    assert {json.loads(one)["url"] for one in lines} == {given["endpoint"]}
                    batch = self.fake.create(
                        [json.loads(one) for one in lines], metadata=given["metadata"]
                    )
                    return self.send(200, self._batch(batch))
                case ["messages", "batches"]:
                    return self.send(
                        200, self._batch(self.fake.create(json.loads(body)["requests"]))
                    )
                case ["chat", "completions"] | ["messages"]:
                    self.fake.direct.append(json.loads(body))
                    return self.send(200, self.fake.answer(json.loads(body)))
        return self._fail(404, "not found")

    def _is_welcome(self) -> bool:
        key = self.headers.get("x-api-key") or self.headers.get("authorization", "")
        if key.removeprefix("Bearer ") != KEY:
            self._fail(401, "invalid key")
        elif self.fake.has_batches or "chat" in self.path:
            return True
        else:
            self._fail(404, "no such address")
        return False

    def _batch(self, batch: Body) -> Body:
        """A batch as its provider shows it."""
        size, ended = len(batch["requests"]), batch["ended"]
        if "metadata" not in batch:
            replies = sum(kind == "replies" and bool(line) for kind, line in batch["lines"])
            rest = ("canceled", "expired") if ended else ("errored", "canceled", "expired")
            counts = {"processing": 0 if ended else size, "succeeded": replies}
            created = datetime.fromtimestamp(batch["created"], UTC).isoformat()
            return {
                "id": batch["id"],
                "type": "message_batch",
                "created_at": created,
                "expires_at": created,
                "processing_status": "ended" if ended else "in_progress",
                "request_counts": {
                    **counts,
                    "errored": size - replies if ended else 0,
                    **dict.fromkeys(rest, 0),
                },
                "results_url": f"{self.fake.url}/v1/messages/batches/{batch['id']}/results",
            }
        status = "failed" if self.fake.fails else "completed" if ended else "in_progress"
        kinds = {kind for kind, _ in batch["lines"]}
        return {
            "id": batch["id"],
            "object": "batch",
            "completion_window": "24h",
            "created_at": int(batch["created"]),
            "endpoint": "/v1/chat/completions",
            "input_file_id": "file",
            "status": status,
            "metadata": batch["metadata"],
            "errors": {"data": [{"message": self.fake.fails}]} if self.fake.fails else None,
            "request_counts": {"total": size, "completed": 0, "failed": 0},
            "output_file_id": f"{batch['id']}-replies" if "replies" in kinds else None,
            "error_file_id": f"{batch['id']}-errors" if "errors" in kinds else None,
        }

    def _send_lines(self, batch: Body, kind: str) -> None:
        lines = [line for one, line in batch["lines"] if one == kind or not kind]
        data = "\n".join(lines).encode()
        self.send_response(200)
        self.send_header("content-type", "application/octet-stream")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _fail(self, status: int, message: str) -> None:
        self.send(status, {"type": "error", "error": {"type": "e", "message": message}})


_FILE = {"bytes": 1, "created_at": 0, "filename": "f", "purpose": "batch", "status": "processed"}


def _uploaded(kind: str, body: bytes) -> bytes:
    """The file of a multipart form."""
    form = message_from_bytes(f"content-type: {kind}\n\n".encode() + body)
    parts: Mapping[Any, Any] = {
        part.get_param("name", header="content-disposition"): part for part in form.walk()
    }
    return bytes(parts["file"].get_payload(decode=True))
