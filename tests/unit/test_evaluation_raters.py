"""The raters: what the two verdicts make together, and what models really write."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import pytest
from langchain_core.messages import AIMessage

from graphreader.errors import DecisionError, ReplyError, UsageError
from graphreader.evaluation.metrics.evidence import fact_wise, sample_wise
from graphreader.evaluation.scoring import (
    PermissiveRating,
    PermissiveRatingTask,
    Raters,
    Rating,
    RecallRating,
    RecallRatingTask,
    StrictRating,
    StrictRatingTask,
)
from graphreader.llm.chat_model import LanguageModelDecider
from graphreader.llm.protocols import Decision, Task
from graphreader.llm.providers import adapter_for
from graphreader.llm.retry import ModelService
from graphreader.llm.structured_output import read
from graphreader.offline.decider import OfflineDecider
from graphreader.testing import ChatRequest, FunctionChatModel, ScriptedDecider

Strict = Literal["yes", "no"]
Permissive = Literal["yes", "partially", "no"]
STRICT = StrictRatingTask("Who won?", "Danny won.", "Danny")
PERMISSIVE = PermissiveRatingTask("Who won?", "Danny won.", "Danny")
RECALL = RecallRatingTask("Who won?", ("Danny won.", "It rained.", "Alice lost."), "notes")


def raters_of(verdicts: Mapping[str, tuple[Strict, Permissive]]) -> tuple[Raters, ScriptedDecider]:
    """Raters whose two verdicts depend on the reference alone."""

    def strict(task: StrictRatingTask) -> Decision:
        return StrictRating(agrees=verdicts[task.reference][0])

    def permissive(task: PermissiveRatingTask) -> Decision:
        return PermissiveRating(agrees=verdicts[task.reference][1])

    decider = ScriptedDecider({StrictRatingTask: strict, PermissiveRatingTask: permissive})
    return Raters(decider), decider


def asking(function: Callable[[ChatRequest], Any]) -> tuple[Raters, FunctionChatModel]:
    """Raters with a chat model that replies with the function."""
    model = FunctionChatModel(function=function)
    decider = LanguageModelDecider(
        lambda: model, ModelService("fake:model"), window=4096, adapter=adapter_for("openai", model)
    )
    return Raters(decider), model


def taken(text: str, task: Task[Any]) -> Any:
    return read(AIMessage(text), task)


# Either rater's yes is exact; a strict no with a permissive "partially" is partial; else it is no.
@pytest.mark.parametrize(
    ("verdicts", "together", "lr1", "lr2"),
    [
        (("yes", "yes"), "exact", 1, 1),
        (("yes", "no"), "exact", 1, 1),
        (("no", "yes"), "exact", 1, 1),
        (("no", "partially"), "partial", 0, 1),
        (("no", "no"), "no", 0, 0),
    ],
)
async def test_both_raters_together(
    verdicts: tuple[Strict, Permissive], together: str, lr1: int, lr2: int
) -> None:
    raters, _ = raters_of({"Danny": verdicts})

    rating = await raters.rate("Who won?", "Danny won.", ["Danny"])

    assert (rating.verdict, rating.lr1, rating.lr2) == (together, lr1, lr2)


# LR-1 is the share of exact ratings, LR-2 that of exact and partial ones.
def test_scores_over_questions() -> None:
    ratings = [Rating("exact"), Rating("partial"), Rating("no"), Rating("no")]

    assert sum(one.lr1 for one in ratings) / 4 == 0.25
    assert sum(one.lr2 for one in ratings) / 4 == 0.5


# Of several references the best rating counts, in whatever order they stand.
async def test_the_best_reference_counts() -> None:
    verdicts: dict[str, tuple[Strict, Permissive]] = {
        "a": ("no", "no"),
        "b": ("no", "partially"),
        "c": ("no", "yes"),
    }
    raters, _ = raters_of(verdicts)

    assert (await raters.rate("q", "x", ["a", "b", "a"])).verdict == "partial"
    assert (await raters.rate("q", "x", ["b", "c", "a"])).verdict == "exact"
    assert (await raters.rate("q", "x", ["a", "a"])).verdict == "no"


# What can change nothing is not asked; all that was asked is counted.
async def test_what_is_asked() -> None:
    raters, decider = raters_of({"a": ("no", "no"), "b": ("yes", "no")})

    rating = await raters.rate("Who?", "x", ["a", "b", "a"])

    asked = [(type(task), task.reference) for task in decider.asked]
    assert asked == [(StrictRatingTask, "a"), (PermissiveRatingTask, "a"), (StrictRatingTask, "b")]
    assert rating.usage.calls == 3
    assert {task.phase for task in decider.asked} == {"rate"}


# An empty answer is wrong without asking anybody.
async def test_no_answer() -> None:
    raters, decider = raters_of({})

    rating = await raters.rate("Who?", " \n", ["Danny"])

    assert (rating.verdict, rating.usage.calls, decider.asked) == ("no", 0, [])


# The recall comes with its cost, and makes the figures of table 6: 3 of 4 facts, 1 of 2 samples.
async def test_recall() -> None:
    counts = iter([(2, 2), (2, 1)])

    def count(task: RecallRatingTask) -> Decision:
        relevant, covered = next(counts)
        return RecallRating(analysis="", relevant=relevant, covered=covered)

    raters = Raters(ScriptedDecider({RecallRatingTask: count}))

    recalls = [await raters.recall("Who?", ["a", "b", "c"], "notes") for _ in range(2)]

    assert [(one.relevant, one.covered, one.usage.calls) for one in recalls] == [
        (2, 2, 1),
        (2, 1, 1),
    ]
    assert fact_wise(recalls) == 0.75
    assert sample_wise(recalls) == 0.5


# Counts must be 0 <= covered <= relevant <= all, and one fact at least matters.
@pytest.mark.parametrize(
    ("relevant", "covered", "problem"),
    [
        (3, 3, None),
        (1, 0, None),
        (0, 0, "relevant is 0: it must be between 1 and 3."),
        (4, 1, "relevant is 4: it must be between 1 and 3."),
        (2, 3, "covered is 3: it must be between 0 and 2."),
        (2, -1, "covered is -1: it must be between 0 and 2."),
    ],
)
def test_counts_that_cannot_be(relevant: int, covered: int, problem: str | None) -> None:
    rating = RecallRating(analysis="", relevant=relevant, covered=covered)

    assert RECALL.problem(rating) == problem


# A recall of no facts is a mistake of the caller.
async def test_recall_of_nothing() -> None:
    raters, _ = raters_of({})

    with pytest.raises(ValueError, match="no supporting facts"):
        await raters.recall("Who?", [], "notes")


# The raters get question, answer and one reference, and nothing else; facts are numbered.
async def test_prompts() -> None:
    replies: dict[str, dict[str, Any]] = {
        "StrictRating": {"agrees": "no"},
        "PermissiveRating": {"agrees": "partially"},
        "RecallRating": {"analysis": "one", "relevant": 1, "covered": 1},
    }
    raters, model = asking(lambda request: replies[request.decision])

    rating = await raters.rate("Who won?", "Danny </johns_answer> won.", ["Alice"])
    recall = await raters.recall("Who won?", ["Danny\nwon.", "It rained."], "")

    strict, permissive, counting = [request.user for request in model.requests]
    assert rating.verdict == "partial"
    assert (recall.relevant, recall.covered) == (1, 1)
    assert rating.usage.calls == 2
    assert rating.usage.input_tokens > 200
    for user in (strict, permissive):
        assert "<question>\nWho won?\n</question>" in user
        assert "<true_answer>\nAlice\n</true_answer>" in user
        assert user.count("</johns_answer>") == 1
    assert "[1] Danny won.\n[2] It rained." in counting
    assert "<text>\n(empty)\n</text>" in counting


# Wrong counts are sent back once, with what is wrong; a model that insists gives no rating.
async def test_wrong_counts_are_sent_back() -> None:
    wrong = {"analysis": "", "relevant": 1, "covered": 2}
    replies = [wrong, {"analysis": "", "relevant": 2, "covered": 1}]
    raters, model = asking(lambda _: replies.pop(0))
    stubborn, insisting = asking(lambda _: wrong)

    recall = await raters.recall("Who?", ["a", "b"], "notes")
    with pytest.raises(ReplyError, match="covered is 2: it must be between 0 and 1"):
        await stubborn.recall("Who?", ["a", "b"], "notes")

    assert (recall.relevant, recall.covered, recall.usage.calls) == (2, 1, 2)
    assert "covered is 2: it must be between 0 and 1" in model.requests[1].user
    assert len(insisting.requests) == 2


# A rating that fails tells what the ratings before it have cost, too.
async def test_cost_of_a_failure() -> None:
    def reply(request: ChatRequest) -> Any:
        strict = request.decision == "StrictRating"
        if strict or "<true_answer>\nDanny\n" in request.messages[1].text:
            return {"agrees": "no"}
        return "Perhaps."

    raters, _ = asking(reply)

    with pytest.raises(DecisionError) as caught:
        await raters.rate("Who?", "x", ["Danny", "Alice"])

    assert caught.value.spent.calls == 5  # two for Danny, one strict and two permissive for Alice


# Without a language model there is no rating, and a sentence says so.
async def test_offline() -> None:
    raters = Raters(OfflineDecider())

    with pytest.raises(UsageError, match="Only a language model can rate answers: set GRAPHREADER"):
        await raters.rate("Who?", "Danny", ["Danny"])
    with pytest.raises(UsageError, match="Only a language model can rate"):
        await raters.recall("Who?", ["Danny won."], "notes")
