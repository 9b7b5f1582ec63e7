"""Angular triangle distance and the loss of the ordinal triplet network (OTD)."""

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from ordinate import kernels
from ordinate.errors import OrdinateError
from ordinate.functional.anchor_blocks import (
    Gradients,
    RowSums,
    anchor_blocks,
    block_sums,
    refuse_second_derivative,
    rows_of,
)
from ordinate.functional.contrast import Inputs, check_triplets, prepare
from ordinate.functional.global_batch import Group, holds_anywhere
from ordinate.functional.inputs import check_ranks
from ordinate.functional.numerics import to_accumulation_dtype, upcast_half
from ordinate.functional.similarity import PAIRS_AT_ONCE, CosineBlocks, fill_self, unit
from ordinate.options import AngularTriangleOptions, Reduction

# The arccosine loses digits for cosines nearer to 1 or -1.
MIN_DISTANCE_FROM_ONE = {torch.float32: 1e-3, torch.float64: 1e-8}
# From here on a processor is faster if it leaves out the pairs that stand in no triplet.
MIN_PAIRS_PER_RANK = 1 << 15


def angular_distance(a: Float[Tensor, "*n d"], b: Float[Tensor, "*m d"]) -> Float[Tensor, "..."]:
    r"""Angular distance (OTD, eq. 1): :math:`D_A = \arccos(\cos(a, b)) / \pi`, from 0 to 1.

    Computed from the lengths of the sum and the difference of the two directions, so that it keeps every digit at
    0 and 1, where arccos does not, and its gradient stays finite. At exactly 0 and 1, where the angle has no
    derivative, the gradient is 0. A zero vector lies at 1/2 from everything.

    Args:
        a: (..., d), floating point.
        b: (..., d), broadcasts with ``a``.

    Returns:
        (...), in the dtype of ``a``; in float32 where it is float16 or bfloat16.

    Example:
        >>> import torch
        >>> angular_distance(torch.tensor([1.0, 0.0]), torch.tensor([[1.0, 0.0], [0.0, 3.0], [-1.0, 0.0]])).tolist()
        [0.0, 0.5, 1.0]
    """
    u, v = _directions("a, b", a, b)
    shape = u.shape[:-1]
    dtype = upcast_half(a).dtype
    u, v = unit(u.reshape(-1, u.shape[-1])), unit(v.reshape(-1, v.shape[-1]))
    return (_PairAngle.apply(u, v) / math.pi).reshape(shape).to(dtype)


def angular_triangle_distance(
    a: Float[Tensor, "*n d"], b: Float[Tensor, "*m d"], c: Float[Tensor, "*k d"]
) -> Float[Tensor, "..."]:
    """Angular triangle distance (OTD, eq. 2): the angular distance from ``a`` to ``b`` and on to ``c``, from 0 to 2.

    It is the angular distance from ``a`` to ``c`` if ``b`` lies between them on a half circle, as the ranks of an
    optimal embedding do, and larger otherwise.

    Args:
        a: (..., d), floating point.
        b: (..., d), broadcasts with ``a``.
        c: (..., d), broadcasts with ``a`` and ``b``.

    Returns:
        (...), in the dtype of ``a`` and ``b``; in float32 where it is float16 or bfloat16.

    Raises:
        OrdinateError: The inputs are not floating point, or do not broadcast.

    Example:
        >>> import torch
        >>> low, middle, high = torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
        >>> angular_triangle_distance(low, middle, high).item(), angular_triangle_distance(low, high, middle).item()
        (0.5, 0.75)
    """
    a, b, c = _directions("a, b, c", a, b, c)
    return angular_distance(a, b) + angular_distance(b, c)


def _directions(names: str, *vectors: Tensor) -> tuple[Tensor, ...]:
    """Return floating-point vectors (..., d), broadcast against each other."""
    if not all(each.is_floating_point() for each in vectors):
        raise OrdinateError(
            names, f"dtypes {' and '.join(str(each.dtype) for each in vectors)}", "floating-point tensors"
        )
    shapes = f"shapes {' and '.join(str(tuple(each.shape)) for each in vectors)}"
    if len({each.shape[-1:] for each in vectors}) > 1 or vectors[0].dim() == 0:
        raise OrdinateError(names, shapes, "(..., d) with one d")
    try:
        return torch.broadcast_tensors(*vectors)
    except RuntimeError:
        raise OrdinateError(names, f"{shapes}, which do not broadcast") from None


def angular_triangle(
    embeddings: Float[Tensor, "n d"],
    labels: Shaped[Tensor, "n *p"],
    num_classes: int,
    *,
    triplets: Int[Tensor, "t 3"] | None = None,
    reduction: Reduction = AngularTriangleOptions.reduction,
    block_size: int | None = AngularTriangleOptions.block_size,
    ref_emb: Float[Tensor, "m d"] | None = None,
    ref_labels: Shaped[Tensor, "m *q"] | None = None,
    weights: Shaped[Tensor, " n"] | None = None,
    self_index: Int[Tensor, " n"] | None = None,
    group: Group = None,
) -> Float[Tensor, "*n"]:
    r"""Loss of the ordinal triplet network (OTD, eqs. 1 to 5, Algorithm 1).

    .. math::
        L = \frac1T \sum_{(i,j,k)} \left(D_A(i,j) - \tfrac{|r_i - r_j|}{C-1}\right)^2
            + \left(D_A(j,k) - \tfrac{|r_j - r_k|}{C-1}\right)^2

    over triplets of three different samples with the ranks (0, r, C-1) for r = 1..C-1, and (r, r, r) for
    r = 0..C-1: 2C-1 combinations (Section 3.2, Fig. 1). At its optimum the ranks are spread evenly over a half
    circle. The middle sample j is a triplet's anchor.

    Exact over every triplet that the batch offers, in O(n^2) time, over blocks of anchors: a triplet's two terms are
    pairs, and how many triplets share a pair is a product of rank sizes.

    Args:
        embeddings: Embeddings (n, d), floating point, finite; normalised here. An encoder that ends in ReLU cannot
            reach the optimum: all its angles are at most a quarter circle.
        labels: Ranks (n,), 0..C-1; ranks may be missing, their combinations are then not offered.
        triplets: Indices (t, 3) of i, j and k of the triplets to use; None takes all that the batch offers.
        num_classes: Number C of ranks, at least 2.
        reduction: ``"mean"`` over triplets (eq. 5), ``"sum"`` over triplets, or ``"none"``: for each anchor the mean
            over its triplets, 0 for one that has none.
        block_size: Number of anchors per block, which bounds the memory; None chooses it.
        ref_emb: Embeddings (m, d) that i and k are drawn from instead of the batch.
        ref_labels: Labels of ``ref_emb``, (m,).
        weights: Weights (n,) of the anchors, >= 0. They receive a gradient where they require one.
        self_index: Place (n,) of each anchor itself in ``ref_emb``, so that it is not contrasted with itself.
        group: Processes whose batches are joined into one; see :mod:`ordinate.functional.global_batch`.

    Returns:
        A scalar, or (n,) for ``"none"``, in the dtype of ``embeddings``, float32 for half precision and under autocast.

    Raises:
        OrdinateError: input that the formula has no value for, such as a batch that offers no triplet; or embeddings of
            one dimension, whose cosines are all 1 or -1.

    Example:
        >>> import torch
        >>> half_circle = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
        >>> angular_triangle(half_circle, torch.tensor([0, 1, 2]), num_classes=3).item()
        0.0
    """
    options = AngularTriangleOptions(num_classes=num_classes, reduction=reduction, block_size=block_size)
    inputs = Inputs(ref_emb=ref_emb, ref_labels=ref_labels, weights=weights, self_index=self_index, group=group)
    check = partial(check_ranks, num_classes=num_classes)
    contrast = prepare(embeddings, labels, check, inputs, are_chosen=triplets is not None)
    ranks, ref_ranks, self_index = contrast.labels, contrast.ref_labels, contrast.self_index

    row_sums: RowSums
    if triplets is None:
        sizes = torch.bincount(ref_ranks, minlength=num_classes)
        pair_share, offered = _triplet_counts(to_accumulation_dtype(sizes), self_index is not None)
        count = offered[ranks]
        row_sums = _AllTriplets(num_classes, ranks, ref_ranks, pair_share[:, ref_ranks], self_index, options.block_size)
        if ranks.device.type == "cpu" and len(ranks) * len(ref_ranks) >= MIN_PAIRS_PER_RANK * num_classes:
            row_sums = _RankByRank(row_sums)
    else:
        i, j, k = check_triplets(triplets, contrast)
        count = to_accumulation_dtype(torch.bincount(j, minlength=len(ranks)))
        anchor, other = torch.cat([j, j]), torch.cat([i, k])
        target = to_accumulation_dtype((ranks[anchor] - ref_ranks[other]).abs()) / (num_classes - 1)
        row_sums = _GivenPairs(anchor, other, target)
    if not holds_anywhere(count > 0, contrast.group):
        expected = f"the ranks 0 and {num_classes - 1} with a third sample above 0, or three samples of one rank"
        raise OrdinateError("labels", f"ranks {ranks.unique().tolist()}, which offer no triplet", expected)
    u, v = contrast.units()
    if reduction == "mean":  # The mean is over triplets.
        weights = count
        if contrast.weights is not None:
            weights = count * contrast.weights
        contrast = replace(contrast, weights=weights)
    coefficients = contrast.coefficients(reduction, count > 0)
    if reduction != "sum":
        coefficients = coefficients / count.clamp(min=1)
    return contrast.loss(row_sums, coefficients, u, v, reduction=reduction)


def _triplet_counts(rank_sizes: Tensor, leave_out_self: bool) -> tuple[Tensor, Tensor]:
    """Return, for an anchor of each rank, how many terms hold a sample of each rank, and its number of triplets."""
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
        same_rank = others[rank].clamp(min=0)  # (rank, rank, rank), the outer two being different samples
        shares[rank, rank] += 2 * (same_rank - 1).clamp(min=0)
        offered[rank] += same_rank * (same_rank - 1).clamp(min=0)
    return shares, offered


@dataclass(frozen=True)
class _AllTriplets:
    """Sum every anchor's terms: each pair's squared error, as often as it stands in a triplet."""

    num_classes: int
    ranks: Int[Tensor, " n"]
    ref_ranks: Int[Tensor, " m"]
    shares: Float[Tensor, "c m"]
    self_index: Int[Tensor, " n"] | None
    block_size: int | None

    def __call__(self, coefficients: Tensor | None, u: Tensor, v: Tensor) -> tuple[Tensor, Gradients]:
        cosines = CosineBlocks(u, v, u.dtype)
        blocks = anchor_blocks(len(u), len(v), self.block_size, u.device)
        return block_sums(blocks, lambda rows, factors: self._rows(cosines, rows, factors), cosines, coefficients)

    def _rows(
        self, cosines: CosineBlocks, rows: slice, coefficients: Float[Tensor, " b"] | None
    ) -> tuple[Float[Tensor, " b"], Float[Tensor, "b m"] | None]:
        """Return the sums of some anchors' terms, and the gradient of their weighted sum for the cosines."""
        ranks, self_index = self.ranks[rows], rows_of(self.self_index, rows)
        if (compiled := kernels.uses_numba(cosines.a)) or kernels.uses_triton(cosines.a):
            if not compiled:
                from ordinate.kernels.triton.angular_triangle import angle_rows
            else:
                from ordinate.kernels.numba.angular_triangle import angle_rows
            cosine, a, b = cosines.block(rows), cosines.a[rows], cosines.b
            pairs = ranks, self.ref_ranks, self.shares, self_index
            return angle_rows(cosine, a, b, *pairs, coefficients, MIN_DISTANCE_FROM_ONE[cosine.dtype])
        angle = _angles(cosines, rows)
        rank_distance = to_accumulation_dtype((ranks[:, None] - self.ref_ranks).abs())
        error = angle / math.pi - rank_distance / (self.num_classes - 1)
        pull = fill_self(self.shares[ranks], self_index, 0).mul_(error)
        values = (pull * error).sum(1)
        if coefficients is None:
            return values, None
        return values, _slope(angle, pull.mul_(coefficients[:, None] * (2 / math.pi)))


@dataclass(frozen=True)
class _RankByRank:
    """Compute the same sums, a rank of anchors at a time, without the references that are in none of its triplets."""

    pairs: _AllTriplets

    def __call__(self, coefficients: Tensor | None, u: Tensor, v: Tensor) -> tuple[Tensor, Gradients]:
        pairs = self.pairs
        values, grad_u, grad_v = u.new_zeros(len(u)), torch.zeros_like(u), torch.zeros_like(v)
        for rank in pairs.ranks.unique().tolist():
            shared = pairs.shares[rank] > 0
            if not bool(shared.any()):
                continue
            anchors = (pairs.ranks == rank).nonzero()[:, 0]
            references = (shared | (pairs.ref_ranks == rank)).nonzero()[:, 0]  # Each anchor is one of them.
            self_index = rows_of(pairs.self_index, anchors)
            if self_index is not None:
                self_index = torch.searchsorted(references, self_index)
            of_rank = replace(
                pairs, ranks=pairs.ranks[anchors], ref_ranks=pairs.ref_ranks[references],
                shares=pairs.shares[:, references], self_index=self_index,
            )  # fmt: skip
            values[anchors], gradients = of_rank(rows_of(coefficients, anchors), u[anchors], v[references])
            if gradients is not None:
                grad_u[anchors] = gradients[0]
                grad_v.index_add_(0, references, gradients[1])
        if coefficients is None:
            return values, None
        return values, (grad_u, grad_v)


@dataclass(frozen=True)
class _GivenPairs:
    """Sum every anchor's terms over the pairs of the triplets that were given."""

    anchor: Int[Tensor, " k"]
    other: Int[Tensor, " k"]
    target: Float[Tensor, " k"]

    def __call__(self, coefficients: Tensor | None, u: Tensor, v: Tensor) -> tuple[Tensor, Gradients]:
        values = torch.zeros(len(u), dtype=u.dtype, device=u.device)
        grad_u, grad_v = torch.zeros_like(u), torch.zeros_like(v)
        for part in torch.arange(len(self.anchor), device=u.device).split(PAIRS_AT_ONCE):
            anchor, other = self.anchor[part], self.other[part]
            angle = _angle(u[anchor], v[other])
            error = angle / math.pi - self.target[part]
            values.index_add_(0, anchor, error.square())
            if coefficients is not None:
                slope = _slope(angle, error * coefficients[anchor] * (2 / math.pi))[:, None]
                grad_u.index_add_(0, anchor, slope * v[other])
                grad_v.index_add_(0, other, slope * u[anchor])
        if coefficients is None:
            return values, None
        return values, (grad_u, grad_v)


def _angles(cosines: CosineBlocks, rows: slice) -> Float[Tensor, "b m"]:
    """Return the angles of some anchors with all references; near 0 and pi from the difference of the directions."""
    cosine = cosines.block(rows).clamp_(-1, 1)
    near = (1 - cosine.abs() <= MIN_DISTANCE_FROM_ONE[cosine.dtype]).nonzero()
    angle = cosine.acos_()
    for i, j in (part.unbind(1) for part in near.split(PAIRS_AT_ONCE)):
        angle[i, j] = _angle(cosines.a[rows][i], cosines.b[j])
    return angle


class _PairAngle(torch.autograd.Function):
    """The angle between row and row of two sets of unit vectors."""

    @staticmethod
    def forward(ctx: Any, u: Tensor, v: Tensor) -> Tensor:
        angle = _angle(u, v)
        ctx.save_for_backward(u, v, angle)
        return angle

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        refuse_second_derivative()
        u, v, angle = ctx.saved_tensors
        slope = _slope(angle, grad)[:, None]
        return slope * v, slope * u


def _angle(u: Tensor, v: Tensor) -> Tensor:
    """Return the angle between unit vectors from the lengths of their difference and sum, exact at 0 and pi."""
    apart, together = torch.linalg.vector_norm(u - v, dim=1), torch.linalg.vector_norm(u + v, dim=1)
    return torch.where((apart == 0) & (together == 0), math.pi / 2, 2 * torch.atan2(apart, together))


def _slope(angle: Tensor, grad: Tensor) -> Tensor:
    """Return the gradient with respect to the cosine: -1 / sin(angle), and 0 where the angle has no derivative."""
    sine = angle.sin()
    smooth = (angle > 0) & (angle < math.pi)
    return torch.where(smooth, -grad / torch.where(smooth, sine, 1), 0)
