"""From series (n, channels, length) to the batch of an encoder."""

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, TypeGuard

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from ordinate.checks import check_whole
from ordinate.counts import counted
from ordinate.data.modality import Reader
from ordinate.data.numbers import is_constant
from ordinate.data.saved_fields import JsonObject
from ordinate.data.series.options import SeriesOptions
from ordinate.data.series.views import RandomCrop
from ordinate.data.ts_files import stack_series
from ordinate.data.views import Views
from ordinate.errors import OrdinateError, warn

ROWS_AT_ONCE = 256


def are_series(X: object) -> TypeGuard[Iterable[np.ndarray]]:
    """Return whether X is one array (channels, length) per sample, as series of several lengths are."""
    if not isinstance(X, Sequence | np.ndarray | pd.Series) or getattr(X, "ndim", 1) != 1 or len(X) == 0:
        return False
    return hasattr(first := next(iter(X)), "shape") and len(first.shape) == 2


def as_series(X: object) -> Float[np.ndarray, "n c t"]:
    """Return series as one array, in which the end of those that are shorter than others is NaN."""
    return stack_series(list(X)) if are_series(X) else np.asarray(X)


def series_lengths(series: Float[np.ndarray, "n c t"]) -> Int[np.ndarray, " n"]:
    """Return how long each series is: up to its last point at which a channel has a value, and at least 1.

    Example:
        >>> series_lengths(np.array([[[1.0, np.nan, np.nan]], [[np.nan, 2.0, np.nan]]])).tolist()
        [1, 2]
    """
    there = ~np.isnan(series).all(axis=1)
    trailing = there[:, ::-1].argmax(axis=1)
    return np.where(there.any(axis=1), there.shape[1] - trailing, 1)


class SeriesScaler(Reader):
    """Standardise each channel over the points that are there; missing points become the channel's mean.

    Points after the last one at which a channel has a value are padding and stay NaN: the encoder leaves them out.

    Example:
        >>> series = np.array([[[1.0, np.nan, 3.0, np.nan]], [[1.0, 3.0, 1.0, 3.0]]])
        >>> scaler = SeriesScaler.fit(series)
        >>> scaler.transform(series).tolist()
        [[[-1.0, 0.0, 1.0, nan]], [[-1.0, 1.0, -1.0, 1.0]]]
        >>> scaler.notes
        ['series: of 3 to 4 points', 'series: 1 of 7 points missing, set to the mean of their channel']
    """

    kind = "series"
    export_note: ClassVar[str] = (
        "samples[:, c] is (series[:, c] - reader.mean[c]) / reader.scale[c], and 0 where a point is missing or the "
        "scale is 0; NaN beyond the end of a series that is shorter than others in its batch."
    )

    def __init__(self, mean: NDArray[np.float64], scale: NDArray[np.float64], length: int, notes: list[str]) -> None:
        self.mean = mean
        self.scale = scale
        self.length = length
        self.longest = length  # Length of the longest training series without the end that all of them lack; not saved.
        self.notes = notes

    @classmethod
    def fit(cls, series: np.ndarray) -> "SeriesScaler":
        values = np.asarray(series)
        _, channels, length = values.shape
        if channels == 0 or length == 0:
            raise OrdinateError("X", f"series of shape {values.shape[1:]}", "(channels, length) of at least 1")
        given = sum((~np.isnan(part)).sum(axis=(0, 2)) for part in _parts(values))
        count = np.maximum(given, 1)
        mean = sum(np.nansum(part, axis=(0, 2)) for part in _parts(values)) / count
        squares = sum(np.nansum((part - mean[:, None]) ** 2, axis=(0, 2)) for part in _parts(values))
        scale = np.sqrt(squares / count)
        if not np.isfinite(scale).all():
            raise OrdinateError("X", "numbers that exceed the range of float64 when squared", "smaller ones")
        largest = np.max([np.nanmax(np.abs(part), axis=(0, 2), initial=0) for part in _parts(values)], axis=0)
        lengths = series_lengths(values)
        notes = []
        if channels == length >= 8:
            images = f"grey images are (n, 1, {length}, {length})"
            shape = f"{counted(channels, 'channel')} and {counted(length, 'point')}"
            warn(f"X is read as series of {shape}; {images}")
        if len(set(lengths)) > 1:
            notes.append(f"series: of {min(lengths)} to {counted(max(lengths), 'point')}")
        total = channels * int(lengths.sum())
        missing = total - int(np.sum(given))
        if missing:
            notes.append(f"series: {missing:,} of {counted(total, 'point')} missing, set to the mean of their channel")
        reader = cls(mean, np.where(is_constant(scale, largest), 0.0, scale), length, notes)
        reader.longest = int(lengths.max())
        return reader

    def transform(self, series: np.ndarray) -> NDArray[np.float32]:
        values = np.asarray(series)
        if values.shape[1] != len(self.mean):
            raise OrdinateError(
                "X", counted(values.shape[1], "channel"), f"{len(self.mean)}, those of the training data"
            )
        scaled = np.empty(values.shape, dtype=np.float32)
        beyond = np.arange(values.shape[2]) >= series_lengths(values)[:, None]
        for start, part in enumerate(_parts(values)):
            rows = slice(start * ROWS_AT_ONCE, (start + 1) * ROWS_AT_ONCE)
            scaled[rows] = self._standardise(part)
            scaled.transpose(0, 2, 1)[rows][beyond[rows]] = np.nan
        return scaled

    def _standardise(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        if np.isinf(values).any():
            raise OrdinateError("X", "infinity", "finite numbers or NaN for missing points")
        varies = self.scale[:, None] > 0  # No weight was learned for a channel that is constant in training.
        scaled = np.divide(values - self.mean[:, None], self.scale[:, None], out=np.zeros(values.shape), where=varies)
        if np.nanmax(np.abs(scaled), initial=0) > np.finfo(np.float32).max:
            raise OrdinateError("X", "numbers that exceed the range of float32 once standardised", "smaller ones")
        return np.where(np.isnan(values), 0, scaled)

    def embedded_at_once(self, x: Tensor) -> int:
        points = 2**20
        return max(1, min(super().embedded_at_once(x), points // x.shape[2]))

    def views(self, options: SeriesOptions, usual: int) -> Views | None:
        if options.crop is None:
            return None
        if options.crop > self.longest:
            raise OrdinateError(
                "crop", options.crop, f"at most the {counted(self.longest, 'point')} of the longest series"
            )
        return Views(RandomCrop(options.crop), options.views or usual, workers=0)

    def describe(self, x: Tensor) -> str:
        _, count, length = x.shape
        channels = counted(count, "channel")
        if (series_lengths(x.numpy()) < length).any():
            return f"series of up to {counted(length, 'step')} in {channels}"
        return f"series of {counted(length, 'step')} in {channels}"

    def shown(self, X: object, x: Tensor) -> NDArray[np.float64]:
        return as_series(X).astype(np.float64)

    @property
    def sample_shape(self) -> tuple[int, int]:
        return len(self.mean), self.length

    def to_dict(self) -> JsonObject:
        return {"mean": self.mean.tolist(), "scale": self.scale.tolist(), "length": self.length, "notes": self.notes}

    @classmethod
    def from_dict(cls, state: JsonObject) -> "SeriesScaler":
        mean, scale = (np.array(state[name], dtype=np.float64) for name in ("mean", "scale"))
        return cls(mean, scale, check_whole(state["length"], "length"), state["notes"])


def _parts(values: np.ndarray) -> Iterator[NDArray[np.float64]]:
    """Yield so many series at a time, in float64."""
    for start in range(0, len(values), ROWS_AT_ONCE):
        yield values[start : start + ROWS_AT_ONCE].astype(np.float64)
