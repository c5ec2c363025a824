"""The check of an answer's doubtful claims (ours: the paper's answer has no citations).

A claim is doubtful if it cites no quote, or has a number (of two digits or more) or a name that
stands nowhere in the chunks of its quotes. One decision sees these claims with their quotes, else
with the nearest in words, their speakers and the sentences next to them.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from graphreader.agent.citations import with_valid_citations
from graphreader.agent.context import RunContext, wasted_costs
from graphreader.agent.decisions import Answer, CitedClaim, ClaimCheck
from graphreader.agent.state import Costs, label
from graphreader.agent.tasks import ClaimCheckTask, Evidence
from graphreader.documents import AtomicFact, Chunk
from graphreader.errors import DecisionError
from graphreader.llm.protocols import folded
from graphreader.reading import Citation
from graphreader.text.names import names_of
from graphreader.text.sentences import language_of, sentence_spans
from graphreader.text.turns import turns_of
from graphreader.text.words import terms_of

MOST_FACTS = 500  # facts of a chunk among which a speaker is sought
NEAREST = 6  # quotes that are shown for a claim without any
LONGEST_NEXT = 300  # characters before and after a quote

_ISO_DATE = re.compile(r"\d{4}-\d{2}(?:-\d{2})?")  # a date of a fact, as the program writes it
_ROMAN = re.compile(r"[ivxlc]+")  # Act III follows from the order of the text
_SPOKEN = re.compile(
    r"(?i)\b(?:ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen"
    r"|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|(?<!\d )(?:hundred|thousand|million))\b"
    r"|[一二三四五六七八九十百千万亿]{2,}"
)
_DIGITS = re.compile(r"\d+")
_NUMBER = re.compile(r"\d+(?:[.,]?\d+)+")  # a digit alone is often a word in the text


async def check_claims(
    context: RunContext, question: str, decision: Answer, quotes: Sequence[Citation]
) -> tuple[Answer, Costs]:
    """Return the answer with its doubtful claims checked, and the cost; it stands if that fails."""
    if not decision.answered or not quotes:
        return decision, {}
    places = [(one.document_id, one.chunk) for one in quotes]
    found = {(one.document_id, one.index): one for one in await context.explorer.chunks(places)}
    chunks = [found.get(place) for place in places]  # None for a deleted chunk
    doubtful = [
        number
        for number, one in enumerate(decision.claims)
        if not one.citations or _lacks_support(one, question, quotes, chunks)
    ]
    if not doubtful:
        return decision, {}
    unsure = [decision.claims[number] for number in doubtful]
    terms = [terms_of(one.quote) for one in quotes]
    shown = sorted({n for one in unsure for n in one.citations or _nearest(one, terms)})
    numbers = {n: number for number, n in enumerate(shown, 1)}  # as the task has them
    every = {one.id: range(MOST_FACTS) for n in shown if (one := chunks[n - 1])}
    groups = await context.explorer.shown_texts((), every)
    facts = {(one.chunk.document_id, one.chunk.index): one.facts for one in groups}
    task = ClaimCheckTask(
        question,
        decision.answer,
        decision.explanation,
        tuple(_shown(one, [numbers[n] for n in one.citations]) for one in unsure),
        tuple(_evidence(quotes[n - 1], chunks[n - 1], facts.get(places[n - 1], ())) for n in shown),
    )
    try:
        check, task, costs = await context.decide(task)
    except DecisionError as error:
        return decision, wasted_costs(error, task.phase)
    known = dict(enumerate(shown[: len(task.evidence)], 1))
    changed = {
        doubtful[one.number - 1]: CitedClaim(
            claim=one.claim, citations=[known[n] for n in one.citations if n in known]
        )
        for one in check.claims
        if 1 <= one.number <= len(doubtful)
    }
    return with_valid_citations(_changed(decision, check, changed), len(quotes)), costs


def _nearest(claim: CitedClaim, quotes: Sequence[frozenset[str]]) -> list[int]:
    """The numbers of the quotes, given by their terms, that share most words with a claim."""
    terms = terms_of(claim.claim)
    shared = {n: len(terms & one) for n, one in enumerate(quotes, 1)}
    return sorted(shared, key=lambda n: -shared[n])[:NEAREST]


def _changed(decision: Answer, check: ClaimCheck, changed: Mapping[int, CitedClaim]) -> Answer:
    """The answer with the checked claims; a check can only lower the confidence."""
    claims = [changed.get(place, one) for place, one in enumerate(decision.claims)]
    update: dict[str, Any] = {"claims": claims}
    if check.confidence == "likely":
        update["confidence"] = "likely"
    if check.explanation.strip():
        update["explanation"] = check.explanation
    return decision.model_copy(update=update)


def _lacks_support(
    claim: CitedClaim, question: str, quotes: Sequence[Citation], chunks: Sequence[Chunk | None]
) -> bool:
    """Whether a number or a name of a claim stands nowhere in the chunks of its quotes."""
    cited = [(quotes[n - 1], chunks[n - 1]) for n in claim.citations]
    known = " ".join(
        part
        for quote, chunk in cited
        for part in (chunk.text if chunk else "", quote.quote, quote.document, quote.heading or "")
    )
    wide = f"{known} {question}"
    texts = "".join(chunk.text for _, chunk in cited if chunk)
    # A transcript may write most numbers as words.
    are_spoken = len(_SPOKEN.findall(texts)) > len(_DIGITS.findall(texts))
    numbers = set(_NUMBER.findall(_ISO_DATE.sub("", claim.claim)))
    if not are_spoken and numbers - set(_NUMBER.findall(wide)):
        return True
    if language_of(claim.claim) != language_of(wide):
        return False
    terms_known = terms_of(wide)
    names = (one for one in names_of(folded(claim.claim)) if not _begins(one, claim.claim))
    terms = chain.from_iterable(map(terms_of, names))
    return any(one not in terms_known and not _ROMAN.fullmatch(one) for one in terms)


def _begins(name: str, claim: str) -> bool:
    """Whether a single word may have its capital only because the claim begins with it."""
    return " " not in name and claim.startswith(name)


def _evidence(quote: Citation, chunk: Chunk | None, facts: Sequence[AtomicFact]) -> Evidence:
    """A quote with its speaker, and in brackets the text around it to the ends of sentences."""
    parts = [label(quote.document, quote.chunk)]
    parts += [f"“{quote.heading}”"] if quote.heading else []
    if chunk is None:
        return Evidence(", ".join(parts), quote.quote)
    text, start, end = chunk.text, quote.start - chunk.start, quote.end - chunk.start
    spans = list(sentence_spans(text))
    # The rest of the sentences that the quote cuts, else the sentences next to it.
    begin = max((a for a, _ in spans if a < start), default=start)
    stop = min((b for _, b in spans if b > end), default=end)
    spans_of = ((one.speaker, one.span_in_chunk) for one in facts)
    speakers = (who for who, span in spans_of if who and span and span[0] <= start < span[1])
    turns = (one.speaker for one in turns_of(text) if one.start <= start < one.end)
    parts += [f"{speaker} speaks" for speaker in [next(chain(speakers, turns), "")] if speaker]
    before, after = folded(text[begin:start])[-LONGEST_NEXT:], folded(text[end:stop])[:LONGEST_NEXT]
    around = [f"[{before}]" if before else "", quote.quote, f"[{after}]" if after else ""]
    return Evidence(", ".join(parts), " ".join(filter(None, around)))


def _shown(claim: CitedClaim, numbers: Sequence[int]) -> str:
    cited = ", ".join(map(str, numbers))
    return f"{folded(claim.claim)} (quotes: {cited or 'none'})"
