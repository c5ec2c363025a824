"""LongBench, as published (github.com/THUDM/LongBench, "Data Format"), and LongBench-E.

`{"input", "context", "answers", "length", "dataset", "language", "all_classes", "_id"}`. Contexts
of its multi-document sets are cut into their passages, of which the first line is the title. Which
of them are evidence LongBench does not say. Its datasets are called "longbench-hotpotqa" and so on,
for they are samples of the originals with other texts around.

Where a set asks the same of every context its `input` is empty: LongBench's prompt asks it, and
here a question in our own words. Its sets of code to be completed are refused.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from graphreader.evaluation.datasets.passages import split
from graphreader.evaluation.datasets.records import Record
from graphreader.evaluation.datasets.rows import Row, distinct

_TITLED = {"hotpotqa", "2wikimqa", "musique"}
_CODE = {"lcc", "repobench-p"}
_ASKED = {
    "gov_report": "What does the report say? Sum it up on one page.",
    "multi_news": "What do these news articles report? Sum all of them up on one page.",
    "vcsum": "这次会议讲了什么？请用一段话概括会议的内容。",
    "passage_count": "Some of the paragraphs come more than once. How many different ones are "
    "there? Answer with the number alone.",
}
"""What is asked where the data leave it open."""


def fits(values: Mapping[str, Any]) -> bool:
    """Whether a row looks like one of this format."""
    return {"input", "context", "answers"} <= values.keys()


def records(rows: Iterable[Row]) -> Iterator[Record]:
    """The records of a file. Raises DatasetError for code, which is no question about texts."""
    for row in rows:
        name = (row.written("dataset") or row.name).removesuffix("_e")
        if name in _CODE:
            raise row.wrong(
                f"{name} has code to be completed, not questions about texts: leave its file out."
            )
        is_asked = name not in _ASKED or row.written("input").strip()
        yield Record(
            id=f"longbench-{name}-{row.name_of('_id')}",
            dataset=f"longbench-{name}",
            question=row.text("input") if is_asked else _ASKED[name],
            answers=distinct(row.texts("answers")),
            documents=split(row.text("context"), name in _TITLED, otherwise=name),
            language=row.written("language") or "en",
        )
