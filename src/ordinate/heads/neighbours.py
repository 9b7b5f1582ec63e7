"""Prediction from the nearest training embeddings.

Neighbours are equally near if their nearness differs by no more than rounding can make it differ, and equally near
neighbours count equally. So predictions do not depend on the order of the training samples, nor on the order in which
a sort leaves equal values, which differs between PyTorch, ONNX Runtime and devices.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from ordinate.functional.inputs import check_targets
from ordinate.functional.numerics import to_accumulation_dtype
from ordinate.heads.linear import HeadConfig
from ordinate.options import Similarity

# Cosines, and squared distances relative to the squared norms of their points, are equal if they differ by no more.
# They are sums of d products: rounding changes them by at most d/2 units in the last place, in float64 by 5e-13 for
# d = 4096, in float32 by 2e-5 for d = 256, though hardly ever by more than the root of d, which is 1e-6.
EQUALLY_NEAR = {torch.float64: 1e-12, torch.float32: 1e-5}
# The rank of the nearest neighbour gets this share of its votes in addition, the next nearest rank half as much, and so
# on. This breaks a tie and decides nothing else.
TIE_BREAK = 1e-6
ENTRIES = 2**20  # At most about so many entries of a matrix are held at a time, which caches hold better than more.


def neighbour_votes(
    nearness: Float[Tensor, "n m"], kth: Float[Tensor, "n 1"], tie: Float[Tensor, "n 1"] | float, k: int
) -> Float[Tensor, "n m"]:
    """Return the votes of m neighbours, k in all: 1 for a nearer one than the k-th, and the rest for those as near.

    Args:
        nearness: Nearness of every neighbour, of any unit; larger is nearer.
        kth: Nearness of the k-th nearest.
        tie: Largest difference of nearness at which neighbours are equally near, for each row or for all.
        k: Number of votes of a row.

    Example:
        >>> neighbour_votes(torch.tensor([[0.9, 0.5, 0.7, 0.5]]), torch.tensor([[0.5]]), 1e-5, k=3)
        tensor([[1.0000, 0.5000, 1.0000, 0.5000]])
    """
    nearer, within = nearness > kth + tie, nearness >= kth - tie
    count = nearer.sum(1, keepdim=True).to(nearness)
    share = (k - count) / (within.sum(1, keepdim=True) - count)
    return torch.where(nearer, 1.0, share) * within


class NeighbourVote(nn.Module):
    """Votes of the k nearest training embeddings by cosine; of ranks with equal votes the nearer one wins.

    Neighbours that are as near as the k-th share the votes that the nearer ones leave, with ``weights`` in proportion
    to them. OTD's Table 2 evaluates embeddings in this way, with k = 3.

    Args:
        embeddings: Training embeddings (m, d).
        ranks: Their ranks (m,), 0..C-1.
        num_classes: C; the shares of votes are (n, C), and rows sum to 1.
        k: Number of neighbours that vote; all if there are fewer.
        weights: Weights (m,) of the votes; None for equal ones.

    Example:
        >>> vote = NeighbourVote(torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([0, 1]), num_classes=2, k=1)
        >>> vote(torch.tensor([[2.0, 1.0], [1.0, 1.0]])).tolist()
        [[1.0, 0.0], [0.5, 0.5]]
    """

    embeddings: Tensor
    ranks: Tensor
    weights: Tensor | None
    directions: Tensor
    votes: Tensor

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
        self.register_buffer("directions", _directions(embeddings), persistent=False)
        votes = nn.functional.one_hot(self.ranks, num_classes).to(self.directions)
        if weights is not None:
            votes = weights.to(votes)[:, None] * votes
        self.register_buffer("votes", votes, persistent=False)
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
        entries = max(len(self.ranks), (self.k + self.num_classes) * self.num_classes)
        return _in_parts(self._shares, queries, entries)

    def _shares(self, queries: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        cosine = _directions(queries) @ self.directions.T
        tie = EQUALLY_NEAR[cosine.dtype]
        nearest = cosine.topk(self.k)
        kth = nearest.values[:, -1:]
        votes = neighbour_votes(cosine, kth, tie, self.k) @ self.votes
        # A rank that only neighbours as near as the k-th vote for may be missing among the k of the sort.
        nearest_of_rank = torch.where(self.votes[nearest.indices] > 0, nearest.values[:, :, None], -2).amax(1)
        nearest_of_rank = torch.maximum(nearest_of_rank, torch.where(votes > 0, kth, -2))
        nearer_ranks = (nearest_of_rank[:, None] > nearest_of_rank[:, :, None] + tie).sum(2)
        votes = votes * (1 + TIE_BREAK * 0.5 ** nearer_ranks.to(votes))
        return votes / votes.sum(1, keepdim=True)


class NeighbourMean(nn.Module):
    """Mean target of the k nearest training embeddings, weighted by inverse Euclidean distance.

    By cosine, embeddings are scaled to norm 1 first.

    Neighbours that are as near as the k-th share what the nearer ones leave of k, with ``weights`` in proportion to
    them. Where the distance to neighbours is 0 up to rounding, the mean is theirs alone.

    Args:
        embeddings: Training embeddings (m, d).
        targets: Their targets (m,) or (m, p); predictions are (n, p) in the same units.
        k: Number of neighbours; all if there are fewer.
        weights: Weights (m,) that multiply the inverse distances; None for equal ones.
        similarity: ``"cosine"`` for embeddings of which the directions count; others are compared by distance.

    Example:
        >>> mean = NeighbourMean(torch.tensor([[0.0], [1.0]]), torch.tensor([[10.0], [20.0]]), k=2)
        >>> mean(torch.tensor([[0.0], [0.5]])).tolist()
        [[10.0], [15.0]]
    """

    embeddings: Tensor
    points: Tensor
    targets: Tensor
    weights: Tensor | None
    centre: Tensor
    centred: Tensor
    norms: Tensor

    def __init__(
        self,
        embeddings: Float[Tensor, "m d"],
        targets: Shaped[Tensor, "m *p"],
        k: int = 5,
        weights: Float[Tensor, " m"] | None = None,
        similarity: Similarity = "neg_l2",
    ) -> None:
        super().__init__()
        self.similarity = similarity
        self.register_buffer("embeddings", embeddings)
        points = _directions(embeddings) if similarity == "cosine" else embeddings
        self.register_buffer("points", points, persistent=False)
        self.register_buffer("targets", check_targets(targets, len(embeddings), "targets"))
        self.register_buffer("weights", weights)
        # Distances from the centre lose fewer digits than those from 0.
        self.register_buffer("centre", to_accumulation_dtype(points).mean(0), persistent=False)
        self.register_buffer("centred", to_accumulation_dtype(points) - self.centre, persistent=False)
        self.register_buffer("norms", self.centred.square().sum(1), persistent=False)
        self.k = min(k, len(targets))

    def config(self) -> HeadConfig:
        """Return what :meth:`restore` needs in addition to the tensors."""
        return {"k": self.k, "similarity": self.similarity}

    @classmethod
    def restore(cls, config: HeadConfig, tensors: dict[str, Tensor]) -> "NeighbourMean":
        """Return the mean of a saved model."""
        weights = tensors.get("weights")
        return cls(tensors["embeddings"], tensors["targets"], config["k"], weights, config["similarity"])

    def forward(self, queries: Float[Tensor, "n d"]) -> Float[Tensor, "n p"]:
        return _in_parts(self._means, queries, max(len(self.targets), self.k * self.embeddings.shape[1]))

    def _means(self, queries: Float[Tensor, "n d"]) -> Float[Tensor, "n p"]:
        queries = to_accumulation_dtype(queries)
        if self.similarity == "cosine":
            queries = _directions(queries)
        centred = queries - self.centre
        norms = centred.square().sum(1, keepdim=True)
        # Squared distances with a minus sign, without what all of a row have in common.
        nearness = torch.addmm(-self.norms, centred, self.centred.T, alpha=2)
        nearest = nearness.topk(self.k)
        kth = nearest.values[:, -1:]
        tie = EQUALLY_NEAR[nearness.dtype] * (2 * norms - kth)
        # The product loses digits of small distances, which weigh most.
        between = queries[:, None] - to_accumulation_dtype(self.points[nearest.indices])
        distance = torch.linalg.vector_norm(between, dim=2)
        distance = torch.where(nearest.values > kth + tie, distance, distance.amax(1, keepdim=True))
        # Weights are relative to the closest, so that a distance of 0 causes no division by 0.
        closest, no_distance = distance.amin(1, keepdim=True), tie.sqrt()
        inverse = torch.where(closest > no_distance, closest / distance, (distance <= no_distance).to(distance))
        votes = neighbour_votes(nearness, kth, tie, self.k)
        weights = votes * inverse.amin(1, keepdim=True)  # Those as near as the k-th, of which only k were found above.
        weights = weights.scatter_(1, nearest.indices, votes.gather(1, nearest.indices) * inverse)
        if self.weights is not None:
            weights = weights * self.weights.to(weights)
        return weights @ self.targets.to(weights) / weights.sum(1, keepdim=True)


def _directions(x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
    """Return the rows scaled to norm 1; zero rows stay."""
    x = to_accumulation_dtype(x)
    largest = x.abs().amax(1, keepdim=True)
    x = x / torch.where(largest == 0, 1, largest)  # The squares of small numbers may be rounded to 0.
    norm = torch.linalg.vector_norm(x, dim=1, keepdim=True)
    return x / torch.where(norm == 0, 1, norm)


def _in_parts(
    head: Callable[[Float[Tensor, "n d"]], Float[Tensor, "n c"]], queries: Float[Tensor, "n d"], entries: int
) -> Float[Tensor, "n c"]:
    """Return the outputs of a head for as many queries at a time as their matrices have room, in the queries' dtype."""
    if torch.compiler.is_compiling():  # A graph takes batches of any size, in one part.
        return head(queries).to(queries.dtype)
    parts = queries.split(max(1, ENTRIES // entries))
    return torch.cat([head(part) for part in parts]).to(queries.dtype)
