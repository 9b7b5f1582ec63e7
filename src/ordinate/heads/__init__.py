"""Predictors on an embedding."""

from ordinate.heads.build import build_head
from ordinate.heads.linear import LinearHead, RegressionHead, fit_ridge
from ordinate.heads.neighbours import NeighbourMean, NeighbourVote
from ordinate.heads.ranks import Classifier

__all__ = ["Classifier", "LinearHead", "NeighbourMean", "NeighbourVote", "RegressionHead", "build_head", "fit_ridge"]
