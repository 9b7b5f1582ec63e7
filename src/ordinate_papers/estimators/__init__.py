"""Estimators of the baselines, imported on first use."""

from typing import TYPE_CHECKING

from ordinate.lazy import lazily

if TYPE_CHECKING:
    from ordinate.estimators.plain import EndToEndRegressor
    from ordinate_papers.estimators.codes import NeighbourClassifier, code_features
    from ordinate_papers.estimators.gol import GOLClassifier
    from ordinate_papers.estimators.lmnn import LargeMarginNearestNeighbours
    from ordinate_papers.estimators.mwr import MWRClassifier
    from ordinate_papers.estimators.ordinal import OrdinalClassifier
    from ordinate_papers.estimators.poe import POEClassifier
    from ordinate_papers.estimators.rank_losses import RankLossClassifier
    from ordinate_papers.estimators.rare_targets import BalancedMSERegressor, ConRRegressor
    from ordinate_papers.estimators.representation import RepresentationClassifier, RepresentationRegressor
    from ordinate_papers.methods.imbalance import Imbalance

_HOMES = {
    "BalancedMSERegressor": "ordinate_papers.estimators.rare_targets",
    "ConRRegressor": "ordinate_papers.estimators.rare_targets",
    "EndToEndRegressor": "ordinate.estimators.plain",
    "GOLClassifier": "ordinate_papers.estimators.gol",
    "Imbalance": "ordinate_papers.methods.imbalance",
    "LargeMarginNearestNeighbours": "ordinate_papers.estimators.lmnn",
    "MWRClassifier": "ordinate_papers.estimators.mwr",
    "NeighbourClassifier": "ordinate_papers.estimators.codes",
    "OrdinalClassifier": "ordinate_papers.estimators.ordinal",
    "POEClassifier": "ordinate_papers.estimators.poe",
    "RankLossClassifier": "ordinate_papers.estimators.rank_losses",
    "RepresentationClassifier": "ordinate_papers.estimators.representation",
    "RepresentationRegressor": "ordinate_papers.estimators.representation",
    "code_features": "ordinate_papers.estimators.codes",
}

__all__ = [
    "BalancedMSERegressor", "ConRRegressor", "EndToEndRegressor", "GOLClassifier", "Imbalance",
    "LargeMarginNearestNeighbours", "MWRClassifier", "NeighbourClassifier", "OrdinalClassifier", "POEClassifier",
    "RankLossClassifier", "RepresentationClassifier", "RepresentationRegressor", "code_features",
]  # fmt: skip

__getattr__, __dir__ = lazily("ordinate_papers.estimators", _HOMES)
