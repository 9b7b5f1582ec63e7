"""Samples in folds, and predictions of each fold by a model that has not seen it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from torch import Tensor, from_numpy

Predictions = NDArray[np.float64]


@dataclass(frozen=True)
class FoldedSamples:
    """Samples of which a fold at a time is held out.

    Args:
        x: Samples (n, f), float32.
        y: Ranks (n,), or standardised targets (n, 1) in float64.
        weights: Weights (n,) in float64, of mean 1; None for equal ones.
        fold: Fold (n,) of each sample, from 0.
        tree_columns: Columns (g,) that trees read: all but those that only change the scale of another.
        grouped: Whether samples of a group, which lie in one fold, resemble each other.
    """

    x: Tensor
    y: Tensor
    weights: Tensor | None
    fold: NDArray[np.int64]
    tree_columns: NDArray[np.int64]
    grouped: bool = False

    @property
    def of_trees(self) -> NDArray[np.float32]:
        """What trees read of the samples (n, g)."""
        return self.x.numpy()[:, self.tree_columns]

    def part(self, rows: NDArray[np.bool_]) -> Self:
        """Return some of the samples."""
        chosen = from_numpy(rows)
        weights = None if self.weights is None else self.weights[chosen]
        return replace(self, x=self.x[chosen], y=self.y[chosen], weights=weights, fold=self.fold[rows])

    @property
    def folds(self) -> int:
        """Number of folds."""
        return int(self.fold.max()) + 1

    def with_folds(self, most: int) -> Self:
        """Return the samples in at most so many folds."""
        return replace(self, fold=self.fold % min(self.folds, most))

    def with_few_folds(self, most: int, most_read: int = 2_000_000) -> Self:
        """Return the samples in at most so many folds, in two if a model of each would read very many numbers."""
        return self.with_folds(min(most, max(2, most_read // self.x.numel())))

    def by_fold(
        self, fit: Callable[[Self], Any], predict: Callable[[Any, Self], Predictions]
    ) -> tuple[list[Any], Predictions]:
        """Return models that are each fitted without a fold, and what they predict of it: (n, o).

        The fits are jobs of joblib, so that ``joblib.parallel_config`` spreads them.
        """
        parts = [self.fold == number for number in range(self.folds)]
        found: Any = Parallel(prefer="threads")(delayed(self._one)(fit, predict, unseen) for unseen in parts)
        joined = np.empty((len(self.x), found[0][1].shape[1]))
        for unseen, (_, predicted) in zip(parts, found, strict=True):
            joined[unseen] = predicted
        return [model for model, _ in found], joined

    def _one(self, fit: Any, predict: Any, unseen: NDArray[np.bool_]) -> tuple[Any, Predictions]:
        model = fit(self.part(~unseen))
        return model, predict(model, self.part(unseen))
