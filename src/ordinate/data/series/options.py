"""How an estimator trains on series."""

from dataclasses import dataclass

from ordinate.checks import check_whole
from ordinate.data.options import DataOptions
from ordinate.errors import OrdinateError


@dataclass(frozen=True)
class SeriesOptions(DataOptions):
    """How an estimator augments series in training; embeddings and predictions are of whole series.

    A random crop is the augmentation of SupCR's experiments on EEG (Appendix C), which do not say how long it is.

    Args:
        crop: Number of points of the part that a view shows, see :class:`~ordinate.data.series.views.RandomCrop`; None
            uses whole series, which are then the same in every epoch.
        views: Number of views of every sample in a batch; None uses that of the method's paper: two for SupCR, one for
            the others. More than one requires a crop.

    Example:
        >>> SeriesOptions(crop=2000)
        SeriesOptions(crop=2000, views=None)
    """

    crop: int | None = None
    views: int | None = None

    def __post_init__(self) -> None:
        for name in ("crop", "views"):
            if getattr(self, name) is not None:
                check_whole(getattr(self, name), name)
        if self.crop is None and self.views not in (None, 1):
            raise OrdinateError("views", f"{self.views} without a crop, which makes them differ", "crop=POINTS")
