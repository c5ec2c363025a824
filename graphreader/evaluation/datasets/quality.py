"""QuALITY, as published (github.com/nyu-mll/quality), with stripped HTML or not.

A row is an article with its questions: `{"article_id", "set_unique_id", "title", "article",
"questions": [{"question", "question_unique_id", "options", "gold_label", "difficult"}]}`, where
`gold_label` counts from 1. Its files are called `QuALITY.v1.0.1.htmlstripped.dev` and the like.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from graphreader.evaluation.datasets.records import Record, SourceText
from graphreader.evaluation.datasets.rows import Row
from graphreader.ingestion.loading.markup import read_html

_HTML = re.compile(r"</(?:p|div|html|body)>|<br */?>", re.IGNORECASE)

_FILE = re.compile(
    r"(?P<version>QuALITY\.v[\d.]*\d)(?P<stripped>\.htmlstripped)?\.(?P<split>train|dev)"
)


def is_published(path: Path) -> bool:
    """Whether a file has the name of one with answers, and none beside it has the same as text."""
    named = _FILE.fullmatch(path.name)
    if named is None or named["stripped"]:
        return named is not None
    return not path.with_name(f"{named['version']}.htmlstripped.{named['split']}").exists()


def fits(values: Mapping[str, Any]) -> bool:
    """Whether a row looks like one of this format."""
    return {"article", "questions"} <= values.keys()


def records(rows: Iterable[Row]) -> Iterator[Record]:
    """The records of a file. `kind` is "hard" where readers in haste were wrong, else "easy"."""
    for row in rows:
        article = row.text("article")
        if _HTML.search(article):
            article = read_html(article.encode(), row.where).text
        story = SourceText(row.written("title"), article)
        name = row.written("set_unique_id") or row.name_of("article_id")
        for number, question in enumerate(row.rows("questions"), 1):
            yield _record(question, story, f"{name}-{number}")


def _record(row: Row, story: SourceText, name: str) -> Record:
    options = row.texts("options")
    if "gold_label" not in row.values:
        raise row.wrong('"gold_label" is missing: take a split with answers, such as dev.')
    gold = row.number("gold_label", len(options) + 1) - 1
    if gold < 0:
        raise row.wrong('"gold_label" counts from 1.')
    return Record(
        id=f"quality-{row.written('question_unique_id') or name}",
        dataset="quality",
        question=row.text("question"),
        answers=(options[gold],),
        documents=(story,),
        options=options,
        gold_option=gold,
        kind="hard" if row.values.get("difficult") else "easy",
    )
