"""Contexts of 16k to 256k tokens: a record's own documents among passages of a pool.

This is the "mixup" of LV-Eval (paper, appendix C) for any question set with a pool. The added
passages never contain the answer. They and their order depend on the record's id and the seed
only, so that another run builds the same context; a longer context contains a shorter one at each
doubling of 1k (1k, 2k, 4k ...). Lengths count the tokens of texts, without titles.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from random import Random
from unicodedata import normalize

from graphreader.errors import DatasetError
from graphreader.evaluation.datasets.record import Record, SourceText, read_rows
from graphreader.tokens import count

NATIVE = "native"
"""The length of a context that is as its dataset has it."""

POOL_LINE = '{"title": "...", "text": "..."}'
"""The form of a pool's lines; the title is optional."""

TOLERANCE = 0.01
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
            raise DatasetError(f"{error} A pool has a passage a line: {POOL_LINE}.") from None

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

    def can_fill(self, record: Record, own: int, tokens: int) -> bool:
        """Whether a record of `own` tokens can be lengthened to `tokens` with these passages."""
        return own + sum(self.tokens[n] for n in self.fitting(record)) > tokens * (1 - TOLERANCE)


def lengthened(record: Record, pool: Pool, tokens: int, *, seed: int = 0) -> Record:
    """The record with passages of the pool up to `tokens` tokens, and never more.

    Each step of the doubling is filled first; a passage that does not fit is skipped, until less
    than `TOLERANCE` is missing or none fits. All documents are shuffled, and the evidence is moved
    along. Raises DatasetError if the record is longer already or the pool is too small.
    """
    own = sum(count(document.text) for document in record.documents)
    label = length_label(tokens)
    if own > tokens:
        raise DatasetError(
            f"{record.id} has {own:,} tokens: it is too long for {label}, and is not cut."
        )
    left = pool.fitting(record)
    Random(f"passages {seed} {record.id}").shuffle(left)
    documents, total = list(record.documents), own
    for target in _steps(tokens):
        skipped = []
        for n in left:
            if total + pool.tokens[n] <= target and target - total >= TOLERANCE * target:
                documents.append(pool.texts[n])
                total += pool.tokens[n]
            else:
                skipped.append(n)
        left = skipped
    if not left and tokens - total >= TOLERANCE * tokens:
        raise DatasetError(
            f"The pool is too small for {record.id} at {label}: with all of it there are "
            f"{total:,} tokens. Give a larger pool or a shorter length."
        )
    return _shuffled(record, tuple(documents), label, seed)


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


def _steps(tokens: int) -> Iterator[int]:
    """The lengths that are filled one after the other; the target is the last one."""
    step = _FIRST_STEP
    while step < tokens:
        yield step
        step *= 2
    yield tokens


def _shuffled(record: Record, documents: tuple[SourceText, ...], label: str, seed: int) -> Record:
    """The record with these documents in random order, and its evidence where it stands now."""
    order = list(range(len(documents)))
    Random(f"places {seed} {record.id}").shuffle(order)
    moved = {old: new for new, old in enumerate(order)}
    return replace(
        record,
        documents=tuple(documents[n] for n in order),
        supporting=tuple(
            replace(place, document=moved[place.document]) for place in record.supporting
        ),
        length=label,
    )


def _words(text: str) -> str:
    """The words of a text without articles, spaces around each; a Chinese character is a word."""
    words = _WORD.findall(_folded(text))
    return f" {' '.join(word for word in words if word not in _ARTICLES)} "


def _folded(text: str) -> str:
    return normalize("NFKC", text).casefold()
