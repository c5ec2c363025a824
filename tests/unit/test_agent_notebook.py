from collections.abc import Callable
from typing import Any, cast

import pytest

from graphreader import tokens
from graphreader.agent.decisions import Condensed
from graphreader.agent.dependencies import AgentDependencies, Limits
from graphreader.agent.notebook import condense, join
from graphreader.agent.tasks import NOTEBOOK_TOKENS, CondenseTask, JoinTask
from graphreader.errors import ReplyError
from graphreader.testing import ScriptedDecider

SENTENCE = "Danny played tennis from 1972 to 1990 and then wrote a book about it. "


def parts_of(
    function: Callable[[Any], Condensed], window: int = 4096
) -> tuple[AgentDependencies, ScriptedDecider]:
    decider = ScriptedDecider({CondenseTask: function, JoinTask: function})
    nobody = cast(Any, None)
    return AgentDependencies(nobody, decider, nobody, Limits(window=window)), decider


def first_words(task: CondenseTask) -> Condensed:
    return Condensed(notebook=" / ".join(notebook[:30] for notebook in task.notebooks))


# A notebook that is short enough stays as it is, and nobody is asked.
async def test_short_notebooks_stay() -> None:
    parts, decider = parts_of(first_words)

    assert await condense(parts, "q", "p", "Danny: 18 years.") == ("Danny: 18 years.", {})
    assert decider.asked == []


# A long one is written anew by the decider, which sees all of it.
async def test_long_notebooks_are_condensed() -> None:
    long = SENTENCE * 60
    parts, decider = parts_of(lambda task: Condensed(notebook="Danny: 1972-1990."))

    notebook, costs = await condense(parts, "Who?", "Compare.", long)

    (task,) = decider.asked
    assert notebook == "Danny: 1972-1990."
    assert task.question == "Who?"
    assert " ".join(task.notebooks) == long.strip()
    assert costs["explore"]["calls"] == 1


# One that is larger than a prompt is condensed in parts, of which each sentence is in one.
async def test_huge_notebooks_are_condensed_in_parts() -> None:
    parts, decider = parts_of(first_words)
    sentences = [f"Fact number {number} is told here in some more words." for number in range(900)]

    notebook, costs = await condense(parts, "q", "p", " ".join(sentences))

    shown = [one for task in decider.asked for one in task.notebooks]
    assert len(decider.asked) > 3
    assert all(tokens.count(one) <= 1024 for one in shown)
    assert all(sum(sentence in one for one in shown) >= 1 for sentence in sentences)
    assert tokens.count(notebook) <= NOTEBOOK_TOKENS
    assert costs["explore"]["calls"] == len(decider.asked)


# Joining makes fewer notebooks, at least two into one, and costs belong to the answer.
async def test_join() -> None:
    parts, decider = parts_of(first_words)
    notebooks = [f"{number}. {SENTENCE * 25}" for number in range(50)]

    joined, costs = await join(parts, "q", "p", notebooks, {})

    assert 10 < len(joined) <= 25
    assert [one for task in decider.asked for one in task.notebooks] == notebooks
    assert costs["answer"]["calls"] == len(joined)


# Also in a small window two notebooks become one: joining always comes to an end.
async def test_joining_always_gets_on() -> None:
    parts, _ = parts_of(first_words, window=1024)

    joined, _ = await join(parts, "q", "p", [SENTENCE * 40] * 3, {})

    assert len(joined) == 2


# A decider that cannot make it short is an error, not a cut.
async def test_failure_is_told() -> None:
    parts, _ = parts_of(lambda task: Condensed(notebook=SENTENCE * 60))

    with pytest.raises(ReplyError, match="tokens"):
        await condense(parts, "q", "p", SENTENCE * 60)


# Where one of several fails, the others are awaited and what they cost is told.
async def test_failures_tell_what_was_paid() -> None:
    def second_fails(task: JoinTask) -> Condensed:
        if any(notebook.startswith("7.") for notebook in task.notebooks):
            raise ReplyError("That makes no sense.")
        return first_words(task)

    parts, decider = parts_of(second_fails)
    notebooks = [f"{number}. {SENTENCE * 25}" for number in range(15)]

    with pytest.raises(ReplyError) as caught:
        await join(parts, "q", "p", notebooks, {})

    assert caught.value.spent.calls == len(decider.asked) - 1 > 1
