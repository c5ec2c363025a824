"""A server on loopback that takes the traces of LangSmith's client."""

import gzip
import json
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tests.runs.loopback import Loopback

# So that LangSmith's client sends plain JSON.
_INFO = {
    "batch_ingest_config": {
        "use_multipart_endpoint": False,
        "size_limit": 100,
        "size_limit_bytes": 20_000_000,
        "scale_up_nthreads_limit": 16,
        "scale_up_qsize_trigger": 1000,
        "scale_down_nempty_trigger": 4,
    }
}


@dataclass(slots=True)
class Trace:
    """One run of LangSmith with its content."""

    id: str
    parent: str | None
    name: str
    content: dict[str, Any] = field(default_factory=dict)


class TraceServer(Loopback):
    """Keeps the runs that it is sent, and the bodies of all requests in `raw`.

    `keys` are those that LangSmith's client showed.
    """

    def __init__(self) -> None:
        super().__init__()
        self.runs: dict[str, dict[str, Any]] = {}  # in parts: LangSmith adds to them
        self.raw: list[bytes] = []
        self.keys: set[str] = set()

    @property
    def traces(self) -> list[Trace]:
        """The runs of LangSmith."""
        found = self.runs.items()
        return [Trace(id_, run.get("parent_run_id"), run["name"], run) for id_, run in found]

    async def answer(self, request: Request) -> Response:
        if request.method == "GET":
            return JSONResponse(_INFO)
        body = await request.body()
        if request.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        self.keys.add(request.headers.get("x-api-key", ""))
        self.raw.append(body)
        if request.url.path.endswith("/runs/batch"):
            batch = json.loads(body)
            for run in [*batch.get("post", []), *batch.get("patch", [])]:
                self.runs.setdefault(run["id"], {}).update(run)
        return JSONResponse({})


def ways(traces: list[Trace]) -> list[str]:
    """The way from the root to each of them, by names, in their order."""
    known = {one.id: one for one in traces}

    def way(one: Trace) -> str:
        above = known.get(one.parent or "")
        return f"{way(above)} > {one.name}" if above else one.name

    return sorted(way(one) for one in traces)
