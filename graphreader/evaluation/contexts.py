"""Contexts of 16k to 256k tokens: a record's own documents among passages of a pool.

This is LV-Eval's "mixup" (paper, appendix C) on any question set with a pool. The passages that are
added never tell the answer, so that it is to be found in the record's own documents only. What is
added and where it stands depends on the record's id and the seed alone: another run builds the
same, and a longer context has all that one of a rung has (1k, 2k, 4k and so on, always doubled).
Tokens are those of texts, without titles.
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
from graphreader.evaluation.datasets import record as record_module
from graphreader.evaluation.datasets.record import Record, SourceText
from graphreader.tokens import count

NATIVE = "native"
"""The length of a context that is as its dataset has it."""

FORMAT = '{"title": "...", "text": "..."}'
"""A line of a pool; the title may be left out."""

MISSING = 0.01
"""Of a context's length, at most so much is missing where the pool has passages that fit."""

_FIRST_RUNG = 1_000
_LENGTH = re.compile(r"(\d+)(k?)", re.IGNORECASE)
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_HAN}]|[^\W_{_HAN}]+")
_ARTICLES = {"a", "an", "the"}
_UNTELLING = {"yes", "no", "是", "否", "不是"}  # answers that nearly every passage contains


class Pool:
    """Passages of a dataset that belong to no record: what contexts are made longer with.

    Tokens are counted, and texts made comparable, once a pool.
    """

    def __init__(self, texts: Iterable[SourceText]) -> None:
        self.texts = tuple(texts)

    @classmethod
    def read(cls, path: Path) -> "Pool":
        """The pool of a file of JSON Lines with `title` and `text`. Raises DatasetError."""
        try:
            rows = record_module.read(path)
            return cls(SourceText(row.written("title"), row.text("text")) for row in rows)
        except DatasetError as error:
            raise DatasetError(f"{error} A pool has a passage a line: {FORMAT}.") from None

    @cached_property
    def digest(self) -> str:
        """Another one for other passages."""
        told = repr([(passage.title, passage.text) for passage in self.texts])
        return sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:8]

    @cached_property
    def tokens(self) -> tuple[int, ...]:
        """The tokens of each text."""
        return tuple(count(passage.text) for passage in self.texts)

    @cached_property
    def _told(self) -> tuple[tuple[str, str], ...]:
        told = (f"{passage.title}\n{passage.text}" for passage in self.texts)
        return tuple((_folded(text), _words(text)) for text in told)

    def fit_for(self, record: Record) -> list[int]:
        """The passages that may stand beside a record's own, by index.

        None tells one of its answers: neither as a part of its text, be it inside of a word, nor
        by words, whatever the punctuation; case makes no difference, and yes and no are no such
        answers. None has a title of its evidence, or is a document of its own.
        """
        answers = [
            (_folded(answer.strip()), words)
            for answer in record.answers
            if _tells(words := _words(answer))
        ]
        gold = {record.documents[n].title for n in record.gold_documents} - {""}
        own = {document.text for document in record.documents}
        return [
            n
            for n, (passage, (text, words)) in enumerate(zip(self.texts, self._told, strict=True))
            if passage.title not in gold
            and passage.text not in own
            and not any(part in text or answer in words for part, answer in answers)
        ]

    def can_fill(self, record: Record, own: int, tokens: int) -> bool:
        """Whether it has enough for a record of `own` tokens to become so long."""
        return own + sum(self.tokens[n] for n in self.fit_for(record)) > tokens * (1 - MISSING)


def lengthened(record: Record, pool: Pool, tokens: int, *, seed: int = 0) -> Record:
    """The record with passages of the pool up to `tokens` tokens, and never above.

    What does not fit is passed over until less than `MISSING` is missing, or nothing fits. Each
    rung is filled first. All documents are shuffled, and evidence points to where they stand now.
    Raises DatasetError where the record is longer already, or the pool too small.
    """
    own = sum(count(document.text) for document in record.documents)
    label = length_label(tokens)
    if own > tokens:
        raise DatasetError(
            f"{record.id} has {own:,} tokens: it is too long for {label}, and is not cut."
        )
    left = pool.fit_for(record)
    Random(f"passages {seed} {record.id}").shuffle(left)
    documents, total = list(record.documents), own
    for target in _rungs(tokens):
        passed_over = []
        for n in left:
            if total + pool.tokens[n] <= target and target - total >= MISSING * target:
                documents.append(pool.texts[n])
                total += pool.tokens[n]
            else:
                passed_over.append(n)
        left = passed_over
    if not left and tokens - total >= MISSING * tokens:
        raise DatasetError(
            f"The pool is too small for {record.id} at {label}: with all of it there are "
            f"{total:,} tokens. Give a larger pool or a shorter length."
        )
    return _shuffled(record, tuple(documents), label, seed)


def pool_beside(path: Path) -> Path | None:
    """Where the pool of a data file lies if nothing else is said, or None.

    That is `corpus/` with a file of the same name, in the file's folder, its parent, or the
    parent's parent.
    """
    folders = (path.parent, *path.absolute().parent.parents[:2])
    pools = (folder / "corpus" / path.name for folder in folders)
    return next((pool for pool in pools if pool.is_file() and not pool.samefile(path)), None)


def parse_length(text: str) -> int | None:
    """The tokens of a length as people write it ("64k" is 64,000); None for "native"."""
    written = text.strip().lower()
    if written == NATIVE:
        return None
    match = _LENGTH.fullmatch(written)
    if match is None or not int(match[1]):
        raise DatasetError(f'"{text}" is no length: write "native", or tokens such as 16k or 500.')
    return int(match[1]) * (1_000 if match[2] else 1)


def length_label(tokens: int) -> str:
    """How a length is written: "64k" for 64,000, "500" for 500."""
    return f"{tokens // 1_000}k" if tokens % 1_000 == 0 else str(tokens)


def _rungs(tokens: int) -> Iterator[int]:
    """The lengths that are filled one after the other, the last one being the target."""
    rung = _FIRST_RUNG
    while rung < tokens:
        yield rung
        rung *= 2
    yield tokens


def _shuffled(record: Record, documents: tuple[SourceText, ...], label: str, seed: int) -> Record:
    order = list(range(len(documents)))
    Random(f"places {seed} {record.id}").shuffle(order)
    now = {old: new for new, old in enumerate(order)}
    return replace(
        record,
        documents=tuple(documents[n] for n in order),
        supporting=tuple(
            replace(place, document=now[place.document]) for place in record.supporting
        ),
        length=label,
    )


def _words(text: str) -> str:
    """The words of a text but articles, each between spaces; a Chinese character is a word."""
    words = _WORD.findall(_folded(text))
    return f" {' '.join(word for word in words if word not in _ARTICLES)} "


def _folded(text: str) -> str:
    return normalize("NFKC", text).casefold()


def _tells(words: str) -> bool:
    return bool(words.strip()) and words.strip() not in _UNTELLING
