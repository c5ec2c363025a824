"""Answer reasoning (paper, section 3.4): one answer out of all notebooks, with citations."""

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

NO_CITATIONS: Mapping[str, Any] = {"citations": [], "claims": [], "contradictions": []}

CONTRADICTION_QUOTES = 2
"""Quotes that a contradiction must cite: one of each side."""

CLAIMS_IN_NOTE = 3
"""Unsupported claims that a note quotes; of the others it gives the number."""

NOT_IN_THE_TEXTS = {"en": "The texts do not tell.", "zh": "文中没有提到。"}

BUDGET_USED_UP = {
    "en": "Nothing was found before the budget was used up.",
    "zh": "在预算用完之前没有找到任何内容。",
}


class Answering:
    """The node after the exploration."""

    def __init__(self, deps: AgentDependencies) -> None:
        self._deps = deps

    async def answer_reasoning(self, state: RunState, runtime: Runtime[None]) -> Update:
        """Join the notebooks, let the majority decide contradictions, and answer (figure 12).

        The answer is streamed if it is to be. If no answer can be put together, the notebooks
        themselves are returned, unanswered. Raises DecisionError if every path failed before it
        found anything.
        """
        stream = AnswerStream(runtime.stream_writer) if self._deps.stream_answer else None
        update = await self._answer(state, stream)
        if stream:
            stream.finish(update["answer"])
        return update

    async def _answer(self, state: RunState, on_token: TokenCallback | None) -> Update:
        paths = sorted(state.get("paths", []), key=lambda path: path["path"])
        has_notes = any(path["notebook"].strip() or path["quotes"] for path in paths)
        failure = all_failed_message(paths)
        if failure and not has_notes:
            error = DecisionError(failure)
            error.spent = total_usage(state.get("costs", {}))
            raise error
        notes = _early_end_notes(paths)
        language = language_of(state["question"])
        if not has_notes:
            in_budget = all(path["stopped"] != "budget" for path in paths)
            return {
                "answer": (NOT_IN_THE_TEXTS if in_budget else BUDGET_USED_UP)[language],
                "analysis": "No path found anything about the question.",
                "answered": False,
                **NO_CITATIONS,
                "notes": notes,
            }
        quotes = _distinct_quotes(paths)
        try:
            decision, task, costs = await self._decide(state, paths, quotes, on_token)
        except DecisionError as error:
            return {
                "unjoined": str(error),
                "answer": "\n\n".join(p["notebook"] for p in paths if p["notebook"].strip()),
                "analysis": f"The notebooks stand as they are, no answer was put together: {error}",
                "answered": False,
                **NO_CITATIONS,
                "notes": notes,
                "costs": wasted_costs(error, "answer"),
            }
        citations, citation_notes = cite(decision, task, quotes)
        return {
            "answer": decision.answer if decision.answer.strip() else NOT_IN_THE_TEXTS[language],
            "analysis": decision.analysis,
            "answered": decision.answered,
            **citations,
            "notes": notes + citation_notes,
            "costs": costs,
        }

    async def _decide(
        self,
        state: RunState,
        paths: list[PathResult],
        quotes: list[Quote],
        on_token: TokenCallback | None,
    ) -> tuple[Answer, AnswerTask, Costs]:
        """Take the decision; notebooks that are too many for one prompt are joined before."""
        evidence = tuple(Evidence(label(q["document"], q["chunk"]), q["quote"]) for q in quotes)
        notebooks = [path["notebook"] for path in paths]
        costs: Costs = {}
        while True:
            task = AnswerTask(state["question"], state["plan"], tuple(notebooks), evidence)
            try:
                decision, shown, cost = await self._deps.decide(task, on_token)
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
                self._deps, state["question"], state["plan"], notebooks, costs
            )


class AnswerStream:
    """Streams the answer as events while it is written, and at the end what was not streamed."""

    def __init__(self, write: Callable[[AnswerToken], None]) -> None:
        self._write = write
        self._text = ""

    def __call__(self, piece: str, begins: bool) -> None:
        """Stream a piece. If it begins an answer, earlier pieces are void."""
        begins = begins or not self._text
        self._text = piece if begins else self._text + piece
        self._write(AnswerToken(piece, begins))

    def finish(self, answer: str) -> None:
        """Stream what is missing of the whole answer, or all of it if another was streamed."""
        if not self._text or not answer.startswith(self._text):
            self(answer, True)
        elif rest := answer.removeprefix(self._text):
            self(rest, False)


def all_failed_message(paths: Sequence[PathResult]) -> str:
    """A sentence if every path ended with an error, else an empty string."""
    if not paths or any(path["stopped"] != "error" for path in paths):
        return ""
    return f"Every path failed, the first one so: {paths[0]['error']}"


def cite(
    decision: Answer, task: AnswerTask, quotes: Sequence[Quote]
) -> tuple[Mapping[str, Any], list[str]]:
    """The citations, claims and contradictions of the decision, and notes on them for a person.

    `task` is what was shown; `quotes` begin with those of its evidence. Numbers of quotes that were
    not shown are dropped. A claim without a quote is kept, and a note names it. A contradiction
    that does not cite both sides is dropped. An answer without claims is one claim.
    """
    if not decision.answered:
        return NO_CITATIONS, []
    claims = [(one.claim.strip(), task.shown(one.citations)) for one in decision.claims]
    claims = [claim for claim in claims if claim[0]] or [(decision.answer.strip(), [])]
    stated = [(one.about.strip(), task.shown(one.citations)) for one in decision.contradictions]
    contradictions = [
        (text, numbers) for text, numbers in stated if text and len(numbers) >= CONTRADICTION_QUOTES
    ]
    cited = dict.fromkeys(n for _, numbers in (*claims, *contradictions) for n in numbers)
    places = {number: place for place, number in enumerate(cited, 1)}

    def statements(items: Sequence[tuple[str, list[int]]]) -> list[Statement]:
        return [
            {"text": text, "citations": [places[number] for number in numbers]}
            for text, numbers in items
        ]

    citations = {
        "citations": [quotes[number - 1] for number in cited],
        "claims": statements(claims),
        "contradictions": statements(contradictions),
    }
    unsupported = [text for text, numbers in claims if not numbers]
    return citations, _unsupported_note(unsupported, len(claims))


def _unsupported_note(unsupported: Sequence[str], claims: int) -> list[str]:
    """A note on claims without a quote, if there are any."""
    if not unsupported:
        return []
    one = len(unsupported) == 1
    verbs = "has no quote that supports it" if one else "have no quotes that support them"
    named = "; ".join(unsupported[:CLAIMS_IN_NOTE])
    rest = len(unsupported) - CLAIMS_IN_NOTE
    more = f"; and {rest} more" if rest > 0 else ""
    return [f"{len(unsupported)} of {claims} claims {verbs}: {named}{more}"]


def _early_end_notes(paths: list[PathResult]) -> list[str]:
    """A sentence on each path that failed, and one on those that the budget ended."""
    notes = [
        f"Path {path['path']} stopped early: {path['error']}"
        for path in paths
        if path["stopped"] == "error"
    ]
    over_budget = [path for path in paths if path["stopped"] == "budget"]
    if over_budget:
        number = f"{len(over_budget)} of {len(paths)} paths"
        notes.append(f"{number} stopped early: {over_budget[0]['error']}")
    return notes


def _distinct_quotes(paths: list[PathResult]) -> list[Quote]:
    """Every quote once: those that several paths found first, then in the order of the paths.

    A quote that lies within another one counts for the larger one.
    """
    quotes = [quote for path in paths for quote in path["quotes"]]
    longest_first = sorted(quotes, key=lambda quote: quote["start"] - quote["end"])
    widened = [next(one for one in longest_first if _contains(one, quote)) for quote in quotes]
    frequency = Counter(_span(quote) for quote in widened)
    distinct = {_span(quote): quote for quote in widened}
    return sorted(distinct.values(), key=lambda quote: -frequency[_span(quote)])


def _span(quote: Quote) -> tuple[str, int, int]:
    return quote["document_id"], quote["start"], quote["end"]


def _contains(outer: Quote, inner: Quote) -> bool:
    return (
        inner["document_id"] == outer["document_id"]
        and outer["start"] <= inner["start"]
        and inner["end"] <= outer["end"]
    )
