"""One line of `readings.jsonl`: what was asked of whom about what, and the figures of it."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from graphreader.evaluation.datasets import Record
from graphreader.evaluation.entrant import Opened
from graphreader.evaluation.entry import Entry
from graphreader.evaluation.made_group import MadeGroup
from graphreader.evaluation.record_documents import digest_of
from graphreader.usage import Usage

_FIRST = (
    "id",
    "dataset",
    "reader",
    "length",
    "answer",
    "answered",
    "em",
    "f1",
    "documents_read",
    "documents_cited",
    "tokens_read",
    "usage",
    "seconds",
)
"""The keys that every line begins with."""


def line_of(
    entry: Entry,
    made: MadeGroup,
    record: Record,
    opened: Opened | None,
    found: Mapping[str, Any],
) -> dict[str, Any]:
    """One line of the file: first what every evaluation asks for, then what more is known."""
    # A longer context differs with the pool: what the data ask is told by the record as it came.
    own = next(one for one in made.group.records if one.id == record.id)
    known = {
        **asdict(entry.key(made.group, record)),
        "window": entry.entrant.window,
        "language": record.language,
        "kind": record.kind,
        "subset": record.subset,
        "question": record.question,
        "digest": digest_of(own),
        "gold_documents": list(record.gold_documents),
        "record_tokens": made.tokens,
        "documents": len(record.documents),
        "corpus": made.corpus,
        "building": asdict(opened.building if opened else Usage()),
        "graph": _plain(opened.graph) if opened else None,
        "compression": _plain(opened.compression) if opened else None,
    }
    whole = {**known, **found}
    return {name: whole[name] for name in dict.fromkeys((*_FIRST, *whole))}


def _plain(sizes: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if sizes is None else dict(sizes)
