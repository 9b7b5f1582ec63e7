"""Predictors on an embedding."""

from ordinate.heads.binned import equal_bins
from ordinate.heads.build import build_head
from ordinate.heads.classifier import Classifier
from ordinate.heads.coral import CORALLayer
from ordinate.heads.corn import CORNHead
from ordinate.heads.dex import DEXHead
from ordinate.heads.dldl_v2 import DLDLv2Head
from ordinate.heads.extended_binary import ORHead, rank_probabilities
from ordinate.heads.linear import LinearHead
from ordinate.heads.neighbours import NeighbourMean, NeighbourVote
from ordinate.heads.regression_head import RegressionHead
from ordinate.heads.ridge import fit_ridge

__all__ = [
    "CORALLayer",
    "CORNHead",
    "Classifier",
    "DEXHead",
    "DLDLv2Head",
    "LinearHead",
    "NeighbourMean",
    "NeighbourVote",
    "ORHead",
    "RegressionHead",
    "build_head",
    "equal_bins",
    "fit_ridge",
    "rank_probabilities",
]
