"""Prediction from the nearest training embeddings."""

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from ordinate.functional.inputs import check_targets
from ordinate.functional.similarity import pairwise_similarity
from ordinate.heads.linear import HeadConfig

# The nearest counts this much more and the next half as much, which breaks a tie but decides nothing else.
TIE_BREAK = 1e-6
QUERIES, SIMILARITIES = 1024, 2**26  # At most this many rows and entries of the similarity matrix are held at a time.


class NeighbourVote(nn.Module):
    """Votes of the k nearest training embeddings by cosine; of ranks with equal votes the nearer one wins.

    OTD's Table 2 evaluates embeddings in this way, with k = 3.

    Args:
        embeddings: Training embeddings (m, d).
        ranks: Their ranks (m,), 0..C-1.
        num_classes: C; the shares of votes are (n, C), and rows sum to 1.
        k: Number of neighbours that vote; all if there are fewer.
        weights: Weights (m,) of the votes; None for equal ones.

    Example:
        >>> vote = NeighbourVote(torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([0, 1]), num_classes=2, k=1)
        >>> vote(torch.tensor([[2.0, 1.0]])).tolist()
        [[1.0, 0.0]]
    """

    embeddings: Tensor
    ranks: Tensor
    weights: Tensor | None

    def __init__(
        self,
        embeddings: Float[Tensor, "m d"],
        ranks: Int[Tensor, " m"],
        num_classes: int,
        k: int = 3,
        weights: Float[Tensor, " m"] | None = None,
    ) -> None:
        super().__init__()
        self.register_buffer("embeddings", embeddings)
        self.register_buffer("ranks", ranks.long())
        self.register_buffer("weights", weights)
        self.num_classes = num_classes
        self.k = min(k, len(ranks))

    def config(self) -> dict[str, int]:
        """Return what :meth:`restore` needs in addition to the tensors."""
        return {"num_classes": self.num_classes, "k": self.k}

    @classmethod
    def restore(cls, config: HeadConfig, tensors: dict[str, Tensor]) -> "NeighbourVote":
        """Return the votes of a saved model."""
        return cls(tensors["embeddings"], tensors["ranks"], config["num_classes"], config["k"], tensors.get("weights"))

    def forward(self, queries: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        """Return the share of the votes that each rank got."""
        shares = queries.new_zeros(len(queries), self.num_classes)
        at_once = _at_once(self.embeddings)
        for rows, part in zip(torch.arange(len(queries)).split(at_once), queries.split(at_once), strict=True):
            shares[rows] = self._counted(pairwise_similarity(part, self.embeddings, "cosine").topk(self.k).indices)
        return shares

    def _counted(self, nearest: Int[Tensor, "n k"]) -> Float[Tensor, "n c"]:
        """Return the share of each rank in the votes of these neighbours, the nearest first."""
        votes = 1 + TIE_BREAK * 0.5 ** torch.arange(nearest.shape[1]).to(self.embeddings)
        vote_weights = (votes / votes.sum()).expand(nearest.shape)
        if self.weights is not None:
            vote_weights = votes * self.weights[nearest]
            vote_weights = vote_weights / vote_weights.sum(1, keepdim=True)
        return vote_weights.new_zeros(len(nearest), self.num_classes).scatter_add_(1, self.ranks[nearest], vote_weights)


class NeighbourMean(nn.Module):
    """Mean target of the k nearest training embeddings, weighted by inverse Euclidean distance.

    Args:
        embeddings: Training embeddings (m, d).
        targets: Their targets (m,) or (m, p); predictions are (n, p) in the same units.
        k: Number of neighbours; all if there are fewer.
        weights: Weights (m,) that multiply the inverse distances; None for equal ones.

    Example:
        >>> mean = NeighbourMean(torch.tensor([[0.0], [1.0]]), torch.tensor([[10.0], [20.0]]), k=2)
        >>> mean(torch.tensor([[0.0], [0.5]])).tolist()
        [[10.0], [15.0]]
    """

    embeddings: Tensor
    targets: Tensor
    weights: Tensor | None

    def __init__(
        self,
        embeddings: Float[Tensor, "m d"],
        targets: Shaped[Tensor, "m *p"],
        k: int = 5,
        weights: Float[Tensor, " m"] | None = None,
    ) -> None:
        super().__init__()
        self.register_buffer("embeddings", embeddings)
        self.register_buffer("targets", check_targets(targets, len(embeddings), "targets"))
        self.register_buffer("weights", weights)
        self.k = min(k, len(targets))

    def config(self) -> dict[str, int]:
        """Return what :meth:`restore` needs in addition to the tensors."""
        return {"k": self.k}

    @classmethod
    def restore(cls, config: HeadConfig, tensors: dict[str, Tensor]) -> "NeighbourMean":
        """Return the mean of a saved model."""
        return cls(tensors["embeddings"], tensors["targets"], config["k"], tensors.get("weights"))

    def forward(self, queries: Float[Tensor, "n d"]) -> Float[Tensor, "n p"]:
        parts = []
        for part in queries.split(_at_once(self.embeddings)):
            similarity, nearest = pairwise_similarity(part, self.embeddings, "neg_l2").topk(self.k)
            # Weights are relative to the closest, so that a distance of 0 causes no division by 0.
            closest = -similarity[:, :1]
            weights = torch.where(closest > 0, closest / -similarity, (similarity == 0).to(similarity))
            if self.weights is not None:
                weights = weights * self.weights[nearest].to(weights)
            weights = weights / weights.sum(1, keepdim=True)
            parts.append((weights[:, :, None] * self.targets[nearest].to(similarity)).sum(1))
        return torch.cat(parts).to(queries.dtype)


def _at_once(embeddings: Float[Tensor, "m d"]) -> int:
    return max(1, min(QUERIES, SIMILARITIES // len(embeddings)))
