"""The evidence of findings: quotes of a model, located in chunks or in the sentences of facts."""

import asyncio
from collections.abc import Iterator, Sequence
from functools import reduce

from graphreader.agent.adaptive.notebook import KeptFinding
from graphreader.agent.adaptive.state import AdaptiveState
from graphreader.agent.adaptive.tasks import ShownPassage, Turn, passage_number
from graphreader.agent.citations import add_quotes, pieces_of
from graphreader.agent.context import RunContext
from graphreader.agent.state import Plain, Seen, add_seen
from graphreader.documents import AtomicFact, ChunkInDocument
from graphreader.text.lines import Span
from graphreader.text.matching import locate
from graphreader.text.numbered_sentences import NumberedSentences


async def verified_findings(
    context: RunContext,
    state: AdaptiveState,
    decision: Turn,
    passages: dict[str, str],
    seen: Seen,
) -> tuple[list[KeptFinding | None], list[KeptFinding], list[Plain]]:
    """The findings of a decision, the new findings among them, and the run's quotes with theirs.

    A finding that is known already is given as it is known, one without words as None. A quote from
    a fact that the run has `seen` becomes the sentence that the fact comes from.
    """
    numbers = [passage_number(one.passage) for one in decision.findings]
    cited = list(dict.fromkeys(passages[number] for number in numbers if number in passages))
    of_cited = {id_: seen[id_] for id_ in cited if id_ in seen}
    groups, texts = await asyncio.gather(
        context.explorer.shown_texts((), of_cited),
        asyncio.gather(*map(context.explorer.chunk, cited)),
    )
    chunks = dict(zip(cited, texts, strict=True))
    facts = {group.chunk.id: group.facts for group in groups}
    struck = {*decision.struck}
    known = {one["text"]: one for n, one in enumerate(state["findings"], 1) if n not in struck}
    given: list[KeptFinding | None] = []
    new: list[KeptFinding] = []
    quotes = state["quotes"]
    for one, number in zip(decision.findings, numbers, strict=True):
        text = one.finding.strip() or one.quote.strip()
        if not text or text in known:
            given.append(known.get(text))
            continue
        chunk, places = chunks.get(passages.get(number, "")), list[int]()
        if chunk:
            located = _located(one.quote, chunk, facts.get(chunk.id, ()))
            quotes = [*quotes, *(quote for quote in located if quote not in quotes)]
            places = [quotes.index(quote) for quote in located]
        kept: KeptFinding = {"text": text, "passage": number, "quote": None}
        if places:
            kept |= {"quote": places[0], "more": places[1:]}
        known[text] = kept
        given.append(kept)
        new.append(kept)
    return given, new, quotes


def shown_facts(before: Seen, shown: Sequence[ShownPassage]) -> Seen:
    """The facts that the run was shown; several results may show facts of one chunk."""
    own = ({one["chunk"]: one["facts"]} for one in shown)
    return reduce(add_seen, own, before)


def _located(quote: str, chunk: ChunkInDocument, facts: Sequence[AtomicFact]) -> list[Plain]:
    """The verified quotes of a chunk for a quote from it, or for pieces from it and its facts.

    None if a piece stands in neither.
    """
    located = add_quotes([], chunk, [quote])
    for piece in [] if located else pieces_of(quote):
        own = add_quotes([], chunk, [piece])
        own = own or add_quotes([], chunk, (), _sources(piece, facts, chunk.text))
        if not own:
            return []
        located += [one for one in own if one not in located]
    return located


def _sources(quote: str, facts: Sequence[AtomicFact], text: str) -> Iterator[Span]:
    """Yield the spans of the sentences on which the facts with a quote rest.

    Facts of older graphs have none: their sentences are sought in the `text` of the chunk.
    """
    for fact in facts:
        if locate(quote, fact.attributed):
            span = fact.span_in_chunk or NumberedSentences(text).span_of(fact.text, ())
            if span:
                yield span
