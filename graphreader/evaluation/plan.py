"""What an evaluation asks: questions in groups that share their documents, at each length."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from graphreader.errors import UsageError
from graphreader.evaluation.contexts import (
    NATIVE,
    Pool,
    length_label,
    lengthened,
    parse_length,
    pool_beside,
)
from graphreader.evaluation.datasets.load import data_files, load
from graphreader.evaluation.datasets.record import Record
from graphreader.evaluation.results import corpus_of
from graphreader.tokens import count


@dataclass(frozen=True, slots=True)
class Group:
    """Questions about the same documents, which stand ready only while they are asked.

    `records` are as their dataset has them; with `tokens`, of each a longer context is made out of
    the pool when it is needed, and let go afterwards. `own_tokens` are those of the documents as
    they are asked, of a longer context its target.
    """

    dataset: str
    length: str
    records: tuple[Record, ...]
    own_tokens: int
    pool: Pool | None = None
    tokens: int | None = None
    seed: int = 0

    def made(self) -> list[Record]:
        """The records as they are asked."""
        if self.pool is None or self.tokens is None:
            return list(self.records)
        made = (lengthened(one, self.pool, self.tokens, seed=self.seed) for one in self.records)
        return list(made)


@dataclass(frozen=True, slots=True)
class Plan:
    """All groups of an evaluation; `notes` tell what of the data is left out, and why."""

    groups: tuple[Group, ...]
    notes: tuple[str, ...] = ()

    @property
    def questions(self) -> int:
        """How many there are, each counted at each length."""
        return sum(len(group.records) for group in self.groups)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What of the data is asked: see `graphreader evaluate`."""

    lengths: tuple[str, ...] = (NATIVE,)
    limit: int | None = None
    preset: str = ""
    pool: str | PathLike[str] | None = None
    seed: int = 0


def plan(sources: Sequence[str], wanted: Wanted) -> Plan:
    """What is asked of these sources. Raises DatasetError or UsageError where one cannot be used.

    A record that has a length of its own (LV-Eval) is never made longer: it is asked where its
    length, or native, is wanted. Where there is no pool, or too small a one, contexts are not made
    longer, and a note says so; UsageError where nothing is left.
    """
    targets = {length_label(size) if size else NATIVE: size for size in _sizes(wanted.lengths)}
    planning = _Planning(targets, wanted.seed)
    given = Pool.read(Path(wanted.pool).expanduser()) if wanted.pool else None
    for source in sources:
        files: Sequence[Path | None] = data_files(source) or [None]
        for file in files:
            records = load(file or source, limit=wanted.limit, preset=wanted.preset)
            pool = given or (_beside(file) if any(targets.values()) else None)
            planning.take(str(file or source), records, pool)
    if not planning.groups:
        told = planning.notes or ["Nothing of the data has one of these lengths: name others."]
        raise UsageError(" ".join(told))
    # All short contexts come before long ones: what they show is there soon.
    groups = sorted(planning.groups, key=lambda group: group.tokens or 0)
    return Plan(tuple(groups), tuple(planning.notes))


class _Planning:
    """Takes data file by file."""

    def __init__(self, targets: dict[str, int | None], seed: int) -> None:
        self.groups: list[Group] = []
        self.notes: list[str] = []
        self._targets = targets
        self._seed = seed
        self._seen: set[tuple[str, str, str]] = set()
        self._counted: dict[str, int] = {}

    def take(self, file: str, records: list[Record], pool: Pool | None) -> None:
        """Plan what is to be asked of the records of one file."""
        for label, size in self._targets.items():
            kept = [one for one in records if self._is_wanted(one, label)]
            if size is None:
                self._take_as_they_are(kept)
                continue
            ready = [one for one in kept if one.length != NATIVE]
            self._take_as_they_are(ready)
            kept = [one for one in kept if one.length == NATIVE]
            if pool is not None:
                self._lengthen(kept, pool, label, size)
            elif kept:
                self.notes.append(
                    f"There is no pool of passages beside {file} to make its contexts {label} "
                    "long, and they are left out: name one with --pool."
                )

    def _is_wanted(self, record: Record, label: str) -> bool:
        if record.length == NATIVE:
            return True
        own = record.length == label
        return own or (label == NATIVE and record.length not in self._targets)

    def _take_as_they_are(self, records: Iterable[Record]) -> None:
        groups: dict[tuple[str, str, str], list[Record]] = {}
        for one in records:
            self._note(one, one.length)
            groups.setdefault((one.dataset, one.length, corpus_of(one)), []).append(one)
        for (dataset, length, _), members in groups.items():
            size = self._tokens(members[0])
            self.groups.append(Group(dataset, length, tuple(members), size))

    def _lengthen(self, records: list[Record], pool: Pool, label: str, size: int) -> None:
        fitting = [one for one in records if self._tokens(one) <= size]
        filled = [one for one in fitting if pool.can_fill(one, self._tokens(one), size)]
        for one in filled:
            self._note(one, label)
            group = Group(one.dataset, label, (one,), size, pool, size, self._seed)
            self.groups.append(group)
        too_long, too_short = len(records) - len(fitting), len(fitting) - len(filled)
        for left, why in (
            (too_long, f"are longer than {label} already, and left out there."),
            (too_short, f"have too small a pool for {label}, and are left out there."),
        ):
            if left:
                whose = f"{left} of {len(records)} records of {records[0].dataset}"
                self.notes.append(f"{whose} {why}")

    def _note(self, record: Record, label: str) -> None:
        key = record.dataset, label, record.id
        if key in self._seen:
            raise UsageError(
                f"The data has {record.id} of {record.dataset} twice at the length {label}: name "
                "each file once."
            )
        self._seen.add(key)

    def _tokens(self, record: Record) -> int:
        texts = [document.text for document in record.documents]
        for text in texts:
            if text not in self._counted:
                self._counted[text] = count(text)
        return sum(self._counted[text] for text in texts)


def _sizes(lengths: Iterable[str]) -> list[int | None]:
    sizes = [parse_length(one) for one in lengths]
    if not sizes:
        raise UsageError("Name at least one length, such as native or 64k.")
    return sizes


def _beside(file: Path | None) -> Pool | None:
    found = pool_beside(file) if file else None
    return Pool.read(found) if found else None
