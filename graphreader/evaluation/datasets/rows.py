"""Rows of data files, and what is said where one is not as its format wants it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphreader.errors import DatasetError


@dataclass(frozen=True, slots=True)
class Row:
    """One JSON object of a file, or of a list within another one.

    `where` says for people where it stands ("dev.jsonl, line 3"). `name` is the file's without its
    ending, `folder` where files that it names lie.
    """

    values: Mapping[str, Any]
    where: str
    name: str = ""
    folder: Path | None = None

    def wrong(self, what: str) -> DatasetError:
        """The error that says where the row stands and what is wrong with it."""
        return DatasetError(f"{self.where}: {what}")

    def text(self, key: str) -> str:
        """A text that must be there and say something, as it stands."""
        value = self.values.get(key)
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(f'"{key}" must be a text that is not empty.')
        return value

    def written(self, key: str) -> str:
        """A text that may be missing or null: then it is empty. Numbers are written out."""
        value = self.values.get(key)
        if value is None:
            return ""
        if not isinstance(value, str | int) or isinstance(value, bool):
            raise self.wrong(f'"{key}" must be a text.')
        return str(value)

    def name_of(self, *keys: str) -> str:
        """The first of these keys' texts that is not empty: what the record is called by."""
        for key in keys:
            if written := self.written(key):
                return written
        raise self.wrong(f'"{keys[0]}" must be a text that is not empty.')

    def number(self, key: str, below: int | None = None) -> int:
        """A whole number from 0 on."""
        value = self.values.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self.wrong(f'"{key}" must be a whole number from 0 on.')
        if below is not None and value >= below:
            raise self.wrong(f'"{key}" is {value}, but there are {below} only (from 0 on).')
        return value

    def listed(self, key: str) -> list[Any]:
        """A list that must be there; it may be empty."""
        value = self.values.get(key)
        if not isinstance(value, list):
            raise self.wrong(f'"{key}" must be a list.')
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts that must be there; it may be empty."""
        value = self.listed(key)
        if not all(isinstance(text, str) for text in value):
            raise self.wrong(f'"{key}" must be a list of texts.')
        return tuple(value)

    def rows(self, key: str) -> list["Row"]:
        """A list of objects that must be there; it may be empty."""
        return [self.within(value, f"{key}[{n}]") for n, value in enumerate(self.listed(key))]

    def row(self, key: str) -> "Row":
        """An object that must be there."""
        return self.within(self.values.get(key), key)

    def within(self, value: Any, place: str) -> "Row":
        """What stands at a place of this row, as a row of its own."""
        where = f"{self.where}, {place}"
        if not isinstance(value, Mapping):
            raise DatasetError(f"{where}: must be an object.")
        return Row(value, where, self.name, self.folder)


def distinct(texts: Iterable[str]) -> tuple[str, ...]:
    """The texts that say something, each once, in their order."""
    return tuple(dict.fromkeys(text for text in texts if text.strip()))
