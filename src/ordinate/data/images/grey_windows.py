"""Windows of DICOM: which stored values become black, grey and white (DICOM PS3.3, C.11.2.1.2 and C.11.2.1.3)."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

LINEAR, LINEAR_EXACT, SIGMOID = "LINEAR", "LINEAR_EXACT", "SIGMOID"


def is_window(centre: float, width: float, function: str) -> bool:
    """Return whether a window is one of the standard: of a width of at least 1 if it is linear, or above 0."""
    least = 1 if function == LINEAR else np.nextafter(0, 1)
    return bool(np.isfinite(centre) and np.isfinite(width) and width >= least)


def windowed(values: NDArray[np.float64], centre: float, width: float, function: str) -> NDArray[np.float64]:
    """Return grey from 0 to 1.

    Args:
        values: Values after rescaling.
        centre: Window centre.
        width: Window width.
        function: ``"LINEAR"``, where the window's ends are half a value within those of ``"LINEAR_EXACT"``, or
            ``"SIGMOID"``.

    Example:
        >>> windowed(np.array([0.0, 1.0, 2.0, 3.0, 4.0]), 2.5, 4, "LINEAR")
        array([0.        , 0.16666667, 0.5       , 0.83333333, 1.        ])
    """
    if function == SIGMOID:
        return np.asarray(expit(4 * (values - centre) / width))
    if function == LINEAR:
        centre, width = centre - 0.5, width - 1
    if width == 0:
        return (values > centre).astype(np.float64)
    return ((values - centre) / width + 0.5).clip(0, 1)
