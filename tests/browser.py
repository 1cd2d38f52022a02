"""A real browser for tests: Chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PATIENCE = 120.0  # seconds for what takes an instant, on a machine that has much else to do
_TWO_FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def find_chromium() -> str | None:
    """Return where Chromium is: as the variable CHROMIUM says, on the path, or Playwright's own."""
    named = os.environ.get("CHROMIUM")
    here = (path for name in _NAMES if (path := shutil.which(name)))
    return named or next(here, None) or _playwrights_own()


def _playwrights_own() -> str | None:
    """Return where ``playwright install`` has put a Chromium without a window, None if nowhere."""
    folder = os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or "~/.cache/ms-playwright"
    found = sorted(Path(folder).expanduser().glob("chromium*/*/*"))
    programs = ("headless_shell", "chrome", "chrome-headless-shell")
    return next((str(path) for path in found if path.name in programs), None)


def playwright_timeout() -> type[Exception]:
    """Return the class of errors of what does not happen in time."""
    from playwright.sync_api import TimeoutError as Late

    return Late


@contextmanager
def chromium() -> Iterator[Any]:
    """Open a browser; skip the test where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = find_chromium()
    if path is None:
        pytest.skip("there is no Chromium: install it, or name it in the variable CHROMIUM")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=_QUIET, timeout=1000 * PATIENCE)
        try:
            yield browser
        finally:
            browser.close()


class Tab:
    """A page of the browser, and what it complained about."""

    def __init__(self, browser: Any, width: int = 1280, height: int = 900, **more: Any) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": height}, **more)
        self.context.set_default_timeout(1000 * PATIENCE)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def open(self, link: str) -> Tab:
        """Load a page."""
        self.page.goto(link)
        return self

    def open_run(self, link: str) -> Tab:
        """Load the page of a run, and wait until its clusters are listed and drawn."""
        self.open(link).wait("document.querySelectorAll('#cluster-list li').length > 0")
        self.settle()
        return self

    def click(self, what: Any, **where: Any) -> None:
        """Click on the first of what is meant, a selector or locator; return when it is drawn."""
        found = self.page.locator(what) if isinstance(what, str) else what
        found.first.click(**where)
        self.settle()

    def click_in(self, selector: str, across: float, down: float) -> None:
        """Click in an element, at shares of its width and height, whatever they become."""
        found = self.page.locator(selector)
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                wide, high = found.evaluate("e => [e.clientWidth, e.clientHeight]")
                spot = {"x": across * wide, "y": down * high}
                self.click(found, position=spot, timeout=2000)
                return
            except playwright_timeout():  # it has shrunk meanwhile, and the spot is outside
                assert time.monotonic() < deadline, f"never still: {selector}"

    def settle(self) -> None:
        """Wait until what has changed is on the screen: the page draws once a frame."""
        self.page.evaluate(_TWO_FRAMES)

    def text(self, selector: str) -> str:
        """Return what an element says."""
        return (self.page.locator(selector).text_content() or "").strip()

    def wait(self, condition: str) -> None:
        """Wait until something holds on the page."""
        deadline = time.monotonic() + PATIENCE
        while not self.page.evaluate(condition):
            assert time.monotonic() < deadline, f"never: {condition}"
            self.page.wait_for_timeout(30)

    def close(self) -> None:
        """Close the page."""
        self.context.close()
