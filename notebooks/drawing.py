"""The pictures of these notebooks, drawn with matplotlib; each is returned as a PNG.

They stand on white, so that they can be read on a dark page as well.
"""

import io
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

import matplotlib
import networkx
import PIL.Image
from IPython.display import Image
from langchain_core.runnables.graph import Graph
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from graphreader.baselines.read_agent.gists import GistMemory, words_in
from graphreader.reading import Path, Reading

matplotlib.rcParams["text.parse_math"] = False  # a text with dollar signs is no formula

# The colors of cypher/inspect/colours.grass
DOCUMENT, CHUNK, FACT, ELEMENT = "#4C8EDA", "#569480", "#FFC454", "#F79767"
EDGE, INK, PALE = "#A5ABB6", "#24292F", "#6E7781"
_CENTER: dict[str, Any] = {"ha": "center", "va": "center_baseline", "zorder": 3}
Row = Mapping[str, Any]


def whole_graph(rows: Iterable[Row], named: int = 9) -> Image:
    """Documents, chunks, facts and key elements as one graph; only the busiest ones are named.

    A row has the `document`, the number of the `chunk`, a `fact`, and the `elements` that it names.
    """
    graph = networkx.Graph()
    for row in rows:
        chunk = (row["document"], row["chunk"])
        graph.add_edge(("document", row["document"]), ("chunk", chunk))
        graph.add_edge(("chunk", chunk), ("fact", (chunk, row["fact"])))
        for element in row["elements"]:
            graph.add_edge(("fact", (chunk, row["fact"])), ("element", element))
    places = networkx.forceatlas2_layout(graph, seed=6, max_iter=400, scaling_ratio=3.0)
    axes = _sheet(8, 6.5)
    for here, there in graph.edges:
        axes.plot(*zip(places[here], places[there], strict=True), color=EDGE, lw=0.6, zorder=1)
    busy = sorted((n for n in graph if n[0] == "element"), key=graph.degree, reverse=True)[:named]
    looks = {"document": (DOCUMENT, 260), "chunk": (CHUNK, 130), "fact": (FACT, 45)}
    for node, (x, y) in places.items():
        color, size = looks.get(node[0], (ELEMENT, 90 if node in busy else 22))
        axes.scatter(x, y, s=size, color=color, edgecolors="white", linewidths=0.7, zorder=2)
    for kind, name in busy + [node for node in graph if node[0] == "document"]:
        weight = "bold" if kind == "document" else "normal"
        box = {"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 0.6}
        x, y = places[kind, name]
        axes.annotate(
            name, (x, y), (0, 9), textcoords="offset points", ha="center", fontsize=8.5,
            color=INK, weight=weight, bbox=box, zorder=3,
        )  # fmt: skip
    _legend(
        axes, {"document": DOCUMENT, "chunk": CHUNK, "atomic fact": FACT, "key element": ELEMENT}
    )
    return _picture(axes, "A graph of documents, chunks, atomic facts and key elements")


def surroundings(rows: Sequence[Row], name: str) -> Image:
    """One key element: the chunks on the left, its facts in the middle, on the right what else
    they name. The rows are those of `cypher/inspect/surroundings.cypher`.
    """
    drawn = rows[0]["facts"]
    facts = _places(one["fact"] for one in drawn)
    chunks = _places(f"{one['document']}, chunk {one['chunk']}" for one in drawn)
    others = _places(other for one in drawn for other in one["others"])
    height = max(len(facts) * 0.75, len(others) * 0.27, 2.5)
    axes = _sheet(10.5, height)
    axes.set(xlim=(0, 1), ylim=(0, 1))
    lines = set()
    for one in drawn:
        fact = facts[one["fact"]]
        lines.add(((0.08, chunks[f"{one['document']}, chunk {one['chunk']}"]), (0.47, fact)))
        lines |= {((0.47, fact), (0.83, others[other])) for other in one["others"]}
    for here, there in sorted(lines):
        axes.plot(*zip(here, there, strict=True), color=EDGE, lw=0.8, zorder=1)
    for text, y in chunks.items():
        _box(axes, 0.08, y, text, CHUNK, "white")
    for text, y in facts.items():
        _box(axes, 0.47, y, "\n".join(textwrap.wrap(text, 62)), FACT)
    for text, y in others.items():
        _box(axes, 0.83, y, text, ELEMENT, align="left")
    axes.set_title(f"The facts that name {name}", fontsize=11, color=INK)
    return _picture(
        axes, f"The facts that name {name}, their chunks, and the other key elements in these facts"
    )


def ways(reading: Reading) -> Image:
    """The way of each path, a lane each, from its initial node on; the numbers are its calls.

    The paths run side by side, so their order says nothing: they stand by the names of the nodes.
    """
    longest = max(path.calls for path in reading.paths)
    axes = _sheet(10.5, 0.95 * len(reading.paths) + 0.3)
    axes.set_xlim(-1.25, longest + 0.9)
    axes.set_ylim(-len(reading.paths) + 0.35, 0.4)
    for lane, path in enumerate(sorted(reading.paths, key=lambda path: path.initial_node)):
        axes.plot([-0.1, path.calls], [-lane, -lane], color=EDGE, lw=1.5, zorder=1)
        _box(axes, -0.65, -lane, "\n".join(textwrap.wrap(path.initial_node, 14)), ELEMENT)
        for number, text, color in _steps(path):
            axes.scatter(number, -lane, s=190, color=color, edgecolors="white", zorder=2)
            axes.text(number, -lane, str(number), fontsize=7.5, color=INK, **_CENTER)
            axes.text(
                number, -lane - 0.22, text, fontsize=7, color=INK, ha="center", va="top", zorder=3
            )
        axes.text(path.calls + 0.35, -lane, path.stopped.replace("_", "\n"), fontsize=7.5,
                  color=PALE, ha="left", va="center")  # fmt: skip
    shown = {"chose chunks to read": FACT, "read a chunk": CHUNK, "went to a neighbor": ELEMENT}
    _legend(axes, {**shown, "ended (after a chunk: reading it)": EDGE})
    return _picture(axes, f"The ways of {len(reading.paths)} paths, call by call")


def gists(memory: GistMemory) -> Image:
    """The words of each page of a gist memory, and how many are left in its gist."""
    figure = Figure(figsize=(10.5, 2.8), facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    pages = range(1, len(memory.pages) + 1)
    axes.bar(pages, [words_in(page.text) for page in memory.pages], color=EDGE, label="page")
    axes.bar(pages, [words_in(gist) for gist in memory.gists], color=FACT, label="its gist")
    places: dict[str, list[int]] = {}
    for number, page in zip(pages, memory.pages, strict=True):
        places.setdefault(page.document.title, []).append(number)
    for title, own in places.items():
        axes.text(fmean(own), -20, title, fontsize=6.5, color=INK, ha="center", va="top")
    axes.set_xticks([])
    axes.set_xlim(0.3, len(memory.pages) + 0.7)
    axes.set_ylabel("words", fontsize=9, color=INK)
    axes.tick_params(labelsize=8, colors=PALE)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, labelcolor=INK)
    return _picture(axes, "The words of each page, and of its gist")


def steps(drawable: Graph) -> Image:
    """The steps of a LangGraph graph without loops, from left to right; those of a subgraph
    have a color of their own.
    """
    graph = networkx.DiGraph((edge.source, edge.target) for edge in drawable.edges)
    dashed = {(edge.source, edge.target) for edge in drawable.edges if edge.conditional}
    rows = enumerate(networkx.topological_generations(graph))
    places = {node: (float(x), 0.0) for x, generation in rows for node in generation}
    axes = _sheet(10.5, 1.7)
    axes.set(xlim=(-0.5, len(places) - 0.5), ylim=(-0.6, 1))
    for here, there in graph.edges:
        far = places[there][0] - places[here][0] > 1
        bend = f"arc3,rad={-0.35 if far else 0}"
        line = "--" if (here, there) in dashed else "-"
        arrow = {"arrowstyle": "-|>", "color": PALE, "connectionstyle": bend, "linestyle": line}
        arrow |= {"shrinkA": 14 if far else 32, "shrinkB": 14 if far else 32}
        axes.annotate("", places[there], places[here], arrowprops=arrow)
    for node, (x, y) in places.items():
        inside, _, name = node.rpartition(":")
        _box(axes, x, y, name.strip("_").replace("_", "\n"), ELEMENT if inside else EDGE)
    _legend(axes, {node.partition(":")[0]: ELEMENT for node in places if ":" in node})
    return _picture(axes, "The steps of a graph, one after the other")


def _steps(path: Path) -> Iterable[tuple[int, str, str]]:
    """The calls of a path: number, what it says in a few words, color."""
    for number, call in enumerate(path.functions, 1):
        chunk = call.at.replace(", chunk ", "\nchunk ") if ", chunk " in call.at else ""
        if call.name == "read_neighbor_node":
            yield number, "to\n" + "\n".join(textwrap.wrap(call.argument, 13)), ELEMENT
        elif call.name == "termination":
            yield number, f"{chunk}\nenough" if chunk else "no more", EDGE
        elif chunk:
            yield number, chunk, CHUNK
        elif call.name == "read_chunk":
            chunks = call.argument.count(", chunk ")
            yield number, f"{chunks} chunk{'s' if chunks > 1 else ''}", FACT
        else:
            yield number, "neighbors", FACT


def _places(texts: Iterable[str]) -> dict[str, float]:
    """Each text once, evenly from top to bottom."""
    once = list(dict.fromkeys(texts))
    return {text: 1 - (place + 0.5) / len(once) for place, text in enumerate(once)}


def _box(
    axes: Axes, x: float, y: float, text: str, color: str, ink: str = INK, align: str = "center"
) -> None:
    box = {"boxstyle": "round,pad=0.35", "facecolor": color, "edgecolor": "none"}
    axes.text(x, y, text, fontsize=8, color=ink, ha=align, va="center", bbox=box, zorder=2)


def _sheet(width: float, height: float) -> Axes:
    figure = Figure(figsize=(width, height), facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    axes.set_axis_off()
    return axes


def _legend(axes: Axes, looks: Mapping[str, str]) -> None:
    for name, color in looks.items():
        axes.scatter([], [], s=60, color=color, label=name)
    axes.legend(
        loc="upper center", bbox_to_anchor=(0.5, 0), ncols=len(looks), frameon=False, fontsize=8,
        labelcolor=INK, handletextpad=0.1,
    )  # fmt: skip


def _picture(axes: Axes, alt: str) -> Image:
    written = io.BytesIO()
    figure = axes.figure
    figure.savefig(written, format="png", dpi=110)
    small = io.BytesIO()
    PIL.Image.open(written).convert("RGB").quantize(128).save(small, format="png", optimize=True)
    return Image(small.getvalue(), alt=alt)
