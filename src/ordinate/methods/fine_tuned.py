"""A network that is fine-tuned on images for a blend, and its linear layer: for ranks, or for a standardised target."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ordinate.functional.numerics import weighted_mean
from ordinate.methods.plain import CrossEntropy
from ordinate.training.optimization import Optimization
from ordinate.training.stage import Stage
from ordinate.training.staged_method import StagedMethod, Weights


def fine_tuned_network(
    encoder: nn.Module, embedding_dim: int, num_classes: int | None, epochs: int, optimization: Optimization
) -> "CrossEntropy | TargetNetwork":
    """Return the network with a linear layer, to be trained by cross-entropy, or by the squared error of a target.

    Args:
        encoder: Network from images to embeddings (n, embedding_dim).
        embedding_dim: Dimension d of the embeddings.
        num_classes: C ranks; None for a standardised target (n, 1).
        epochs: Epochs of training.
        optimization: Optimizer and its schedule.
    """
    if num_classes is None:
        return TargetNetwork(encoder, embedding_dim, epochs, optimization)
    return CrossEntropy(encoder, embedding_dim, num_classes, epochs=epochs, optimization=optimization)


class TargetNetwork(StagedMethod):
    """Encoder and linear layer trained together by the squared error of a standardised target.

    Args:
        encoder, embedding_dim, epochs, optimization: See :func:`fine_tuned_network`.
    """

    def __init__(self, encoder: nn.Module, embedding_dim: int, epochs: int, optimization: Optimization) -> None:
        super().__init__((Stage("encoder and head", epochs, optimization),))
        self.encoder = encoder
        self.head = nn.Linear(embedding_dim, 1)
        torch.nn.init.zeros_(self.head.bias)

    def batch_loss(self, x: Tensor, y: Float[Tensor, "n 1"], weights: Weights = None) -> Float[Tensor, ""]:
        errors = self.head(self.embed(x)) - y.to(x.device, torch.float32).reshape(-1, 1)
        return weighted_mean(errors.square()[:, 0], weights)
