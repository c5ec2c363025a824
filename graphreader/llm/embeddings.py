"""The embedder that asks a model: any LangChain embeddings."""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Sequence

from langchain_core.embeddings import Embeddings

from graphreader import tokens
from graphreader.errors import DecisionError, ModelRefusedError
from graphreader.llm.providers import close
from graphreader.llm.retry import Declined, ModelService, PerLoop

logger = logging.getLogger("graphreader.llm")
_BATCH = 256  # texts a request: far below providers' limits, since key elements are short
_LONGEST = 8_000  # characters; providers refuse more than about 8,000 tokens


class ModelEmbedder:
    """Turns texts into vectors by asking an embedding model, in batches.

    Texts are cut at 8,000 characters; key elements and questions are far shorter.
    `open_embeddings` is called once for each event loop.
    """

    def __init__(
        self, open_embeddings: Callable[[], Embeddings], service: ModelService, *, dimension: int
    ) -> None:
        self.name = service.name
        self.dimension = dimension
        self._embeddings = PerLoop(open_embeddings)
        self._service = service

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text, in the same order. Raises DecisionError."""
        batches = [
            [_askable(text) for text in texts[start : start + _BATCH]]
            for start in range(0, len(texts), _BATCH)
        ]
        try:
            async with asyncio.TaskGroup() as group:  # one that fails stops the others
                asked = [group.create_task(self._embed(batch)) for batch in batches]
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0]  # noqa: B904  # the group adds nothing to its first
        return [_storable(vector) for batch in asked for vector in batch.result()]

    async def aclose(self) -> None:
        """Close the running loop's connections, where the model's client lets us."""
        await close(self._embeddings.pop())

    async def _embed(self, batch: list[str]) -> list[list[float]]:
        began = time.monotonic()
        vectors = await _ask(self._embeddings.get(), self._service, batch)
        seconds = time.monotonic() - began
        logger.debug("%s embedded %d texts in %.1f s", self.name, len(batch), seconds)
        wrong = {len(vector) for vector in vectors} - {self.dimension}
        if wrong or len(vectors) != len(batch):
            raise DecisionError(
                f"{self.name} gave {len(vectors)} vectors of length "
                f"{', '.join(map(str, sorted(wrong))) or self.dimension} for {len(batch)} texts, "
                f"not one of length {self.dimension} each: choose other embeddings "
                "(GRAPHREADER_EMBEDDINGS)."
            )
        return vectors


async def dimension_of(embeddings: Embeddings, service: ModelService) -> int:
    """The length of the model's vectors, by embedding one text; closes the connections.

    Raises DecisionError.
    """
    try:
        return len((await _ask(embeddings, service, ["length"]))[0])
    finally:
        await close(embeddings)


async def _ask(
    embeddings: Embeddings, service: ModelService, texts: list[str]
) -> list[list[float]]:
    try:
        return await service.call(
            lambda: embeddings.aembed_documents(texts), tokens=sum(map(tokens.count, texts))
        )
    except Declined as declined:
        raise ModelRefusedError(
            f"{service.name} refuses the request ({declined.failure})."
        ) from declined


def _askable(text: str) -> str:
    """Providers refuse empty texts."""
    return text[:_LONGEST] if text.strip() else "-"


def _storable(vector: Sequence[float]) -> list[float]:
    """Neo4j refuses a vector of zeros, and one that is not finite."""
    if any(vector) and all(map(math.isfinite, vector)):
        return list(vector)
    return [1.0] + [0.0] * (len(vector) - 1)
