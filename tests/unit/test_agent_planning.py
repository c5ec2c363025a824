"""The agent's plan and initial nodes, and long notebooks."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest

from graphreader import tokens
from graphreader.agent import graph
from graphreader.agent.context import MOST_VECTORS, Limits, QueryVectors, RunContext
from graphreader.agent.decisions import Condensed
from graphreader.agent.notebook import condense, join
from graphreader.agent.planning import distinct_nodes
from graphreader.agent.tasks import NOTEBOOK_TOKENS, CondenseTask, JoinTask
from graphreader.documents import KeyElementRef
from graphreader.errors import ReplyError
from graphreader.store.records import Profile
from graphreader.testing import ScriptedDecider

NODES = [KeyElementRef(id_, id_) for id_ in "abcde"]


def profile(*facts: str, aliases: tuple[str, ...] = ()) -> Profile:
    return Profile(frozenset(aliases), frozenset(facts))


# Of nodes with the same facts, or that share a name, only the first begins a path; hubs, whose
# facts are too many to be compared, are not taken for the same. Nodes without facts lead nowhere.
@pytest.mark.parametrize(
    ("profiles", "chosen"),
    [
        ({"a": profile("1"), "b": profile("1"), "c": profile("1", "2"), "d": profile("3")}, "acd"),
        (
            {
                "a": profile("1", aliases=("the getaway",)),
                "b": profile("2", aliases=("getaway", "the getaway")),
                "c": profile("3", aliases=("getaway",)),
            },
            "ac",
        ),
        ({id_: Profile(frozenset({id_}), None) for id_ in "abc"}, "abc"),
        ({"a": profile(), **{id_: profile(id_) for id_ in "bcde"}}, "bcd"),
        ({}, ""),
    ],
)
def test_distinct_nodes(profiles: dict[str, Profile], chosen: str) -> None:
    assert "".join(node.id for node in distinct_nodes(NODES, profiles, 3)) == chosen


# Each text is embedded once, in the order of the request.
async def test_query_vectors() -> None:
    requests: list[list[str]] = []

    class Embedder:
        name, dimension = "lengths", 2

        async def embed(self, texts: Sequence[str]) -> list[list[float]]:
            requests.append(list(texts))
            return [[float(len(text)), 1.0] for text in texts]

        async def aclose(self) -> None: ...

    vectors = QueryVectors(Embedder())

    assert await vectors.vectors(["a", "bbb", "a"]) == [[1.0, 1.0], [3.0, 1.0], [1.0, 1.0]]
    assert await vectors.vectors(["bbb", "cc"]) == [[3.0, 1.0], [2.0, 1.0]]
    assert await vectors.mean(["a", "bbb"]) == [2.0, 1.0]
    assert requests == [["a", "bbb"], ["cc"]]

    many = ["a", *(f"text {n}" for n in range(MOST_VECTORS + 5))]
    assert len(await vectors.vectors(many)) == len(many)
    await vectors.vectors(many[-MOST_VECTORS:])
    assert requests[2:] == [many[1:]]


# Routes run in the loop. LangGraph runs others in a thread, and a run that is cancelled then is
# kept with a node's output and without the step after it.
def test_routes_are_asynchronous() -> None:
    routes = (graph.send_paths, graph.after_facts, graph.after_chunk, graph.after_neighbors)

    assert all(map(inspect.iscoroutinefunction, routes))


SENTENCE = "Danny played tennis from 1972 to 1990 and then wrote a book about it. "


def context_of(
    function: Callable[[Any], Condensed], window: int = 4096
) -> tuple[RunContext, ScriptedDecider]:
    decider = ScriptedDecider({CondenseTask: function, JoinTask: function})
    nobody = cast(Any, None)
    return RunContext(nobody, decider, nobody, Limits(window=window)), decider


def first_words(task: CondenseTask) -> Condensed:
    return Condensed(notebook=" / ".join(notebook[:30] for notebook in task.notebooks))


# A short notebook stays as it is; a long one is written anew by the decider, which sees all of it.
async def test_condense() -> None:
    context, decider = context_of(lambda task: Condensed(notebook="Danny: 1972-1990."))

    assert await condense(context, "q", "p", "Danny: 18 years.") == ("Danny: 18 years.", {})
    assert decider.asked == []
    notebook, costs = await condense(context, "Who?", "Compare.", SENTENCE * 60)
    (task,) = decider.asked
    assert notebook == "Danny: 1972-1990."
    assert task.question == "Who?"
    assert " ".join(task.notebooks) == (SENTENCE * 60).strip()
    assert costs["explore"]["calls"] == 1


# One that is larger than a prompt is condensed in parts; each sentence is in one of them.
async def test_huge_notebooks_are_condensed_in_parts() -> None:
    context, decider = context_of(first_words)
    sentences = [f"Fact number {number} is told here in some more words." for number in range(900)]

    notebook, costs = await condense(context, "q", "p", " ".join(sentences))

    shown = [one for task in decider.asked for one in task.notebooks]
    assert len(decider.asked) > 3
    assert all(tokens.count(one) <= 1024 for one in shown)
    assert all(any(sentence in one for one in shown) for sentence in sentences)
    assert tokens.count(notebook) <= NOTEBOOK_TOKENS
    assert costs["explore"]["calls"] == len(decider.asked)


# Joining makes fewer notebooks, also in a small window, and its costs belong to the answer.
@pytest.mark.parametrize(("window", "number", "most"), [(4096, 50, 25), (1024, 3, 2)])
async def test_join(window: int, number: int, most: int) -> None:
    context, decider = context_of(first_words, window)
    notebooks = [f"{number}. {SENTENCE * 25}" for number in range(number)]

    joined, costs = await join(context, "q", "p", notebooks, {})

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

    long, _ = context_of(lambda task: Condensed(notebook=SENTENCE * 60))
    with pytest.raises(ReplyError, match="tokens"):
        await condense(long, "q", "p", SENTENCE * 60)
    context, decider = context_of(second_fails)
    with pytest.raises(ReplyError) as caught:
        await join(context, "q", "p", [f"{n}. {SENTENCE * 25}" for n in range(15)], {})

    assert caught.value.spent.calls == len(decider.asked) - 1 > 1
