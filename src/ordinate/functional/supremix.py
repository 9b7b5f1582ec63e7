"""SupReMix, supervised contrastive regression with mixtures as hard negatives and hard positives."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from ordinate.errors import OrdinateError
from ordinate.functional import triton_rows
from ordinate.functional.anchor_blocks import Gradients, anchor_blocks, check_block_size, reduced
from ordinate.functional.global_batch import (
    Group,
    check_contrasted,
    contrasts,
    gathered,
    holds_anywhere,
    joined_value,
    place_among,
)
from ordinate.functional.inputs import (
    check_choice,
    check_constant,
    check_embeddings,
    check_positive,
    check_targets,
    check_weights,
)
from ordinate.functional.precision import wide, widest
from ordinate.functional.reduction import anchor_coefficients
from ordinate.functional.similarity import units, with_own

MIXTURES = 1 << 20  # of the Mix-pos kind held at a time
DRAWN_ROWS = 32  # anchors whose shares are drawn from one seed, so that they do not depend on the size of a block
QUANTILES = 4096  # kept of a Beta distribution
COLDEST = {torch.float32: 1 / 30, torch.float64: 1 / 300}  # temperature down to which exp(cosine / temperature) and
# its inverse keep all digits
EDGE = 1e-6  # how far, relative to the window, a difference may pass it by rounding and still lie inside
VANISHED = 1e-12  # squared norm below which a mixture has no direction: its similarity counts as 0


def supremix(
    embeddings: Float[Tensor, "n d"],
    labels: Shaped[Tensor, " n"],
    *,
    temperature: float,
    window: float,
    beta: tuple[float, float] = (2.0, 8.0),
    neg_mix: Float[Tensor, "n m"] | None = None,
    generator: torch.Generator | None = None,
    mix_negatives: bool = True,
    mix_positives: bool = True,
    distance_magnifying: bool = True,
    label_range: float | None = None,
    renormalize: bool = True,
    detach_mixtures: bool = False,
    ref_emb: Float[Tensor, "m d"] | None = None,
    ref_labels: Shaped[Tensor, " m"] | None = None,
    weights: Float[Tensor, " n"] | None = None,
    reduction: str = "sum",
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
        ref_emb: (m, d), what the anchors are contrasted and mixed with instead of the batch; nothing is left out.
        ref_labels: (m,), given with ``ref_emb``.
        weights: (n,), one per anchor, >= 0. Receives a gradient where it requires one.
        reduction: ``"sum"`` is eq. 6; ``"mean"`` averages over an anchor's positives, then over the anchors that
            have one, so that its size does not depend on the batch; ``"none"`` is that average for each anchor, 0 for
            one that has no positive.
        own: (n,), where each anchor itself stands among ``ref_emb``, to be left out of its contrasts.
        group: processes whose batches are joined into one: the anchors are those of this process, contrasted with
            the samples of all; the value is that of the joined batch, and gradients averaged over the processes, as
            DistributedDataParallel does, are its gradient.
        block_size: anchors a block, which bounds the memory; None chooses.

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
    embeddings = check_embeddings(embeddings)
    check_supremix_options(
        temperature=temperature,
        window=window,
        beta=beta,
        label_range=label_range,
        reduction=reduction,
        block_size=block_size,
    )
    temperature, window = float(temperature), float(window)
    weights = check_weights(weights, len(embeddings))
    y = wide(check_targets(labels, len(embeddings), dimensions=1)[:, 0])
    refs, ref_labels, own = contrasts(embeddings, labels, ref_emb, ref_labels, own, group)
    ref_y = wide(check_targets(ref_labels, len(refs), "ref_labels", dimensions=1)[:, 0])
    check_contrasted(refs, own, ref_emb)
    log_range = _log_range(label_range, y, ref_y) if distance_magnifying else 0.0

    order, ref_order = y.argsort(stable=True), ref_y.argsort(stable=True)  # windows become slices
    shares: _GivenShares | _DrawnShares | None = None
    if neg_mix is not None:
        neg_mix = _check_neg_mix(neg_mix, len(y), len(ref_y))
    if mix_negatives:
        shares = _GivenShares(neg_mix, order, ref_order) if neg_mix is not None else _draw(beta, refs, generator, group)
    coldest = COLDEST[torch.float32]
    narrow = torch.float64 not in (embeddings.dtype, refs.dtype) and temperature >= coldest
    row_sums = _RowSums(
        y=y[order],
        ref_y=ref_y[ref_order],
        own=None if own is None else ref_order.argsort()[own[order]],
        shares=shares,
        window=window if mix_positives else None,
        magnify=distance_magnifying,
        temperature=temperature,
        renormalize=renormalize,
        detached=detach_mixtures,
        dtype=torch.float32 if narrow else widest(y.device),
        block_size=block_size,
    )
    positives = torch.empty_like(y).index_copy(0, order, wide(row_sums.positives()))
    has_positive = positives > 0
    if not holds_anywhere(has_positive, group):
        raise OrdinateError(
            f"labels, window: no anchor has a positive: no two labels are equal and no window of {window:g} holds "
            "samples on both sides of an anchor; takes a wider window or a larger batch"
        )
    coefficients = anchor_coefficients(reduction, weights, has_positive, group)
    if reduction == "sum":
        every, start = gathered(y, group)
        _, label, sizes = every.unique(return_inverse=True, return_counts=True)
        coefficients = coefficients * positives / sizes[label][start : start + len(y)]
    a, b = units(embeddings, refs)
    a, b = a[order], b[ref_order]
    if reduction != "none":
        loss = joined_value(reduced(row_sums, coefficients[order], a, b) - log_range * coefficients.sum(), group)
    else:
        loss = (reduced(row_sums, None, a, b)[order.argsort()] - log_range) * coefficients
    return loss.to(embeddings.dtype)


def check_supremix_options(
    *,
    temperature: float,
    window: float,
    beta: tuple[float, float],
    label_range: float | None,
    reduction: str,
    block_size: int | None,
) -> None:
    """Raise where an option of :func:`supremix` cannot be used."""
    check_positive(temperature, "temperature")
    check_positive(window, "window")
    if not isinstance(beta, tuple | list) or len(beta) != 2:
        raise OrdinateError(f"beta: got {beta!r}, takes the two parameters of a Beta distribution")
    for value in beta:
        check_positive(value, "beta")
    if label_range is not None:
        check_positive(label_range, "label_range")
    check_choice(reduction, ("mean", "sum", "none"), "reduction")
    check_block_size(block_size)


def _log_range(label_range: float | None, y: Tensor, ref_y: Tensor) -> float:
    if label_range is not None:
        return math.log(label_range)
    both = torch.cat([y, ref_y])
    width = both.max() - both.min()
    if not bool(torch.isfinite(width)):
        raise OrdinateError("labels: their range passes that of their dtype; rescale them")
    return float(torch.where(width > 0, width, 1).log())


@dataclass(frozen=True)
class _GivenShares:
    """The anchor's shares in its Mix-neg as they were given."""

    neg_mix: Float[Tensor, "n m"]
    order: Int[Tensor, " n"]
    ref_order: Int[Tensor, " m"]

    def of(self, rows: slice, dtype: torch.dtype) -> Float[Tensor, "b m"]:
        return self.neg_mix[self.order[rows]][:, self.ref_order].to(dtype)


@dataclass(frozen=True)
class _DrawnShares:
    """Shares drawn from Beta(alpha, beta), row by row from a seed: the same ones whenever they are asked for."""

    alpha: float
    beta: float
    m: int
    seed: int
    device: torch.device

    def of(self, rows: slice, dtype: torch.dtype) -> Float[Tensor, "b m"]:
        first = rows.start // DRAWN_ROWS
        drawn = torch.cat([self._draw(part) for part in range(first, -(-rows.stop // DRAWN_ROWS))])
        start = rows.start - first * DRAWN_ROWS
        return drawn[start : start + rows.stop - rows.start].to(dtype)

    def _draw(self, part: int) -> Float[Tensor, "r m"]:
        generator = torch.Generator(self.device).manual_seed((self.seed + part) % 2**63)
        place = torch.rand(DRAWN_ROWS, self.m, generator=generator, device=self.device) * (QUANTILES - 1)
        below = place.long().clamp_(max=QUANTILES - 2)  # rounding may lead to the very end
        quantiles = _beta_quantiles(self.alpha, self.beta).to(self.device)
        return torch.lerp(quantiles.take(below), quantiles.take(below + 1), place - below)


@lru_cache(maxsize=8)
def _beta_quantiles(alpha: float, beta: float) -> Float[Tensor, " q"]:
    """Quantiles of a Beta distribution at even steps; read between them, a uniform number becomes a draw from it.

    The distribution drawn from agrees with Beta at every quantile kept.
    """
    from scipy.special import betaincinv

    return torch.from_numpy(betaincinv(alpha, beta, np.linspace(0, 1, QUANTILES)).astype(np.float32))


def _draw(beta: tuple[float, float], refs: Tensor, generator: torch.Generator | None, group: Group) -> _DrawnShares:
    alpha, other = map(float, beta)
    device = refs.device if generator is None else generator.device
    seed = int(torch.randint(2**62, (), generator=generator, device=device))
    return _DrawnShares(alpha, other, len(refs), seed + (place_among(group) << 48), refs.device)


def _check_neg_mix(neg_mix: Tensor, n: int, m: int) -> Tensor:
    if not isinstance(neg_mix, Tensor) or neg_mix.shape != (n, m):
        got = tuple(neg_mix.shape) if isinstance(neg_mix, Tensor) else type(neg_mix).__name__
        raise OrdinateError(f"neg_mix: got {got}, takes a tensor ({n}, {m}), the share of each anchor in its Mix-neg")
    if not bool(((neg_mix >= 0) & (neg_mix <= 1)).all()):
        raise OrdinateError("neg_mix: got values outside 0 to 1, takes shares")
    return wide(check_constant(neg_mix, "neg_mix"))


class Pull(NamedTuple):
    """What a block of anchors pulls at: the gradient for cosines, of anchors with references and among references."""

    anchors: Float[Tensor, "b m"]  # what the anchors get of it
    references: Float[Tensor, "b m"]  # and the references: none through detached mixtures
    among: slice  # the references that are mixed
    between: Float[Tensor, "w w"] | None  # for the cosines among them


@dataclass(frozen=True)
class _RowSums:
    """For every anchor the mean of eq. 6 over its positives, without the label range, and the gradient of their sum.

    Anchors and references ascend in label.
    """

    y: Float[Tensor, " n"]
    ref_y: Float[Tensor, " m"]
    own: Int[Tensor, " n"] | None
    shares: _GivenShares | _DrawnShares | None
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
        same = above_start - below_end - int(self.own is not None)
        return same if self.window is None else same + (below_end - low) * (high - above_start)

    def bounds(self, rows: slice) -> tuple[Int[Tensor, " b"], ...]:
        """Where each anchor's window starts among the references, its label starts and ends, and the window ends."""
        y, window = self.y[rows], (self.window or 0.0) * (1 + EDGE)
        below_end, above_start = (torch.searchsorted(self.ref_y, y, right=right) for right in (False, True))
        low, high = torch.searchsorted(self.ref_y, y - window), torch.searchsorted(self.ref_y, y + window, right=True)
        return low, below_end, above_start, high

    def __call__(self, coefficients: Tensor | None, a: Tensor, b: Tensor) -> tuple[Tensor, Gradients]:
        values = torch.empty(len(a), dtype=widest(a.device), device=a.device)
        z, r = a.to(self.dtype), b.to(self.dtype)
        grad_z, grad_r = torch.zeros_like(z), torch.zeros_like(r)
        positives = self.positives()
        for rows in anchor_blocks(len(a), len(b), self.block_size, a.device):
            chosen = None if coefficients is None else coefficients[rows]
            values[rows], pull = self._rows(z[rows] @ r.T, r, rows, positives[rows], chosen)
            if pull is not None:
                grad_z[rows] = pull.anchors @ r
                grad_r.addmm_(pull.references.T, z[rows])
                if pull.between is not None:
                    grad_r[pull.among] += pull.between @ r[pull.among]
        return values, None if coefficients is None else [grad_z.to(a), grad_r.to(b)]

    def _rows(
        self,
        cosine: Float[Tensor, "b m"],
        r: Float[Tensor, "m d"],
        rows: slice,
        positives: Int[Tensor, " b"],
        coefficients: Float[Tensor, " b"] | None,
    ) -> tuple[Float[Tensor, " b"], Pull | None]:
        """Values of some anchors, and what their weighted sum pulls at."""
        y, own = self.y[rows], None if self.own is None else self.own[rows]
        if triton_rows.uses_kernels(cosine) and self.temperature >= COLDEST[self.dtype]:
            from ordinate.functional.triton_rows.supremix import MixtureRows

            share = None if self.shares is None else self.shares.of(rows, self.dtype)
            bounds = None if self.window is None else self.bounds(rows)
            how = self.temperature, self.magnify, self.renormalize, self.detached
            return MixtureRows(cosine, r, y, self.ref_y, own, share, bounds, positives, *how).rows(coefficients)
        distance = (y[:, None] - self.ref_y).abs()
        same = distance == 0
        distance = distance.to(self.dtype)
        mixed_negative = None if self.shares is None else self._mixed_negative(cosine, rows)
        mixed_positives = _MixPositives(self, rows, cosine, r)
        shift = self._shift(cosine, mixed_negative, mixed_positives)

        # everything is exp((similarity - shift) / temperature), weighted: the terms of the denominator
        real = self._term(cosine, shift, distance)
        real = with_own(real, own, 0)
        denominator = real.sum(1, keepdim=True)
        if mixed_negative is not None:
            similarity, slope, share = mixed_negative
            mixed = self._term(similarity, shift, (1 - share).mul_(distance)).masked_fill_(same, 0)
            denominator += mixed.sum(1, keepdim=True)
            mixed.mul_(slope)
        else:
            mixed = torch.zeros_like(real)
        same = with_own(same, own, False)
        attraction = (cosine * same).sum(1, keepdim=True)
        for part in mixed_positives:
            denominator += (part.exists * self._term(part.similarity, shift[:, :, None])).sum((1, 2))[:, None]
            attraction += part.similarity.sum((1, 2))[:, None]
        per_positive = 1 / positives[:, None].clamp(min=1).to(self.dtype)
        values = wide(denominator.log()) + wide(shift - attraction * per_positive) / self.temperature
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
        return values, Pull(mixed, real if self.detached else mixed, mixed_positives.among, between)

    def _term(self, similarity: Tensor, shift: Tensor, label_distance: Tensor | None = None) -> Tensor:
        """exp((similarity - shift) / temperature), magnified by the label distance."""
        term = (similarity - shift).div_(self.temperature).exp_()
        return term.addcmul_(term, label_distance) if self.magnify and label_distance is not None else term

    def _mixed_negative(self, cosine: Float[Tensor, "b m"], rows: slice) -> tuple[Tensor, Tensor, Tensor]:
        """Similarity of each Mix-neg to its anchor, its slope in the cosine, and the anchor's share in it."""
        assert self.shares is not None  # noqa: S101
        share = self.shares.of(rows, self.dtype)
        rest = 1 - share
        similarity = (rest * cosine).add_(share)
        if not self.renormalize:
            return similarity, rest, share
        squared = (cosine - 1).mul_(share).mul_(rest).mul_(2).add_(1)
        inverse_norm = squared.clamp(min=VANISHED).rsqrt_().masked_fill_(squared <= VANISHED, 0)
        similarity.mul_(inverse_norm)
        slope = rest.mul_(inverse_norm)
        if not self.detached:
            slope.addcmul_(slope, inverse_norm.mul_(share).mul_(similarity), value=-1)
        return similarity, slope, share

    def _shift(
        self, cosine: Tensor, mixed_negative: tuple[Tensor, ...] | None, mixed_positives: "_MixPositives"
    ) -> Float[Tensor, "b 1"]:
        """What all similarities of an anchor lie below: 1, or the largest itself where a step from 1 would vanish."""
        if self.temperature >= COLDEST[self.dtype]:
            return torch.ones_like(cosine[:, :1])
        every = [cosine] if mixed_negative is None else [cosine, mixed_negative[0]]
        every += [part.similarity.flatten(1) for part in mixed_positives]
        return torch.cat([similarity.amax(1, keepdim=True) for similarity in every], 1).amax(1, keepdim=True)


@dataclass(frozen=True)
class _Part:
    """Some of the Mix-pos of b anchors: each of up to u samples below with each of up to v samples above."""

    below: Int[Tensor, "b u"]  # positions among the references
    above: Int[Tensor, "b v"]
    exists: Bool[Tensor, "b u v"]
    share: Float[Tensor, "b u v"]  # lambda_2, of the sample below
    norm: Float[Tensor, "b u v"]
    similarity: Float[Tensor, "b u v"]  # to the anchor, 0 where none exists


class _MixPositives:
    """The Mix-pos of a block of anchors, in parts that keep memory small."""

    def __init__(self, batch: _RowSums, rows: slice, cosine: Float[Tensor, "b m"], r: Float[Tensor, "m d"]) -> None:
        self.y, self.ref_y, self.cosine, self.renormalize = batch.y[rows], batch.ref_y, cosine, batch.renormalize
        self.parts: list[_Part] | None = None
        self.among = slice(0, 0)
        if batch.window is None:
            self.parts = []
            return
        self.low, self.below_end, self.above_start, self.high = batch.bounds(rows)
        below, above = int((self.below_end - self.low).max()), int((self.high - self.above_start).max())
        if below == 0 or above == 0:
            self.parts = []
            return
        self.below, self.step = below, max(1, MIXTURES // (above * len(cosine)))
        self.among = slice(int(self.low.min()), int(self.high.max()))
        self.gram = r[self.among] @ r[self.among].T
        if self.step >= below:
            self.parts = list(self._parts())

    def __iter__(self) -> Iterator[_Part]:
        return self._parts() if self.parts is None else iter(self.parts)

    def _parts(self) -> Iterator[_Part]:
        above, above_exists = _ranges(self.above_start, self.high)
        up = torch.where(above_exists, self.ref_y[above] - self.y[:, None], 1)[:, None, :]
        similarity_above = self.cosine.gather(1, above)[:, None, :]
        for start in range(0, self.below, self.step):
            begin = self.low + start
            below, below_exists = _ranges(begin, torch.minimum(self.below_end, begin + self.step))
            if below.shape[1] == 0:
                return
            exists = below_exists[:, :, None] & above_exists[:, None, :]
            down = torch.where(below_exists, self.y[:, None] - self.ref_y[below], 1)[:, :, None]
            share = (up / (up + down)).to(self.cosine)
            norm = self._norm(share, below, above)
            mixed = share * self.cosine.gather(1, below)[:, :, None] + (1 - share) * similarity_above
            yield _Part(below, above, exists, share, norm, torch.where(exists, mixed / norm, 0))

    def _norm(self, share: Tensor, below: Tensor, above: Tensor) -> Float[Tensor, "b u v"]:
        """Norms of the mixtures; infinity for one that has no direction, which nothing then passes."""
        if not self.renormalize:
            return torch.ones_like(share)
        cosine = self.gram.take(self._at(below, above))
        squared = 1 + 2 * share * (1 - share) * (cosine - 1)
        return torch.where(squared > VANISHED, squared, torch.inf).sqrt()

    def _at(self, below: Tensor, above: Tensor) -> Int[Tensor, "b u v"]:
        """Where each pair stands in the Gram matrix of those that are mixed; anywhere in it if it does not exist."""
        width = len(self.gram)
        below, above = ((position - self.among.start).clamp(0, width - 1) for position in (below, above))
        return below[:, :, None] * width + above[:, None, :]

    def through_norm(self, part: _Part, force: Float[Tensor, "b u v"]) -> Float[Tensor, "w w"]:
        """What the norms pass of a force on the mixtures, for both samples of each pair."""
        through = -force * part.similarity * part.share * (1 - part.share) / part.norm
        pairs = torch.zeros_like(self.gram)
        pairs.view(-1).index_add_(0, self._at(part.below, part.above).flatten(), through.flatten())
        return pairs + pairs.T


def _ranges(start: Tensor, end: Tensor) -> tuple[Tensor, Tensor]:
    """Positions ``start..end`` of each row side by side, and which of them belong to their row."""
    width = max(0, int((end - start).max()))
    position = start[:, None] + torch.arange(width, device=start.device)
    exists = position < end[:, None]
    return torch.where(exists, position, 0), exists
