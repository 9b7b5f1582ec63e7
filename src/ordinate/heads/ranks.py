"""Heads of ranks: CLOC's classifier, and probabilities from logits or from votes."""

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.optimize import minimize_scalar
from torch import Tensor, nn

from ordinate.checks import check_choice
from ordinate.heads.linear import HeadConfig
from ordinate.heads.neighbours import NeighbourVote


class Classifier(nn.Sequential):
    """Linear, ReLU, linear: one score per rank (CLOC's classifier).

    Args:
        embedding_dim: Dimension d of the embeddings (n, d), and of the hidden layer.
        num_classes: C; (n, C) scores, which are logits of the softmax.

    Example:
        >>> import torch
        >>> Classifier(4, num_classes=3)(torch.zeros(2, 4)).shape
        torch.Size([2, 3])
    """

    def __init__(self, embedding_dim: int, num_classes: int) -> None:
        super().__init__(nn.Linear(embedding_dim, embedding_dim), nn.ReLU(), nn.Linear(embedding_dim, num_classes))

    def forward(self, embeddings: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        return super().forward(embeddings)


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
        rounded = torch.tensor([scale]).float()  # Saved models use float32.
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

    def config(self) -> HeadConfig:
        """Return what :meth:`restore` needs in addition to the tensors."""
        return self.vote.config()

    @classmethod
    def restore(cls, config: HeadConfig, tensors: dict[str, Tensor]) -> "VoteProbabilities":
        """Return the predictor of a saved model."""
        of_vote = {name.removeprefix("vote."): value for name, value in tensors.items() if name.startswith("vote.")}
        return cls(NeighbourVote.restore(config, of_vote), Temperature(float(tensors["temperature.scale"])))


def scores_of_votes(shares: Float[Tensor, "n c"], votes: int, tie: float = 1e-12) -> Float[Tensor, "n c"]:
    """Return the logarithms of shares of votes, to which one more vote is added.

    It is spread over all ranks: with each rank away from the one with the most votes it gets smaller by a factor of e.
    Of ranks with equal votes, up to ``tie``, that is the lowest, as in :func:`~ordinate.decisions.predict_ranks`.
    """
    ranks = torch.arange(shares.shape[1], device=shares.device)
    most = (shares >= shares.amax(1, keepdim=True) - tie).long().argmax(1, keepdim=True)
    distance = (ranks - most).abs()
    added = (-distance.to(shares)).softmax(1)
    return ((shares * votes + added) / (votes + 1)).log()


class RankLogits(nn.Module):
    """A head of ranks and the probabilities of its logits, their softmax.

    Args:
        head: Module that maps embeddings (n, d) to logits (n, C).
        temperature: Temperature of the logits; None for the softmax itself.

    Example:
        >>> import torch
        >>> RankLogits(nn.Linear(4, 3))(torch.zeros(2, 4)).shape
        torch.Size([2, 3])
    """

    def __init__(self, head: nn.Module, temperature: Temperature | None = None) -> None:
        super().__init__()
        self.head = head
        self.temperature = temperature

    def forward(self, embeddings: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        """Return the probability of every rank; rows sum to 1."""
        logits = self.head(embeddings)
        probabilities: Tensor = logits.softmax(1) if self.temperature is None else self.temperature(logits)
        return probabilities

    def config(self) -> HeadConfig:
        """Return what :meth:`restore` needs in addition to the weights."""
        return {"head": type(self.head).__name__}

    @classmethod
    def restore(cls, config: HeadConfig, tensors: dict[str, Tensor]) -> "RankLogits":
        """Return the predictor of a saved model."""
        kind = check_choice(config["head"], ("Classifier", "Linear"), "head")
        weights = [value for name, value in sorted(tensors.items()) if name.endswith("weight")]
        embedding_dim, num_classes = weights[0].shape[1], len(weights[-1])
        head = Classifier(embedding_dim, num_classes) if kind == "Classifier" else nn.Linear(embedding_dim, num_classes)
        temperature = Temperature() if "temperature.scale" in tensors else None
        predictor = cls(head, temperature).double()
        predictor.load_state_dict(tensors)
        return predictor
