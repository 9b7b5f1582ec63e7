"""A fitted part of a blend."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn


@dataclass(frozen=True)
class Part:
    """A fitted part of a blend.

    Args:
        encoder: Module from samples (n, f) to columns of the embedding: a score (n, 1), or predictions (n, o).
        link: Module from these to predictions; None if they are predictions.
        unseen: Predictions (m, o) of samples that the part has not seen.
    """

    encoder: nn.Module
    link: nn.Module | None
    unseen: NDArray[np.float64]

    def predict(self, x: Tensor) -> NDArray[np.float64]:
        """Return predictions (n, o) of samples."""
        with torch.no_grad():
            columns = self.encoder(x.double())
            predicted: NDArray[np.float64] = (columns if self.link is None else self.link(columns)).numpy()
        return predicted
