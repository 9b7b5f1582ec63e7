"""Estimators of what the four methods are compared with."""

from ordinate.estimators.rivals.codes import NeighbourClassifier, code_features
from ordinate.estimators.rivals.end_to_end import EndToEndRegressor
from ordinate.estimators.rivals.gol import GOLClassifier
from ordinate.estimators.rivals.lmnn import LargeMarginNearestNeighbours
from ordinate.estimators.rivals.mwr import MWRClassifier
from ordinate.estimators.rivals.ordinal import OrdinalClassifier
from ordinate.estimators.rivals.poe import POEClassifier
from ordinate.estimators.rivals.representation import RepresentationClassifier, RepresentationRegressor

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
