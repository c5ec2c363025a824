"""The neighbors of a path's node in the order in which they promise most.

Three things speak for a neighbor: words that it shares with the question, the plan and the
notebook; likeness in meaning to what is still missing; facts that it shares with the node, measured
by how many it has at all, so that what turns up everywhere does not crowd out the rare bridge.
"""

from graphreader.agent.parts import Parts
from graphreader.agent.ranking import fused, missing, sharing
from graphreader.agent.state import Exploring
from graphreader.errors import DecisionError
from graphreader.store.found import Neighbor, Node

RANKED = 200
"""Neighbors of a node that are looked at."""


async def neighbors_of(parts: Parts, state: Exploring) -> list[Node]:
    """Those that were not visited, best first; those that lead to unread chunks before others."""
    found = await parts.explorer.neighbors(
        state["node"]["id"],
        state["visited"],
        state["read"],
        state["related"],
        await _wanted(parts, state),
        RANKED,
        state["notebook"],
    )
    said = " ".join([state["question"], state["plan"], *state["needs"], state["notebook"]])
    rankings = [found, sharing(found, lambda neighbor: neighbor.node.name, said)]
    if any(neighbor.likeness for neighbor in found):
        rankings.append(sorted(found, key=lambda neighbor: -neighbor.likeness))
    ranked = fused(rankings, lambda neighbor: neighbor.node.id)
    return [neighbor.node for neighbor in sorted(ranked, key=_is_read)]


def _is_read(neighbor: Neighbor) -> bool:
    return not neighbor.unread


async def _wanted(parts: Parts, state: Exploring) -> list[float] | None:
    """What is still missing, as a vector; None where none can be had: then words must do."""
    try:
        return await parts.likeness.middle(
            [state["question"], *missing(state["needs"], state["notebook"])]
        )
    except DecisionError:
        return None
