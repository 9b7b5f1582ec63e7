"""Metrics that TorchMetrics lacks, computed over batches and processes.

Each class gives the value of the function of the same name over all batches of all processes, up to rounding: it adds
up in float64. As in TorchMetrics the prediction comes first, ``metric(preds, target)``. A process may have had no
batch.

TorchMetrics has the others: the documentation of the metrics names its classes and says where they differ.

Example:
    >>> metric = GeometricMeanError()
    >>> metric.update(torch.tensor([1.0, 2.5]), torch.tensor([1.5, 2.0]))
    >>> metric.update(torch.tensor([4.0]), torch.tensor([5.0]))
    >>> round(metric.compute().item(), 4)
    0.63
"""

from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric

from ordinate.checks import check_num_classes, check_whole
from ordinate.errors import OrdinateError
from ordinate.functional.label_distance import gaze_directions
from ordinate.metrics.continuous import SMALLEST_ERROR


class _MeanTerm(Metric):
    """Averages one term per sample and dimension.

    Args:
        dimensions: Number of dimensions p of targets (n, p).
        kwargs: Options of :class:`torchmetrics.Metric`.
    """

    full_state_update = False
    higher_is_better = False
    total: Tensor
    count: Tensor

    def __init__(self, dimensions: int = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dimensions = check_whole(dimensions, "dimensions")
        self.add_state("total", torch.zeros(dimensions, dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("count", torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, preds: Tensor, target: Tensor) -> None:
        pred, true = _check_targets(preds, target, self.dimensions)
        self.total += self.terms(true, pred).sum(dim=0)
        self.count += len(true)

    def compute(self) -> Tensor:
        _check_updated(self.count)
        return self.value(self.total / self.count).mean()

    @abstractmethod
    def terms(self, true: Tensor, pred: Tensor) -> Tensor:
        """Return the terms (n, p) of float64 targets and predictions (n, p)."""

    def value(self, mean: Tensor) -> Tensor:
        """Return the metric (p,) for the mean term (p,)."""
        return mean


class GeometricMeanError(_MeanTerm):
    """Compute :func:`~ordinate.metrics.geometric_mean_error` over batches.

    Example:
        >>> metric = GeometricMeanError()
        >>> metric.update(torch.tensor([1.0, 2.5, 4.0]), torch.tensor([1.5, 2.0, 5.0]))
        >>> round(metric.compute().item(), 4)
        0.63
    """

    def terms(self, true: Tensor, pred: Tensor) -> Tensor:
        return (true - pred).abs().clamp(min=SMALLEST_ERROR).log()

    def value(self, mean: Tensor) -> Tensor:
        return mean.exp()


class AngularError(_MeanTerm):
    """Compute :func:`~ordinate.metrics.angular_error` over batches: (pitch, yaw) in radians, the error in degrees.

    Example:
        >>> metric = AngularError()
        >>> metric.update(torch.tensor([[0.0, 0.1]]), torch.tensor([[0.0, 0.0]]))
        >>> round(metric.compute().item(), 4)
        5.7296
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(dimensions=2, **kwargs)

    def terms(self, true: Tensor, pred: Tensor) -> Tensor:
        a = gaze_directions(true)
        b = gaze_directions(pred)
        angle = 2 * torch.atan2((a - b).norm(dim=1), (a + b).norm(dim=1))
        return angle.rad2deg()[:, None]


class AccuracyWithin(_MeanTerm):
    """Compute :func:`~ordinate.metrics.accuracy_within` k ranks over batches.

    Args:
        k: Largest difference of ranks that counts as right, >= 0.
        kwargs: Options of :class:`torchmetrics.Metric`.

    Example:
        >>> metric = AccuracyWithin(k=1)
        >>> metric.update(torch.tensor([0, 1, 2, 0]), torch.tensor([0, 2, 2, 2]))
        >>> round(metric.compute().item(), 4)
        0.75
    """

    higher_is_better = True

    def __init__(self, k: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.k = check_whole(k, "k", least=0)

    def terms(self, true: Tensor, pred: Tensor) -> Tensor:
        _check_ranks(true, "target")
        _check_ranks(pred, "preds")
        return ((true - pred).abs() <= self.k).double()


class AdjacentErrorRates(Metric):
    """Compute :func:`~ordinate.metrics.adjacent_error_rates` (C-1,) over batches.

    Args:
        num_classes: Number of ranks C, at least 2.
        kwargs: Options of :class:`torchmetrics.Metric`.

    Example:
        >>> metric = AdjacentErrorRates(num_classes=3)
        >>> metric.update(torch.tensor([0, 1, 2, 0]), torch.tensor([0, 2, 2, 1]))
        >>> metric.compute().tolist()
        [0.5, 0.3333333333333333]
    """

    full_state_update = False
    higher_is_better = False
    swapped: Tensor
    sizes: Tensor

    def __init__(self, num_classes: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.num_classes = check_num_classes(num_classes)
        self.add_state("swapped", torch.zeros(num_classes - 1, dtype=torch.int64), dist_reduce_fx="sum")
        self.add_state("sizes", torch.zeros(num_classes, dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, preds: Tensor, target: Tensor) -> None:
        pred, true = _check_targets(preds, target, 1)
        _check_ranks(pred, "preds", self.num_classes)
        _check_ranks(true, "target", self.num_classes)
        pred_ranks = pred[:, 0].long()
        true_ranks = true[:, 0].long()
        adjacent = (true_ranks - pred_ranks).abs() == 1
        boundaries = torch.minimum(true_ranks, pred_ranks)[adjacent]
        self.swapped += torch.bincount(boundaries, minlength=self.num_classes - 1)
        self.sizes += torch.bincount(true_ranks, minlength=self.num_classes)

    def compute(self) -> Tensor:
        _check_updated(self.sizes.sum())
        # A boundary neither of whose ranks has a sample is 0 / 0, which is NaN.
        return self.swapped.double() / (self.sizes[:-1] + self.sizes[1:])


def _check_targets(preds: Tensor, target: Tensor, dimensions: int) -> tuple[Tensor, Tensor]:
    """Return predictions and targets as float64 (n, p)."""
    matrices = [_check_matrix(preds, "preds", dimensions), _check_matrix(target, "target", dimensions)]
    if len(preds) != len(target):
        raise OrdinateError("preds", f"{len(preds)} samples", f"{len(target)}, as many as target")
    return matrices[0], matrices[1]


def _check_matrix(values: Tensor, name: str, dimensions: int) -> Tensor:
    if values.ndim not in (1, 2) or len(values) == 0 or values.numel() != len(values) * dimensions:
        wanted = "(n,)" if dimensions == 1 else f"(n, {dimensions})"
        raise OrdinateError(name, f"shape {tuple(values.shape)}", f"{wanted} for at least one sample")
    matrix = values.detach().reshape(len(values), dimensions).double()
    if not bool(torch.isfinite(matrix).all()):
        raise OrdinateError(name, "NaN or infinity", "finite values")
    return matrix


def _check_ranks(values: Tensor, name: str, num_classes: int | None = None) -> None:
    if bool((values != values.floor()).any()):
        raise OrdinateError(name, "fractions", "whole ranks")
    too_large = num_classes is not None and bool((values >= num_classes).any())
    if too_large or bool((values < 0).any()):
        top = "C-1" if num_classes is None else num_classes - 1
        raise OrdinateError(name, f"ranks {values.min():g} to {values.max():g}", f"0 to {top}")


def _check_updated(count: Tensor) -> None:
    if not bool(count):
        raise OrdinateError("compute", "no batch yet", "an update first")
