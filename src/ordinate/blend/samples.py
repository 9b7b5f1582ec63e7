"""Samples in folds, and predictions of each fold by a model that has not seen it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from torch import Tensor, from_numpy

Predict = Callable[["FoldedSamples"], NDArray[np.float64]]  # Predictions (n, o) of samples, whose labels are not read.


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

    def with_folds(self, most: int, most_read: int = 2_000_000) -> Self:
        """Return the samples in at most so many folds, in two if a model of each would read very many numbers."""
        count = min(int(self.fold.max()) + 1, most, max(2, most_read // self.x.numel()))
        return replace(self, fold=self.fold % count)

    def predict_by_fold(self, fit: Callable[[Self], Predict]) -> NDArray[np.float64]:
        """Return what models, each fitted without a fold, predict of it: (n, o).

        The fits are jobs of joblib, so that ``joblib.parallel_config`` spreads them.
        """
        parts = [self.fold == number for number in range(int(self.fold.max()) + 1)]
        predictions = Parallel(prefer="threads")(delayed(self._predict_one)(fit, unseen) for unseen in parts)
        joined = np.empty((len(self.x), predictions[0].shape[1]))
        for unseen, predicted in zip(parts, predictions, strict=True):
            joined[unseen] = predicted
        return joined

    def _predict_one(self, fit: Callable[[Self], Predict], unseen: NDArray[np.bool_]) -> NDArray[np.float64]:
        return fit(self.part(~unseen))(self.part(unseen))
