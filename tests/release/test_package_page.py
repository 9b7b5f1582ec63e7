"""README on the package's page: every link leads to a file that is there, and to its page on the site."""

import re
import tomllib
from pathlib import Path

from hatch_build import RELATIVE, address, with_absolute_addresses

from tests.docs.site import SITE, built

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
URLS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
PATHS = sorted({path for path, _ in RELATIVE.findall(README)})


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
def test_what_is_on_the_site_is_there():
    pages = [address(path, URLS) for path in PATHS if path.startswith("docs/")]
    missing = [page for page in pages if not (SITE / page.removeprefix(f"{URLS['Documentation']}/")).is_file()]
    assert missing == []
