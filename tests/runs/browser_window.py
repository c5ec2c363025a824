"""Windows of a real Chromium (CHROMIUM, else the one on the path) and what goes wrong in them."""

import os
import shutil
from collections.abc import Callable, Coroutine
from importlib.resources import files
from typing import Any

import pytest
from playwright.async_api import Browser, ConsoleMessage, Dialog, Page, expect

PHONE, DESK = 360, 1600
expect.set_options(timeout=60_000)


def chromium() -> str:
    """Where a Chromium is; a test without one is skipped, or fails where it always must run."""
    found = shutil.which(os.environ.get("CHROMIUM") or "chromium")
    if found is None:
        missing = "No Chromium: install one (Debian: apt-get install chromium), or set CHROMIUM."
        (pytest.fail if os.environ.get("CI") else pytest.skip)(missing)
    return found


class Window:
    """A page that is open, and all that went wrong in it or left it.

    A status of failure is no complaint: some are asked for. Dialogs are answered by `accepts`.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.dialogs: list[str] = []
        self.accepts = False
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", self._answer)

    @classmethod
    async def open(cls, browser: Browser, address: str, **options: Any) -> "Window":
        width = options.pop("width", DESK)
        page = await browser.new_page(viewport={"width": width, "height": 900}, **options)
        page.set_default_timeout(60_000)
        window = cls(page)
        await page.goto(address)
        return window

    def _note(self, message: ConsoleMessage) -> None:
        if not message.text.startswith("Failed to load resource"):
            self.complaints.append(message.text)

    async def _answer(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        await (dialog.accept() if self.accepts else dialog.dismiss())

    async def colours(self, selector: str) -> str:
        """The background of an element."""
        found: str = await self.page.locator(selector).first.evaluate(
            "element => getComputedStyle(element).backgroundColor"
        )
        return found

    async def painted(self) -> None:
        """Wait until the drawing shows something: Cytoscape paints in a later animation frame."""
        await self.page.wait_for_function(
            """() => [...document.querySelectorAll('#canvas canvas')].some(canvas => {
                const dots = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
                return dots.data.filter((value, place) => place % 4 === 3 && value > 0).length > 500
            })"""
        )

    async def barriers(self) -> list[str]:
        """What axe-core calls serious or critical for people who use other means than eyes."""
        source = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
        await self.page.evaluate(source)
        found: list[str] = await self.page.evaluate(
            """async () => (await axe.run()).violations
                .filter(one => ['serious', 'critical'].includes(one.impact))
                .map(one => `${one.id}: ${one.nodes[0].html}`)"""
        )
        return found

    async def cut_off(self) -> list[str]:
        """What is wider than the window and cannot be scrolled to."""
        found: list[str] = await self.page.evaluate(
            """() => [document.documentElement.scrollWidth > innerWidth ? 'the page' : '',
              ...[...document.querySelectorAll('main *, .bar *')].filter(one =>
                !one.closest('.scroll, #canvas, .hidden, select, svg') &&
                one.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true }) &&
                (one.getBoundingClientRect().right > innerWidth + 1 ||
                  one.getBoundingClientRect().left < -1)
              ).map(one => one.outerHTML.slice(0, 200))].filter(Boolean)"""
        )
        return found


OpenWindow = Callable[..., Coroutine[Any, Any, Window]]
"""Opens a window on an address."""
