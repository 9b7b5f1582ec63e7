"""Balanced MSE: the squared error under noise, next to that of the batch's other targets."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ordinate.checks import check_positive
from ordinate.heads.linear import LinearHead


def balanced_mse_losses(
    predicted: Float[Tensor, "n p"], targets: Float[Tensor, "n p"], noise: Float[Tensor, ""]
) -> Float[Tensor, " n"]:
    """Return the batch-based Monte Carlo loss of every sample (BMC; Ren et al., CVPR 2022).

    The negative log-probability that a prediction under normal noise belongs to its own target, rather than to another
    of the batch, times twice the variance of the noise. Frequent targets are many of the others, so that their
    frequency does not draw predictions to them. No gradient passes through the factor.

    Args:
        predicted: (n, p), predictions.
        targets: (n, p), targets in the same units.
        noise: Standard deviation of the noise in these units, > 0.

    Example:
        >>> values = torch.tensor([[0.0], [9.0]])
        >>> near, far = (balanced_mse_losses(values + error, values, torch.tensor(1.0)).sum() for error in (0.1, 5.0))
        >>> (near < far).item()
        True
    """
    variance = noise.square()
    distances = (predicted[:, None] - targets).square().sum(2)
    log_likelihood = (-distances / (2 * variance)).log_softmax(1)
    return -log_likelihood.diagonal() * (2 * variance).detach()


class BalancedMSEHead(LinearHead):
    """A linear head trained by Balanced MSE, whose noise is learned with it.

    Args:
        embedding_dim: Dimension d of the embeddings (n, d).
        target_dim: Dimension p of the targets (n, p).
        noise: Standard deviation of the noise at the start, in standard deviations of the targets.

    Example:
        >>> BalancedMSEHead(4, target_dim=2)(torch.zeros(3, 4)).shape
        torch.Size([3, 2])
    """

    def __init__(self, embedding_dim: int, target_dim: int = 1, noise: float = 0.5) -> None:
        super().__init__(embedding_dim, target_dim, "mse")
        self.log_noise = nn.Parameter(torch.tensor(math.log(check_positive(noise, "noise"))))

    def sample_losses(self, embeddings: Float[Tensor, "n d"], targets: Float[Tensor, "n p"]) -> Float[Tensor, " n"]:
        wanted = ((targets - self.target_mean) / self.target_scale).to(embeddings.dtype)
        predicted = self.linear(self.standardised(embeddings))
        return balanced_mse_losses(predicted, wanted, self.log_noise.exp())
