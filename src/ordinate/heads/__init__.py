"""Predictors on an embedding."""

from ordinate.heads.binned import CORNHead, DEXHead, DLDLv2Head, ORHead, equal_bins, rank_probabilities
from ordinate.heads.build import build_head
from ordinate.heads.linear import LinearHead, RegressionHead, fit_ridge
from ordinate.heads.neighbours import NeighbourMean, NeighbourVote
from ordinate.heads.ranks import Classifier, CORALLayer

__all__ = [
    "CORALLayer", "CORNHead", "Classifier", "DEXHead", "DLDLv2Head", "LinearHead", "NeighbourMean", "NeighbourVote",
    "ORHead", "RegressionHead", "build_head", "equal_bins", "fit_ridge", "rank_probabilities",
]  # fmt: skip
