"""Losses of pairs, triplets, quadruplets and tuples of samples: the networks of OTD's Table 4, and SupCon."""

from collections.abc import Callable
from types import ModuleType

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ordinate.checks import check_choice, check_positive
from ordinate.counts import counted
from ordinate.errors import OrdinateError
from ordinate.functional.anchor_blocks import rows_of
from ordinate.functional.numerics import upcast_half, weighted_mean
from ordinate.functional.similarity import unit

PAIR_LOSSES = ("supcon", "siamese", "triplet", "quadruplet", "n_pair")


def build_pair_loss(name: str, temperature: float | None = None) -> nn.Module:
    """Return the loss, a module of embeddings (n, d) and labels (n,).

    Args:
        name: ``"supcon"`` (Khosla et al., 2020: cosine, every sample of an anchor's label is a positive),
            ``"siamese"`` (contrastive loss with margin 1 on the Euclidean distance of unit embeddings; OTD's S-Net has
            a batch norm and a sigmoid behind that distance, which keep its order), ``"triplet"``, ``"quadruplet"`` or
            ``"n_pair"``.
        temperature: Temperature of SupCon; None for 0.1. Other losses have none.

    Example:
        >>> loss = build_pair_loss("triplet")
        >>> loss(torch.eye(4), torch.tensor([0, 0, 1, 1])).item()
        0.20000000298023224
    """
    check_choice(name, PAIR_LOSSES, "loss")
    kinds: dict[str, Callable[[], nn.Module]] = {
        "supcon": SupConLoss, "siamese": SiameseLoss, "triplet": TripletLoss, "quadruplet": QuadrupletLoss,
        "n_pair": NPairLoss,
    }  # fmt: skip
    if temperature is None:
        return kinds[name]()
    if name != "supcon":
        raise OrdinateError("temperature", f"{temperature!r} for the loss {name!r}, which has none", "None")
    return SupConLoss(temperature)


class SupConLoss(nn.Module):
    """Supervised contrastive loss of pytorch-metric-learning; an anchor without a positive does not count.

    Args:
        temperature: Temperature of the softmax, > 0; 0.1 is that of Khosla et al. (2020).
    """

    def __init__(self, temperature: float = 0.1) -> None:
        super().__init__()
        losses, reducers = metric_learning()
        self.loss = losses.SupConLoss(temperature=check_positive(temperature, "temperature"))
        self.anchors = losses.SupConLoss(temperature=temperature, reducer=reducers.DoNothingReducer())

    def forward(
        self, embeddings: Float[Tensor, "n d"], labels: Int[Tensor, " n"], weights: Float[Tensor, " n"] | None = None
    ) -> Float[Tensor, ""]:
        check_comparable(labels)
        if weights is None:
            return self.loss(embeddings, labels)
        values = self.anchors(embeddings, labels)["loss"]["losses"]
        return weighted_mean(values[values > 0], weights[values > 0])


class SiameseLoss(nn.Module):
    """Contrastive loss of pytorch-metric-learning over all pairs: margin 1 on the Euclidean distance."""

    def __init__(self) -> None:
        super().__init__()
        losses, _ = metric_learning()
        self.loss = losses.ContrastiveLoss()

    def forward(self, embeddings: Float[Tensor, "n d"], labels: Int[Tensor, " n"]) -> Float[Tensor, ""]:
        check_comparable(labels)
        return self.loss(embeddings, labels)


class NPairLoss(nn.Module):
    """N-pair loss (Sohn, 2016): one pair per rank, each anchor's positive contrasted with those of the other ranks.

    The similarity is the cosine (OTD, Table 4).

    A tuple's loss is pytorch-metric-learning's, which uses a single tuple of a batch. Here a batch is dealt into as
    many as it has pairs for, and every anchor counts the same.
    """

    def forward(
        self, embeddings: Float[Tensor, "n d"], labels: Int[Tensor, " n"], weights: Float[Tensor, " n"] | None = None
    ) -> Float[Tensor, ""]:
        check_comparable(labels, pairs=2)
        anchors, positives, tuples = deal_tuples(labels)
        units = unit(embeddings)
        scores = units[anchors] @ units[positives].T
        scores = torch.where(tuples[:, None] == tuples[None, :], scores, -torch.inf)
        values = -scores.log_softmax(dim=1).diagonal()
        return weighted_mean(values, rows_of(weights, anchors)).to(upcast_half(embeddings).dtype)


class TripletLoss(nn.Module):
    """Triplet loss of FaceNet (Schroff et al., 2015): squared Euclidean distance of unit embeddings.

    The mean of [D(a, p) - D(a, n) + margin]_+ over the triplets that violate the margin, without a list of n^3 of them.
    """

    def __init__(self, margin: float = 0.2) -> None:
        super().__init__()
        self.margin = margin

    def forward(
        self, embeddings: Float[Tensor, "n d"], labels: Int[Tensor, " n"], weights: Float[Tensor, " n"] | None = None
    ) -> Float[Tensor, ""]:
        check_comparable(labels)
        loss = triplet_term(squared_distances(embeddings), labels, self.margin, weights)
        return loss.to(upcast_half(embeddings).dtype)


class QuadrupletLoss(nn.Module):
    """Quadruplet loss (Chen et al., 2017, eq. 6): the triplet loss plus one of two pairs that share no sample.

    The second term is the mean of [D(a, p) - D(m, n) + second_margin]_+ over the violated quadruplets, with m and n of
    two ranks that are neither each other's nor the anchor's. D is the squared Euclidean distance of unit embeddings;
    the paper learns it by a layer on top.
    """

    def __init__(self, margin: float = 0.2, second_margin: float = 0.1) -> None:
        super().__init__()
        self.margin = margin
        self.second_margin = second_margin

    def forward(self, embeddings: Float[Tensor, "n d"], labels: Int[Tensor, " n"]) -> Float[Tensor, ""]:
        check_comparable(labels, ranks=3)
        distances = squared_distances(embeddings)
        loss = triplet_term(distances, labels, self.margin) + pairs_term(distances, labels, self.second_margin)
        return loss.to(upcast_half(embeddings).dtype)


def check_comparable(labels: Int[Tensor, " n"], *, pairs: int = 1, ranks: int = 2) -> None:
    """Raise where fewer ranks than ``ranks`` occur, or fewer than ``pairs`` occur twice."""
    counts = labels.unique(return_counts=True)[1]
    if len(counts) < ranks or (counts > 1).sum() < pairs:
        got = f"a batch of {counted(len(counts), 'rank')}, {int((counts > 1).sum())} of two samples or more"
        raise OrdinateError("labels", got, f"{ranks} and {pairs}")


def squared_distances(embeddings: Float[Tensor, "n d"]) -> Float[Tensor, "n n"]:
    """Return squared Euclidean distances of unit embeddings, in the widest type of the device."""
    units = unit(embeddings)
    return 2 - 2 * units @ units.T


def triplet_term(
    distances: Float[Tensor, "n n"],
    labels: Int[Tensor, " n"],
    margin: float,
    weights: Float[Tensor, " n"] | None = None,
) -> Float[Tensor, ""]:
    """Return the mean violation over triplets of an anchor, a positive and a negative, which weigh as the anchor."""
    same = labels[:, None] == labels[None, :]
    positive = same & ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    return mean_violation(distances, positive, distances, ~same, margin, weights)


def pairs_term(distances: Float[Tensor, "n n"], labels: Int[Tensor, " n"], margin: float) -> Float[Tensor, ""]:
    """Return the mean violation over a positive pair and a negative pair of other ranks."""
    ranks = labels.unique()
    first, second = torch.triu_indices(len(labels), len(labels), 1, device=labels.device)
    low, high = labels[first], labels[second]
    flat = distances[first, second].expand(len(ranks), -1)
    positive = (low == high) & (low == ranks[:, None])
    negative = (low != high) & (low != ranks[:, None]) & (high != ranks[:, None])
    return mean_violation(flat, positive, flat, negative, margin)


def mean_violation(
    near: Float[Tensor, "r a"], is_near: Bool[Tensor, "r a"],
    far: Float[Tensor, "r b"], is_far: Bool[Tensor, "r b"], margin: float,
    weights: Float[Tensor, " r"] | None = None,
) -> Float[Tensor, ""]:  # fmt: skip
    """Return the mean of near - far + margin over the pairs of a row's near and far values where it is above 0.

    Sorted once, the far values that a near one does not clear are a prefix: its count and sum give their share.
    """
    order = torch.where(is_far, far.detach(), torch.inf).sort(dim=1)
    sums = nn.functional.pad(torch.where(is_far, far, 0).gather(1, order.indices).cumsum(1), (1, 0))
    limits = near + margin
    counts = torch.searchsorted(order.values, limits.detach().contiguous()) * is_near
    violations = torch.where(is_near, counts * limits - sums.gather(1, counts), 0)
    if weights is None:
        return violations.sum() / counts.sum().clamp(min=1)
    total = (weights * counts.sum(1)).sum()
    return (weights * violations.sum(1)).sum() / torch.where(total > 0, total, 1)


def deal_tuples(labels: Int[Tensor, " n"]) -> tuple[Int[Tensor, " p"], Int[Tensor, " p"], Int[Tensor, " p"]]:
    """Return anchor, positive and tuple of every pair: no sample in two pairs, at most one pair per rank in a tuple.

    A pair that would be alone in its tuple is left out.
    """
    order = labels.argsort(stable=True)
    counts = labels.unique(return_counts=True)[1]
    place = torch.arange(len(labels), device=labels.device) - (counts.cumsum(0) - counts).repeat_interleave(counts)
    tuples = int((counts // 2).sort(descending=True).values[1])  # Beyond this number, only one rank has pairs.
    dealt = place < (counts // 2).clamp(max=tuples).repeat_interleave(counts) * 2  # An odd sample has no partner.
    first = dealt & (place % 2 == 0)
    return order[first], order[dealt & (place % 2 == 1)], place[first] // 2


def metric_learning() -> tuple[ModuleType, ModuleType]:
    """Return pytorch-metric-learning's losses and reducers."""
    try:
        from pytorch_metric_learning import losses, reducers
    except ImportError as error:
        raise OrdinateError("loss", expected='pytorch-metric-learning: pip install "ordinate[baselines]"') from error
    return losses, reducers
