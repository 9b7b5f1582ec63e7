"""What the theme and Sphinx leave out for those who listen to a page: names of buttons, terms of lists."""

import re
from pathlib import Path

TOGGLE = '<summary><span class="toctree-toggle"'
NAMED_TOGGLE = TOGGLE.replace("<summary>", '<summary aria-label="Pages of this part">')
PARAMETERS = re.compile(r'<dl>\n((?:<dd><em class="sig-param">.*?</dd>\n)+)</dl>', re.DOTALL)  # a list without terms


def register(app):
    """Mend the pages once a Sphinx application has written them."""
    app.connect("build-finished", mend)


def mend(app, error):
    """Rewrite the pages that need it."""
    if error is not None or app.builder.name != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):
        page = path.read_text(encoding="utf-8")
        mended = PARAMETERS.sub(_as_blocks, page.replace(TOGGLE, NAMED_TOGGLE))
        if mended != page:
            path.write_text(mended, encoding="utf-8")


def _as_blocks(found):
    lines = found[1].replace("<dd>", '<span class="sig-line">').replace("</dd>", "</span>")
    return f'<span class="sig-lines">\n{lines}</span>'
