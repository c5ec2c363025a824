"""The parts of a report: cited passages, the timeline, the drawing and the cost."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from graphreader.html_report.citations import PassagePiece, cited_answer, cited_passages
from graphreader.html_report.graph_view import GraphDrawing, draw_graph
from graphreader.html_report.summary import cost_tables, timeline
from graphreader.reading import Citation, Claim, FunctionCall, Path, Reading
from graphreader.store.catalog import Edge, RunChunk, RunSubgraph
from graphreader.store.records import Node, Passage
from graphreader.usage import Usage

READING = Reading("Who?", "Ada.", "", True, "c", "Look.", decider="offline")


def passage(text: str) -> Passage:
    return Passage("c1", "life", "d", "life.txt", 0, 100, 100 + len(text), text)


def citation(start: int, quote: str) -> Citation:
    """A citation of the passage, by the place of the quote in it."""
    return Citation("life", "d", 0, 100 + start, 100 + start + len(quote), quote)


def quoted(pieces: tuple[PassagePiece, ...], number: int) -> str:
    return "".join(piece.text for piece in pieces if number in piece.citations)


# However quotes lie in a chunk, its pieces are the whole of it, and those of each quote the quote.
@given(
    text=st.text(st.sampled_from("ab. \n。"), min_size=1, max_size=4000),
    spans=st.lists(st.tuples(st.integers(0, 3999), st.integers(1, 400)), min_size=1, max_size=5),
)
def test_pieces(text: str, spans: list[tuple[int, int]]) -> None:
    places = [(start % len(text), size) for start, size in spans]
    citations = [citation(at, text[at : at + size]) for at, size in places]
    (cited,) = cited_passages(citations, [passage(text)])

    assert "".join(piece.text for piece in cited.pieces) == text
    for number, one in enumerate(citations, 1):
        assert quoted(cited.pieces, number) == one.quote
        assert sum(number in piece.begins for piece in cited.pieces) == 1


# The context of a quote is shown, cut where a sentence ends; what is far away is folded.
def test_folding() -> None:
    text = "A sentence of the text. " * 100 + "The quote." + " Another sentence." * 100
    (cited,) = cited_passages([citation(2400, "The quote.")], [passage(text)])
    kinds = [piece.kind for piece in cited.pieces]

    assert kinds == ["folded", "plain", "quoted", "plain", "folded"]
    assert cited.pieces[1].text.lstrip().startswith("A sentence")
    assert cited.pieces[3].text.endswith("sentence.")
    assert all(600 <= len(cited.pieces[n].text) <= 700 for n in (1, 3))


# Next to a quote much is shown, also where the only sentence end lies right beside it.
def test_folding_long_sentences() -> None:
    text = "word " * 500 + ". The quote. " + "word " * 500
    (cited,) = cited_passages([citation(2502, "The quote")], [passage(text)])

    assert [piece.kind for piece in cited.pieces] == (
        ["folded", "plain", "quoted", "plain", "folded"]
    )
    assert all(len(cited.pieces[n].text) == 700 for n in (1, 3))


# In an edited text the quote is found where it is now, or stands alone.
def test_edited_texts() -> None:
    moved, gone = citation(0, "She lost."), citation(5, "She won.")
    (cited,) = cited_passages([moved, gone], [passage("Later she came. She lost. That was all.")])

    assert not cited.is_whole
    assert quoted(cited.pieces, 1) == "She lost."
    assert cited.pieces[-1] == PassagePiece("quoted", "She won.", (2,), (2,))


# Each claim within the answer is followed by its numbers; another one comes after the answer.
def test_claims() -> None:
    claims = (Claim("B came.", (2,)), Claim("A came.", (1, 9)), Claim("C came."), Claim("D.", (1,)))
    citations = citation(0, "A"), citation(1, "B")
    answer = "A came. B came. So C came."
    cited = cited_answer(replace(READING, answer=answer, claims=claims, citations=citations))

    assert [(one.text, [mark.number for mark in one.marks]) for one in cited.answer] == [
        ("A came.", [1]),
        (" B came.", [2]),
        (" So C came.", []),
    ]
    assert [one.text for one in cited.claims] == ["D."]
    assert not cited.claims[0].marks[0].is_first
    assert cited.numbers == {1, 2}


# The explanation has the numbers of the claims in it that the answer does not have.
def test_explanation() -> None:
    claims = (Claim("Ada.", (1,)), Claim("A came.", (1,)), Claim("D.", (1,)))
    reading = replace(
        READING, explanation="So A came. Ada.", claims=claims, citations=(citation(0, "A"),)
    )
    cited = cited_answer(reading)

    assert [[mark.number for mark in one.marks] for one in cited.answer] == [[1]]
    assert [(one.text, len(one.marks)) for one in cited.explanation] == [
        ("So A came.", 1),
        (" Ada.", 0),
    ]
    assert [one.text for one in cited.claims] == ["D."]
    assert cited.numbers == {1}


# A step names its function; a cell of the timeline has room for the indexes of chunks.
def test_timeline() -> None:
    calls = (
        FunctionCall("read_chunk", "life, chunk 3; life, chunk 12", "why", "Ada", "k"),
        FunctionCall("read_neighbor_node", "Bo", "", "Ada", "k"),
        FunctionCall("fly_away", "", "", "Bo", "k2"),
    )
    first, *_, last = timeline([Path("Ada", "", 3, "call_limit", functions=calls)] * 9)

    assert [step.short for step in first.steps] == ["3, 12", "Bo", ""]
    assert [step.title for step in first.steps] == ["Read in full", "Go to a neighbor", "fly_away"]
    assert first.steps[2].icon == ""
    assert (first.colour, last.number, last.colour) == (1, 9, 1)


def arrows(drawing: GraphDrawing) -> list[tuple[str, str]]:
    """The source and target of each step of a path."""
    ways = [one["data"] for one in drawing.elements if one["classes"] == "way"]
    return [(way["source"], way["target"]) for way in ways]


# Arrows lead from the node where a path stood to what it read or went to, and along the chunks.
def test_arrows() -> None:
    calls = (
        FunctionCall("read_chunk", "life, chunk 0; life, chunk 3", "", "Ada", "k1"),
        FunctionCall("read_subsequent_chunk", "life, chunk 1", "", "life, chunk 0", "c0"),
        FunctionCall("read_previous_chunk", "life, chunk 0, seen", "", "life, chunk 1", "c1"),
        FunctionCall("search_more", "", "", "life, chunk 3", "c3"),
        FunctionCall("read_neighbor_node", "Bo", "", "Ada", "k1"),
        FunctionCall("termination", "", "", "Bo", "k2"),
    )
    path = Path("Ada", "", 6, "termination", functions=calls, node_id="k1")
    subgraph = RunSubgraph(
        (Node("k1", "Ada"), Node("k2", "Bo")),
        tuple(RunChunk(f"c{n}", n, "life", "d") for n in (0, 1, 3)),
        (Edge("k1", "k2", 3, "Ada met Bo."),),
    )
    drawing = draw_graph(replace(READING, paths=(path,)), [], subgraph)
    ada, bo = drawing.of("element")

    assert arrows(drawing) == [
        ("element-1", "chunk-1"),
        ("chunk-1", "chunk-2"),
        ("element-1", "chunk-3"),
        ("element-1", "element-2"),
    ]
    assert (ada.begins, bo.begins, bo.paths) == ((1,), (), (1,))
    assert bo.neighbors == (("Ada", 3, "Ada met Bo."),)
    assert [node.name for node in drawing.of("document")] == ["life"]


# A node that the graph has no more is counted, and the path goes on without it; a key element that
# was merged after the run is drawn, once, as the one it was merged into.
def test_gone_and_merged_nodes() -> None:
    calls = tuple(FunctionCall("read_neighbor_node", "", "", "", f"k{n}") for n in (1, 2, 4, 3))
    paths = (
        Path("Ada", "", 4, "termination", functions=calls, node_id="k1"),
        Path("Ada Lund", "", 0, "nothing_left", node_id="k3"),
    )
    subgraph = RunSubgraph(
        (Node("k3", "Ada Lund"), Node("k4", "Bo")),
        edges=(Edge("k3", "k4", 2, "Ada met Bo."),),
        merged={"k1": "k3"},
    )
    drawing = draw_graph(replace(READING, paths=paths), [], subgraph)
    ada, bo = drawing.of("element")

    assert (ada.name, ada.paths, ada.begins) == ("Ada Lund", (1, 2), (1, 2))
    assert bo.neighbors == (("Ada Lund", 2, "Ada met Bo."),)
    assert (drawing.gone, drawing.left_out) == (1, 0)
    assert arrows(drawing) == [("element-1", "element-2")]


# The tables have columns for what was spent, and notes where figures need an explanation.
def test_costs() -> None:
    paid = Usage(3, 1000, 50, 2.5, dollars=0.00005, estimated=1)
    free = cost_tables(replace(READING, usage=Usage(3), phases={"plan": Usage(3)}))
    tables = cost_tables(replace(READING, usage=paid, phases={"plan": paid}))

    assert free.columns == ("Calls",)
    assert free.notes == ("No tokens: no language model was paid for these calls.",)
    assert tables.columns == ("Calls", "Tokens in", "Tokens out", "Dollars")
    assert tables.phases[0].cells == ("3", "1,000", "50", "0.000050")
    assert tables.seconds == "2.5 s"
    assert "our own count" in tables.notes[0]
