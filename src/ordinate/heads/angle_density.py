"""Probabilities of ranks from positions on OTD's half circle."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import normalize


class Arc(nn.Module):
    """Positions of embeddings between the mean directions of the lowest and the highest rank.

    OTD spreads the ranks evenly over a half circle. With the angles a and b of an embedding to the two ends, which lie
    at the ranks l and h, the position is ``l + (h - l) * a / (a + b)``: h - l times the share of the arc. It does not
    depend on how an encoder turns the circle, so that positions by different encoders can be compared.

    Args:
        ends: (2, d), the directions of the two ends, of norm 1.
        places: (2,), the ranks that lie there.
    """

    ends: Tensor
    places: Tensor

    def __init__(self, ends: Float[Tensor, "2 d"], places: Float[Tensor, "2"]) -> None:
        super().__init__()
        self.register_buffer("ends", ends)
        self.register_buffer("places", places)

    @classmethod
    def of(
        cls, embeddings: Float[Tensor, "n d"], ranks: Int[Tensor, " n"], weights: Float[Tensor, " n"] | None = None
    ) -> "Arc":
        """Return the arc of training embeddings, whose ends are the lowest and the highest rank among them.

        Example:
            >>> arc = Arc.of(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]), torch.tensor([0, 4]))
            >>> arc(torch.tensor([[0.0, 2.0], [-3.0, 0.0]])).tolist()
            [2.0, 4.0]
        """
        directions = normalize(embeddings)
        if weights is not None:
            directions = directions * weights[:, None].to(directions)
        extremes = [int(ranks.min()), int(ranks.max())]
        sums = torch.stack([directions[ranks == rank].sum(0) for rank in extremes])
        ends = normalize(sums).float().to(embeddings.dtype)  # As a saved model holds them.
        return cls(ends, torch.tensor(extremes).to(embeddings))

    def forward(self, embeddings: Float[Tensor, "n d"], least: float = 1e-9) -> Float[Tensor, " n"]:
        """Return the positions, in ranks."""
        angles = (normalize(embeddings) @ self.ends.T).clamp(-1, 1).acos()
        share = angles[:, 0] / angles.sum(1).clamp(min=least)  # The ends of a collapsed encoder are the same.
        return self.places[0] + (self.places[1] - self.places[0]) * share


class PositionDensity(nn.Module):
    r"""Probabilities of ranks from positions, by Bayes' rule.

    The density of the positions of rank k is ``(1 - u) Normal(k + shift_k, width) + u Uniform(0, C - 1)``, and
    ``weight_k`` is the prior probability of the rank. The uniform part keeps every probability above 0.

    Args:
        shares: (C,), the prior probabilities of the ranks, above 0.

    Attributes:
        penalties: Penalties of the squared distance of each parameter from its start, in nats.

    Example:
        >>> density = PositionDensity(torch.ones(3))
        >>> density(torch.tensor([0.1, 1.0, 2.0])).argmax(1).tolist()
        [0, 1, 2]
    """

    places: Tensor
    penalties: ClassVar[Mapping[str, float]] = {
        "log_width": 0.25, "shifts": 1.0, "log_weights": 1.0, "uniform_logit": 0.05
    }  # fmt: skip

    def __init__(self, shares: Float[Tensor, " c"]) -> None:
        super().__init__()
        num_classes = len(shares)
        self.log_width = nn.Parameter(torch.full((1,), math.log(0.5), dtype=torch.float64))
        self.shifts = nn.Parameter(torch.zeros(num_classes, dtype=torch.float64))
        self.log_weights = nn.Parameter(shares.double().log())
        self.uniform_logit = nn.Parameter(torch.full((1,), -4.0, dtype=torch.float64))
        self.register_buffer("places", torch.arange(num_classes, dtype=torch.float64), persistent=False)

    def forward(self, positions: Float[Tensor, " n"]) -> Float[Tensor, "n c"]:
        """Return the probability of every rank; rows sum to 1."""
        width = self.log_width.exp()
        distances = (positions[:, None] - self.places - self.shifts) / width
        normal = (-distances.square() / 2).exp() / (width * math.sqrt(2 * math.pi))
        uniform = self.uniform_logit.sigmoid()
        joint = self.log_weights.softmax(0) * ((1 - uniform) * normal + uniform / (len(self.places) - 1))
        return joint / joint.sum(1, keepdim=True)


class AngleDensity(nn.Module):
    """Probabilities of ranks from the position of an embedding on the arc.

    Args:
        arc: Module from embeddings (n, d) to positions (n,).
        density: Module from positions (n,) to probabilities (n, C).

    Example:
        >>> arc = Arc(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]), torch.tensor([0.0, 2.0]))
        >>> AngleDensity(arc, PositionDensity(torch.ones(3)))(torch.tensor([[0.0, 1.0]])).argmax(1)
        tensor([1])
    """

    def __init__(self, arc: Arc, density: PositionDensity) -> None:
        super().__init__()
        self.arc = arc
        self.density = density

    def forward(self, embeddings: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        """Return the probability of every rank; rows sum to 1, and none is 0."""
        probabilities: Tensor = self.density(self.arc(embeddings))
        return probabilities

    def config(self) -> dict[str, Any]:
        """Return what :meth:`restore` needs in addition to the tensors."""
        return {"num_classes": len(self.density.places)}

    @classmethod
    def restore(cls, config: dict[str, Any], tensors: dict[str, Tensor]) -> "AngleDensity":
        """Return the predictor of a saved model."""
        arc = Arc(tensors["arc.ends"], tensors["arc.places"])
        predictor = cls(arc, PositionDensity(torch.ones(config["num_classes"])))
        predictor.load_state_dict(tensors)
        return predictor.requires_grad_(False)
