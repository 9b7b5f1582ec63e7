"""The built site holds together: every internal link leads somewhere, and nothing is asked of another host."""

import json
from functools import cache
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

from tests.docs.site import SITE, built

LOADED = {"script": "src", "img": "src", "iframe": "src", "link": "href"}  # by the browser itself
GENERATED_BY_SPHINX = {"genindex.html", "py-modindex.html", "search.html"}
IGNORED_RELATIONS = {"author", "index", "search", "next", "prev", "canonical"}


class Page(HTMLParser):
    """What a page links to, what it loads, and the anchors that it has."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loaded, self.anchors = set(), set(), set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.anchors.update(attributes[name] for name in ("id", "name") if attributes.get(name))
        if tag == "a" and attributes.get("href"):
            self.links.add(attributes["href"])
        address = attributes.get(LOADED.get(tag, ""))
        if address and attributes.get("rel") not in IGNORED_RELATIONS:
            self.loaded.add(address)


@cache
def pages():
    return {path: Page(path) for path in SITE.rglob("*.html") if "_static" not in path.parts}


@built
def test_every_internal_link_leads_to_a_page_and_an_anchor_that_exist():
    known, broken = pages(), []
    for path, page in known.items():
        for link in page.links | page.loaded:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchors = known[target].anchors if target in known else None
            lost = anchors is not None and parts.fragment and unquote(parts.fragment) not in anchors
            if not target.exists() or lost:
                broken.append(f"{path.relative_to(SITE)}: {link}")
    assert len(known) > 100
    assert broken == []


@built
def test_no_page_loads_anything_from_another_host():
    foreign = {address for page in pages().values() for address in page.loaded if urlsplit(address).netloc}
    assert foreign == set()


@built
def test_fitted_attributes_have_their_own_names():
    page = (SITE / "generated" / "api" / "ordinate.CLOCClassifier.html").read_text(encoding="utf-8")
    for name in ("margins_", "classes_", "n_features_in_", "feature_names_in_", "n_iter_"):
        assert f"<strong>{name}</strong>" in page


@built
def test_every_page_has_a_description():
    texts = {path: path.read_text(encoding="utf-8") for path in pages() if path.name not in GENERATED_BY_SPHINX}
    assert [path.name for path, text in texts.items() if text.count('<meta name="description"') != 1] == []
    assert [path.name for path, text in texts.items() if 'property="og:title"' not in text] == []


@built
def test_every_example_ran_and_has_a_picture():
    examples = [page for kind in ("gallery", "tutorials") for page in (SITE / "generated" / kind).glob("plot_*.html")]
    pictures = ("sphx-glr-single-img", "sphx-glr-multi-img")
    texts = {page.name: page.read_text(encoding="utf-8") for page in examples}
    without = [name for name, text in texts.items() if not any(picture in text for picture in pictures)]
    assert len(examples) >= 20
    assert without == []


@built
def test_four_examples_are_notebooks_that_have_been_run():
    notebooks = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in (SITE / "notebooks").iterdir()}
    assert notebooks.keys() == {"first_tutorial", "table", "images", "losses"}
    for notebook in notebooks.values():
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        assert [cell["execution_count"] for cell in cells] == [*range(1, len(cells) + 1)]
        assert any("image/png" in output.get("data", {}) for cell in cells for output in cell["outputs"])
