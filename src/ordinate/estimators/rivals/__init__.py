"""Estimators of what the four methods are compared with, imported on first use."""

from typing import TYPE_CHECKING

from ordinate.lazy import lazily

if TYPE_CHECKING:
    from ordinate.estimators.rivals.codes import NeighbourClassifier, code_features
    from ordinate.estimators.rivals.end_to_end import EndToEndRegressor
    from ordinate.estimators.rivals.gol import GOLClassifier
    from ordinate.estimators.rivals.lmnn import LargeMarginNearestNeighbours
    from ordinate.estimators.rivals.mwr import MWRClassifier
    from ordinate.estimators.rivals.ordinal import OrdinalClassifier
    from ordinate.estimators.rivals.poe import POEClassifier
    from ordinate.estimators.rivals.representation import RepresentationClassifier, RepresentationRegressor

_HOMES = {
    "EndToEndRegressor": "ordinate.estimators.rivals.end_to_end",
    "GOLClassifier": "ordinate.estimators.rivals.gol",
    "LargeMarginNearestNeighbours": "ordinate.estimators.rivals.lmnn",
    "MWRClassifier": "ordinate.estimators.rivals.mwr",
    "NeighbourClassifier": "ordinate.estimators.rivals.codes",
    "OrdinalClassifier": "ordinate.estimators.rivals.ordinal",
    "POEClassifier": "ordinate.estimators.rivals.poe",
    "RepresentationClassifier": "ordinate.estimators.rivals.representation",
    "RepresentationRegressor": "ordinate.estimators.rivals.representation",
    "code_features": "ordinate.estimators.rivals.codes",
}

__all__ = [
    "EndToEndRegressor",
    "GOLClassifier",
    "LargeMarginNearestNeighbours",
    "MWRClassifier",
    "NeighbourClassifier",
    "OrdinalClassifier",
    "POEClassifier",
    "RepresentationClassifier",
    "RepresentationRegressor",
    "code_features",
]

__getattr__, __dir__ = lazily("ordinate.estimators.rivals", _HOMES)
