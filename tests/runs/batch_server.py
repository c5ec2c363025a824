"""A server on loopback with the batch interfaces of OpenAI and Anthropic, and their direct ones.

A batch stays in progress until the test ends it. Its results are in reverse order.
"""

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Literal

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tests.runs.loopback import Loopback
from tests.runs.openai_faults import Body, Fault
from tests.runs.openai_replies import completion
from tests.runs.other_servers import chat_of, message

KEY = "sk-batch-4711"
FILE = {"bytes": 1, "created_at": 0, "filename": "f", "purpose": "batch", "status": "processed"}
Outcome = Literal["", "expired", "malformed", "missing", "server error", "invalid", "cut off"]


class BatchServer(Loopback):
    """`reply` gives the content for a request as OpenAI's messages.

    `outcome` says what becomes of a request in a batch instead of a reply, from its messages and
    how often it was in a batch before. `after_create` is called when a batch exists, before the
    client knows; where it raises an OSError, the client never does. With `ends_at_once` a batch
    ends when the client looks at it for the second time, with `fails` OpenAI's batches end in their
    validation. `results` gives the lines of the results in place of one, from the messages and it;
    `odd` has fields that replace others of a shown batch. `rounds` are the messages of each batch
    in the order of creation, `direct` those of single requests.
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
        results: Callable[[str, Body], list[Any]] = lambda text, line: [line],
    ) -> None:
        super().__init__()
        self.reply = reply
        self.outcome = outcome
        self.after_create = after_create
        self.ends_at_once = ends_at_once
        self.fails = fails
        self.has_batches = has_batches
        self.results = results
        self.odd: Body = {}
        self.files: dict[str, bytes] = {}
        self.batches: list[Body] = []
        self.rounds: list[list[Body]] = []
        self.direct: list[Body] = []

    def end(self, *, expired: bool = False) -> None:
        """End all batches that are in progress; `expired`: without any reply."""
        for batch in self.batches:
            if not batch["ended"]:
                batch["ended"] = True
                batch["lines"] = [
                    self._result(batch, one, expired) for one in reversed(batch["requests"])
                ]

    async def answer(self, request: Request) -> Response | None:
        path = request.url.path.strip("/").split("/")[1:]
        key = request.headers.get("x-api-key") or request.headers.get("authorization", "")
        if path == ["models"]:
            return JSONResponse({"object": "list", "data": []})
        if key.removeprefix("Bearer ") != KEY:
            return _failure(401, "invalid key")
        if not self.has_batches and "chat" not in path:
            return _failure(404, "no such address")
        if request.method == "GET":
            return self._look(path)
        match path:
            case ["files"]:
                id_ = f"file_{len(self.files)}"
                async with request.form() as form:
                    self.files[id_] = await form["file"].read()  # type: ignore[union-attr]
                return JSONResponse({"id": id_, "object": "file", **FILE})
            case ["batches"] | ["messages", "batches"]:
                return await self._create(await request.json())
            case ["chat", "completions"] | ["messages"]:
                self.direct.append(body := await request.json())
                return JSONResponse(self._reply(body))
        return _failure(404, "not found")

    def _look(self, path: list[str]) -> Response:
        """Answer a request about batches or their results."""
        batches = {one["id"]: one for one in self.batches}
        match path:
            case ["batches"] | ["messages", "batches"]:
                newest = [self._shown(one) for one in reversed(self.batches)]
                ends = {"first_id": None, "last_id": None, "has_more": False}
                return JSONResponse({"object": "list", "data": newest, **ends})
            case ["batches", id_] | ["messages", "batches", id_] if id_ in batches:
                batches[id_]["looks"] += 1
                if self.ends_at_once and batches[id_]["looks"] > 1:
                    self.end()
                return JSONResponse(self._shown(batches[id_]) | self.odd)
            case ["files", id_, "content"]:
                id_, _, kind = id_.partition("-")
                return Response("\n".join(one for of, one in batches[id_]["lines"] if of == kind))
            case ["messages", "batches", id_, "results"]:
                return Response("\n".join(one for _, one in batches[id_]["lines"]))
        return _failure(404, "not found")

    async def _create(self, given: Body) -> Response | None:
        """Keep a new batch, with requests in the format of its provider."""
        requests, metadata = given.get("requests"), given.get("metadata")
        if requests is None:
            lines = self.files[given["input_file_id"]].decode().splitlines()
            requests = [json.loads(one) for one in lines]
            assert {one["url"] for one in requests} == {given["endpoint"]}
        batch = {
            "id": f"batch_{len(self.batches) + 1}",
            "requests": requests,
            "metadata": metadata,
            "ended": False,
            "lines": [],
            "created": time.time(),
            "looks": 0,
        }
        self.batches.append(batch)
        self.rounds.append([_chat(one) for one in requests])
        try:
            await run_in_threadpool(self.after_create)
        except OSError:
            return None
        return JSONResponse(self._shown(batch))

    def _reply(self, body: Body, fault: Fault = Fault()) -> Body:  # noqa: B008
        """The reply to a request of either provider, in its format."""
        text = fault.text(lambda: self.reply(chat_of(body)))
        text = text[:20] if fault.finish_reason == "length" else text
        if body["messages"][0]["role"] == "system":
            return completion(body, text, fault, usage=True)
        return message(body, text, fault)

    def _result(self, batch: Body, request: Body, expired: bool) -> tuple[str, str]:
        """A line of the results, and whether it is one of "replies" or of "errors"."""
        chat = _chat(request)
        before = sum(chat in one for one in self.rounds[: self.batches.index(batch)])
        outcome = "expired" if expired else self.outcome(json.dumps(chat), before)
        if outcome in ("missing", "malformed"):
            return "replies", '{"custom_id": ' if outcome == "malformed" else ""
        status = {"invalid": 400, "server error": 500}.get(outcome, 200)
        content: Body = {}
        if outcome in ("", "cut off"):
            fault = Fault(finish_reason="length") if outcome else Fault()
            content = self._reply(request.get("body") or request["params"], fault)
        elif status != 200:
            kind = "invalid_request_error" if outcome == "invalid" else "api_error"
            error = {"type": kind, "message": f"a scripted {outcome}"}
            content = {"type": "error", "error": error}
        line: Body = {"custom_id": request["custom_id"]}
        if "params" in request:
            kind, name = ("succeeded", "message") if status == 200 else ("errored", "error")
            line["result"] = {"type": kind, name: content} if content else {"type": "expired"}
        else:
            response = {"status_code": status, "request_id": "r", "body": content}
            failure = {"code": "batch_expired", "message": "It expired."}
            line |= {"id": "l", "response": response if content else None}
            line["error"] = None if content else failure
        lines = self.results(json.dumps(chat), line)
        text = "\n".join(one if isinstance(one, str) else json.dumps(one) for one in lines)
        return "replies" if content and status == 200 else "errors", text

    def _shown(self, batch: Body) -> Body:
        """A batch as its provider shows it."""
        size, ended, kinds = len(batch["requests"]), batch["ended"], dict(batch["lines"])
        if batch["metadata"] is None:
            replies = sum(kind == "replies" and bool(line) for kind, line in batch["lines"])
            created = datetime.fromtimestamp(batch["created"], UTC).isoformat()
            return {
                "id": batch["id"],
                "type": "message_batch",
                "created_at": created,
                "expires_at": created,
                "processing_status": "ended" if ended else "in_progress",
                "request_counts": {
                    "processing": 0 if ended else size,
                    "succeeded": replies,
                    "errored": size - replies if ended else 0,
                    "canceled": 0,
                    "expired": 0,
                },
                "results_url": f"{self.url}/v1/messages/batches/{batch['id']}/results",
            }
        return {
            "id": batch["id"],
            "object": "batch",
            "completion_window": "24h",
            "created_at": int(batch["created"]),
            "endpoint": "/v1/chat/completions",
            "input_file_id": "file",
            "status": "failed" if self.fails else "completed" if ended else "in_progress",
            "metadata": batch["metadata"],
            "errors": {"data": [{"message": self.fails}]} if self.fails else None,
            "request_counts": {"total": size, "completed": 0, "failed": 0},
            "output_file_id": f"{batch['id']}-replies" if "replies" in kinds else None,
            "error_file_id": f"{batch['id']}-errors" if "errors" in kinds else None,
        }


def _chat(request: Body) -> Body:
    return chat_of(request.get("body") or request["params"])


def _failure(status: int, text: str) -> Response:
    return JSONResponse({"type": "error", "error": {"type": "e", "message": text}}, status)
