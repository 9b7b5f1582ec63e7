"""Angular triangle distance and the loss of the ordinal triplet network (OTD)."""

import math
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from ordinate.errors import OrdinateError
from ordinate.functional.inputs import (
    check_choice,
    check_embeddings,
    check_num_classes,
    check_ranks,
    check_references,
    check_weights,
)
from ordinate.functional.reduction import mean_over_anchors, weigh
from ordinate.functional.similarity import near_pairs, unit

NEAR = 1e-8  # distance of a cosine from 1 or -1 below which arccos loses digits


def angular_distance(a: Float[Tensor, "*n d"], b: Float[Tensor, "*n d"]) -> Float[Tensor, "*n"]:
    r"""Angular distance (OTD, eq. 1): :math:`D_A = \arccos(\cos(a, b)) / \pi`, from 0 to 1.

    Computed from the lengths of the sum and the difference of the two directions, so that it keeps every digit at
    0 and 1, where arccos does not, and its gradient stays finite. At exactly 0 and 1, where the angle has no
    derivative, the gradient is 0. A zero vector lies at 1/2 from everything.

    Args:
        a: (..., d), floating point.
        b: (..., d), broadcasts with ``a``.

    Returns:
        (...), in the dtype of ``a``.

    Example:
        >>> import torch
        >>> angular_distance(torch.tensor([1.0, 0.0]), torch.tensor([[1.0, 0.0], [0.0, 3.0], [-1.0, 0.0]])).tolist()
        [0.0, 0.5, 1.0]
    """
    if not a.is_floating_point() or not b.is_floating_point():
        raise OrdinateError(f"a, b: got dtypes {a.dtype} and {b.dtype}, takes floating-point tensors")
    if a.dim() == 0 or b.dim() == 0 or a.shape[-1] != b.shape[-1]:
        raise OrdinateError(f"a, b: got shapes {tuple(a.shape)} and {tuple(b.shape)}, takes (..., d) with one d")
    try:
        u, v = torch.broadcast_tensors(a, b)
    except RuntimeError:
        raise OrdinateError(f"a, b: got shapes {tuple(a.shape)} and {tuple(b.shape)}, which do not broadcast") from None
    shape = u.shape[:-1]
    u, v = unit(u.reshape(-1, u.shape[-1])), unit(v.reshape(-1, v.shape[-1]))
    return (_PairAngle.apply(u, v) / math.pi).reshape(shape).to(a.dtype)


def angular_triangle(
    embeddings: Float[Tensor, "n d"],
    labels: Int[Tensor, " n"],
    num_classes: int,
    *,
    triplets: Int[Tensor, "t 3"] | None = None,
    ref_emb: Float[Tensor, "m d"] | None = None,
    ref_labels: Int[Tensor, " m"] | None = None,
    weights: Float[Tensor, " n"] | None = None,
    reduction: str = "mean",
) -> Float[Tensor, "*n"]:
    r"""Loss of the ordinal triplet network (OTD, eqs. 1 to 5, Algorithm 1).

    .. math::
        L = \frac1T \sum_{(i,j,k)} \left(D_A(i,j) - \tfrac{|r_i - r_j|}{C-1}\right)^2
            + \left(D_A(j,k) - \tfrac{|r_j - r_k|}{C-1}\right)^2

    over triplets of three different samples with the ranks (0, r, C-1) for r = 1..C-1, and (r, r, r) for
    r = 0..C-1: 2C-1 combinations (Section 3.2, Fig. 1). At its optimum the ranks are spread evenly over a half
    circle. The middle sample j is a triplet's anchor.

    Exact over every triplet that the batch offers, in O(n^2) time and memory: a triplet's two terms are pairs, and
    how many triplets share a pair is a product of rank sizes.

    Args:
        embeddings: (n, d), floating point, finite; normalised here. An encoder that ends in ReLU cannot reach the
            optimum: all its angles are at most a quarter circle.
        labels: (n,), ranks 0..C-1; ranks may be missing, their combinations are then not offered.
        num_classes: C, at least 2.
        triplets: (t, 3), indices (i, j, k) of the triplets to use; None takes all that the batch offers.
        ref_emb: (m, d), where i and k are drawn from instead of the batch.
        ref_labels: (m,), given with ``ref_emb``.
        weights: (n,), one an anchor, >= 0.
        reduction: ``"mean"`` over triplets (eq. 5), ``"sum"`` over triplets, or ``"none"``: for each anchor the
            mean over its triplets, 0 for one that has none.

    Returns:
        A scalar, or (n,) for ``"none"``, in the dtype of ``embeddings``.

    Raises:
        OrdinateError: input that the formula has no value for, such as a batch that offers no triplet.

    Example:
        >>> import torch
        >>> half_circle = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
        >>> angular_triangle(half_circle, torch.tensor([0, 1, 2]), num_classes=3).item()
        0.0
    """
    check_embeddings(embeddings)
    check_num_classes(num_classes)
    check_choice(reduction, ("mean", "sum", "none"), "reduction")
    weights = check_weights(weights, len(embeddings))
    ranks = check_ranks(labels, len(embeddings), num_classes)
    refs, ref_labels = check_references(embeddings, labels, ref_emb, ref_labels)
    ref_ranks = check_ranks(ref_labels, len(refs), num_classes, "ref_labels")
    leave_out_self = ref_emb is None

    angles = _PairwiseAngle.apply(unit(embeddings), unit(refs))
    error = (angles / math.pi - (ranks[:, None] - ref_ranks).abs().double() / (num_classes - 1)).square()
    if triplets is None:
        rank_sizes = torch.bincount(ref_ranks, minlength=num_classes)
        pair_share, offered = _triplet_counts(rank_sizes.double(), leave_out_self)
        shares = pair_share[ranks[:, None], ref_ranks]
        if leave_out_self:
            shares.fill_diagonal_(0)
        count = offered[ranks]
        sums = (shares * error).sum(1)
    else:
        i, j, k = _check_triplets(triplets, len(refs), len(embeddings), leave_out_self)
        count = torch.bincount(j, minlength=len(embeddings)).double()
        sums = torch.zeros_like(count).index_add(0, j, error[j, i] + error[j, k])
    if not bool((count > 0).any()):
        raise OrdinateError(
            f"labels: got ranks {ranks.unique().tolist()}, which offer no triplet; takes the ranks 0 and "
            f"{num_classes - 1} with a third sample above 0, or three samples of one rank"
        )
    if reduction == "mean":
        anchor_weights = count if weights is None else count * weights
        loss = mean_over_anchors(sums / count.clamp(min=1), anchor_weights, count > 0)
    elif reduction == "sum":
        loss = weigh(sums, weights).sum()
    else:
        loss = weigh(sums / count.clamp(min=1), weights)
    return loss.to(embeddings.dtype)


def _triplet_counts(rank_sizes: Tensor, leave_out_self: bool) -> tuple[Tensor, Tensor]:
    """For an anchor of each rank: in how many of its terms a sample of each rank stands, and its triplets."""
    num_classes = len(rank_sizes)
    top = num_classes - 1
    shares = rank_sizes.new_zeros(num_classes, num_classes)
    offered = rank_sizes.new_zeros(num_classes)
    for rank in range(num_classes):
        others = rank_sizes.clone()
        others[rank] -= float(leave_out_self)
        lowest, highest = others[0], others[top]
        if rank > 0:  # (0, rank, C-1)
            shares[rank, 0] += highest
            shares[rank, top] += lowest
            offered[rank] += lowest * highest
        alike = others[rank].clamp(min=0)  # (rank, rank, rank), the outer two being different samples
        shares[rank, rank] += 2 * (alike - 1).clamp(min=0)
        offered[rank] += alike * (alike - 1).clamp(min=0)
    return shares, offered


def _check_triplets(triplets: Tensor, num_outer: int, num_middle: int, one_batch: bool) -> tuple[Tensor, ...]:
    if not isinstance(triplets, Tensor) or triplets.dim() != 2 or triplets.shape[1] != 3 or len(triplets) == 0:
        got = tuple(triplets.shape) if isinstance(triplets, Tensor) else type(triplets).__name__
        raise OrdinateError(f"triplets: got {got}, takes indices (t, 3) with at least one triplet")
    if triplets.is_floating_point() or triplets.dtype == torch.bool:
        raise OrdinateError(f"triplets: got dtype {triplets.dtype}, takes integer indices")
    i, j, k = triplets.long().unbind(1)
    for index, size in ((i, num_outer), (j, num_middle), (k, num_outer)):
        if int(index.min()) < 0 or int(index.max()) >= size:
            raise OrdinateError(
                f"triplets: got indices {int(index.min())} to {int(index.max())}, takes 0 to {size - 1}"
            )
    if bool((i == k).any()) or (one_batch and bool(((i == j) | (j == k)).any())):
        raise OrdinateError("triplets: got one sample twice in a triplet, takes three different samples")
    return i, j, k


class _PairwiseAngle(torch.autograd.Function):
    """Angles between all rows of two sets of unit vectors, through the Gram matrix."""

    @staticmethod
    def forward(ctx: Any, u: Tensor, v: Tensor) -> Tensor:
        cosine = (u @ v.T).clamp_(-1, 1)
        angle = cosine.acos()
        for i, j in near_pairs(1 - cosine.abs(), NEAR):
            angle[i, j] = _angle(u[i], v[j])
        ctx.save_for_backward(u, v, angle)
        return angle

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        u, v, angle = ctx.saved_tensors
        slope = _slope(angle, grad)
        return slope @ v, slope.T @ u


class _PairAngle(torch.autograd.Function):
    """Angle between row and row of two sets of unit vectors."""

    @staticmethod
    def forward(ctx: Any, u: Tensor, v: Tensor) -> Tensor:
        angle = _angle(u, v)
        ctx.save_for_backward(u, v, angle)
        return angle

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        u, v, angle = ctx.saved_tensors
        slope = _slope(angle, grad)[:, None]
        return slope * v, slope * u


def _angle(u: Tensor, v: Tensor) -> Tensor:
    """Angle between unit vectors from the lengths of their difference and sum, exact at 0 and pi."""
    apart, together = torch.linalg.vector_norm(u - v, dim=1), torch.linalg.vector_norm(u + v, dim=1)
    return torch.where((apart == 0) & (together == 0), math.pi / 2, 2 * torch.atan2(apart, together))


def _slope(angle: Tensor, grad: Tensor) -> Tensor:
    """Gradient with respect to the cosine: -1 / sin(angle), and 0 where the angle has no derivative."""
    sine = angle.sin()
    smooth = (angle > 0) & (angle < math.pi)
    return torch.where(smooth, -grad / torch.where(smooth, sine, 1), 0)
