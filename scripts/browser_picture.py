"""Graphs as Neo4j Browser draws them, as PNG."""

import re
from collections.abc import Mapping
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from graphreader.store.embedded.server import RunningServer

WIDTH, HEIGHT, SCALE = 1200, 800, 1.25
SETTLE = 5000
"""Milliseconds that the nodes get to find their places."""

ROOM_LEFT = 60
"""Pixels that the buttons on the left take."""


def graph_pictures(server: RunningServer, pictures: Mapping[Path, Path], chromium: str) -> None:
    """Enter the Browser as a person does, and take a picture of what each saved query draws."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        context = browser.new_context(
            viewport={"width": WIDTH, "height": HEIGHT},
            device_scale_factor=SCALE,
            permissions=["clipboard-read", "clipboard-write"],
        )
        page = context.new_page()
        _enter(page, server)
        for query, target in pictures.items():
            _draw(page, query)
            page.screenshot(path=target)
            page.get_by_title("Close fullscreen").first.click()
        browser.close()


def _draw(page: Page, query: Path) -> None:
    text = query.read_text(encoding="utf-8")
    style = query.with_name("colours.grass").read_text(encoding="utf-8")
    for command in (f":style {style}", *re.findall(r"^// (:param .+)$", text, re.M), ":clear"):
        _run(page, command)
    _run(page, text)
    page.locator("article g.node").first.wait_for()
    page.locator("article button[title=Fullscreen]").first.click()
    page.wait_for_timeout(SETTLE)
    page.get_by_role("button", name="zoom-to-fit").click()
    page.wait_for_timeout(1000)
    _fit(page)


def _enter(page: Page, server: RunningServer) -> None:
    page.goto(f"{server.http}/browser/")
    page.get_by_test_id("bolt-scheme-select").select_option("bolt://")
    page.get_by_test_id("boltaddress").fill(server.uri.removeprefix("bolt://"))
    page.get_by_test_id("username").fill(server.username)
    page.get_by_test_id("password").fill(server.password.get_secret_value())
    page.get_by_test_id("password").press("Enter")
    page.get_by_text("You are connected").first.wait_for()


def _run(page: Page, command: str) -> None:
    # Pasted, because the editor closes every bracket that is typed.
    page.evaluate("text => navigator.clipboard.writeText(text)", command)
    page.locator(".monaco-editor").first.click()
    for keys in ("Control+A", "Control+V", "Control+Enter"):
        page.keyboard.press(keys)
    page.wait_for_timeout(1000)


def _fit(page: Page) -> None:
    """Center the graph in the space next to the panel."""
    panel = page.get_by_test_id("vizInspector").bounding_box()
    assert panel
    left, right = _extent(page)
    while right - left > panel["x"] - ROOM_LEFT:
        page.get_by_role("button", name="zoom-out").click()
        page.wait_for_timeout(500)
        left, right = _extent(page)
    shift = (ROOM_LEFT + panel["x"]) / 2 - (left + right) / 2
    # Where no node is: the graph moves with what is under it.
    page.mouse.move(ROOM_LEFT + 10, HEIGHT - 10)
    page.mouse.down()
    page.mouse.move(ROOM_LEFT + 10 + shift, HEIGHT - 10, steps=5)
    page.mouse.up()
    page.wait_for_timeout(500)


def _extent(page: Page) -> tuple[float, float]:
    """Where the graph begins and ends, from left to right."""
    nodes = [node.bounding_box() for node in page.locator("article g.node").all()]
    boxes = [box for box in nodes if box]
    return min(box["x"] for box in boxes), max(box["x"] + box["width"] for box in boxes)
