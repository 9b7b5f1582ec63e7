"""The old name of :mod:`ordinate.papers.tables`."""

from ordinate.moved import moved

moved(__name__, "ordinate.papers.tables")
