"""What a run touched in the graph, and how it hangs together: to be drawn, not to be decided on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from graphreader.store.connection import Connection, Row
from graphreader.store.found import Node

FACTS_OF_AN_ELEMENT = 250
"""Facts of one key element among which those are found that name another one, too."""


@dataclass(frozen=True, slots=True)
class TouchedChunk:
    """A chunk without its text; `index` is its place in the document of that title."""

    id: str
    index: int
    document: str
    document_id: str


@dataclass(frozen=True, slots=True)
class Tie:
    """Two that hang together, by their ids, and by how many facts; `fact` is one of these.

    Either the chunk in which the facts stand and a key element that they name, or two key elements
    that they both name.
    """

    one: str
    other: str
    facts: int
    fact: str


@dataclass(frozen=True, slots=True)
class Touched:
    """Those that are in the graph still, in the order in which they were asked for, each once.

    `merged` has, by the ids of key elements that were merged, those of what they went into: these
    are among `elements` in their place.
    """

    elements: tuple[Node, ...] = ()
    chunks: tuple[TouchedChunk, ...] = ()
    ties: tuple[Tie, ...] = ()
    merged: Mapping[str, str] = field(default_factory=dict)


async def touched(connection: Connection, corpus: str, ids: Sequence[str]) -> Touched:
    """Look up key elements and chunks of a corpus by their ids, in one statement.

    Between hubs, of which only FACTS_OF_AN_ELEMENT facts are looked at, there may be more facts.
    """
    values = {"corpus": corpus, "ids": list(dict.fromkeys(ids)), "most": FACTS_OF_AN_ELEMENT}
    row = (await connection.read("read/touched", **values))[0]
    elements = {one["id"]: Node(one["id"], one["name"]) for one in row["elements"]}
    return Touched(
        tuple(elements.values()),
        tuple(TouchedChunk(**one) for one in row["chunks"]),
        tuple(_once([*row["named"], *row["shared"]])),
        {one["asked"]: one["id"] for one in row["elements"] if one["asked"] != one["id"]},
    )


def _once(rows: Sequence[Row]) -> list[Tie]:
    """Each pair once: two key elements are found from both sides, and from a hub's not wholly."""
    ties: dict[frozenset[str], Tie] = {}
    for row in rows:
        pair = frozenset((row["one"], row["other"]))
        if pair not in ties or ties[pair].facts < row["facts"]:
            ties[pair] = Tie(**row)
    return list(ties.values())
