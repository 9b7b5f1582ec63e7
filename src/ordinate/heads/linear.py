"""Linear regression from an embedding, as the papers probe a representation."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn
from torch.nn.functional import huber_loss, l1_loss, mse_loss

from ordinate.checks import check_choice
from ordinate.heads.regression_head import RegressionHead
from ordinate.options import LinearLoss

REGRESSION_LOSSES: dict[str, Callable[..., Tensor]] = {"l1": l1_loss, "mse": mse_loss, "huber": huber_loss}


class LinearHead(RegressionHead):
    """One linear layer that predicts standardised targets, and the loss that trains it.

    Args:
        embedding_dim: Dimension d of the embeddings (n, d).
        target_dim: Dimension p of the targets (n, p).
        loss: ``"l1"``, ``"mse"`` or ``"huber"`` (threshold 1), in units of the targets' standard deviation.

    Example:
        >>> LinearHead(4, target_dim=2)(torch.zeros(3, 4)).shape
        torch.Size([3, 2])
    """

    target_mean: Tensor
    target_scale: Tensor

    def __init__(self, embedding_dim: int, target_dim: int = 1, loss: LinearLoss = "l1") -> None:
        super().__init__(embedding_dim, target_dim)
        check_choice(loss, [*REGRESSION_LOSSES], "head_loss")
        self.criterion = REGRESSION_LOSSES[loss]
        self.linear = nn.Linear(embedding_dim, target_dim)
        self.register_buffer("target_mean", torch.zeros(target_dim))
        self.register_buffer("target_scale", torch.ones(target_dim))

    def standardise(self, targets: Shaped[Tensor, "n *p"]) -> None:
        """Store the mean and deviation of the training targets, in which predictions are expressed."""
        targets = self.as_targets(targets, len(targets))
        self.target_mean.copy_(targets.mean(0))
        scale = targets.std(0, correction=0)
        self.target_scale.copy_(torch.where(scale > 0, scale, 1))

    def forward(self, embeddings: Float[Tensor, "n d"]) -> Float[Tensor, "n p"]:
        """Return targets in their own units."""
        return self.linear(self.standardised(embeddings)) * self.target_scale + self.target_mean

    def sample_losses(self, embeddings: Float[Tensor, "n d"], targets: Float[Tensor, "n p"]) -> Float[Tensor, " n"]:
        wanted = (targets - self.target_mean) / self.target_scale
        predicted = self.linear(self.standardised(embeddings))
        return self.criterion(predicted, wanted.to(embeddings.dtype), reduction="none").mean(1)
