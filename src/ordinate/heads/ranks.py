"""Heads of ranks: CLOC's classifier, CORAL's layer, and probabilities from their logits or from votes."""

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.optimize import minimize_scalar
from torch import Tensor, nn

from ordinate.checks import check_choice
from ordinate.heads.binned import corn_above, rank_probabilities
from ordinate.heads.linear import HeadConfig
from ordinate.heads.neighbours import NeighbourVote
from ordinate.options import OrdinalLoss


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
    """A head and the probabilities that its loss gives to ranks.

    Args:
        head: Module that maps embeddings (n, d) to logits: (n, C) for ``"cross_entropy"``, (n, C-1) for the other
            losses.
        loss: Loss that trained the head: ``"cross_entropy"``, ``"or"``, ``"corn"`` or ``"coral"``.
        temperature: Temperature of the logits, for ``"cross_entropy"``; None for the probabilities of the loss itself.

    Example:
        >>> import torch
        >>> RankLogits(nn.Linear(4, 3), "cross_entropy")(torch.zeros(2, 4)).shape
        torch.Size([2, 3])
    """

    def __init__(self, head: nn.Module, loss: OrdinalLoss, temperature: Temperature | None = None) -> None:
        super().__init__()
        self.head = head
        self.loss = loss
        self.temperature = temperature

    def forward(self, embeddings: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        """Return the probability of every rank; rows sum to 1."""
        logits = self.head(embeddings)
        if self.temperature is None:
            return probabilities_of(logits, self.loss)
        probabilities: Tensor = self.temperature(logits)
        return probabilities

    def config(self) -> HeadConfig:
        """Return what :meth:`restore` needs in addition to the weights."""
        return {"head": type(self.head).__name__, "loss": self.loss}

    @classmethod
    def restore(cls, config: HeadConfig, tensors: dict[str, Tensor]) -> "RankLogits":
        """Return the predictor of a saved model."""
        kind = check_choice(config["head"], ("Classifier", "CORALLayer", "Linear"), "head")
        weights = [value for name, value in sorted(tensors.items()) if name.endswith("weight")]
        embedding_dim = weights[0].shape[1]
        if kind == "Classifier":
            head: nn.Module = Classifier(embedding_dim, len(weights[-1]))
        elif kind == "CORALLayer":
            head = CORALLayer(embedding_dim, len(tensors["head.biases"]) + 1)
        else:
            head = nn.Linear(embedding_dim, len(weights[0]))
        temperature = Temperature() if "temperature.scale" in tensors else None
        predictor = cls(head, config["loss"], temperature).double()
        predictor.load_state_dict(tensors)
        return predictor


def probabilities_of(logits: Float[Tensor, "n k"], loss: OrdinalLoss) -> Float[Tensor, "n c"]:
    """Return the probability of every rank from the logits of a head that a loss has trained; rows sum to 1."""
    if loss == "cross_entropy":
        return logits.softmax(1)
    above = corn_above(logits) if loss == "corn" else logits.sigmoid()
    return rank_probabilities(above)
