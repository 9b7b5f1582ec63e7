"""From series (n, channels, length) to what an encoder takes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinate.data.features import CONSTANT
from ordinate.errors import OrdinateError


class SeriesScaler:
    """Standardises each channel; missing points become the channel's mean.

    Example:
        >>> scaler = SeriesScaler.fit(np.array([[[1.0, 3.0, np.nan]]]))
        >>> scaler.transform(np.array([[[1.0, 3.0, np.nan]]])).tolist()
        [[[-1.0, 1.0, 0.0]]]
        >>> scaler.notes
        ['series: 1 of 3 points missing, set to the mean of their channel']
    """

    def __init__(self, mean: NDArray[np.float64], scale: NDArray[np.float64], length: int, notes: list[str]) -> None:
        self.mean = mean
        self.scale = scale
        self.length = length
        self.notes = notes

    @classmethod
    def fit(cls, series: NDArray[np.floating[Any]]) -> "SeriesScaler":
        values = np.asarray(series, dtype=np.float64)
        if values.shape[1] == 0 or values.shape[2] == 0:
            raise OrdinateError(f"X: got series of shape {values.shape[1:]}, takes (channels, length) of at least 1")
        missing = np.isnan(values)
        count = np.maximum((~missing).sum(axis=(0, 2)), 1)
        mean = np.where(missing, 0, values).sum(axis=(0, 2)) / count
        deviation = np.where(missing, 0, values - mean[:, None])
        scale = np.sqrt((deviation**2).sum(axis=(0, 2)) / count)
        largest = np.where(missing, 0, np.abs(values)).max(axis=(0, 2), initial=0)
        notes = []
        if missing.any():
            notes.append(f"series: {missing.sum()} of {values.size} points missing, set to the mean of their channel")
        return cls(mean, np.where(scale > CONSTANT * largest, scale, 1.0), values.shape[2], notes)

    def transform(self, series: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
        values = np.asarray(series, dtype=np.float64)
        if values.shape[1] != len(self.mean):
            raise OrdinateError(
                f"X: got {values.shape[1]} channels, takes {len(self.mean)}, those of the training data"
            )
        if np.isinf(values).any():
            raise OrdinateError("X: got infinity, takes finite numbers or NaN for missing points")
        scaled = (values - self.mean[:, None]) / self.scale[:, None]
        if np.nanmax(np.abs(scaled), initial=0) > np.finfo(np.float32).max:
            raise OrdinateError("X: got numbers that pass the range of float32 once standardised; takes smaller ones")
        return np.where(np.isnan(values), 0, scaled).astype(np.float32)

    @property
    def sample_shape(self) -> tuple[int, int]:
        return len(self.mean), self.length

    def to_dict(self) -> dict[str, Any]:
        """Return what :meth:`from_dict` takes, ready for JSON."""
        return {"mean": self.mean.tolist(), "scale": self.scale.tolist(), "length": self.length, "notes": self.notes}

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> "SeriesScaler":
        return cls(np.array(state["mean"]), np.array(state["scale"]), state["length"], state["notes"])
