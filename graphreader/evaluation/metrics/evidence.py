"""Whether a reader found what an answer rests on: by documents, and by strings, without a model.

Each function measures one reading; the mean over readings is the figure of a table. None says that
nothing can be measured (the dataset names no evidence, nothing was cited): leave it out of means.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from graphreader.evaluation.metrics.answers import units
from graphreader.sentences import sentence_spans

SHARE = 0.75
"""The least share of a sentence's content words that must stand close together."""

TELLING = 4
"""Content words of a sentence by which a document can be known."""

_FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an the and or but nor so yet if as than that this these those of in on at by for from "
        "to into with without over under after before between during is are was were be been "
        "being am has have had having do does did will would can could shall should may might "
        "must not no it its he him his she her hers they them their we us our you your i me my "
        "who whom whose which what when where there here until while because also s",
    )
)
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class FactRecall:
    """How many of the supporting facts that matter are covered; relevant is 1 at least."""

    relevant: int
    covered: int


def fact_wise(recalls: Iterable[FactRecall]) -> float | None:
    """All covered facts divided by all relevant ones (table 6, "SF-wise")."""
    counted = list(recalls)
    relevant = sum(one.relevant for one in counted)
    return sum(one.covered for one in counted) / relevant if relevant else None


def sample_wise(recalls: Iterable[FactRecall]) -> float | None:
    """The share of samples all of whose relevant facts are covered (table 6, "Sample-wise")."""
    whole = [one.covered == one.relevant for one in recalls]
    return sum(whole) / len(whole) if whole else None


def fact_recall(
    evidence: str, sentences: Sequence[str], documents: Sequence[str], language: str
) -> FactRecall | None:
    """How many facts the evidence covers: supporting sentences, and texts of gold documents.

    `documents` are those of which the dataset names no sentence: one counts as covered as soon as
    one of its sentences is.
    """
    text = EvidenceText(evidence, language)
    found = [text.covers(one) for one in sentences]
    found += [text.covers_some_of(one) for one in documents]
    return FactRecall(len(found), sum(found)) if found else None


def chunk_recall(chunks: Sequence[str], sentences: Sequence[str], language: str) -> float | None:
    """The share of the supporting sentences that stand in one of the chunks shown in full."""
    texts = [EvidenceText(chunk, language) for chunk in chunks]
    found = [any(text.covers(one) for text in texts) for one in sentences]
    return sum(found) / len(found) if found else None


def document_recall(read: Collection[int], gold: Collection[int]) -> float | None:
    """The share of the gold documents that were read. Both are indices into the documents."""
    return len(set(gold) & set(read)) / len(set(gold)) if gold else None


def fcr(read: Collection[int], gold: Collection[int]) -> float | None:
    """1 where all gold documents were read, else 0. Its mean is the share of such questions."""
    return float(set(gold) <= set(read)) if gold else None


def jsr(read: Collection[int], gold: Collection[int], answered_rightly: bool) -> float | None:
    """1 where all gold documents were read and the answer is right, else 0.

    Right is what the raters call exact (LR-1) where they were asked, else an exact match; the
    chosen option, where there are options. The caller says which.
    """
    found = fcr(read, gold)
    return None if found is None else found * answered_rightly


def citation_precision(cited: Collection[int], gold: Collection[int]) -> float | None:
    """The share of the cited documents that are gold."""
    return len(set(cited) & set(gold)) / len(set(cited)) if cited and gold else None


class EvidenceText:
    """A text in which facts are looked for.

    A sentence is covered when it stands there word for word (case, punctuation and white space do
    not count), or when `SHARE` of its content words stand in two neighboring sentences of the text.
    Content words are all but a short list of function words, as they stand: no stems, no synonyms,
    so that what a notebook retells freely is missed. In Chinese they are pairs of neighboring
    characters.
    """

    def __init__(self, text: str, language: str) -> None:
        self._language = language
        self._text = text
        self._words = self._line(text)
        self._sentences: list[frozenset[str]] | None = None

    def covers(self, sentence: str) -> bool:
        """Whether the sentence is covered; never one without words."""
        line = self._line(sentence)
        if not line.strip():
            return False
        return line in self._words or self._retells(self._content(sentence))

    def covers_some_of(self, document: str) -> bool:
        """Whether a sentence of the document is covered.

        Sentences with fewer than `TELLING` content words do not count unless there are no others.
        """
        sentences = [document[start:end] for start, end in sentence_spans(document)]
        telling = [one for one in sentences if len(self._content(one)) >= TELLING]
        return any(self.covers(one) for one in telling or sentences)

    def _retells(self, content: frozenset[str]) -> bool:
        wanted = SHARE * len(content)
        return bool(content) and any(
            len(content & close) >= wanted for close in self._neighbors() if content & close
        )

    def _neighbors(self) -> Iterator[frozenset[str]]:
        if self._sentences is None:
            spans = sentence_spans(self._text)
            self._sentences = [self._content(self._text[start:end]) for start, end in spans]
        following = self._sentences[1:]
        for one, other in zip_longest(self._sentences, following, fillvalue=frozenset[str]()):
            yield one | other

    def _content(self, text: str) -> frozenset[str]:
        if self._language == "zh":
            line = self._line(text)
            return frozenset(line[at : at + 2] for at in range(len(line) - 1))
        return frozenset(_WORD.findall(text.casefold())) - _FUNCTION_WORDS

    def _line(self, text: str) -> str:
        """All words in one line, each between spaces; Chinese without any space."""
        if self._language == "zh":
            return "".join(units(text, "zh"))
        return f" {' '.join(_WORD.findall(text.casefold()))} "
