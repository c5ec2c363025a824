"""The graph of what was touched: how the paths went through key elements, chunks and documents.

Once for cytoscape.js, as its `elements`, and once in words, for whoever does not see the drawing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any, Literal

from graphreader.html_report.citations import harmless
from graphreader.html_report.summary import COLOURS
from graphreader.reading import FunctionCall, Path, Reading
from graphreader.store.catalog import Edge, RunSubgraph
from graphreader.store.records import Passage

MOST = 100
"""Key elements and chunks that are drawn: of more nobody sees anything."""

TIES = 200
"""Lines of shared facts that are drawn, those of the most facts first."""

TOLD = 5
"""Ties of one place that are told in words."""

_BESIDE = ("read_previous_chunk", "read_subsequent_chunk")
Kind = Literal["element", "chunk", "document"]


@dataclass(frozen=True, slots=True)
class Place:
    """A node of the drawing. `paths` went there, counted from 1; those in `begins` began there.

    `label` is what stands beside it: a chunk's leaves out the document, which is drawn as well.
    `cited` are numbers of citations out of a chunk; `ties` (name, facts, one of them).
    """

    key: str
    kind: Kind
    name: str
    label: str
    paths: tuple[int, ...]
    begins: tuple[int, ...]
    cited: tuple[int, ...]
    ties: tuple[tuple[str, int, str], ...]


@dataclass(frozen=True, slots=True)
class Drawing:
    """What is drawn. `left_out` places are too many for it, `gone` ones not in the graph."""

    places: tuple[Place, ...]
    elements: tuple[dict[str, Any], ...]
    left_out: int
    gone: int

    def of(self, kind: Kind) -> list[Place]:
        """The places of one kind."""
        return [place for place in self.places if place.kind == kind]


def touched_ids(reading: Reading, passages: Sequence[Passage]) -> list[str]:
    """Key elements and chunks by their ids: first what is cited, then as the paths came there."""
    by_turns = chain.from_iterable(zip_longest(*map(_stands, reading.paths)))
    ids = dict.fromkeys([*(one.id for one in passages), *by_turns])
    return [one for one in ids if one]


def drawing(reading: Reading, passages: Sequence[Passage], touched: RunSubgraph) -> Drawing:
    """The drawing of what is `touched`: what the graph knows of `touched_ids`, or of MOST of them.

    Whatever a text says, the elements' ids are ours: their kind and a number.
    """
    ids = touched_ids(reading, passages)
    drawn = _Drawn(touched)
    ways = list(_ways(reading.paths, drawn.keys))
    kept = sorted(touched.ties, key=lambda tie: -tie.facts)
    ties = [tie for tie in kept if {tie.one, tie.other} <= set(drawn.keys)][:TIES]
    places = tuple(drawn.places(reading, passages, ties))
    return Drawing(
        places,
        (
            *(_node(place) for place in places),
            *(_tie(tie, drawn.keys) for tie in ties),
            *(_belonging(chunk, document) for chunk, document in drawn.belongings),
            *(_step(*way) for way in ways),
        ),
        left_out=max(0, len(ids) - MOST),
        gone=len([one for one in ids[:MOST] if one not in drawn.keys]),
    )


class _Drawn:
    """What is in the drawing, and as what. `keys` are those of key elements and chunks by id.

    What was merged since has the key of what it went into.
    """

    def __init__(self, touched: RunSubgraph) -> None:
        self._touched = touched
        self.keys = {one.id: f"element-{n}" for n, one in enumerate(touched.elements, 1)}
        self.keys |= {one.id: f"chunk-{n}" for n, one in enumerate(touched.chunks, 1)}
        self._ids = list(self.keys)
        self.keys |= {id_: self.keys[into] for id_, into in touched.merged.items()}
        self._names = {one.id: one.name for one in touched.elements}
        self._names |= {one.id: f"{one.document}, chunk {one.index}" for one in touched.chunks}
        self._labels = {one.id: f"chunk {one.index}" for one in touched.chunks}
        titles = {one.document_id: one.document for one in touched.chunks}
        self._documents = {
            id_: (f"document-{n}", title) for n, (id_, title) in enumerate(titles.items(), 1)
        }
        self.belongings = [
            (self.keys[one.id], self._documents[one.document_id][0]) for one in touched.chunks
        ]

    def places(
        self, reading: Reading, passages: Sequence[Passage], ties: Sequence[Edge]
    ) -> Iterator[Place]:
        """Key elements, chunks, documents."""
        numbers = {(one.document_id, one.chunk): one.id for one in passages}
        cited: dict[str, list[int]] = {}
        for number, one in enumerate(reading.citations, 1):
            cited.setdefault(numbers.get((one.document_id, one.chunk), ""), []).append(number)
        went = [{self.keys.get(id_) for id_ in _stands(path)} for path in reading.paths]
        begun = [self.keys.get(path.node_id) for path in reading.paths]
        for id_ in self._ids:
            key = self.keys[id_]
            yield Place(
                key,
                "element" if key.startswith("element") else "chunk",
                self._names[id_],
                self._labels.get(id_, self._names[id_]),
                tuple(n for n, keys in enumerate(went, 1) if key in keys),
                tuple(n for n, began in enumerate(begun, 1) if key == began),
                tuple(cited.get(id_, ())),
                tuple(self._told(id_, ties)),
            )
        for key, title in self._documents.values():
            yield Place(key, "document", title, title, (), (), (), ())

    def _told(self, id_: str, ties: Sequence[Edge]) -> Iterator[tuple[str, int, str]]:
        found = [tie for tie in ties if id_ in (tie.one, tie.other)]
        for tie in found[:TOLD]:
            other = tie.other if tie.one == id_ else tie.one
            yield self._names[other], tie.facts, tie.fact


def _stands(path: Path) -> list[str]:
    """The ids of where a path stood: at its initial node, then where it chose its functions."""
    return [path.node_id, *(call.id for call in path.functions)]


def _ways(paths: Sequence[Path], keys: dict[str, str]) -> Iterator[tuple[int, str, str]]:
    """The steps to places that a path had not been at: its number, from where, to where.

    One goes to chunks and neighbors from a node; from a chunk only to the one before or after it.
    """
    for number, path in enumerate(paths, 1):
        here = node = keys.get(path.node_id)
        been = {here}
        last: FunctionCall | None = None
        for call in path.functions:
            key = keys.get(call.id)
            if key and key not in been:
                beside_last = last and last.name in _BESIDE and last.argument == call.at
                before = here if beside_last else node
                if before:
                    yield number, before, key
                been.add(key)
            here = key or here
            if key and key.startswith("element"):
                node = key
            last = call


def _node(place: Place) -> dict[str, Any]:
    classes: list[str] = [place.kind]
    if place.begins:
        classes.append("begins")
    if place.cited:
        classes.append("cited")
    names = {"name": harmless(place.name), "label": harmless(place.label)}
    data = {"id": place.key, **names, "paths": list(place.paths)}
    return {"data": data, "classes": " ".join(classes)}


def _tie(tie: Edge, keys: dict[str, str]) -> dict[str, Any]:
    data = {"source": keys[tie.one], "target": keys[tie.other], "facts": tie.facts}
    return {"data": {**data, "fact": harmless(tie.fact)}, "classes": "tie"}


def _belonging(chunk: str, document: str) -> dict[str, Any]:
    return {"data": {"source": chunk, "target": document}, "classes": "belongs"}


def _step(path: int, source: str, target: str) -> dict[str, Any]:
    colour = (path - 1) % COLOURS + 1
    data = {"source": source, "target": target, "path": path, "colour": colour}
    return {"data": data, "classes": "way"}
