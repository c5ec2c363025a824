"""The check of an answer's doubtful claims (ours: the paper's answer has no citations).

A claim is doubtful if it cites no quote, or has a number (of two digits or more) or a name that
stands nowhere in the chunks of its quotes. One decision sees these claims with all quotes, their
speakers and the sentences next to them.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from graphreader.agent.citations import with_valid_citations
from graphreader.agent.context import RunContext, wasted_costs
from graphreader.agent.decisions import Answer, CitedClaim, ClaimCheck
from graphreader.agent.state import Costs, label
from graphreader.agent.tasks import ClaimCheckTask, Evidence
from graphreader.errors import DecisionError
from graphreader.llm.protocols import folded
from graphreader.reading import Citation
from graphreader.store.explorer import GraphExplorer
from graphreader.text.names import names_of
from graphreader.text.sentences import language_of, sentence_spans
from graphreader.text.turns import turns_of
from graphreader.text.words import terms_of

LONGEST_NEXT = 300  # characters before and after a quote

_ISO_DATE = re.compile(r"\d{4}-\d{2}(?:-\d{2})?")  # a date of a fact, as the program writes it
_ROMAN = re.compile(r"[ivxlc]+")  # Act III follows from the order of the text
_NUMBER = re.compile(r"\d+(?:[.,]?\d+)+")  # a digit alone is often a word in the text


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """The text before and after a quote to the nearest ends of sentences, its speaker and chunk."""

    before: str = ""
    after: str = ""
    speaker: str = ""
    chunk: str = ""


async def check_claims(
    context: RunContext, question: str, decision: Answer, quotes: Sequence[Citation]
) -> tuple[Answer, Costs]:
    """Return the answer with its doubtful claims checked, and the cost; it stands if that fails."""
    if not decision.answered or not quotes:
        return decision, {}
    places = await _surroundings(context.explorer, quotes)
    doubtful = [
        number
        for number, one in enumerate(decision.claims)
        if not one.citations or _lacks_support(one, question, quotes, places)
    ]
    if not doubtful:
        return decision, {}
    evidence = tuple(map(_evidence, quotes, places))
    claims = tuple(map(_shown, (decision.claims[number] for number in doubtful)))
    task = ClaimCheckTask(question, decision.answer, decision.explanation, claims, evidence)
    try:
        check, shown, costs = await context.decide(task)
    except DecisionError as error:
        return decision, wasted_costs(error, task.phase)
    changed = {doubtful[one.number - 1]: one for one in check.claims if _is_in(one.number, claims)}
    return with_valid_citations(_changed(decision, check, changed, shown), len(quotes)), costs


def _is_in(number: int, claims: Sequence[str]) -> bool:
    return 1 <= number <= len(claims)


def _changed(
    decision: Answer, check: ClaimCheck, changed: Mapping[int, Any], shown: ClaimCheckTask
) -> Answer:
    """The answer with the checked claims; a check can only lower the confidence."""
    claims = list(decision.claims)
    for place, new in changed.items():
        citations = [n for n in new.citations if n <= len(shown.evidence)]
        claims[place] = CitedClaim(claim=new.claim, citations=citations)
    update: dict[str, Any] = {"claims": claims}
    if check.confidence == "likely":
        update["confidence"] = "likely"
    if check.explanation.strip():
        update["explanation"] = check.explanation
    return decision.model_copy(update=update)


async def _surroundings(explorer: GraphExplorer, quotes: Iterable[Citation]) -> list[_Surroundings]:
    """Return the surroundings of each quote; they are empty if its chunk is deleted."""
    chunks = {
        (one.document_id, one.index): one
        for one in await explorer.chunks([(one.document_id, one.chunk) for one in quotes])
    }
    found = []
    for quote in quotes:
        chunk = chunks.get((quote.document_id, quote.chunk))
        if chunk is None:
            found.append(_Surroundings())
            continue
        start, end = quote.start - chunk.start, quote.end - chunk.start
        text = chunk.text
        spans = list(sentence_spans(text))
        # The rest of the sentences that the quote cuts, else the sentences next to it.
        begin = max((a for a, _ in spans if a < start), default=start)
        stop = min((b for _, b in spans if b > end), default=end)
        turns = (one.speaker for one in turns_of(text) if one.start <= start < one.end)
        found.append(_Surroundings(text[begin:start], text[end:stop], next(turns, ""), text))
    return found


def _lacks_support(
    claim: CitedClaim, question: str, quotes: Sequence[Citation], places: Sequence[_Surroundings]
) -> bool:
    """Whether a number or a name of a claim stands nowhere in the chunks of its quotes."""
    cited = [(quotes[n - 1], places[n - 1]) for n in claim.citations]
    known = " ".join(
        part
        for quote, place in cited
        for part in (place.chunk, quote.quote, quote.document, quote.heading or "")
    )
    wide = f"{known} {question}"
    if set(_NUMBER.findall(_ISO_DATE.sub("", claim.claim))) - set(_NUMBER.findall(wide)):
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


def _evidence(quote: Citation, place: _Surroundings) -> Evidence:
    """A quote with its speaker, and in brackets the sentences next to it."""
    parts = [label(quote.document, quote.chunk)]
    parts += [f"“{quote.heading}”"] if quote.heading else []
    parts += [f"{place.speaker} speaks"] if place.speaker else []
    before, after = folded(place.before)[-LONGEST_NEXT:], folded(place.after)[:LONGEST_NEXT]
    before, after = (f"[{one}]" if one else "" for one in (before, after))
    return Evidence(", ".join(parts), " ".join(filter(None, [before, quote.quote, after])))


def _shown(claim: CitedClaim) -> str:
    cited = ", ".join(map(str, claim.citations))
    return f"{folded(claim.claim)} (quotes: {cited or 'none'})"
