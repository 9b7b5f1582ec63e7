"""SupReMix, supervised contrastive regression with mixtures as hard negatives and hard positives."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from ordinate import kernels
from ordinate.errors import OrdinateError
from ordinate.functional.anchor_blocks import Gradients, SampleOrder, anchor_blocks, block_sums, rows_of
from ordinate.functional.contrast import Contrast, Inputs, check_contrasted, check_exponents, prepare
from ordinate.functional.global_batch import Group, gathered, holds_anywhere
from ordinate.functional.inputs import check_constant, check_devices, check_targets, shape_or_type
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
from ordinate.options import Reduction, SupReMixOptions

# Down to these temperatures exp(cosine / temperature) and its inverse keep all digits.
MIN_TEMPERATURE_BELOW_ONE = {torch.float32: 1 / 30, torch.float64: 1 / 300}


def supremix(
    embeddings: Float[Tensor, "n d"],
    labels: Shaped[Tensor, "n *p"],
    *,
    window: float,
    temperature: float = SupReMixOptions.temperature,
    beta: Sequence[float] = SupReMixOptions.beta,
    neg_mix: Float[Tensor, "n m"] | None = None,
    generator: torch.Generator | None = None,
    mix_negatives: bool = SupReMixOptions.mix_negatives,
    mix_positives: bool = SupReMixOptions.mix_positives,
    distance_magnifying: bool = SupReMixOptions.distance_magnifying,
    label_range: float | None = SupReMixOptions.label_range,
    renormalize: bool = SupReMixOptions.renormalize,
    detach_mixtures: bool = SupReMixOptions.detach_mixtures,
    reduction: Reduction = SupReMixOptions.reduction,
    block_size: int | None = SupReMixOptions.block_size,
    ref_emb: Float[Tensor, "m d"] | None = None,
    ref_labels: Shaped[Tensor, "m *q"] | None = None,
    weights: Shaped[Tensor, " n"] | None = None,
    self_index: Int[Tensor, " n"] | None = None,
    group: Group = None,
) -> Float[Tensor, "*n"]:
    r"""Supervised contrastive regression loss with mixtures (SupReMix, eqs. 1 to 6).

    .. math::
        L = \sum_m \frac{-1}{k_m} \sum_{i: y_i = m} \sum_{p \in P_i}
            \log \frac{\exp(z_i \cdot z_p / \tau)}{\sum_{c \ne i} w_{ic} \exp(z_i \cdot z_c / \tau)},
        \qquad w_{ic} = \frac{1 + |y_i - y_c|}{y_{max} - y_{min}}

    An anchor's positives P are the samples of its own label and its Mix-pos (eqs. 3, 4): one mixture for every
    sample below and every sample above it within the window, in the proportion that gives it the anchor's label.
    Its contrasts c are all other samples, its Mix-pos, and its Mix-neg (eqs. 1, 2): one mixture of itself, with
    share :math:`\lambda_1 \sim` Beta, with every sample of another label; its label is mixed in the same shares. The
    weight w (eq. 5) magnifies the label distance; a shift of all labels changes nothing.

    Exact without building a mixture: its similarity to the anchor and its norm are linear in the Gram matrix, of
    which a block of anchors is held at a time. Time is O(n^2) and one step for each Mix-pos, whose number the window
    bounds.

    Args:
        embeddings: Embeddings (n, d), floating point, finite; normalised here.
        labels: Labels (n,), real and finite.
        window: Largest difference gamma > 0, inclusive, between an anchor's label and the labels that its Mix-pos are
            made of; differences that pass it by rounding, 1e-6 of it, lie inside.
        temperature: Temperature tau of the softmax, > 0; 0.3 to 1.0 in the paper (Table 13).
        beta: Parameters (alpha, beta) of the Beta distribution of :math:`\lambda_1`; (2, 8) is the paper's best
            (Table 11).
        mix_negatives: Whether anchors are contrasted with Mix-neg; with the next two, the paper's three parts
            (Tables 9, 10).
        mix_positives: Whether anchors have Mix-pos as positives.
        distance_magnifying: Whether eq. 5 weighs the contrasts.
        label_range: Range y_max - y_min of eq. 5; None takes the range of the batch and its references (1 where all
            labels are equal). A constant factor of all weights: it moves the value, not the gradient.
        renormalize: Whether mixtures get unit norm, as in the paper's text but not in its later code.
        detach_mixtures: Whether no gradient passes into mixtures, as in the paper's later code.
        reduction: ``"sum"`` is eq. 6; ``"mean"`` averages over an anchor's positives, then over the anchors that have
            one, so that its size does not depend on the batch; ``"none"`` is that average for each anchor, 0 for one
            that has no positive.
        block_size: Number of anchors per block, which bounds the memory; None chooses it.
        neg_mix: Shares :math:`\lambda_1` of anchor i with negative j, (n, n), or (n, m) with references, from 0 to 1;
            drawn when None.
        generator: Source of the drawing.
        ref_emb: Embeddings (m, d) that the anchors are contrasted with instead of the batch.
        ref_labels: Labels of ``ref_emb``, (m,).
        weights: Weights (n,) of the anchors, >= 0. They receive a gradient where they require one.
        self_index: Place (n,) of each anchor itself in ``ref_emb``, so that it is not contrasted with itself.
        group: Processes whose batches are joined into one; see :mod:`ordinate.functional.global_batch`.

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
    options = SupReMixOptions(
        window=window, temperature=temperature, beta=beta, mix_negatives=mix_negatives, mix_positives=mix_positives,
        distance_magnifying=distance_magnifying, label_range=label_range, renormalize=renormalize,
        detach_mixtures=detach_mixtures, reduction=reduction, block_size=block_size,
    )  # fmt: skip
    inputs = Inputs(ref_emb=ref_emb, ref_labels=ref_labels, weights=weights, self_index=self_index, group=group)
    check_devices(embeddings, neg_mix=neg_mix)
    contrast = prepare(embeddings, labels, _check_labels, inputs)
    check_contrasted(contrast)
    check_exponents(contrast, "cosine", options.temperature)
    y, ref_y = contrast.labels, contrast.ref_labels
    label_width = _label_width(y, ref_y)
    order = contrast.ascending(y, ref_y, stable=True)  # Windows become slices.
    row_sums = _RowSums(
        options=options,
        y=y[order.anchors],
        ref_y=ref_y[order.references],
        self_index=order.self_index,
        shares=_shares(contrast, order, neg_mix, options, generator),
        dtype=_dtype(contrast, options.temperature, label_width),
    )
    positives = torch.empty_like(y).index_copy(0, order.anchors, to_accumulation_dtype(row_sums.positives()))
    has_positive = positives > 0
    if not holds_anywhere(has_positive, contrast.group):
        lacks = f"no two labels are equal and no window of {options.window:g} holds samples on both sides of an anchor"
        problem = f"no anchor has a positive: {lacks}"
        raise OrdinateError("labels, window", problem=problem, expected="a wider window or a larger batch")
    coefficients = contrast.coefficients(options.reduction, has_positive)
    if options.reduction == "sum":
        every, start = gathered(y, contrast.group)
        _, label, sizes = every.unique(return_inverse=True, return_counts=True)
        coefficients = coefficients * positives / sizes[label][start : start + len(y)]
    log_range = 0.0
    if options.distance_magnifying:
        log_range = math.log(options.label_range or label_width or 1.0)
    a, b = contrast.units(1 / options.temperature)
    return contrast.loss(row_sums, coefficients, a, b, reduction=options.reduction, order=order, offset=log_range)


def _check_labels(labels: Tensor, n: int, name: str) -> Float[Tensor, " n"]:
    """Return targets of one dimension in the widest floating-point type."""
    return to_accumulation_dtype(check_targets(labels, n, name, dimensions=1)[:, 0])


def _label_width(y: Tensor, ref_y: Tensor) -> float:
    """Return how far the lowest and the highest label are apart."""
    both = torch.cat([y, ref_y])
    width = float(both.max() - both.min())
    if not width <= torch.finfo(y.dtype).max ** 0.5:
        raise OrdinateError("labels", problem="their range exceeds that of their dtype", hint="rescale them")
    return width


def _fastest_rows(cosine: Tensor) -> type[MixtureRows]:
    """Return the fastest rows on the device of the cosines, for embeddings and temperatures that all of them take."""
    if kernels.uses_numba(cosine):
        from ordinate.kernels.numba.supremix import NumbaRows

        return NumbaRows
    if kernels.uses_triton(cosine):
        from ordinate.kernels.triton.supremix import TritonRows

        return TritonRows
    return _TorchRows


def _dtype(contrast: Contrast, temperature: float, label_width: float) -> torch.dtype:
    """Return float32 where neither the embeddings, the temperature nor the labels need more."""
    dtypes = contrast.anchors.dtype, contrast.references.dtype
    near = label_width <= 1e15  # Up to here float32 holds the weighted contrasts of a batch.
    if near and torch.float64 not in dtypes and temperature >= MIN_TEMPERATURE_BELOW_ONE[torch.float32]:
        return torch.float32
    return accumulation_dtype(contrast.anchors.device)


def _shares(
    contrast: Contrast,
    order: SampleOrder,
    neg_mix: Tensor | None,
    options: SupReMixOptions,
    generator: torch.Generator | None,
) -> GivenShares | DrawnShares | None:
    """Return the anchors' shares in their Mix-neg, None without Mix-neg."""
    if neg_mix is not None:
        neg_mix = _check_neg_mix(neg_mix, len(contrast.anchors), len(contrast.references))
    if not options.mix_negatives:
        return None
    if neg_mix is not None:
        return GivenShares(neg_mix, order.anchors, order.references)
    return draw_shares(options.beta, contrast.references, generator, contrast.group)


def _check_neg_mix(neg_mix: Tensor, n: int, m: int) -> Tensor:
    if not isinstance(neg_mix, Tensor) or neg_mix.shape != (n, m):
        expected = f"a tensor ({n}, {m}), the share of each anchor in its Mix-neg"
        raise OrdinateError("neg_mix", shape_or_type(neg_mix), expected)
    if not bool(((neg_mix >= 0) & (neg_mix <= 1)).all()):
        raise OrdinateError("neg_mix", "values outside 0 to 1", "shares")
    return to_accumulation_dtype(check_constant(neg_mix, "neg_mix"))


def _lengths(x: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
    """Return the norms of rows that :func:`unit` gave: 1, or 0 of an embedding that is zero."""
    return (x != 0).any(1).to(x.dtype)


@dataclass(frozen=True)
class _RowSums:
    """Compute every anchor's mean of eq. 6 over its positives, without the label range, and the gradient of their sum.

    Anchors and references ascend in label.
    """

    options: SupReMixOptions
    y: Float[Tensor, " n"]
    ref_y: Float[Tensor, " m"]
    self_index: Int[Tensor, " n"] | None
    shares: GivenShares | DrawnShares | None
    dtype: torch.dtype

    def positives(self) -> Int[Tensor, " n"]:
        """Return how many positives each anchor has."""
        low, below_end, above_start, high = self.bounds(slice(0, len(self.y)))
        same = above_start - below_end - int(self.self_index is not None)
        if not self.options.mix_positives:
            return same
        return same + (below_end - low) * (high - above_start)

    def bounds(self, rows: slice) -> tuple[Int[Tensor, " b"], ...]:
        """Return the bounds of each anchor's window and label among the references.

        They are where the window starts, where the label starts and ends, and where the window ends.
        """
        y = self.y[rows]
        window = float(self.options.window) * (1 + 1e-6)  # A difference that passes it by rounding still lies inside.
        below_end, above_start = (torch.searchsorted(self.ref_y, y, right=right) for right in (False, True))
        low, high = torch.searchsorted(self.ref_y, y - window), torch.searchsorted(self.ref_y, y + window, right=True)
        return low, below_end, above_start, high

    def __call__(self, coefficients: Tensor | None, a: Tensor, b: Tensor) -> tuple[Tensor, Gradients]:
        cosines = MixtureBlocks(a, b, self.dtype)
        positives = self.positives()
        lengths = _lengths(cosines.a), _lengths(cosines.b)
        has_zeros = not all(bool(length.all()) for length in lengths)
        cold = float(self.options.temperature) < MIN_TEMPERATURE_BELOW_ONE[self.dtype]
        block_rows = _TorchRows if has_zeros or cold else _fastest_rows(cosines.a)

        def rows(block: slice, factors: Tensor | None) -> tuple[Tensor, MixtureGradient | None]:
            self_index = rows_of(self.self_index, block)
            share = None if self.shares is None else self.shares.of(block, self.dtype)
            bounds = self.bounds(block) if self.options.mix_positives else None
            of_block = (lengths[0][block], lengths[1]) if has_zeros else None
            return block_rows(
                cosines.block(block), cosines.b, self.y[block], self.ref_y, self_index, share, bounds,
                positives[block], of_block, self.options,
            ).rows(factors)  # fmt: skip

        blocks = anchor_blocks(len(a), len(b), self.options.block_size, a.device)
        return block_sums(blocks, rows, cosines, coefficients)


class _TorchRows(MixtureRows):
    """The rows of a block of anchors in PyTorch: on any device, at any temperature, of any embeddings."""

    def rows(self, coefficients: Float[Tensor, " b"] | None) -> tuple[Float[Tensor, " b"], MixtureGradient | None]:
        cosine, self_index, options = self.cosine, self.self_index, self.options
        distance = (self.y[:, None] - self.ref_y).abs()
        same = distance == 0
        distance = distance.to(cosine)
        mixed_negative = None if self.share is None else self._mixed_negative(self.share)
        ref_lengths = None if self.lengths is None else self.lengths[1]
        mixed_positives = MixPositives(self, ref_lengths)
        shift = self._shift(same, mixed_negative, mixed_positives)

        # All terms of the denominator are exp((similarity - shift) / temperature), weighted.
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
        per_positive = 1 / self.positives[:, None].clamp(min=1).to(cosine)
        values = to_accumulation_dtype(shift - attraction * per_positive) / self.temperature
        values = to_accumulation_dtype(denominator.log()) + values
        values = values.masked_fill_(self.positives[:, None] == 0, 0)[:, 0]
        if coefficients is None:
            return values, None

        pull = (coefficients[:, None] / self.temperature).to(cosine)
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
            if options.renormalize and not options.detach_mixtures:
                passed_on = mixed_positives.through_norm(part, force)
                between = passed_on if between is None else between.add_(passed_on)
        mixed.add_(real)
        references = real if options.detach_mixtures else mixed
        return values, MixtureGradient(mixed, references, mixed_positives.among, between)

    def _term(self, similarity: Tensor, shift: Tensor, label_distance: Tensor | None = None) -> Tensor:
        """Return exp((similarity - shift) / temperature), magnified by the label distance."""
        term = (similarity - shift).div_(self.temperature).exp_()
        if self.options.distance_magnifying and label_distance is not None:
            term.addcmul_(term, label_distance)
        return term

    def _mixed_negative(self, share: Float[Tensor, "b m"]) -> tuple[Tensor, Tensor, Tensor]:
        """Return the similarity of each Mix-neg to its anchor, its slope in the cosine, and the anchor's share."""
        rest = 1 - share
        of_anchor = share
        if self.lengths is not None:
            of_anchor = share * self.lengths[0][:, None]
        similarity = (rest * self.cosine).add_(of_anchor)
        if not self.options.renormalize:
            return similarity, rest, share
        squared = (self.cosine - 1).mul_(share).mul_(rest).mul_(2).add_(1)
        if self.lengths is not None:
            squared = squared_norm(squared, share, self.lengths[0][:, None], self.lengths[1])
        inverse_norm = squared.clamp(min=MIN_SQUARED_NORM).rsqrt_().masked_fill_(squared <= MIN_SQUARED_NORM, 0)
        similarity.mul_(inverse_norm)
        slope = rest.mul_(inverse_norm)
        if not self.options.detach_mixtures:
            slope.addcmul_(slope, inverse_norm.mul_(share).mul_(similarity), value=-1)
        return similarity, slope, share

    def _shift(
        self, same: Tensor, mixed_negative: tuple[Tensor, ...] | None, mixed_positives: MixPositives
    ) -> Float[Tensor, "b 1"]:
        """Return a bound of all similarities of an anchor: 1, or the largest of them where exp of a step to 1 vanishes.

        The largest is taken of the similarities in its denominator, which would be 0 with a larger bound.
        """
        cosine = self.cosine
        if self.temperature >= MIN_TEMPERATURE_BELOW_ONE[cosine.dtype]:
            return torch.ones_like(cosine[:, :1])
        if self.self_index is not None:
            cosine = fill_self(cosine.clone(), self.self_index, -1)
        every = [cosine]
        if mixed_negative is not None:
            every.append(mixed_negative[0].masked_fill(same, -1))
        every += [torch.where(part.exists, part.similarity, -1).flatten(1) for part in mixed_positives]
        return torch.cat([similarity.amax(1, keepdim=True) for similarity in every], 1).amax(1, keepdim=True)
