"""A browser for pages on disk: nothing but the page itself is let through, and whatever it complains of is kept."""

import shutil
from pathlib import Path

import pytest

ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
]  # fmt: skip


@pytest.fixture(scope="session")
def chromium():
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("chromium is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium):
    """Open a page by its path; after the test it must have asked for nothing and complained of nothing."""
    opened, wrong = [], []

    def open_page(path, *, width=1280, theme="light", touch=False):
        address = Path(path).resolve().as_uri()
        context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=theme, has_touch=touch)
        opened.append(context)
        page = context.new_page()

        def only_itself(route):
            if route.request.url.split("#")[0] == address:
                return route.continue_()
            wrong.append(f"request: {route.request.url[:200]}")
            return route.abort()

        context.route("**/*", only_itself)
        page.on("request", lambda request: _keep_foreign(request.url, address, wrong))
        page.on("websocket", lambda socket: wrong.append(f"socket: {socket.url}"))
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("console", lambda line: line.type in ("error", "warning") and wrong.append(f"console: {line.text}"))
        page.goto(address)
        page.wait_for_selector("html[data-ready]", timeout=60_000)
        return page

    yield open_page
    for context in opened:
        context.close()
    assert wrong == []


def _keep_foreign(url, address, wrong):
    if url.split("#")[0] != address and not url.startswith(("data:", "blob:")):
        wrong.append(f"request: {url[:200]}")
