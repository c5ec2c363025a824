"""NarrativeQA, as published (github.com/deepmind/narrativeqa) or in the `datasets` library.

The published folder has `documents.csv` (document_id, set, kind, wiki_title, ...), `qaps.csv`
(document_id, set, question, answer1, answer2, ...), `tmp/ID.content` for stories that its script
downloads, and `third_party/wikipedia/summaries.csv`. Rows of the library have document, question
and answers.

`subset` is "book" (gutenberg) or "script" (movie); `kind` is "story", or "summary" if the folder
has no stories. Questions about missing stories are left out, for some have vanished from the web.
Of several splits one is loaded: test, else valid, else train.
"""

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from graphreader.errors import DatasetError, DocumentError
from graphreader.evaluation.datasets.record import Record, Row, SourceText, distinct
from graphreader.ingestion.loading.content import read_text
from graphreader.ingestion.loading.html import read_html

_SUBSETS = {"gutenberg": "book", "movie": "script"}
_HTML = re.compile(rb"<(?:!doctype html|html|head|pre)\b", re.IGNORECASE)
_STORIES = ("tmp", "stories", ".")
_SUMMARIES = Path("third_party/wikipedia/summaries.csv")


def is_folder(path: Path) -> bool:
    """Whether a folder is the published repository."""
    return (path / "documents.csv").is_file() and (path / "qaps.csv").is_file()


def read_folder(folder: Path) -> Iterator[Record]:
    """The records of the published folder. A story is read when its first question comes."""
    documents = {row.text("document_id"): row for row in _csv_rows(folder / "documents.csv")}
    questions = list(_csv_rows(folder / "qaps.csv"))
    split = _chosen_split({row.optional_text("set") for row in questions})
    chosen = [row for row in questions if row.optional_text("set") == split]
    text_of, kind = _text_source(folder, chosen)
    numbers: Counter[str] = Counter()
    for row in chosen:
        name = row.text("document_id")
        if name not in documents:
            raise row.wrong(f'documents.csv has no document "{name}".')
        if text := text_of(name):
            document = documents[name]
            story = SourceText(document.optional_text("wiki_title"), text)
            answers = (row.optional_text("answer1"), row.optional_text("answer2"))
            yield _record(row, f"{name}-{numbers[name]}", story, answers, document, kind)
        numbers[name] += 1


def fits(values: Mapping[str, Any]) -> bool:
    """Whether a row has the format of the `datasets` library."""
    return {"document", "question", "answers"} <= values.keys()


def records(rows: Iterable[Row]) -> Iterator[Record]:
    """The records of rows of the `datasets` library."""
    numbers: Counter[str] = Counter()
    for row in rows:
        document = row.row("document")
        name = document.name_of("id")
        title = (
            document.row("summary").optional_text("title") if "summary" in document.values else ""
        )
        story = SourceText(title, document.text("text"))
        question = row.row("question").text("text")
        answers = [answer.optional_text("text") for answer in row.rows("answers")]
        question_row = row.within({"question": question}, "question")
        yield _record(question_row, f"{name}-{numbers[name]}", story, answers, document, "story")
        numbers[name] += 1


def _record(
    row: Row, name: str, story: SourceText, answers: Iterable[str], document: Row, kind: str
) -> Record:
    source = document.optional_text("kind")
    return Record(
        id=f"narrativeqa-{name}",
        dataset="narrativeqa",
        question=row.text("question"),
        answers=distinct(answers),
        documents=(story,),
        kind=kind,
        subset=_SUBSETS.get(source, source),
    )


def _csv_rows(path: Path) -> Iterator[Row]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            for values in reader:
                yield Row(values, f"{path.name}, line {reader.line_num}", path.stem, path.parent)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DatasetError(f"{path} cannot be read: {error}.") from None


def _chosen_split(names: set[str]) -> str:
    return next((name for name in ("test", "valid", "train") if name in names), "")


def _text_source(folder: Path, questions: Iterable[Row]) -> tuple[Callable[[str], str], str]:
    """A function from a document's id to its text, and whether texts are stories or summaries."""
    stories = {
        name: path
        for name in dict.fromkeys(row.optional_text("document_id") for row in questions)
        if (path := _story_file(folder, name)) is not None
    }
    if stories:
        return lru_cache(lambda name: _story(stories[name]) if name in stories else ""), "story"
    if (folder / _SUMMARIES).is_file():
        rows = _csv_rows(folder / _SUMMARIES)
        summaries = {row.text("document_id"): row.optional_text("summary") for row in rows}
        return lambda name: summaries.get(name, ""), "summary"
    raise DatasetError(
        f"{folder} has no stories: fetch them with the dataset's download_stories.sh (into tmp/)."
    )


def _story_file(folder: Path, name: str) -> Path | None:
    places = (folder / where / f"{name}.content" for where in _STORIES)
    return next((path for path in places if path.is_file()), None)


def _story(path: Path) -> str:
    """The text of a story, a plain or HTML file; empty if it can be read as neither."""
    try:
        data = path.read_bytes()
        if _HTML.search(data[:4096]):
            return read_html(data, path.name).text.strip()
        return read_text(data, path.name).text.lstrip("\ufeff").strip()
    except (OSError, DocumentError):
        return ""  # a failed download: its questions are left out, as those of vanished stories
