"""The documents in passages: chunks of whole paragraphs, as GraphReader cuts them.

A passage never crosses documents.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from graphreader.documents import Document
from graphreader.ingestion.chunking import split


@dataclass(frozen=True, slots=True)
class Passage:
    """A slice of a document: a chunk, or a page of ReadAgent.

    `index` counts from 0 within the document; `start` is a character of its text.
    """

    document: Document
    index: int
    start: int
    text: str
    tokens: int

    @property
    def label(self) -> str:
        """How it is called in prompts."""
        return f"{self.document.title}, chunk {self.index}"


def passages_of(documents: Sequence[Document], limit: int) -> list[Passage]:
    """All passages of at most `limit` tokens, in the order of the documents."""
    return [
        Passage(document, chunk.index, chunk.start, chunk.text, chunk.tokens)
        for document in documents
        for chunk in split(document, limit)
    ]
