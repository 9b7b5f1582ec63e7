"""Every page of an example begins with a button that downloads its notebook."""

import importlib.util
import re
from pathlib import Path

import pytest

from tests.docs.site import SITE, built

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = sorted(path for kind in ("tutorials", "gallery", "papers") for path in (DOCS / kind).glob("plot_*.py"))
specification = importlib.util.spec_from_file_location("notebooks", DOCS / "_extensions" / "notebooks.py")
notebooks = importlib.util.module_from_spec(specification)
specification.loader.exec_module(notebooks)


def read_page(docname, text):
    source = [text]
    notebooks.add_buttons(None, docname, source)
    return source[0]


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_the_button_comes_right_after_the_title(script):
    docstring = script.read_text(encoding="utf-8").split('"""')[1].strip() + "\n"
    title, rest = docstring.split("\n\n", 1)
    page = read_page(f"generated/{script.parent.name}/{script.stem}", docstring)
    buttons = page.removeprefix(title).removesuffix(rest)
    assert f"<{script.stem}.ipynb>`" in buttons
    assert len(page) == len(title) + len(buttons) + len(rest)


def test_other_pages_have_no_button():
    assert read_page("guides/fit", "Fit\n===\n") == "Fit\n===\n"


@built
@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_the_button_leads_to_the_notebook(script):
    page = SITE / "generated" / script.parent.name / f"{script.stem}.html"
    text = page.read_text(encoding="utf-8")
    buttons = text.partition('<div class="example-downloads')[2].partition("</div>")[0]
    links = re.findall(r'href="([^"]+\.ipynb)"', buttons)
    assert len(links) == 1
    assert (page.parent / links[0]).is_file()


@built
def test_the_front_page_links_to_the_first_tutorial_as_a_notebook():
    assert 'href="notebooks/first_tutorial.ipynb"' in (SITE / "index.html").read_text(encoding="utf-8")
