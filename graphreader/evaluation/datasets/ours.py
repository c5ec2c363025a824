"""Our own schema, JSON Lines: `id, dataset, question, answers, documents, supporting, language`.

A document is `title` and `text`, or `text_file`: a path from the file's folder, and not out of it.
A place of evidence is `doc` (index into documents) with `sentence`, or with `lines`: [first, last],
from 0; `exact` is false where the sentence is no part of the document. More keys: `options`,
`gold_option` (from 0), `type`, `hops`, `answer_keywords`, `subset`. Other keys are looked past.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from graphreader.evaluation.datasets.records import Record, SourceText, Supporting
from graphreader.evaluation.datasets.rows import Row, distinct
from graphreader.evaluation.datasets.tables import text_of


def fits(values: Mapping[str, Any]) -> bool:
    """Whether a row looks like one of this format."""
    return {"question", "documents"} <= values.keys()


def records(rows: Iterable[Row]) -> Iterator[Record]:
    """The records of a file. A text file that several of them name is read once."""
    read: dict[str, SourceText] = {}
    for row in rows:
        documents = tuple(_document(document, read) for document in row.rows("documents"))
        if not documents:
            raise row.wrong('"documents" is empty: there is nothing to read.')
        options = row.texts("options") if row.values.get("options") else ()
        yield Record(
            id=row.name_of("id"),
            dataset=row.written("dataset") or row.name,
            question=row.text("question"),
            answers=distinct(row.texts("answers")),
            documents=documents,
            supporting=_supporting(row, documents),
            language=row.written("language") or "en",
            options=options,
            gold_option=row.number("gold_option", len(options)) if options else None,
            kind=row.written("type"),
            hops=row.number("hops") if row.values.get("hops") else 0,
            keywords=row.written("answer_keywords"),
            subset=row.written("subset"),
        )


def _document(row: Row, read: dict[str, SourceText]) -> SourceText:
    title = row.written("title")
    if "text_file" not in row.values:
        return SourceText(title, row.written("text"))
    name = row.text("text_file")
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise row.wrong(f'"text_file" must lie in the folder of the data file or below: "{name}".')
    if row.folder is None:
        raise row.wrong('"text_file" needs a data file beside which it lies: give "text".')
    if name not in read:
        read[name] = SourceText(title, text_of(row.folder / name, row.where))
    return read[name] if read[name].title == title else SourceText(title, read[name].text)


def _supporting(row: Row, documents: tuple[SourceText, ...]) -> tuple[Supporting, ...]:
    places = row.rows("supporting") if row.values.get("supporting") else []
    return tuple(_place(place, documents) for place in places)


def _place(row: Row, documents: tuple[SourceText, ...]) -> Supporting:
    document = row.number("doc", len(documents))
    exact = row.values.get("exact") is not False
    if "lines" not in row.values:
        return Supporting(document, row.written("sentence"), exact=exact)
    return lines_of(row, document, documents[document].text, row.listed("lines"))


def lines_of(row: Row, document: int, text: str, ends: list[Any]) -> Supporting:
    """The lines of a document from the first to the last (from 0, the last one included)."""
    lines = text.split("\n")
    try:
        first, last = (int(end) for end in ends)
    except (TypeError, ValueError):
        raise row.wrong("lines must be two whole numbers.") from None
    if not 0 <= first <= last < len(lines):
        raise row.wrong(f"there are no lines {first} to {last} of {len(lines)} (from 0 on).")
    return Supporting(document, "\n".join(lines[first : last + 1]), (first, last))
