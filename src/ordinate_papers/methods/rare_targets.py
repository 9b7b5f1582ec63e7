"""Regression end to end for rare targets: ConR and Balanced MSE."""

from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from ordinate.checks import check_positive
from ordinate.functional.global_batch import all_processes, mean_over_all
from ordinate.methods.regression import EndToEnd
from ordinate_papers.losses.balanced_mse import BalancedMSEHead
from ordinate_papers.losses.conr import conr_losses


class BalancedMSE(EndToEnd):
    """Encoder and linear head trained together by Balanced MSE.

    Args:
        encoder, embedding_dim, target_dim, options: Arguments of :class:`~ordinate.methods.regression.EndToEnd`.
        noise: Standard deviation of the noise at the start, in standard deviations of the targets.
    """

    def __init__(
        self, encoder: nn.Module, embedding_dim: int, target_dim: int = 1, *, noise: float = 0.5, **options: Any
    ) -> None:
        super().__init__(encoder, embedding_dim, target_dim, **options)
        self.head = BalancedMSEHead(embedding_dim, target_dim, noise)


class ConR(EndToEnd):
    """Encoder and linear head trained together, by the head's loss and ConR's.

    In several processes each contrasts its own samples.

    Args:
        encoder, embedding_dim, target_dim, options: Arguments of :class:`~ordinate.methods.regression.EndToEnd`.
        weight: Weight of ConR relative to the head's loss.
        window, push: Options of :func:`~ordinate_papers.losses.conr.conr_losses`, for targets in standard deviations.
        temperature: Temperature of the cosines.
    """

    def __init__(
        self,
        encoder: nn.Module,
        embedding_dim: int,
        target_dim: int = 1,
        *,
        weight: float,
        window: float,
        push: float,
        temperature: float,
        **options: Any,
    ) -> None:
        super().__init__(encoder, embedding_dim, target_dim, **options)
        self.weight = check_positive(weight, "weight", or_zero=True)
        self.options = {"window": window, "push": push, "temperature": temperature}

    def batch_loss(
        self, x: Tensor, y: Float[Tensor, "n p"], weights: Float[Tensor, " n"] | None = None
    ) -> Float[Tensor, ""]:
        embeddings = self.embed(x)
        scale = self.head.get_buffer("target_scale")
        losses = conr_losses(
            embeddings,
            y / scale,
            self.head(embeddings) / scale,
            self.weights(y, weights),
            **self.options,
        )
        contrast = self.weight * mean_over_all(losses.mean(), len(y), all_processes())
        return self.with_extra_loss(self.head_loss(embeddings, y, weights) + contrast, embeddings, y)
