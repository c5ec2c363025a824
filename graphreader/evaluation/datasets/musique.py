"""MuSiQue, as published (github.com/StonyBrookNLP/musique): MuSiQue-Ans, or MuSiQue-Full.

`{"id", "paragraphs": [{"idx", "title", "paragraph_text", "is_supporting"}], "question",
"question_decomposition", "answer", "answer_aliases", "answerable"}`. The id begins with hops and
shape of the question ("3hop1__..."). MuSiQue-Full has each question twice under one id: with other
paragraphs, among which some of the evidence is missing, it cannot be answered. These are a dataset
of their own here, "musique-unanswerable": the published evaluation, too, computes EM and F1 of the
answerable ones alone. Its grouped scores, for which both of a pair must be known as what they are,
are not computed here. Those that cannot be answered have no evidence.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from graphreader.evaluation.datasets.records import Record, SourceText, Supporting
from graphreader.evaluation.datasets.rows import Row, distinct

_HOPS = re.compile(r"(\d+)hop")


def fits(values: Mapping[str, Any]) -> bool:
    """Whether a row looks like one of this format."""
    return {"question", "paragraphs"} <= values.keys()


def records(rows: Iterable[Row]) -> Iterator[Record]:
    """The records of a file. Raises DatasetError for the test split, which has no answers."""
    for row in rows:
        id = row.name_of("id")
        kind = id.split("__")[0] if "__" in id else ""
        hops = _HOPS.match(kind)
        paragraphs = row.rows("paragraphs")
        answerable = row.values.get("answerable") is not False
        gold = [
            n for n, paragraph in enumerate(paragraphs) if paragraph.values.get("is_supporting")
        ]
        yield Record(
            id=f"musique-{id}" + ("" if answerable else " (unanswerable)"),
            dataset="musique" if answerable else "musique-unanswerable",
            question=row.text("question"),
            answers=_answers(row),
            documents=tuple(
                SourceText(paragraph.written("title"), paragraph.text("paragraph_text"))
                for paragraph in paragraphs
            ),
            supporting=tuple(Supporting(n) for n in gold) if answerable else (),
            kind=kind,
            hops=int(hops[1]) if hops else 0,
            answerable=answerable,
        )


def _answers(row: Row) -> tuple[str, ...]:
    if not row.written("answer"):
        raise row.wrong('"answer" is missing: take a split with answers, such as dev.')
    aliases = row.texts("answer_aliases") if row.values.get("answer_aliases") else ()
    return distinct((row.written("answer"), *aliases))
