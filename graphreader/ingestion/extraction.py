"""Extraction of atomic facts with key elements, and a summary, from chunks (paper, figure 6)."""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import accumulate

from pydantic import Field

from graphreader.documents import (
    AtomicFact,
    Chunk,
    ChunkFacts,
    Document,
    KeyElement,
    identity,
    without_numbers,
)
from graphreader.errors import BudgetError, CutOffError, DecisionError, ReplyError, WindowError
from graphreader.ingestion.chunking import split
from graphreader.ingestion.context import DocumentContext
from graphreader.ingestion.normalization.rules import clean_surface, normalize
from graphreader.llm.protocols import LONGEST_REPLY, Budget, Decider, Decision, Task, folded
from graphreader.outline import LONGEST_SUMMARY, shortened
from graphreader.text.names import key_elements_of
from graphreader.text.numbered_sentences import NumberedSentences
from graphreader.text.words import alphanumeric_words, casefolded, occurs
from graphreader.tokens import count
from graphreader.usage import Usage

logger = logging.getLogger("graphreader.ingestion")

LIMIT_BASE, LIMIT_RATIO = 512, 8
"""Tokens of the longest reply: fixed, and by tokens of the text. Facts of a dense text take 2 by
token, and some models count twice as many as we do."""
SMALLEST_PART = 100  # tokens; a smaller chunk is not divided
MANY_FACTS = 60
"""Number of facts from which a model may have ended its reply before the end of the text."""


class ExtractedFact(Decision):
    """One atomic fact of a chunk (paper, figure 6), with the numbers of its sentences (ours)."""

    sentences: list[int] = Field(
        default_factory=list,
        description="The numbers of the sentences that it rests on.",
        json_schema_extra={"maxItems": 8},
    )
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

    facts: list[ExtractedFact] = Field(description="The facts of the text, in its order.")
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
    context: str = ""

    @property
    def reply_tokens(self) -> int:
        """Several times as many tokens as the facts of any text of this size take."""
        return min(LIMIT_BASE + LIMIT_RATIO * count(self.text), LONGEST_REPLY)

    def values(self) -> Mapping[str, str]:
        """The title, the context of the text, and the text with numbered sentences."""
        context = f"\n{self.context}" if self.context else ""
        text = NumberedSentences(self.text).numbered()
        return {"title": folded(self.title), "context": context, "text": text}


@dataclass(frozen=True, slots=True)
class ExtractionResult:
    """A chunk with its facts.

    It counts the key elements that were not in their facts, numbers of sentences that do not exist,
    and facts whose sentences were not found.
    """

    extracted: ChunkFacts[Chunk]
    usage: Usage = field(default_factory=Usage)
    dropped: int = 0
    unknown_sentences: int = 0
    without_source: int = 0


async def extract(
    decider: Decider, context: DocumentContext, chunk: Chunk, budget: Budget | None = None
) -> ExtractionResult:
    """Extract one chunk of a document; an unusable reply is stored as its error.

    Raises the DecisionErrors that every chunk would meet.
    """
    chunk = replace(chunk, error=None, summary="")
    if not chunk.text.strip():
        return ExtractionResult(ChunkFacts(chunk))
    usage: list[Usage] = []
    document = context.document.id
    try:
        extracted = await _decide(decider, context, chunk.start, chunk.text, budget, usage)
    except (ReplyError, WindowError, BudgetError) as error:
        kind = type(error).__name__
        logger.warning("Chunk %d of document %s has no facts: %s", chunk.index, document, kind)
        logger.debug("The reason: %s", error)
        return ExtractionResult(ChunkFacts(replace(chunk, error=str(error))), sum(usage, Usage()))
    except DecisionError as error:
        error.spent = sum(usage, Usage())
        raise
    summaries = list(filter(None, (_clean(one.summary) for *_, one in extracted)))
    parts = [shortened(one, LONGEST_SUMMARY // len(summaries)) for one in summaries]
    chunk = replace(chunk, summary=" ".join(dict.fromkeys(parts)))
    result = ExtractionResult(ChunkFacts(chunk), sum(usage, Usage()))
    result = ground(result, context, extracted)
    texts = [one.text for one in result.extracted.facts]
    logger.debug("Chunk %d of document %s has the facts: %s", chunk.index, document, texts)
    return result


_Part = tuple[int, str, Extraction]
"""A part of a chunk's text, usually all of it: start in the document, text, what was extracted."""


async def _decide(
    decider: Decider,
    context: DocumentContext,
    start: int,
    text: str,
    budget: Budget | None,
    usage: list[Usage],
) -> list[_Part]:
    """Request the facts and summary of a text, divided if it is too long; adds to `usage`.

    The text begins at `start` in the document.
    """
    try:
        result = await decider.decide(task_of(context, start, text), budget)
    except (CutOffError, WindowError) as error:
        usage.append(error.spent)
        parts = divide(context.document, text)
        if len(parts) < 2:
            raise
        starts = accumulate(map(len, parts), initial=start)
        pending = [
            _decide(decider, context, at, part, budget, usage)
            for at, part in zip(starts, parts, strict=False)
        ]
        read = list[_Part]()
        # All parts are decided before an error is raised, so that they go into one batch.
        for outcome in await asyncio.gather(*pending, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome from error
            read += outcome
        return read
    except DecisionError as error:
        usage.append(error.spent)
        raise
    usage.append(result.usage)
    extraction = result.decision
    begin = len(text)
    if len(extraction.facts) >= MANY_FACTS:
        sentences = NumberedSentences(text)
        named = sentences.valid(number for fact in extraction.facts for number in fact.sentences)
        begin = sentences.start_of(named[-1]) if named else begin
    # So many facts need some text: a model that names its first sentences for all is not believed.
    if min(count(text[:begin]), count(text[begin:])) < SMALLEST_PART:
        return [(start, text, extraction)]
    # The last sentence may have further facts. The summary is of the whole text.
    rest = await _decide(decider, context, start + begin, text[begin:], budget, usage)
    more = [(at, part, one.model_copy(update={"summary": ""})) for at, part, one in rest]
    return [(start, text, extraction), *more]


def task_of(context: DocumentContext, start: int, text: str) -> ExtractionTask:
    """Make the task for a text that begins at `start` in its document."""
    return ExtractionTask(context.title, text, context.shown(start, start + len(text)))


def divide(document: Document, text: str) -> list[str]:
    """Divide a text into about two halves at a chunk boundary; a small text stays whole."""
    size = count(text)
    if size < SMALLEST_PART:
        return [text]
    part = replace(document, text=text, headings=())  # whose places are of the whole text
    return [one.text for one in split(part, size // 2 + 1)]


def ground(
    result: ExtractionResult, context: DocumentContext, parts: Iterable[_Part]
) -> ExtractionResult:
    """Add the distinct facts of the parts of a chunk, with their sentences, speakers and times.

    A key element that does not occur in its fact is dropped; a fact without key elements gets
    names from its own text.
    """
    chunk, corpus = result.extracted.chunk, context.document.corpus
    facts: dict[str, AtomicFact] = {}
    dropped = unknown = without = 0
    for begin, text, extraction in parts:
        sentences = NumberedSentences(text, " ".join([context.title, *chunk.heading_path]))
        for one in extraction.facts:
            fact = _clean(one.fact)
            grounded = grounded_elements(map(without_numbers, one.key_elements), fact)
            dropped += len(one.key_elements) - len(grounded)
            unknown += len(set(one.sentences)) - len(sentences.valid(one.sentences))
            elements = key_elements(corpus, grounded) or key_elements(corpus, key_elements_of(fact))
            if not fact or not elements or fact in facts:
                continue
            span = sentences.span_of(fact, one.sentences)
            at = begin - chunk.start
            start, end = (at + span[0], at + span[1]) if span else (None, None)
            without += span is None
            made = AtomicFact(
                *(identity(chunk.id, fact), chunk, len(facts), fact, elements, start, end)
            )
            facts[fact] = context.placed(made)
    return replace(
        result,
        extracted=ChunkFacts(chunk, tuple(facts.values())),
        dropped=dropped,
        unknown_sentences=unknown,
        without_source=without,
    )


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
    """Collapse white space; remove numbers of sentences, and lone surrogates that Neo4j refuses."""
    return " ".join(without_numbers(text).encode("utf-8", "ignore").decode().split())


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
    if occurs(element, text):
        return True
    words = alphanumeric_words(text)
    return all(any(_same_word(one, word) for word in words) for one in alphanumeric_words(element))


def _same_word(one: str, other: str) -> bool:
    """Whether two words are equal or, in scripts with letter case, perhaps forms of one word."""
    if one == other:
        return True
    if not (one.isalpha() and one.upper() != one):
        return False
    stem = max(_MIN_STEM, len(one) - _MAX_ENDING)
    similar = len(one) >= stem and abs(len(one) - len(other)) <= _MAX_ENDING
    return similar and other.startswith(one[:stem])
