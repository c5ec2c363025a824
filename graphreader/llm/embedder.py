"""An embedder that asks an embedding model, in requests of the size that its service takes."""

import asyncio
import logging
import time
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from itertools import chain
from typing import Self

from langchain_core.embeddings import Embeddings

from graphreader.errors import DecisionError, ModelClosedError, ModelRefusedError, WindowError
from graphreader.llm import providers
from graphreader.llm.protocols import Vector, is_storable
from graphreader.llm.retry import ModelService, RequestRejected
from graphreader.tokens import count as count_tokens

logger = logging.getLogger("graphreader.llm")

_LONGEST = 8_000  # characters of a text: providers refuse more than about 8,000 tokens
_SHORTEST = 250  # characters of a text that is not shortened further
_MOST_MISSING = 20  # texts in a row without a vector, after which the embeddings are of no use
_REFUSALS = (ModelRefusedError, WindowError)


@dataclass(slots=True)
class _State:
    """The state of a service: the largest number of texts that it takes, and its vectors so far.

    `refused` counts the texts that were refused alone, `missing` the latest without a vector.
    """

    texts: int = 256  # far below providers' limits, since key elements are short
    has_replied: bool = False
    refused: int = 0
    missing: int = 0


class ModelEmbedder:
    """An embedder that asks an embedding model.

    A request that is refused is divided, and the next requests have the number of texts that the
    service took. A text that is refused alone is shortened. A text that still gets no usable
    vector has None, if other texts got one.
    """

    def __init__(self, client: Embeddings, service: ModelService, *, dimension: int) -> None:
        self.name = service.name
        self.dimension = dimension
        self._client = client
        self._service = service
        self._background = False
        self._state = _State()

    def in_background(self) -> Self:
        """Return an embedder with this connection that lets the requests of questions go first."""
        other = copy(self)
        other._background = True
        return other

    async def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """One vector or None per text, in the same order. Raises DecisionError."""
        # Providers refuse empty texts.
        return await self._embed_all([text if text.strip() else "-" for text in texts])

    async def aclose(self) -> None:
        """Close the connections."""
        await providers.close(self._client)

    async def _embed_all(self, texts: Sequence[str]) -> list[Vector | None]:
        size = self._state.texts
        parts = [texts[start : start + size] for start in range(0, len(texts), size)]
        try:
            async with asyncio.TaskGroup() as group:  # one that fails cancels the others
                tasks = [group.create_task(self._embed_part(part)) for part in parts]
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0]  # noqa: B904  # the group adds nothing to its first
        return list(chain.from_iterable(task.result() for task in tasks))

    async def _embed_part(self, texts: Sequence[str]) -> list[Vector | None]:
        """Embed the texts of one request; if it is refused, each half, or a shorter text."""
        if len(texts) > self._state.texts:  # learned since these texts were put together
            return await self._embed_all(texts)
        try:
            return await self._request(texts)
        except ModelClosedError:  # the key or the quota, whatever is sent
            raise
        except _REFUSALS as refusal:
            if len(texts) == 1:
                return [await self._embed_shortened(texts[0], refusal)]
        half = len(texts) // 2
        refused = self._state.refused
        vectors = [*await self._embed_part(texts[:half]), *await self._embed_part(texts[half:])]
        if self._state.refused == refused:  # so their number it was
            self._state.texts = min(self._state.texts, len(texts) - half)
        return vectors

    async def _embed_shortened(self, text: str, refusal: Exception) -> Vector | None:
        """Embed the beginning of a refused text: half of it, a quarter, and so on."""
        self._state.refused += 1
        length = min(len(text), _LONGEST)
        while length > _SHORTEST:
            length = max(_SHORTEST, length // 2)
            try:
                return (await self._request([text[:length]]))[0]
            except ModelClosedError:
                raise
            except _REFUSALS:
                continue
        self._state.missing += 1
        if self._state.has_replied and self._state.missing < _MOST_MISSING:
            logger.warning("%s refuses a text of %d characters", self.name, len(text))
            return None
        raise refusal

    async def _request(self, texts: Sequence[str]) -> list[Vector | None]:
        sent = [text[:_LONGEST] for text in texts]
        start = time.monotonic()
        vectors = await _embed(self._client, self._service, sent, background=self._background)
        seconds = time.monotonic() - start
        logger.debug("%s embedded %d texts in %.1f s", self.name, len(texts), seconds)
        lengths = {len(vector or ()) for vector in vectors}
        usable = [vector if self._is_usable(vector) else None for vector in vectors]
        self._state.missing = 0 if any(usable) else self._state.missing + len(texts)
        is_useless = self._state.missing >= (_MOST_MISSING if self._state.has_replied else 1)
        if len(vectors) != len(texts) or is_useless:
            problem = (
                f"{len(vectors)} vectors of length {max(lengths, default=0)} for {len(texts)} "
                f"texts, not one of length {self.dimension} each"
                if len(vectors) != len(texts) or lengths != {self.dimension}
                else "a vector of zeros, or of numbers that are not finite or too large"
            )
            raise DecisionError(
                f"{self.name} gave {problem}: choose other embeddings (GRAPHREADER_EMBEDDINGS)."
            )
        self._state.has_replied = True
        return usable

    def _is_usable(self, vector: Vector | None) -> bool:
        try:
            return vector is not None and len(vector) == self.dimension and is_storable(vector)
        except (TypeError, OverflowError):  # null or text among the numbers, or one without end
            return False


async def probe_dimension(client: Embeddings, service: ModelService) -> int:
    """Ask a model for the length of its vectors, and close the client."""
    try:
        return len((await _embed(client, service, ["length"]))[0])
    finally:
        await providers.close(client)


async def _embed(
    client: Embeddings, service: ModelService, texts: list[str], *, background: bool = False
) -> list[Vector]:
    """Send one request. Raises ModelRefusedError also where another request could be taken."""
    tokens = sum(map(count_tokens, texts))
    try:
        return await service.call(
            lambda: client.aembed_documents(texts), tokens, background=background
        )
    except RequestRejected as rejection:
        raise ModelRefusedError(f"{service.name} refuses the request ({rejection}).") from rejection
