"""The old name of :mod:`ordinate.papers.bench`."""

from ordinate.moved import moved

moved(__name__, "ordinate.papers.bench")
