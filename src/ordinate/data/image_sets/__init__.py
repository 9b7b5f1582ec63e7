"""The image sets that the papers use, each read as its owner ships it."""

from ordinate.data.image_sets.catalogue import IMAGE_SETS, ImageSet, download, find, load
from ordinate.data.image_sets.folds import FOLDS, hold_out

__all__ = ["FOLDS", "IMAGE_SETS", "ImageSet", "download", "find", "hold_out", "load"]
