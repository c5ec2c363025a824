"""From one chunk to its atomic facts with their key elements (paper, section 3.2 and figure 6).

Ids come from the content, so the same chunk gives the same facts and can be written again.
"""

from collections.abc import Iterable
from hashlib import sha256

from graphreader.deciding.decider import Decider
from graphreader.deciding.decisions import ExtractedFact
from graphreader.deciding.tasks import ExtractionTask
from graphreader.documents import AtomicFact, Chunk, Document, KeyElement
from graphreader.errors import ReplyError, WindowError
from graphreader.ingestion.normalization import clean_surface, normalize
from graphreader.reading import Usage
from graphreader.store.writer import ReadChunk


async def extract(decider: Decider, document: Document, chunk: Chunk) -> tuple[ReadChunk, Usage]:
    """Read one chunk. A reply that is of no use leaves the chunk with its error instead of facts.

    Raises DecisionError where the next chunk would fail as well: no service, no right to it.
    """
    if not chunk.text.strip():
        return ReadChunk(chunk), Usage()
    try:
        decided = await decider.decide(ExtractionTask(document.title, chunk.text))
    except (ReplyError, WindowError) as error:
        return ReadChunk(chunk, error=str(error)), Usage(*error.spent)
    facts = atomic_facts(document.corpus, chunk, decided.decision.facts)
    return ReadChunk(chunk, facts), decided.usage


def atomic_facts(
    corpus: str, chunk: Chunk, extracted: Iterable[ExtractedFact]
) -> tuple[AtomicFact, ...]:
    """The facts of a chunk: each wording once, and none without a key element."""
    facts: dict[str, AtomicFact] = {}
    for one in extracted:
        text = clean(one.fact)
        elements = key_elements(corpus, one.key_elements)
        if text and elements and text not in facts:
            id_ = identity(chunk.id, text)
            facts[text] = AtomicFact(id_, chunk.id, len(facts), text, elements)
    return tuple(facts.values())


def key_elements(corpus: str, surfaces: Iterable[str]) -> tuple[KeyElement, ...]:
    """The key elements of one fact: one a normalized form, with its first wording."""
    elements: dict[str, KeyElement] = {}
    for given in surfaces:
        surface = clean_surface(given)
        key = normalize(surface)
        if key and key not in elements:
            elements[key] = KeyElement(identity(corpus, key), key, surface)
    return tuple(elements.values())


def identity(*parts: str) -> str:
    """An id out of what makes a thing itself: 24 hexadecimal digits."""
    return sha256("\0".join(parts).encode()).hexdigest()[:24]


def clean(text: str) -> str:
    """White space folded, lone surrogates gone: what Neo4j can store and a person can read."""
    return " ".join(text.encode("utf-8", "ignore").decode().split())
