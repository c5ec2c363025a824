"""What runs share: a corpus of the test's own that is gone afterwards."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from playwright.async_api import Browser, async_playwright

from graphreader.graph_reader import GraphReader
from graphreader.llm import retry
from graphreader.settings import Settings
from graphreader.web.access import TokenStore
from tests.runs import web_server, world
from tests.runs.browser_window import OpenWindow, Window, chromium


@pytest.fixture
def cleaned(neo4j: Settings, corpus: str) -> Iterator[None]:
    """Deletes the test's corpus, if the test left one."""
    yield
    with GraphReader(corpus, settings=neo4j) as reader:
        if any(one.corpus == corpus for one in reader.corpora()):
            reader.delete(everything=True)


@pytest.fixture
def at_home(
    neo4j: Settings, cleaned: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """This process is that of somebody who has configured the server; see `world.at_home`."""
    world.at_home(neo4j, monkeypatch, tmp_path)


@pytest.fixture
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes wrong is tried again at once, or nearly."""
    monkeypatch.setattr(retry, "_FIRST_BACKOFF", 0.02)


@pytest.fixture(scope="session")
def ring(neo4j: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A corpus that tests only read: the ring of seven names, one sentence a chunk."""
    corpus = f"test-{uuid4().hex[:12]}"
    texts = world.write_files(tmp_path_factory.mktemp("texts"), {"ring": world.RING})
    with world.reader(neo4j, corpus, world.scripted(world.RING_FACTS, {})) as reader:
        reader.ingest(texts)
    yield corpus
    with GraphReader(corpus, settings=neo4j) as reader:
        reader.delete(everything=True)


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    """A real Chromium, without a window that can be seen."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        await browser.close()


@pytest.fixture
async def window(browser: Browser) -> AsyncIterator[OpenWindow]:
    """Opens windows, in which nothing may go wrong and which ask no other server for anything."""
    opened: list[Window] = []

    async def open(address: str, **options: Any) -> Window:
        opened.append(await Window.open(browser, address, **options))
        return opened[-1]

    yield open
    for one in opened:
        await one.page.close()
        assert one.complaints == []
        hosts = {urlsplit(address).netloc for address in one.requests} - {""}
        assert hosts <= {urlsplit(one.requests[0]).netloc}


@pytest.fixture(scope="session")
def web_home(neo4j: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home of servers, with two corpora of a text each; the other one has a secret."""
    home = tmp_path_factory.mktemp("home")
    secret = [*world.RING, f"{web_server.SECRET} met Beta here."]
    texts = world.write_files(tmp_path_factory.mktemp("texts"), {"ring": world.RING})
    others = world.write_files(tmp_path_factory.mktemp("other"), {web_server.SECRET: secret})
    with web_server.reader_of(neo4j, home) as reader:
        other = reader.at(web_server.OTHER)
        reader.ingest(texts)
        other.ingest(others)
        yield home
        for one in (reader, other):
            one.delete(everything=True)


@pytest.fixture(scope="session")
def local(neo4j: Settings, web_home: Path) -> Iterator[str]:
    """A server on loopback, without tokens."""
    with web_server.serving(web_server.reader_of(neo4j, web_home)) as address:
        yield address


@pytest.fixture(scope="session")
def guarded(neo4j: Settings, web_home: Path) -> Iterator[str]:
    """A server with tokens."""
    reader = web_server.reader_of(neo4j, web_home)
    with web_server.serving(reader, tokens=True) as address:
        yield address


@pytest.fixture
def token(web_home: Path) -> Callable[..., str]:
    """Makes a token, by default one that reads the first corpus."""

    def make(role: Any = "reader", name: str = "", **limits: Any) -> str:
        corpora = () if role == "admin" else (web_server.OWN,)
        store = TokenStore(web_home / "tokens.sqlite")
        return store.create(name or uuid4().hex, role, corpora, **limits)

    return make
