"""LV-Eval, as published (github.com/infinigence/LVEval, "Data Format").

`{"input", "context", "answers", "length", "dataset", "language", "answer_keywords",
"confusing_facts"}`, one file a dataset and level: `hotpotwikiqa_mixup_16k.jsonl`. Levels count
words (Chinese: characters) and are rough: texts of 16k begin below 12,000 words. Rows have no id:
it is made from question and answers, so that a question keeps it at all levels. Passages have no
titles; which of them are evidence LV-Eval does not say. By its published code (config.py) F1* is
not what scores factrecall, which has plain F1, and dureader, which has ROUGE-L.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any

from graphreader.evaluation.datasets.passages import split
from graphreader.evaluation.datasets.records import Record
from graphreader.evaluation.datasets.rows import Row, distinct

_LEVEL = re.compile(r"[_-](\d+k)$")
_NAMES = re.compile(r"_mixup|factrecall")
_WITHOUT_F1_STAR = ("factrecall", "dureader")


def fits(values: Mapping[str, Any]) -> bool:
    """Whether a row looks like one of this format, and not of LongBench's, which it extends."""
    own = {"answer_keywords", "confusing_facts"} & values.keys()
    named = _NAMES.search(str(values.get("dataset", "")))
    return {"input", "context", "answers"} <= values.keys() and bool(own or named)


def records(rows: Iterable[Row]) -> Iterator[Record]:
    """The records of a file. A question that comes again (factrecall) is told apart by a number."""
    seen: Counter[str] = Counter()
    for row in rows:
        name = row.written("dataset") or row.name
        level = _LEVEL.search(name) or _LEVEL.search(row.name)
        dataset = _LEVEL.sub("", name).replace("_", "-")
        question, answers = row.text("input"), distinct(row.texts("answers"))
        told = sha256("\n".join((question, *answers)).encode()).hexdigest()[:12]
        seen[told] += 1
        yield Record(
            id=f"{dataset}-{told}" + (f"-{seen[told]}" if seen[told] > 1 else ""),
            dataset=dataset,
            question=question,
            answers=answers,
            documents=split(row.text("context"), titled=False, otherwise=dataset),
            language=row.written("language") or "en",
            length=level[1] if level else "native",
            keywords=None if dataset.startswith(_WITHOUT_F1_STAR) else _keywords(row),
        )


def _keywords(row: Row) -> str:
    if isinstance(row.values.get("answer_keywords"), list):
        return " ".join(row.texts("answer_keywords"))
    return row.written("answer_keywords")
