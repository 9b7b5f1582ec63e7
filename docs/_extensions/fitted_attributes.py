"""Fitted attributes under their own names: in reStructuredText, a name that ends in _ would be a link."""

import re

ATTRIBUTES = re.compile(r"^:ivar (\w+(?:, \w+)*):(.*)$")
AFTER_NAPOLEON = 600


def register(app):
    """Correct the docstrings of a Sphinx application after napoleon has converted them."""
    app.connect("autodoc-process-docstring", escape, priority=AFTER_NAPOLEON)


def escape(app, what, name, obj, options, lines):
    """Escape the last _ of each attribute, and give attributes that share a description a line each."""
    for number in reversed(range(len(lines))):
        found = ATTRIBUTES.match(lines[number])
        if found:
            names = found[1].split(", ")
            lines[number : number + 1] = [f":ivar {escaped(each)}:{found[2]}" for each in names]


def escaped(name):
    """Return a name that reStructuredText does not take for a link."""
    return f"{name[:-1]}\\_" if name.endswith("_") else name
