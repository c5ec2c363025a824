"""LongBench, as published (github.com/THUDM/LongBench, "Data Format"), and LongBench-E.

`{"input", "context", "answers", "length", "dataset", "language", "all_classes", "_id"}`. Contexts
of its multi-document sets are cut into their passages, of which the first line is the title. Which
of them are evidence LongBench does not say. Its datasets are called "longbench-hotpotqa" and so on,
for they are samples of the originals with other texts around.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from graphreader.evaluation.datasets.passages import split
from graphreader.evaluation.datasets.records import Record
from graphreader.evaluation.datasets.rows import Row, distinct

_TITLED = {"hotpotqa", "2wikimqa", "musique"}


def fits(values: Mapping[str, Any]) -> bool:
    """Whether a row looks like one of this format."""
    return {"input", "context", "answers"} <= values.keys()


def records(rows: Iterable[Row]) -> Iterator[Record]:
    """The records of a file."""
    for row in rows:
        name = (row.written("dataset") or row.name).removesuffix("_e")
        question = row.text("input")
        yield Record(
            id=f"longbench-{name}-{row.name_of('_id')}",
            dataset=f"longbench-{name}",
            question=question,
            answers=distinct(row.texts("answers")),
            documents=split(row.text("context"), name in _TITLED, otherwise=name),
            language=row.written("language") or "en",
        )
