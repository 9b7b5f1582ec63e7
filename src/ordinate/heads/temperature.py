"""Temperature scaling: calibrated probabilities of ranks."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.optimize import minimize_scalar
from torch import Tensor, nn

from ordinate.heads.neighbours import NeighbourVote


class Temperature(nn.Module):
    """Probabilities of ranks from scores by temperature scaling (Guo et al., ICML 2017).

    They are the softmax of ``scale * scores``, to which a small number is added, so that none is 0. The most probable
    rank is the one with the highest score whatever the scale is.

    Args:
        scale: Inverse of the temperature, > 0.

    Example:
        >>> Temperature(0.5)(torch.tensor([[2.0, 0.0]])).round(decimals=2)
        tensor([[0.7300, 0.2700]], dtype=torch.float64)
    """

    scale: Tensor

    def __init__(self, scale: float = 1.0) -> None:
        super().__init__()
        rounded = torch.tensor([scale]).float()  # As a saved model holds it.
        self.register_buffer("scale", rounded.double())

    @classmethod
    def fit(
        cls,
        scores: Float[Tensor, "n c"],
        ranks: Int[Tensor, " n"],
        weights: Float[Tensor, " n"] | None = None,
        penalty: float = 0.05,
    ) -> "Temperature":
        """Return the temperature with which the scores make the ranks most likely.

        Args:
            scores: (n, C), scores of samples that the encoder has not seen.
            ranks: (n,), their true ranks.
            weights: (n,), weights of the samples; None for equal ones.
            penalty: Penalty of the squared logarithm of the scale, in nats. It keeps the scale finite where no sample
                is predicted wrongly.

        Example:
            >>> scores = torch.tensor([[2.0, 0.0]]).repeat(100, 1)
            >>> calibrated = Temperature.fit(scores, (torch.arange(100) >= 80).long())
            >>> calibrated(scores[:1])[0, 0].round(decimals=2)
            tensor(0.8000, dtype=torch.float64)
        """
        scores = scores.double()
        counted = torch.ones(len(ranks)).double() if weights is None else weights.double()
        true = ranks.long()[:, None]

        def loss(log_scale: float) -> float:
            likelihood = (scores * np.exp(log_scale)).log_softmax(1).gather(1, true)[:, 0]
            return float(penalty * log_scale**2 - likelihood @ counted)

        found = minimize_scalar(loss, bounds=(-8, 4), method="bounded")
        return cls(float(np.exp(found.x)))

    def forward(self, scores: Float[Tensor, "n c"], least: float = 1e-7) -> Float[Tensor, "n c"]:
        """Return the probability of every rank; rows sum to 1, and none is 0."""
        shares = (scores * self.scale).softmax(1) + least
        return shares / shares.sum(1, keepdim=True)


class VoteProbabilities(nn.Module):
    """Probabilities of ranks from the votes of training embeddings.

    One more vote is spread over all ranks around the one with the most votes, so that a rank without a vote has a score
    as well, the lower the farther it is. The scores are the logarithms of these shares.

    Args:
        vote: Module from embeddings (n, d) to shares of votes (n, C).
        temperature: Module from scores (n, C) to probabilities (n, C).

    Example:
        >>> vote = NeighbourVote(torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([0, 1]), num_classes=2, k=1)
        >>> VoteProbabilities(vote, Temperature())(torch.tensor([[2.0, 1.0]])).round(decimals=2)
        tensor([[0.8700, 0.1300]], dtype=torch.float64)
    """

    def __init__(self, vote: NeighbourVote, temperature: Temperature) -> None:
        super().__init__()
        self.vote = vote
        self.temperature = temperature

    def scores(self, embeddings: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        """Return the scores of ranks."""
        return scores_of_votes(self.vote(embeddings), self.vote.k)

    def forward(self, embeddings: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        """Return the probability of every rank; rows sum to 1, and none is 0."""
        probabilities: Tensor = self.temperature(self.scores(embeddings))
        return probabilities

    def config(self) -> dict[str, Any]:
        """Return what :meth:`restore` needs in addition to the tensors."""
        return self.vote.config()

    @classmethod
    def restore(cls, config: dict[str, Any], tensors: dict[str, Tensor]) -> "VoteProbabilities":
        """Return the predictor of a saved model."""
        of_vote = {name.removeprefix("vote."): value for name, value in tensors.items() if name.startswith("vote.")}
        return cls(NeighbourVote.restore(config, of_vote), Temperature(float(tensors["temperature.scale"])))


def scores_of_votes(shares: Float[Tensor, "n c"], votes: int) -> Float[Tensor, "n c"]:
    """Return the logarithms of shares of votes, to which one more vote is added.

    It is spread over all ranks: with each rank away from the one with the most votes it gets smaller by a factor of e.
    """
    ranks = torch.arange(shares.shape[1], device=shares.device)
    distance = (ranks - shares.argmax(1, keepdim=True)).abs()
    added = (-distance.to(shares)).softmax(1)
    return ((shares * votes + added) / (votes + 1)).log()
