"""Answer reasoning (paper, section 3.4): one answer out of all notebooks, with citations."""

from collections import Counter

from graphreader.agent.exploration import label
from graphreader.agent.parts import Parts, Update, spent
from graphreader.agent.state import Notes, Quote, Run
from graphreader.deciding.decisions import Answer
from graphreader.deciding.tasks import AnswerTask, Evidence
from graphreader.errors import DecisionError, ReplyError, WindowError
from graphreader.sentences import language_of

NOT_IN_THE_TEXTS = {"en": "The texts do not tell.", "zh": "文中没有提到。"}


class Answering:
    """The step after the exploration."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def answer_reasoning(self, state: Run) -> Update:
        """Join what the notebooks know, vote where they contradict, and answer (figure 12).

        Where no answer can be put together, the notebooks themselves are given, unanswered. Raises
        DecisionError if every path failed.
        """
        paths = sorted(state.get("paths", []), key=lambda notes: notes["path"])
        failed = [notes for notes in paths if notes["stopped"] == "error"]
        if paths and len(failed) == len(paths):
            raise DecisionError(f"Every path failed, the first one so: {failed[0]['error']}")
        notes = [f"Path {one['path']} stopped early: {one['error']}" for one in failed]
        if not any(one["notebook"].strip() or one["quotes"] for one in paths):
            return {**_nothing(state["question"]), "notes": notes}
        quotes = _by_paths(paths)
        task = AnswerTask(
            state["question"],
            state["plan"],
            tuple(one["notebook"] for one in paths),
            tuple(Evidence(label(q["document"], q["chunk"]), q["quote"]) for q in quotes),
        )
        decision: Answer
        try:
            decision, task, cost = await self._parts.decide(task)
        except (ReplyError, WindowError) as error:
            return {**_unjoined(paths, error), "cost": spent(error), "notes": notes}
        return {
            "answer": decision.answer,
            "analysis": decision.analysis,
            "answered": decision.answered,
            "citations": _cited(decision, quotes[: len(task.evidence)]),
            "cost": cost,
            "notes": notes,
        }


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


def _nothing(question: str) -> Update:
    """No path found anything: there is nothing to decide on."""
    return {
        "answer": NOT_IN_THE_TEXTS[language_of(question)],
        "analysis": "No path found anything about the question.",
        "answered": False,
        "citations": [],
    }
