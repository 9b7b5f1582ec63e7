"""Packages that add models, data sets, recipes and commands to the core, which never imports them by itself.

An extension is a module with ``MODELS`` (see :mod:`ordinate.estimators.registry`), ``ENCODERS`` (functions of an
estimator, as ``"module:function"``, by name), ``RECIPES`` (a folder of recipe files), ``data_sets()``, the module that
reads its data sets by name, and ``commands()``, those of its own that the command line has.
"""

from importlib import import_module
from typing import Any

EXTENSIONS = ("ordinate.papers.extension",)


def extensions() -> list[Any]:
    """Return the modules of all extensions."""
    return [import_module(name) for name in EXTENSIONS]
