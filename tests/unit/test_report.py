"""The page of a report, taken apart: what it holds, and that no text can add anything to it."""

import base64
import hashlib
import json
import re
from itertools import pairwise
from pathlib import Path as File
from typing import Any

import pytest

from graphreader.html_report import page as page_module
from graphreader.html_report.citations import harmless
from graphreader.html_report.graph_view import MOST, touched_ids
from graphreader.html_report.page import render
from graphreader.reading import Reading
from graphreader.store.catalog import RunSubgraph
from tests.unit.reports import Element, long_run, parsed, told

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "</style><style>*{display:none}</style>",
    "</title><h1>another</h1>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)' x='",
    "<!-- <script> -->",
    "]]><![CDATA[<b>",
    "</details></blockquote></main></body></html><iframe src=//x>",
    "&lt;b&gt;&quot;&#60;script&#62;&amp",
    "{{ 7 * 7 }} {% raw %} {# x #} ${x} $question",
    "javascript:alert(1)//<a href=javascript:alert(1)>",
    "<svg/onload=alert(1)> <math><mtext></p><b>",
    "<base href=//x> <meta http-equiv=refresh content='0;url=//x'>",
    "<\u2028\u2029/script\x00>\x1b]0;x\x07",
)


def page_of(text: str) -> Element:
    return parsed(render(*told(text)))


def skeleton(element: Element) -> Any:
    """Elements and attributes without any text, and the graph's data without its texts."""
    inside = [skeleton(one) for one in element.inside if isinstance(one, Element)]
    attributes = dict(element.attributes)
    if element.tag == "script":
        inside.append(shape(element))
    return element.tag, attributes, inside


def shape(script: Element) -> Any:
    """Scripts as they are; of data the kinds of values."""
    if script.attributes.get("type") != "application/json":
        return script.text
    return [
        {
            key: value if isinstance(value, int) else type(value)
            for key, value in one["data"].items()
        }
        for one in json.loads(script.text)
    ]


@pytest.fixture(scope="module")
def plain() -> Element:
    """The page of a run of harmless words."""
    return page_of("plain words")


# Whatever a text holds, the page has the elements, attributes and scripts of a harmless one.
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_add_nothing(plain: Element, text: str) -> None:
    page = page_of(text)

    assert skeleton(page) == skeleton(plain)


# A hostile text can be read wherever a harmless one can, and nowhere else.
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_texts(plain: Element, text: str) -> None:
    body = page_of(text).one("body")
    shown = body.without("script")

    assert shown.count(harmless(text)) == plain.one("body").without("script").count("plain words")
    data = json.loads(body.one("script", type="application/json").text)
    assert {one["data"]["name"] for one in data if "name" in one["data"]} == {
        harmless(text),
        f"{harmless(text)}, chunk 0",
    }


# What turns the direction of writing, or no page may hold, is gone; each text stands for itself.
def test_acting_signs() -> None:
    text = "odd\u202egnp.exe\u2066\x00\x07\x9b\ud800\r end"
    page = render(*told(text))

    assert not set(page) & set("\u202e\u2066\x00\x07\x9b\ud800\r")
    assert page.encode()
    assert {one.text for one in parsed(page).all("h1", dir="auto")} == {harmless(text)}


# Only our own styles and scripts run, each by its hash; nothing is loaded from anywhere.
def test_policy(plain: Element) -> None:
    (policy,) = [
        one.attributes["content"] or ""
        for one in plain.all("meta")
        if one.attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    running = [one for one in plain.all("script") if "type" not in one.attributes]

    assert rules.keys() == {"default-src", "script-src", "style-src", "base-uri", "form-action"}
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["script-src"].split() == [hashed(one) for one in running]
    assert hashed(plain.one("style")) in rules["style-src"].split()
    assert "unsafe" not in policy
    head = [one.tag for one in plain.one("head").all()]
    assert head.index("style") > head.index("meta")


def hashed(element: Element) -> str:
    digest = hashlib.sha256(element.text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


# No attribute leads out of the page or acts, and the styles load nothing.
def test_nothing_leads_out(plain: Element) -> None:
    ids = [one.attributes["id"] for one in plain.all() if "id" in one.attributes]
    for one in plain.all():
        for name, value in one.attributes.items():
            assert not name.startswith("on")
            assert name not in {"src", "srcset", "style", "action", "formaction", "srcdoc", "data"}
            if name in {"href", "xlink:href"}:
                assert (value or "")[0] == "#"
                assert (value or "")[1:] in ids

    assert len(set(ids)) == len(ids)
    assert not {"iframe", "object", "embed", "link", "base", "form", "img"} & {
        one.tag for one in plain.all()
    }
    assert not re.search(r"url\(|@import|@font-face", plain.one("style").text)


# Whoever listens or uses the keyboard finds the way: landmarks, headings without gaps, labels.
def test_structure(plain: Element) -> None:
    body = plain.one("body")
    first = body.all("a")[0]
    levels = [int(one.tag[1]) for one in body.all() if re.fullmatch(r"h[1-6]", one.tag)]

    assert (first.attributes["class"], first.attributes["href"]) == ("skip", "#answer")
    assert [len(body.all(tag)) for tag in ("header", "nav", "main", "footer", "h1")] == [1] * 5
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    for section in body.all("section"):
        label = section.attributes["aria-labelledby"] or ""
        assert body.one("h2", id=label).text
    for control in [*body.all("select"), *body.all("input")]:
        assert [one for one in body.all("label") if control in one.all()]
    for button in body.all("button"):
        assert button.text or button.attributes["aria-label"]
    assert plain.one("html").attributes["lang"] == "en"


# The numbers of the answer lead to the quotes, and these back; what nothing bears out is said.
def test_citations(plain: Element) -> None:
    answer = plain.one("section", id="answer")
    first = plain.one("a", id="c1")
    (quote,) = [one for one in plain.all("span") if first in one.inside]

    assert [one.attributes["href"] for one in answer.all("a")] == ["#c1", "#c2", "#c1", "#c2"]
    assert first.attributes["href"] == "#r1"
    assert quote.one("mark").text == "plain words"
    assert answer.text.count("no quote bears this out") == 1
    assert "Otherwise plain words" in answer.text


# A cited chunk stands there in full; of one that the graph has no more only the quote.
def test_passages(plain: Element) -> None:
    whole, gone = plain.all("article", **{"class": "passage"})
    passage = told("plain words")[1][0]

    assert whole.one("blockquote").without("a", "summary") == passage.text
    assert whole.all("details")
    assert "does not hold this text any more" in gone.text
    assert gone.one("mark").text == "plain words"
    assert "page 7" in " ".join(gone.text.split())


# Chinese texts say that they are; texts of other languages have the direction of their own.
def test_languages() -> None:
    page = page_of("李翰与日本哪家店推出作品？")
    question, legend = page.one("h1"), page.one("nav")

    assert question.attributes["lang"] == "zh"
    assert {one.attributes.get("lang") for one in page.all("blockquote")} >= {"zh"}
    assert "lang" not in legend.attributes
    assert page_of("مرحبا").one("h1").attributes == {"dir": "auto"}


# A run that found nothing has a page as well, without a drawing and its library.
def test_nothing_found() -> None:
    reading = Reading("Who?", "Nobody knows.", "", False, "c", "Look.", decider="offline")
    page = parsed(render(reading, [], RunSubgraph()))

    assert page.one("section", id="answer").one("h2").text == "Not answered"
    assert "No path was begun." in page.text
    assert len(page.all("script")) == 1
    assert not page.all("section", id="passages")


# What was touched is looked up by turns of the paths, what is cited first; not more than is drawn.
def test_a_long_run() -> None:
    reading, passages, touched = long_run()
    ids = touched_ids(reading, passages)
    text = render(reading, passages, touched)
    page = parsed(text)

    assert ids[: len(passages) + 2] == [*(one.id for one in passages), "k1-0", "k2-0"]
    assert len(text.encode()) < 2_000_000
    assert f"touched {len(ids) - MOST} more places" in " ".join(page.text.split())
    assert len(page.all("article", **{"class": "passage"})) == len(passages)
    assert sum(len(one.all("li")) for one in page.all("ol")) == 500


# The drawing library is the one that its page says it is.
def test_the_library_is_the_published_one() -> None:
    folder = File(page_module.__file__).parent / "cytoscape"
    digest = hashlib.sha256((folder / "cytoscape.min.js").read_bytes()).hexdigest()

    assert digest in (folder / "README.md").read_text(encoding="utf-8")
    assert "Permission is hereby granted" in (folder / "LICENSE").read_text(encoding="utf-8")
