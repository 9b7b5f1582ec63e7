"""Calibrated probabilities of ranks from the logits of a classifier."""

from collections.abc import Mapping
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn


class LogitCalibration(nn.Module):
    r"""Scaling of logits (Guo et al., ICML 2017) with a shift per rank, and a pull towards the expected rank.

    A classifier that overfits is wrong about neighbouring ranks more often than about distant ones, however its logits
    are scaled. With the scaled logits s = scale * z and the expected rank m of their softmax, the probabilities are the
    softmax of ``s_k + shift_k - pull * (k - m)^2 / 2``, mixed with a small share of equal probabilities, so that none
    is 0.

    Args:
        num_classes: Number of ranks C.

    Attributes:
        penalties: Penalties of the squared distance of each parameter from its start, in nats.

    Example:
        >>> LogitCalibration(3)(torch.tensor([[9.0, 2.0, 0.0]])).argmax(1)
        tensor([0])
    """

    places: Tensor
    penalties: ClassVar[Mapping[str, float]] = {"log_scale": 0.05, "shifts": 1.0, "log_pull": 0.1}

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.log_scale = nn.Parameter(torch.full((1,), -1.0, dtype=torch.float64))
        self.shifts = nn.Parameter(torch.zeros(num_classes, dtype=torch.float64))
        self.log_pull = nn.Parameter(torch.full((1,), -2.0, dtype=torch.float64))
        self.register_buffer("places", torch.arange(num_classes, dtype=torch.float64), persistent=False)

    def forward(self, logits: Float[Tensor, "n c"], least: float = 1e-6) -> Float[Tensor, "n c"]:
        """Return the probability of every rank; rows sum to 1."""
        scaled = logits * self.log_scale.exp()
        expected = (scaled.softmax(1) * self.places).sum(1, keepdim=True)
        pull = self.log_pull.exp() * (self.places - expected).square() / 2
        probabilities: Tensor = (scaled + self.shifts - pull).softmax(1)
        return (1 - least) * probabilities + least / len(self.places)
