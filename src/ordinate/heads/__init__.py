"""Predictors on an embedding."""

from ordinate.heads.classifier import Classifier
from ordinate.heads.linear import LinearHead
from ordinate.heads.neighbours import NeighbourMean, NeighbourVote
from ordinate.heads.ridge import fit_ridge

__all__ = ["Classifier", "LinearHead", "NeighbourMean", "NeighbourVote", "fit_ridge"]
