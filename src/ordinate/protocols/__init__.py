"""The old name of :mod:`ordinate.papers.protocols`."""

from ordinate.moved import moved

moved(__name__, "ordinate.papers.protocols")
