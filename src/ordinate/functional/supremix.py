"""SupReMix, supervised contrastive regression with mixtures as hard negatives and hard positives."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from ordinate import kernels
from ordinate.errors import OrdinateError
from ordinate.functional.anchor_blocks import Gradients, Order, anchor_blocks, block_sums, check_block_size
from ordinate.functional.contrast import Contrast, check_contrasted, check_exponents, prepare
from ordinate.functional.global_batch import Group, gathered, holds_anywhere
from ordinate.functional.inputs import check_choice, check_constant, check_positive, check_targets
from ordinate.functional.mixtures import (
    DrawnShares,
    GivenShares,
    MixPositives,
    MixtureBlocks,
    draw_shares,
    squared_norm,
)
from ordinate.functional.numerics import accumulation_dtype, to_accumulation_dtype
from ordinate.functional.similarity import fill_self
from ordinate.kernels.mixture_rows import MIN_SQUARED_NORM, MixtureGradient, MixtureRows
from ordinate.options import Reduction

COLDEST = {torch.float32: 1 / 30, torch.float64: 1 / 300}  # temperature down to which exp(cosine / temperature) and
# its inverse keep all digits
FARTHEST = 1e15  # difference of labels up to which float32 holds the weighted contrasts of a batch
EDGE = 1e-6  # how far, relative to the window, a difference may pass it by rounding and still lie inside


def supremix(
    embeddings: Float[Tensor, "n d"],
    labels: Shaped[Tensor, "n *p"],
    *,
    temperature: float,
    window: float,
    beta: Sequence[float] = (2.0, 8.0),
    neg_mix: Float[Tensor, "n m"] | None = None,
    generator: torch.Generator | None = None,
    mix_negatives: bool = True,
    mix_positives: bool = True,
    distance_magnifying: bool = True,
    label_range: float | None = None,
    renormalize: bool = True,
    detach_mixtures: bool = False,
    ref_emb: Float[Tensor, "m d"] | None = None,
    ref_labels: Shaped[Tensor, "m *q"] | None = None,
    weights: Shaped[Tensor, " n"] | None = None,
    reduction: Reduction = "sum",
    own: Int[Tensor, " n"] | None = None,
    group: Group = None,
    block_size: int | None = None,
) -> Float[Tensor, "*n"]:
    r"""Supervised contrastive regression loss with mixtures (SupReMix, eqs. 1 to 6).

    .. math::
        L = \sum_m \frac{-1}{k_m} \sum_{i: y_i = m} \sum_{p \in P_i}
            \log \frac{\exp(z_i \cdot z_p / \tau)}{\sum_{c \ne i} w_{ic} \exp(z_i \cdot z_c / \tau)},
        \qquad w_{ic} = \frac{1 + |y_i - y_c|}{y_{max} - y_{min}}

    An anchor's positives P are the samples of its own label and its Mix-pos (eqs. 3, 4): one mixture for every
    sample below and every sample above it within the window, in the proportion that gives it the anchor's label.
    Its contrasts c are all other samples, its Mix-pos, and its Mix-neg (eqs. 1, 2): one mixture of itself, with
    share :math:`\lambda_1 \sim` Beta, with every sample of another label. The weight w (eq. 5) magnifies the
    label distance; a shift of all labels changes nothing.

    Exact without building a mixture: its similarity to the anchor and its norm are linear in the Gram matrix, of
    which a block of anchors is held at a time. Time is O(n^2) and one step for each Mix-pos, whose number the window
    bounds.

    Args:
        embeddings: (n, d), floating point, finite; normalised here.
        labels: (n,), real and finite.
        temperature: tau > 0; 0.3 to 1.0 in the paper (Table 13).
        window: gamma > 0, the largest difference, inclusive, between the anchor's label and those that its Mix-pos
            are made of; differences that pass it by rounding, 1e-6 of it, lie inside.
        beta: (alpha, beta) of the Beta distribution of :math:`\lambda_1`; (2, 8) is the paper's best (Table 11).
        neg_mix: (n, n), or (n, m) with references: :math:`\lambda_1` of anchor i with negative j, from 0 to 1;
            drawn when None.
        generator: source of the drawing.
        mix_negatives: contrast with Mix-neg; with the next two, the paper's three parts (Tables 9, 10).
        mix_positives: take Mix-pos as positives.
        distance_magnifying: weigh the contrasts by eq. 5.
        label_range: y_max - y_min of eq. 5; None takes that of the batch and its references
            (1 where all labels are equal). A constant
            factor of all weights: it moves the value, not the gradient.
        renormalize: give mixtures unit norm, as the paper's text does; its later code does not.
        detach_mixtures: pass no gradient into mixtures, as the paper's later code does.
        ref_emb: (m, d), what the anchors are contrasted and mixed with instead of the batch.
        ref_labels: (m,), given with ``ref_emb``.
        weights: (n,), one per anchor, >= 0. Receives a gradient where it requires one.
        reduction: ``"sum"`` is eq. 6; ``"mean"`` averages over an anchor's positives, then over the anchors that
            have one, so that its size does not depend on the batch; ``"none"`` is that average for each anchor, 0 for
            one that has no positive.
        own: (n,), where each anchor itself stands among ``ref_emb``, so that it is not contrasted with itself.
        group: processes whose batches are joined into one; see :mod:`ordinate.functional.global_batch`.
        block_size: anchors per block, which bounds the memory; None chooses.

    Returns:
        A scalar, or (n,) for ``"none"``, in the dtype of ``embeddings``, float32 for half precision and under autocast.

    Raises:
        OrdinateError: input that the formula has no value for, such as a batch in which no anchor has a positive; or
            two samples, or one reference (a positive that is the only contrast gives a constant), or embeddings of one
            dimension (the cosine of two numbers is 1 or -1): nothing would be learned.

    Example:
        >>> import torch
        >>> angle = torch.tensor([0.0, 0.5, 1.0])
        >>> embeddings = torch.stack([angle.cos(), angle.sin()], 1)
        >>> loss = supremix(embeddings, torch.tensor([1.0, 2.0, 3.0]), temperature=1.0, window=1.0,
        ...                 mix_negatives=False)
        >>> round(loss.item(), 4)
        0.8196
    """
    check_supremix_options(
        temperature=temperature,
        window=window,
        beta=beta,
        label_range=label_range,
        reduction=reduction,
        block_size=block_size,
    )
    contrast = prepare(
        embeddings, labels, lambda y, n, name: to_accumulation_dtype(check_targets(y, n, name, dimensions=1)[:, 0]),
        ref_emb=ref_emb, ref_labels=ref_labels, weights=weights, own=own, group=group,
    )  # fmt: skip
    check_contrasted(contrast, given=ref_emb is not None)
    check_exponents(contrast, "cosine", temperature)
    y, ref_y = contrast.labels, contrast.ref_labels
    label_width = _label_width(y, ref_y)
    log_range = math.log(label_range or label_width or 1.0) if distance_magnifying else 0.0
    order = contrast.ascending(y, ref_y, stable=True)  # windows become slices
    if neg_mix is not None:
        neg_mix = _check_neg_mix(neg_mix, len(y), len(ref_y))
    row_sums = _RowSums(
        y=y[order.anchors],
        ref_y=ref_y[order.references],
        self_index=order.self_index,
        shares=_shares(contrast, order, neg_mix, beta, generator) if mix_negatives else None,
        window=float(window) if mix_positives else None,
        magnify=distance_magnifying,
        temperature=float(temperature),
        renormalize=renormalize,
        detached=detach_mixtures,
        dtype=_dtype(contrast, temperature, label_width),
        block_size=block_size,
    )
    positives = torch.empty_like(y).index_copy(0, order.anchors, to_accumulation_dtype(row_sums.positives()))
    has_positive = positives > 0
    if not holds_anywhere(has_positive, group):
        raise OrdinateError(
            "labels, window",
            problem=(
                f"no anchor has a positive: no two labels are equal and no window of {window:g} "
                "holds samples on both sides of an anchor"
            ),
            expected="a wider window or a larger batch",
        )
    coefficients = contrast.coefficients(reduction, has_positive)
    if reduction == "sum":
        every, start = gathered(y, group)
        _, label, sizes = every.unique(return_inverse=True, return_counts=True)
        coefficients = coefficients * positives / sizes[label][start : start + len(y)]
    a, b = contrast.units(1 / temperature)
    return contrast.loss(row_sums, coefficients, a, b, reduction=reduction, order=order, offset=log_range)


def check_supremix_options(
    *,
    temperature: float,
    window: float,
    beta: Sequence[float],
    label_range: float | None,
    reduction: str,
    block_size: int | None,
    **_switches: bool,  # of which none can be wrong
) -> None:
    """Raise where an option of :func:`supremix` cannot be used."""
    check_positive(temperature, "temperature")
    check_positive(window, "window")
    if not isinstance(beta, tuple | list) or len(beta) != 2:
        raise OrdinateError("beta", repr(beta), "the two parameters of a Beta distribution")
    for value in beta:
        check_positive(value, "beta")
    if label_range is not None:
        check_positive(label_range, "label_range")
    check_choice(reduction, get_args(Reduction), "reduction")
    check_block_size(block_size)


def _label_width(y: Tensor, ref_y: Tensor) -> float:
    """Return how far the lowest and the highest label are apart."""
    both = torch.cat([y, ref_y])
    width = float(both.max() - both.min())
    if not width <= torch.finfo(y.dtype).max ** 0.5:
        raise OrdinateError("labels", problem="their range passes that of their dtype", hint="rescale them")
    return width


def _fused_rows(cosine: Tensor) -> type[MixtureRows] | None:
    """Return what computes rows in one pass on the device of the cosines; None where PyTorch has to."""
    if kernels.uses_numba(cosine):
        from ordinate.kernels.numba.supremix import NumbaRows

        return NumbaRows
    if kernels.uses_triton(cosine):
        from ordinate.kernels.triton.supremix import TritonRows

        return TritonRows
    return None


def _dtype(contrast: Contrast, temperature: float, label_width: float) -> torch.dtype:
    """Return float32 where neither the embeddings, the temperature nor the labels need more."""
    dtypes = contrast.anchors.dtype, contrast.references.dtype
    near = label_width <= FARTHEST
    narrow = near and torch.float64 not in dtypes and temperature >= COLDEST[torch.float32]
    return torch.float32 if narrow else accumulation_dtype(contrast.anchors.device)


def _shares(
    contrast: Contrast,
    order: Order,
    neg_mix: Tensor | None,
    beta: Sequence[float],
    generator: torch.Generator | None,
) -> GivenShares | DrawnShares:
    if neg_mix is not None:
        return GivenShares(neg_mix, order.anchors, order.references)
    return draw_shares(beta, contrast.references, generator, contrast.group)


def _check_neg_mix(neg_mix: Tensor, n: int, m: int) -> Tensor:
    if not isinstance(neg_mix, Tensor) or neg_mix.shape != (n, m):
        got = tuple(neg_mix.shape) if isinstance(neg_mix, Tensor) else type(neg_mix).__name__
        raise OrdinateError("neg_mix", got, f"a tensor ({n}, {m}), the share of each anchor in its Mix-neg")
    if not bool(((neg_mix >= 0) & (neg_mix <= 1)).all()):
        raise OrdinateError("neg_mix", "values outside 0 to 1", "shares")
    return to_accumulation_dtype(check_constant(neg_mix, "neg_mix"))


def _lengths(x: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
    """Return the norms of rows that :func:`unit` gave: 1, or 0 of an embedding that is zero."""
    return (x != 0).any(1).to(x.dtype)


@dataclass(frozen=True)
class _RowSums:
    """For every anchor the mean of eq. 6 over its positives, without the label range, and the gradient of their sum.

    Anchors and references ascend in label.
    """

    y: Float[Tensor, " n"]
    ref_y: Float[Tensor, " m"]
    self_index: Int[Tensor, " n"] | None
    shares: GivenShares | DrawnShares | None
    window: float | None
    magnify: bool
    temperature: float
    renormalize: bool
    detached: bool
    dtype: torch.dtype
    block_size: int | None

    def positives(self) -> Int[Tensor, " n"]:
        """How many positives each anchor has."""
        low, below_end, above_start, high = self.bounds(slice(0, len(self.y)))
        same = above_start - below_end - int(self.self_index is not None)
        return same if self.window is None else same + (below_end - low) * (high - above_start)

    def bounds(self, rows: slice) -> tuple[Int[Tensor, " b"], ...]:
        """Where each anchor's window starts among the references, its label starts and ends, and the window ends."""
        y, window = self.y[rows], (self.window or 0.0) * (1 + EDGE)
        below_end, above_start = (torch.searchsorted(self.ref_y, y, right=right) for right in (False, True))
        low, high = torch.searchsorted(self.ref_y, y - window), torch.searchsorted(self.ref_y, y + window, right=True)
        return low, below_end, above_start, high

    def __call__(self, coefficients: Tensor | None, a: Tensor, b: Tensor) -> tuple[Tensor, Gradients]:
        cosines = MixtureBlocks(a, b, self.dtype)
        lengths = _lengths(cosines.a), _lengths(cosines.b)
        known = None if all(bool(length.all()) for length in lengths) else lengths
        positives = self.positives()
        blocks = anchor_blocks(len(a), len(b), self.block_size, a.device)
        return block_sums(
            blocks,
            lambda rows, factors: self._rows(cosines, known, rows, positives[rows], factors),
            cosines,
            coefficients,
        )

    def _rows(
        self,
        cosines: MixtureBlocks,
        lengths: tuple[Tensor, Tensor] | None,
        rows: slice,
        positives: Int[Tensor, " b"],
        coefficients: Float[Tensor, " b"] | None,
    ) -> tuple[Float[Tensor, " b"], MixtureGradient | None]:
        """Values of some anchors, and the gradient of their weighted sum."""
        cosine, r = cosines.block(rows), cosines.b
        y, self_index = self.y[rows], None if self.self_index is None else self.self_index[rows]
        bounds = None if self.window is None else self.bounds(rows)
        usual = lengths is None and self.temperature >= COLDEST[self.dtype]
        kind = _fused_rows(cosine) if usual else None
        if kind is not None:
            share = None if self.shares is None else self.shares.of(rows, self.dtype)
            how = self.temperature, self.magnify, self.renormalize, self.detached
            return kind(cosine, r, y, self.ref_y, self_index, share, bounds, positives, *how).rows(coefficients)
        distance = (y[:, None] - self.ref_y).abs()
        same = distance == 0
        distance = distance.to(self.dtype)
        mixed_negative = None if self.shares is None else self._mixed_negative(cosine, lengths, rows)
        mixed_positives = MixPositives(
            y, self.ref_y, bounds, cosine, r, None if lengths is None else lengths[1], renormalize=self.renormalize
        )
        shift = self._shift(cosine, self_index, same, mixed_negative, mixed_positives)

        # everything is exp((similarity - shift) / temperature), weighted: the terms of the denominator
        real = self._term(cosine, shift, distance)
        real = fill_self(real, self_index, 0)
        denominator = real.sum(1, keepdim=True)
        if mixed_negative is not None:
            similarity, slope, share = mixed_negative
            mixed = self._term(similarity, shift, (1 - share).mul_(distance)).masked_fill_(same, 0)
            denominator += mixed.sum(1, keepdim=True)
            mixed.mul_(slope)
        else:
            mixed = torch.zeros_like(real)
        same = fill_self(same, self_index, False)
        attraction = (cosine * same).sum(1, keepdim=True)
        for part in mixed_positives:
            term = self._term(part.similarity, shift[:, :, None])
            denominator += torch.where(part.exists, term, 0).sum((1, 2))[:, None]
            attraction += part.similarity.sum((1, 2))[:, None]
        per_positive = 1 / positives[:, None].clamp(min=1).to(self.dtype)
        values = (
            to_accumulation_dtype(denominator.log())
            + to_accumulation_dtype(shift - attraction * per_positive) / self.temperature
        )
        values = values.masked_fill_(positives[:, None] == 0, 0)[:, 0]
        if coefficients is None:
            return values, None

        pull = (coefficients[:, None] / self.temperature).to(self.dtype)
        push = pull / denominator
        pull = pull * per_positive
        real.mul_(push).sub_(pull * same)
        mixed.mul_(push)
        between = None
        for part in mixed_positives:
            force = self._term(part.similarity, shift[:, :, None]) * push[:, :, None] - pull[:, :, None]
            force = torch.where(part.exists, force / part.norm, 0)
            mixed.scatter_add_(1, part.below, (force * part.share).sum(2))
            mixed.scatter_add_(1, part.above, (force * (1 - part.share)).sum(1))
            if self.renormalize and not self.detached:
                passed_on = mixed_positives.through_norm(part, force)
                between = passed_on if between is None else between.add_(passed_on)
        mixed.add_(real)
        return values, MixtureGradient(mixed, real if self.detached else mixed, mixed_positives.among, between)

    def _term(self, similarity: Tensor, shift: Tensor, label_distance: Tensor | None = None) -> Tensor:
        """exp((similarity - shift) / temperature), magnified by the label distance."""
        term = (similarity - shift).div_(self.temperature).exp_()
        return term.addcmul_(term, label_distance) if self.magnify and label_distance is not None else term

    def _mixed_negative(
        self, cosine: Float[Tensor, "b m"], lengths: tuple[Tensor, Tensor] | None, rows: slice
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Similarity of each Mix-neg to its anchor, its slope in the cosine, and the anchor's share in it."""
        assert self.shares is not None  # noqa: S101
        share = self.shares.of(rows, self.dtype)
        rest = 1 - share
        own = share if lengths is None else share * lengths[0][rows, None]
        similarity = (rest * cosine).add_(own)
        if not self.renormalize:
            return similarity, rest, share
        squared = (cosine - 1).mul_(share).mul_(rest).mul_(2).add_(1)
        if lengths is not None:
            squared = squared_norm(squared, share, lengths[0][rows, None], lengths[1])
        inverse_norm = squared.clamp(min=MIN_SQUARED_NORM).rsqrt_().masked_fill_(squared <= MIN_SQUARED_NORM, 0)
        similarity.mul_(inverse_norm)
        slope = rest.mul_(inverse_norm)
        if not self.detached:
            slope.addcmul_(slope, inverse_norm.mul_(share).mul_(similarity), value=-1)
        return similarity, slope, share

    def _shift(
        self,
        cosine: Tensor,
        self_index: Tensor | None,
        same: Tensor,
        mixed_negative: tuple[Tensor, ...] | None,
        mixed_positives: MixPositives,
    ) -> Float[Tensor, "b 1"]:
        """What all similarities of an anchor lie below: 1, or the largest itself where a step from 1 would vanish.

        That is the largest of those that its denominator holds, which would be 0 below others.
        """
        if self.temperature >= COLDEST[self.dtype]:
            return torch.ones_like(cosine[:, :1])
        every = [cosine if self_index is None else fill_self(cosine.clone(), self_index, -1)]
        every += [] if mixed_negative is None else [mixed_negative[0].masked_fill(same, -1)]
        every += [torch.where(part.exists, part.similarity, -1).flatten(1) for part in mixed_positives]
        return torch.cat([similarity.amax(1, keepdim=True) for similarity in every], 1).amax(1, keepdim=True)
