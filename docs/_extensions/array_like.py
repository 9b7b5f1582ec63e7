"""NumPy's ArrayLike by its name, where autodoc spells out everything that it is made of."""

from numpy.typing import ArrayLike
from sphinx.util.typing import stringify_annotation

SPELT_OUT = stringify_annotation(ArrayLike, "smart")


def register(app):
    """Shorten the signatures of a Sphinx application."""
    app.connect("autodoc-process-signature", shorten)


def shorten(app, what, name, obj, options, signature, returns):
    """Return a signature and what it returns, with ArrayLike for its members."""
    return tuple(part and part.replace(SPELT_OUT, "~numpy.typing.ArrayLike") for part in (signature, returns))
