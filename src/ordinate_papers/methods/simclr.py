"""SimCLR: two views of a sample find each other among those of all others (Chen et al., 2020)."""

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from ordinate.checks import check_positive
from ordinate.errors import OrdinateError
from ordinate_papers.methods.pairs import metric_learning


class NTXentLoss(nn.Module):
    """NT-Xent, the cross-entropy of two views per sample that stand next to each other in the batch (SimCLR, eq. 1).

    It is pytorch-metric-learning's SupCon loss with one label per sample, where every anchor has one positive. The best
    temperature is 0.5 on CIFAR-10 in the paper, 0.1 on ImageNet.

    Example:
        >>> views = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
        >>> round(NTXentLoss(0.5)(views).item(), 4)
        0.2395
    """

    def __init__(self, temperature: float = 0.5) -> None:
        super().__init__()
        losses, reducers = metric_learning()
        self.loss = losses.SupConLoss(
            temperature=check_positive(temperature, "temperature"), reducer=reducers.MeanReducer()
        )

    def forward(
        self, embeddings: Float[Tensor, "m d"], labels: Shaped[Tensor, "m *p"] | None = None
    ) -> Float[Tensor, ""]:
        """Return the loss; labels play no part in it."""
        if len(embeddings) < 4 or len(embeddings) % 2:
            raise OrdinateError("embeddings", len(embeddings), "two views of two samples or more")
        samples = torch.arange(len(embeddings) // 2, device=embeddings.device).repeat_interleave(2)
        return self.loss(embeddings, samples)


class ProjectionHead(nn.Sequential):
    """The two-layer perceptron between an embedding and the loss, left out in prediction (SimCLR, SupCon, SupReMix)."""

    def __init__(self, embedding_dim: int, projection_dim: int) -> None:
        super().__init__(nn.Linear(embedding_dim, embedding_dim), nn.ReLU(), nn.Linear(embedding_dim, projection_dim))
