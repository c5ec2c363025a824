"""Initial nodes that lead to different places (paper, figure 8: non-repetitive and diverse)."""

from collections.abc import Iterable, Mapping

from graphreader.store.found import Node, Profile


def diverse(ranked: Iterable[Node], profiles: Mapping[str, Profile], number: int) -> list[Node]:
    """The first nodes of which no two are aliases of each other or have the same facts.

    Nodes without a profile, or without any fact, are passed over. There may be fewer than `number`:
    two paths that set out from the same facts would be one path, paid for twice.
    """
    chosen: list[Node] = []
    called: set[str] = set()
    told: set[frozenset[str]] = set()
    for node in ranked:
        profile = profiles.get(node.id)
        if len(chosen) == number:
            break
        if profile is None or profile.facts == frozenset():
            continue
        if profile.aliases & called or profile.facts in told:
            continue
        chosen.append(node)
        called |= profile.aliases
        if profile.facts is not None:
            told.add(profile.facts)
    return chosen
