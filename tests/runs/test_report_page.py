"""The report of a real run: made by the commands, and opened in a browser as a person does.

The tests in a browser need a Chromium and are skipped without one, but not in CI.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.async_api import expect

from graphreader.agent.events import FunctionChosen
from graphreader.graph_reader import GraphReader
from graphreader.reading import Reading
from graphreader.settings import Settings
from tests.runs import world
from tests.runs.browser_window import DESK, PHONE, OpenWindow
from tests.terminal import Terminal, environment_of
from tests.unit.html_pages import parsed

pytestmark = pytest.mark.slow

QUESTION = "Whom did Alpha meet?"


@dataclass(frozen=True)
class Run:
    """A question that was asked, and its report."""

    reading: Reading
    page: Path


@pytest.fixture(scope="module")
def answered(neo4j: Settings, ring: str, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Two paths through the ring, each of which quotes the chunks that it reads."""
    target = tmp_path_factory.mktemp("report") / "report.html"
    decider = world.scripted(world.RING_FACTS, world.EXPLORING)
    with world.reader(neo4j, ring, decider, initial_nodes=2) as reader:
        reading = reader.ask(QUESTION)
        return Run(reading, reader.report(reading, target))


# A question's report says what its JSON says, and the kept run gives the same page once more. Where
# no report can be written nothing is asked, and a run that broke off has nothing to report yet.
def test_commands(terminal: Terminal, neo4j: Settings, ring: str, tmp_path: Path) -> None:
    home, to = tmp_path / "home", ("--corpus", ring)
    settings = neo4j.model_copy(update={"home": home, "initial_nodes": 2})
    terminal.set(**environment_of(settings), GRAPHREADER_HOME=str(home))
    terminal.set(GRAPHREADER_MODEL="offline", GRAPHREADER_INITIAL_NODES="2")
    refused = terminal.run("ask", QUESTION, *to, "--report", "none/report.html")
    no_runs = json.loads(terminal.run("runs", "list", "--json").out)["runs"]
    first, second = tmp_path / "first.html", tmp_path / "second.html"
    first.write_text("earlier")
    asked = terminal.run("ask", QUESTION, *to, "--json", "--report", str(first))
    again = terminal.run("runs", "show", asked.json["run"], "--report", str(second))
    with GraphReader(ring, settings=settings) as reader:
        for event in reader.stream(QUESTION, run="broken"):
            if isinstance(event, FunctionChosen):
                break
    broken = terminal.run("runs", "show", "broken", "--report", "broken.html")
    page = parsed(first.read_text(encoding="utf-8"))

    assert (refused.code, refused.out, no_runs) == (2, "", [])
    assert "report" in refused.err
    assert (asked.code, again.code) == (0, 0)
    assert f"The report is in {first}" in asked.err
    assert page.one("h1").text == QUESTION
    assert asked.json["citations"][0]["quote"] in page.one("section", id="passages").text
    assert len(page.all("article", **{"class": "passage"})) >= 1
    lanes = page.one("table", **{"class": "timeline"}).all("tr")
    assert len(lanes) == 1 + len(asked.json["paths"])
    assert second.read_bytes() == first.read_bytes()
    assert asked.json["citations"][0]["quote"] in again.out
    assert broken.code == 2
    assert "has no answer to report yet" in broken.err
    assert not (tmp_path / "broken.html").exists()


# In windows of every width it opens without a complaint, asks nobody for anything, fits its width
# and draws the graph. Dark and light differ, in the page and in the drawing.
@pytest.mark.parametrize("width", [PHONE, DESK])
async def test_it_opens(window: OpenWindow, answered: Run, width: int) -> None:
    opened = await window(answered.page.as_uri(), width=width, color_scheme="light")
    page = opened.page
    sizes = await page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    places = await page.locator("#canvas").get_attribute("data-drawn")

    assert sizes == [width, width]
    await opened.painted()
    assert int(places or 0) == await page.locator(".places > li").count()
    light = await opened.colours("body"), await page.locator("#canvas").screenshot()
    await page.emulate_media(color_scheme="dark")
    dark = await opened.colours("body"), await page.locator("#canvas").screenshot()
    assert light[0] != dark[0]
    assert light[1] != dark[1]
    assert opened.requests == [answered.page.as_uri()]


# With the keyboard alone one comes to the answer, its numbers, the timeline, the drawing; it shows
# where one is. A number leads to its quote, which is marked more strongly, and back.
async def test_keyboard(window: OpenWindow, answered: Run) -> None:
    opened = await window(answered.page.as_uri(), reduced_motion="reduce")
    page, mark = opened.page, "#c2 + mark"
    visited: list[str] = []
    await page.keyboard.press("Tab")
    first = await page.evaluate("document.activeElement.textContent")
    await page.keyboard.press("Enter")
    while len(visited) < 150 and visited[-1:] != ["all"]:
        await page.keyboard.press("Tab")
        name, outline = await page.evaluate(
            """() => { const one = document.activeElement, style = getComputedStyle(one)
              return [one.id || one.className || one.tagName, style.outlineStyle] }"""
        )
        visited.append(name)
        assert outline != "none", name
        if name == "r2":
            before = await opened.colours(mark)
            await page.keyboard.press("Enter")
            await expect(page.locator(mark)).to_be_in_viewport()
            assert await opened.colours(mark) != before
            await page.keyboard.press("Enter")
            assert page.url.endswith("#r2")

    assert first == "Skip to the answer"
    assert visited[:2] == ["r1", "r2"]
    assert {"c1", "c2", "cell", "path", "ties", "closer", "farther", "all"} <= set(visited)
    assert await page.locator(mark).inner_text() == answered.reading.citations[1].quote


# The drawing shows one path and hides shared facts.
async def test_the_drawing(window: OpenWindow, answered: Run) -> None:
    page = (await window(answered.page.as_uri())).page
    whole = await page.locator("#canvas").screenshot()
    await page.select_option("#path", "1")
    one = await page.locator("#canvas").screenshot()
    await page.select_option("#path", "0")
    await page.evaluate(
        "() => { document.getElementById('canvas')._cyreg.cy.edges('.way')[0].select() }"
    )  # without a value: to pass the selection on takes a minute
    description = await page.inner_text("#description")
    await page.locator("#ties").uncheck()
    without = await page.locator("#canvas").screenshot()

    assert len({whole, one, without}) == 3
    assert re.fullmatch(r"Path \d went from .+ to .+\.", description)


# Without JavaScript all but the drawing is there, in words. On paper all that is folded is open, in
# light colours, without what can only be clicked.
async def test_without_javascript_and_on_paper(window: OpenWindow, answered: Run) -> None:
    page = (await window(answered.page.as_uri(), java_script_enabled=False)).page
    await page.locator("#answer").get_by_role("link", name="Citation 1").click()
    await page.locator("details.words summary").click()

    assert await page.locator("#figure").is_hidden()
    assert await page.get_by_text("The drawing needs JavaScript").is_visible()
    assert await page.get_by_text(answered.reading.paths[0].initial_node).last.is_visible()
    assert page.url.endswith("#c1")
    paper = await window(answered.page.as_uri(), color_scheme="dark")
    await paper.page.emulate_media(media="print")
    await paper.page.evaluate("dispatchEvent(new Event('beforeprint'))")

    assert await paper.colours("body") == "rgb(255, 255, 255)"
    assert await paper.page.locator("details:not([open])").count() == 0
    assert await paper.page.locator("nav").is_hidden()
    assert (await paper.page.pdf()).startswith(b"%PDF")
