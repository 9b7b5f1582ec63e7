"""Embeddings of new samples that lie farther from those of training than embeddings of held-out samples did."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ordinate.data.findings import Finding, MoreThan
from ordinate.data.rows import random_part
from ordinate.functional.similarity import pairwise_similarity
from ordinate.heads.neighbours import NeighbourMean, NeighbourVote
from ordinate.option_group import Settings
from ordinate.options import Similarity

MOST_COMPARED = 2000  # At most this many embeddings are compared at a time, a random part of more.


@dataclass(frozen=True)
class Novelty:
    """How near embeddings of held-out samples are to the nearest one of training, or to their own mean.

    Args:
        least: Nearness that all but about 1% of the held-out samples exceed.
        outside, inside: Parameters of the beta distribution of the share of samples like these that do not exceed it.
        centre, spread: Mean and deviation (d,) of the embeddings of held-out samples; empty where the predictor keeps
            embeddings of training, the nearest of which counts.

    Example:
        >>> mean = NeighbourMean(torch.linspace(0, 1, 100)[:, None], torch.arange(100.0))
        >>> novelty = Novelty.measure(mean, torch.linspace(0, 1, 300)[:, None])
        >>> novelty.findings(mean, torch.tensor([[0.0], [2.0], [3.0]]))[0].outside
        2
    """

    least: float
    outside: int
    inside: int
    centre: Sequence[float] = ()
    spread: Sequence[float] = ()

    @classmethod
    def measure(
        cls, predictor: nn.Module, held_out: Float[Tensor, "n d"], *, by_spread: bool = False, fewest: int = 20
    ) -> "Novelty | None":
        """Measure embeddings of held-out samples.

        Where the predictor keeps no embeddings of training, the distance from the mean counts if ``by_spread`` is true
        and samples are not too few, each measured by mean and deviation of the others. Otherwise the result is None.
        """
        nearness = nearest_similarity(predictor, held_out)
        centre: Sequence[float] = ()
        spread: Sequence[float] = ()
        if nearness is None:
            if not by_spread or len(held_out) < fewest:
                return None
            nearness = _nearness_of_others(held_out)
            centre, spread = held_out.mean(0).tolist(), _floored(held_out.std(0, correction=0)).tolist()
        outside = max(1, len(nearness) // 100)
        return cls(float(nearness.sort().values[outside - 1]), outside, len(nearness) + 1 - outside, centre, spread)

    def state(self) -> Settings:
        """Return the fields, ready for JSON."""
        return asdict(self)

    def findings(self, predictor: nn.Module, embeddings: Float[Tensor, "n d"]) -> list[Finding]:
        """Return how many of the embeddings of new samples lie outside."""
        nearness, others = nearest_similarity(predictor, embeddings), "those of training"
        if self.centre:
            centre, spread = (torch.tensor(moment, dtype=torch.float64) for moment in (self.centre, self.spread))
            nearness, others = _nearness(embeddings, centre, spread), "the mean"
        if nearness is None:
            return []
        outside = int((nearness < self.least).sum())
        text = f"embeddings lie farther from {others} than 99% of held-out samples"
        return [Finding(text, outside, len(nearness), MoreThan(self.outside, self.inside))]


def _floored(spread: Float[Tensor, "*n d"]) -> Float[Tensor, "*n d"]:
    """Return deviations of columns, at least a tenth of what is usual among them."""
    return spread.clamp_min(1e-12).maximum(spread.median(-1, keepdim=True).values / 10)


def _nearness(
    embeddings: Float[Tensor, "n d"], centre: Float[Tensor, "*n d"], spread: Float[Tensor, "*n d"]
) -> Float[Tensor, " n"]:
    """Return the negative root mean square of the distance of all columns from their mean, in deviations."""
    return -((embeddings - centre) / spread).square().mean(-1).sqrt()


def _nearness_of_others(embeddings: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
    """Return the nearness of each embedding to the mean of the others, by their deviations."""
    centred, others = embeddings - embeddings.mean(0), len(embeddings) - 1
    centre = -centred / others
    squares = centred.square()
    spread = ((squares.sum(0) - squares) / others - centre.square()).clamp_min(0).sqrt()
    return _nearness(centred, centre, _floored(spread))


def nearest_similarity(predictor: Any, embeddings: Float[Tensor, "n d"]) -> Float[Tensor, " q"] | None:
    """Return the similarity of embeddings to the nearest one of training, which votes and means of neighbours keep."""
    head = getattr(predictor, "vote", predictor)
    if not isinstance(head, NeighbourMean | NeighbourVote) or len(embeddings) == 0:
        return None
    part = embeddings[random_part(len(embeddings), MOST_COMPARED)]
    parts = part.split(max(1, 2**25 // len(head.embeddings)))
    similarity: Similarity = "cosine"
    if isinstance(head, NeighbourMean):
        similarity = head.similarity
    nearest = [pairwise_similarity(each, head.embeddings, similarity).amax(1) for each in parts]
    return torch.cat(nearest)
