"""New samples that lie farther from those of training than held-out samples did, by embeddings or features."""

from dataclasses import asdict, dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ordinate.data.findings import Finding, MoreThan, any_row
from ordinate.data.rows import random_part
from ordinate.encoders.blend_head import BlendHead
from ordinate.functional.similarity import pairwise_similarity
from ordinate.heads.neighbours import NeighbourMean, NeighbourVote
from ordinate.option_group import Settings
from ordinate.options import Similarity

FAR = 1.5  # See benchmarks/image_kinds.py.
MOST_COMPARED = 2000  # At most this many embeddings are compared at a time, a random part of more.


@dataclass(frozen=True)
class Novelty:
    """How near held-out samples are to those of training: to the nearest embedding, or by the distance of features.

    Args:
        least: Nearness that all but about 1% of the held-out samples exceed.
        outside, inside: Parameters of the beta distribution of the share of samples like these that do not exceed it.

    Example:
        >>> mean = NeighbourMean(torch.linspace(0, 1, 100)[:, None], torch.arange(100.0))
        >>> novelty = Novelty.measure(mean, torch.linspace(0, 1, 300)[:, None])
        >>> novelty.findings(mean, torch.tensor([[0.0], [2.0], [3.0]]))[0].outside
        2
    """

    least: float
    outside: int
    inside: int

    @classmethod
    def measure(cls, predictor: nn.Module, held_out: Float[Tensor, "n d"]) -> "Novelty | None":
        """Measure embeddings of held-out samples; None if the predictor keeps no training embeddings."""
        nearness = nearness_of(predictor, held_out)
        if nearness is None:
            return None
        outside = max(1, len(nearness) // 100)
        return cls(float(nearness.sort().values[outside - 1]), outside, len(nearness) + 1 - outside)

    def state(self) -> Settings:
        """Return the fields, ready for JSON."""
        return asdict(self)

    def findings(self, predictor: nn.Module, embeddings: Float[Tensor, "n d"]) -> list[Finding]:
        """Return how many of the embeddings of new samples lie outside."""
        nearness = nearness_of(predictor, embeddings)
        if nearness is None:
            return []
        outside = int((nearness < self.least).sum())
        what = "features of images" if isinstance(predictor, BlendHead) else "embeddings"
        text = f"{what} lie farther from those of training than 99% of held-out samples"
        found = [Finding(text, outside, len(nearness), MoreThan(self.outside, self.inside))]
        if isinstance(predictor, BlendHead):
            far = torch.nonzero(nearness < FAR * self.least)[:, 0].tolist()
            text = f"an image is of another kind: over {FAR:g} times as far from those of training as 99% of others"
            found.append(Finding(text, len(far), len(nearness), any_row, first=far[0] if far else None))
        return found


def nearness_of(predictor: Any, embeddings: Float[Tensor, "n d"]) -> Float[Tensor, " q"] | None:
    """Return how near samples are to those of training; None of predictors that know none of these.

    Votes and means of neighbours keep embeddings of training: it is the similarity to the nearest one. A blend of
    images has the distance of their features in its last column.
    """
    if isinstance(predictor, BlendHead):
        return -embeddings[:, -1] if predictor.has_distance and len(embeddings) > 0 else None
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
