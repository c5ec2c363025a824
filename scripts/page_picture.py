"""The page of `graphreader serve` as PNG: a run under way."""

import asyncio
import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from graphreader import sync
from graphreader.graph_reader import GraphReader
from graphreader.offline.decider import OfflineDecider
from graphreader.settings import Settings
from graphreader.web.app import ServeOptions, make_server

WIDTH, HEIGHT = 1300, 1150
STEPS = 12  # of the paths, until the picture of the run under way
PACE = 0.7  # seconds of a decision, which would be over too soon for a picture


class PacedDecider(OfflineDecider):
    """Decides as slowly as a model."""

    async def decide(self, *arguments: Any, **options: Any) -> Any:
        """Take a decision after a while."""
        await asyncio.sleep(PACE)
        return await super().decide(*arguments, **options)


def page_picture(
    settings: Settings, corpus: str, question: str, target: Path, chromium: str
) -> None:
    """Ask on the page as a person does, in mode `paper`, and take a picture of the paths."""
    reader = GraphReader(corpus, settings=settings, decider=PacedDecider())
    with _serving(reader) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=1.25
        )
        page.goto(f"{address}/corpora/{corpus}")
        page.get_by_label("Reader").select_option("paper")
        page.get_by_role("textbox").fill(question)
        page.get_by_role("button", name="Ask").click()
        page.wait_for_url(re.compile("/runs/"))
        page.locator(".lane ol li").nth(STEPS).wait_for()
        page.locator("#canvas[data-drawn]").wait_for()
        page.wait_for_timeout(800)  # the drawing moves into its place
        page.screenshot(path=target)
        browser.close()


@contextmanager
def _serving(reader: GraphReader) -> Iterator[str]:
    listening = socket.create_server(("127.0.0.1", 0))
    server = make_server(reader, ServeOptions())
    with ThreadPoolExecutor(1) as thread:
        ended = thread.submit(lambda: sync.run(server.serve(sockets=[listening])))
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            ended.result()
