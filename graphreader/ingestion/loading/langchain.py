"""Documents of LangChain, known by their shape: any object with `page_content` and `metadata`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Protocol, runtime_checkable

from graphreader.documents import Document
from graphreader.ingestion.loading.content import Content, Refused, document_of, why_not
from graphreader.ingestion.loading.encodings import clean


@runtime_checkable
class LangChainDocument(Protocol):
    """What of a LangChain document is read; its `id` too, where it has one."""

    page_content: str
    metadata: Any


@dataclass(frozen=True, slots=True)
class LangChainSource:
    """A document of LangChain. `source` is where it comes from: see `source_of`."""

    document: LangChainDocument
    source: str

    @property
    def size(self) -> int:
        """Characters, which is nearly as good as bytes."""
        return len(self.document.page_content)

    def documents(self, corpus: str) -> Iterator[Document | Refused]:
        """It as a document of ours; its title is that of its metadata, else its source."""
        metadata = self.document.metadata
        told: Mapping[Any, Any] = metadata if isinstance(metadata, Mapping) else {}
        title = clean(str(told.get("title") or told.get("source") or self.source))
        try:
            content = Content(self.document.page_content, metadata=told)
            yield document_of(content, title, corpus, self.source)
        except Exception as error:
            source = clean(self.source)
            yield Refused(title, source, why_not(error, source))


def source_of(document: LangChainDocument) -> str:
    """Its id, else the source in its metadata with the page, else a hash of its text."""
    metadata = document.metadata
    told: Mapping[Any, Any] = metadata if isinstance(metadata, Mapping) else {}
    if id_ := getattr(document, "id", None):
        return str(id_)
    if not told.get("source"):
        text = document.page_content.encode("utf-8", "surrogatepass")
        return f"langchain:{sha256(text).hexdigest()[:24]}"
    page = told.get("page")
    return str(told["source"]) + ("" if page is None else f"#page={page}")
