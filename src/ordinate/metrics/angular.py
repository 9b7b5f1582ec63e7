"""Errors of predicted directions in degrees.

Angles are 2 atan2(|a - b|, |a + b|) of unit vectors a and b, which loses no digit at any angle, unlike the arc
cosine of their product.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinate.errors import OrdinateError
from ordinate.metrics.embedding import unit_norm
from ordinate.metrics.inputs import check_targets


def angular_error(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Return the mean angle between the true and the predicted direction of a gaze (SupCR, Section 4, MPIIFaceGaze).

    Returns:
        Of pitch and yaw in radians, both (n, 2), a value in [0, 180], in degrees.

    Raises:
        OrdinateError: shapes other than (n, 2), no samples, or values that are not finite numbers.

    Example:
        >>> round(angular_error([[0.0, 0.0], [0.0, 0.0]], [[0.0, np.pi / 4], [-np.pi / 2, 1.0]]), 12)
        67.5
    """
    true, pred = check_targets(y_true, y_pred)
    if true.shape[1] != 2:
        raise OrdinateError("y_true", f"{true.shape[1]} dimensions", "(pitch, yaw)", "see vector_angular_error")
    return float(np.mean(_angles(gaze_directions(true), gaze_directions(pred))))


def vector_angular_error(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Return the mean angle between true and predicted vectors, whose lengths do not matter.

    Returns:
        Of vectors (n, d), d at least 2, a value in [0, 180], in degrees.

    Raises:
        OrdinateError: shapes that differ, one dimension, no samples, zero vectors, or values that are not finite.

    Example:
        >>> vector_angular_error([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]], [[0.0, 1.0, 0.0], [0.0, 9.0, 0.0]])
        45.0
    """
    true, pred = check_targets(y_true, y_pred)
    if true.shape[1] < 2:
        raise OrdinateError("y_true", "1 dimension", "vectors (n, d) with d at least 2")
    for name, vectors in (("y_true", true), ("y_pred", pred)):
        if not vectors.any(axis=1).all():
            raise OrdinateError(name, "a zero vector", "vectors with a direction")
    return float(np.mean(_angles(unit_norm(true), unit_norm(pred))))


def gaze_directions(gaze: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return unit vectors (n, 3) of directions (n, 2), pitch and yaw in radians."""
    pitch, yaw = gaze.T
    return np.column_stack([np.cos(pitch) * np.sin(yaw), np.sin(pitch), np.cos(pitch) * np.cos(yaw)])


def _angles(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the degrees (n,) between unit vectors (n, d)."""
    angles = 2 * np.arctan2(np.linalg.norm(a - b, axis=1), np.linalg.norm(a + b, axis=1))
    return np.asarray(np.degrees(angles))
