from graphreader.agent.planning import select_diverse
from graphreader.store.records import Node, Profile


def profile(*facts: str, aliases: tuple[str, ...] = ()) -> Profile:
    return Profile(frozenset(aliases), frozenset(facts))


NODES = [Node(id_, id_) for id_ in "abcde"]


# Of nodes with the same facts only the first begins a path; the next ones take the others' place.
def test_same_facts() -> None:
    profiles = {"a": profile("1"), "b": profile("1"), "c": profile("1", "2"), "d": profile("3")}

    chosen = select_diverse(NODES, profiles, 3)

    assert [node.id for node in chosen] == ["a", "c", "d"]


# Of nodes that share a name only the first begins a path.
def test_aliases() -> None:
    profiles = {
        "a": profile("1", aliases=("the getaway",)),
        "b": profile("2", aliases=("getaway", "the getaway")),
        "c": profile("3", aliases=("getaway",)),
    }

    chosen = select_diverse(NODES, profiles, 5)

    assert [node.id for node in chosen] == ["a", "c"]


# Hubs, whose facts are too many to be compared, are not taken for the same.
def test_hubs_are_not_the_same() -> None:
    profiles = {id_: Profile(frozenset({id_}), None) for id_ in "abc"}

    assert len(select_diverse(NODES, profiles, 5)) == 3


# Nodes without facts lead nowhere; no more are chosen than are wanted.
def test_nodes_that_lead_nowhere() -> None:
    profiles = {"a": profile(), "b": profile("1"), "c": profile("2"), "d": profile("3")}

    assert [node.id for node in select_diverse(NODES, profiles, 2)] == ["b", "c"]
    assert select_diverse(NODES, {}, 2) == []
