"""How far an evaluation is and how good its readers are, row by row: dataset, length, reader."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from graphreader.evaluation.lines_file import Line
from graphreader.evaluation.metrics.evidence import fcr
from graphreader.evaluation.readings_file import Key


@dataclass(frozen=True, slots=True)
class Figures:
    """What a row needs of one reading; None: not measured of it."""

    em: float | None
    f1: float | None
    fcr: float | None
    tokens: int
    calls: int
    seconds: float
    failed: bool

    @classmethod
    def of(cls, line: Line) -> "Figures":
        """Those of a line."""
        return cls(
            em=line["em"],
            f1=line["f1"],
            fcr=fcr(line["documents_read"], line["gold_documents"]),
            tokens=line["tokens_read"],
            calls=line["usage"]["calls"],
            seconds=line["seconds"],
            failed=line.get("error") is not None,
        )


@dataclass(frozen=True, slots=True)
class Place:
    """What a row is about."""

    dataset: str
    length: str
    model: str
    reader: str


@dataclass(slots=True)
class Row:
    """One row: how many readings there will be, and those that are there."""

    place: Place
    total: int
    readings: dict[Key, Figures] = field(default_factory=dict)

    @property
    def done(self) -> int:
        """How many are there, the failed ones among them."""
        return len(self.readings)

    @property
    def failed(self) -> int:
        """How many failed."""
        return sum(one.failed for one in self.readings.values())

    def mean(self, name: str) -> float | None:
        """The mean of a figure; scores count what failed as 0, amounts leave it out."""
        counts_failed = name in ("em", "f1", "fcr")
        found = (
            getattr(one, name) for one in self.readings.values() if counts_failed or not one.failed
        )
        known = [value for value in found if value is not None]
        return sum(known) / len(known) if known else None

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        place = self.place
        named = {"dataset": place.dataset, "length": place.length, "reader": place.reader}
        counted = {"total": self.total, "done": self.done, "failed": self.failed}
        names = ("em", "f1", "fcr", "tokens", "calls", "seconds")
        means = {name: _rounded(self.mean(name)) for name in names}
        return {**named, "model": place.model, **counted, **means}


class Tally:
    """Counts readings as they come. Those of an earlier run count where they are asked for now."""

    def __init__(self) -> None:
        self._rows: dict[Place, Row] = {}
        self._early: dict[Key, Figures] = {}

    def expect(self, keys: Iterable[Key]) -> None:
        """These will come, or came before."""
        for key in keys:
            place = Place(key.dataset, key.length, key.model, key.reader)
            row = self._rows.setdefault(place, Row(place, 0))
            row.total += 1
            if key in self._early:
                row.readings[key] = self._early.pop(key)

    def take(self, line: Line) -> None:
        """Count a line; of several about the same the last one counts."""
        key = Key.of(line)
        row = self._rows.get(Place(key.dataset, key.length, key.model, key.reader))
        if row is None:
            self._early[key] = Figures.of(line)
        else:
            row.readings[key] = Figures.of(line)

    @property
    def rows(self) -> list[Row]:
        """All rows, in the order in which they are expected."""
        return list(self._rows.values())

    @property
    def total(self) -> int:
        """How many readings there will be."""
        return sum(row.total for row in self.rows)

    @property
    def done(self) -> int:
        """How many are there, the failed ones among them."""
        return sum(row.done for row in self.rows)

    @property
    def failed(self) -> int:
        """How many failed."""
        return sum(row.failed for row in self.rows)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
