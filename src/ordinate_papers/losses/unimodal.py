"""Heads whose distribution over ranks has a single mode: binomial or Poisson."""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import logsigmoid, softplus

from ordinate.checks import check_choice
from ordinate.heads.linear import HeadConfig

Unimodal = Literal["binomial", "poisson"]


class UnimodalHead(nn.Module):
    """A linear layer with one output f, and the distribution over ranks that it stands for (Beckham and Pal, 2017).

    The logits are log-probabilities of rank k over a learned temperature: of k successes in C - 1 trials of probability
    sigmoid(f), or of k events at the rate softplus(f). Their softmax has a single mode.

    Args:
        embedding_dim: Dimension d of the embeddings (n, d).
        num_classes: Number of ranks C.
        distribution: ``"binomial"`` or ``"poisson"``.

    Example:
        >>> UnimodalHead(4, 3, "binomial")(torch.zeros(2, 4)).shape
        torch.Size([2, 3])
    """

    places: Tensor
    log_counts: Tensor

    def __init__(self, embedding_dim: int, num_classes: int, distribution: Unimodal) -> None:
        super().__init__()
        self.distribution = check_choice(distribution, ("binomial", "poisson"), "distribution")
        self.linear = nn.Linear(embedding_dim, 1)
        self.log_temperature = nn.Parameter(torch.zeros(()))
        places = torch.arange(num_classes, dtype=torch.float64)
        log_counts = -torch.lgamma(places + 1)
        if distribution == "binomial":
            log_counts = log_counts + log_counts.flip(0) + torch.lgamma(places[-1] + 1)
        self.register_buffer("places", places.float())
        self.register_buffer("log_counts", log_counts.float())

    def forward(self, embeddings: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        """Return the logits (n, C)."""
        f = self.linear(embeddings)
        if self.distribution == "binomial":
            log_likelihood = self.places * logsigmoid(f) + self.places.flip(0) * logsigmoid(-f)
        else:
            rate = softplus(f).clamp(min=1e-8)
            log_likelihood = self.places * rate.log() - rate
        return (self.log_counts + log_likelihood) / self.log_temperature.exp()


class UnimodalProbabilities(nn.Module):
    """A trained head with the probabilities of its ranks, as a saved model holds it.

    Args:
        head: The head.
    """

    def __init__(self, head: UnimodalHead) -> None:
        super().__init__()
        self.head = head

    def forward(self, embeddings: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        """Return the probability of every rank; rows sum to 1."""
        probabilities: Tensor = self.head(embeddings).softmax(1)
        return probabilities

    def config(self) -> HeadConfig:
        """Return what :meth:`restore` needs in addition to the weights."""
        return {"distribution": self.head.distribution}

    @classmethod
    def restore(cls, config: HeadConfig, tensors: dict[str, Tensor]) -> "UnimodalProbabilities":
        """Return the predictor of a saved model."""
        embedding_dim = tensors["head.linear.weight"].shape[1]
        head = UnimodalHead(embedding_dim, len(tensors["head.places"]), config["distribution"])
        predictor = cls(head).double()
        predictor.load_state_dict(tensors)
        return predictor
