"""The plan of an evaluation: its questions, grouped by documents, at each length of the context.

Longer contexts are filled from a pool of passages, as in the "mixup" of LV-Eval (paper, appendix
C). The passages depend only on id and seed, and never contain the answer. Lengths are in tokens
without titles.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from os import PathLike
from pathlib import Path
from random import Random

from graphreader.errors import DatasetError, UsageError
from graphreader.evaluation.datasets.load import data_files, join_evidence, load, read_rows
from graphreader.evaluation.datasets.record import Record, SourceText
from graphreader.evaluation.results import ContextForm, corpus_of
from graphreader.text.scripts import HAN
from graphreader.text.words import casefolded
from graphreader.tokens import count

NATIVE = "native"  # the length of an unchanged context of a dataset

_TOLERANCE = 0.01
"""The share of a context's length that may be missing although passages of the pool fit."""

_FIRST_STEP = 1_000
_LENGTH = re.compile(r"(\d+)(k?)")
_WORD = re.compile(rf"[{HAN}]|[^\W_{HAN}]+")
_ARTICLES = {"a", "an", "the"}
_YES_OR_NO = {"yes", "no", "是", "否", "不是"}  # nearly every passage contains these answers


class Pool:
    """The pool of a dataset: passages of no record, by which contexts are lengthened."""

    def __init__(self, texts: Iterable[SourceText]) -> None:
        self.texts = tuple(texts)

    @classmethod
    def read(cls, path: Path) -> "Pool":
        """Read the pool from JSON Lines with `title` and `text`. Raises DatasetError."""
        rows = read_rows(path)
        return cls(SourceText(row.optional_text("title"), row.text("text")) for row in rows)

    @cached_property
    def digest(self) -> str:
        """A hash of all passages."""
        content = repr([(passage.title, passage.text) for passage in self.texts])
        return sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:8]

    @cached_property
    def tokens(self) -> tuple[int, ...]:
        """The number of tokens of each passage."""
        return tuple(count(passage.text) for passage in self.texts)

    @cached_property
    def _searchable(self) -> tuple[tuple[str, str], ...]:
        """Each passage with its title as (text in folded case, words between spaces)."""
        texts = (f"{passage.title}\n{passage.text}" for passage in self.texts)
        return tuple((casefolded(text), _words(text)) for text in texts)

    def fitting(self, record: Record) -> list[int]:
        """The indexes of the passages that may be added to a record's own documents.

        Passages with an answer or the title of evidence are left out, and the record's own.
        """
        answers = [
            (casefolded(answer.strip()), words)
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
        """Whether a record has at most `tokens` tokens, and the pool can lengthen it to these."""
        available = own_tokens + sum(self.tokens[n] for n in self.fitting(record))
        return own_tokens <= tokens < available / (1 - _TOLERANCE)


def lengthened(record: Record, pool: Pool, tokens: int, *, seed: int = 0) -> Record:
    """Add passages of the pool to a record, up to `tokens` tokens, and shuffle its documents."""
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
    """Put spaces around the words of a text, without articles; a Han character is a word."""
    words = _WORD.findall(casefolded(text))
    return f" {' '.join(word for word in words if word not in _ARTICLES)} "


def pool_of(path: Path) -> Path | None:
    """Find the pool of a data file: its namesake in `corpus/`, next to it or one level up."""
    pools = (folder / "corpus" / path.name for folder in path.absolute().parents[:2])
    return next((pool for pool in pools if pool.is_file()), None)


def parse_length(text: str) -> int | None:
    """Parse a length: 64,000 tokens for "64k", None for "native". Raises DatasetError."""
    if text.casefold() == NATIVE:
        return None
    match = _LENGTH.fullmatch(text.casefold())
    if match is None or not int(match[1]):
        raise DatasetError(f'"{text}" is no length: write "native", or tokens such as 16k or 500.')
    return int(match[1]) * (1_000 if match[2] else 1)


def length_label(tokens: int) -> str:
    """Format a length: "64k" for 64,000 tokens, "500" for 500."""
    return f"{tokens // 1_000}k" if tokens % 1_000 == 0 else str(tokens)


@dataclass(frozen=True, slots=True)
class QuestionGroup:
    """Questions about the same documents; `target_tokens` is the length of their contexts."""

    dataset: str
    length: str
    records: tuple[Record, ...]
    own_tokens: int
    pool: Pool | None = None
    target_tokens: int | None = None
    seed: int = 0
    contexts: ContextForm = "documents"

    def build_contexts(self) -> list[Record]:
        """Build the records with their contexts, lengthened if the group has a target."""
        pool, tokens = self.pool, self.target_tokens
        if pool is None or tokens is None:
            return list(self.records)
        return [lengthened(record, pool, tokens, seed=self.seed) for record in self.records]


@dataclass(frozen=True, slots=True)
class EvaluationPlan:
    """The groups of questions of an evaluation; `notes` say which data is left out, and why."""

    groups: tuple[QuestionGroup, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionSelection:
    """The selection of questions, of the lengths of their contexts, and of the contexts' form.

    `evidence` are files of original datasets, for records that do not name their evidence.
    """

    lengths: tuple[str, ...] = (NATIVE,)
    limit: int | None = None
    pool: str | PathLike[str] | None = None
    seed: int = 0
    contexts: ContextForm = "documents"
    evidence: tuple[str, ...] = ()


def make_plan(sources: Sequence[str], selection: QuestionSelection) -> EvaluationPlan:
    """Plan the questions of data sources. Raises UsageError and DatasetError.

    A record with its own length (LV-Eval) is asked if that length is selected; `notes` of the
    plan name the data that is left out.
    """
    sizes = [*map(parse_length, selection.lengths)]
    targets = {length_label(size): size for size in sizes if size is not None}
    own_pool = Pool.read(Path(selection.pool).expanduser()) if selection.pool else None
    groups: list[QuestionGroup] = []
    notes: list[str] = []
    originals = [record for source in selection.evidence for record in load(source)]
    for source in sources:
        for file in data_files(source):
            records = load(file, limit=selection.limit)
            if originals:
                records = join_evidence(records, originals)
                known = sum(bool(one.supporting) for one in records)
                notes.append(
                    f"The evidence of {known} of {len(records)} records of {file} is known."
                )
            is_native = None in sizes
            groups += _native_groups(one for one in records if is_native or one.length in targets)
            records = [one for one in records if one.length == NATIVE]
            pool = own_pool
            if targets and not pool and (path := pool_of(file)):
                pool = Pool.read(path)
            if pool:
                groups += _lengthened_groups(records, pool, targets, selection.seed, notes)
            elif targets and records:
                notes.append(
                    f"There is no pool of passages beside {file} to make its contexts "
                    f"{', '.join(targets)} long, and they are left out: name one with --pool."
                )
    if not groups:
        raise UsageError(" ".join(notes) or "Nothing of the data has one of these lengths.")
    _check_once(groups)
    # Short contexts come first, so that first figures appear soon.
    groups.sort(key=lambda group: group.target_tokens or 0)
    contexts = selection.contexts
    return EvaluationPlan(tuple(replace(one, contexts=contexts) for one in groups), tuple(notes))


def _native_groups(records: Iterable[Record]) -> list[QuestionGroup]:
    groups: dict[tuple[str, str, str], list[Record]] = {}
    for one in records:
        groups.setdefault((one.dataset, one.length, corpus_of(one)), []).append(one)
    return [
        QuestionGroup(dataset, length, tuple(members), _tokens(members[0]))
        for (dataset, length, _), members in groups.items()
    ]


def _lengthened_groups(
    records: Sequence[Record], pool: Pool, targets: Mapping[str, int], seed: int, notes: list[str]
) -> list[QuestionGroup]:
    """Make a group for each record and length; `notes` gets the number of omitted records."""
    groups: list[QuestionGroup] = []
    own_tokens = [(one, _tokens(one)) for one in records]
    for label, tokens in targets.items():
        fitting = [one for one, own in own_tokens if pool.can_fill(one, own, tokens)]
        groups += (
            QuestionGroup(one.dataset, label, (one,), tokens, pool, tokens, seed) for one in fitting
        )
        if left_out := len(records) - len(fitting):
            notes.append(
                f"{left_out} of {len(records)} records of {records[0].dataset} are left out at "
                f"{label}: they are longer already, or have too small a pool."
            )
    return groups


def _check_once(groups: Iterable[QuestionGroup]) -> None:
    keys = Counter(
        (group.dataset, one.id, group.length) for group in groups for one in group.records
    )
    (dataset, id_, length), times = keys.most_common(1)[0]
    if times > 1:
        raise UsageError(
            f"The data has {id_} of {dataset} twice at the length {length}: give each question an "
            "id of its own, and name each file once."
        )


def _tokens(record: Record) -> int:
    return sum(count(document.text) for document in record.documents)
