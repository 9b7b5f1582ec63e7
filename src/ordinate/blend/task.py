"""What the parts of a blend predict: ranks, or a target."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ordinate.heads.cumulative_fit import fit_cumulative_link
from ordinate.heads.linear import fit_ridge


class Task(ABC):
    """What the parts of a blend predict.

    Attributes:
        loss_name: Name of the loss by which they are compared.
        outputs: Columns of a prediction: C probabilities, or 1.
    """

    loss_name: str
    outputs: int

    @abstractmethod
    def residuals(self, predictions: NDArray[np.float64], y: NDArray[Any]) -> NDArray[np.float64]:
        """Return errors (n, k) whose squares add up to the loss."""

    @abstractmethod
    def tree_targets(self, y: NDArray[Any]) -> NDArray[np.float64]:
        """Return the targets (n, k) of regression trees in a forest."""

    @abstractmethod
    def of_trees(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return predictions (n, o) from means (n, k) of :meth:`tree_targets`."""

    @abstractmethod
    def fit_linear(
        self, x: Tensor, y: Tensor, weights: Tensor | None, start: nn.Sequential | None = None
    ) -> nn.Sequential:
        """Return a linear layer to one column and what predicts from that; ``start`` is that of most samples."""

    def losses(self, predictions: NDArray[np.float64], y: NDArray[Any]) -> NDArray[np.float64]:
        """Return the loss (n,) of each prediction."""
        summed: NDArray[np.float64] = np.square(self.residuals(predictions, y)).sum(1)
        return summed


class RankTask(Task):
    """Probabilities of C ranks.

    Example:
        >>> RankTask(3).losses(np.array([[0.0, 0.5, 0.5]]), np.array([1])).tolist()
        [0.25]
    """

    loss_name = "ranked probability score"

    def __init__(self, num_classes: int) -> None:
        self.outputs = num_classes

    def residuals(self, predictions: NDArray[np.float64], y: NDArray[Any]) -> NDArray[np.float64]:
        above: NDArray[np.float64] = 1 - predictions.cumsum(1)[:, :-1]
        return above - self.tree_targets(y)

    def tree_targets(self, y: NDArray[Any]) -> NDArray[np.float64]:
        above: NDArray[np.float64] = (y[:, None] > np.arange(self.outputs - 1)).astype(np.float64)
        return above

    def of_trees(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        one, zero = np.ones((len(values), 1)), np.zeros((len(values), 1))
        return -np.diff(np.hstack([one, values, zero]), axis=1)

    def fit_linear(
        self, x: Tensor, y: Tensor, weights: Tensor | None, start: nn.Sequential | None = None
    ) -> nn.Sequential:
        known: Any = None if start is None else tuple(start)
        return nn.Sequential(*fit_cumulative_link(x, y, self.outputs, weights, start=known))


class TargetTask(Task):
    """A target, standardised."""

    loss_name = "squared error, in variances of the target,"
    outputs = 1

    def residuals(self, predictions: NDArray[np.float64], y: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(predictions - y)

    def tree_targets(self, y: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(y)

    def of_trees(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return values

    def fit_linear(
        self, x: Tensor, y: Tensor, weights: Tensor | None, start: nn.Sequential | None = None
    ) -> nn.Sequential:
        ridge = fit_ridge(x, y, weights)
        layer = nn.Linear(x.shape[1], 1).double()
        with torch.no_grad():
            layer.weight.copy_(ridge.linear.weight * ridge.target_scale)
            layer.bias.copy_(ridge.linear.bias * ridge.target_scale + ridge.target_mean)
        return nn.Sequential(layer.requires_grad_(False), nn.Identity())
