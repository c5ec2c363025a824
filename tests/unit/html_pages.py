"""Runs to report, and the HTML pages of reports as trees of elements."""

from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from itertools import pairwise

from graphreader.agent.functions import FUNCTIONS
from graphreader.documents import Chunk, ChunkRef, KeyElementRef
from graphreader.pages.graph_view import MOST_NODES, visited_ids
from graphreader.reading import Citation, Claim, Contradiction, FunctionCall, Path, Reading
from graphreader.store.run_graph import Edge, RunSubgraph
from graphreader.usage import Usage

VOID = {"meta", "link", "br", "hr", "img", "input", "base"}


@dataclass(eq=False)
class Element:
    """An element with what is in it, in order."""

    tag: str
    attributes: dict[str, str | None]
    inside: list["Element | str"] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All text in it."""
        return self.without()

    def without(self, *tags: str) -> str:
        """All text in it but that of some kinds of elements."""
        return "".join(
            one if isinstance(one, str) else one.without(*tags)
            for one in self.inside
            if isinstance(one, str) or one.tag not in tags
        )

    def all(self, tag: str = "", **attributes: str) -> list["Element"]:
        """The elements in it of that kind, at any depth, in their order."""
        elements = []
        for one in self.inside:
            if isinstance(one, Element):
                if tag in ("", one.tag) and attributes.items() <= one.attributes.items():
                    elements.append(one)
                elements += one.all(tag, **attributes)
        return elements

    def one(self, tag: str = "", **attributes: str) -> "Element":
        """The only one."""
        (only,) = self.all(tag, **attributes)
        return only


class Parser(HTMLParser):
    """Builds the tree; each element must be closed in its place."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.root = Element("", {})
        self.others: list[str] = []  # comments, declarations, processing instructions
        self._open = [self.root]
        self.handle_comment = self.handle_decl = self.handle_pi = self.others.append
        self.unknown_decl = self.others.append
        self.feed(page)
        self.close()
        assert self._open == [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs)
        element = Element(tag, dict(attrs))
        self._open[-1].inside.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self._open[-1].inside.append(data)


def parsed(page: str) -> Element:
    parser = Parser(page)
    assert parser.others == ["doctype html"]
    return parser.root


def run_of(text: str) -> tuple[Reading, list[Chunk], RunSubgraph]:
    """A run in which every text is this one, with its chunks and its part of the graph."""
    functions = tuple(FunctionCall(name, text, text, text, "k1") for name in (*FUNCTIONS, text))
    functions = (*functions, FunctionCall("search_more", "", "", text, "c1"))
    paths = (
        Path(text, text, 10, "termination", None, functions, Usage(10, 50, 5), "k1"),
        Path(text, "", 0, "error", text, (), node_id="k2"),
    )
    lone = Citation(text, "gone", 4, 0, len(text), text, 7, text)
    reading = Reading(
        question=text,
        answer=f"Say {text}. And more",
        analysis=text,
        explanation=f"Why: {text}!",
        answered=True,
        corpus=text,
        plan=text,
        citations=(Citation(text, "d", 0, 17, 17 + len(text), text, 3, text), lone),
        paths=paths,
        usage=Usage(11, 70, 9, 1.5, 1, 1, 1, 0.5, 1),
        phases={"plan": Usage(1, 10, 2), "explore": Usage(9, 50, 5), "answer": Usage(1, 10, 2)},
        decider=text,
        notes=(text,),
        claims=(Claim(text, (1,)), Claim(f"Otherwise {text}", (2,)), Claim(f"None {text}")),
        contradictions=(Contradiction(text, (1, 2)),),
        run=text,
    )
    chunk = f"Before: {text} after. " + "Much more is told here. " * 60
    passages = [Chunk("c1", 0, text, "d", 9, 9 + len(chunk), chunk, 9, text)]
    subgraph = RunSubgraph(
        (KeyElementRef("k1", text), KeyElementRef("k2", text)),
        (ChunkRef("c1", 0, text, "d", 0),),
        (Edge("k1", "k2", 2, text), Edge("c1", "k1", 1, text)),
    )
    return reading, passages, subgraph


def long_run() -> tuple[Reading, list[Chunk], RunSubgraph]:
    """50 paths of 10 calls, 40 cited chunks of 2,000 tokens."""
    words = "The siege of the town went on, and nobody knew for how long it would. " * 120
    passages = [
        Chunk(f"c{n}", n, "A long book", "d", n * 9000, n * 9000 + len(words), words, 2000)
        for n in range(40)
    ]
    paths = tuple(
        Path(
            f"Node {n}",
            "- Something was noted down here.\n" * 40,
            10,
            "call_limit",
            functions=tuple(
                FunctionCall("read_neighbor_node", f"Node {n}", "Why.", f"Node {n}", f"k{n}-{step}")
                for step in range(10)
            ),
            node_id=f"k{n}-0",
        )
        for n in range(1, 51)
    )
    citations = tuple(
        Citation("A long book", "d", one.index, one.start, one.start + 30, words[:30])
        for one in passages
    )
    claims = tuple(Claim(f"Claim {n}", (n,)) for n in range(1, 41))
    reading = replace(run_of("x")[0], citations=citations, paths=paths, claims=claims)
    ids = visited_ids(reading, passages)[:MOST_NODES]
    subgraph = RunSubgraph(
        tuple(KeyElementRef(one, f"Node {one}") for one in ids if one.startswith("k")),
        tuple(ChunkRef(one.id, one.index, one.document, "d", 0) for one in passages),
        tuple(Edge(one, other, 1, "Why.") for one, other in pairwise(ids)),
    )
    return reading, passages, subgraph
