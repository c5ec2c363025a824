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

_SHORTEST = 250  # characters of a text that is not shortened further
_REFUSALS = (RequestRejected, ModelRefusedError, WindowError)


@dataclass(slots=True)
class _Sizes:
    """The largest request that the service takes, as far as known, and whether it has replied."""

    texts: int = 256  # far below providers' limits, since key elements are short
    characters: int = 8_000  # of a text: providers refuse more than about 8,000 tokens
    has_replied: bool = False


class ModelEmbedder:
    """An embedder that asks an embedding model.

    A request that is refused is divided, and a text that is refused alone is shortened; sizes that
    the service took are kept for the next requests. A text that still gets no usable vector has
    None, if other texts got one.
    """

    def __init__(self, client: Embeddings, service: ModelService, *, dimension: int) -> None:
        self.name = service.name
        self.dimension = dimension
        self._client = client
        self._service = service
        self._background = False
        self._sizes = _Sizes()

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
        size = self._sizes.texts
        parts = [texts[start : start + size] for start in range(0, len(texts), size)]
        try:
            async with asyncio.TaskGroup() as group:  # one that fails cancels the others
                tasks = [group.create_task(self._embed_part(part)) for part in parts]
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0]  # noqa: B904  # the group adds nothing to its first
        return list(chain.from_iterable(task.result() for task in tasks))

    async def _embed_part(self, texts: Sequence[str]) -> list[Vector | None]:
        """Embed the texts of one request; if it is refused, each half, or a shorter text."""
        if len(texts) > self._sizes.texts:  # learned since these texts were put together
            return await self._embed_all(texts)
        try:
            return await self._request(texts)
        except ModelClosedError:  # the key or the quota, whatever is sent
            raise
        except _REFUSALS as refusal:
            if len(texts) == 1:
                return [await self._embed_shortened(texts[0], refusal)]
        half = len(texts) // 2
        characters = self._sizes.characters
        vectors = [*await self._embed_part(texts[:half]), *await self._embed_part(texts[half:])]
        if None not in vectors and self._sizes.characters == characters:  # so their number it was
            self._sizes.texts = min(self._sizes.texts, len(texts) - half)
        return vectors

    async def _embed_shortened(self, text: str, refusal: Exception) -> Vector | None:
        """Embed the beginning of a refused text: half of it, a quarter, and so on."""
        length = min(len(text), self._sizes.characters)
        while length > _SHORTEST:
            length = max(_SHORTEST, length // 2)
            try:
                vectors = await self._request([text[:length]])
            except ModelClosedError:
                raise
            except _REFUSALS:
                continue
            self._sizes.characters = length
            return vectors[0]
        if self._sizes.has_replied:
            logger.warning("%s refuses a text of %d characters", self.name, len(text))
            return None
        if isinstance(refusal, RequestRejected):
            raise ModelRefusedError(f"{self.name} refuses the request ({refusal}).") from refusal
        raise refusal

    async def _request(self, texts: Sequence[str]) -> list[Vector | None]:
        sent = [text[: self._sizes.characters] for text in texts]
        start = time.monotonic()
        vectors: Sequence[Vector | None] = await self._service.call(
            lambda: self._client.aembed_documents(sent),
            sum(map(count_tokens, sent)),
            background=self._background,
        )
        seconds = time.monotonic() - start
        logger.debug("%s embedded %d texts in %.1f s", self.name, len(texts), seconds)
        lengths = {len(vector or ()) for vector in vectors}
        usable = [vector if self._is_usable(vector) else None for vector in vectors]
        if len(vectors) != len(texts) or not (any(usable) or self._sizes.has_replied):
            problem = (
                f"{len(vectors)} vectors of length {max(lengths, default=0)} for {len(texts)} "
                f"texts, not one of length {self.dimension} each"
                if len(vectors) != len(texts) or lengths != {self.dimension}
                else "a vector of zeros, or of numbers that are not finite or too large"
            )
            raise DecisionError(
                f"{self.name} gave {problem}: choose other embeddings (GRAPHREADER_EMBEDDINGS)."
            )
        self._sizes.has_replied = True
        return usable

    def _is_usable(self, vector: Vector | None) -> bool:
        return vector is not None and len(vector) == self.dimension and is_storable(vector)


async def probe_dimension(client: Embeddings, service: ModelService) -> int:
    """Ask a model for the length of its vectors, and close the client."""
    try:
        return len((await service.call(lambda: client.aembed_documents(["length"]), 1))[0])
    except RequestRejected as rejection:
        raise ModelRefusedError(f"{service.name} refuses the request ({rejection}).") from rejection
    finally:
        await providers.close(client)
