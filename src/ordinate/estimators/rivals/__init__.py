"""The old name of :mod:`ordinate.papers.estimators`."""

from ordinate.moved import moved

moved(__name__, "ordinate.papers.estimators")
