"""What the baselines of ranks have in common."""

import numpy as np
from numpy.typing import NDArray

from ordinate.checks import check_whole
from ordinate.data.samplers import RankBatches
from ordinate.estimators.method import Facts, fewer_epochs
from ordinate.estimators.rank_classifier import RankMethod


class BaselineMethod(RankMethod):
    """How a baseline trains for ``epochs``; None stands for 300, or as many as 3000 batches make if that is fewer."""

    def check(self) -> None:
        super().check()
        if self.settings.epochs is not None:
            check_whole(self.settings.epochs, "epochs")

    def epochs(self, facts: Facts) -> int:
        """Return the epochs of training."""
        if self.settings.epochs is None:
            return fewer_epochs(300, 3000, facts.n_batches)
        return self.settings.epochs


class TwoRankMethod(BaselineMethod):
    """How a baseline of pairs trains: every batch holds the lowest and the highest rank."""

    def batches(self, targets: NDArray[np.int64], batch_size: int, seed: int) -> RankBatches:
        required = {int(targets.min()): 1, int(targets.max()): 1}
        return RankBatches(targets, batch_size, required=required, seed=seed)
