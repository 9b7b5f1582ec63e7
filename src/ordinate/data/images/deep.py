"""Images whose values do not fit in 8 bits: 16 bits of grey or colour, signed numbers and floats."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from ordinate.errors import OrdinateError

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True)
class DeepImage:
    """An image whose values do not fit in 8 bits, which Pillow has only as grey.

    Args:
        values: Numbers (h, w) of grey or (h, w, 3) of red, green and blue, more of it where they are higher.
        white: Largest number that the file's kind of number has; None if that is not known, as for floats.
        opacity: Shares (h, w) from 0 to 1; None if all of the image is opaque.
        missing: Which pixels (h, w) have no data; None if all have. NaN is no data, too.

    Example:
        >>> image = DeepImage(np.array([[0, 1000], [2000, 4000]], dtype=np.uint16), white=65535)
        >>> np.asarray(image.scaled(0, 4000)).tolist()
        [[0, 64], [128, 255]]
    """

    values: np.ndarray
    white: float | None = None
    opacity: NDArray[np.float32] | None = None
    missing: NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, picture: "Image") -> Self | None:
        """Return a picture of Pillow that has more than 8 bits, which is grey; None for another one."""
        if not picture.mode.startswith(("I", "F")):
            return None
        white = 2**16 - 1 if picture.mode.startswith("I;16") else None
        return cls(np.asarray(picture), white)

    @property
    def height(self) -> int:
        return int(self.values.shape[0])

    @property
    def width(self) -> int:
        return int(self.values.shape[1])

    def extremes(self) -> tuple[float, float] | None:
        """Return the lowest and highest value over all channels; None if no pixel has data."""
        known = self._known()
        known = known[np.isfinite(known)]
        if not known.size:
            return None
        return float(known.min()), float(known.max())

    def is_grey(self, tolerance: float) -> bool:
        """Return whether the channels differ by at most a share of the range of values."""
        extremes = self.extremes()
        if self.values.ndim == 2 or extremes is None:
            return True
        differences = np.ptp(np.nan_to_num(self._known().astype(np.float64)), axis=-1)
        return bool(differences.max() <= tolerance * (extremes[1] - extremes[0]))

    def own_range(self, least_filled: float = 1 / 16) -> tuple[float, float]:
        """Return the range of the image's kind: that of its bits, or 0 to 1 or 255 of floats; an error if not filled.

        An image whose values fill less than ``least_filled`` of the range has fewer bits than its file.
        """
        low, high = self.extremes() or (0.0, 0.0)
        tops = [255.0] if self.white is None else [self.white]
        if self.values.dtype.kind == "f" and self.white is None:
            tops = [1.0, 255.0]
        top = next((top for top in tops if high <= top), None)
        if low < 0 or top is None or (top > 255 and 0 < high < top * least_filled):
            expected = "8 bits, as in training, or the whole range of 16 bits or 0 to 1"
            raise OrdinateError("image", f"values from {low:g} to {high:g}", expected)
        return 0.0, top

    def scaled(self, low: float, high: float) -> "Image":
        """Return a picture of 8 bits, in which ``low`` is 0 and ``high`` 255; no data and transparency are black."""
        from PIL import Image

        shares = np.nan_to_num((self.values.astype(np.float64) - low) / (high - low)).clip(0, 1)
        if self.missing is not None:
            shares[self.missing] = 0
        if self.opacity is not None:
            shares *= self.opacity if shares.ndim == 2 else self.opacity[..., None]
        return Image.fromarray((255 * shares).round().astype(np.uint8))

    def turned(self, orientation: int) -> Self:
        """Return the image upright, by the number of its orientation in EXIF and TIFF (1: it is upright)."""
        opacity = None if self.opacity is None else _turned(self.opacity, orientation)
        missing = None if self.missing is None else _turned(self.missing, orientation)
        return replace(self, values=_turned(self.values, orientation), opacity=opacity, missing=missing)

    def _known(self) -> np.ndarray:
        """Return the values (n,) or (n, 3) of the pixels that have data."""
        if self.missing is None:
            return self.values.reshape(-1, *self.values.shape[2:])
        return self.values[~self.missing]


def _turned(array: np.ndarray, orientation: int) -> np.ndarray:
    quarter_turns = {3: 2, 4: 2, 5: 1, 6: 3, 7: 3, 8: 1}.get(orientation, 0)  # They are counterclockwise.
    if orientation in (2, 4, 5, 7):
        array = array[:, ::-1]
    return np.rot90(array, quarter_turns)
