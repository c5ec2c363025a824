"""From one chunk to its atomic facts with their key elements (paper, section 3.2 and figure 6).

Ids come from the content, so the same chunk gives the same facts and can be written again.

Whether a key element stands in its fact (paper, figure 6: they are to be reflected there).

Told by wording alone: white space, case and Unicode forms are no difference, nor is the ending of a
word ("canonize" stands in "was canonized"), nor words between its own. Numbers stand as they are.
"""

import logging
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256

from pydantic import Field

from graphreader import tokens
from graphreader.documents import AtomicFact, Chunk, Document, KeyElement
from graphreader.errors import BudgetError, CutOffError, DecisionError, ReplyError, WindowError
from graphreader.ingestion.chunking import split
from graphreader.ingestion.normalization.rules import clean_surface, normalize
from graphreader.llm.protocols import Budget, Decider, Decision, Task, folded
from graphreader.store.writer import ReadChunk
from graphreader.text.names import key_elements_of
from graphreader.usage import Usage

_WORD = re.compile(r"[^\W_]+")
_ENDING = 3  # letters that inflection may change at the end of a word
_STEM = 4  # letters that must be the same at its beginning


def standing(elements: Iterable[str], fact: str) -> list[str]:
    """Those of the key elements that are worded in the fact."""
    text = _folded(fact)
    return [element for element in elements if _stands_in(_folded(element), text)]


def _stands_in(wanted: str, text: str) -> bool:
    if not wanted:
        return False
    if _stands_whole(wanted, text):
        return True
    words = _WORD.findall(text)
    return all(any(_alike(one, word) for word in words) for one in _WORD.findall(wanted))


def _stands_whole(wanted: str, text: str) -> bool:
    """As it is; in scripts with words, not as a part of one."""
    start = text.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        inside = _is_within_word(text[start - 1 : start], wanted[0])
        if not inside and not _is_within_word(text[end : end + 1], wanted[-1]):
            return True
        start = text.find(wanted, start + 1)
    return False


def _is_within_word(beside: str, sign: str) -> bool:
    """Whether a sign belongs to one word with the one beside it, if there is one."""
    has_words = sign.isdecimal() or sign.lower() != sign.upper()
    return has_words and beside.isalnum()


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _alike(one: str, other: str) -> bool:
    """The same word, perhaps in another form; scripts without cases and numbers have no forms."""
    if one == other:
        return True
    if not (one.isalpha() and one.upper() != one):
        return False
    stem = max(_STEM, len(one) - _ENDING)
    alike = len(one) >= stem and abs(len(one) - len(other)) <= _ENDING
    return alike and other.startswith(one[:stem])


class ExtractedFact(Decision):
    """One atomic fact of a chunk (paper, figure 6)."""

    fact: str = Field(
        description="One indivisible statement as a short full sentence, pronouns replaced by "
        "names, in the language of the text."
    )
    key_elements: list[str] = Field(
        description="The nouns, names, places, times, numbers, verbs and adjectives that this "
        "fact is about, each worded as in the fact."
    )


class Extraction(Decision):
    """All atomic facts of one chunk (paper, figure 6)."""

    facts: list[ExtractedFact] = Field(description="Every fact of the text, in its order.")


@dataclass(frozen=True, slots=True)
class ExtractionTask(Task[Extraction]):
    """Take atomic facts with their key elements from one chunk (figure 6)."""

    prompt = "extraction"
    decision = Extraction
    phase = "extract"
    reply_tokens = 1024
    divisible = True
    title: str
    text: str

    def values(self) -> Mapping[str, str]:
        """Title and text."""
        return {"title": folded(self.title), "text": self.text}


logger = logging.getLogger("graphreader.ingestion")

SMALLEST_PART = 100
"""Tokens of a chunk below which it is not divided any more."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """A chunk that was read; `dropped` key elements did not stand in their facts."""

    read: ReadChunk
    usage: Usage = field(default_factory=Usage)
    dropped: int = 0


async def extract(
    decider: Decider, document: Document, chunk: Chunk, budget: Budget | None = None
) -> Extracted:
    """Read one chunk. A reply that is of no use leaves the chunk with its error instead of facts.

    Raises DecisionError where the next chunk would fail as well: no service, no right to it.
    """
    if not chunk.text.strip():
        return Extracted(ReadChunk(chunk))
    asking = _Asking(decider, document, budget)
    try:
        told = await asking.facts(chunk.text)
    except (ReplyError, WindowError, BudgetError) as error:
        kind = type(error).__name__
        logger.warning("Chunk %d of document %s has no facts: %s", chunk.index, document.id, kind)
        logger.debug("Why it has none: %s", error)
        return Extracted(ReadChunk(chunk, error=str(error)), asking.usage)
    except DecisionError as error:
        error.spent = asking.usage
        raise
    facts, dropped = atomic_facts(document.corpus, chunk, told)
    texts = [one.text for one in facts]
    logger.debug("Chunk %d of document %s says: %s", chunk.index, document.id, texts)
    return Extracted(ReadChunk(chunk, facts), asking.usage, dropped)


class _Asking:
    """The decisions on one chunk: one, or several where it holds too much for one reply."""

    def __init__(self, decider: Decider, document: Document, budget: Budget | None) -> None:
        self.usage = Usage()
        self._decider = decider
        self._document = document
        self._budget = budget

    async def facts(self, text: str) -> Sequence[ExtractedFact]:
        """The facts of a text; what is too much for one reply, or one prompt, is divided."""
        task = ExtractionTask(self._document.title, text)
        try:
            decided = await self._decider.decide(task, self._budget)
        except (CutOffError, WindowError) as error:
            self.usage += error.spent
            parts = divided(self._document, text)
            if len(parts) < 2:
                raise
            return [fact for part in parts for fact in await self.facts(part)]
        except DecisionError as error:
            self.usage += error.spent
            raise
        self.usage += decided.usage
        return decided.decision.facts


def divided(document: Document, text: str) -> list[str]:
    """About two halves, cut where a chunk would be; the text alone if it is small already."""
    size = tokens.count(text)
    if size < SMALLEST_PART:
        return [text]
    return [part.text for part in split(replace(document, text=text), size // 2 + 1)]


def atomic_facts(
    corpus: str, chunk: Chunk, extracted: Iterable[ExtractedFact]
) -> tuple[tuple[AtomicFact, ...], int]:
    """The facts of a chunk, each wording once, and how many key elements were dropped.

    A key element that does not stand in its fact is dropped: it would lead elsewhere. A fact that
    has none left gets the names and words that it holds itself, or nobody would find it.
    """
    facts: dict[str, AtomicFact] = {}
    dropped = 0
    for one in extracted:
        text = clean(one.fact)
        worded = standing(one.key_elements, text)
        dropped += len(one.key_elements) - len(worded)
        elements = key_elements(corpus, worded) or key_elements(corpus, key_elements_of(text))
        if text and elements and text not in facts:
            id_ = identity(chunk.id, text)
            facts[text] = AtomicFact(id_, chunk.id, len(facts), text, elements)
    return tuple(facts.values()), dropped


def key_elements(corpus: str, surfaces: Iterable[str]) -> tuple[KeyElement, ...]:
    """The key elements of one fact: one a normalized form, with its first wording."""
    elements: dict[str, KeyElement] = {}
    for surface in surfaces:
        element = _key_element(corpus, surface)
        if element.key:
            elements.setdefault(element.key, element)
    return tuple(elements.values())


@lru_cache(maxsize=20_000)  # most wordings come again and again
def _key_element(corpus: str, given: str) -> KeyElement:
    surface = clean_surface(given)
    key = normalize(surface)
    return KeyElement(identity(corpus, key), key, surface)


def identity(*parts: str) -> str:
    """An id out of what makes a thing itself: 24 hexadecimal digits."""
    return sha256("\0".join(parts).encode()).hexdigest()[:24]


def clean(text: str) -> str:
    """White space folded, lone surrogates gone: what Neo4j can store and a person can read."""
    return " ".join(text.encode("utf-8", "ignore").decode().split())
