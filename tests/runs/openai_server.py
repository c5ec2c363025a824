"""An OpenAI-compatible HTTP server on loopback whose replies are a function of the request.

It speaks /v1/models, /v1/chat/completions (JSON schema, tools, plain, streamed) and
/v1/embeddings, and it fails as it is told to. It sleeps only where a fault stalls.
"""

import json
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.responses import Response

from graphreader.llm.protocols import Decider
from graphreader.models import open_decider
from graphreader.settings import Settings
from tests.runs.model_server import ModelRequest, ModelServer
from tests.runs.openai_faults import Body, Fault
from tests.runs.openai_replies import completion, events, vector

__all__ = ["Body", "Fault", "ModelRequest", "OpenAIServer", "opened", "settings_for"]


class OpenAIServer(ModelServer):
    """A `ModelServer` of OpenAI's protocol.

    `refuses` names parts of a request that get status 400. `embeddings_faults` are those of
    embeddings, which `embeddings` keeps; `embed` gives their vectors, or a fault. Without `streams`
    a wish for a stream is ignored, and without `usage` no reply says what it costs.
    """

    path = "/v1/chat/completions"

    def __init__(
        self,
        reply: Callable[[Body], Any] = lambda body: {},
        *,
        refuses: Iterable[str] = (),
        embeddings_faults: Iterable[Fault] = (),
        embed: Callable[[list[str]], list[Any] | Fault] | None = None,
        dimension: int = 12,
        usage: bool = True,
        streams: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(reply, **options)
        self.refuses = frozenset(refuses)
        self.embeddings_faults = deque(embeddings_faults)
        self.embed = embed
        self.dimension = dimension
        self.usage = usage
        self.knows_streams = streams
        self.embeddings: list[Body] = []

    @property
    def url(self) -> str:
        """The base URL of a client."""
        return f"{super().url}/v1"

    def refused(self, body: Body) -> Fault | None:
        for part in sorted(self.refuses):
            if body.get(part) is not None:
                return Fault(400, f"Unsupported parameter: '{part}'.", "unsupported_parameter")
        return None

    def error(self, fault: Fault) -> Body:
        return {"error": {"message": fault.message, "code": fault.code, "type": "error"}}

    def whole(self, body: Body, text: str, fault: Fault) -> Body:
        return completion(body, text, fault, self.usage)

    def streams(self, body: Body) -> bool:
        return self.knows_streams and super().streams(body)

    def events(self, body: Body, text: str, fault: Fault) -> Iterator[str]:
        for one in events(body, text, fault, self.usage, self.piece):
            yield f"data: {one}\n\n"

    def other(self, path: str, body: Body) -> Response | None:
        """The vectors of texts."""
        if path != "/v1/embeddings":
            return super().other(path, body)
        self.embeddings.append(body)
        fault = self.embeddings_faults.popleft() if self.embeddings_faults else Fault()
        if fault.spoils:
            return self.failure(fault)
        size = body.get("dimensions") or self.dimension
        embedded = self.embed(body["input"]) if self.embed else None
        if isinstance(embedded, Fault):
            return self.failure(embedded)
        vectors = embedded or [vector(text, size) for text in body["input"]]
        data = [
            {"object": "embedding", "index": index, "embedding": one}
            for index, one in enumerate(vectors)
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        reply = {"object": "list", "model": "fake", "data": data, "usage": usage}
        return Response(json.dumps(reply), media_type="application/json")  # NaN too


@asynccontextmanager
async def opened(server: OpenAIServer, **settings: Any) -> AsyncIterator[Decider]:
    """The decider of the settings that asks the server."""
    decider = open_decider(settings_for(server, **settings))
    try:
        yield decider
    finally:
        await decider.aclose()


def settings_for(server: OpenAIServer, **settings: Any) -> Settings:
    """The settings of a model, "openai:fake", that the server serves."""
    own = {"model": "openai:fake", "openai_api_key": "k", "openai_base_url": server.url}
    return Settings.read(**(own | settings))
