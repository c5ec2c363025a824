"""The report of a real run: made by the commands, and opened in a browser as a person does.

The tests in a browser need a Chromium (CHROMIUM, else the one on the path) and are skipped without
one, but not in continuous integration.
"""

import json
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from playwright.async_api import Browser, Page, async_playwright

from graphreader.agent.events import FunctionChosen
from graphreader.graph_reader import GraphReader
from graphreader.html_report.page import render
from graphreader.reading import Reading
from graphreader.settings import Settings
from tests.runs.forks import Forks
from tests.terminal import Outcome, environment_of
from tests.unit.html_pages import long_run, parsed, run_of

QUESTION = "Which saints spoke to Joan of Arc, and which pope canonized her?"
TEXT = Path(__file__).parents[2] / "examples" / "joan_of_arc.txt"
PHONE, TABLET, DESK = 360, 800, 1400
WINDOWS = [(width, scheme) for width in (PHONE, TABLET, DESK) for scheme in ("light", "dark")]


@dataclass(frozen=True)
class Asked:
    """A question that was asked of a corpus, and its report."""

    corpus: str
    reading: Reading
    page: Path


@pytest.fixture(scope="module")
def asked(neo4j: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """The life of Joan of Arc, asked offline."""
    corpus = f"test-report-{uuid4().hex[:12]}"
    target = tmp_path_factory.mktemp("report") / "report.html"
    with GraphReader(corpus, settings=neo4j) as reader:
        reader.ingest(TEXT)
        reading = reader.ask(QUESTION)
        yield Asked(corpus, reading, reader.report(reading, target))
        reader.delete(everything=True)


class Shell:
    """Types commands that have a home of their own."""

    def __init__(self, forks: Forks, settings: Settings, folder: Path) -> None:
        self._forks = forks
        self._folder = folder
        self._environment = environment_of(settings) | {
            "GRAPHREADER_HOME": str(folder / "home"),
            "GRAPHREADER_MODEL": "offline",
        }
        self._number = 0

    def __call__(self, *arguments: str) -> Outcome:
        self._number += 1
        folder = self._folder / str(self._number)
        return self._forks.start([*arguments], self._environment, folder).end()


@pytest.fixture
def shell(forks: Forks, neo4j: Settings, tmp_path: Path) -> Shell:
    return Shell(forks, neo4j, tmp_path)


# A question's report says what its JSON says; the kept run gives the same page once more.
def test_from_the_command_line(shell: Shell, asked: Asked, tmp_path: Path) -> None:
    first, second = tmp_path / "first.html", tmp_path / "second.html"
    first.write_text("earlier")
    answered = shell("ask", QUESTION, "--corpus", asked.corpus, "--json", "--report", str(first))
    reading = answered.json
    again = shell("runs", "show", reading["run"], "--report", str(second))
    page = parsed(first.read_text(encoding="utf-8"))

    assert (answered.code, again.code) == (0, 0)
    assert f"The report is in {first}" in answered.err
    assert page.one("h1").text == QUESTION
    assert reading["citations"][0]["quote"] in page.one("section", id="passages").text
    assert len(page.all("article", **{"class": "passage"})) >= 1
    assert len(page.one("table", **{"class": "timeline"}).all("tr")) == 1 + len(reading["paths"])
    assert second.read_bytes() == first.read_bytes()
    assert "Answer" in again.out


# Where no report can be written nothing is asked.
@pytest.mark.parametrize("name", ["none/report.html", ".", "-"])
def test_refused_before_asking(shell: Shell, asked: Asked, tmp_path: Path, name: str) -> None:
    target = name if name in (".", "-") else str(tmp_path / name)
    refused = shell("ask", QUESTION, "--corpus", asked.corpus, "--report", target)
    many = shell("ask", "--file", "-", "--corpus", asked.corpus, "--report", "report.html")

    assert (refused.code, refused.out) == (2, "")
    assert "report" in refused.err
    assert json.loads(shell("runs", "list", "--json").out)["runs"] == []
    assert many.code == 2
    assert "--report is for one question" in many.err


# A run that broke off has nothing to report yet; how to go on with it is said.
def test_a_run_without_an_answer(
    shell: Shell, neo4j: Settings, asked: Asked, tmp_path: Path
) -> None:
    settings = neo4j.model_copy(update={"home": tmp_path / "home"})
    with GraphReader(asked.corpus, settings=settings) as reader:
        for event in reader.stream(QUESTION, run="broken"):
            if isinstance(event, FunctionChosen):
                break
    shown = shell("runs", "show", "broken", "--report", str(tmp_path / "report.html"))

    assert shown.code == 2
    assert "`graphreader runs resume broken`" in shown.err
    assert not (tmp_path / "report.html").exists()


# What was deleted since is said to be gone; the quotes are there nevertheless.
async def test_a_corpus_that_is_gone(neo4j: Settings, asked: Asked, tmp_path: Path) -> None:
    gone = tmp_path / "gone.html"
    reading = Reading(**{**fields(asked.reading), "corpus": f"{asked.corpus}-gone"})
    reader = GraphReader(asked.corpus, settings=neo4j)
    await reader.areport(reading, gone)
    await reader.aclose()
    page = parsed(gone.read_text(encoding="utf-8"))

    assert "Nothing of what was touched is in the graph any more." in page.text
    assert {one.text for one in page.all("mark")} == {one.quote for one in reading.citations}


def fields(reading: Reading) -> dict[str, Any]:
    return {name: getattr(reading, name) for name in reading.__dataclass_fields__}


def chromium() -> str:
    """Where a Chromium is; a test without one is skipped, or fails where it always must run."""
    found = shutil.which(os.environ.get("CHROMIUM") or "chromium")
    if found is None:
        missing = "No Chromium: install one (Debian: apt-get install chromium), or set CHROMIUM."
        (pytest.fail if os.environ.get("CI") else pytest.skip)(missing)
    return found


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        await browser.close()


class Window:
    """A page that is open, and all that went wrong in it or left it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: self.complaints.append(dialog.message))

    @classmethod
    async def open(cls, browser: Browser, file: Path, **options: Any) -> "Window":
        width = options.pop("width", DESK)
        page = await browser.new_page(viewport={"width": width, "height": 900}, **options)
        window = cls(page)
        await page.goto(file.as_uri())
        return window

    async def colours(self, selector: str) -> str:
        """The background of an element."""
        found: str = await self.page.locator(selector).first.evaluate(
            "element => getComputedStyle(element).backgroundColor"
        )
        return found

    async def painted(self) -> int:
        """How many dots of the drawing are not empty."""
        found: int = await self.page.evaluate(
            """() => [...document.querySelectorAll('#canvas canvas')].reduce((sum, canvas) => {
                const dots = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
                return sum + dots.data.filter((value, place) => place % 4 === 3 && value > 0).length
            }, 0)"""
        )
        return found


# In every window and colour it opens without a complaint, asks nobody for anything, fits its width
# and draws the graph.
@pytest.mark.parametrize(("width", "scheme"), WINDOWS)
async def test_it_opens(browser: Browser, asked: Asked, width: int, scheme: Any) -> None:
    window = await Window.open(browser, asked.page, width=width, color_scheme=scheme)
    sizes = await window.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    places = await window.page.locator("#canvas").get_attribute("data-drawn")

    assert sizes == [width, width]
    assert await window.painted() > 1000
    assert int(places or 0) == await window.page.locator(".places > li").count()
    assert window.requests == [asked.page.as_uri()]
    assert window.complaints == []
    await window.page.close()


# Dark and light differ, in the page and in the drawing.
async def test_dark_and_light(browser: Browser, asked: Asked) -> None:
    window = await Window.open(browser, asked.page, color_scheme="light")
    light = await window.colours("body"), await window.page.locator("#canvas").screenshot()
    await window.page.emulate_media(color_scheme="dark")
    dark = await window.colours("body"), await window.page.locator("#canvas").screenshot()

    assert light[0] != dark[0]
    assert light[1] != dark[1]
    await window.page.close()


# A number in the answer leads to its quote, which is marked more strongly, and back.
async def test_from_a_number_to_the_passage(browser: Browser, asked: Asked) -> None:
    window = await Window.open(browser, asked.page, reduced_motion="reduce")
    page = window.page
    mark = page.locator("#c2 + mark")
    before = await mark.evaluate("mark => getComputedStyle(mark).backgroundColor")
    await page.locator("#answer").get_by_role("link", name="Citation 2").click()
    after = await mark.evaluate("mark => getComputedStyle(mark).backgroundColor")
    seen = await mark.evaluate(
        "mark => { const box = mark.getBoundingClientRect();"
        " return box.top >= 0 && box.bottom <= innerHeight }"
    )
    await page.get_by_role("link", name="Citation 2, back to the answer").click()

    assert await mark.inner_text() == asked.reading.citations[1].quote
    assert before != after
    assert seen
    assert page.url.endswith("#r2")
    await page.close()


# With the keyboard alone one comes to the answer, its numbers, the timeline, the drawing; it shows
# where one is.
async def test_keyboard(browser: Browser, asked: Asked) -> None:
    window = await Window.open(browser, asked.page)
    page = window.page
    visited: list[str] = []
    await page.keyboard.press("Tab")
    first = await page.evaluate("document.activeElement.textContent")
    await page.keyboard.press("Enter")
    for _ in range(150):
        await page.keyboard.press("Tab")
        here = await page.evaluate(
            """() => { const one = document.activeElement, style = getComputedStyle(one)
              return [one.id || one.className || one.tagName, style.outlineStyle] }"""
        )
        visited.append(here[0])
        assert here[1] != "none", here
        if here[0] == "all":
            break
    await page.keyboard.press("Tab")
    pans = [await page.locator("#canvas").screenshot()]
    for key in ("ArrowLeft", "+", "0"):
        await page.keyboard.press(key)
        pans.append(await page.locator("#canvas").screenshot())

    assert first == "Skip to the answer"
    assert visited[0] == "r1"
    assert {"c1", "c2", "cell", "path", "ties", "closer", "farther"} <= set(visited)
    assert len(set(pans[:3])) == 3
    assert pans[3] == pans[0]
    await page.close()


# The drawing shows one path, hides shared facts, and says what a place is.
async def test_the_drawing(browser: Browser, asked: Asked) -> None:
    window = await Window.open(browser, asked.page)
    page = window.page
    whole = await page.locator("#canvas").screenshot()
    await page.select_option("#path", "1")
    one = await page.locator("#canvas").screenshot()
    await page.select_option("#path", "0")
    await page.locator("#ties").uncheck()
    without = await page.locator("#canvas").screenshot()
    box = await page.locator("#canvas").bounding_box()
    assert box
    told_of: set[str] = set()
    for step in range(400):  # somewhere there is a place or a line
        x, y = box["x"] + box["width"] * (step % 20) / 20, box["y"] + box["height"] * step / 400
        await page.mouse.click(x + 5, y + 5)
        told_of.add(await page.locator("#told").inner_text())
        if len(told_of) > 2:
            break

    assert len({whole, one, without}) == 3
    assert any(asked.reading.paths[0].initial_node in words or "ath" in words for words in told_of)
    assert window.complaints == []
    await page.close()


# On a phone a finger scrolls the page over the drawing, too.
async def test_a_finger(browser: Browser, asked: Asked) -> None:
    window = await Window.open(browser, asked.page, width=PHONE, has_touch=True, is_mobile=True)
    page = window.page
    await page.locator("#canvas").scroll_into_view_if_needed()
    box = await page.locator("#canvas").bounding_box()
    devtools = await page.context.new_cdp_session(page)
    assert box
    before = await page.evaluate("scrollY")
    touches = [[{"x": box["x"] + 100, "y": box["y"] + 230 - 15 * step}] for step in range(11)]
    for kind, points in zip(["touchStart", *["touchMove"] * 10], touches, strict=True):
        await devtools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    await devtools.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    await page.wait_for_function("before => scrollY > before", arg=before, timeout=5000)
    after = await page.evaluate("scrollY")

    assert after > before
    await page.close()


# Without JavaScript all but the drawing is there, in words.
async def test_without_javascript(browser: Browser, asked: Asked) -> None:
    window = await Window.open(browser, asked.page, java_script_enabled=False)
    page = window.page
    await page.locator("#answer").get_by_role("link", name="Citation 1").click()
    await page.locator("details.words summary").click()

    assert await page.locator("#figure").is_hidden()
    assert await page.get_by_text("The drawing needs JavaScript").is_visible()
    assert await page.get_by_text(asked.reading.paths[0].initial_node).last.is_visible()
    assert page.url.endswith("#c1")
    await page.close()


# On paper all that is folded is open, in light colours, without what can only be clicked.
async def test_on_paper(browser: Browser, asked: Asked) -> None:
    window = await Window.open(browser, asked.page, color_scheme="dark")
    page = window.page
    await page.emulate_media(media="print")
    await page.evaluate("dispatchEvent(new Event('beforeprint'))")
    pdf = await page.pdf()

    assert await window.colours("body") == "rgb(255, 255, 255)"
    assert await page.locator("details:not([open])").count() == 0
    assert await page.locator("nav").is_hidden()
    assert pdf.startswith(b"%PDF")
    await page.close()


# A browser takes hostile texts for texts: nothing of them runs, is loaded or becomes an element.
async def test_hostile_texts(browser: Browser, tmp_path: Path) -> None:
    hostile = """</script></style></title>"'><img src=//x onerror=alert(1)><script>alert(1)//"""
    counts = []
    for text in ("plain words", hostile):
        file = tmp_path / "report.html"
        file.write_text(render(*run_of(text)), encoding="utf-8")
        window = await Window.open(browser, file)
        await window.page.locator("details.words summary").click()
        counts.append(await window.page.evaluate("document.querySelectorAll('*').length"))

        assert window.requests == [file.as_uri()]
        assert window.complaints == []
        assert await window.page.locator("h1").inner_text() == text
        assert await window.page.locator("#canvas").get_attribute("data-drawn") == "4"
        await window.page.close()

    assert len(set(counts)) == 1


# Fifty paths are drawn as far as they can be, and the page still opens quickly and fits a phone.
async def test_a_long_run(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "long.html"
    file.write_text(render(*long_run()), encoding="utf-8")
    window = await Window.open(browser, file, width=PHONE)

    assert await window.painted() > 1000
    assert await window.page.evaluate("document.documentElement.scrollWidth") == PHONE
    assert window.complaints == []
    await window.page.close()
