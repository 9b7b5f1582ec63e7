"""Links of the documents lead to files, and those of README, on the package's page, to pages of the site."""

import re
import tomllib
from pathlib import Path

import pytest
from hatch_build import RELATIVE, address, with_absolute_addresses

from tests.docs.site import SITE, built

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
URLS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
LINK = re.compile(r"\]\(([\w./-]+)(?:#[\w-]*)?\)")  # A relative path, with or without an anchor.
PATHS = sorted({path for path, _ in RELATIVE.findall(README)})


@pytest.mark.parametrize("folder", ["docs/decisions", "docs/extending", "."])
def test_links_of_documents_for_maintainers_lead_to_files(folder):
    pages = sorted((ROOT / folder).glob("*.md"))
    links = [(page, link) for page in pages for link in LINK.findall(page.read_text(encoding="utf-8"))]
    assert len(links) > 0
    assert [f"{page.name}: {link}" for page, link in links if not (page.parent / link).exists()] == []


def test_every_decision_is_listed():
    folder = ROOT / "docs" / "decisions"
    listed = LINK.findall((folder / "index.md").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(page.name for page in folder.glob("*.md") if page.name != "index.md")


def test_links_and_pictures_lead_to_files_of_the_repository():
    assert any(path.endswith(".png") for path in PATHS)
    assert [path for path in PATHS if not (ROOT / path).exists()] == []


def test_no_relative_link_is_left_and_nothing_else_changes():
    text = with_absolute_addresses(README, URLS)
    assert RELATIVE.search(text) is None
    assert f"]({URLS['Documentation']}/methods.html)" in text
    assert f"]({URLS['Repository']}/blob/main/LICENSE)" in text
    without_links = [re.sub(r"\]\([^)]*\)", "]()", each) for each in (README, text)]
    assert without_links[0] == without_links[1]


@built
def test_pages_of_the_site_are_there():
    pages = [address(path, URLS) for path in PATHS if path.startswith("docs/")]
    missing = [page for page in pages if not (SITE / page.removeprefix(f"{URLS['Documentation']}/")).is_file()]
    assert missing == []
