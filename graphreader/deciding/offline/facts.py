"""Atomic facts without a model: the sentences of a chunk, with what each is about."""

import re
from collections import Counter
from collections.abc import Iterable

from graphreader.deciding.decisions import ExtractedFact
from graphreader.deciding.offline.names import dates_of, names_of, numbers_of
from graphreader.deciding.offline.pronouns import resolved
from graphreader.deciding.offline.vocabulary import CHINESE_ASKING, CHINESE_PARTICLES
from graphreader.deciding.offline.words import (
    HAN_RUN,
    fold,
    is_common,
    is_stop_word,
    stem,
    words_of,
)
from graphreader.sentences import sentence_spans

LONG_FACT = 600  # characters; a longer sentence is cut at semicolons
LONGEST_FACT = 1200  # characters; a longer piece is cut at commas or spaces
LONGEST_ELEMENT = 200  # characters
MOST_ELEMENTS = 12
WORDS_OF_A_HEADING = 6
LONGEST_HEADING = 60  # characters

_ENDS = re.compile(r"[.!?。！？；;…:：][\"'”’」』)\]]*$")
_CUT_LONG = re.compile(r"(?<=[;；])\s*")
_CUT_LONGER = re.compile(rf".{{1,{LONGEST_FACT}}}(?:[,，、\s]|$)|.{{{LONGEST_FACT}}}", re.DOTALL)
_JOINING = re.compile("|".join([*CHINESE_ASKING, f"[{''.join(sorted(CHINESE_PARTICLES))}]"]))


def facts_of(text: str) -> list[ExtractedFact]:
    """The statements of `text` in order; a heading is none, unless there is nothing else.

    White space is single spaces, so hard-wrapped text reads well; He, She and It give way to a
    name where that is safe. Every key element stands in its fact.
    """
    sentences = [" ".join(text[start:end].split()) for start, end in sentence_spans(text)]
    statements = [sentence for sentence in sentences if not _is_heading(sentence)] or sentences
    recurring = _recurring_han(text)
    facts = (
        ExtractedFact(fact=fact, key_elements=key_elements_of(fact, recurring))
        for sentence in resolved(statements)
        for fact in _cut(sentence)
    )
    return [fact for fact in facts if fact.key_elements]


def key_elements_of(fact: str, recurring: frozenset[str] = frozenset()) -> list[str]:
    """What a fact is about, at most 12: names, dates, numbers, then its rarer words.

    `recurring` are runs of Han characters that stand more than once in the text and so are
    probably words.
    """
    dates = dates_of(fact)
    left = _without(fact, dates)
    special = [*names_of(left), *dates, *numbers_of(left)]
    left = _without(left, special)
    chosen: dict[str, str] = {}
    for element in (*special, *_han_words(left, recurring), *_content_words(left)):
        if (1 < len(element) <= LONGEST_ELEMENT or element.isdigit()) and element in fact:
            chosen.setdefault(fold(element), element)
    return list(chosen.values())[:MOST_ELEMENTS]


def _without(fact: str, elements: list[str]) -> str:
    """The fact without what is taken already; a sign in its place keeps the rest apart."""
    for element in sorted(elements, key=len, reverse=True):
        fact = fact.replace(element, "|")
    return fact


def _is_heading(sentence: str) -> bool:
    return (
        not _ENDS.search(sentence)
        and len(words_of(sentence)) <= WORDS_OF_A_HEADING
        and len(sentence) < LONGEST_HEADING
    )


def _cut(sentence: str) -> list[str]:
    if len(sentence) <= LONG_FACT:
        return [sentence]
    pieces = (p for p in _CUT_LONG.split(sentence) if p)
    cut = (c for p in pieces for c in (_CUT_LONGER.findall(p) if len(p) > LONGEST_FACT else [p]))
    return [piece.strip() for piece in cut if piece.strip()]


def _content_words(fact: str) -> list[str]:
    """Nouns, verbs and adjectives by elimination, the rarer ones first."""
    words = [w for w in words_of(fact) if len(w) > 2 and w[0].isalpha() and not is_stop_word(w)]
    words = [re.sub(r"['’]s$", "", word) for word in words]
    return sorted(dict.fromkeys(words), key=lambda word: is_common(stem(fold(word))))


def _recurring_han(text: str) -> frozenset[str]:
    """Runs of two to six Han characters that recur and are not just parts of a longer such run."""
    pieces = [p for run in HAN_RUN.findall(text) for p in _JOINING.split(run) if len(p) > 1]
    counts: Counter[str] = Counter()
    for size in range(2, 7):
        counts.update(p[i : i + size] for p in pieces for i in range(len(p) - size + 1))
    often = {run: n for run, n in counts.items() if n > 1}
    parts = {
        part for run, n in often.items() for part in (run[1:], run[:-1]) if often.get(part, 0) <= n
    }
    return frozenset(often) - parts


def _han_words(fact: str, recurring: frozenset[str]) -> Iterable[str]:
    """Pieces between function words; longer ones cut where a recurring run begins or ends."""
    for run in HAN_RUN.findall(fact):
        for piece in _JOINING.split(run):
            yield from _segmented(piece, recurring)


def _segmented(piece: str, recurring: frozenset[str]) -> list[str]:
    words: list[str] = []
    rest = start = 0
    while start < len(piece):
        size = next((n for n in range(6, 1, -1) if piece[start : start + n] in recurring), 0)
        if size:
            words += [*_quarters(piece[rest:start]), piece[start : start + size]]
            rest = start + size
        start += size or 1
    return [word for word in [*words, *_quarters(piece[rest:])] if len(word) > 1]


def _quarters(piece: str) -> list[str]:
    """A piece whose words nothing tells apart, in parts of at most four characters."""
    return [piece[i : i + 4] for i in range(0, len(piece), 4)]
