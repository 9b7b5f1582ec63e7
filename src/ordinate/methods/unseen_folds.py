"""Folds of the samples that members of a blend do not see in training, and are validated on."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from ordinate.data.training_batches import ArrayBatches


class FoldBatches(ArrayBatches):
    """Samples with the weight of each in each member, 0 in those that do not see its fold.

    Args:
        x: Samples (n, f).
        y: Labels (n,) or (n, 1).
        weights: Weights (n,); None for equal ones.
        fold: Fold (n,) of every sample.
        members: Number of members, each of which does not see the fold of its number, modulo the folds.
    """

    def __init__(self, x: Any, y: Tensor, weights: Tensor | None, fold: NDArray[np.int64], members: int) -> None:
        super().__init__(x, y, weights)
        folds = int(fold.max()) + 1
        self.fold = torch.from_numpy(fold)
        self.unseen_fold = torch.arange(members) % folds
        self.all_see_all = False

    def labels_of(self, rows: Tensor) -> list[Tensor]:
        is_seen = (self.fold[rows][:, None] != self.unseen_fold).float()
        if self.all_see_all:
            is_seen = torch.ones_like(is_seen)
        return [self.y[rows], is_seen if self.weights is None else is_seen * self.weights[rows][:, None].float()]


class UnseenSamples:
    """Samples arranged by fold, so that each member predicts those of its own fold and no others.

    Args:
        x: Samples (n, f).
        fold: Fold (n,) of each.
        unseen_fold: Fold (m,) that each member does not see.
        at_once: Largest number of rows that pass all members at a time.
    """

    def __init__(self, x: Tensor, fold: Tensor, unseen_fold: Tensor, at_once: int = 512) -> None:
        rows = [torch.nonzero(fold == number).ravel() for number in unseen_fold.tolist()]
        most = max(map(len, rows))
        padded = [torch.cat([of_one, of_one.new_zeros(most - len(of_one))]) for of_one in rows]
        self.rows = torch.stack(padded)
        self.is_real = torch.stack([torch.arange(most) < len(of_one) for of_one in rows])
        self.parts = [x[part] for part in self.rows.split(at_once, dim=1)]
        self.size = len(x)

    def mean_prediction(self, predict: Callable[[Tensor], Tensor]) -> Float[Tensor, "n o"]:
        """Return the mean prediction of the members that have not seen a sample.

        Args:
            predict: Function from samples (m, k, f), those of each member, to predictions (m, k, o).
        """
        predicted = torch.cat([predict(part) for part in self.parts], dim=1).cpu()
        rows, values = self.rows[self.is_real], predicted[self.is_real]
        total = values.new_zeros(self.size, values.shape[1]).index_add_(0, rows, values)
        count = values.new_zeros(self.size).index_add_(0, rows, torch.ones_like(values[:, 0]))
        return total / count[:, None]
