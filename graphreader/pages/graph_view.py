"""The part of the graph that a run visited, for cytoscape.js and as a list in words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any, Literal

from graphreader.agent.functions import FUNCTIONS
from graphreader.documents import Chunk, without_controls
from graphreader.pages.summary import is_turns, path_colour
from graphreader.reading import FunctionCall, Path, Reading
from graphreader.store.run_graph import Edge, RunSubgraph

MOST_NODES, MOST_EDGES = 100, 200
"""The most key elements and chunks, and edges of shared facts, that are drawn: readably many."""

NodeKind = Literal["element", "chunk", "document", "question"]


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """A node of the drawing; the `label` of a chunk omits the title of the drawn document.

    `paths` visited it, those in `begins` began there; `cited` are numbers of citations,
    `neighbors` (name, number of shared facts, one of the facts).
    """

    id: str
    kind: NodeKind
    name: str
    label: str
    paths: tuple[int, ...] = ()
    begins: tuple[int, ...] = ()
    cited: tuple[int, ...] = ()
    neighbors: tuple[tuple[str, int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class GraphDrawing:
    """The drawing of a run. `left_out` counts nodes that do not fit, `gone` deleted nodes."""

    nodes: Sequence[DrawnNode]
    elements: Sequence[dict[str, Any]]
    left_out: int
    gone: int

    def of(self, kind: NodeKind) -> list[DrawnNode]:
        """The drawn nodes of one kind."""
        return [node for node in self.nodes if node.kind == kind]


def visited_ids(reading: Reading, cited: Sequence[Chunk]) -> list[str]:
    """The ids of cited chunks, then of the nodes of the paths: the first of each, the second ..."""
    by_turns = chain.from_iterable(zip_longest(*map(_visits, reading.paths)))
    ids = dict.fromkeys([*(one.id for one in cited), *by_turns])
    return [one for one in ids if one]


def draw_graph(
    reading: Reading, cited: Sequence[Chunk], subgraph: RunSubgraph, chunk: str = "chunk"
) -> GraphDrawing:
    """Draw the first MOST_NODES of `visited_ids`, and the question, at which turns begin.

    `chunk` is the word for a chunk in the page's language.
    """
    visited = visited_ids(reading, cited)
    drawn_ids = {one.id: f"element-{one.id}" for one in subgraph.elements}
    drawn_ids |= {one.id: f"chunk-{one.id}" for one in subgraph.chunks}
    # A merged key element is drawn as the one that it was merged into.
    drawn_ids |= {id_: drawn_ids[into] for id_, into in subgraph.merged.items()}
    documents = {one.document_id: one.document for one in subgraph.chunks}
    document_ids = {id_: f"document-{id_}" for id_ in documents}
    by_facts = sorted(subgraph.edges, key=lambda edge: -edge.facts)
    edges = [one for one in by_facts if {one.one, one.other} <= set(drawn_ids)][:MOST_EDGES]
    nodes = list(_graph_nodes(reading, cited, subgraph, edges, drawn_ids, chunk))
    turns = [n for n, path in enumerate(reading.paths, 1) if is_turns(path)]
    if turns and nodes:
        nodes.append(DrawnNode("question", "question", reading.question, "", tuple(turns)))
        drawn_ids[""] = "question"  # where turns begin, and search anew
    nodes += [DrawnNode(document_ids[id_], "document", one, one) for id_, one in documents.items()]
    elements = [_node_element(node) for node in nodes]
    elements += [_edge_element(edge, drawn_ids) for edge in edges]
    elements += [
        graph_element("belongs", source=drawn_ids[one.id], target=document_ids[one.document_id])
        for one in subgraph.chunks
    ]
    elements += _path_elements(reading.paths, drawn_ids)
    return GraphDrawing(
        nodes,
        elements,
        left_out=max(0, len(visited) - MOST_NODES),
        gone=sum(one not in drawn_ids for one in visited[:MOST_NODES]),
    )


def _graph_nodes(
    reading: Reading,
    cited: Sequence[Chunk],
    subgraph: RunSubgraph,
    edges: Sequence[Edge],
    drawn_ids: dict[str, str],
    chunk: str,
) -> Iterator[DrawnNode]:
    chunk_ids = {(one.document_id, one.index): one.id for one in cited}
    numbers: dict[str, list[int]] = {}
    for number, one in enumerate(reading.citations, 1):
        numbers.setdefault(chunk_ids.get((one.document_id, one.chunk), ""), []).append(number)
    visits = [{drawn_ids.get(id_) for id_ in _visits(path)} for path in reading.paths]
    starts = [drawn_ids.get(path.node_id) for path in reading.paths]
    names = {one.id: one.name for one in subgraph.elements}
    names |= {one.id: f"{one.document}, {chunk} {one.index}" for one in subgraph.chunks}
    labels = names | {one.id: f"{chunk} {one.index}" for one in subgraph.chunks}
    for id_, name in names.items():
        drawn_id = drawn_ids[id_]
        own_edges = [edge for edge in edges if id_ in (edge.one, edge.other)][:5]
        yield DrawnNode(
            drawn_id,
            "element" if drawn_id.startswith("element") else "chunk",
            name,
            labels[id_],
            tuple(n for n, ids in enumerate(visits, 1) if drawn_id in ids),
            tuple(n for n, start in enumerate(starts, 1) if drawn_id == start),
            tuple(numbers.get(id_, ())),
            tuple(
                (names[edge.other if edge.one == id_ else edge.one], edge.facts, edge.fact)
                for edge in own_edges
            ),
        )


def _visits(path: Path) -> list[str]:
    """The ids of the nodes of a path: its initial node, then the nodes where it chose functions."""
    return [path.node_id, *(call.id for call in path.functions)]


def _path_elements(paths: Sequence[Path], drawn_ids: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Draw an arrow for each step to a new node: from an adjacent chunk, else from the element."""
    for number, path in enumerate(paths, 1):
        position = element = drawn_ids.get(path.node_id)
        visited = {position}
        previous: FunctionCall | None = None
        for call in path.functions:
            drawn_id = drawn_ids.get(call.id)
            if drawn_id and drawn_id not in visited:
                is_adjacent = (
                    previous is not None
                    and previous.name in FUNCTIONS
                    and FUNCTIONS[previous.name].reads == "an adjacent chunk"
                    and previous.argument == call.at
                )
                source = position if is_adjacent else element
                if source:
                    step = {"source": source, "target": drawn_id, "path": number}
                    yield graph_element("way", **step, colour=path_colour(number))
                visited.add(drawn_id)
            position = drawn_id or position
            if drawn_id and drawn_id.startswith("element"):
                element = drawn_id
            previous = call


def _node_element(node: DrawnNode) -> dict[str, Any]:
    classes: list[str] = [node.kind]
    if node.begins:
        classes.append("begins")
    if node.cited:
        classes.append("cited")
    name, label = without_controls(node.name, " "), without_controls(node.label, " ")
    return graph_element(
        " ".join(classes), id=node.id, name=name, label=label, paths=list(node.paths)
    )


def _edge_element(edge: Edge, drawn_ids: dict[str, str]) -> dict[str, Any]:
    source, target = drawn_ids[edge.one], drawn_ids[edge.other]
    fact = without_controls(edge.fact, " ")
    return graph_element("tie", source=source, target=target, facts=edge.facts, fact=fact)


def graph_element(classes: str, **data: Any) -> dict[str, Any]:
    """A node or an edge as cytoscape.js takes it; an edge has an id of its own, too."""
    if "source" in data:
        data["id"] = f"{classes} {data['source']} {data['target']} {data.get('path', '')}"
    return {"data": data, "classes": classes}
