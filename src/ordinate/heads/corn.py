"""CORN: one conditional binary classifier per threshold (Shi et al., 2021)."""

import torch
from jaxtyping import Float, Shaped
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, logsigmoid

from ordinate.heads.binned import BinnedHead, check_positions
from ordinate.heads.extended_binary import thresholds


def corn_losses(logits: Float[Tensor, "n t"], positions: Shaped[Tensor, " n"]) -> Float[Tensor, " n"]:
    """Return the binary cross-entropy of every sample, summed over its thresholds and divided by t.

    The thresholds of a sample are the lowest one, and each one whose predecessor the sample lies above. The paper
    divides the sum of a batch by the number of its terms instead. This differs by one factor per batch, and has no
    loss for a single sample.

    Args:
        logits: (n, t), of lying above a threshold for those above the one before.
        positions: (n,) targets in bins from the lowest, or ranks.

    Example:
        >>> corn_losses(torch.tensor([[9.0, -9.0, 5.0]]), torch.tensor([1.0])) < 1e-3
        tensor([True])
    """
    positions, at = check_positions(positions, logits), thresholds(logits)
    above = (positions[:, None] > at).to(logits.dtype)
    asked = positions.clamp(min=0)[:, None] > at - 1
    losses = binary_cross_entropy_with_logits(logits, above, reduction="none")
    return (asked * losses).mean(1)


def corn_above(logits: Float[Tensor, "n t"]) -> Float[Tensor, "n t"]:
    """Return the probability of lying above each threshold: the product of the conditional ones up to it.

    Example:
        >>> corn_above(torch.zeros(1, 3))
        tensor([[0.5000, 0.2500, 0.1250]])
    """
    return logsigmoid(logits).cumsum(1).exp()


class CORNHead(BinnedHead):
    """A conditional binary classifier for every threshold; predicts as many bins up as are likely passed.

    Its arguments are those of :class:`~ordinate.heads.binned.BinnedHead`.

    Example:
        >>> head = CORNHead(4, bin_size=1.0)
        >>> head.standardise(torch.tensor([[20.0], [60.0]]))
        >>> head(torch.zeros(3, 4)).shape
        torch.Size([3, 1])
    """

    def outputs(self, bins: int) -> int:
        return bins - 1

    def standardise(self, targets: Shaped[Tensor, "n *p"]) -> None:
        """Take the bins from the training targets, and let the biases start at the share that passes each threshold.

        From biases around 0, the product of a hundred halves would predict the lowest bins for long.
        """
        targets = self.as_targets(targets, len(targets))
        super().standardise(targets)
        for linear, column in zip(self.linears, ((targets - self.lowest) / self.bin_size).T, strict=True):
            _, bias = linear.parameters()
            above = (column[:, None] > thresholds(bias[None])).sum(0)
            asked = torch.cat([above.new_tensor([len(column)]), above[:-1]])
            with torch.no_grad():
                bias.copy_(((above + 0.5) / (asked + 1)).logit())

    def position_losses(self, logits: Float[Tensor, "n t"], positions: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
        return corn_losses(logits, positions)

    def positions(self, logits: Float[Tensor, "n t"]) -> Float[Tensor, " n"]:
        return (corn_above(logits) > 0.5).sum(1).to(logits.dtype)
