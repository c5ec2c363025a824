"""The documents of a record as readers take them, and back to the record's own numbers."""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

from graphreader.documents import Document
from graphreader.evaluation.datasets import Record
from graphreader.ingestion.loading.content import from_text, is_blank

PREFIX = "evaluation-"
"""How the names of an evaluation's corpora begin."""

_SOURCE = "document "


def corpus_of(record: Record) -> str:
    """The name of a corpus of the record's documents, made of what they hold.

    Records about the same documents share it, and with it the graph, the gists and the indexes.
    """
    digest = sha256()
    texts = [part for one in record.documents for part in (one.title, one.text)]
    for part in texts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return f"{PREFIX}{digest.hexdigest()[:16]}"


def digest_of(record: Record) -> str:
    """What a record asks, of what, and which answers are right: another digest, other data."""
    asked = (record.question, record.options, record.answers, record.gold_option, record.supporting)
    told = f"{corpus_of(record)} {asked!r}"
    return sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def documents_of(record: Record, corpus: str) -> list[Document]:
    """The documents, each with an id of its own, also where two have the same text.

    One without any text is left out: there is nothing in it to be read.
    """
    return [
        from_text(one.text, one.title or f"Document {place + 1}", corpus, f"{_SOURCE}{place}")
        for place, one in enumerate(record.documents)
        if not is_blank(one.text)
    ]


def places_of(documents: Sequence[Document]) -> Mapping[str, int]:
    """Which of the record's documents, counted from 0, each id means."""
    return {one.id: int(one.source.removeprefix(_SOURCE)) for one in documents}


def placed(ids: Iterable[str], places: Mapping[str, int]) -> list[int]:
    """The places of these documents, each once, in the order of the ids."""
    return list(dict.fromkeys(places[one] for one in ids))
