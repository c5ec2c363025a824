"""Data files as rows: JSON Lines, and JSON files of one list or one object."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from graphreader.errors import DatasetError
from graphreader.evaluation.datasets.rows import Row

SUFFIXES = (".jsonl", ".json")


def data_files(source: Path, also: Callable[[Path], bool] = lambda path: False) -> list[Path]:
    """The data files of a source: the file itself, or those right within the folder, by name.

    Of a folder these are its .jsonl and .json, and what is a data file `also`.
    """
    if source.is_file():
        return [source]
    if not source.is_dir():
        raise DatasetError(f"{source} does not exist: give a data file or a folder of data files.")
    files = sorted(
        path for path in source.iterdir() if path.suffix.lower() in SUFFIXES or also(path)
    )
    if not files:
        raise DatasetError(f"{source} has no data file (.jsonl or .json).")
    return files


def read(path: Path) -> Iterator[Row]:
    """The rows of a file, read as they are asked for. Raises DatasetError, also while it goes on.

    A file is taken as JSON Lines unless its name ends in .json and it is one JSON value.
    """
    if path.suffix.lower() == ".json" and (value := _whole(path)) is not None:
        yield from _within(value, path)
        return
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _row(_parsed(line, path, number), path, f"line {number}")
    except (OSError, UnicodeDecodeError) as error:
        raise _unread(path, error) from None


def text_of(path: Path, where: str) -> str:
    """The whole text of a file in UTF-8 that a row names; lines end as they are written."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{where}: {_unread(path, error)}") from None


def _whole(path: Path) -> Any:
    """The one JSON value that a file is, or None where it is lines of such."""
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            return None
        raise DatasetError(f"{path.name}, line {error.lineno}: is no JSON ({error.msg}).") from None
    except (OSError, UnicodeDecodeError) as error:
        raise _unread(path, error) from None


def _within(value: Any, path: Path) -> Iterator[Row]:
    if isinstance(value, dict) and isinstance(value.get("data"), list):
        value = value["data"]
    for number, record in enumerate(value if isinstance(value, list) else [value], 1):
        yield _row(record, path, f"record {number}")


def _parsed(line: str, path: Path, number: int) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise DatasetError(f"{path.name}, line {number}: is no JSON ({error.msg}).") from None


def _row(value: Any, path: Path, place: str) -> Row:
    where = f"{path.name}, {place}"
    if not isinstance(value, dict):
        raise DatasetError(f"{where}: must be a JSON object.")
    return Row(value, where, path.stem, path.parent)


def _unread(path: Path, error: OSError | UnicodeDecodeError) -> DatasetError:
    why = "it is not in UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror
    return DatasetError(f"{path} cannot be read: {why}.")
