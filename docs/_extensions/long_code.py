"""Long blocks of code in tutorials, such as generators of data and plots, as boxes that open on a click."""

import re

LONGEST_SHOWN = 20  # Lines; shorter blocks train, predict and evaluate.
TUTORIAL = re.compile(r"generated/tutorials/plot_\w+")
BLOCK = re.compile(r"^\.\. code-block:: Python\n(?:\n|[ ]+\S.*\n)+", re.MULTILINE)


def register(app):
    """Fold long blocks before a Sphinx application reads a page."""
    app.connect("source-read", fold)


def fold(app, docname, source):
    """Put the long blocks of a tutorial into boxes."""
    if TUTORIAL.fullmatch(docname):
        source[0] = BLOCK.sub(_folded, source[0])


def _folded(block):
    _, *lines = block[0].strip("\n").split("\n")
    count = len("\n".join(lines).strip("\n").split("\n"))
    if count <= LONGEST_SHOWN:
        return block[0]
    inner = re.sub(r"^(?=.)", "    ", block[0], flags=re.MULTILINE)
    return f".. dropdown:: Show the code ({count} lines)\n\n{inner}"
