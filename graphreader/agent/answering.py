"""Answer reasoning (paper, section 3.4): one answer out of all notebooks, with citations."""

from collections import Counter

from graphreader.agent.condensing import join
from graphreader.agent.parts import Parts, Update, spent
from graphreader.agent.state import Costs, Notes, Quote, Run, add_costs, in_all, label
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

    async def answer_reasoning(self, state: Run) -> Update:
        """Join what the notebooks know, vote where they contradict, and answer (figure 12).

        Where no answer can be put together, the notebooks themselves are given, unanswered. Raises
        DecisionError if every path failed before it found anything.
        """
        paths = sorted(state.get("paths", []), key=lambda notes: notes["path"])
        found = any(one["notebook"].strip() or one["quotes"] for one in paths)
        failed = [one for one in paths if one["stopped"] == "error"]
        if paths and not found and len(failed) == len(paths):
            error = DecisionError(f"Every path failed, the first one so: {failed[0]['error']}")
            error.spent = in_all(state.get("costs", {}))
            raise error
        notes = _early_ends(paths)
        if not found:
            in_time = all(one["stopped"] != "budget" for one in paths)
            return {**_nothing(state["question"], in_time), "notes": notes}
        quotes = _by_paths(paths)
        decided = await self._answered(state, paths, quotes)
        return {**decided, "notes": notes}

    async def _answered(self, state: Run, paths: list[Notes], quotes: list[Quote]) -> Update:
        """The answer out of what the paths brought home."""
        evidence = tuple(Evidence(label(q["document"], q["chunk"]), q["quote"]) for q in quotes)
        notebooks = [one["notebook"] for one in paths]
        decision: Answer
        try:
            decision, task, costs = await self._decided(state, notebooks, evidence)
        except DecisionError as error:
            return {**_unjoined(paths, error), "costs": spent(error, "answer")}
        return {
            "answer": decision.answer,
            "analysis": decision.analysis,
            "answered": decision.answered,
            "citations": _cited(decision, quotes[: len(task.evidence)]),
            "costs": costs,
        }

    async def _decided(
        self, state: Run, notebooks: list[str], evidence: tuple[Evidence, ...]
    ) -> tuple[Answer, AnswerTask, Costs]:
        """The decision; notebooks that are too many for one prompt are joined before."""
        costs: Costs = {}
        while True:
            task = AnswerTask(state["question"], state["plan"], tuple(notebooks), evidence)
            try:
                decision, shown, cost = await self._parts.decide(task)
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
        "answer": "\n\n".join(one["notebook"] for one in paths if one["notebook"].strip()),
        "analysis": f"The notebooks stand as they are, no answer was put together: {error}",
        "answered": False,
        "citations": [],
    }


def _cited(decision: Answer, quotes: list[Quote]) -> list[Quote]:
    """The quotes that the answer names; one that was not shown is dropped."""
    if not decision.answered:
        return []
    return [quotes[n - 1] for n in dict.fromkeys(decision.citations) if 1 <= n <= len(quotes)]


def _nothing(question: str, in_time: bool) -> Update:
    """No path found anything: there is nothing to decide on."""
    answers = NOT_IN_THE_TEXTS if in_time else NOT_IN_TIME
    return {
        "answer": answers[language_of(question)],
        "analysis": "No path found anything about the question.",
        "answered": False,
        "citations": [],
    }
