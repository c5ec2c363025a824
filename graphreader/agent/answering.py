"""Answer reasoning (paper, section 3.4): one answer out of all notebooks, with citations.

What an answer rests on: its claims with their quotes, and where the texts contradict it all.

Telling an answer while it is written, so that what was told is the answer in the end.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langgraph.runtime import Runtime

from graphreader.agent.decisions import Answer
from graphreader.agent.dependencies import AgentDependencies, Update, wasted_costs
from graphreader.agent.events import AnswerToken
from graphreader.agent.notebook import join
from graphreader.agent.state import (
    Costs,
    PathResult,
    Quote,
    RunState,
    Statement,
    add_costs,
    label,
    total_usage,
)
from graphreader.agent.tasks import AnswerTask, Evidence
from graphreader.errors import DecisionError, WindowError
from graphreader.llm.protocols import TokenCallback
from graphreader.text.sentences import language_of

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


class Telling:
    """Hands the pieces of an answer on as events, and what of them was not told at the end."""

    def __init__(self, write: Callable[[AnswerToken], None]) -> None:
        self._write = write
        self._told = ""

    def __call__(self, piece: str, begins: bool) -> None:
        """Tell a piece. Where it begins an answer, what was told before is void."""
        begins = begins or not self._told
        self._told = piece if begins else self._told + piece
        self._write(AnswerToken(piece, begins))

    def ends_with(self, answer: str) -> None:
        """The whole answer is this: tell what is missing, or all of it if another was told."""
        if not self._told or not answer.startswith(self._told):
            self(answer, True)
        elif rest := answer.removeprefix(self._told):
            self(rest, False)


def why_all_failed(paths: Sequence[PathResult]) -> str:
    """A sentence where every path ended with an error, else nothing."""
    if not paths or any(one["stopped"] != "error" for one in paths):
        return ""
    return f"Every path failed, the first one so: {paths[0]['error']}"


NOT_IN_THE_TEXTS = {"en": "The texts do not tell.", "zh": "文中没有提到。"}

NOT_IN_TIME = {
    "en": "Nothing was found before the budget was used up.",
    "zh": "在预算用完之前没有找到任何内容。",
}


class Answering:
    """The step after the exploration."""

    def __init__(self, parts: AgentDependencies) -> None:
        self._parts = parts

    async def answer_reasoning(self, state: RunState, runtime: Runtime[None]) -> Update:
        """Join what the notebooks know, vote where they contradict, and answer (figure 12).

        Where somebody wants to hear it, the answer is told while it is written. Where no answer
        can be put together, the notebooks themselves are given, unanswered. Raises DecisionError
        if every path failed before it found anything.
        """
        telling = Telling(runtime.stream_writer) if self._parts.stream_answer else None
        update = await self._answered(state, telling)
        if telling:
            telling.ends_with(update["answer"])
        return update

    async def _answered(self, state: RunState, heard: TokenCallback | None) -> Update:
        paths = sorted(state.get("paths", []), key=lambda notes: notes["path"])
        found = any(one["notebook"].strip() or one["quotes"] for one in paths)
        failure = why_all_failed(paths)
        if failure and not found:
            error = DecisionError(failure)
            error.spent = total_usage(state.get("costs", {}))
            raise error
        notes = _early_ends(paths)
        if not found:
            in_time = all(one["stopped"] != "budget" for one in paths)
            return {**_nothing(state["question"], in_time), "notes": notes}
        quotes = _by_paths(paths)
        evidence = tuple(Evidence(label(q["document"], q["chunk"]), q["quote"]) for q in quotes)
        try:
            decision, task, costs = await self._decided(state, paths, evidence, heard)
        except DecisionError as error:
            return {
                **_unjoined(paths, error),
                "notes": notes,
                "costs": wasted_costs(error, "answer"),
            }
        basis, more = rested(decision, task, quotes)
        return {
            "answer": decision.answer if decision.answer.strip() else _not_told(state),
            "analysis": decision.analysis,
            "answered": decision.answered,
            **basis,
            "notes": notes + more,
            "costs": costs,
        }

    async def _decided(
        self,
        state: RunState,
        paths: list[PathResult],
        evidence: tuple[Evidence, ...],
        heard: TokenCallback | None,
    ) -> tuple[Answer, AnswerTask, Costs]:
        """The decision; notebooks that are too many for one prompt are joined before."""
        notebooks = [one["notebook"] for one in paths]
        costs: Costs = {}
        while True:
            task = AnswerTask(state["question"], state["plan"], tuple(notebooks), evidence)
            try:
                decision, shown, cost = await self._parts.decide(task, heard)
                return decision, shown, add_costs(costs, cost)
            except WindowError as error:
                costs = add_costs(costs, wasted_costs(error, "answer"))
                if len(notebooks) < 2:
                    error.spent = total_usage(costs)
                    raise
            except DecisionError as error:
                error.spent += total_usage(costs)
                raise
            notebooks, costs = await join(
                self._parts, state["question"], state["plan"], notebooks, costs
            )


def _early_ends(paths: list[PathResult]) -> list[str]:
    """A sentence on each path that failed, and one on those that the budget ended."""
    notes = [
        f"Path {one['path']} stopped early: {one['error']}"
        for one in paths
        if one["stopped"] == "error"
    ]
    stopped = [one for one in paths if one["stopped"] == "budget"]
    if stopped:
        number = f"{len(stopped)} of {len(paths)} paths"
        notes.append(f"{number} stopped early: {stopped[0]['error']}")
    return notes


def _by_paths(paths: list[PathResult]) -> list[Quote]:
    """Every passage once: those that several paths found first, then in the order of the paths.

    A quote that lies within another one counts for the larger one.
    """
    found = [quote for notes in paths for quote in notes["quotes"]]
    widest = sorted(found, key=lambda quote: quote["start"] - quote["end"])
    whole = [next(other for other in widest if _within(quote, other)) for quote in found]
    times = Counter(_place(quote) for quote in whole)
    unique = {_place(quote): quote for quote in whole}
    return sorted(unique.values(), key=lambda quote: -times[_place(quote)])


def _place(quote: Quote) -> tuple[str, int, int]:
    return quote["document_id"], quote["start"], quote["end"]


def _within(quote: Quote, other: Quote) -> bool:
    return (
        quote["document_id"] == other["document_id"]
        and other["start"] <= quote["start"]
        and quote["end"] <= other["end"]
    )


def _unjoined(paths: list[PathResult], error: DecisionError) -> Update:
    """What was found is not lost with the last decision."""
    return {
        "unjoined": str(error),
        "answer": "\n\n".join(one["notebook"] for one in paths if one["notebook"].strip()),
        "analysis": f"The notebooks stand as they are, no answer was put together: {error}",
        "answered": False,
        **NO_BASIS,
    }


def _not_told(state: RunState) -> str:
    return NOT_IN_THE_TEXTS[language_of(state["question"])]


def _nothing(question: str, in_time: bool) -> Update:
    """No path found anything: there is nothing to decide on."""
    answers = NOT_IN_THE_TEXTS if in_time else NOT_IN_TIME
    return {
        "answer": answers[language_of(question)],
        "analysis": "No path found anything about the question.",
        "answered": False,
        **NO_BASIS,
    }
