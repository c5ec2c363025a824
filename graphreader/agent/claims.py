"""What an answer rests on: its claims with their quotes, and where the texts contradict it all."""

from collections.abc import Mapping, Sequence
from typing import Any

from graphreader.agent.state import Quote, Statement
from graphreader.deciding.decisions import Answer
from graphreader.deciding.tasks import AnswerTask

NO_BASIS: Mapping[str, Any] = {"citations": [], "claims": [], "contradictions": []}
"""That of what is no answer."""

SIDES = 2
"""Quotes that a contradiction must name: one of each side."""

CLAIMS_NAMED = 3
"""Unsupported claims that a note names; of the others it gives the number."""


def rested(
    decision: Answer, task: AnswerTask, quotes: Sequence[Quote]
) -> tuple[Mapping[str, Any], list[str]]:
    """Citations, claims and contradictions of the decision, and notes on them for a person.

    `task` is what was shown, `quotes` begin with those of its evidence. Numbers of quotes that were
    not shown are dropped. A claim that has none left is kept, and a note tells of it; a
    contradiction that does not name both sides is dropped. An answer without claims is one claim.
    """
    if not decision.answered:
        return NO_BASIS, []
    claims = [(one.claim.strip(), task.shown(one.citations)) for one in decision.claims]
    claims = [claim for claim in claims if claim[0]] or [(decision.answer.strip(), [])]
    about = [(one.about.strip(), task.shown(one.citations)) for one in decision.contradictions]
    contradictions = [one for one in about if one[0] and len(one[1]) >= SIDES]
    cited = dict.fromkeys(n for _, numbers in (*claims, *contradictions) for n in numbers)
    places = {number: place for place, number in enumerate(cited, 1)}
    basis = {
        "citations": [quotes[number - 1] for number in cited],
        "claims": [_statement(text, numbers, places) for text, numbers in claims],
        "contradictions": [_statement(text, numbers, places) for text, numbers in contradictions],
    }
    unsupported = [text for text, numbers in claims if not numbers]
    return basis, _on_unsupported(unsupported, len(claims))


def _statement(text: str, numbers: Sequence[int], places: Mapping[int, int]) -> Statement:
    return {"text": text, "citations": [places[number] for number in numbers]}


def _on_unsupported(unsupported: Sequence[str], claims: int) -> list[str]:
    """The note that a person must see before trusting the answer, if there is reason for one."""
    if not unsupported:
        return []
    which = f"{len(unsupported)} of {claims} claims"
    verbs = (
        "has no quote that supports it"
        if len(unsupported) == 1
        else ("have no quotes that support them")
    )
    named = "; ".join(unsupported[:CLAIMS_NAMED])
    rest = len(unsupported) - CLAIMS_NAMED
    return [f"{which} {verbs}: {named}{f'; and {rest} more' if rest > 0 else ''}"]
