"""The door to whatever turns words into vectors."""

from collections.abc import Sequence
from typing import Protocol


class Embedder(Protocol):
    """Turns texts into vectors whose cosine tells how alike they are.

    `name` is what a corpus records ("offline-1", "openai:text-embedding-3-small");
    `dimension` is the length of every vector. No vector is all zeros: Neo4j refuses such.
    """

    name: str
    dimension: int

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text, in the same order. Raises DecisionError where none can be had."""
        ...

    async def aclose(self) -> None:
        """Let go of connections."""
        ...
