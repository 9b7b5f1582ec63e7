"""The built site as people use it: on a phone and on a desk, in light and dark, with its search."""

import functools
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.docs.site import SITE, built

pytestmark = built

PAGES = [
    "index.html", "start/index.html", "guides/fit.html", "methods.html", "measured.html", "api/index.html",
    "generated/api/ordinate.CLOCClassifier.html", "generated/api/ordinate.functional.supcr.html",
    "generated/gallery/index.html", "generated/gallery/plot_02_margins.html", "generated/papers/plot_1_cloc.html",
]  # fmt: skip
AXE = {  # the other rules do not ask for colours
    "light": "axe.run({preload: false, resultTypes: ['violations']})",
    "dark": "axe.run({preload: false, resultTypes: ['violations'], runOnly: ['color-contrast']})",
}
HIGHEST_PAGE = 6000  # Pixels; pages of figures and API pages may be longer.
LONG_PAGES = (
    "_static", "_modules", "api/", "generated/api/", "generated/results/", "generated/leaderboards", "fidelity/",
    "claims", "measured/files", "genindex",
)  # fmt: skip
WIDER_THAN_SCREEN = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def address():
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=SITE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.fixture
def visit(chromium, address):
    """Open a page of the site; after the test it must have asked no other host and complained of nothing."""
    opened, wrong = [], []

    def visit(page_name, *, width=1280, theme="light"):
        context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
        opened.append(context)
        page = context.new_page()
        page.on("request", lambda request: request.url.startswith((address, "data:")) or wrong.append(request.url))
        page.on("requestfailed", lambda request: wrong.append(f"failed: {request.url}"))
        page.on("response", lambda response: response.status >= 400 and wrong.append(response.url))
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("console", lambda line: line.type == "error" and wrong.append(f"console: {line.text}"))
        page.goto(address + page_name, wait_until="load")
        return page

    yield visit
    for context in opened:
        context.close()
    assert wrong == []


@pytest.mark.parametrize("name", PAGES)
def test_pages_fit_a_phone_and_follow_the_colour_scheme(visit, name):
    backgrounds = set()
    for theme in ("light", "dark"):
        page = visit(name, width=390, theme=theme)
        assert page.evaluate(WIDER_THAN_SCREEN) <= 0
        backgrounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(backgrounds) == 2


def test_no_page_is_too_long_to_read(chromium, address):
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    names = [path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html")]
    heights = {}
    for name in sorted(name for name in names if not name.startswith(LONG_PAGES)):
        page.goto(address + name, wait_until="load")
        heights[name] = page.evaluate("document.documentElement.scrollHeight")
    page.close()
    assert len(heights) > 90
    assert {name: height for name, height in heights.items() if height > HIGHEST_PAGE} == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", [*PAGES, "search.html?q=margins"])
def test_axe_finds_nothing_serious(visit, name, theme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    page = visit(name, theme=theme)
    page.evaluate((Path(axe.__file__).parent / "axe.min.js").read_text())
    found = page.evaluate(AXE[theme])["violations"]
    serious = [rule for rule in found if rule["impact"] in ("serious", "critical")]
    assert [(rule["id"], [node["html"][:120] for node in rule["nodes"]][:3]) for rule in serious] == []


def test_the_search_finds_a_name(visit):
    page = visit("search.html?q=cost_matrix")
    page.wait_for_selector("#search-results li a", timeout=20_000)
    found = page.eval_on_selector_all("#search-results li a", "links => links.map(link => link.getAttribute('href'))")
    assert any("ordinate.decisions.cost_matrix" in link for link in found)


@pytest.mark.parametrize("words", ["early stopping", "class weight", "predict", "calibration", "RnC"])
def test_the_search_finds_a_guide_first(visit, words):
    page = visit(f"search.html?q={words.replace(' ', '+')}")
    page.wait_for_selector("#search-results li a", timeout=20_000)
    first = page.eval_on_selector("#search-results li a", "link => link.getAttribute('href')")
    assert first.startswith(("start/", "guides/", "methods.html"))


def test_formulas_are_drawn_by_the_browser(visit):
    page = visit("generated/api/ordinate.functional.supcr.html")
    size = page.eval_on_selector("math[display=block]", "formula => formula.getBoundingClientRect().height")
    assert size > 30
