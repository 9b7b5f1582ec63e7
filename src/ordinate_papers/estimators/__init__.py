"""Estimators of the baselines, imported on first use."""

from typing import TYPE_CHECKING

from ordinate.lazy import lazily

if TYPE_CHECKING:
    from ordinate.estimators.plain import EndToEndRegressor, OrdinalClassifier
    from ordinate_papers.estimators.codes import NeighbourClassifier, code_features
    from ordinate_papers.estimators.gol import GOLClassifier
    from ordinate_papers.estimators.lmnn import LargeMarginNearestNeighbours
    from ordinate_papers.estimators.mwr import MWRClassifier
    from ordinate_papers.estimators.poe import POEClassifier
    from ordinate_papers.estimators.representation import RepresentationClassifier, RepresentationRegressor

_HOMES = {
    "EndToEndRegressor": "ordinate.estimators.plain",
    "GOLClassifier": "ordinate_papers.estimators.gol",
    "LargeMarginNearestNeighbours": "ordinate_papers.estimators.lmnn",
    "MWRClassifier": "ordinate_papers.estimators.mwr",
    "NeighbourClassifier": "ordinate_papers.estimators.codes",
    "OrdinalClassifier": "ordinate.estimators.plain",
    "POEClassifier": "ordinate_papers.estimators.poe",
    "RepresentationClassifier": "ordinate_papers.estimators.representation",
    "RepresentationRegressor": "ordinate_papers.estimators.representation",
    "code_features": "ordinate_papers.estimators.codes",
}

__all__ = [
    "EndToEndRegressor", "GOLClassifier", "LargeMarginNearestNeighbours", "MWRClassifier", "NeighbourClassifier",
    "OrdinalClassifier", "POEClassifier", "RepresentationClassifier", "RepresentationRegressor", "code_features",
]  # fmt: skip

__getattr__, __dir__ = lazily("ordinate_papers.estimators", _HOMES)
