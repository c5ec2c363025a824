"""A document that comes out of an export, line by line: its ids are computed anew."""

from collections import Counter
from dataclasses import replace
from hashlib import sha256

from graphreader.documents import AtomicFact, Chunk, Document, KeyElement
from graphreader.ingestion.exchange import ChunkRecord, DocumentRecord, FactRecord, wrong
from graphreader.ingestion.extraction import identity
from graphreader.store.writer import ReadChunk, Version

_KNOWN = {"title", "source", "sha256", "language", "metadata", "page_starts", "headings"}


def document_id(corpus: str, record: DocumentRecord) -> str:
    """The id that a document has in a corpus."""
    return identity(corpus, record.source)


class IncomingDocument:
    """A document, and its chunks so far. No text is kept.

    `arranged` are the chunks in their order, `pending` the ids of those of an edit that is not
    finished; `is_known` says whether parts of it are in the graph already.
    """

    def __init__(self, corpus: str, line: int, record: DocumentRecord, is_known: bool) -> None:
        self.document = Document(
            corpus=corpus,
            id=document_id(corpus, record),
            text="",
            **record.model_dump(include=_KNOWN),
        )
        self.record = record
        self.is_known = is_known
        self.arranged: list[Chunk] = []
        self.pending: set[str] = set()
        self._line = line
        self._text = sha256()
        self._end = 0
        self._seen: Counter[str] = Counter()

    @property
    def version(self) -> Version:
        """What stands in order of it."""
        return Version(self.document.id, self.record.arranged or "", len(self.arranged))

    def chunk(self, line: int, record: ChunkRecord) -> ReadChunk:
        """The next chunk with its facts. Raises UsageError where it is not the next one."""
        follows = (record.index, record.start) == (len(self.arranged), self._end)
        if self.record.arranged and not record.pending and not follows:
            raise wrong(line, "the chunk does not follow the one before it")
        if record.end - record.start != len(record.text):
            raise wrong(line, "the chunk's text is not as long as it says")
        chunk = self._chunk(record)
        if record.pending:
            self.pending.add(chunk.id)
        else:
            self.arranged.append(replace(chunk, text=""))
            self._text.update(record.text.encode())
            self._end = record.end
        texts = {fact.text for fact in record.facts}
        if len(texts) < len(record.facts):
            raise wrong(line, "a fact stands there twice")
        facts = (self._fact(chunk, index, fact) for index, fact in enumerate(record.facts))
        return ReadChunk(chunk, tuple(facts), record.error, record.pending)

    def check(self) -> None:
        """Raise UsageError where a complete document's chunks do not give its text."""
        if self.record.complete and self._text.hexdigest() != self.record.sha256:
            raise wrong(self._line, "the chunks behind it are not the document's text")

    def _chunk(self, record: ChunkRecord) -> Chunk:
        text = identity(record.text)
        times = self._seen[text]
        self._seen[text] += 1
        return Chunk(
            id=identity(self.document.id, record.text, str(times)),
            document=self.document.id,
            index=record.index,
            start=record.start,
            end=record.end,
            text=record.text,
            tokens=record.tokens,
        )

    def _fact(self, chunk: Chunk, index: int, record: FactRecord) -> AtomicFact:
        surfaces = {key: surface for surface, key in record.key_elements.items()}
        elements = (
            KeyElement(identity(self.document.corpus, key), key, surface)
            for key, surface in surfaces.items()
        )
        return AtomicFact(
            identity(chunk.id, record.text), chunk.id, index, record.text, tuple(elements)
        )
