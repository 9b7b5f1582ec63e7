"""The metrics of predictions as TorchMetrics, which are updated batch by batch and across processes.

Each is the function of the same name over all batches of all processes, to rounding: it adds up in float64. As in
TorchMetrics the prediction comes first, ``metric(preds, target)``, and a process may have had no batch at all.
``dimensions`` is p for targets (n, p). Only :class:`Spearman` and :class:`Kendall` keep the predictions themselves.

Example:
    >>> metric = RMSE()
    >>> metric.update(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0]))
    >>> metric.update(torch.tensor([5.0, 6.0]), torch.tensor([3.0, 4.0]))
    >>> round(metric.compute().item(), 9)
    1.414213562
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torchmetrics import Metric

from ordinate.checks import check_num_classes, check_whole
from ordinate.errors import OrdinateError
from ordinate.functional.label_distance import gaze_directions
from ordinate.metrics.continuous import FLOOR, kendall, spearman

N, MEAN_TRUE, MEAN_PRED, VARY_TRUE, VARY_PRED, VARY_BOTH, RESIDUAL = range(7)  # rows of the moments


class _OfTargets(Metric):
    """A metric of predictions and targets (n, p)."""

    full_state_update = False
    higher_is_better = True

    def __init__(self, dimensions: int = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dimensions = check_whole(dimensions, "dimensions")


class _Sum(_OfTargets):
    """Adds up one term per sample and dimension; subclasses define the term, and what becomes of its mean."""

    higher_is_better = False
    total: Tensor
    count: Tensor

    def __init__(self, dimensions: int = 1, **kwargs: Any) -> None:
        super().__init__(dimensions, **kwargs)
        self.add_state("total", torch.zeros(dimensions, dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("count", torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, preds: Tensor, target: Tensor) -> None:
        pred, true = _as_targets(preds, target, self.dimensions)
        self.total += self.term(true, pred).sum(dim=0)
        self.count += len(true)

    def compute(self) -> Tensor:
        return self.value(self.total / _some(self.count)).mean()

    @abstractmethod
    def term(self, true: Tensor, pred: Tensor) -> Tensor:
        """Return (n, p) terms for float64 (n, p)."""

    def value(self, mean: Tensor) -> Tensor:
        """Return what becomes of the mean term (p,)."""
        return mean


class MAE(_Sum):
    """:func:`~ordinate.metrics.mae` over batches.

    Example:
        >>> metric = MAE()
        >>> metric.update(torch.tensor([1.0, 2.5, 4.0]), torch.tensor([1.5, 2.0, 5.0]))
        >>> round(metric.compute().item(), 4)
        0.6667
    """

    def term(self, true: Tensor, pred: Tensor) -> Tensor:
        return (true - pred).abs()


class MSE(_Sum):
    """:func:`~ordinate.metrics.mse` over batches.

    Example:
        >>> metric = MSE()
        >>> metric.update(torch.tensor([1.0, 2.5, 4.0]), torch.tensor([1.5, 2.0, 5.0]))
        >>> round(metric.compute().item(), 4)
        0.5
    """

    def term(self, true: Tensor, pred: Tensor) -> Tensor:
        return (true - pred) ** 2


class RMSE(MSE):
    """:func:`~ordinate.metrics.rmse` over batches.

    Example:
        >>> metric = RMSE()
        >>> metric.update(torch.tensor([1.0, 2.5, 4.0]), torch.tensor([1.5, 2.0, 5.0]))
        >>> round(metric.compute().item(), 4)
        0.7071
    """

    def value(self, mean: Tensor) -> Tensor:
        return mean.sqrt()


class GeometricMeanError(_Sum):
    """:func:`~ordinate.metrics.geometric_mean_error` over batches.

    Example:
        >>> metric = GeometricMeanError()
        >>> metric.update(torch.tensor([1.0, 2.5, 4.0]), torch.tensor([1.5, 2.0, 5.0]))
        >>> round(metric.compute().item(), 4)
        0.63
    """

    def term(self, true: Tensor, pred: Tensor) -> Tensor:
        return (true - pred).abs().clamp(min=FLOOR).log()

    def value(self, mean: Tensor) -> Tensor:
        return mean.exp()


class AngularError(_Sum):
    """:func:`~ordinate.metrics.angular_error` over batches: (pitch, yaw) in radians, the error in degrees.

    Example:
        >>> metric = AngularError()
        >>> metric.update(torch.tensor([[0.0, 0.1]]), torch.tensor([[0.0, 0.0]]))
        >>> round(metric.compute().item(), 4)
        5.7296
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(dimensions=2, **kwargs)

    def term(self, true: Tensor, pred: Tensor) -> Tensor:
        a, b = gaze_directions(true), gaze_directions(pred)
        angle = 2 * torch.atan2((a - b).norm(dim=1), (a + b).norm(dim=1))
        return angle.rad2deg()[:, None]


class AccuracyWithin(_Sum):
    """:func:`~ordinate.metrics.accuracy_within` k ranks over batches.

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

    def term(self, true: Tensor, pred: Tensor) -> Tensor:
        return ((_check_ranks(true, "target") - _check_ranks(pred, "preds")).abs() <= self.k).double()


class Accuracy(AccuracyWithin):
    """:func:`~ordinate.metrics.accuracy` over batches.

    Example:
        >>> metric = Accuracy()
        >>> metric.update(torch.tensor([0, 1, 2, 0]), torch.tensor([0, 2, 2, 2]))
        >>> round(metric.compute().item(), 4)
        0.5
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(k=0, **kwargs)


class _Moments(_OfTargets):
    """Keeps means and centred second moments of targets and predictions, which merge without cancellation."""

    moments: Tensor

    def __init__(self, dimensions: int = 1, **kwargs: Any) -> None:
        super().__init__(dimensions, **kwargs)
        empty = torch.zeros(7, dimensions, dtype=torch.float64)
        self.add_state("moments", empty, dist_reduce_fx=_merge_moments)

    def update(self, preds: Tensor, target: Tensor) -> None:
        pred, true = _as_targets(preds, target, self.dimensions)
        self.moments = _merge_moments(torch.stack([self.moments, _moments(true, pred)]))


class R2(_Moments):
    """:func:`~ordinate.metrics.r2` over batches.

    Example:
        >>> metric = R2()
        >>> metric.update(torch.tensor([1.0, 2.5, 4.0]), torch.tensor([1.5, 2.0, 5.0]))
        >>> round(metric.compute().item(), 4)
        0.7907
    """

    def compute(self) -> Tensor:
        _some(self.moments[N, 0])
        vary = self.moments[VARY_TRUE]
        return torch.where(vary > 0, 1 - self.moments[RESIDUAL] / vary, 0.0).mean()


class Pearson(_Moments):
    """:func:`~ordinate.metrics.pearson` over batches.

    Example:
        >>> metric = Pearson()
        >>> metric.update(torch.tensor([1.0, 2.5, 4.0]), torch.tensor([1.5, 2.0, 5.0]))
        >>> round(metric.compute().item(), 4)
        0.9245
    """

    def compute(self) -> Tensor:
        _some(self.moments[N, 0])
        norm = self.moments[VARY_TRUE].sqrt() * self.moments[VARY_PRED].sqrt()
        return torch.where(norm > 0, self.moments[VARY_BOTH] / norm, 0.0).clamp(-1, 1).mean()


class QuadraticWeightedKappa(_Moments):
    """:func:`~ordinate.metrics.quadratic_weighted_kappa` over batches.

    Example:
        >>> metric = QuadraticWeightedKappa()
        >>> metric.update(torch.tensor([0, 1, 2, 0]), torch.tensor([0, 2, 2, 2]))
        >>> round(metric.compute().item(), 4)
        0.375
    """

    def compute(self) -> Tensor:
        n = _some(self.moments[N, 0])
        moments = self.moments[:, 0]
        drift = n * (moments[MEAN_TRUE] - moments[MEAN_PRED]) ** 2
        chance = moments[VARY_TRUE] + moments[VARY_PRED] + drift
        return 1 - moments[RESIDUAL] / chance if chance > 0 else torch.ones_like(chance)

    def update(self, preds: Tensor, target: Tensor) -> None:
        super().update(_check_ranks(preds, "preds"), _check_ranks(target, "target"))


class AdjacentErrorRates(Metric):
    """:func:`~ordinate.metrics.adjacent_error_rates` over batches, (C-1,).

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
        pred, true = _as_targets(preds, target, 1)
        ranks = [
            _check_ranks(x, name, self.num_classes)[:, 0].long() for x, name in ((true, "target"), (pred, "preds"))
        ]
        low = torch.minimum(*ranks)[(ranks[0] - ranks[1]).abs() == 1]
        self.swapped += torch.bincount(low, minlength=self.num_classes - 1)
        self.sizes += torch.bincount(ranks[0], minlength=self.num_classes)

    def compute(self) -> Tensor:
        _some(self.sizes.sum())
        return self.swapped.double() / (self.sizes[:-1] + self.sizes[1:])  # 0/0, NaN, where there is no sample


class _Gathered(_OfTargets):
    """Keeps all targets and predictions, and computes a function (y_true, y_pred) of them."""

    function: Callable[[NDArray[np.float64], NDArray[np.float64]], float]
    pairs: list[Tensor]

    def __init__(self, dimensions: int = 1, **kwargs: Any) -> None:
        super().__init__(dimensions, **kwargs)
        self.add_state("pairs", [], dist_reduce_fx="cat")
        self.set_dtype(torch.float64)  # of the empty tensor that stands for a process without a batch

    def update(self, preds: Tensor, target: Tensor) -> None:
        pred, true = _as_targets(preds, target, self.dimensions)
        self.pairs.append(torch.cat([true, pred], dim=1).flatten())

    def compute(self) -> Tensor:
        gathered = torch.cat(self.pairs) if isinstance(self.pairs, list) and self.pairs else self.pairs
        _some(torch.tensor(len(gathered)))
        true, pred = torch.as_tensor(gathered).reshape(-1, 2, self.dimensions).cpu().unbind(1)
        return torch.tensor(type(self).function(true.numpy(), pred.numpy()), dtype=torch.float64, device=self.device)


class Spearman(_Gathered):
    """:func:`~ordinate.metrics.spearman` over batches; keeps every prediction.

    Example:
        >>> metric = Spearman()
        >>> metric.update(torch.tensor([1.0, 2.5, 4.0]), torch.tensor([1.5, 2.0, 5.0]))
        >>> round(metric.compute().item(), 4)
        1.0
    """

    function = staticmethod(spearman)


class Kendall(_Gathered):
    """:func:`~ordinate.metrics.kendall` over batches; keeps every prediction.

    Example:
        >>> metric = Kendall()
        >>> metric.update(torch.tensor([1.0, 2.5, 4.0]), torch.tensor([1.5, 2.0, 5.0]))
        >>> round(metric.compute().item(), 4)
        1.0
    """

    function = staticmethod(kendall)


def _moments(true: Tensor, pred: Tensor) -> Tensor:
    """Moments (7, p) of a batch; a constant varies by exactly 0."""
    means, deviations = [], []
    for x in (true, pred):
        constant = x.amin(dim=0) == x.amax(dim=0)
        mean = torch.where(constant, x[0], x.mean(dim=0))
        means.append(mean)
        deviations.append(x - mean)
    a, b = deviations
    sums = [(a * a).sum(0), (b * b).sum(0), (a * b).sum(0), ((true - pred) ** 2).sum(0)]
    return torch.stack([torch.full_like(means[0], len(true)), *means, *sums])


def _merge_moments(parts: Tensor) -> Tensor:
    """Moments (7, p) of samples together whose parts have moments (k, 7, p) (Chan, Golub and LeVeque, 1979)."""
    merged = parts[0]
    for part in parts[1:]:
        n, m = merged[N], part[N]
        share = m / (n + m).clamp(min=1)
        true, pred = part[MEAN_TRUE] - merged[MEAN_TRUE], part[MEAN_PRED] - merged[MEAN_PRED]
        between = n * share * torch.stack([true * true, pred * pred, true * pred])
        means = merged[MEAN_TRUE : MEAN_PRED + 1] + share * torch.stack([true, pred])
        within = merged[VARY_TRUE : VARY_BOTH + 1] + part[VARY_TRUE : VARY_BOTH + 1] + between
        residual = merged[RESIDUAL] + part[RESIDUAL]
        merged = torch.cat([(n + m)[None], means, within, residual[None]])
    return merged


def _as_targets(preds: Tensor, target: Tensor, dimensions: int) -> tuple[Tensor, Tensor]:
    """Return predictions and targets as float64 (n, p)."""
    matrices = []
    for name, values in (("preds", preds), ("target", target)):
        if values.ndim not in (1, 2) or len(values) == 0 or values.numel() != len(values) * dimensions:
            wanted = "(n,)" if dimensions == 1 else f"(n, {dimensions})"
            raise OrdinateError(name, f"shape {tuple(values.shape)}", f"{wanted} for at least one sample")
        matrix = values.detach().reshape(len(values), dimensions).double()
        if not bool(torch.isfinite(matrix).all()):
            raise OrdinateError(name, "NaN or infinity", "finite values")
        matrices.append(matrix)
    if len(preds) != len(target):
        raise OrdinateError("preds", f"{len(preds)} samples", f"{len(target)}, as many as target")
    return matrices[0], matrices[1]


def _check_ranks(values: Tensor, name: str, num_classes: int | None = None) -> Tensor:
    if bool((values != values.floor()).any()):
        raise OrdinateError(name, "fractions", "whole ranks")
    if bool((values < 0).any()) or (num_classes is not None and bool((values >= num_classes).any())):
        top = "C-1" if num_classes is None else num_classes - 1
        raise OrdinateError(name, f"ranks {values.min():g} to {values.max():g}", f"0 to {top}")
    return values


def _some(count: Tensor) -> Tensor:
    if not bool(count):
        raise OrdinateError("compute", "no batch yet", "an update first")
    return count
