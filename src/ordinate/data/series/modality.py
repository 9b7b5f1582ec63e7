"""Series (n, channels, length), of one length or several: in npz and .ts files, and folders of matrices."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinate.data.labelled import Labelled
from ordinate.data.modality import Modality, Request
from ordinate.data.options import DataOptions
from ordinate.data.rows import take
from ordinate.data.series.matrices import holds_matrices, read_matrices, read_unlabelled_matrices
from ordinate.data.series.options import SeriesOptions
from ordinate.data.series.reader import SeriesScaler, are_series, as_series
from ordinate.data.typed import Reading
from ordinate.encoders.given import Encoder
from ordinate.errors import OrdinateError


class Series(Modality):
    """Arrays (n, channels, length), NaN where points are missing, or lists of arrays (channels, length)."""

    name = "series"
    expected = "series (n, channels, length), or a list of arrays (channels, length)"
    readers = (SeriesScaler,)
    parameter = "series"
    options_class = SeriesOptions
    opens = staticmethod(holds_matrices)
    command_options = ("skip_unreadable",)

    def recognises(self, X: object, options: DataOptions | None = None) -> bool:
        return getattr(X, "ndim", 1) == 3 or are_series(X)

    def check(self, estimator: object, X: object, *, reset: bool) -> np.ndarray:
        values = as_series(X)
        if values.dtype not in (np.float32, np.float64):
            values = values.astype(np.float64)
        if np.isinf(values).any():
            raise OrdinateError("X", "infinity", "finite numbers or NaN for missing values")
        return values

    def fit(
        self, X: np.ndarray, options: SeriesOptions, *, encoder: Encoder, progress: bool
    ) -> tuple[SeriesScaler, np.ndarray]:
        return SeriesScaler.fit(X), X

    def check_unseen(self, X: np.ndarray, seen: NDArray[np.int64], unseen: NDArray[np.int64]) -> None:
        SeriesScaler.fit(take(X, seen)).transform(take(X, unseen))

    def read_unlabelled(
        self, path: str | Path, left_out: Callable[[str], None] | None = None, how: Reading = Reading()
    ) -> Any:
        return read_unlabelled_matrices(path, left_out)

    def read_labelled(self, path: str | Path, request: Request) -> Labelled:
        return read_matrices(path, request, skip_unreadable=request.skip_unreadable)


MODALITY = Series()
