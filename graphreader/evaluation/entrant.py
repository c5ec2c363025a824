"""What takes part in an evaluation: a reader that is made ready for one record after the other."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from graphreader.documents import Document
from graphreader.evaluation.datasets import Record
from graphreader.reading import Reader
from graphreader.usage import Usage


@dataclass(frozen=True, slots=True)
class Opened:
    """A reader that holds the documents of a record.

    `building` is what it cost to make it ready; `graph` are the sizes of its graph (paper, table
    8), `compression` how much shorter its gists are, where it has any.
    """

    reader: Reader
    building: Usage = field(default_factory=Usage)
    graph: Mapping[str, Any] | None = None
    compression: Mapping[str, Any] | None = None


class Entrant(Protocol):
    """A reader as it is named on the command line."""

    @property
    def name(self) -> str:
        """That name."""
        ...

    @property
    def window(self) -> int:
        """Tokens that each of its prompts may have."""
        ...

    def opened(
        self, record: Record, documents: Sequence[Document]
    ) -> AbstractAsyncContextManager[Opened]:
        """The reader, ready for questions about the documents, which are those of the record."""
        ...

    async def forget(self, documents: Sequence[Document]) -> None:
        """Throw away what was built of these documents, but for what is to be kept."""
        ...

    async def clear(self) -> None:
        """Throw away what earlier runs at the same place were to forget, and left behind."""
        ...

    async def aclose(self) -> None:
        """Let go of connections."""
        ...
