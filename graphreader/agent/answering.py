"""Answer reasoning (paper, section 3.4): one answer out of all notebooks, with citations."""

from collections import Counter

from langgraph.runtime import Runtime

from graphreader.agent.claims import NO_BASIS, rested
from graphreader.agent.condensing import join
from graphreader.agent.parts import Parts, Update, spent
from graphreader.agent.path import why_all_failed
from graphreader.agent.state import Costs, Notes, Quote, Run, add_costs, in_all, label
from graphreader.agent.telling import Telling
from graphreader.deciding.decider import Heard
from graphreader.deciding.decisions import Answer
from graphreader.deciding.tasks import AnswerTask, Evidence
from graphreader.errors import DecisionError, WindowError
from graphreader.sentences import language_of

NOT_IN_THE_TEXTS = {"en": "The texts do not tell.", "zh": "文中没有提到。"}
NOT_IN_TIME = {
    "en": "Nothing was found before the budget was used up.",
    "zh": "在预算用完之前没有找到任何内容。",
}


class Answering:
    """The step after the exploration."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def answer_reasoning(self, state: Run, runtime: Runtime[None]) -> Update:
        """Join what the notebooks know, vote where they contradict, and answer (figure 12).

        Where somebody wants to hear it, the answer is told while it is written. Where no answer
        can be put together, the notebooks themselves are given, unanswered. Raises DecisionError
        if every path failed before it found anything.
        """
        telling = Telling(runtime.stream_writer) if self._parts.tokens else None
        update = await self._answered(state, telling)
        if telling:
            telling.ends_with(update["answer"])
        return update

    async def _answered(self, state: Run, heard: Heard | None) -> Update:
        paths = sorted(state.get("paths", []), key=lambda notes: notes["path"])
        found = any(one["notebook"].strip() or one["quotes"] for one in paths)
        failure = why_all_failed(paths)
        if failure and not found:
            error = DecisionError(failure)
            error.spent = in_all(state.get("costs", {}))
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
            return {**_unjoined(paths, error), "notes": notes, "costs": spent(error, "answer")}
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
        state: Run,
        paths: list[Notes],
        evidence: tuple[Evidence, ...],
        heard: Heard | None,
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
                costs = add_costs(costs, spent(error, "answer"))
                if len(notebooks) < 2:
                    error.spent = in_all(costs)
                    raise
            except DecisionError as error:
                error.spent += in_all(costs)
                raise
            notebooks, costs = await join(
                self._parts, state["question"], state["plan"], notebooks, costs
            )


def _early_ends(paths: list[Notes]) -> list[str]:
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


def _by_paths(paths: list[Notes]) -> list[Quote]:
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


def _unjoined(paths: list[Notes], error: DecisionError) -> Update:
    """What was found is not lost with the last decision."""
    return {
        "unjoined": str(error),
        "answer": "\n\n".join(one["notebook"] for one in paths if one["notebook"].strip()),
        "analysis": f"The notebooks stand as they are, no answer was put together: {error}",
        "answered": False,
        **NO_BASIS,
    }


def _not_told(state: Run) -> str:
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
