"""Tables of `benchmarks/results`, as pages: documents link to them where they lie, outside of docs."""

import re
from pathlib import Path

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
LINK = re.compile(r"\]\((?:\.\./)+benchmarks/results/([\w/-]+)\.md\)")


def register(app):
    """Write the pages before a Sphinx application reads them, and lead links to them."""
    app.connect("builder-inited", write_pages)
    app.connect("source-read", relink)


def write_pages(app):
    """Write a page per table."""
    folder = Path(app.srcdir) / "generated" / "results"
    folder.mkdir(parents=True, exist_ok=True)
    for table in sorted(RESULTS.rglob("*.md")):
        name = table.relative_to(RESULTS).with_suffix("").as_posix()
        head = f"---\norphan: true\ndescription: {name} of benchmarks/results\n---\n\n"
        page = f"{head}# {name.replace('/', ': ')}\n\n{table.read_text(encoding='utf-8')}"
        (folder / f"{page_name(name)}.md").write_text(page, encoding="utf-8")


def relink(app, docname, source):
    """Replace links to results by links to their pages."""
    text = LINK.sub(lambda link: f"](/generated/results/{page_name(link[1])}.md)", source[0])
    source[0] = text.replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}")  # a cell does not break there


def page_name(name):
    """Return the name of a table's page."""
    return name.replace("/", "-")
