"""Errors of predicted directions in degrees.

Angles are 2 atan2(|a - b|, |a + b|) of unit vectors a and b, which loses no digit at any angle, unlike the arc
cosine of their product.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinate.counts import counted
from ordinate.errors import OrdinateError
from ordinate.metrics.inputs import check_targets


def angular_error(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Return the mean angle between the true and the predicted direction of a gaze (SupCR, Section 4, MPIIFaceGaze).

    Args:
        y_true: Pitch and yaw (n, 2), in radians.
        y_pred: Predicted pitch and yaw (n, 2), in radians.

    Returns:
        A value in [0, 180], in degrees.

    Raises:
        OrdinateError: shapes other than (n, 2), no samples, or values that are not finite numbers.

    Example:
        >>> round(angular_error([[0.0, 0.0], [0.0, 0.0]], [[0.0, np.pi / 4], [-np.pi / 2, 1.0]]), 12)
        67.5
    """
    true, pred = check_targets(y_true, y_pred)
    if true.shape[1] != 2:
        raise OrdinateError("y_true", counted(true.shape[1], "dimension"), "(pitch, yaw)")
    a, b = gaze_directions(true), gaze_directions(pred)
    angles = 2 * np.arctan2(np.linalg.norm(a - b, axis=1), np.linalg.norm(a + b, axis=1))
    return float(np.mean(np.degrees(angles)))


def gaze_directions(gaze: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return unit vectors (n, 3) of directions (n, 2), pitch and yaw in radians."""
    pitch, yaw = gaze.T
    return np.column_stack([np.cos(pitch) * np.sin(yaw), np.sin(pitch), np.cos(pitch) * np.cos(yaw)])
