"""The embedder that asks an embedding model through a LangChain client."""

import asyncio
import logging
import math
import time
from collections.abc import Sequence

from langchain_core.embeddings import Embeddings

from graphreader.errors import DecisionError, ModelRefusedError
from graphreader.llm.providers import close
from graphreader.llm.retry import ModelService, RequestRejected
from graphreader.tokens import count as count_tokens

logger = logging.getLogger("graphreader.llm")
_BATCH = 256  # texts per request: far below providers' limits, since key elements are short
_MAX_CHARACTERS = 8_000  # providers refuse more than about 8,000 tokens


class ModelEmbedder:
    """Turns texts into vectors by asking an embedding model, in batches.

    Texts are truncated at 8,000 characters; key elements and questions are far shorter.
    """

    def __init__(self, client: Embeddings, service: ModelService, *, dimension: int) -> None:
        self.name = service.name
        self.dimension = dimension
        self._client = client
        self._service = service

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector per text, in the same order. Raises DecisionError."""
        batches = [
            # Providers refuse empty texts.
            [text[:_MAX_CHARACTERS] if text.strip() else "-" for text in texts[start:][:_BATCH]]
            for start in range(0, len(texts), _BATCH)
        ]
        try:
            async with asyncio.TaskGroup() as group:  # one that fails cancels the others
                tasks = [group.create_task(self._embed(batch)) for batch in batches]
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0]  # noqa: B904  # the group adds nothing to its first
        return [_storable(vector) for task in tasks for vector in task.result()]

    async def aclose(self) -> None:
        """Close the connections."""
        await close(self._client)

    async def _embed(self, batch: list[str]) -> list[list[float]]:
        start = time.monotonic()
        vectors = await _request(self._client, self._service, batch)
        seconds = time.monotonic() - start
        logger.debug("%s embedded %d texts in %.1f s", self.name, len(batch), seconds)
        wrong = {len(vector) for vector in vectors} - {self.dimension}
        if wrong or len(vectors) != len(batch):
            lengths = ", ".join(map(str, sorted(wrong))) or self.dimension
            raise DecisionError(
                f"{self.name} gave {len(vectors)} vectors of length {lengths} for {len(batch)} "
                f"texts, not one of length {self.dimension} each: choose other embeddings "
                "(GRAPHREADER_EMBEDDINGS)."
            )
        return vectors


async def probe_dimension(client: Embeddings, service: ModelService) -> int:
    """The length of the model's vectors, found by embedding one text; closes the client.

    Raises DecisionError.
    """
    try:
        return len((await _request(client, service, ["length"]))[0])
    finally:
        await close(client)


async def _request(
    client: Embeddings, service: ModelService, texts: list[str]
) -> list[list[float]]:
    try:
        return await service.call(
            lambda: client.aembed_documents(texts), tokens=sum(map(count_tokens, texts))
        )
    except RequestRejected as rejection:
        raise ModelRefusedError(f"{service.name} refuses the request ({rejection}).") from rejection


def _storable(vector: Sequence[float]) -> list[float]:
    """A vector that Neo4j stores: it refuses one of zeros, and one that is not finite."""
    if any(vector) and all(map(math.isfinite, vector)):
        return list(vector)
    return [1.0] + [0.0] * (len(vector) - 1)
