"""Notebooks that are too long are rewritten by the decider, never cut."""

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


def dependencies(
    function: Callable[[Any], Condensed], window: int = 4096
) -> tuple[AgentDependencies, ScriptedDecider]:
    decider = ScriptedDecider({CondenseTask: function, JoinTask: function})
    nobody = cast(Any, None)
    return AgentDependencies(nobody, decider, nobody, Limits(window=window)), decider


def first_words(task: CondenseTask) -> Condensed:
    return Condensed(notebook=" / ".join(notebook[:30] for notebook in task.notebooks))


# A short notebook stays as it is; a long one is written anew by the decider, which sees all of it.
async def test_condense() -> None:
    deps, decider = dependencies(lambda task: Condensed(notebook="Danny: 1972-1990."))

    assert await condense(deps, "q", "p", "Danny: 18 years.") == ("Danny: 18 years.", {})
    assert decider.asked == []
    notebook, costs = await condense(deps, "Who?", "Compare.", SENTENCE * 60)
    (task,) = decider.asked
    assert notebook == "Danny: 1972-1990."
    assert task.question == "Who?"
    assert " ".join(task.notebooks) == (SENTENCE * 60).strip()
    assert costs["explore"]["calls"] == 1


# One that is larger than a prompt is condensed in parts; each sentence is in one of them.
async def test_huge_notebooks_are_condensed_in_parts() -> None:
    deps, decider = dependencies(first_words)
    sentences = [f"Fact number {number} is told here in some more words." for number in range(900)]

    notebook, costs = await condense(deps, "q", "p", " ".join(sentences))

    shown = [one for task in decider.asked for one in task.notebooks]
    assert len(decider.asked) > 3
    assert all(tokens.count(one) <= 1024 for one in shown)
    assert all(any(sentence in one for one in shown) for sentence in sentences)
    assert tokens.count(notebook) <= NOTEBOOK_TOKENS
    assert costs["explore"]["calls"] == len(decider.asked)


# Joining makes fewer notebooks, also in a small window, and its costs belong to the answer.
@pytest.mark.parametrize(("window", "number", "most"), [(4096, 50, 25), (1024, 3, 2)])
async def test_join(window: int, number: int, most: int) -> None:
    deps, decider = dependencies(first_words, window)
    notebooks = [f"{number}. {SENTENCE * 25}" for number in range(number)]

    joined, costs = await join(deps, "q", "p", notebooks, {})

    assert 2 <= len(joined) <= most
    assert [one for task in decider.asked for one in task.notebooks] == notebooks
    assert costs["answer"]["calls"] == len(joined)


# A decider that cannot make it short is an error, not a cut. If one of several fails, the others
# are awaited, and the error has what they cost.
async def test_failures() -> None:
    def second_fails(task: JoinTask) -> Condensed:
        if any(notebook.startswith("7.") for notebook in task.notebooks):
            raise ReplyError("That makes no sense.")
        return first_words(task)

    long, _ = dependencies(lambda task: Condensed(notebook=SENTENCE * 60))
    with pytest.raises(ReplyError, match="tokens"):
        await condense(long, "q", "p", SENTENCE * 60)
    deps, decider = dependencies(second_fails)
    with pytest.raises(ReplyError) as caught:
        await join(deps, "q", "p", [f"{n}. {SENTENCE * 25}" for n in range(15)], {})

    assert caught.value.spent.calls == len(decider.asked) - 1 > 1
