"""Initial nodes that differ, the vectors of a run, and the routes of its graph."""

import inspect
from collections.abc import Sequence

import pytest

from graphreader.agent import graph
from graphreader.agent.dependencies import QueryVectors
from graphreader.agent.planning import select_diverse
from graphreader.store.records import Node, Profile

NODES = [Node(id_, id_) for id_ in "abcde"]


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
def test_select_diverse(profiles: dict[str, Profile], chosen: str) -> None:
    assert "".join(node.id for node in select_diverse(NODES, profiles, 3)) == chosen


# Of the best nodes those for different needs and chunks are taken, then others by rank.
def test_nodes_cover_needs_and_chunks() -> None:
    places = {"a": "1", "b": "1", "c": "2", "d": "3", "e": "4"}
    profiles = {
        id_: Profile(frozenset({id_}), frozenset({id_}), 1, frozenset({chunk}))
        for id_, chunk in places.items()
    }
    names = dict(a="Ann born", b="Ann Lee", c="Ann grave", d="the poet", e="Ulm town")
    nodes = [Node(id_, name) for id_, name in names.items()]

    def chosen(number: int, *needs: str) -> str:
        return "".join(node.id for node in select_diverse(nodes, profiles, number, needs))

    assert chosen(3) == "acd"
    assert chosen(2, "where Ann was born", "which town that is") == "ae"
    assert chosen(3, "where Ann was born", "which town that is") == "abe"


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


# Routes run in the loop. LangGraph runs others in a thread, and a run that is cancelled then is
# kept with a node's output and without the step after it.
def test_routes_are_asynchronous() -> None:
    routes = (graph.send_paths, graph.after_facts, graph.after_chunk, graph.after_neighbors)

    assert all(map(inspect.iscoroutinefunction, routes))
