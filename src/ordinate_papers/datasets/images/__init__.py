"""The image sets that the papers use, each read as its owner ships it.

A reader is given the root, the folder or zip with the owner's layout (as ``ordinate datasets NAME`` explains it) at any
level, and returns :class:`~ordinate.data.labelled.Labelled`. It raises `OrdinateError` where the layout is
not there, or where a table of the owner's names an image that is not there or a value that cannot be.
"""

from ordinate_papers.datasets.catalogue import DATA, IMAGE_SETS
from ordinate_papers.datasets.catalogue import DataSet as ImageSet
from ordinate_papers.datasets.images.catalogue import download, find, load
from ordinate_papers.datasets.images.folds import FOLDS, hold_out

__all__ = ["DATA", "FOLDS", "IMAGE_SETS", "ImageSet", "download", "find", "hold_out", "load"]
