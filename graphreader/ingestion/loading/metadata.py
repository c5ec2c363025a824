"""Metadata as plain JSON values of a bounded size, whatever a source holds."""

import json
import math
from collections.abc import Mapping
from datetime import date, time
from typing import Any

from graphreader.documents import Skipped
from graphreader.ingestion.loading.encodings import clean

MAX_CHARACTERS = 20_000
"""Of the JSON of one document's metadata."""

_DEEPEST = 20


def plain(metadata: Mapping[Any, Any]) -> tuple[dict[str, Any], tuple[Skipped, ...]]:
    """What of the metadata JSON can hold, and what was left out.

    Dates and times become ISO 8601, other objects their words, keys strings. A value that would
    make it all larger than MAX_CHARACTERS is left out, and the next ones may still find room.
    """
    kept: dict[str, Any] = {}
    left_out = []
    room = MAX_CHARACTERS
    for key, value in metadata.items():
        name = clean(str(key))
        try:
            held = _Conversion(room).value(value, _DEEPEST)
        except _NoRoomError:
            size = f"metadata have room for {MAX_CHARACTERS:,} characters in all"
            left_out.append(Skipped(f"metadata {name[:100]}", size))
            continue
        room -= len(json.dumps({name: held}, ensure_ascii=False))
        kept[name] = held
    return kept, tuple(left_out)


class _NoRoomError(Exception):
    """The value is larger than what is left, or never ends."""


class _Conversion:
    """Copies a value into plain types, within a number of characters.

    Counting while copying, since a few lines of YAML can stand for millions of values.
    """

    def __init__(self, room: int) -> None:
        self._room = room

    def value(self, value: Any, depth: int) -> Any:
        if depth == 0:
            raise _NoRoomError
        if isinstance(value, Mapping):
            self._take(2)
            return {
                self.value(str(key), depth - 1): self.value(one, depth - 1)
                for key, one in value.items()
            }
        if isinstance(value, (list, tuple, set, frozenset)):
            self._take(2)
            items = sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value
            return [self.value(one, depth - 1) for one in items]
        held = _scalar(value)
        self._take(len(json.dumps(held, ensure_ascii=False)) + 2)
        return held

    def _take(self, characters: int) -> None:
        self._room -= characters
        if self._room < 0:
            raise _NoRoomError


def _scalar(value: Any) -> Any:
    """The value as JSON has it, or in words."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (date, time)):
        return value.isoformat()
    return clean(value if isinstance(value, str) else str(value))
