"""The runs in the graph: a finished run with its paths and citations, and its part of a corpus."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import uuid4

from graphreader.documents import ChunkRef, KeyElementRef
from graphreader.errors import StoreError
from graphreader.reading import Reading
from graphreader.store.connection import Connection, Row, Run
from graphreader.store.records import DocumentsInScope
from graphreader.store.search import as_in_scope

FACTS_OF_AN_ELEMENT = 250  # facts of one key element that are searched for further key elements


@dataclass(frozen=True, slots=True)
class Edge:
    """A chunk and a key element, or two key elements, by id; `fact` is one of their `facts`."""

    one: str
    other: str
    facts: int
    fact: str


@dataclass(frozen=True, slots=True)
class RunSubgraph:
    """The part of a run that the graph still has; `merged` leads to the present key elements."""

    elements: tuple[KeyElementRef, ...] = ()
    chunks: tuple[ChunkRef, ...] = ()
    edges: tuple[Edge, ...] = ()
    merged: Mapping[str, str] = field(default_factory=dict)


async def run_subgraph(
    connection: Connection,
    corpus: str,
    ids: Sequence[str],
    documents: DocumentsInScope | None = None,
) -> RunSubgraph:
    """Look up key elements and chunks of a corpus, or of some documents of it, by their ids."""
    rows = await connection.read(
        "read/run_subgraph",
        corpus=corpus,
        ids=list(dict.fromkeys(ids)),
        most=FACTS_OF_AN_ELEMENT,
        scope=documents and documents.ids,
    )
    row = rows[0]
    [named] = await as_in_scope(connection, corpus, [row["elements"]], documents)
    elements = {one["id"]: KeyElementRef(one["id"], one["name"]) for one in named}
    return RunSubgraph(
        tuple(elements.values()),
        tuple(ChunkRef.of(one) for one in row["chunks"]),
        tuple(_distinct_edges([*row["named"], *row["shared"]])),
        {one["asked"]: one["id"] for one in named if one["asked"] != one["id"]},
    )


def _distinct_edges(rows: Sequence[Row]) -> list[Edge]:
    """Return each pair once, with the larger count: not every fact of a busy one is read."""
    edges: dict[frozenset[str], Edge] = {}
    for row in rows:
        pair = frozenset((row["one"], row["other"]))
        if pair not in edges or edges[pair].facts < row["facts"]:
            edges[pair] = Edge(**row)
    return list(edges.values())


async def write_run(connection: Connection, corpus: str, reading: Reading) -> str | None:
    """Write a run into the graph, linked to its nodes; return a note if that fails."""
    scope = {"id": reading.run or uuid4().hex, "corpus": corpus}

    async def work(run: Run) -> bool:
        kept = await run("write/run", **scope, **_run_values(reading))
        for name, rows in _run_relationships(reading).items() if kept else ():
            await run(f"write/run_{name}", **scope, **{name: rows})
        return bool(kept)

    try:
        if await connection.transact(work):
            return None
        reason = f"the corpus {corpus!r} is gone, or the id is another corpus's."
    except StoreError as error:
        reason = str(error)
    return f"The run is not kept in the graph: {reason}"


def _run_values(reading: Reading) -> dict[str, Any]:
    names = ("question", "plan", "analysis", "answer", "explanation", "confidence", "answered")
    return {name: getattr(reading, name) for name in names} | {
        "decider": reading.decider,
        "claims": [claim.text for claim in reading.claims],
        "contradictions": [one.text for one in reading.contradictions],
        "notes": list(reading.notes),
        "seconds": reading.usage.seconds,
        "calls": reading.usage.calls,
        "tokens": reading.usage.tokens,
    }


def _run_relationships(reading: Reading) -> dict[str, list[Row]]:
    paths = [
        {
            "path": number,
            "node": path.node_id,
            "calls": path.calls,
            "stopped": path.stopped,
            "notebook": path.notebook,
            "error": path.error,
            "steps": [
                {**asdict(call), "number": number} for number, call in enumerate(path.functions, 1)
            ],
        }
        for number, path in enumerate(reading.paths, 1)
    ]
    citations = [
        {
            **asdict(citation),
            "number": number,
            "claims": [claim.text for claim in reading.claims if number in claim.citations],
        }
        for number, citation in enumerate(reading.citations, 1)
    ]
    return {"paths": paths, "citations": citations}
