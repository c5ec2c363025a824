"""Contexts of 16k to 256k tokens: a record's own documents among passages of a pool.

This is LV-Eval's "mixup" (paper, appendix C) on any question set with a pool. The passages that are
added never tell the answer, so that it is to be found in the record's own documents only. What is
added and where it stands depends on the record's id alone: a longer context has all that a
shorter one has, and another run builds the same. Tokens are those of texts, without titles.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from random import Random
from unicodedata import normalize

from graphreader.errors import DatasetError
from graphreader.evaluation.datasets import tables
from graphreader.evaluation.datasets.records import Record, SourceText
from graphreader.tokens import count

NATIVE = "native"
"""The length of a context that is as its dataset has it."""

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
        rows = tables.read(path)
        return cls(SourceText(row.written("title"), row.text("text")) for row in rows)

    @cached_property
    def tokens(self) -> tuple[int, ...]:
        """The tokens of each text."""
        return tuple(count(passage.text) for passage in self.texts)

    @cached_property
    def _words(self) -> tuple[str, ...]:
        return tuple(_words(f"{passage.title}\n{passage.text}") for passage in self.texts)

    def fit_for(self, record: Record) -> list[int]:
        """The passages that may stand beside a record's own, by index.

        None tells one of its answers (compared by words, whatever their case and the punctuation;
        yes and no are no such answers), has a title of its evidence, or is a document of its own.
        """
        answers = [words for answer in record.answers if _tells(words := _words(answer))]
        gold = {record.documents[n].title for n in record.gold_documents} - {""}
        own = {document.text for document in record.documents}
        return [
            n
            for n, (passage, words) in enumerate(zip(self.texts, self._words, strict=True))
            if passage.title not in gold
            and passage.text not in own
            and not any(answer in words for answer in answers)
        ]


def lengthened(record: Record, pool: Pool, tokens: int, *, seed: int = 0) -> Record:
    """The record with passages of the pool until no further one fits into `tokens` tokens.

    So the context is short of the target by less than a passage. All documents are shuffled, and
    evidence points to where they stand now. Raises DatasetError where the record is longer
    already, or the pool too small.
    """
    own = sum(count(document.text) for document in record.documents)
    label = length_label(tokens)
    if own > tokens:
        raise DatasetError(
            f"{record.id} has {own:,} tokens: it is too long for {label}, and is not cut."
        )
    order = pool.fit_for(record)
    Random(f"passages {seed} {record.id}").shuffle(order)
    added: list[SourceText] = []
    total = own
    for n in order:
        if total + pool.tokens[n] > tokens:
            break
        total += pool.tokens[n]
        added.append(pool.texts[n])
    else:
        if total < tokens:
            raise DatasetError(
                f"The pool is too small for {record.id} at {label}: with all of it there are "
                f"{total:,} tokens. Give a larger pool or a shorter length."
            )
    return _shuffled(record, (*record.documents, *added), label, seed)


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
    words = _WORD.findall(normalize("NFKC", text).casefold())
    return f" {' '.join(word for word in words if word not in _ARTICLES)} "


def _tells(words: str) -> bool:
    return bool(words.strip()) and words.strip() not in _UNTELLING
