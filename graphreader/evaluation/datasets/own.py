"""Our own format, JSON Lines: `id, dataset, question, answers, documents, supporting, language`.

A document is `title` and `text`, or `text_file`: a path within the file's folder. A place of
evidence is `doc` (index of the document) with `sentence`, or with `lines`: [first, last], from 0;
`exact` is false if the sentence is not part of the document. More keys: `options`, `gold_option`
(from 0), `type`, `hops`, `answer_keywords`, `subset`. `metadata` is ignored, and so are further
keys of some published sets; any other key is refused, because it may be misspelt.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from graphreader.evaluation.datasets.record import (
    Record,
    Row,
    SourceText,
    Supporting,
    distinct,
    text_of,
)

LANGUAGES = ("en", "zh")
"""Answers in Chinese are compared by characters; all others, as in English, by words."""

_RECORD = (
    *("id", "dataset", "question", "answers", "documents", "supporting", "language", "options"),
    *("gold_option", "type", "hops", "answer_keywords", "subset", "metadata"),
)

_DOCUMENT = ("title", "text", "text_file", "metadata")
_SUPPORTING = ("doc", "sentence", "lines", "exact", "metadata")

_IGNORED = frozenset(
    {
        *("answerable", "decomposition", "evidences", "level", "narrativeqa_document_id", "note"),
        "sentence_idx",
    }
)
"""Further keys of MuSiQue, HotpotQA, 2WikiMultihopQA and NarrativeQA records in this format."""


def fits(values: Mapping[str, Any]) -> bool:
    """Whether a row has this format."""
    return {"question", "documents"} <= values.keys()


def records(rows: Iterable[Row]) -> Iterator[Record]:
    """The records of a file. A text file that several records name is read once."""
    read: dict[str, SourceText] = {}
    for row in rows:
        _check_keys(row, _RECORD)
        documents = tuple(_document(document, read) for document in row.rows("documents"))
        if not documents:
            raise row.wrong('"documents" is empty: there is nothing to read.')
        options = row.texts("options") if row.values.get("options") else ()
        yield Record(
            id=row.name_of("id"),
            dataset=row.optional_text("dataset") or row.name,
            question=row.text("question"),
            answers=distinct(row.texts("answers")),
            documents=documents,
            supporting=_supporting(row, documents),
            language=_language(row),
            options=options,
            gold_option=row.number("gold_option", len(options)) if options else None,
            kind=row.optional_text("type"),
            hops=row.number("hops") if row.values.get("hops") else 0,
            keywords=row.optional_text("answer_keywords") or None,
            subset=row.optional_text("subset"),
        )


def _check_keys(row: Row, known: Sequence[str]) -> None:
    """Raise DatasetError for an unknown key: ignoring it could lose what its author meant."""
    for key in row.values:
        if key not in known and key not in _IGNORED:
            near = get_close_matches(key, known, 1)
            hint = f' Did you mean "{near[0]}"?' if near else ""
            raise row.wrong(
                f'"{key}" is no field of it: known are {", ".join(known)} (metadata may hold '
                f"anything).{hint}"
            )


def _language(row: Row) -> str:
    language = row.optional_text("language") or "en"
    if language not in LANGUAGES:
        raise row.wrong(
            f'"language" is "{language}", but must be en or zh: it says whether answers are '
            "compared by words (en, also for other languages with spaces) or by characters (zh)."
        )
    return language


def _document(row: Row, read: dict[str, SourceText]) -> SourceText:
    _check_keys(row, _DOCUMENT)
    title = row.optional_text("title")
    if "text_file" not in row.values:
        return SourceText(title, row.optional_text("text"))
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
    return tuple(_evidence(place, documents) for place in places)


def _evidence(row: Row, documents: tuple[SourceText, ...]) -> Supporting:
    _check_keys(row, _SUPPORTING)
    document = row.number("doc", len(documents))
    exact = row.values.get("exact") is not False
    if "lines" not in row.values:
        return Supporting(document, row.optional_text("sentence"), exact=exact)
    return lines_of(row, document, documents[document].text, row.values_of("lines"))


def lines_of(row: Row, document: int, text: str, ends: list[Any]) -> Supporting:
    """Evidence at lines of a document; `ends` are the first and the last one, from 0."""
    lines = text.split("\n")
    try:
        first, last = (int(end) for end in ends)
    except (TypeError, ValueError):
        raise row.wrong("lines must be two whole numbers.") from None
    if not 0 <= first <= last < len(lines):
        raise row.wrong(f"there are no lines {first} to {last} of {len(lines)} (from 0 on).")
    return Supporting(document, "\n".join(lines[first : last + 1]), (first, last))
