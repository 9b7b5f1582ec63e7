"""Distances between continuous labels."""

import torch
from jaxtyping import Float
from torch import Tensor

from ordinate.counts import counted
from ordinate.errors import OrdinateError
from ordinate.functional.inputs import shape_or_type
from ordinate.functional.numerics import to_accumulation_dtype
from ordinate.options import LabelDistance


def pairwise_label_distance(
    labels: Float[Tensor, "n p"], ref_labels: Float[Tensor, "m p"], distance: LabelDistance
) -> Float[Tensor, "n m"]:
    """Return the distance of every label from every reference label, without a gradient.

    ``"l1"`` and ``"l2"`` are norms of the difference. ``"angular"`` is the angle in radians between the
    directions that (pitch, yaw) labels in radians point in, as SupCR's Section 4 measures gaze. A
    callable takes (n, p) and (m, p) and returns (n, m) distances, finite and >= 0.
    """
    with torch.no_grad():
        if callable(distance):
            result = distance(labels, ref_labels)
            shape = (len(labels), len(ref_labels))
            if not isinstance(result, Tensor) or result.shape != shape:
                problem = f"the callable returned {shape_or_type(result)}"
                raise OrdinateError("label_distance", problem=problem, expected=f"a tensor {shape}")
            if not bool(torch.isfinite(result).all()) or bool((result < 0).any()):
                raise OrdinateError("label_distance", problem="the callable returned NaN, infinity or values below 0")
            return result if result.is_floating_point() else to_accumulation_dtype(result)
        if distance == "angular":
            if labels.shape[1] != 2:
                raise OrdinateError("labels", f"{counted(labels.shape[1], 'dimension')}, 'angular' takes (pitch, yaw)")
            labels, ref_labels = gaze_directions(labels), gaze_directions(ref_labels)
            chord = torch.cdist(labels, ref_labels, compute_mode="donot_use_mm_for_euclid_dist")
            return 2 * torch.asin((chord / 2).clamp(max=1))
        if labels.shape[1] == 1:
            result = (labels - ref_labels.T).abs()
        elif distance in ("l1", "l2"):
            p = 1.0 if distance == "l1" else 2.0
            result = torch.cdist(labels, ref_labels, p=p, compute_mode="donot_use_mm_for_euclid_dist")
        else:
            raise OrdinateError("label_distance", repr(distance), "'l1', 'l2', 'angular' or a callable")
        if not bool(torch.isfinite(result).all()):
            raise OrdinateError(
                "labels", problem="their distances exceed the range of their dtype", hint="rescale them or use float64"
            )
        return result


def gaze_directions(gaze: Float[Tensor, "n 2"]) -> Float[Tensor, "n 3"]:
    """Return unit vectors (n, 3) of (pitch, yaw) directions in radians, in the widest type of the device."""
    pitch, yaw = to_accumulation_dtype(gaze).unbind(1)
    return torch.stack([pitch.cos() * yaw.sin(), pitch.sin(), pitch.cos() * yaw.cos()], dim=1)
