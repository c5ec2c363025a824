"""The plan of an evaluation: questions in groups that share their documents, at each length."""

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
class QuestionGroup:
    """Questions about the same documents.

    `records` are as their dataset has them. With `target_tokens` each is lengthened from the pool
    when it is asked, so that few long contexts are in memory. `own_tokens` is the length of the
    documents as they are asked.
    """

    dataset: str
    length: str
    records: tuple[Record, ...]
    own_tokens: int
    pool: Pool | None = None
    target_tokens: int | None = None
    seed: int = 0

    def build_contexts(self) -> list[Record]:
        """The records as they are asked, lengthened where the plan says so."""
        if self.pool is None or self.target_tokens is None:
            return list(self.records)
        return [
            lengthened(record, self.pool, self.target_tokens, seed=self.seed)
            for record in self.records
        ]


@dataclass(frozen=True, slots=True)
class Plan:
    """All groups of an evaluation; `notes` say which data is left out, and why."""

    groups: tuple[QuestionGroup, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionSelection:
    """Which questions of the data are asked, at which lengths; see `graphreader evaluate`."""

    lengths: tuple[str, ...] = (NATIVE,)
    limit: int | None = None
    preset: str = ""
    pool: str | PathLike[str] | None = None
    seed: int = 0


def make_plan(sources: Sequence[str], selection: QuestionSelection) -> Plan:
    """Plan the questions of these sources.

    A record with a length of its own (LV-Eval) is never lengthened: it is asked if its length, or
    native, is selected. Records that cannot be lengthened, for want of a sufficient pool, are left
    out with a note. Raises UsageError if nothing is left or a record comes twice, and DatasetError.
    """
    planner = _Planner(selection)
    for source in sources:
        files: Sequence[Path | None] = data_files(source) or [None]
        for file in files:
            records = load(file or source, limit=selection.limit, preset=selection.preset)
            planner.add(records, file, str(file or source))
    if not planner.groups:
        notes = planner.notes or ["Nothing of the data has one of these lengths: name others."]
        raise UsageError(" ".join(notes))
    # Short contexts come first, so that first figures appear soon.
    groups = sorted(planner.groups, key=lambda group: group.target_tokens or 0)
    return Plan(tuple(groups), tuple(planner.notes))


class _Planner:
    """Collects the groups and notes of one data file after the other."""

    def __init__(self, selection: QuestionSelection) -> None:
        sizes = [parse_length(one) for one in selection.lengths]
        if not sizes:
            raise UsageError("Name at least one length, such as native or 64k.")
        self.groups: list[QuestionGroup] = []
        self.notes: list[str] = []
        self._targets = {length_label(size) if size else NATIVE: size for size in sizes}
        self._seed = selection.seed
        named = selection.pool
        self._pool = Pool.read(Path(named).expanduser()) if named else None
        self._planned: set[tuple[str, str, str]] = set()
        self._token_counts: dict[str, int] = {}

    def add(self, records: list[Record], file: Path | None, name: str) -> None:
        """Plan the records of one file at each length."""
        pool = self._pool or self._default_pool(file)
        for label, tokens in self._targets.items():
            selected = [one for one in records if self._is_selected(one, label)]
            if tokens is None:
                self._add_native(selected)
                continue
            self._add_native(one for one in selected if one.length != NATIVE)
            native = [one for one in selected if one.length == NATIVE]
            if pool is not None:
                self._add_lengthened(native, pool, label, tokens)
            elif native:
                self.notes.append(
                    f"There is no pool of passages beside {name} to make its contexts {label} "
                    "long, and they are left out: name one with --pool."
                )

    def _default_pool(self, file: Path | None) -> Pool | None:
        if file is None or not any(self._targets.values()):
            return None
        path = pool_beside(file)
        return Pool.read(path) if path else None

    def _is_selected(self, record: Record, label: str) -> bool:
        if record.length in (NATIVE, label):
            return True
        return label == NATIVE and record.length not in self._targets

    def _add_native(self, records: Iterable[Record]) -> None:
        groups: dict[tuple[str, str, str], list[Record]] = {}
        for one in records:
            self._check_once(one, one.length)
            groups.setdefault((one.dataset, one.length, corpus_of(one)), []).append(one)
        for (dataset, length, _), members in groups.items():
            tokens = self._tokens(members[0])
            self.groups.append(QuestionGroup(dataset, length, tuple(members), tokens))

    def _add_lengthened(self, records: list[Record], pool: Pool, label: str, tokens: int) -> None:
        short_enough = [one for one in records if self._tokens(one) <= tokens]
        filled = [one for one in short_enough if pool.can_fill(one, self._tokens(one), tokens)]
        for one in filled:
            self._check_once(one, label)
            self.groups.append(
                QuestionGroup(one.dataset, label, (one,), tokens, pool, tokens, self._seed)
            )
        too_long, too_short = len(records) - len(short_enough), len(short_enough) - len(filled)
        for number, reason in (
            (too_long, f"are longer than {label} already, and left out there."),
            (too_short, f"have too small a pool for {label}, and are left out there."),
        ):
            if number:
                of = f"{number} of {len(records)} records of {records[0].dataset}"
                self.notes.append(f"{of} {reason}")

    def _check_once(self, record: Record, label: str) -> None:
        key = record.dataset, label, record.id
        if key in self._planned:
            raise UsageError(
                f"The data has {record.id} of {record.dataset} twice at the length {label}: name "
                "each file once."
            )
        self._planned.add(key)

    def _tokens(self, record: Record) -> int:
        texts = [document.text for document in record.documents]
        for text in texts:
            if text not in self._token_counts:
                self._token_counts[text] = count(text)
        return sum(self._token_counts[text] for text in texts)
