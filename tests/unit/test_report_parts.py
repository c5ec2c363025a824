"""What a report is made of: cited passages, lanes, the drawing, the cost, the file it goes into."""

import os
import sys
import threading
from dataclasses import replace
from pathlib import Path as File

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphreader.cli.reporting import make_report
from graphreader.errors import UsageError
from graphreader.html_report.citations import Piece, cited, shown
from graphreader.html_report.graph_view import Drawing, drawing
from graphreader.html_report.page import check
from graphreader.html_report.summary import lanes, spent
from graphreader.reading import Citation, Claim, FunctionCall, Path, Reading
from graphreader.store.catalog import Edge, RunSubgraph, TouchedChunk
from graphreader.store.records import Node, Passage
from graphreader.usage import Usage

READING = Reading("Who?", "Ada.", "", True, "c", "Look.", decider="offline")


def passage(text: str, start: int = 100) -> Passage:
    return Passage("c1", "life", "d", "life.txt", 0, start, start + len(text), text)


def citation(text: str, start: int, quote: str) -> Citation:
    """A quote out of a passage, by its place in it."""
    return Citation("life", "d", 0, 100 + start, 100 + start + len(quote), quote)


def quoted(pieces: tuple[Piece, ...], number: int) -> str:
    return "".join(piece.text for piece in pieces if number in piece.citations)


# However quotes lie in a chunk, its pieces are the whole of it, and those of each quote the quote.
@given(
    text=st.text(st.sampled_from("ab. \n。"), min_size=1, max_size=4000),
    spans=st.lists(st.tuples(st.integers(0, 3999), st.integers(1, 400)), min_size=1, max_size=5),
)
def test_pieces(text: str, spans: list[tuple[int, int]]) -> None:
    places = [(start % len(text), size) for start, size in spans]
    ones = [citation(text, at, text[at : at + size]) for at, size in places]
    (found,) = shown(ones, [passage(text)])

    assert "".join(piece.text for piece in found.pieces) == text
    for number, one in enumerate(ones, 1):
        assert quoted(found.pieces, number) == one.quote
        assert sum(number in piece.begins for piece in found.pieces) == 1


# Beside a quote its surroundings are shown, cut where a sentence ends; what is far away is folded.
def test_folding() -> None:
    text = "A sentence of the text. " * 100 + "The quote." + " Another sentence." * 100
    (found,) = shown([citation(text, 2400, "The quote.")], [passage(text)])
    kinds = [piece.kind for piece in found.pieces]

    assert kinds == ["folded", "plain", "quoted", "plain", "folded"]
    assert found.pieces[1].text.startswith("A sentence")
    assert found.pieces[3].text.endswith("sentence.")
    assert all(350 <= len(found.pieces[n].text) <= 700 for n in (1, 3))


# Where a text was edited the quote is found where it is now, or stands alone.
def test_edited_texts() -> None:
    moved, gone = citation("", 0, "She lost."), citation("", 5, "She won.")
    (found,) = shown([moved, gone], [passage("Later she came. She lost. That was all.")])

    assert not found.whole
    assert quoted(found.pieces, 1) == "She lost."
    assert found.pieces[-1] == Piece("quoted", "She won.", (2,), (2,))


# Each claim that stands in the answer is followed by its numbers; one that does not comes after it.
def test_claims() -> None:
    claims = (Claim("B came.", (2,)), Claim("A came.", (1, 9)), Claim("C came."), Claim("D.", (1,)))
    quotes = (citation("", 0, "A"), citation("", 1, "B"))
    found = cited(
        replace(READING, answer="A came. B came. So C came.", claims=claims, citations=quotes)
    )

    assert [(one.text, [mark.number for mark in one.marks]) for one in found.answer] == [
        ("A came.", [1]),
        (" B came.", [2]),
        (" So C came.", []),
    ]
    assert [one.text for one in found.claims] == ["D."]
    assert not found.claims[0].marks[0].first
    assert found.referred == {1, 2}


# A step tells its function in words; a cell of the timeline has room for the numbers of chunks.
def test_lanes() -> None:
    calls = (
        FunctionCall("read_chunk", "life, chunk 3; life, chunk 12", "why", "Ada", "k"),
        FunctionCall("read_neighbor_node", "Bo", "", "Ada", "k"),
        FunctionCall("fly_away", "", "", "Bo", "k2"),
    )
    paths = [Path("Ada", "", 3, "call_limit", functions=calls)] * 9
    first, *_, last = lanes(paths)

    assert [step.short for step in first.steps] == ["3, 12", "Bo", ""]
    assert [step.words for step in first.steps] == ["Read in full", "Go to a neighbor", "fly_away"]
    assert first.steps[2].icon == ""
    assert (first.colour, last.number, last.colour) == (1, 9, 1)


def ways(found: Drawing) -> list[tuple[int, str, str]]:
    return [
        (one["data"]["path"], one["data"]["source"], one["data"]["target"])
        for one in found.elements
        if one["classes"] == "way"
    ]


# Arrows lead from the node where a path stood to what it read or went to, and along the chunks.
def test_ways() -> None:
    calls = (
        FunctionCall("read_chunk", "life, chunk 0; life, chunk 3", "", "Ada", "k1"),
        FunctionCall("read_subsequent_chunk", "life, chunk 1", "", "life, chunk 0", "c0"),
        FunctionCall(
            "read_previous_chunk", "life, chunk 0, already read", "", "life, chunk 1", "c1"
        ),
        FunctionCall("search_more", "", "", "life, chunk 3", "c3"),
        FunctionCall("read_neighbor_node", "Bo", "", "Ada", "k1"),
        FunctionCall("termination", "", "", "Bo", "k2"),
    )
    path = Path("Ada", "", 6, "termination", functions=calls, node_id="k1")
    touched = RunSubgraph(
        (Node("k1", "Ada"), Node("k2", "Bo")),
        tuple(TouchedChunk(f"c{n}", n, "life", "d") for n in (0, 1, 3)),
        (Edge("k1", "k2", 3, "Ada met Bo."),),
    )
    found = drawing(replace(READING, paths=(path,)), [], touched)
    ada, bo = found.of("element")

    assert [(source, target) for _, source, target in ways(found)] == [
        ("element-1", "chunk-1"),
        ("chunk-1", "chunk-2"),
        ("element-1", "chunk-3"),
        ("element-1", "element-2"),
    ]
    assert (ada.begins, bo.begins, bo.paths) == ((1,), (), (1,))
    assert bo.ties == (("Ada", 3, "Ada met Bo."),)
    assert [place.name for place in found.of("document")] == ["life"]


# What the graph has no more is counted, and the way goes on without it.
def test_gone_places() -> None:
    calls = (
        FunctionCall("read_neighbor_node", "Bo", "", "Ada", "k1"),
        FunctionCall("read_neighbor_node", "Cy", "", "Bo", "k2"),
        FunctionCall("termination", "", "", "Cy", "k3"),
    )
    path = Path("Ada", "", 3, "termination", functions=calls, node_id="k1")
    touched = RunSubgraph((Node("k1", "Ada"), Node("k3", "Cy")))
    found = drawing(replace(READING, paths=(path,)), [], touched)

    assert (found.gone, found.left_out) == (1, 0)
    assert ways(found) == [(1, "element-1", "element-2")]


# What was merged after the run is drawn as what it went into, once, and the way leads there.
def test_merged_places() -> None:
    calls = (
        FunctionCall("read_neighbor_node", "Bo", "", "Ada", "k1"),
        FunctionCall("read_neighbor_node", "Ada Lund", "", "Bo", "k2"),
        FunctionCall("termination", "", "", "Ada Lund", "k3"),
    )
    paths = (
        Path("Ada", "", 3, "termination", functions=calls, node_id="k1"),
        Path("Ada Lund", "", 0, "nothing_left", node_id="k3"),
    )
    touched = RunSubgraph(
        (Node("k3", "Ada Lund"), Node("k2", "Bo")),
        ties=(Edge("k3", "k2", 2, "Ada met Bo."),),
        merged={"k1": "k3"},
    )
    found = drawing(replace(READING, paths=paths), [], touched)
    ada, bo = found.of("element")

    assert (ada.name, ada.paths, ada.begins) == ("Ada Lund", (1, 2), (1, 2))
    assert bo.ties == (("Ada Lund", 2, "Ada met Bo."),)
    assert (found.gone, found.left_out) == (0, 0)
    assert ways(found) == [(1, "element-1", "element-2")]


# The tables have columns for what was spent, and sentences for what the figures are.
def test_spent() -> None:
    paid = Usage(3, 1000, 50, 2.5, dollars=0.00005, estimated=1)
    free = spent(replace(READING, usage=Usage(3), phases={"plan": Usage(3)}), [])
    found = spent(replace(READING, usage=paid, phases={"plan": paid}), [])

    assert free.columns == ("Calls",)
    assert free.notes == ("No tokens: no language model was paid for these calls.",)
    assert found.columns == ("Calls", "Tokens in", "Tokens out", "Dollars")
    assert found.phases[0].cells == ("3", "1,000", "50", "0.000050")
    assert found.seconds == "2.5 s"
    assert "our own count" in found.notes[0]


# A file that cannot be written is refused in a sentence, and nothing is left behind.
@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("", "goes into a file"),
        ("-", "goes into a file"),
        (".", "is a folder"),
        ("none/report.html", "No such file or directory"),
        ("file.txt/report.html", "Not a directory"),
        ("x" * 300, "too long"),
        ("odd\0.html", "null"),
    ],
)
def test_targets_that_fail(
    tmp_path: File, monkeypatch: pytest.MonkeyPatch, name: str, sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.txt").write_text("x")

    with pytest.raises(UsageError, match=sentence):
        check(name)

    assert os.listdir(tmp_path) == ["file.txt"]


# Where the report fails after all, the person learns how to make it of the kept run.
def test_a_report_that_fails(capsys: pytest.CaptureFixture[str]) -> None:
    class FullDisk:
        def report(self, reading: Reading, target: str) -> File:
            raise UsageError(f"The report cannot be written to {target}.")

    with pytest.raises(UsageError, match=r"written to r\.html"):
        make_report(FullDisk(), replace(READING, run="4f 2a"), "r.html")  # type: ignore[arg-type]

    assert "`graphreader runs show '4f 2a' --report FILE`" in capsys.readouterr().err


# A file that can be written stays as it is while it is only looked at; `~` is the person's home.
def test_targets(tmp_path: File, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "old.html").write_text("earlier")

    assert check("~/old.html") == tmp_path / "old.html"
    assert check(tmp_path / "new.html") == tmp_path / "new.html"
    assert (tmp_path / "old.html").read_text() == "earlier"
    assert os.listdir(tmp_path) == ["old.html"]


# A named pipe is not opened until the page goes into it: that would wait for its reader, or end it.
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes in folders")
def test_pipes(tmp_path: File) -> None:
    os.mkfifo(tmp_path / "pipe")
    looking = threading.Thread(target=check, args=(tmp_path / "pipe",), daemon=True)
    looking.start()
    looking.join(10)

    assert not looking.is_alive()
    assert os.listdir(tmp_path) == ["pipe"]
