"""The page of `graphreader serve`: a real server, used in a real Chromium as people do."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from playwright.async_api import expect

from graphreader.agent.adaptive.tasks import Turn, TurnTask
from graphreader.agent.tasks import AnswerTask, ChunkTask, FactsTask, NeighborTask, PlanTask
from graphreader.graph_reader import GraphReader
from graphreader.ingestion.extraction import ExtractionTask
from graphreader.settings import Settings
from graphreader.web.access import TokenStore
from tests.runs import world
from tests.runs.browser_window import DESK, PHONE, OpenWindow, Window
from tests.runs.web_server import Gate, client, finished_job, serving

pytestmark = pytest.mark.slow

QUESTION = "Whom did Alpha meet?"
CORPUS = f"test-{uuid4().hex[:12]}"
HOSTILE = "</script></style><img src=//x onerror=alert(1)><script>alert(1)</script>\"'{{7*7}}\u202e"
LONG = "Supercalifragilistic" * 100


def turn(task: TurnTask) -> Turn:
    """An answer with the beginning of the first passage as its quote."""
    first = next(one for result in task.results for one in result["passages"])
    quote = first["text"][:20]
    return Turn.model_validate(
        {
            "findings": [{"passage": first["number"], "finding": quote, "quote": quote}],
            "answer": HOSTILE if "onerror" in task.question else "Beta",
            "notes": HOSTILE if "onerror" in task.question else "",
        }
    )


def extract(task: ExtractionTask) -> Any:
    """The facts of the ring; of any other text, one that is the text."""
    text = task.text.strip()[:3000]
    return world.extraction(world.RING_FACTS)(task) if " met " in text else hostile_facts(text)


def hostile_facts(text: str) -> Any:
    return world.extraction_of({text: [text[:90], HOSTILE, "圣女贞德"]})


GATES = {
    ExtractionTask: Gate(extract),
    PlanTask: Gate(world.plan),
    FactsTask: Gate(world.read_all),
    ChunkTask: Gate(lambda task: world.chunk("search_more", "Alpha met somebody.")),
    NeighborTask: Gate(lambda task: world.neighbor(1)),
    AnswerTask: Gate(world.first_quote),
    TurnTask: Gate(turn),
}


@contextmanager
def held(*tasks: type) -> Iterator[None]:
    """Hold these decisions back; what is still held at the end is let go."""
    try:
        for task in tasks:
            GATES[task].open.clear()
        yield
    finally:
        for gate in GATES.values():
            gate.open.set()


@pytest.fixture(scope="module")
def reader_of(
    neo4j: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[], GraphReader]]:
    """Makes readers with one home; their corpora are deleted at the end."""
    home = tmp_path_factory.mktemp("home")

    def make() -> GraphReader:
        decider = world.scripted(world.RING_FACTS, GATES)
        changes = {"home": home, "mode": "adaptive", "kept_runs": 100, "initial_nodes": 2}
        return world.reader(neo4j, CORPUS, decider, **changes)

    yield make
    with make() as reader:
        for one in reader.corpora():
            if one.corpus.startswith(CORPUS):
                reader.at(one.corpus).delete(everything=True)


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return world.write_files(tmp_path_factory.mktemp("texts"), {"ring": world.RING})


@pytest.fixture(scope="module")
def server(reader_of: Callable[[], GraphReader], texts: Path) -> Iterator[str]:
    """A server on loopback without tokens, with the ring in its corpus."""
    with reader_of() as reader:
        reader.ingest(texts)
    with serving(reader_of()) as address:
        yield address


@pytest.fixture
def visit(window: OpenWindow, server: str) -> OpenWindow:
    """Opens pages of the server, or of another one."""
    return lambda path, at=server, **options: window(at + path, **options)


async def ask(window: Window, question: str = QUESTION, mode: str = "adaptive") -> None:
    """Type a question, choose the mode, press Enter; the run's page opens."""
    before = window.page.url
    await window.page.get_by_label("Reader").select_option(mode)
    await window.page.get_by_role("textbox").first.fill(question)
    await window.page.get_by_role("textbox").first.press("Enter")
    await window.page.wait_for_url(lambda url: "/runs/" in url and url != before)


def files_of(window: Window) -> Any:
    return window.page.locator("input[name=files]"), window.page.locator("input[name=folder]")


# From nothing to an answer: name a corpus, send files and a folder, see how far each is, ask.
async def test_first_use(visit: OpenWindow, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("Alpha met Beta here.")
    (tmp_path / "two.txt").write_text("Beta met Gamma here.")
    (tmp_path / "broken.pdf").write_bytes(b"no pdf")
    folder = world.write_files(tmp_path / "folder", {"three": ["Gamma met Delta here."]})
    (folder / "picture.png").write_bytes(b"unreadable")
    desk = await visit("/")
    page = desk.page
    await page.get_by_label("corpus").fill(f"{CORPUS} first")
    await page.get_by_label("corpus").press("Enter")
    await expect(page.get_by_text("Nothing has been read yet.")).to_be_visible()
    files, folders = files_of(desk)
    with held(ExtractionTask):
        await files.set_input_files([tmp_path / n for n in ("one.txt", "two.txt", "broken.pdf")])
        job = page.locator(".job").first
        await expect(job.locator("h3 .tag")).to_have_text("running")
        await expect(job.locator(".files .refused .error")).to_contain_text("broken.pdf")
        await expect(job.locator(".files .reading")).to_have_count(2)
        await folders.set_input_files(folder)
        await expect(page.locator("#message")).to_contain_text("1 of 2 files")
        await expect(page.locator(".job .tag", has_text="queued")).to_have_count(1)
    await expect(page.locator(".job h3 .tag")).to_have_text(["finished", "finished"])
    rows = page.locator("#documents tbody th a")
    await expect(rows).to_have_text(["one", "three", "two"])
    await page.get_by_role("link", name="Ask a question").click()
    await ask(desk)

    await expect(page.locator(".answer")).to_contain_text("Beta")


# With the box ticked a text is seen before it is read in, and is read in by a button.
async def test_a_preview(visit: OpenWindow, tmp_path: Path) -> None:
    corpus = f"test-{uuid4().hex[:12]}"
    (tmp_path / "mill.txt").write_bytes("Łódź: Alpha met Beta here.\n".encode() * 9 + b"\xff")
    desk = await visit(f"/corpora/{corpus}/documents")
    page = desk.page
    files, _ = files_of(desk)
    await page.get_by_label("Show the text before it is read in").check()
    await files.set_input_files([tmp_path / "mill.txt"])
    shown = page.locator("#preview")
    await expect(shown.locator("blockquote")).to_contain_text("Alpha met Beta here.")
    await expect(shown.locator(".left-out")).to_contain_text("which is unsure")
    await shown.get_by_role("button", name="Close").click()
    await expect(shown).to_be_empty()
    await expect(page.get_by_text("Nothing has been read yet.")).to_be_visible()
    await files.set_input_files([tmp_path / "mill.txt"])
    await shown.get_by_role("button", name="Read in").click()
    await expect(page.locator(".job h3 .tag")).to_have_text(["finished"])
    await expect(page.locator(".job .files")).to_contain_text("which is unsure")


# A run is seen as it happens, by several people; what one of them has folded stays folded, and a
# page that is loaded anew goes on from where the run is.
async def test_a_live_run(visit: OpenWindow) -> None:
    first = await visit(f"/corpora/{CORPUS}")
    page = first.page
    with held(PlanTask, FactsTask, NeighborTask, AnswerTask):
        await ask(first, mode="paper")
        await expect(page.locator(".status")).to_contain_text("under way")
        await expect(page.locator("#answer")).to_contain_text("appears here as it is written")
        GATES[PlanTask].open.set()
        await expect(page.locator("#plan")).to_contain_text("Look at what the texts say.")
        await expect(page.locator(".lane")).to_have_count(2)
        GATES[FactsTask].open.set()
        await expect(page.locator(".lane .notebook")).to_have_count(2)
        await expect(page.locator("#path option")).to_have_count(3)
        drawn = page.locator("#canvas")
        await expect(drawn).to_have_attribute("data-drawn", re.compile(r"\d+"))
        before = int(await drawn.get_attribute("data-drawn") or 0)
        await page.locator(".steps summary").first.click()
        await page.select_option("#path", "2")
        second = await visit(urlsplit(page.url).path)
        await expect(second.page.locator(".lane")).to_have_count(2)
        GATES[NeighborTask].open.set()
        await expect(page.locator(".lane .ended.now")).to_have_count(0)
        assert int(await drawn.get_attribute("data-drawn") or 0) > before
        assert await page.locator(".steps").first.get_attribute("open") is None
        assert await page.locator("#path").input_value() == "2"
        await page.reload()
        await expect(page.locator(".status")).to_contain_text("under way")
        await expect(page.locator(".lane .notebook")).to_have_count(2)
        assert await page.locator("#follow").is_hidden()
    for one in (first, second):
        await expect(one.page.locator(".answer")).to_contain_text("Alpha met somebody.")
        await expect(one.page.locator("#follow")).to_be_visible()
        await one.painted()


# A number in the answer leads to its quote, and the passage to the document, where the quote is
# marked. The report is the one of the HTTP interface. A question asked below an answer follows it
# up: the conversation stands above it.
async def test_an_answer(visit: OpenWindow, server: str) -> None:
    desk = await visit(f"/corpora/{CORPUS}", reduced_motion="reduce")
    page = desk.page
    await ask(desk)
    await page.get_by_role("link", name="Citation 1", exact=True).first.click()
    quote = page.locator("mark.now")
    await expect(quote).to_be_in_viewport()
    cited = await quote.inner_text()
    async with page.expect_download() as downloading:
        await page.get_by_role("link", name="Report").click()
    report = Path(await (await downloading.value).path()).read_text(encoding="utf-8")
    run = urlsplit(page.url).path
    with client(server) as web:
        assert report == web.get(f"/api{run}/report").text
    await page.locator("#passages h3 a").first.click()
    await expect(page.locator("mark#quote")).to_be_in_viewport()
    assert await page.locator("mark#quote").inner_text() == cited
    await page.go_back()
    await ask(desk, "And where was that?")

    await expect(page.locator("h1")).to_have_text("And where was that?")
    earlier = page.locator(".conversation li")
    await expect(earlier).to_have_count(1)
    await expect(earlier).to_contain_text(QUESTION)
    await expect(earlier).to_contain_text("Beta")


# A folded field limits a question to some documents; a wrong limit is refused before anything is
# asked. The page of the run shows the limit, and a follow-up has it until it is taken away.
async def test_a_scope(visit: OpenWindow, server: str) -> None:
    corpus = f"{CORPUS}-scope"
    met = {"one": "Alpha met Beta here.", "two": "Beta met Gamma here."}
    documents = [{"id": id, "title": id, "text": text} for id, text in met.items()]
    with client(server) as web:
        sent = web.post(f"/api/corpora/{corpus}/documents", json={"documents": documents})
        finished_job(web, sent.json()["job"])
    desk = await visit(f"/corpora/{corpus}")
    page = desk.page
    limits = page.locator("#scope")
    await expect(limits).to_be_hidden()
    await page.get_by_text("Only some documents").click()
    await limits.fill("nowhere/")
    await page.get_by_role("textbox").first.fill(QUESTION)
    await page.get_by_role("button", name="Ask").click()
    await expect(page.locator("#message")).to_contain_text("No document has the id, title, path")
    assert await page.get_by_role("textbox").first.input_value() == QUESTION
    await limits.fill("two\n\ntag:none\n")
    await page.get_by_role("button", name="Ask").click()
    await expect(page.locator("#message")).to_contain_text("in the scope two, tag:none")
    await limits.fill("two\n")
    await ask(desk)
    await expect(page.locator("#limits .tag")).to_have_text(["two"])
    await expect(page.locator("#passages h3")).to_have_text(["two"])
    await expect(limits).to_have_value("two")
    await ask(desk, "And where was that?")
    await expect(page.locator("#limits .tag")).to_have_text(["two"])
    await expect(page.locator("#passages h3")).to_have_text(["two"])
    await limits.fill("")
    await ask(desk, "And where was Alpha?")

    await expect(page.locator(".answer")).to_contain_text("Beta")
    await expect(page.locator("#limits")).to_have_count(0)


# A run that is stopped says so, and goes on when it is told to; it is deleted only after a "yes".
async def test_stop_go_on_and_delete(visit: OpenWindow) -> None:
    desk = await visit(f"/corpora/{CORPUS}")
    page = desk.page
    with held(TurnTask):
        await ask(desk)
        await page.get_by_role("button", name="Stop").click()
        await expect(page.locator(".status")).to_contain_text("stopped")
        await page.reload()
        await page.get_by_role("button", name="Go on").click()
        await expect(page.locator(".status")).to_contain_text("under way")
    await expect(page.locator(".answer")).to_contain_text("Beta")
    await page.get_by_role("button", name="Delete").click()
    await expect(page.locator(".answer")).to_be_visible()
    desk.accepts = True
    async with page.expect_navigation():
        await page.get_by_role("button", name="Delete").click()

    assert urlsplit(page.url).path == f"/corpora/{CORPUS}"
    assert desk.dialogs == ["Delete this run?"] * 2


# A page that is open when the server ends shows how the run is, at the latest when it is back; a
# question that cannot be sent meanwhile stays in its box.
async def test_a_lost_server(visit: OpenWindow, server: str, reader_of: Any) -> None:
    with held(TurnTask):
        with serving(reader_of()) as address:
            desk = await visit(f"/corpora/{CORPUS}", address)
            other = await visit(f"/corpora/{CORPUS}", address)
            await ask(desk)
        page = desk.page
        await other.page.get_by_role("textbox").fill(QUESTION)
        await other.page.get_by_role("button", name="Ask").click()
        await expect(other.page.locator("#message")).to_contain_text("The server does not answer")
        assert await other.page.get_by_role("textbox").input_value() == QUESTION
    with serving(reader_of(), port=urlsplit(address).port or 0):
        await expect(page.get_by_role("button", name="Go on")).to_be_visible()
        await expect(page.locator("#message")).to_be_hidden()
        await page.get_by_role("button", name="Go on").click()
        await expect(page.locator(".answer")).to_contain_text("Beta")


# Documents and corpora are deleted only after a "yes", and a whole list can be filtered and paged.
async def test_documents(visit: OpenWindow, server: str) -> None:
    corpus = f"{CORPUS}-many"
    documents = [{"id": f"n{n}", "title": f"Note {n:03}", "text": f"No {n}."} for n in range(12)]
    with client(server) as web:
        sent = web.post(f"/api/corpora/{corpus}/documents", json={"documents": documents})
        finished_job(web, sent.json()["job"])
    desk = await visit(f"/corpora/{corpus}/documents?limit=10")
    page = desk.page
    await page.get_by_role("link", name="Next").click()
    await expect(page.locator("#documents tbody tr")).to_have_count(2)
    await page.get_by_label("Words of the title").fill("note 01")
    await page.get_by_label("Words of the title").press("Enter")
    await expect(page.locator("#documents tbody tr")).to_have_count(3)
    await page.get_by_role("button", name="Delete Note 010").click()
    desk.accepts = True
    async with page.expect_navigation():
        await page.get_by_role("button", name="Delete Note 011").click()
    titles = await page.locator("#documents tbody th a").all_inner_texts()
    async with page.expect_navigation():
        await page.get_by_role("button", name="Delete the corpus").click()

    assert titles == ["Note 001", "Note 010"]
    assert urlsplit(page.url).path == "/"
    assert [dialog.split(" with ")[0] for dialog in desk.dialogs] == [
        "Delete “Note 010”",
        "Delete “Note 011”",
        f"Delete the corpus “{corpus}”",
    ]


# With tokens every page leads to the form for one; a wrong one is refused, and who only reads is
# offered nothing else.
async def test_signing_in(visit: OpenWindow, server: str, reader_of: Any) -> None:
    reader = reader_of()
    store = TokenStore(reader.resources.settings.database_of("tokens"))
    secret = store.create("anna", "reader", [CORPUS])
    with serving(reader, tokens=True) as address:
        desk = await visit(f"/corpora/{CORPUS}", address)
        page = desk.page
        for token in ("gr_wrong", secret):
            await page.get_by_label("Access token").fill(token)
            await page.get_by_role("button", name="Sign in").click()
            await page.wait_for_load_state()
            if token != secret:
                await expect(page.locator("#wrong")).to_contain_text("unknown, revoked")
        await page.get_by_role("link", name=re.compile(CORPUS)).click()
        await page.get_by_role("link", name="Documents").click()
        await expect(page.locator("#documents tbody tr")).to_have_count(1)
        forbidden = page.locator("#upload, [data-delete]")
        assert await forbidden.count() == 0
        await page.get_by_role("link", name="Ask", exact=True).click()
        await ask(desk)
        await expect(page.locator(".answer")).to_contain_text("Beta")
        assert await page.locator("form.new").count() == 0
        await page.get_by_role("button", name="Sign out").click()
        await page.goto(f"{address}/corpora/{CORPUS}")
        assert urlsplit(page.url).path == "/login"


# By keyboard alone one asks, comes to all that can be used, sees where one is, and moves the
# drawing.
async def test_keyboard(visit: OpenWindow) -> None:
    desk = await visit(f"/corpora/{CORPUS}")
    page = desk.page
    await page.keyboard.press("Tab")
    assert await page.evaluate("document.activeElement.textContent") == "Skip to the content"
    await page.keyboard.press("Enter")
    await page.keyboard.press("Tab")
    await page.keyboard.type(QUESTION)
    await page.keyboard.press("Shift+Enter")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/runs/*")
    await expect(page.locator("#follow")).to_be_visible()
    visited = []
    for _ in range(100):
        await page.keyboard.press("Tab")
        here = await page.evaluate(
            """() => { const one = document.activeElement, style = getComputedStyle(one)
              return [one.id || one.textContent.trim(), style.outlineStyle] }"""
        )
        visited.append(here[0])
        assert here[1] != "none", here
        if here[0] == "canvas":
            break
    before = await page.locator("#canvas").screenshot()
    await page.keyboard.press("ArrowLeft")
    await page.keyboard.press("+")

    assert {"Documents", "Report", "Delete", "path", "ties", "all", "canvas"} <= set(visited)
    assert await page.locator("#canvas").screenshot() != before


@pytest.fixture(scope="module")
def paths(server: str) -> dict[str, str]:
    """The addresses of pages whose every text is hostile, very long, or Chinese."""
    corpus = f"{CORPUS} <b>&'\"%"
    base = f"/corpora/{corpus.replace('%', '%25')}"
    texts = [HOSTILE * 20, LONG, "贞德生于栋雷米。她十九岁时死于鲁昂。" * 30]
    documents = [
        {"id": f"{HOSTILE}{n}", "title": text[:300], "text": text} for n, text in enumerate(texts)
    ]
    with client(server) as web:
        files = [("files", (f"{HOSTILE.replace('/', '')}{LONG[:200]}.pdf", b"broken"))]
        jobs = [
            web.post(f"/api{base}/documents", json={"documents": documents}),
            web.post(f"/api{base}/documents", files=files),
        ]
        for job in jobs:
            finished_job(web, job.json()["job"])
        asked = {"question": f"{HOSTILE} {LONG}"}
        first = web.post(f"/api{base}/questions", json=asked).json()["run"]
        asked = {"question": f"贞德死于何处？{HOSTILE}", "follow": first, "mode": "paper"}
        second = web.post(f"/api{base}/questions", json=asked).json()["run"]
        (element, *_) = web.get(f"/api{base}/key-elements", params={"text": "圣女贞德"}).json()[
            "key_elements"
        ]
        document = web.get(f"/api{base}/documents").json()["documents"][0]["id"]
    pages = {
        "ask": base,
        "documents": f"{base}/documents",
        "document": f"{base}/documents/{document}?start=3&end=90",
        "search": f"{base}/search?text=script%20%E8%B4%9E%E5%BE%B7",
        "element": f"{base}/elements/{element['id']}",
        "run": f"/runs/{first}",
        "run in Chinese": f"/runs/{second}",
        "runs": f"{base}/runs",
        "corpora": "/",
        "interface": "/docs",
        "sign in": "/login",
        "not found": "/runs/none",
    }
    return {name: server + path for name, path in pages.items()}


LOOKS = [(PHONE, "dark"), (DESK, "light")]


# On a phone and on a desk each page fits its window and bars nobody, whatever the texts are, and
# nothing of them runs, is loaded or becomes an element.
async def test_hostile_texts(visit: OpenWindow, paths: dict[str, str]) -> None:
    looks = [await visit("/", width=width, color_scheme=scheme) for width, scheme in LOOKS]
    for name, path in paths.items():
        for look in looks:
            await look.page.goto(path)
            await expect(look.page.locator("main")).to_be_visible()
            assert await look.cut_off() == [], name
            assert await look.barriers() == [], name
            injected = "main :is(img, style, script:not([type='application/json']))"
            assert await look.page.locator(injected).count() == 0, name
    assert not any(look.dialogs for look in looks)
