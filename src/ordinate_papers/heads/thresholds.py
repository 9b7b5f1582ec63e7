"""Losses and probabilities of thresholds between bins or ranks: OR, CORN and CORAL."""

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, logsigmoid

from ordinate.checks import check_choice
from ordinate.errors import OrdinateError
from ordinate.heads.linear import HeadConfig


def check_positions(positions: Tensor, logits: Float[Tensor, "n k"]) -> Shaped[Tensor, " n"]:
    """Return the positions once they are known to be one per row of logits, and not to broadcast against them."""
    if positions.shape != logits.shape[:1]:
        raise OrdinateError("positions", f"shape {tuple(positions.shape)}", f"({len(logits)},), one per row")
    return positions


def extended_binary_losses(logits: Float[Tensor, "n t"], positions: Shaped[Tensor, " n"]) -> Float[Tensor, " n"]:
    """Return the binary cross-entropy of every sample, the mean over the thresholds.

    The loss of OR (Niu et al., 2016) and of CORAL (Cao et al., 2020). Threshold k lies at k + 1/2, between the bins (or
    ranks) k and k+1; all count the same.

    Args:
        logits: (n, t), of the target lying above each threshold.
        positions: (n,) targets in bins from the lowest, or ranks.

    Example:
        >>> extended_binary_losses(torch.tensor([[9.0, 9.0, -9.0]]), torch.tensor([2.0])) < 1e-3
        tensor([True])
    """
    above = check_positions(positions, logits)[:, None] > thresholds(logits)
    return binary_cross_entropy_with_logits(logits, above.to(logits.dtype), reduction="none").mean(1)


def thresholds(logits: Float[Tensor, "n t"]) -> Float[Tensor, " t"]:
    """Return the positions 1/2, 3/2 and so on, one per column."""
    return torch.arange(logits.shape[1], dtype=logits.dtype, device=logits.device) + 0.5


def rank_probabilities(above: Float[Tensor, "n t"]) -> Float[Tensor, "n t+1"]:
    """Return the probability of every rank, from that of lying above each threshold.

    If a later threshold is more likely to be passed than an earlier one, no distribution has these probabilities. They
    are therefore sorted in descending order, which keeps the mean rank and the number of thresholds above any value.

    Args:
        above: (n, t), t = C - 1.

    Returns:
        (n, C), rows that sum to 1.

    Example:
        >>> rank_probabilities(torch.tensor([[0.75, 0.25, 0.5]]))
        tensor([[0.2500, 0.2500, 0.2500, 0.2500]])
    """
    falling = above.sort(dim=1, descending=True).values
    ends = torch.ones_like(above[:, :1])
    return -torch.cat([ends, falling, 0 * ends], dim=1).diff(dim=1)


def corn_losses(logits: Float[Tensor, "n t"], positions: Shaped[Tensor, " n"]) -> Float[Tensor, " n"]:
    """Return the binary cross-entropy of every sample, summed over its thresholds and divided by t.

    The loss of CORN (Shi et al., 2021). The thresholds of a sample are the lowest one, and each one whose predecessor
    the sample lies above. The paper divides the sum of a batch by the number of its terms instead. This differs by one
    factor per batch, and has no loss for a single sample.

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


class CORALLayer(nn.Module):
    """Logits of a rank lying above each threshold, which differ between thresholds by a constant (CORAL).

    Source: Cao et al., 2020. The biases start in descending order, from 1 to 1/(C-1). The loss is that of OR.

    Args:
        embedding_dim: Dimension d of the embeddings (n, d).
        num_classes: C; (n, C-1) logits.

    Example:
        >>> CORALLayer(4, num_classes=5)(torch.zeros(2, 4))[0]
        tensor([1.0000, 0.7500, 0.5000, 0.2500], grad_fn=<SelectBackward0>)
    """

    def __init__(self, embedding_dim: int, num_classes: int) -> None:
        super().__init__()
        self.direction = nn.Linear(embedding_dim, 1, bias=False)
        self.biases = nn.Parameter(torch.arange(num_classes - 1, 0, -1) / (num_classes - 1))

    def forward(self, embeddings: Float[Tensor, "n d"]) -> Float[Tensor, "n boundaries"]:
        return self.direction(embeddings) + self.biases


def threshold_probabilities(logits: Float[Tensor, "n t"], loss: str) -> Float[Tensor, "n c"]:
    """Return the probability of every rank from the logits of a head that a loss has trained; rows sum to 1."""
    above = corn_above(logits) if loss == "corn" else logits.sigmoid()
    return rank_probabilities(above)


class ThresholdProbabilities(nn.Module):
    """A trained head and the probabilities that its loss gives to ranks, as a saved model holds them.

    Args:
        head: Module that maps embeddings (n, d) to logits (n, C-1): a :class:`CORALLayer` or a linear layer.
        loss: Loss that trained the head: ``"or"``, ``"corn"`` or ``"coral"``.

    Example:
        >>> ThresholdProbabilities(nn.Linear(4, 2), "or")(torch.zeros(5, 4)).shape
        torch.Size([5, 3])
    """

    def __init__(self, head: nn.Module, loss: str) -> None:
        super().__init__()
        self.head = head
        self.loss = check_choice(loss, ("or", "corn", "coral"), "loss")

    def forward(self, embeddings: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        """Return the probability of every rank; rows sum to 1."""
        return threshold_probabilities(self.head(embeddings), self.loss)

    def config(self) -> HeadConfig:
        """Return what :meth:`restore` needs in addition to the weights."""
        return {"loss": self.loss}

    @classmethod
    def restore(cls, config: HeadConfig, tensors: dict[str, Tensor]) -> "ThresholdProbabilities":
        """Return the predictor of a saved model."""
        if config["loss"] == "coral":
            embedding_dim = tensors["head.direction.weight"].shape[1]
            head: nn.Module = CORALLayer(embedding_dim, len(tensors["head.biases"]) + 1)
        else:
            outputs, embedding_dim = tensors["head.weight"].shape
            head = nn.Linear(embedding_dim, outputs)
        predictor = cls(head, config["loss"]).double()
        predictor.load_state_dict(tensors)
        return predictor
