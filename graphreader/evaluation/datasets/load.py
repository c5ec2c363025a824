"""Loads the records of a data file, a folder, or a sample of the package.

`_FORMATS` is the table of known formats. A data file is JSON Lines or JSON.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from graphreader.errors import DatasetError
from graphreader.evaluation.datasets import formats
from graphreader.evaluation.datasets.record import Record, Row, Supporting, own_records
from graphreader.evaluation.metrics.evidence import EvidenceText

SAMPLES = Path(__file__).parents[1] / "samples"
"""The records that the package contains; ATTRIBUTION.md there names their sources."""

_DATA_FILE = re.compile(r".*\.jsonl?|QuALITY\.v[\d.]*htmlstripped\.(train|dev)", re.IGNORECASE)

_FORMATS: Mapping[str, tuple[set[str], Callable[[Iterable[Row]], Iterator[Record]]]] = {
    "our own schema": ({"question", "documents"}, own_records),
    "LongBench": ({"input", "context", "answers", "_id"}, formats.longbench_records),
    "LV-Eval": ({"input", "context", "answers"}, formats.lv_eval_records),
    "MuSiQue": ({"question", "paragraphs"}, formats.musique_records),
    "HotpotQA and 2WikiMultihopQA": (
        {"question", "context", "supporting_facts"},
        formats.hotpotqa_records,
    ),
    "QuALITY": ({"article", "questions"}, formats.quality_records),
    "QMSum": ({"meeting_transcripts"}, formats.qmsum_records),
}
"""For each format the keys that the first row of a file must have, and what reads the rows."""


def load(source: str | Path, *, limit: int | None = None) -> list[Record]:
    """The records of a source, in its order; formats are recognized by content.

    A source is a data file, a folder, NarrativeQA's folder, "samples" or "samples/NAME".
    `limit` keeps the first records of each dataset and length. Raises DatasetError with file
    and line.
    """
    kept: list[Record] = []
    counts: Counter[tuple[str, str]] = Counter()
    for path in data_files(source):
        is_full: dict[tuple[str, str], bool] = {}
        is_own, records = _records(path)
        for record in records:
            group = (record.dataset, record.length)
            is_full[group] = counts[group] == limit
            if all(is_full.values()) and not is_own:
                break
            if not is_full[group]:
                counts[group] += 1
                kept.append(record)
    if not kept:
        raise DatasetError(f"{source} has no records.")
    return kept


def join_evidence(records: Iterable[Record], originals: Iterable[Record]) -> list[Record]:
    """The records with the evidence of an original that has the same question and an equal answer.

    A record keeps its own evidence. It gets none if a passage with evidence is not found in it, by
    its words or, in versions of an article that differ, by its title.
    """
    by_question: dict[str, list[Record]] = {}
    for one in originals:
        by_question.setdefault(_words(one.question), []).append(one)
    joined = []
    for record in records:
        same = by_question.get(_words(record.question), []) if not record.supporting else []
        found = next((places for one in same if (places := _places(record, one))), ())
        joined.append(replace(record, supporting=found or record.supporting))
    return joined


def _places(record: Record, original: Record) -> tuple[Supporting, ...]:
    """The places of the original's evidence in the record; none unless all are found."""
    if not {*map(_words, record.answers)} & {*map(_words, original.answers)}:
        return ()
    texts = [EvidenceText(one.text, record.language) for one in record.documents]
    titles = [_words(one.title) for one in record.documents]
    places = []
    for place in original.supporting:
        source = original.documents[place.document]
        title, evidence = _words(source.title), place.sentence or source.text
        ranks = [
            (text.covers(evidence), bool(title) and one == title, -n)
            for n, (text, one) in enumerate(zip(texts, titles, strict=True))
        ]
        by_words, by_title, number = max(ranks)
        if not (by_words or by_title):
            return ()
        places.append(Supporting(-number, place.sentence))
    return tuple(dict.fromkeys(places))


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def data_files(source: str | Path) -> list[Path]:
    """The files, or NarrativeQA's folder, that `load` reads for a source."""
    path = Path(source).expanduser()
    if not path.exists() and path.parts[:1] == (SAMPLES.name,):
        path = SAMPLES.joinpath(*path.parts[1:])
        path = path if path.is_dir() else path.with_suffix(".jsonl")
    if path.is_file() or formats.is_narrativeqa_folder(path):
        return [path]
    if not path.is_dir():
        raise DatasetError(
            f"{path} does not exist: give a data file, a folder of data files, or one of the "
            f"samples ({', '.join(sorted(one.stem for one in SAMPLES.glob('*.jsonl')))})."
        )
    files = sorted(one for one in path.iterdir() if _DATA_FILE.fullmatch(one.name))
    if not files:
        raise DatasetError(f"{path} has no data file (.jsonl or .json).")
    return files


def _records(path: Path) -> tuple[bool, Iterator[Record]]:
    """Whether a file is in our own format, and its records by the first format that fits."""
    if path.is_dir():
        return False, formats.narrativeqa_folder_records(path)
    rows = read_rows(path)
    first = next(rows, None)
    if first is None:
        raise DatasetError(f"{path.name} is empty.")
    for keys, read in _FORMATS.values():
        if keys <= first.values.keys():
            return read is own_records, read(chain([first], rows))
    own_keys = ", ".join(list(first.values)[:8]) or "none"
    raise first.wrong(
        f"no known format has just these keys: {own_keys}. Known are {', '.join(_FORMATS)}."
    )


def read_rows(path: Path) -> Iterator[Row]:
    """Read JSON Lines, or in .json a list of objects or one, row by row. Raises DatasetError."""
    number = 0
    try:
        with path.open(encoding="utf-8-sig") as file:
            if path.suffix.casefold() == ".json":
                value = json.load(file)
                for one in value if isinstance(value, list) else [value]:
                    number += 1
                    yield _row(one, path, f"record {number}")
            else:
                for number, line in enumerate(file, 1):
                    if line.strip():
                        yield _row(json.loads(line), path, f"line {number}")
    except json.JSONDecodeError as error:
        place = f"{path.name}, line {number or error.lineno}"
        hint = ""
        if error.msg == "Extra data" and not number:
            hint = " Is it JSON Lines? Then call it .jsonl."
        raise DatasetError(f"{place}: is no JSON ({error.msg}).{hint}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path} cannot be read ({error}).") from None


def _row(value: Any, path: Path, place: str) -> Row:
    where = f"{path.name}, {place}"
    if not isinstance(value, dict):
        raise DatasetError(f"{where}: must be a JSON object.")
    return Row(value, where, path.stem, path.parent)
