"""Extraction of atomic facts with key elements, and a summary, from chunks (paper, figure 6)."""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from pydantic import Field

from graphreader.documents import (
    AtomicFact,
    Chunk,
    ChunkFacts,
    Document,
    KeyElement,
    identity,
)
from graphreader.errors import BudgetError, CutOffError, DecisionError, ReplyError, WindowError
from graphreader.ingestion.chunking import split
from graphreader.ingestion.normalization.rules import clean_surface, normalize
from graphreader.llm.protocols import LONGEST_REPLY, Budget, Decider, Decision, Task, folded
from graphreader.outline import LONGEST_SUMMARY, shortened
from graphreader.text.names import key_elements_of
from graphreader.text.words import alphanumeric_words, casefolded
from graphreader.tokens import count
from graphreader.usage import Usage

logger = logging.getLogger("graphreader.ingestion")

LIMIT_BASE, LIMIT_RATIO = 512, 8
"""Tokens of the longest reply: fixed, and by tokens of the text. Facts of a dense text take 2 by
token, and some models count twice as many as we do."""
SMALLEST_PART = 100  # tokens; a smaller chunk is not divided


class ExtractedFact(Decision):
    """One atomic fact of a chunk (paper, figure 6)."""

    fact: str = Field(
        description="One indivisible statement as a short full sentence, pronouns replaced by "
        "names, in the language of the text."
    )
    key_elements: list[str] = Field(
        description="The nouns, names, places, times, numbers, verbs and adjectives that this "
        "fact is about, each worded as in the fact.",
        json_schema_extra={"maxItems": 50},
    )


class Extraction(Decision):
    """All atomic facts of one chunk (paper, figure 6), and a sentence about it (ours)."""

    facts: list[ExtractedFact] = Field(description="Every fact of the text, in its order.")
    summary: str = Field(
        "", description="One sentence of at most 30 words: what the text is about, with names."
    )


@dataclass(frozen=True, slots=True)
class ExtractionTask(Task[Extraction]):
    """The task to extract atomic facts, key elements and a summary from one chunk (figure 6)."""

    prompt = "extraction"
    decision = Extraction
    phase = "extract"
    divisible = True
    title: str
    text: str

    @property
    def reply_tokens(self) -> int:
        """Several times as many tokens as the facts of any text of this size take."""
        return min(LIMIT_BASE + LIMIT_RATIO * count(self.text), LONGEST_REPLY)

    def values(self) -> Mapping[str, str]:
        """The title and the text."""
        return {"title": folded(self.title), "text": self.text}


@dataclass(frozen=True, slots=True)
class ExtractionResult:
    """A chunk with its facts, and how many key elements were not in their facts."""

    extracted: ChunkFacts[Chunk]
    usage: Usage = field(default_factory=Usage)
    dropped: int = 0


async def extract(
    decider: Decider, document: Document, chunk: Chunk, budget: Budget | None = None
) -> ExtractionResult:
    """Extract one chunk; an unusable reply is stored as its error.

    Raises the DecisionErrors that every chunk would meet.
    """
    chunk = replace(chunk, error=None, summary="")
    if not chunk.text.strip():
        return ExtractionResult(ChunkFacts(chunk))
    usage: list[Usage] = []
    try:
        extracted = await _decide(decider, document, chunk.text, budget, usage)
    except (ReplyError, WindowError, BudgetError) as error:
        kind = type(error).__name__
        logger.warning("Chunk %d of document %s has no facts: %s", chunk.index, document.id, kind)
        logger.debug("The reason: %s", error)
        return ExtractionResult(ChunkFacts(replace(chunk, error=str(error))), sum(usage, Usage()))
    except DecisionError as error:
        error.spent = sum(usage, Usage())
        raise
    facts, dropped = atomic_facts(document.corpus, chunk, extracted.facts)
    chunk = replace(chunk, summary=shortened(_clean(extracted.summary), LONGEST_SUMMARY))
    texts = [one.text for one in facts]
    logger.debug("Chunk %d of document %s has the facts: %s", chunk.index, document.id, texts)
    return ExtractionResult(ChunkFacts(chunk, facts), sum(usage, Usage()), dropped)


async def _decide(
    decider: Decider, document: Document, text: str, budget: Budget | None, usage: list[Usage]
) -> Extraction:
    """Request the facts and summary of a text, divided if it is too long; adds to `usage`."""
    try:
        result = await decider.decide(ExtractionTask(document.title, text), budget)
    except (CutOffError, WindowError) as error:
        usage.append(error.spent)
        parts = divide(document, text)
        if len(parts) < 2:
            raise
        pending = [_decide(decider, document, part, budget, usage) for part in parts]
        read = list[Extraction]()
        # All parts are decided before an error is raised, so that they go into one batch.
        for outcome in await asyncio.gather(*pending, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome from error
            read.append(outcome)
        sentences = [shortened(one.summary, LONGEST_SUMMARY // len(parts)) for one in read]
        facts = [fact for one in read for fact in one.facts]
        return Extraction(facts=facts, summary=" ".join(dict.fromkeys(sentences)))
    except DecisionError as error:
        usage.append(error.spent)
        raise
    usage.append(result.usage)
    return result.decision


def divide(document: Document, text: str) -> list[str]:
    """Divide a text into about two halves at a chunk boundary; a small text stays whole."""
    size = count(text)
    if size < SMALLEST_PART:
        return [text]
    return [part.text for part in split(replace(document, text=text), size // 2 + 1)]


def atomic_facts(
    corpus: str, chunk: Chunk, extracted: Iterable[ExtractedFact]
) -> tuple[tuple[AtomicFact, ...], int]:
    """Return the distinct facts of a chunk, and the number of dropped key elements.

    A key element that does not occur in its fact is dropped; a fact without key elements gets
    names from its own text.
    """
    facts: dict[str, AtomicFact] = {}
    dropped = 0
    for one in extracted:
        text = _clean(one.fact)
        grounded = grounded_elements(one.key_elements, text)
        dropped += len(one.key_elements) - len(grounded)
        elements = key_elements(corpus, grounded) or key_elements(corpus, key_elements_of(text))
        if text and elements and text not in facts:
            id_ = identity(chunk.id, text)
            facts[text] = AtomicFact(id_, chunk, len(facts), text, elements)
    return tuple(facts.values()), dropped


def key_elements(corpus: str, surfaces: Iterable[str]) -> tuple[KeyElement, ...]:
    """Return the key elements of one fact, one per normalized form, with its first wording."""
    elements: dict[str, KeyElement] = {}
    for surface in surfaces:
        element = _key_element(corpus, surface)
        if element.key:
            elements.setdefault(element.key, element)
    return tuple(elements.values())


@lru_cache(maxsize=20_000)  # most wordings are repeated
def _key_element(corpus: str, wording: str) -> KeyElement:
    surface = clean_surface(wording)
    key = normalize(surface)
    return KeyElement(identity(corpus, key), surface, key)


def _clean(text: str) -> str:
    """Collapse white space, and remove lone surrogates, which Neo4j cannot store."""
    return " ".join(text.encode("utf-8", "ignore").decode().split())


_MAX_ENDING = 3  # letters that inflection may change at the end of a word
_MIN_STEM = 4  # letters at its beginning that must be equal


def grounded_elements(elements: Iterable[str], fact: str) -> list[str]:
    """Filter the key elements that occur in the fact, ignoring case, inflection, inserted words."""
    text = _normalized(fact)
    return [element for element in elements if _occurs(_normalized(element), text)]


def _normalized(text: str) -> str:
    return " ".join(casefolded(text).split())


def _occurs(element: str, text: str) -> bool:
    if not element:
        return False
    if _occurs_literally(element, text):
        return True
    words = alphanumeric_words(text)
    return all(any(_same_word(one, word) for word in words) for one in alphanumeric_words(element))


def _occurs_literally(element: str, text: str) -> bool:
    """Whether the text contains the element as whole words."""
    start = text.find(element)
    while start >= 0:
        end = start + len(element)
        before, after = text[start - 1 : start], text[end : end + 1]
        if not (
            (before.isalnum() and _is_in_word(element[0]))
            or (after.isalnum() and _is_in_word(element[-1]))
        ):
            return True
        start = text.find(element, start + 1)
    return False


def _is_in_word(character: str) -> bool:
    """Whether a character is part of a word; Chinese characters are not."""
    return character.isdecimal() or character.lower() != character.upper()


def _same_word(one: str, other: str) -> bool:
    """Whether two words are equal or, in scripts with letter case, perhaps forms of one word."""
    if one == other:
        return True
    if not (one.isalpha() and one.upper() != one):
        return False
    stem = max(_MIN_STEM, len(one) - _MAX_ENDING)
    similar = len(one) >= stem and abs(len(one) - len(other)) <= _MAX_ENDING
    return similar and other.startswith(one[:stem])
