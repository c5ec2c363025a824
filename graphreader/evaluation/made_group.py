"""A group of a plan whose documents stand ready to be read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graphreader.documents import Document
from graphreader.evaluation.datasets import Record
from graphreader.evaluation.plan import Group
from graphreader.evaluation.record_documents import corpus_of, documents_of, places_of
from graphreader.tokens import count


@dataclass(frozen=True, slots=True)
class MadeGroup:
    """A group whose documents stand ready."""

    group: Group
    corpus: str
    records: Sequence[Record]
    documents: Sequence[Document]
    places: Mapping[str, int]
    tokens: int

    @classmethod
    def of(cls, group: Group) -> "MadeGroup":
        """Make the contexts, which may take a second. Records of one group share documents."""
        records = group.made()
        corpus = corpus_of(records[0])
        documents = documents_of(records[0], corpus)
        tokens = group.own_tokens
        if group.tokens is not None:
            tokens = sum(count(one.text) for one in records[0].documents)
        return cls(group, corpus, records, documents, places_of(documents), tokens)
