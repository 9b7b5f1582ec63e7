"""What the baselines of pairs of ranks have in common."""

import numpy as np
from numpy.typing import NDArray

from ordinate.data.samplers import RankBatches
from ordinate.estimators.plain import RankBaseline


class TwoRankMethod(RankBaseline):
    """How a baseline of pairs trains: every batch holds the lowest and the highest rank."""

    def batches(self, targets: NDArray[np.int64], batch_size: int, seed: int) -> RankBatches:
        required = {int(targets.min()): 1, int(targets.max()): 1}
        return RankBatches(targets, batch_size, required=required, seed=seed)
