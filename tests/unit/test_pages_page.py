"""The page of a run's report, and the parts that it is made of."""

import base64
import hashlib
import json
import os
import re
import threading
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from itertools import pairwise
from pathlib import Path as File
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphreader.documents import Chunk, ChunkRef, KeyElementRef, without_controls
from graphreader.errors import UsageError
from graphreader.pages import page as page_module
from graphreader.pages.citations import PassagePiece, cited_answer, cited_passages
from graphreader.pages.graph_view import MOST_NODES, GraphDrawing, draw_graph, visited_ids
from graphreader.pages.page import check, render
from graphreader.pages.summary import timeline
from graphreader.reading import Citation, Claim, FunctionCall, Path, Reading
from graphreader.store.run_graph import Edge, RunSubgraph
from graphreader.usage import Usage
from tests.snapshots import Snapshots
from tests.unit.html_pages import Element, long_run, parsed, run_of

HOSTILE = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "]]><![CDATA[<b>",
    "&lt;b&gt;&quot;&#60;script&#62;&amp",
    "{{ 7 * 7 }} {% raw %} {# x #} ${x} $question",
    "<\u2028\u2029/script\x00>\x1b]0;x\x07",
)
NOTHING = Reading("Who?", "Nobody knows.", "", False, "c", "Look.", decider="openai:fake")


def harmless(text: str) -> str:
    """What the page shows of a text."""
    return without_controls(text, " ")


def page_of(text: str) -> Element:
    return parsed(render(*run_of(text)))


def skeleton(element: Element) -> Any:
    """Elements and attributes without any text; of the graph's data the numbers and types."""
    inside = [skeleton(one) for one in element.inside if isinstance(one, Element)]
    if element.tag == "script" and element.attributes.get("type") == "application/json":
        data = [one["data"].items() for one in json.loads(element.text)]
        inside += [
            {key: value if isinstance(value, int) else type(value) for key, value in one}
            for one in data
        ]
    elif element.tag == "script":
        inside.append(element.text)
    return element.tag, dict(element.attributes), inside


@pytest.fixture(scope="module")
def plain() -> Element:
    """The page of a run of harmless words."""
    return page_of("plain words")


# A hostile text adds no element, attribute or script, and is shown where a harmless one is.
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts(plain: Element, text: str) -> None:
    page = page_of(text)
    body = page.one("body")
    shown = body.without("script")

    assert skeleton(page) == skeleton(plain)
    assert shown.count(harmless(text)) == plain.one("body").without("script").count("plain words")
    data = json.loads(body.one("script", type="application/json").text)
    names = {one["data"]["name"] for one in data if "name" in one["data"]}
    assert names == {harmless(text), f"{harmless(text)}, chunk 0"}


# Control characters, and those that turn the direction of writing, are gone from the page.
def test_control_characters() -> None:
    text = "odd\u202egnp.exe\u2066\x00\x07\x9b\ud800\r end"
    page = render(*run_of(text))

    assert not set(page) & set("\u202e\u2066\x00\x07\x9b\ud800\r")
    assert page.encode()
    assert {one.text for one in parsed(page).all("h1", dir="auto")} == {harmless(text)}


# Only our own styles and scripts run, each by its hash.
def test_policy(plain: Element) -> None:
    (policy,) = (
        one.attributes["content"] or ""
        for one in plain.all("meta")
        if "http-equiv" in one.attributes
    )
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    running = [one for one in plain.all("script") if "type" not in one.attributes]

    assert rules.keys() == {
        *("default-src", "script-src", "style-src", "img-src", "base-uri", "form-action")
    }
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["script-src"].split() == [hash_of(one) for one in running]
    assert hash_of(plain.one("style")) in rules["style-src"].split()
    assert "unsafe" not in policy
    head = [one.tag for one in plain.one("head").all()]
    assert head.index("style") > head.index("meta")


def hash_of(element: Element) -> str:
    digest = hashlib.sha256(element.text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


# No attribute leads out of the page or acts, and the styles load nothing.
def test_nothing_is_loaded(plain: Element) -> None:
    ids = [one.attributes["id"] for one in plain.all() if "id" in one.attributes]
    attributes = [item for one in plain.all() for item in one.attributes.items()]
    links = [value or "" for name, value in attributes if name in {"href", "xlink:href"}]
    loading = {"src", "srcset", "style", "action", "formaction", "srcdoc", "data"}

    assert not [name for name, _ in attributes if name.startswith("on") or name in loading]
    assert {link[0] for link in links} == {"#"}
    assert {link[1:] for link in links} <= set(ids)
    assert len(set(ids)) == len(ids)
    tags = {one.tag for one in plain.all()}
    assert not {"iframe", "object", "embed", "link", "base", "form", "img"} & tags
    assert not re.search(r"url\(|@import|@font-face", plain.one("style").text)


# The page is accessible: landmarks, headings without gaps, labels, a link past the navigation.
def test_accessibility(plain: Element) -> None:
    body = plain.one("body")
    first = body.all("a")[0]
    levels = [int(one.tag[1]) for one in body.all() if re.fullmatch(r"h[1-6]", one.tag)]

    assert (first.attributes["class"], first.attributes["href"]) == ("skip", "#answer")
    assert [len(body.all(tag)) for tag in ("header", "nav", "main", "footer", "h1")] == [1] * 5
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert all(
        body.one("h2", id=one.attributes["aria-labelledby"] or "") for one in body.all("section")
    )
    for control in [*body.all("select"), *body.all("input")]:
        assert [one for one in body.all("label") if control in one.all()]
    assert all(one.text or one.attributes["aria-label"] for one in body.all("button"))
    assert plain.one("html").attributes["lang"] == "en"


# Chinese texts are marked as such; texts of other languages have the direction of their own.
def test_languages() -> None:
    page = page_of("李翰与日本哪家店推出作品？")

    assert page.one("h1").attributes["lang"] == "zh"
    assert {one.attributes.get("lang") for one in page.all("blockquote")} >= {"zh"}
    assert "lang" not in page.one("nav").attributes
    assert page_of("مرحبا").one("h1").attributes == {"dir": "auto"}


def shown(element: Element) -> str:
    """The words of an element: links as in Markdown, marked words between ==, folded ones in {}."""
    words = ""
    for one in element.inside:
        if isinstance(one, str):
            words += one
        elif one.tag == "a":
            words += f"[{shown(one)}]({one.attributes['href']})"
        elif one.tag == "mark":
            words += f"=={shown(one)}=="
        elif one.tag == "details":
            words += f"{{{shown(one)}}}"
        elif one.tag not in ("script", "style"):
            words += f" {shown(one)} " if one.tag in ("th", "td") else shown(one)
    return words


def seen(page: Element) -> dict[str, str]:
    """The words of the navigation and of each section of a page."""
    parts = {"navigation": page.one("nav")}
    parts |= {one.attributes["id"] or "": one for one in page.one("main").all("section")}
    return {name: " ".join(shown(one).split()) for name, one in parts.items()}


def variant(text: str = "words", **changes: Any) -> Element:
    """The page of a run with changes of its reading."""
    reading, passages, subgraph = run_of(text)
    return parsed(render(replace(reading, **changes), passages, subgraph))


SCORED = tuple(replace(one, score=0.5) for one in run_of("words")[0].citations)
SURE = {"confidence": "likely", "explanation": "The year is inferred."}
PAID = Usage(3, 1000, 50, 2.5, dollars=0.00005, estimated=1)
READING = Reading("Who?", "Ada.", "", True, "c", "Look.", decider="openai:fake")
TURNS = (
    FunctionCall("search", "Who?", "", "question", ""),
    FunctionCall("read_chunk", "1.3", "", "turn 1", "c3"),
    FunctionCall("read_node", "Ada", "", "turn 2", "k1"),
)
OF_TURNS = (
    replace(READING, paths=(Path("question", "Ada.", 3, "termination", functions=TURNS),)),
    RunSubgraph((KeyElementRef("k1", "Ada"),), (ChunkRef("c3", 3, "life", "d", 0),)),
)
PAGES: dict[str, Callable[[], Element]] = {
    "answer": lambda: variant(),
    "likely answer": lambda: variant(**SURE),
    "not answered, with findings": lambda: variant(answered=False, **SURE),
    "passages": lambda: variant(citations=SCORED, decider="offline"),
    "nearest passages": lambda: variant(citations=SCORED, decider="offline", answered=False),
    "nothing found": lambda: parsed(render(NOTHING, [], RunSubgraph())),
    "in Chinese": lambda: variant("李翰与日本哪家店推出作品？"),
    "turns": lambda: parsed(render(OF_TURNS[0], [], OF_TURNS[1])),
    "costs": lambda: variant(usage=PAID, phases={"plan": PAID}),
    "no costs": lambda: variant(usage=Usage(3), phases={"plan": Usage(3)}, paths=()),
}


# Each kind of reading has its words: the title says how sure an answer is, and the explanation
# stands below it; numbers lead from the answer to the quotes and back, unsupported claims and lost
# texts are marked; without a model there are passages with their scores, after a refusal the
# nearest; a run that found nothing has no passages and no drawing; a step of mode `adaptive` is
# named by its turn, with the place that it led to; costs have columns for what was spent.
@pytest.mark.parametrize("kind", PAGES)
def test_kinds(snapshots: Snapshots, kind: str) -> None:
    page = PAGES[kind]()

    assert (len(page.all("script")) == 1) == (kind == "nothing found")
    snapshots.check(kind, seen(page))


# The page speaks the language of the question; each of its own words that the template asks for is
# in the table of the other language.
def test_language_of_the_page() -> None:
    english, chinese = page_of("Who came first?"), page_of("李翰与日本哪家店推出作品？")
    template = (files("graphreader") / "pages/page.html").read_text(encoding="utf-8")
    template += (files("graphreader") / "pages/run.html").read_text(encoding="utf-8")
    table = (files("graphreader") / "pages/words.zh.json").read_text(encoding="utf-8")
    asked = re.findall(r"""say\((?:"([^"]+)"|'([^']+)')\)""", template)

    assert {"".join(one) for one in asked} <= json.loads(table).keys()
    assert english.one("html").attributes["lang"] == "en"
    assert chinese.one("html").attributes["lang"] == "zh"
    assert chinese.one("p", id="description").attributes["data-document"] == "文档 {name}。"


# Of a long run cited chunks come first, then nodes by turns of the paths, no more than are drawn.
def test_long_run() -> None:
    reading, passages, subgraph = long_run()
    ids = visited_ids(reading, passages)
    text = render(reading, passages, subgraph)
    page = parsed(text)

    assert ids[: len(passages) + 2] == [*(one.id for one in passages), "k1-0", "k2-0"]
    assert len(text.encode()) < 2_000_000
    assert f"visited {len(ids) - MOST_NODES} more nodes" in " ".join(page.text.split())
    assert len(page.all("article", **{"class": "passage"})) == len(passages)
    assert sum(len(one.all("li")) for one in page.all("ol")) == 500


# The drawing library is the published one, with its license.
def test_drawing_library() -> None:
    folder = File(page_module.__file__).parent / "cytoscape"
    digest = hashlib.sha256((folder / "cytoscape.min.js").read_bytes()).hexdigest()

    assert digest in (folder / "README.md").read_text(encoding="utf-8")
    assert "Permission is hereby granted" in (folder / "LICENSE").read_text(encoding="utf-8")


# A file that cannot be written is refused in a sentence; one that can stays as it is while it is
# checked, and `~` is the person's home. A named pipe is not opened: that would wait for its reader.
def test_checked_files(tmp_path: File, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.html").write_text("earlier")
    os.mkfifo(tmp_path / "pipe")
    for name, sentence in (
        ("-", "goes into a file"),
        (".", "goes into a file"),
        ("none/report.html", "No such file or directory"),
        ("old.html/report.html", "Not a directory"),
    ):
        with pytest.raises(UsageError, match=sentence):
            check(name)
    checking = threading.Thread(target=check, args=("pipe",), daemon=True)
    checking.start()
    checking.join(10)

    assert not checking.is_alive()
    assert check("~/old.html") == tmp_path / "old.html"
    assert check(tmp_path / "new.html") == tmp_path / "new.html"
    assert (tmp_path / "old.html").read_text() == "earlier"
    assert sorted(os.listdir(tmp_path)) == ["old.html", "pipe"]


def passage(text: str) -> Chunk:
    return Chunk("c1", 0, "life", "d", 100, 100 + len(text), text, 9, "life.txt")


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
        (KeyElementRef("k1", "Ada"), KeyElementRef("k2", "Bo")),
        tuple(ChunkRef(f"c{n}", n, "life", "d", 0) for n in (0, 1, 3)),
        (Edge("k1", "k2", 3, "Ada met Bo."),),
    )
    drawing = draw_graph(replace(READING, paths=(path,)), [], subgraph)
    ada, bo = drawing.of("element")

    assert arrows(drawing) == [
        ("element-k1", "chunk-c0"),
        ("chunk-c0", "chunk-c1"),
        ("element-k1", "chunk-c3"),
        ("element-k1", "element-k2"),
    ]
    assert (ada.begins, bo.begins, bo.paths) == ((1,), (), (1,))
    assert bo.neighbors == (("Ada", 3, "Ada met Bo."),)
    assert [node.name for node in drawing.of("document")] == ["life"]


# The turns of mode `adaptive` begin at the question: arrows lead from there to what was read.
def test_turns() -> None:
    assert arrows(draw_graph(OF_TURNS[0], [], OF_TURNS[1])) == [
        ("question", "chunk-c3"),
        ("question", "element-k1"),
    ]
    assert not PAGES["turns"]().one("section", id="paths").all("table")


# A node that the graph has no more is counted, and the path goes on without it; a key element that
# was merged after the run is drawn, once, as the one it was merged into.
def test_gone_and_merged_nodes() -> None:
    calls = tuple(FunctionCall("read_neighbor_node", "", "", "", f"k{n}") for n in (1, 2, 4, 3))
    paths = (
        Path("Ada", "", 4, "termination", functions=calls, node_id="k1"),
        Path("Ada Lund", "", 0, "nothing_left", node_id="k3"),
    )
    subgraph = RunSubgraph(
        (KeyElementRef("k3", "Ada Lund"), KeyElementRef("k4", "Bo")),
        edges=(Edge("k3", "k4", 2, "Ada met Bo."),),
        merged={"k1": "k3"},
    )
    drawing = draw_graph(replace(READING, paths=paths), [], subgraph)
    ada, bo = drawing.of("element")

    assert (ada.name, ada.paths, ada.begins) == ("Ada Lund", (1, 2), (1, 2))
    assert bo.neighbors == (("Ada Lund", 2, "Ada met Bo."),)
    assert (drawing.gone, drawing.left_out) == (1, 0)
    assert arrows(drawing) == [("element-k3", "element-k4")]
