"""Estimators of the baselines, imported on first use."""

from typing import TYPE_CHECKING

from ordinate.lazy import lazily

if TYPE_CHECKING:
    from ordinate.estimators.end_to_end import EndToEndRegressor
    from ordinate.estimators.ordinal import OrdinalClassifier
    from ordinate.papers.estimators.codes import NeighbourClassifier, code_features
    from ordinate.papers.estimators.gol import GOLClassifier
    from ordinate.papers.estimators.lmnn import LargeMarginNearestNeighbours
    from ordinate.papers.estimators.mwr import MWRClassifier
    from ordinate.papers.estimators.poe import POEClassifier
    from ordinate.papers.estimators.representation import RepresentationClassifier, RepresentationRegressor

_HOMES = {
    "EndToEndRegressor": "ordinate.estimators.end_to_end",
    "GOLClassifier": "ordinate.papers.estimators.gol",
    "LargeMarginNearestNeighbours": "ordinate.papers.estimators.lmnn",
    "MWRClassifier": "ordinate.papers.estimators.mwr",
    "NeighbourClassifier": "ordinate.papers.estimators.codes",
    "OrdinalClassifier": "ordinate.estimators.ordinal",
    "POEClassifier": "ordinate.papers.estimators.poe",
    "RepresentationClassifier": "ordinate.papers.estimators.representation",
    "RepresentationRegressor": "ordinate.papers.estimators.representation",
    "code_features": "ordinate.papers.estimators.codes",
}

__all__ = [
    "EndToEndRegressor", "GOLClassifier", "LargeMarginNearestNeighbours", "MWRClassifier", "NeighbourClassifier",
    "OrdinalClassifier", "POEClassifier", "RepresentationClassifier", "RepresentationRegressor", "code_features",
]  # fmt: skip

__getattr__, __dir__ = lazily("ordinate.papers.estimators", _HOMES)
