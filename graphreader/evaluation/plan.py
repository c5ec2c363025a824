"""The plan of an evaluation: its questions, grouped by their documents, at each length.

Contexts of 16k to 256k tokens are a record's own documents among passages of a pool. This is the
"mixup" of LV-Eval (paper, appendix C) for any question set with a pool. The added passages never
contain the answer. They and their order depend on the record's id and the seed only, so that
another run builds the same context; a longer context contains a shorter one at each doubling of 1k
(1k, 2k, 4k ...). Lengths count the tokens of texts, without titles.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from os import PathLike
from pathlib import Path
from random import Random
from unicodedata import normalize

from graphreader.errors import DatasetError, UsageError
from graphreader.evaluation.datasets.load import data_files, load, read_rows
from graphreader.evaluation.datasets.record import Record, SourceText
from graphreader.evaluation.results import corpus_of
from graphreader.tokens import count

NATIVE = "native"
"""The length of a context that is as its dataset has it."""

_POOL_LINE = '{"title": "...", "text": "..."}'
_TOLERANCE = 0.01
"""The share of a context's length that may be missing although the pool has fitting passages."""

_FIRST_STEP = 1_000
_LENGTH = re.compile(r"(\d+)(k?)", re.IGNORECASE)
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_HAN}]|[^\W_{_HAN}]+")
_ARTICLES = {"a", "an", "the"}
_YES_OR_NO = {"yes", "no", "是", "否", "不是"}  # nearly every passage contains these answers


class Pool:
    """Passages of a dataset that belong to no record, with which contexts are lengthened."""

    def __init__(self, texts: Iterable[SourceText]) -> None:
        self.texts = tuple(texts)

    @classmethod
    def read(cls, path: Path) -> "Pool":
        """The pool of a JSON Lines file with `title` and `text`. Raises DatasetError."""
        try:
            rows = read_rows(path)
            return cls(SourceText(row.optional_text("title"), row.text("text")) for row in rows)
        except DatasetError as error:
            raise DatasetError(f"{error} A pool has a passage a line: {_POOL_LINE}.") from None

    @cached_property
    def digest(self) -> str:
        """A digest of all passages."""
        content = repr([(passage.title, passage.text) for passage in self.texts])
        return sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:8]

    @cached_property
    def tokens(self) -> tuple[int, ...]:
        """The tokens of each text."""
        return tuple(count(passage.text) for passage in self.texts)

    @cached_property
    def _searchable(self) -> tuple[tuple[str, str], ...]:
        """Each passage with its title, once in folded case and once as separated words."""
        texts = (f"{passage.title}\n{passage.text}" for passage in self.texts)
        return tuple((_folded(text), _words(text)) for text in texts)

    def fitting(self, record: Record) -> list[int]:
        """The indexes of the passages that may be added to a record's own documents.

        Left out are passages that contain an answer (as a part of the text, even inside a word, or
        as words whatever the punctuation; yes and no do not count), that have the title of a
        document with evidence, or that the record has itself.
        """
        answers = [
            (_folded(answer.strip()), words)
            for answer in record.answers
            if (words := _words(answer)).strip() and words.strip() not in _YES_OR_NO
        ]
        gold = {record.documents[n].title for n in record.gold_documents} - {""}
        own = {document.text for document in record.documents}
        return [
            n
            for n, (passage, (text, words)) in enumerate(
                zip(self.texts, self._searchable, strict=True)
            )
            if passage.title not in gold
            and passage.text not in own
            and not any(part in text or answer in words for part, answer in answers)
        ]

    def can_fill(self, record: Record, own_tokens: int, tokens: int) -> bool:
        """Whether these passages suffice to lengthen a record to `tokens` tokens."""
        available = own_tokens + sum(self.tokens[n] for n in self.fitting(record))
        return available > tokens * (1 - _TOLERANCE)


def lengthened(record: Record, pool: Pool, tokens: int, *, seed: int = 0) -> Record:
    """The record with passages of the pool up to `tokens` tokens, and never more.

    Each step of the doubling is filled first; a passage that does not fit is skipped, until less
    than a hundredth of the length is missing or none fits. All documents are shuffled, and the
    evidence is moved along. The pool must be sufficient, see `can_fill`.
    """
    left = pool.fitting(record)
    Random(f"passages {seed} {record.id}").shuffle(left)
    documents = list(record.documents)
    total = sum(count(document.text) for document in documents)
    doublings = (_FIRST_STEP << n for n in range(tokens.bit_length()))
    for target in (*(step for step in doublings if step < tokens), tokens):
        skipped = []
        for n in left:
            if total + pool.tokens[n] <= target and target - total >= _TOLERANCE * target:
                documents.append(pool.texts[n])
                total += pool.tokens[n]
            else:
                skipped.append(n)
        left = skipped
    order = list(range(len(documents)))
    Random(f"places {seed} {record.id}").shuffle(order)
    moved = {old: new for new, old in enumerate(order)}
    return replace(
        record,
        documents=tuple(documents[n] for n in order),
        supporting=tuple(
            replace(place, document=moved[place.document]) for place in record.supporting
        ),
        length=length_label(tokens),
    )


def _words(text: str) -> str:
    """The words of a text without articles, spaces around each; a Chinese character is a word."""
    words = _WORD.findall(_folded(text))
    return f" {' '.join(word for word in words if word not in _ARTICLES)} "


def _folded(text: str) -> str:
    return normalize("NFKC", text).casefold()


def pool_beside(path: Path) -> Path | None:
    """The default pool of a data file, or None.

    It is the file of the same name in a folder `corpus` beside the data file, or beside one of
    the two folders above it.
    """
    folders = (path.parent, *path.absolute().parent.parents[:2])
    pools = (folder / "corpus" / path.name for folder in folders)
    return next((pool for pool in pools if pool.is_file() and not pool.samefile(path)), None)


def parse_length(text: str) -> int | None:
    """The tokens of a length as people write it: 64,000 for "64k", None for "native"."""
    written = text.strip().lower()
    if written == NATIVE:
        return None
    match = _LENGTH.fullmatch(written)
    if match is None or not int(match[1]):
        raise DatasetError(f'"{text}" is no length: write "native", or tokens such as 16k or 500.')
    return int(match[1]) * (1_000 if match[2] else 1)


def length_label(tokens: int) -> str:
    """The way a length is written: "64k" for 64,000, "500" for 500."""
    return f"{tokens // 1_000}k" if tokens % 1_000 == 0 else str(tokens)


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
        self._native = None in sizes
        self._targets = {length_label(size): size for size in sizes if size is not None}
        self._seed = selection.seed
        self._pool = Pool.read(Path(selection.pool).expanduser()) if selection.pool else None
        self._planned: set[tuple[str, str, str]] = set()
        self._token_counts: dict[str, int] = {}

    def add(self, records: list[Record], file: Path | None, name: str) -> None:
        """Plan the records of one file at each length."""
        self._add_native(one for one in records if self._native or one.length in self._targets)
        native = [one for one in records if one.length == NATIVE]
        pool = self._pool
        if pool is None and self._targets and file and (path := pool_beside(file)):
            pool = Pool.read(path)
        for label, tokens in self._targets.items():
            if pool is not None:
                self._add_lengthened(native, pool, label, tokens)
            elif native:
                self.notes.append(
                    f"There is no pool of passages beside {name} to make its contexts {label} "
                    "long, and they are left out: name one with --pool."
                )

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
        fillable = [one for one in short_enough if pool.can_fill(one, self._tokens(one), tokens)]
        for one in fillable:
            self._check_once(one, label)
            self.groups.append(
                QuestionGroup(one.dataset, label, (one,), tokens, pool, tokens, self._seed)
            )
        too_long, too_short = len(records) - len(short_enough), len(short_enough) - len(fillable)
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
