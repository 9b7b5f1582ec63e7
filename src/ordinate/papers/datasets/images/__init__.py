"""The image sets that the papers use, each read as its owner ships it."""

from ordinate.data.images.folds import FOLDS, hold_out
from ordinate.papers.datasets.images.catalogue import DATA, IMAGE_SETS, ImageSet, download, find, load

__all__ = ["DATA", "FOLDS", "IMAGE_SETS", "ImageSet", "download", "find", "hold_out", "load"]
