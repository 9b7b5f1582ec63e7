"""Heads on bins of a continuous target, and of ranks by thresholds."""

from ordinate_papers.heads.binned import CORNHead, DEXHead, DLDLv2Head, ORHead, equal_bins
from ordinate_papers.heads.thresholds import CORALLayer, ThresholdProbabilities, rank_probabilities

__all__ = [
    "CORALLayer", "CORNHead", "DEXHead", "DLDLv2Head", "ORHead", "ThresholdProbabilities", "equal_bins",
    "rank_probabilities",
]  # fmt: skip
